"""Reports as HTML: one self-contained page, and a small fragment for notebooks.

The page holds its styles, its script and its data, and asks the network for nothing. Summaries
and charts stand in it as they are; the script only draws the table of queries and sorts tables.
"""

import math

import numpy as np

from skgraded.reports.comparison import Comparison
from skgraded.reports.cross_evaluation import CrossEvaluation
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.write.charts import difference_chart, forest, interval_mark, level_chart
from skgraded.reports.write.tables import rows_of
from skgraded.reports.write.text import (
    counted,
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
N_WORST = 5  # queries in a fragment
LEVEL = 0.95
INTERVALS = {"bootstrap": "BCa bootstrap", "t": "Student's t"}
TESTS = {
    "randomization": "randomization test (sign flips)",
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "bootstrap": "bootstrap test",
    None: "no test",
}
CORRECTIONS = {
    "holm": ", Holm's correction over {n} tests",
    "bonferroni": ", Bonferroni's correction over {n} tests",
    "fdr_bh": ", false discovery rate (Benjamini-Hochberg) over {n} tests",
    None: ", {n} tests, not corrected",
}
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
    "Effect size": ("signed", "effect_size"),
    "Queries": ("count", "n_queries"),
}


def evaluation_page(evaluation: Evaluation) -> str:
    """Show an Evaluation as a page of HTML.

    Parameters
    ----------
    evaluation : Evaluation

    Returns
    -------
    str
        The same page each time: bootstrap intervals are those of `Evaluation.summary`. Of more
        than 2,000 queries the table holds the 1,000 lowest and the 1,000 highest by the first
        measure, and says so.

    Raises
    ------
    ImportError
        Without Jinja2 or pandas.
    """
    return _render("evaluation.html.j2", **_evaluation_parts(evaluation))


def cross_evaluation_page(cross_evaluation: CrossEvaluation) -> str:
    """Show a CrossEvaluation as a page of HTML: `evaluation_page` with a table of folds.

    Parameters
    ----------
    cross_evaluation : CrossEvaluation

    Returns
    -------
    str

    Raises
    ------
    ImportError
        Without Jinja2 or pandas.
    """
    parts = _evaluation_parts(cross_evaluation)
    parts["sections"].insert(1, ("folds", "Folds"))
    return _render("evaluation.html.j2", folds=_folds_table(cross_evaluation), **parts)


def comparison_page(comparison: Comparison) -> str:
    """Show a Comparison as a page of HTML.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    str
        Of more than 2,000 queries the table holds the 1,000 with the largest loss of any system,
        by the first measure, and the 1,000 with the largest win, and says so. At most 24 charts
        of differences are drawn.

    Raises
    ------
    ImportError
        Without Jinja2.
    """
    return _render("comparison.html.j2", **_comparison_parts(comparison))


def fragment(report: Evaluation | Comparison) -> str:
    """Show a report as a notebook does: a small piece of HTML without scripts.

    Parameters
    ----------
    report : Evaluation, CrossEvaluation or Comparison

    Returns
    -------
    str
        Its styles reach nothing outside it. Intervals of an Evaluation are those by t, since a
        notebook shows a value whenever its cell is run, and a bootstrap can take seconds.

    Raises
    ------
    ImportError
        Without Jinja2 or pandas.
    """
    if isinstance(report, Comparison):
        parts = {"text": _comparison_lead(report), "summary": _comparison_table(report)}
        return _render("fragment.html.j2", title=_comparison_title(report), **parts)
    parts = {"text": _evaluation_lead(report), "summary": _summary_table(report, "t")}
    if isinstance(report, CrossEvaluation):
        parts["folds"] = _folds_table(report)
    parts["worst"] = _worst_table(report)
    return _render("fragment.html.j2", title=_evaluation_title(report), **parts)


# Evaluation --------------------------------------------------------------------------------------

def _evaluation_parts(ev):
    means = ev.mean()
    name, values = next(iter(ev.per_query.items()))
    kept = _extremes(values, values)
    half = f"{MAX_QUERIES // 2:,}"
    return {
        "title": _evaluation_title(ev),
        "lead": _evaluation_lead(ev),
        "sections": [("summary", "Summary"), ("values", "Values"), ("queries", "Queries")],
        "summary": _summary_table(ev, None),
        "charts": [level_chart(name, ev.per_query[name], means[name]) for name in means],
        "n_queries": len(ev.query_ids),
        "n_kept": len(kept),
        "kept": f"the {half} lowest and the {half} highest by {name}",
        "data": {"ids": labels(ev.query_ids[kept]), "columns": _data_columns(ev, kept)},
    }


def _evaluation_title(ev):
    return "Cross-evaluation" if isinstance(ev, CrossEvaluation) else "Evaluation"


def _evaluation_lead(ev):
    n, n_measures = len(ev.query_ids), len(ev.per_query)
    text = f"{counted(n, 'query', 'queries')}, {counted(n_measures, 'measure', 'measures')}"
    if isinstance(ev, CrossEvaluation):
        text += f", out-of-fold scores of {counted(len(ev.fit_time), 'fold', 'folds')}"
    return text + ("." if ev.weights is None else "; queries are weighted.")


def _summary_table(ev, method):
    records = ev.summary(LEVEL, method=method).to_dict("records")
    lowest = min(np.fmin.reduce(values, initial=0.0) for values in ev.per_query.values())
    low, high = math.floor(lowest), 1  # correlations go down to -1
    rows = []
    for record in records:
        mean, *interval = (record[key] for key in ("mean", "ci_low", "ci_high"))
        mark = interval_mark(mean, *interval, low, high)
        rows.append([
            record["measure"], mean, interval, record["n_queries"], record["n_undefined"], mark
        ])
    return {
        "caption": f"Means over queries with {percent_text(LEVEL)} intervals by "
        f"{INTERVALS[records[0]['method']]}, and how many queries have no value of their own",
        "columns": [
            ("Measure", "text"), ("Mean", "value"), ("Interval", "interval"),
            ("Queries", "count"), ("Undefined", "count"),
            (f"{shown(low, 'count')} to {high}", "strip"),
        ],
        "rows": rows,
    }


def _folds_table(cv):
    frame = cv.by_fold()
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


def _worst_table(ev):
    worst = ev.worst(N_WORST).index
    return {
        "caption": f"Lowest {next(iter(ev.per_query))}",
        "columns": [("Query", "text"), *((measure, "value") for measure in ev.per_query)],
        "rows": [
            [label, *(values[q] for values in ev.per_query.values())]
            for label, q in zip(labels(ev.query_ids[worst]), worst, strict=True)
        ],
    }


def _data_columns(ev, kept):
    columns = []
    if isinstance(ev, CrossEvaluation):
        fold = ev.fold[kept].tolist()
        columns.append({"name": "Fold", "kind": "plain", "digits": 0, "values": fold})
    for name, values in ev.per_query.items():
        columns.append({
            "name": name,
            "values": json_numbers(values[kept]),
            "undefined": np.flatnonzero(ev.undefined[name][kept]).tolist(),
        })
    if ev.weights is not None:
        weights = json_numbers(ev.weights[kept])
        columns.append({"name": "Weight", "kind": "plain", "values": weights})
    return columns


# Comparison --------------------------------------------------------------------------------------

def _comparison_parts(cmp):
    records = rows_of(cmp.table)
    base = 0 if cmp.baseline is None else cmp.systems.index(cmp.baseline)
    kept = _most_different(cmp.per_query[cmp.measures[0]], base)
    half = f"{MAX_QUERIES // 2:,}"
    return {
        "title": _comparison_title(cmp),
        "lead": _comparison_lead(cmp),
        "level": percent_text(cmp.level),
        "sections": [
            ("words", "In words"), ("table", "Table"), ("intervals", "Intervals"),
            ("differences", "Differences"), ("queries", "Queries"),
        ],
        "sentences": cmp.sentences(),
        "summary": _comparison_table(cmp),
        "forests": [forest(measure, records) for measure in cmp.measures],
        "charts": [difference_chart(cmp, record) for record in records[:MAX_CHARTS]],
        "n_charts": len(records),
        "n_queries": len(cmp.query_ids),
        "n_kept": len(kept),
        "kept": f"the {half} with the largest loss of any system against {cmp.systems[base]} by "
        f"{cmp.measures[0]}, and the {half} with the largest win",
        "data": {
            "ids": labels(cmp.query_ids[kept]),
            "systems": labels(cmp.systems),
            "measures": labels(cmp.measures),
            "baseline": base,
            "values": [
                [json_numbers(values[kept]) for values in cmp.per_query[measure]]
                for measure in cmp.measures
            ],
            "weights": None if cmp.weights is None else json_numbers(cmp.weights[kept]),
        },
    }


def _comparison_title(cmp):
    return f"Comparison of {len(cmp.systems)} systems"


def _comparison_lead(cmp):
    n_tests = len(cmp.table["system"])
    against = "All pairs" if cmp.baseline is None else f"Baseline: {cmp.baseline}"
    weights = "" if cmp.weights is None else ", weighted"
    test = TESTS[cmp.test]
    if cmp.test is not None and n_tests > 1:
        test += CORRECTIONS[cmp.correction].format(n=n_tests)
    return f"{against}. {counted(len(cmp.query_ids), 'query', 'queries')}{weights}; {test}."


def _comparison_table(cmp):
    """Caption, columns and rows; without what this comparison has not."""
    columns = dict(COMPARED)
    if cmp.baseline is not None:
        del columns["Baseline"]
    if cmp.test is None:
        del columns["p"]
    if cmp.test is None or cmp.correction is None:
        del columns["p corrected"]
    records = rows_of(cmp.table)
    methods = " or ".join(sorted({INTERVALS[name] for name in cmp.table["ci_method"]}))
    return {
        "caption": f"Mean differences with {percent_text(cmp.level)} intervals by {methods}; "
        "effect size: mean difference / standard deviation of the differences",
        "columns": [(heading, kind) for heading, (kind, _) in columns.items()],
        "rows": [[_take(record, key) for _, key in columns.values()] for record in records],
    }


def _take(record, key):
    return record[key] if isinstance(key, str) else [record[one] for one in key]


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
    return utf8(environment.get_template(template).render(version=__version__, **parts))
