"""Comparisons as HTML: one self-contained page, and a small fragment for notebooks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skgraded._input.words import plural, printable
from skgraded.writing import charts, text
from skgraded.writing.evaluation_page import INTERVALS, MAX_QUERIES, PageTable, render

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
    """What the page of a comparison shows.

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
        systems = self.board.systems
        long_names = [name for name in systems if text.shortened(name) != text.label(name)]
        groups: dict = {}  # rows with their sentences by heading
        for row, sentence in zip(self.rows, self.sentences(), strict=True):
            for name in long_names:
                sentence = sentence.replace(name, text.shortened(name))
            groups.setdefault(row.heading, []).append((row, printable(sentence)))
        drawn = {
            heading: charts.charted([row for row, _ in group]) for heading, group in groups.items()
        }
        absent = [] if len(systems) > 2 else ["pairs"]
        absent += [] if self.queries else ["differences", "queries"]
        return render("comparison.html.j2", {
            "title": self.title, "lead": self.lead, "leaderboard": self._leaderboard(),
            "sections": {at: heading for at, heading in SECTIONS.items() if at not in absent},
            "long_names": [(text.shortened(name), text.label(name)) for name in long_names],
            "heat_maps": [] if len(systems) <= 2 else [
                charts.heat_map(heading, systems, *matrices)
                for heading, matrices in self.matrices().items()
            ],
            "groups": [_sentences_of(heading, group) for heading, group in groups.items()],
            "percent": text.percent_text(self.level),
            "is_tested": self.rows[0].is_significant is not None,
            "forests": [charts.forest(heading, *shown) for heading, shown in drawn.items()],
            "summary": _comparison_table(self.rows, self.hidden, self.level),
            **self._of_queries(drawn),
        })

    def fragment(self) -> str:
        """Fill the template of the fragment for notebooks; an ImportError without Jinja2.

        More than 40 rows are cut to those with the smallest p.
        """
        rows, note = self.rows, ""
        if len(rows) > MAX_ROWS:
            note = (
                f"{MAX_ROWS} of {len(rows):,} rows, those of the smallest p; to_html and to_frame "
                "have all. "
            )
            rows = sorted(rows, key=lambda row: (row.p_adjusted != row.p_adjusted, row.p_adjusted))
        table = _comparison_table(rows[:MAX_ROWS], self.hidden, self.level)
        return render("fragment.html.j2", {
            "title": self.title, "lead": self.lead, "summary": self._leaderboard(),
            "details": {"Differences": table._replace(caption=note + table.caption)},
        })

    def _leaderboard(self):
        return PageTable(
            self.board.note.replace("* the best", "Means; bold: the best"),
            [("System", "name"), *((heading, "marked") for heading in self.board.measures)],
            [[name, *row] for name, row in zip(self.board.names(), self.board.cells, strict=True)],
        )

    def _of_queries(self, drawn):
        """Charts of the differences in the drawn rows, and the data of the table of queries."""
        queries = self.queries
        if queries is None:
            return {"data": None}
        first, values = next(iter(queries.per_query.items()))
        kept = _kept(values, queries.baseline, len(queries.per_query))
        quarter = f"{len(kept) // 4:,}"
        return {
            "charts": [
                _charts(heading, rows, note, queries.differences)
                for heading, (rows, note) in drawn.items()
            ],
            "n_queries": len(queries.query_ids),
            "kept": (  # if the table does not contain all
                f"the {quarter} with the largest loss of any system against "
                f"{text.shortened(queries.systems[queries.baseline])} by {first}, "
                f"the {quarter} with the largest win, and of the others as many, evenly spread"
            ),
            "data": {
                "ids": text.labels(queries.query_ids[kept]),
                "systems": text.labels(queries.systems),
                "measures": text.labels(queries.per_query),
                "baseline": queries.baseline,
                "values": [
                    [text.json_numbers(values[kept]) for values in systems]
                    for systems in queries.per_query.values()
                ],
                "weights": (
                    None if queries.weights is None else text.json_numbers(queries.weights[kept])
                ),
            },
        }


def _sentences_of(heading, group):
    """What the rows of a heading show in short, and their sentences, significant pairs first."""
    significant = [sentence for row, sentence in group if row.is_significant]
    others = [sentence for row, sentence in group if not row.is_significant]
    pairs = plural(len(group), "pair", "pairs")
    outcome = f": {len(significant)} of {len(group)} {pairs} told apart" * (len(group) > 1)
    if group[0][0].is_significant is None:
        outcome = f": {len(group)} {pairs}, not tested"
    both = (("Told apart", significant), ("Not told apart", others))
    return heading, outcome, [(title, sentences) for title, sentences in both if sentences]


def _comparison_table(rows, hidden, level):
    columns = {heading: column for heading, column in COMPARED.items() if column[1] not in hidden}
    methods = " or ".join(sorted({INTERVALS[row.ci_method] for row in rows}))
    return PageTable(
        f"Mean differences with {text.percent_text(level)} intervals by {methods}; "
        "effect size: mean difference / standard deviation of the differences",
        [(heading, kind) for heading, (kind, _) in columns.items()],
        [[_take(row, key) for _, key in columns.values()] for row in rows],
    )


def _take(row, key):
    return getattr(row, key) if isinstance(key, str) else [getattr(row, name) for name in key]


def _charts(name, rows, note, differences):
    drawn = rows[:charts.MAX_CHARTS]
    if len(rows) > len(drawn):
        note = f"{note} Of {len(rows)} charts the first {len(drawn)} are drawn.".strip()
    of_pairs = charts.difference_charts(drawn, [differences(row) for row in drawn])
    return {"measure": name, "note": note, "charts": of_pairs}


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
