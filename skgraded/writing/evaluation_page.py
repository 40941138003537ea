"""The HTML page of an Evaluation or a Summary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.words import counted
from skgraded.writing import text
from skgraded.writing.columns import PageTable
from skgraded.writing.pages import MAX_QUERIES, render

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, kw_only=True)
class EvaluationPage:
    """Content of the page for an Evaluation or a Summary.

    The frames have one row per measure (`summary`), or per segment and measure (`segments`). The
    arrays have one element per query. A Summary contains values for only some of the `n_queries`
    queries (`is_sample`).
    """

    title: str
    summary: pandas.DataFrame
    level: float
    n_queries: int
    is_weighted: bool
    query_ids: np.ndarray
    per_query: dict[str, np.ndarray]
    undefined: dict[str, np.ndarray]
    weights: np.ndarray | None = None
    segments: pandas.DataFrame | None = None
    is_sample: bool = False
    judged: dict[str, float] = field(default_factory=dict)  # share of judged documents, such as @10
    n_unanswered: int = 0  # number of queries for which nothing was retrieved

    def html(self) -> str:
        """Render the page as HTML."""
        tables = {"summary": _means_table(self.summary, self.level)}
        if self.segments is not None:
            tables["segments"] = _means_table(self.segments, self.level)
        first = next(iter(self.per_query))
        return render(
            "evaluation.html.j2",
            {
                "title": self.title,
                "lead": self._lead(),
                "tables": tables,
                "sections": {anchor: anchor.capitalize() for anchor in (*tables, "queries")},
                "n_queries": self.n_queries,
                "kept": f"the lowest by {'each measure' if self.is_sample else first}",
                "data": self._data(),
            },
        )

    def _lead(self) -> str:
        """Return the numbers of queries and measures as text."""
        parts = [
            counted(self.n_queries, "query", "queries"),
            counted(len(self.per_query), "measure", "measures"),
            *(f"{name} {text.fixed(mean)}" for name, mean in self.judged.items()),
        ]
        lead = ", ".join(parts) + ("; queries are weighted." if self.is_weighted else ".")
        n_undefined = dict(zip(self.summary["measure"], self.summary["n_undefined"], strict=True))
        if note := text.undefined_note(n_undefined, self.n_queries):
            lead += f" The measures are {note}."
        if self.n_unanswered:
            lead += f" Nothing was retrieved for {counted(self.n_unanswered, 'query', 'queries')}."
        return lead

    def _data(self) -> dict[str, Any]:
        """Return the data for the script that draws the table of queries."""
        first, columns = next(iter(self.per_query.values())), []
        kept = np.sort(np.argsort(first, kind="stable")[:MAX_QUERIES])
        for name, values in self.per_query.items():
            undefined = np.flatnonzero(self.undefined[name][kept]).tolist()
            numbers = text.json_numbers(values[kept])
            columns.append({"name": name, "values": numbers, "undefined": undefined})
        if self.weights is not None:
            weights = text.json_numbers(self.weights[kept])
            columns.append({"name": "Weight", "kind": "plain", "values": weights})
        return {"ids": text.labels(self.query_ids[kept]), "columns": columns}


def _means_table(frame: pandas.DataFrame, level: float) -> PageTable:
    queries = "the queries of each segment" if "segment" in frame else "queries"
    caption = (
        f"Means over {queries} with "
        f"{text.percent_text(level)} intervals (Student's t). Defined: number of queries in the "
        "mean. Undefined: number of queries for which the measure is undefined; those that count as "
        "0 or 1 are in both numbers."
    )
    return PageTable.of(frame, caption)
