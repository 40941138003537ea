"""Comparisons as HTML: one self-contained page, and a small fragment for notebooks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
from skgraded.writing.evaluation_page import INTERVALS, MAX_QUERIES, render
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
class ComparisonTable:
    """What a notebook shows of a comparison."""

    title: str
    lead: str
    leaderboard: Any
    rows: list[Any]  # with the columns of the table as attributes, `heading` and `is_significant`
    hidden: list[str]  # columns that say nothing about this comparison
    level: float  # of the intervals


@dataclass(frozen=True)
class QueryTable:
    """Per-query values for the table and the charts of a page."""

    query_ids: np.ndarray
    per_query: dict[str, np.ndarray]  # (n_systems, n_queries) by measure name
    weights: np.ndarray | None
    systems: list[str]
    baseline: int  # position of the system that the table begins with
    differences: Callable[[Any], np.ndarray]  # of the pair in a row


@dataclass(frozen=True)
class ComparisonPage(ComparisonTable):
    """What a page shows of a comparison."""

    sentences: list[str]  # what each row shows
    # Mean differences of all pairs and their significance by heading, as the leaderboard orders.
    matrices: dict[str, tuple[np.ndarray, np.ndarray]]
    queries: QueryTable | None = None  # None without per-query values


def comparison_page(page: ComparisonPage) -> str:
    """Write a comparison as a page of HTML; an ImportError without Jinja2.

    With many queries, the table holds those with the largest losses and wins, and some others.
    """
    queries = page.queries
    groups = _by_heading(page.rows)
    hidden = [] if len(page.leaderboard.systems) > 2 and page.matrices else ["pairs"]
    hidden += [] if queries else ["differences", "queries"]
    return render(
        "comparison.html.j2" if queries else "summary_comparison.html.j2",
        title=page.title,
        lead=page.lead,
        level=percent_text(page.level),
        sections=[section for section in SECTIONS.items() if section[0] not in hidden],
        leaderboard=_leaderboard_table(page.leaderboard),
        long_names=[
            (shortened(name), label(name)) for name in page.leaderboard.systems
            if shortened(name) != label(name)
        ],
        heat_maps=_heat_maps(page.leaderboard.systems, page.matrices),
        is_tested=page.rows[0].is_significant is not None,
        groups=_sentences(groups, page),
        forests=[forest(heading, *charted(rows)) for heading, rows in groups.items()],
        summary=_comparison_table(page.rows, page.hidden, page.level),
        **(_query_parts(queries, groups) if queries else {"data": None}),
    )


def _query_parts(queries, groups):
    """Charts and data of the queries, for the template."""
    measures = list(queries.per_query)
    kept = _kept(queries.per_query[measures[0]], queries.baseline, len(measures))
    quarter = f"{len(kept) // 4:,}"
    return {
        "charts": [
            _charts(heading, *charted(rows), queries.differences)
            for heading, rows in groups.items()
        ],
        "n_queries": len(queries.query_ids),
        "n_kept": len(kept),
        "kept": f"the {quarter} with the largest loss of any system against "
        f"{shortened(queries.systems[queries.baseline])} by {measures[0]}, the {quarter} with the "
        "largest win, and of the others as many, evenly spread",
        "data": {
            "ids": labels(queries.query_ids[kept]),
            "systems": labels(queries.systems),
            "measures": labels(measures),
            "baseline": queries.baseline,
            "values": [
                [json_numbers(values[kept]) for values in systems]
                for systems in queries.per_query.values()
            ],
            "weights": None if queries.weights is None else json_numbers(queries.weights[kept]),
        },
    }


def comparison_fragment(shown: ComparisonTable) -> str:
    """Write a comparison for a notebook; more than 40 rows are cut to those with the smallest p."""
    def p_of(row):
        return row.p_adjusted if row.p_adjusted == row.p_adjusted else np.inf

    rows = shown.rows
    kept = rows if len(rows) <= MAX_ROWS else sorted(rows, key=p_of)[:MAX_ROWS]
    table = _comparison_table(kept, shown.hidden, shown.level)
    if len(kept) < len(rows):
        table["caption"] = (
            f"{MAX_ROWS} of {len(rows):,} rows, those of the smallest p; to_html and to_frame have "
            f"all. {table['caption']}"
        )
    return render(
        "fragment.html.j2", title=shown.title, text=shown.lead,
        summary=_leaderboard_table(shown.leaderboard), folds=None, worst=None, compared=table,
    )


def _by_heading(rows):
    groups: dict = {}
    for row in rows:
        groups.setdefault(row.heading, []).append(row)
    return groups


def _heat_maps(systems, matrices):
    numbers = [str(i + 1) for i in range(min(len(systems), MAX_SHADED))]
    return {
        "numbers": numbers,
        "measures": [
            heat_map(measure, systems, *of_measure) for measure, of_measure in matrices.items()
        ] if len(systems) > 2 else [],
    }


def _leaderboard_table(board):
    return {
        "caption": board.note.replace("* the best", "Means; bold: the best"),
        "columns": [("System", "name"), *((measure, "marked") for measure in board.measures)],
        "rows": [[name, *row] for name, row in zip(board.names(), board.cells, strict=True)],
    }


def _sentences(groups, page):
    """What each group shows in short, and its sentences, significant pairs first."""
    long_names = {
        name: shortened(name) for name in page.leaderboard.systems if shortened(name) != label(name)
    }
    of_row = {id(row): text for row, text in zip(page.rows, page.sentences, strict=True)}

    def said(row):
        sentence = of_row[id(row)]
        for name, short in long_names.items():
            sentence = sentence.replace(name, short)
        return printable(sentence)

    found = []
    for name, of_group in groups.items():
        apart = [row for row in of_group if row.is_significant]
        others = [row for row in of_group if not row.is_significant]
        pairs = plural(len(of_group), "pair", "pairs")
        text = f": {len(apart)} of {len(of_group)} {pairs} told apart" * (len(of_group) > 1)
        if of_group[0].is_significant is None:
            text = f": {len(of_group)} {pairs}, not tested"
        headed = (("Told apart", apart), ("Not told apart", others))
        found.append((name, text, [
            (heading, [said(row) for row in part]) for heading, part in headed if part
        ]))
    return found


def _comparison_table(rows, hidden, level):
    columns = {
        heading: column for heading, column in COMPARED.items() if column[1] not in hidden
    }
    methods = " or ".join(sorted({INTERVALS[row.ci_method] for row in rows}))
    return {
        "caption": f"Mean differences with {percent_text(level)} intervals by {methods}; "
        "effect size: mean difference / standard deviation of the differences",
        "columns": [(heading, kind) for heading, (kind, _) in columns.items()],
        "rows": [[_take(row, key) for _, key in columns.values()] for row in rows],
    }


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
