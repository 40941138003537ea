"""The HTML page of a comparison."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded.writing import text
from skgraded.writing.pages import MAX_QUERIES, PageTable, forest, render
from skgraded.writing.tables import group_rows, select_rows
from skgraded.writing.text import Marked

if TYPE_CHECKING:
    from skgraded.reports.comparison import Comparison, Leaderboard

MAX_VALUES = 150_000  # maximum number of per-query values on a page (about 1.5 MB)
MAX_SENTENCES = 12  # maximum number of visible sentences per measure; the rest are collapsed
SECTIONS = {
    "intervals": "Intervals",
    "leaderboard": "Leaderboard",
    "words": "Findings",
    "table": "Table",
    "queries": "Queries",
}


def render_comparison(comparison: Comparison, title: str | None) -> str:
    """Render the page of a comparison as HTML."""
    board, rows = comparison.leaderboard(), comparison._rank_rows()
    percent, is_tested = text.percent_text(comparison.level), comparison.test is not None
    data = _data_of_queries(comparison, board)
    caption = (
        f"Mean differences with {percent} intervals (Student's t); effect size: mean difference "
        "divided by the standard deviation of the differences"
    )
    return render(
        "comparison.html.j2",
        {
            "title": title or f"Comparison of {len(comparison.systems)} systems",
            "lead": _describe_comparison(comparison),
            "verdict": board.verdict,
            "leaderboard": _tabulate_leaderboard(board),
            "sections": {
                anchor: name
                for anchor, name in SECTIONS.items()
                if anchor != "queries" or data is not None
            },
            "groups": _group_sentences(comparison),
            "percent": percent,
            "is_tested": is_tested,
            "forests": [
                forest(heading, select_rows(rows, positions), board.letters, is_tested)
                for (heading,), positions in group_rows(rows, "heading").items()
            ],
            "summary": PageTable.of(comparison._shown(rows), caption),
            "n_queries": comparison.n_queries,
            "kept": f"those with the largest differences by {comparison.measures[0]}",
            "data": data,
        },
    )


def _describe_comparison(comparison: Comparison) -> str:
    """Describe the comparison and its test in the text below the title."""
    against = "All pairs" if comparison.baseline is None else f"Baseline: {comparison.baseline}"
    weighted = ", weighted" if comparison.is_weighted else ""
    lead = (
        f"{against}. {comparison._describe_size()}{weighted}; {comparison._describe_procedure()}."
    )
    if comparison.n_resamples is not None:
        seed = "" if comparison.seed is None else f", seed {comparison.seed}"
        lead += f" {comparison.n_resamples:,} resamples{seed}."
    return lead


def _tabulate_leaderboard(board: Leaderboard) -> PageTable:
    systems: list[Any] = [
        {"letter": letter, "name": name, "is_baseline": name == board.baseline}
        for name, letter in board.letters.items()
    ]
    columns, cells = [("System", "system")], [systems]
    for heading, values in board.columns():
        kind = {str: "text", Marked: "mean"}.get(type(values[0]), "value")
        columns.append(("Rank" if kind == "text" else heading, kind))
        cells.append(text.format_cells(values, kind))
    note = board.note.replace("* best", "Means; bold: best")
    return PageTable(note, columns, list(zip(*cells, strict=True)))


def _group_sentences(comparison: Comparison) -> list[tuple[str, list[str], list[str]]]:
    """Return a title, visible sentences and collapsed sentences for each heading."""
    shown = []
    for heading, pairs in groupby(comparison._describe_rows(), lambda pair: pair[0]["heading"]):
        rows, texts = zip(*pairs, strict=True)
        title = f"{heading}: {text.count_significant(rows, comparison.test is not None)}"
        shown.append((title, list(texts[:MAX_SENTENCES]), list(texts[MAX_SENTENCES:])))
    return shown


def _data_of_queries(comparison: Comparison, board: Leaderboard) -> dict[str, Any] | None:
    """Return the data for the table of queries, or None if the page has no such table."""
    if comparison.per_query is None or comparison.segments is not None:
        return None
    systems, weights = list(board.letters), comparison.weights
    order = [comparison.systems.index(name) for name in systems]
    baseline = systems[1] if comparison.baseline is None else comparison.baseline
    # If there are many queries, keep those with the largest differences between systems.
    limit = min(MAX_QUERIES, max(200, MAX_VALUES // (len(systems) * len(comparison.measures))))
    first = comparison.per_query[comparison.measures[0]]
    spread = np.fmax.reduce(first) - np.fmin.reduce(first)
    kept = np.sort(np.argsort(-spread, kind="stable")[:limit])
    return {
        "ids": text.labels(comparison.query_ids[kept]),
        "systems": text.labels(systems),
        "letters": list(board.letters.values()),
        "measures": text.labels(comparison.measures),
        "baseline": systems.index(baseline),
        "values": [
            text.json_numbers(of_systems[order][:, kept])
            for of_systems in comparison.per_query.values()
        ],
        "weights": None if weights is None else text.json_numbers(weights[kept]),
    }
