"""The HTML page of an Evaluation or a Summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.words import counted
from skgraded.measures import mean_over_queries
from skgraded.reports.report import LEVEL
from skgraded.writing import text
from skgraded.writing.columns import PageTable
from skgraded.writing.pages import MAX_QUERIES, render

if TYPE_CHECKING:
    import pandas

    from skgraded.reports.evaluation import Evaluation


def render_evaluation(
    title: str,
    frames: dict[str, pandas.DataFrame],
    queries: Evaluation,
    n_queries: int,
    is_weighted: bool,
) -> str:
    """Render the page of an Evaluation or a Summary as HTML.

    The frames have one row per measure ("summary"), or per segment and measure ("segments"). For a
    Summary, `queries` contains only the queries with the lowest values among all `n_queries`
    queries.
    """
    is_sample = queries.n_queries < n_queries
    return render(
        "evaluation.html.j2",
        {
            "title": title,
            "lead": _describe_evaluation(frames["summary"], queries, n_queries, is_weighted),
            "tables": {anchor: _tabulate_frame(frame) for anchor, frame in frames.items()},
            "sections": {anchor: anchor.capitalize() for anchor in (*frames, "queries")},
            "n_queries": n_queries,
            "kept": f"the lowest by {'each measure' if is_sample else next(iter(queries.per_query))}",
            "data": _tabulate_queries(queries),
        },
    )


def _describe_evaluation(
    summary: pandas.DataFrame, queries: Evaluation, n_queries: int, is_weighted: bool
) -> str:
    """Return the numbers of queries and measures as text."""
    judged = {
        name: mean_over_queries(shares, queries.weights)
        for name, shares in (queries.judged or {}).items()
    }
    parts = [
        counted(n_queries, "query", "queries"),
        counted(len(queries.per_query), "measure", "measures"),
        *(f"{name} {text.fixed(mean)}" for name, mean in judged.items()),
    ]
    lead = ", ".join(parts) + ("; queries are weighted." if is_weighted else ".")
    n_undefined = dict(zip(summary["measure"], summary["n_undefined"], strict=True))
    if note := text.undefined_note(n_undefined, n_queries):
        lead += f" The measures are {note}."
    if n_unanswered := queries.n_unanswered:
        lead += f" Nothing was retrieved for {counted(n_unanswered, 'query', 'queries')}."
    return lead


def _tabulate_queries(queries: Evaluation) -> dict[str, Any]:
    """Return the data for the script that draws the table of queries."""
    first, columns = next(iter(queries.per_query.values())), []
    kept = np.sort(np.argsort(first, kind="stable")[:MAX_QUERIES])
    for name, values in queries.per_query.items():
        undefined = np.flatnonzero(queries.undefined[name][kept]).tolist()
        numbers = text.json_numbers(values[kept])
        columns.append({"name": name, "values": numbers, "undefined": undefined})
    if queries.weights is not None:
        weights = text.json_numbers(queries.weights[kept])
        columns.append({"name": "Weight", "kind": "plain", "values": weights})
    return {"ids": text.labels(queries.query_ids[kept]), "columns": columns}


def _tabulate_frame(frame: pandas.DataFrame) -> PageTable:
    queries = "the queries of each segment" if "segment" in frame else "queries"
    caption = (
        f"Means over {queries} with {text.percent_text(LEVEL)} intervals (Student's t). Defined: "
        "number of queries in the mean. Undefined: number of queries for which the measure is "
        "undefined; those that count as 0 or 1 are in both numbers."
    )
    return PageTable.of(frame, caption)
