"""Reports as HTML: one self-contained page, and a small fragment for notebooks.

The page holds its styles, its script and its data, and asks the network for nothing. Summaries
and charts stand in it as they are; the script only draws the table of queries and sorts tables.
"""

from __future__ import annotations

import math

import numpy as np

from skgraded._input.versions import versions
from skgraded.reports.write.charts import difference_chart, forest, interval_mark, level_chart
from skgraded.reports.write.text import (
    exact,
    interval_text,
    json_numbers,
    labels,
    percent_text,
    shown,
    utf8,
)

MAX_QUERIES = 2_000  # in the table of a page, which scrolls smoothly and is 0.3 MB for 4 systems
MAX_CHARTS = 24
SECTIONS = [("summary", "Summary"), ("values", "Values"), ("queries", "Queries")]
INTERVALS = {"bootstrap": "BCa bootstrap", "t": "Student's t"}
FOLDS = {
    "fold": "Fold",
    "n_queries": "Queries",
    "fit_time": "Fit\u00a0(s)",
    "score_time": "Score\u00a0(s)",
    "error": "Error",
}
COMPARED = {  # heading: kind of the column, its name in the frame
    "System": ("text", "system"),
    "Baseline": ("text", "baseline"),
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


# Evaluation --------------------------------------------------------------------------------------

def evaluation_page(
    *, title, lead, summary, level, query_ids, per_query, undefined, weights, folds=None, fold=None
) -> str:
    """Show values by query and their means as a page of HTML; an ImportError without Jinja2.

    `summary` is a frame, a row a measure; `per_query` and `undefined` are arrays by measure name,
    `folds` a frame, a row a fold, and `fold` that of each query. Of more than 2,000 queries the
    table holds the 1,000 lowest and the 1,000 highest by the first measure, and says so.
    """
    name, values = next(iter(per_query.items()))
    kept = _extremes(values, values)
    half = f"{MAX_QUERIES // 2:,}"
    sections = list(SECTIONS)
    if folds is not None:
        sections.insert(1, ("folds", "Folds"))
    means = zip(summary["measure"], summary["mean"].tolist(), strict=True)
    return _render(
        "evaluation.html.j2",
        title=title,
        lead=lead,
        sections=sections,
        summary=_summary_table(summary, level, per_query),
        folds=_folds_table(folds),
        charts=[level_chart(measure, per_query[measure], mean) for measure, mean in means],
        n_queries=len(query_ids),
        n_kept=len(kept),
        kept=f"the {half} lowest and the {half} highest by {name}",
        data={
            "ids": labels(query_ids[kept]),
            "columns": _data_columns(kept, per_query, undefined, weights, fold),
        },
    )


def evaluation_fragment(
    *, title, lead, summary, level, query_ids, per_query, worst, folds=None
) -> str:
    """Show the same in a notebook: a small piece without scripts, whose styles reach only itself.

    `worst` are the positions of the lowest queries, which are shown.
    """
    return _render(
        "fragment.html.j2",
        title=title,
        text=lead,
        summary=_summary_table(summary, level, per_query),
        folds=_folds_table(folds),
        worst=_worst_table(query_ids[worst], per_query, worst),
        compared=None,
    )


def summary_page(
    *, title, lead, summary, level, profiles, n_queries, query_ids, per_query
) -> str:
    """Show a Summary as a page of HTML; an ImportError without Jinja2.

    `profiles` are values by measure name that are spread as those of all queries are; `query_ids`
    and `per_query` are of the queries that are kept.
    """
    means = zip(summary["measure"], summary["mean"].tolist(), strict=True)
    nothing = dict.fromkeys(per_query, np.zeros(len(query_ids), dtype=bool))
    kept = np.arange(len(query_ids))
    return _render(
        "evaluation.html.j2",
        title=title,
        lead=lead,
        sections=SECTIONS,
        summary=_summary_table(summary, level, profiles),
        folds=None,
        charts=[level_chart(measure, profiles[measure], mean) for measure, mean in means],
        n_queries=n_queries,
        n_kept=len(kept),
        kept="the lowest by each measure",
        data={
            "ids": labels(query_ids),
            "columns": _data_columns(kept, per_query, nothing, None, None),
        },
    )


def summary_fragment(*, title, lead, summary, level, query_ids, per_query) -> str:
    """Show the same in a notebook; the queries are those that are shown as the lowest."""
    return _render(
        "fragment.html.j2",
        title=title,
        text=lead,
        summary=_summary_table(summary, level, per_query),
        folds=None,
        worst=_worst_table(query_ids, per_query, np.arange(len(query_ids))),
        compared=None,
    )


def _summary_table(summary, level, per_query):
    lowest = min((np.fmin.reduce(values, initial=0.0) for values in per_query.values()), default=0)
    low, high = math.floor(lowest), 1  # correlations go down to -1
    rows = []
    for record in summary.to_dict("records"):
        mean, ends = record["mean"], [record["ci_low"], record["ci_high"]]
        mark = interval_mark(mean, ends, low, high)
        rows.append([
            record["measure"], mean, ends, record["n_queries"], record["n_undefined"], mark
        ])
    return {
        "caption": f"Means over queries with {percent_text(level)} intervals by "
        f"{INTERVALS[summary['method'][0]]}, and how many queries have no value of their own",
        "columns": [
            ("Measure", "text"), ("Mean", "value"), ("Interval", "interval"),
            ("Queries", "count"), ("Undefined", "count"),
            (f"{shown(low, 'count')} to {high}", "strip"),
        ],
        "rows": rows,
    }


def _folds_table(frame):
    if frame is None:
        return None
    kinds = [_kind(name, frame[name].dtype) for name in frame]
    return {
        "caption": "Means and times by fold",
        "columns": [(FOLDS.get(name, name), kind) for name, kind in zip(frame, kinds, strict=True)],
        "rows": frame.to_numpy(dtype=object).tolist(),
    }


def _kind(name, dtype):
    if name in ("fit_time", "score_time"):
        return "seconds"
    return {"i": "count", "f": "value"}.get(dtype.kind, "text")


def _worst_table(query_ids, per_query, worst):
    return {
        "caption": f"Lowest {next(iter(per_query))}",
        "columns": [("Query", "text"), *((measure, "value") for measure in per_query)],
        "rows": [
            [label, *(values[q] for values in per_query.values())]
            for label, q in zip(labels(query_ids), worst, strict=True)
        ],
    }


def _data_columns(kept, per_query, undefined, weights, fold):
    columns = []
    if fold is not None:
        folds = fold[kept].tolist()
        columns.append({"name": "Fold", "kind": "plain", "digits": 0, "values": folds})
    for name, values in per_query.items():
        columns.append({
            "name": name,
            "values": json_numbers(values[kept]),
            "undefined": np.flatnonzero(undefined[name][kept]).tolist(),
        })
    if weights is not None:
        columns.append({"name": "Weight", "kind": "plain", "values": json_numbers(weights[kept])})
    return columns


# Comparison --------------------------------------------------------------------------------------

def comparison_page(
    *, title, lead, leaderboard, rows, left_out, level, systems, measures, baseline, query_ids,
    per_query, weights, differences, sentences,
) -> str:
    """Show a comparison of systems as a page of HTML; an ImportError without Jinja2.

    `rows` are those of its table, dicts by column name, of which the columns `left_out` say nothing
    here; `per_query` is of shape (n_systems, n_queries) by measure name, `baseline` the position
    of the system that the table of queries begins with, and `differences` those of each row. Of
    more than 2,000 queries the table holds the 1,000 with the largest loss of any system, by the
    first measure, and the 1,000 with the largest win, and says so. At most 24 charts are drawn.
    """
    kept = _most_different(per_query[measures[0]], baseline)
    half = f"{MAX_QUERIES // 2:,}"
    return _render(
        "comparison.html.j2",
        title=title,
        lead=lead,
        level=percent_text(level),
        sections=[
            ("leaderboard", "Leaderboard"), ("words", "In words"), ("table", "Table"),
            ("intervals", "Intervals"),
            ("differences", "Differences"), ("queries", "Queries"),
        ],
        groups=_grouped(sentences, rows, measures),
        leaderboard=_leaderboard_table(leaderboard),
        summary=_comparison_table(rows, left_out, level),
        forests=[forest(measure, rows) for measure in measures],
        charts=[
            difference_chart(row, of_row)
            for row, of_row in zip(rows[:MAX_CHARTS], differences, strict=False)
        ],
        n_charts=len(rows),
        n_queries=len(query_ids),
        n_kept=len(kept),
        kept=f"the {half} with the largest loss of any system against {systems[baseline]} by "
        f"{measures[0]}, and the {half} with the largest win",
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
    *, title, lead, leaderboard, rows, left_out, level, measures, sentences
) -> str:
    """Show a comparison of which no values by query are known; parameters as above."""
    return _render(
        "summary_comparison.html.j2",
        title=title,
        lead=lead,
        level=percent_text(level),
        sections=[
            ("leaderboard", "Leaderboard"), ("words", "In words"), ("table", "Table"),
            ("intervals", "Intervals"),
        ],
        groups=_grouped(sentences, rows, measures),
        leaderboard=_leaderboard_table(leaderboard),
        summary=_comparison_table(rows, left_out, level),
        forests=[forest(measure, rows) for measure in measures],
        data=None,
    )


def comparison_fragment(*, title, lead, leaderboard, rows, left_out, level) -> str:
    """Show the same in a notebook; parameters as of `comparison_page`."""
    board = _leaderboard_table(leaderboard)
    table = _comparison_table(rows, left_out, level)
    return _render(
        "fragment.html.j2", title=title, text=lead, summary=board, folds=None, worst=None,
        compared=table,
    )


def _leaderboard_table(board):
    return {
        "caption": board.note.replace("* the best", "Means; bold: the best"),
        "columns": [("System", "text"), *((measure, "marked") for measure in board.measures)],
        "rows": [[name, *row] for name, row in zip(board.names(), board.cells, strict=True)],
    }


def _grouped(sentences, rows, measures):
    """Sentences by measure, those of systems that are told apart first."""
    said = list(zip(sentences, rows, strict=True))
    return [
        (measure, [
            sentence for apart in (True, False) for sentence, row in said
            if row["measure"] == measure and bool(row["told_apart"]) == apart
        ])
        for measure in measures
    ]


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


def _most_different(values, base):
    """Positions of the queries with the largest losses and wins of any system."""
    differences = np.delete(values, base, axis=0) - values[base]
    return _extremes(np.fmin.reduce(differences), np.fmax.reduce(differences))


def _extremes(low, high):
    """Positions, in order, of those with the lowest `low` and the highest `high`."""
    if len(low) <= MAX_QUERIES:
        return np.arange(len(low))
    lowest = np.argsort(low, kind="stable")[: MAX_QUERIES // 2]
    highest = np.argsort(-high, kind="stable")[: MAX_QUERIES // 2]
    return np.union1d(lowest, highest)


# Templates ---------------------------------------------------------------------------------------

def _render(template, **parts):
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError("HTML reports need Jinja2: pip install 'skgraded[all]'.") from error
    from skgraded import __version__

    environment = Environment(
        loader=PackageLoader("skgraded.reports.write"), autoescape=True, undefined=StrictUndefined
    )
    environment.filters.update(
        shown=shown, exact=exact, interval=interval_text, count=lambda n: f"{n:,}"
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    made = ", ".join(f"{name} {text}" for name, text in versions().items() if name != "skgraded")
    page = environment.get_template(template).render(version=__version__, made=made, **parts)
    return utf8(page)
