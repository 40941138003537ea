"""Reports as HTML: one self-contained page, and a small fragment for notebooks.

The page holds its styles, its script and its data, and asks the network for nothing. Summaries
and charts stand in it as they are; the script only draws the queries and sorts tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skgraded._input.versions import versions
from skgraded._input.words import counted
from skgraded.writing.charts import interval_axis, interval_mark, level_chart
from skgraded.writing.text import (
    exact,
    interval_text,
    json_numbers,
    label,
    labels,
    percent_text,
    shortened,
    shown,
    utf8,
)

if TYPE_CHECKING:
    import pandas

MAX_QUERIES = 2_000  # in the table of a page, which scrolls smoothly and is 0.3 MB for 4 systems
SECTIONS = {
    "summary": "Summary", "segments": "Segments", "folds": "Folds", "values": "Values",
    "queries": "Queries",
}
INTERVALS = {"bootstrap": "BCa bootstrap", "t": "Student's t"}
FOLDS = {
    "fold": "Fold",
    "n_queries": "Queries",
    "fit_time": "Fit\u00a0(s)",
    "score_time": "Score\u00a0(s)",
    "error": "Error",
}


class PageTable(NamedTuple):
    """A table of a page: headings with the kinds of their columns, and rows of cells."""

    caption: str
    columns: Sequence[tuple[Any, str]]
    rows: Sequence[Sequence[Any]]


class Fragment(NamedTuple):
    """What a notebook shows: a small piece without scripts, whose styles reach only itself."""

    title: str
    text: str
    summary: PageTable
    compared: PageTable | None = None
    folds: PageTable | None = None
    worst: PageTable | None = None

    def html(self) -> str:
        """Fill the template; an ImportError without Jinja2."""
        return render("fragment.html.j2", self)


@dataclass(frozen=True, kw_only=True)
class EvaluationPage:
    """What the page of an Evaluation or a Summary shows; the template reads these attributes.

    The frames have a row per measure (`summary`), per segment and measure, and per fold. The arrays
    have an element per query that is kept. A Summary does not keep all `n_queries` and adds
    `profiles`: quantiles of their values. A notebook shows the queries at the positions `lowest`.
    """

    title: str
    summary: pandas.DataFrame
    level: float
    n_queries: int
    is_weighted: bool
    query_ids: np.ndarray
    per_query: dict[str, np.ndarray]
    undefined: dict[str, np.ndarray]
    lowest: np.ndarray
    weights: np.ndarray | None = None
    fold: np.ndarray | None = None
    folds: pandas.DataFrame | None = None
    segments: pandas.DataFrame | None = None
    profiles: dict[str, np.ndarray] | None = None

    def html(self) -> str:
        """Fill the template of the page; an ImportError without Jinja2."""
        return render("evaluation.html.j2", self)

    def fragment(self) -> str:
        """Fill the template of the fragment for notebooks; an ImportError without Jinja2."""
        rows = zip(labels(self.query_ids[self.lowest]), self.lowest, strict=True)
        lowest = PageTable(
            f"Lowest {next(iter(self.per_query))}",
            [("Query", "name"), *((name, "value") for name in self.per_query)],
            [[query, *(values[i] for values in self.per_query.values())] for query, i in rows],
        )
        return Fragment(
            self.title, self.lead, self.summary_table, folds=self.folds_table, worst=lowest
        ).html()

    @property
    def lead(self) -> str:
        """How many queries, measures and folds there are."""
        parts = [
            counted(self.n_queries, "query", "queries"),
            counted(len(self.per_query), "measure", "measures"),
        ]
        if self.folds is not None:
            parts.append(f"out-of-fold scores of {counted(len(self.folds), 'fold', 'folds')}")
        return ", ".join(parts) + ("; queries are weighted." if self.is_weighted else ".")

    @property
    def sections(self) -> list[tuple[str, str]]:
        """The anchors and headings of the sections."""
        absent = {"segments": self.segments is None, "folds": self.folds is None}
        return [section for section in SECTIONS.items() if not absent.get(section[0])]

    @property
    def summary_table(self) -> PageTable:
        """Means and intervals of the measures."""
        return _means_table(self.summary, self.level, self.profiles or self.per_query)

    @property
    def segments_table(self) -> PageTable:
        """Means and intervals of the measures in each segment."""
        return _means_table(self.segments, self.level, self.per_query)

    @property
    def folds_table(self) -> PageTable | None:
        """Means and times of the folds."""
        return None if self.folds is None else _folds_table(self.folds)

    @property
    def charts(self) -> list[dict[str, Any]]:
        """A chart of the values of each measure."""
        means = zip(self.summary["measure"], self.summary["mean"].tolist(), strict=True)
        if self.profiles is None:
            return [level_chart(name, self.per_query[name], mean) for name, mean in means]
        return [
            level_chart(name, self.profiles[name], mean, self.n_queries) for name, mean in means
        ]

    @property
    def kept(self) -> str:
        """Which queries the table contains if it does not contain all."""
        if self.profiles is not None:
            return "the lowest by each measure"
        half = f"{MAX_QUERIES // 2:,}"
        return f"the {half} lowest and the {half} highest by {next(iter(self.per_query))}"

    @cached_property
    def data(self) -> dict[str, Any]:
        """What the script draws the table of queries from."""
        kept, columns = self._positions(), []
        if self.fold is not None:
            folds = self.fold[kept].tolist()
            columns.append({"name": "Fold", "kind": "plain", "digits": 0, "values": folds})
        for name, values in self.per_query.items():
            columns.append({
                "name": name,
                "values": json_numbers(values[kept]),
                "undefined": np.flatnonzero(self.undefined[name][kept]).tolist(),
            })
        if self.weights is not None:
            weights = json_numbers(self.weights[kept])
            columns.append({"name": "Weight", "kind": "plain", "values": weights})
        return {"ids": labels(self.query_ids[kept]), "columns": columns}

    def _positions(self):
        """Positions, in order, of the queries in the table."""
        n, values = len(self.query_ids), next(iter(self.per_query.values()))
        if n <= MAX_QUERIES or self.profiles is not None:
            return np.arange(n)
        lowest = np.argsort(values, kind="stable")[: MAX_QUERIES // 2]
        highest = np.argsort(-values, kind="stable")[: MAX_QUERIES // 2]
        return np.union1d(lowest, highest)


def _means_table(frame, level, profiles):
    lowest = min((np.fmin.reduce(values, initial=0.0) for values in profiles.values()), default=0)
    low, high = math.floor(lowest), 1  # correlations go down to -1
    by_segment = "segment" in frame
    rows = []
    for record in frame.to_dict("records"):
        mean, ends = record["mean"], [record["ci_low"], record["ci_high"]]
        mark = interval_mark(mean, ends, low, high)
        row = [record["measure"], mean, ends, record["n_queries"], record["n_undefined"], mark]
        rows.append([label(record["segment"]), *row] if by_segment else row)
    caption = (
        f"Means over {'the ' * by_segment}queries {'of each segment ' * by_segment}with "
        f"{percent_text(level)} intervals by {INTERVALS[frame['method'].iloc[0]]}, and how many "
        "queries have no value of their own"
    )
    columns = [
        *[("Segment", "name")] * by_segment, ("Measure", "text"), ("Mean", "value"),
        ("Interval", "interval"), ("Queries", "count"), ("Undefined", "count"),
        (interval_axis(low, high), "strip"),
    ]
    return PageTable(caption, columns, rows)


def _folds_table(frame):
    kinds = {"fit_time": "seconds", "score_time": "seconds", "error": "text"}
    columns = [
        (FOLDS.get(name, name), kinds.get(name, "value" if dtype.kind == "f" else "count"))
        for name, dtype in frame.dtypes.items()
    ]
    return PageTable("Means and times by fold", columns, frame.to_numpy(dtype=object).tolist())


# Templates ---------------------------------------------------------------------------------------

def render(template: str, page: Any) -> str:
    """Fill a template with the attributes of a page."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError("HTML reports need Jinja2: pip install 'skgraded[all]'.") from error
    from skgraded import __version__

    environment = Environment(
        loader=PackageLoader("skgraded.writing"), autoescape=True, undefined=StrictUndefined
    )
    environment.filters.update(
        shown=shown, exact=exact, interval=interval_text, count=lambda n: f"{n:,}",
        shortened=shortened, label=label,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    made = ", ".join(f"{name} {text}" for name, text in versions().items() if name != "skgraded")
    text = environment.get_template(template).render(version=__version__, made=made, page=page)
    return utf8(text)
