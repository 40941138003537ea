"""Comparisons as HTML: one self-contained page, and a small fragment for notebooks."""

from __future__ import annotations

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
    "Measure": ("text", "measure"),
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


def comparison_page(
    *, title, lead, leaderboard, rows, left_out, level, systems, measures, baseline, matrices,
    query_ids, per_query, weights, differences, sentences,
) -> str:
    """Show a comparison of systems as a page of HTML; an ImportError without Jinja2.

    `rows` are those of its table, dicts by column name, of which the columns `left_out` say nothing
    here, and `sentences` say what each shows; `matrices` has of each measure the mean differences
    of all pairs and which are told apart, in the order of the leaderboard. `per_query` is of shape
    (n_systems, n_queries) by measure name, `baseline` the position of the system that the table
    of queries begins with, and `differences` a function that gives those of a row. Of many queries
    the table holds those with the largest losses and wins, and some of the others.
    """
    kept = _kept(per_query[measures[0]], baseline, len(measures))
    quarter = f"{len(kept) // 4:,}"
    groups = _by_measure(rows)
    shown = {name: charted(of_group) for name, of_group in groups.items()}
    return render(
        "comparison.html.j2",
        **_parts(title, lead, leaderboard, rows, left_out, level, matrices, sentences),
        charts=[
            _charts(name, found, note, differences) for name, (found, note) in shown.items()
        ],
        n_queries=len(query_ids),
        n_kept=len(kept),
        kept=f"the {quarter} with the largest loss of any system against "
        f"{shortened(systems[baseline])} by {measures[0]}, the {quarter} with the largest win, and "
        "of the others as many, evenly spread",
        data={
            "ids": labels(query_ids[kept]),
            "systems": labels(systems),
            "measures": labels(measures),
            "baseline": baseline,
            "values": [
                [json_numbers(values[kept]) for values in per_query[measure]]
                for measure in measures
            ],
            "weights": None if weights is None else json_numbers(weights[kept]),
        },
    )


def summary_comparison_page(
    *, title, lead, leaderboard, rows, left_out, level, matrices, sentences
) -> str:
    """Show a comparison of which no values by query are known; parameters as above."""
    parts = _parts(title, lead, leaderboard, rows, left_out, level, matrices, sentences)
    known = [one for one in parts.pop("sections") if one[0] not in ("differences", "queries")]
    return render("summary_comparison.html.j2", **parts, sections=known, data=None)


def comparison_fragment(*, title, lead, leaderboard, rows, left_out, level) -> str:
    """Show the same in a notebook; parameters as of `comparison_page`.

    Of more than 40 rows those are shown whose p-values are the smallest.
    """
    def of_p(row):
        return row["p_adjusted"] if row["p_adjusted"] == row["p_adjusted"] else np.inf

    shown = rows if len(rows) <= MAX_ROWS else sorted(rows, key=of_p)[:MAX_ROWS]
    table = _comparison_table(shown, left_out, level)
    if len(shown) < len(rows):
        table["caption"] = (
            f"{MAX_ROWS} of {len(rows):,} rows, those of the smallest p; to_html and to_frame have "
            f"all. {table['caption']}"
        )
    return render(
        "fragment.html.j2", title=title, text=lead, summary=_leaderboard_table(leaderboard),
        folds=None, worst=None, compared=table,
    )


def _parts(title, lead, leaderboard, rows, left_out, level, matrices, sentences):
    """What the pages with and without values by query have in common."""
    groups = _by_measure(rows)
    left_out_sections = [] if len(leaderboard.systems) > 2 and matrices else ["pairs"]
    return {
        "title": title,
        "lead": lead,
        "level": percent_text(level),
        "sections": [one for one in SECTIONS.items() if one[0] not in left_out_sections],
        "leaderboard": _leaderboard_table(leaderboard),
        "long_names": [
            (shortened(name), label(name)) for name in leaderboard.systems
            if shortened(name) != label(name)
        ],
        "heat_maps": _heat_maps(leaderboard.systems, matrices),
        "is_tested": rows[0]["told_apart"] is not None,
        "groups": _sentences(groups, rows, sentences, leaderboard.systems),
        "forests": [forest(name, *charted(of_group)) for name, of_group in groups.items()],
        "summary": _comparison_table(rows, left_out, level),
    }


def _by_measure(rows):
    groups: dict = {}
    for row in rows:
        groups.setdefault(row["measure"], []).append(row)
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


def _sentences(groups, rows, sentences, systems):
    """Of each group what it shows in short, and the sentences, of pairs told apart first."""
    long_names = {name: shortened(name) for name in systems if shortened(name) != label(name)}
    of_row = {id(row): sentence for row, sentence in zip(rows, sentences, strict=True)}

    def said(row):
        sentence = of_row[id(row)]
        for name, short in long_names.items():
            sentence = sentence.replace(name, short)
        return printable(sentence)

    found = []
    for name, of_group in groups.items():
        apart = [row for row in of_group if row["told_apart"]]
        others = [row for row in of_group if not row["told_apart"]]
        pairs = plural(len(of_group), "pair", "pairs")
        text = f": {len(apart)} of {len(of_group)} {pairs} told apart" * (len(of_group) > 1)
        if of_group[0]["told_apart"] is None:
            text = f": {len(of_group)} {pairs}, not tested"
        headed = (("Told apart", apart), ("Not told apart", others))
        found.append((name, text, [
            (heading, [said(row) for row in part]) for heading, part in headed if part
        ]))
    return found


def _comparison_table(rows, left_out, level):
    columns = {
        heading: column for heading, column in COMPARED.items() if column[1] not in left_out
    }
    methods = " or ".join(sorted({INTERVALS[row["ci_method"]] for row in rows}))
    return {
        "caption": f"Mean differences with {percent_text(level)} intervals by {methods}; "
        "effect size: mean difference / standard deviation of the differences",
        "columns": [(heading, kind) for heading, (kind, _) in columns.items()],
        "rows": [[_take(row, key) for _, key in columns.values()] for row in rows],
    }


def _take(row, key):
    return row[key] if isinstance(key, str) else [row[one] for one in key]


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
