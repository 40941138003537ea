"""A plain sentence for each row of a comparison."""

import numpy as np

from skgraded.reports.paired_tests import TIE, adjust, smallest_p
from skgraded.reports.write.tables import rows_of
from skgraded.reports.write.text import percent_text

CORRECTED = {
    "holm": "after Holm's correction over {n} tests",
    "bonferroni": "after Bonferroni's correction over {n} tests",
    "fdr_bh": "after Benjamini and Hochberg's correction over {n} tests",
    None: "not corrected for {n} tests",
}


def sentences_of(comparison) -> list[str]:
    """Say what each row of a Comparison's table shows.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    list of str
    """
    rows = rows_of(comparison.table)
    return [_sentence(comparison, i, row) for i, row in enumerate(rows)]


def _sentence(comparison, i, row):
    system, baseline, measure = row["system"], row["baseline"], row["measure"]
    n = row["n_queries"]
    if n == 0:
        return f"{system} and {baseline} have no query in common with a value of {measure}."
    n_left_out = len(comparison.query_ids) - n
    left_out = f" Left out: {_queries(n_left_out)}, undefined or without weight."
    end = left_out if n_left_out else ""
    if row["ties"] == n:
        return (
            f"{system} and {baseline} have the same {measure} for {_all_queries(n)}: "
            f"{row['mean']:.3f}.{end}"
        )
    digits = 3 if abs(row["difference"]) >= 0.01 else 4
    better = row["difference"] > 0
    told_apart = _significant(row["p_adjusted"], comparison)
    if comparison.test is None:
        verdict = f"{system} against {baseline} by {measure}, not tested"
    elif told_apart and _ranks_contradict(comparison, row):
        verdict = (
            f"{system} and {baseline} differ by {measure}, but the ranks of the differences, which "
            f"the test compares, favour {baseline if better else system}, not so their mean"
        )
    elif told_apart:
        verdict = f"{system} is {'better' if better else 'worse'} than {baseline} by {measure}"
    else:
        verdict = f"{system} and {baseline} cannot be told apart by {measure}"
    who = "" if verdict.startswith(f"{system} is ") else f"{system} is "
    if comparison.test is not None and not told_apart:
        end = _out_of_reach(comparison, i) + end
    return (
        f"{verdict}: {row['mean']:.{digits}f} against {row['baseline_mean']:.{digits}f}, "
        f"{row['difference']:+.{digits}f}{_interval(comparison, row, digits)}"
        f"{_p_text(comparison, row['p_adjusted'])}; {who}better for "
        f"{row['wins']} of {_queries(n)}, worse for {row['losses']}.{end}"
    )


def _interval(comparison, row, digits):
    if row["n_queries"] < 2:
        return ""
    low, high = (f"{row[end]:.{digits}f}" for end in ("ci_low", "ci_high"))
    return f" ({percent_text(comparison.level)} interval {low} to {high})"


def _p_text(comparison, p):
    if comparison.test is None:
        return ""
    n_tests = _n_tests(comparison)
    corrected = CORRECTED[comparison.correction].format(n=n_tests)
    return f", {_p(p)}" + (f" {corrected}" if n_tests > 1 else "")


def _differences(comparison, row):
    return comparison.differences(row["system"], row["baseline"], row["measure"])


def _ranks_contradict(comparison, row):
    """Whether Wilcoxon's ranks favour the system that is worse in the mean."""
    from scipy.stats import rankdata

    if comparison.test != "wilcoxon":
        return False
    differences = np.round(_differences(comparison, row), TIE)
    differences = differences[differences != 0]
    return rankdata(np.abs(differences)) @ np.sign(differences) * row["difference"] < 0


def _out_of_reach(comparison, i):
    """Say so if no outcome of the test on so many queries could have told the systems apart."""
    row = {name: values[i] for name, values in comparison.table.items()}
    differences = _differences(comparison, row)
    p_values = np.array(comparison.table["p_value"], dtype=float)
    p_values[i] = smallest_p(comparison.test, differences, comparison.n_resamples)
    smallest = p_values[i]
    adjusted = adjust(p_values, comparison.correction)[i]
    if _significant(adjusted, comparison):
        return ""
    n = row["n_queries"] - row["ties"]
    by_queries = f"{_queries(n)} that {'differs' if n == 1 else 'differ'}"
    by_resamples = f"{comparison.n_resamples:,} resamples"
    resampled = comparison.test == "bootstrap" or smallest > 2.0 ** (1 - n)
    what = by_resamples if resampled and comparison.test != "wilcoxon" else by_queries
    corrected = f", {adjusted:.3g} after the correction" if adjusted > smallest else ""
    return (
        f" No outcome could have told them apart: the smallest p of {what} is "
        f"{smallest:.3g}{corrected}."
    )


def _significant(p, comparison):
    return p <= 1 - comparison.level + 1e-12  # 1 - 0.95 is a little above 0.05 or below


def _n_tests(comparison):
    return sum(p == p for p in comparison.table["p_value"])


def _p(p):
    if p < 0.001:
        return "p < 0.0001" if p < 0.0001 else f"p = {p:.1g}"
    return f"p = {p:.3g}"


def _queries(n):
    return f"{n} quer{'y' if n == 1 else 'ies'}"


def _all_queries(n):
    return "the one query" if n == 1 else f"all {n} queries"
