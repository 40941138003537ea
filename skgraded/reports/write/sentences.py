"""A plain sentence for a row of a comparison."""

from __future__ import annotations

from typing import Any

from skgraded._input.words import plural
from skgraded.reports.write.text import Bound, percent_text


def sentence(row: dict[str, Any], n_queries: int, level: float, corrected: str) -> str:
    """Say what a row of a comparison shows, of `n_queries` whether they count or not.

    The row has the columns of the table and what the test says of them, None without a test:
    "told_apart": whether the systems are; "ranks_contradict": whether the ranks of the differences
    favour the system that is worse in the mean; "assumes": None, or what the test supposes of so
    few queries; "out_of_reach": None, or a dict if no outcome could have told them apart, of the
    smallest "p", the same "adjusted", and "n_resamples" if it is their number that bounds it.
    `corrected` says for what, with a blank before it, or nothing.
    """
    system, baseline, measure = row["system"], row["baseline"], row["measure"]
    n = row["n_queries"]
    if n == 0:
        return f"{system} and {baseline} have no query in common with a value of {measure}."
    n_left_out = n_queries - n
    left_out = f" Left out: {_queries(n_left_out)}, undefined or without weight."
    end = _undefined(row) + (left_out if n_left_out else "")
    if row["ties"] == n:
        return (
            f"{system} and {baseline} have the same {measure} for {_all_queries(n)}: "
            f"{row['mean']:.3f}.{end}"
        )
    digits = 3 if abs(row["difference"]) >= 0.01 else 4
    verdict = _verdict(row)
    who = "" if verdict.startswith(f"{system} is ") else f"{system} is "
    p_text = "" if row["told_apart"] is None else f", {_p(row['p_adjusted'])}{corrected}"
    return (
        f"{verdict}: {row['mean']:.{digits}f} against {row['baseline_mean']:.{digits}f}, "
        f"{row['difference']:+.{digits}f}{_interval(row, level, digits)}"
        f"{p_text}; {who}better for {row['wins']} of {_queries(n)}, worse for {row['losses']}."
        f"{_few(row)}{_out_of_reach(row)}{end}"
    )


def _undefined(row):
    """Say how many ties say nothing of the systems."""
    n = row["n_undefined"]
    if not n > 0:  # nan: not known
        return ""
    return f" {_queries(n)}, undefined for both, {plural(n, 'is a tie', 'are ties')}."


def _few(row):
    """Say what the spread of few queries cannot tell."""
    if row["n_queries"] > 1 and row["ci_low"] == row["ci_high"]:
        return " All differences are the same: their spread and the interval say nothing."
    if row["assumes"]:
        return f" Of so few queries the test supposes {row['assumes']}."
    return ""


def _verdict(row):
    system, baseline, measure = row["system"], row["baseline"], row["measure"]
    better = row["difference"] > 0
    if row["told_apart"] is None:
        return f"{system} against {baseline} by {measure}, not tested"
    if not row["told_apart"]:
        return f"{system} and {baseline} cannot be told apart by {measure}"
    if row["ranks_contradict"]:
        return (
            f"{system} and {baseline} differ by {measure}, but the ranks of the differences, which "
            f"the test compares, favour {baseline if better else system}, not so their mean"
        )
    return f"{system} is {'better' if better else 'worse'} than {baseline} by {measure}"


def _interval(row, level, digits):
    if row["n_queries"] < 2:
        return ""
    low, high = (f"{row[end]:.{digits}f}" for end in ("ci_low", "ci_high"))
    return f" ({percent_text(level)} interval {low} to {high})"


def _out_of_reach(row):
    """Say so if no outcome of the test on so many queries could have told the systems apart."""
    smallest = row["out_of_reach"]
    if smallest is None:
        return ""
    n = row["n_queries"] - row["ties"]
    what = f"{_queries(n)} that {plural(n, 'differs', 'differ')}"
    if smallest["n_resamples"] is not None:
        what = f"{smallest['n_resamples']:,} resamples"
    p, adjusted = smallest["p"], smallest["adjusted"]
    after = f", {adjusted:.3g} after the correction" if adjusted > p else ""
    return f" No outcome could have told them apart: the smallest p of {what} is {p:.3g}{after}."


def _p(p):
    if isinstance(p, Bound) and p >= 0.0001:
        return f"p ≤ {p:.3g}"
    if p < 0.001:
        return "p < 0.0001" if p < 0.0001 else f"p = {p:.1g}"
    return f"p = {p:.3g}"


def _queries(n):
    return f"{n} {plural(n, 'query', 'queries')}"


def _all_queries(n):
    return "the one query" if n == 1 else f"all {n} queries"
