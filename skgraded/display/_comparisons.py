"""What displays read from comparisons."""

import numpy as np

from skgraded.display._systems import check_made_by
from skgraded.reports.comparison import Comparison
from skgraded.reports.evaluation import evaluated_name
from skgraded.reports.pairing import check_system
from skgraded.writing.charts import charted, turned
from skgraded.writing.text import shortened


def check_comparison(comparison):
    """Raise an error unless `compare` made it, without segments."""
    check_made_by("compare", comparison, Comparison, "comparison")
    if comparison.segments is not None:
        raise ValueError("comparison has segments: draw a comparison that was made without by.")


def interval_columns(comparison, measures):
    """Pairs of systems to draw, columns of shape (n_pairs, n_measures), a note unless all pairs."""
    by_measure = [
        [row for row in comparison.shown_rows() if row.measure == measure] for measure in measures
    ]
    n_rows = len(by_measure[0])
    pairs = [(row.system, row.baseline) for row in charted(by_measure[0])[0]]
    note = ""
    if len(pairs) < n_rows:
        best = f"of {shortened(pairs[0][0])}" if comparison.baseline is None else "of the best"
        note = f", {len(pairs)} {best} among {n_rows}"
    by_pair = [
        {(row.system, row.baseline): row for at in rows for row in (turned(at), at)}
        for rows in by_measure
    ]
    columns = {
        key: np.array([[getattr(rows[pair], key) for rows in by_pair] for pair in pairs])
        for key in ("difference", "ci_low", "ci_high", "n_queries", "is_significant")
    }
    return pairs, columns, note


def query_differences(comparison, system, baseline, measure):
    """Differences of a pair of systems and the parameters of `QueryDifferenceDisplay` for it."""
    pair = *_pair(comparison, system, baseline), measure
    row = next(
        row for row in comparison.rows if (row.system, row.baseline, row.measure) == pair
    )
    return comparison.all_differences(*pair), {
        **dict(zip(("system", "baseline", "measure"), pair, strict=True)),
        "query_ids": comparison.query_ids, "mean": row.difference,
        "interval": (row.ci_low, row.ci_high), "level": comparison.level,
    }


def _pair(comparison, system, baseline):
    """The pair of the comparison that the given names leave."""
    for argument, name in (("system", system), ("baseline", baseline)):
        if name is not None:
            check_system(argument, name, comparison.systems)
    pairs = list(dict.fromkeys((row.system, row.baseline) for row in comparison.rows))
    matches = [pair for pair in pairs if system in (None, pair[0]) and baseline in (None, pair[1])]
    if len(matches) == 1:
        return matches[0]
    known = "; ".join(f"system={name!r}, baseline={other!r}" for name, other in pairs[:6])
    more = "; …" if len(pairs) > 6 else ""
    problem = f"has {len(matches)} such pairs" if matches else "has no such pair"
    raise ValueError(
        f"The comparison {problem} (system={system!r}, baseline={baseline!r}). Give one of: "
        f"{known}{more}."
    )


def difference_matrices(comparison, measure):
    """Name of the measure; systems, the best first; matrices of differences and of test results."""
    check_comparison(comparison)
    name = evaluated_name(measure, comparison.measures)
    return name, *comparison.matrices(name)
