"""Comparisons as HTML: one self-contained page, and a small fragment for notebooks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skgraded._input.words import plural, printable
from skgraded.writing.charts import (
    MAX_CHARTS,
    MAX_SHADED,
    charted,
    difference_charts,
    forest,
    heat_map,
)
from skgraded.writing.evaluation_page import (
    INTERVALS,
    MAX_QUERIES,
    Fragment,
    PageTable,
    render,
)
from skgraded.writing.text import json_numbers, label, labels, percent_text, shortened

MAX_VALUES = 150_000  # of queries in a page: some 1.5 MB
MAX_ROWS = 40  # of the table in a notebook
SECTIONS = {
    "leaderboard": "Leaderboard", "pairs": "Pairs", "words": "In words",
    "intervals": "Intervals", "differences": "Differences", "table": "Table", "queries": "Queries",
}
COMPARED = {  # heading: kind of the column, its name in the frame
    "System": ("name", "system"),
    "Baseline": ("name", "baseline"),
    "Measure": ("text", "heading"),
    "Mean": ("value", "mean"),
    "Baseline mean": ("value", "baseline_mean"),
    "Difference": ("signed", "difference"),
    "Interval": ("interval", ("ci_low", "ci_high")),
    "p": ("p", "p_value"),
    "p corrected": ("p", "p_adjusted"),
    "Wins": ("count", "wins"),
    "Ties": ("count", "ties"),
    "Losses": ("count", "losses"),
    "Undefined": ("count", "n_undefined"),
    "Effect size": ("signed", "effect_size"),
    "Queries": ("count", "n_queries"),
}


@dataclass(frozen=True)
class QueryTable:
    """Per-query values for the table and the charts of a page."""

    query_ids: np.ndarray
    per_query: dict[str, np.ndarray]  # (n_systems, n_queries) by measure name
    weights: np.ndarray | None
    systems: list[str]
    baseline: int  # position of the system that the table begins with
    differences: Callable[[Any], np.ndarray]  # of the pair in a row


@dataclass(frozen=True, kw_only=True)
class ComparisonPage:
    """What the page of a comparison shows; the template reads these attributes.

    Rows have the columns of the table as attributes, `heading` and `is_significant`; `hidden` are
    the columns that say nothing about this comparison.
    """

    title: str
    lead: str
    board: Any  # the leaderboard
    rows: list[Any]
    hidden: list[str]
    level: float  # of the intervals
    sentences: Callable[[], list[str]]  # what each row shows
    # Mean differences of all pairs and their significance by heading, as the leaderboard orders.
    matrices: Callable[[], dict[str, tuple[np.ndarray, np.ndarray]]]
    queries: QueryTable | None = None  # None without per-query values

    def html(self) -> str:
        """Fill the template of the page; an ImportError without Jinja2."""
        template = "comparison.html.j2" if self.queries else "summary_comparison.html.j2"
        return render(template, self)

    def fragment(self) -> str:
        """Fill the template of the fragment for notebooks; an ImportError without Jinja2.

        More than 40 rows are cut to those with the smallest p.
        """
        def p_of(row):
            return row.p_adjusted if row.p_adjusted == row.p_adjusted else np.inf

        rows, note = self.rows, ""
        if len(rows) > MAX_ROWS:
            note = (
                f"{MAX_ROWS} of {len(rows):,} rows, those of the smallest p; to_html and to_frame "
                "have all. "
            )
            rows = sorted(rows, key=p_of)[:MAX_ROWS]
        table = _comparison_table(rows, self.hidden, self.level)
        table = table._replace(caption=note + table.caption)
        return Fragment(self.title, self.lead, self.leaderboard, compared=table).html()

    @property
    def percent(self) -> str:
        """The level of the intervals."""
        return percent_text(self.level)

    @property
    def sections(self) -> list[tuple[str, str]]:
        """The anchors and headings of the sections."""
        hidden = [] if len(self.board.systems) > 2 else ["pairs"]
        hidden += [] if self.queries else ["differences", "queries"]
        return [section for section in SECTIONS.items() if section[0] not in hidden]

    @property
    def leaderboard(self) -> PageTable:
        """Means of the systems."""
        return PageTable(
            self.board.note.replace("* the best", "Means; bold: the best"),
            [("System", "name"), *((heading, "marked") for heading in self.board.measures)],
            [[name, *row] for name, row in zip(self.board.names(), self.board.cells, strict=True)],
        )

    @property
    def long_names(self) -> list[tuple[str, str]]:
        """Names that are shortened, and the full ones."""
        names = [(shortened(name), label(name)) for name in self.board.systems]
        return [both for both in names if both[0] != both[1]]

    @property
    def heat_maps(self) -> dict[str, Any]:
        """Heat maps of all pairs, and the numbers of their columns."""
        systems, maps = self.board.systems, []
        if len(systems) > 2:
            maps = [heat_map(heading, systems, *two) for heading, two in self.matrices().items()]
        numbers = [str(i + 1) for i in range(min(len(systems), MAX_SHADED))]
        return {"numbers": numbers, "measures": maps}

    @property
    def is_tested(self) -> bool:
        """Whether there is a test."""
        return self.rows[0].is_significant is not None

    @cached_property
    def by_heading(self) -> dict[str, list[Any]]:
        """Rows by heading."""
        groups: dict = {}
        for row in self.rows:
            groups.setdefault(row.heading, []).append(row)
        return groups

    @property
    def groups(self) -> list[tuple[str, str, list[tuple[str, list[str]]]]]:
        """What each heading shows in short, and its sentences, significant pairs first."""
        texts = self._texts()
        return [_said(heading, rows, texts) for heading, rows in self.by_heading.items()]

    def _texts(self):
        """The sentence of each row, by its identity, with shortened names."""
        texts = {}
        for row, text in zip(self.rows, self.sentences(), strict=True):
            for name in self.board.systems:
                if shortened(name) != label(name):
                    text = text.replace(name, shortened(name))
            texts[id(row)] = printable(text)
        return texts

    @property
    def forests(self) -> list[dict[str, Any]]:
        """Intervals of the differences."""
        return [forest(heading, *charted(rows)) for heading, rows in self.by_heading.items()]

    @property
    def summary(self) -> PageTable:
        """The table of the comparison."""
        return _comparison_table(self.rows, self.hidden, self.level)

    @property
    def charts(self) -> list[dict[str, Any]]:
        """Charts of the differences of each pair."""
        assert self.queries is not None
        return [
            _charts(heading, *charted(rows), self.queries.differences)
            for heading, rows in self.by_heading.items()
        ]

    @property
    def n_queries(self) -> int:
        """All queries."""
        return len(self.queries.query_ids) if self.queries else 0

    @cached_property
    def _positions(self):
        """Positions of the queries in the table."""
        queries = self.queries
        assert queries is not None
        first, *_ = queries.per_query.values()
        return _kept(first, queries.baseline, len(queries.per_query))

    @property
    def kept(self) -> str:
        """Which queries the table contains if it does not contain all."""
        queries = self.queries
        assert queries is not None
        quarter = f"{len(self._positions) // 4:,}"
        return (
            f"the {quarter} with the largest loss of any system against "
            f"{shortened(queries.systems[queries.baseline])} by {next(iter(queries.per_query))}, "
            f"the {quarter} with the largest win, and of the others as many, evenly spread"
        )

    @cached_property
    def data(self) -> dict[str, Any] | None:
        """What the script draws the table of queries from."""
        queries = self.queries
        if queries is None:
            return None
        kept = self._positions
        return {
            "ids": labels(queries.query_ids[kept]),
            "systems": labels(queries.systems),
            "measures": labels(queries.per_query),
            "baseline": queries.baseline,
            "values": [
                [json_numbers(values[kept]) for values in systems]
                for systems in queries.per_query.values()
            ],
            "weights": None if queries.weights is None else json_numbers(queries.weights[kept]),
        }


def _said(heading, rows, texts):
    significant = [texts[id(row)] for row in rows if row.is_significant]
    others = [texts[id(row)] for row in rows if not row.is_significant]
    pairs = plural(len(rows), "pair", "pairs")
    text = f": {len(significant)} of {len(rows)} {pairs} told apart" * (len(rows) > 1)
    if rows[0].is_significant is None:
        text = f": {len(rows)} {pairs}, not tested"
    both = (("Told apart", significant), ("Not told apart", others))
    return heading, text, [(title, said) for title, said in both if said]


def _comparison_table(rows, hidden, level):
    columns = {
        heading: column for heading, column in COMPARED.items() if column[1] not in hidden
    }
    methods = " or ".join(sorted({INTERVALS[row.ci_method] for row in rows}))
    return PageTable(
        f"Mean differences with {percent_text(level)} intervals by {methods}; "
        "effect size: mean difference / standard deviation of the differences",
        [(heading, kind) for heading, (kind, _) in columns.items()],
        [[_take(row, key) for _, key in columns.values()] for row in rows],
    )


def _take(row, key):
    return getattr(row, key) if isinstance(key, str) else [getattr(row, name) for name in key]


def _charts(name, found, note, differences):
    drawn = found[:MAX_CHARTS]
    if len(found) > MAX_CHARTS:
        note = f"{note} Of {len(found)} charts the first {MAX_CHARTS} are drawn.".strip()
    charts = difference_charts(drawn, [differences(row) for row in drawn])
    return {"measure": name, "note": note, "charts": charts}


def _kept(values, base, n_measures):
    """Positions of the queries of the table: all, or those that differ the most and some others."""
    n_systems, n = values.shape
    limit = min(MAX_QUERIES, max(200, MAX_VALUES // (n_systems * n_measures)))
    if n <= limit:
        return np.arange(n)
    differences = np.delete(values, base, axis=0) - values[base]
    losses = np.argsort(np.fmin.reduce(differences), kind="stable")[: limit // 4]
    wins = np.argsort(-np.fmax.reduce(differences), kind="stable")[: limit // 4]
    others = np.setdiff1d(np.arange(n), np.union1d(losses, wins))
    spread = np.linspace(0, len(others) - 1, limit // 2).round().astype(int)
    return np.union1d(np.union1d(losses, wins), others[spread])
