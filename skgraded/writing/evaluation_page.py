"""Reports as HTML: one self-contained page, and a small fragment for notebooks.

The page holds its styles, its script and its data, and asks the network for nothing. Summaries
and charts stand in it as they are; the script only draws the queries and sorts tables.
"""

from __future__ import annotations

import math

import numpy as np

from skgraded._input.versions import versions
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

MAX_QUERIES = 2_000  # in the table of a page, which scrolls smoothly and is 0.3 MB for 4 systems
SECTIONS = [("summary", "Summary"), ("values", "Values"), ("queries", "Queries")]
INTERVALS = {"bootstrap": "BCa bootstrap", "t": "Student's t"}
FOLDS = {
    "fold": "Fold",
    "n_queries": "Queries",
    "fit_time": "Fit\u00a0(s)",
    "score_time": "Score\u00a0(s)",
    "error": "Error",
}


# Evaluation --------------------------------------------------------------------------------------

def evaluation_page(
    *, title, lead, summary, level, query_ids, per_query, undefined, weights, folds=None, fold=None,
    segments=None,
) -> str:
    """Show values by query and their means as a page of HTML; an ImportError without Jinja2.

    `summary` is a frame, a row a measure; `per_query` and `undefined` are arrays by measure name,
    `folds` a frame, a row a fold, and `fold` that of each query; `segments` is as `summary`, a row
    a segment and measure. Of more than 2,000 queries the table holds the 1,000 lowest and the 1,000
    highest by the first measure, and says so.
    """
    name, values = next(iter(per_query.items()))
    kept = _extremes(values)
    half = f"{MAX_QUERIES // 2:,}"
    sections = list(SECTIONS)
    if folds is not None:
        sections.insert(1, ("folds", "Folds"))
    if segments is not None:
        sections.insert(1, ("segments", "Segments"))
    means = zip(summary["measure"], summary["mean"].tolist(), strict=True)
    return render(
        "evaluation.html.j2",
        title=title,
        lead=lead,
        sections=sections,
        summary=_summary_table(summary, level, per_query),
        segments=None if segments is None else _summary_table(segments, level, per_query),
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
    return render(
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
    return render(
        "evaluation.html.j2",
        title=title,
        lead=lead,
        sections=SECTIONS,
        summary=_summary_table(summary, level, profiles),
        segments=None,
        folds=None,
        charts=[
            level_chart(measure, profiles[measure], mean, n_queries) for measure, mean in means
        ],
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
    return render(
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
    by_segment = "segment" in summary
    rows = []
    for record in summary.to_dict("records"):
        mean, ends = record["mean"], [record["ci_low"], record["ci_high"]]
        mark = interval_mark(mean, ends, low, high)
        row = [record["measure"], mean, ends, record["n_queries"], record["n_undefined"], mark]
        rows.append([label(record["segment"]), *row] if by_segment else row)
    return {
        "caption": f"Means over {'the ' * by_segment}queries {'of each segment ' * by_segment}with "
        f"{percent_text(level)} intervals by {INTERVALS[summary['method'].iloc[0]]}, and how many "
        "queries have no value of their own",
        "columns": [
            *[("Segment", "name")] * by_segment, ("Measure", "text"), ("Mean", "value"),
            ("Interval", "interval"), ("Queries", "count"), ("Undefined", "count"),
            (interval_axis(low, high), "strip"),
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
        "columns": [("Query", "name"), *((measure, "value") for measure in per_query)],
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


def _extremes(values):
    """Positions, in order, of the lowest and the highest values."""
    if len(values) <= MAX_QUERIES:
        return np.arange(len(values))
    lowest = np.argsort(values, kind="stable")[: MAX_QUERIES // 2]
    highest = np.argsort(-values, kind="stable")[: MAX_QUERIES // 2]
    return np.union1d(lowest, highest)


# Templates ---------------------------------------------------------------------------------------

def render(template, **parts):
    """Fill a template."""
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
    page = environment.get_template(template).render(version=__version__, made=made, **parts)
    return utf8(page)
