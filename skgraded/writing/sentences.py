"""A plain sentence for a row of a comparison."""

from __future__ import annotations

from typing import Any

from skgraded._input.words import plural
from skgraded.stats.corrections import CORRECTIONS
from skgraded.stats.paired_tests import TESTS
from skgraded.writing.text import Bound, percent_text


def sentence(row: dict[str, Any], n_queries: int, level: float, corrected: str) -> str:
    """Say what a row of a comparison shows, of `n_queries` whether they count or not.

    The row has the columns of the table and what the test says of them, None without a test:
    "told_apart": whether the systems are; "ranks_contradict": whether the ranks of the differences
    favour the system that is worse in the mean; "assumes": None, or what the test supposes of so
    few queries; "out_of_reach": None, or a dict if no outcome could have told them apart, of the
    smallest "p", the same "adjusted", and "n_resamples" if it is their number that bounds it;
    "would_show": whether they are not told apart, but could have been.
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
        f"{_few(row)}{_out_of_reach(row)}{_would_show(row)}{end}"
    )


def _undefined(row):
    """Say how many ties say nothing of the systems."""
    n = row["n_undefined"]
    if not n > 0:  # nan: not known
        return ""
    return f" {_queries(n)}, undefined for both, {plural(n, 'is a tie', 'are ties')}."


def _few(row):
    """Say what the spread of few queries cannot tell."""
    if row["ci_low"] == row["ci_high"]:  # nan for a single query
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


def _would_show(row):
    """Say how small a difference could have been shown."""
    smallest = row["min_detectable"]
    if not row["would_show"] or smallest != smallest:
        return ""
    digits = 3 if smallest >= 0.01 else 4
    return (
        f" So many queries show a difference of {smallest:.{digits}f} or more with a power of 80 %."
    )


def between_sentence(row: dict[str, Any], level: float, corrected: str) -> str:
    """Say how the difference of two systems differs between two segments.

    The row has the columns of `SegmentComparison.between_segments` and "told_apart".
    """
    what = f"{row['system']} gains over {row['baseline']} by {row['measure']}"
    one, other = row["segment"], row["other_segment"]
    few = [
        f"{name} has {'one' if n else 'no'} query that counts"
        for name, n in ((other, row["other_n_queries"]), (one, row["n_queries"])) if n < 2
    ]
    if few:
        return f"What {what} is not compared between {one} and {other}: {' and '.join(few)}."
    more = "more" if row["interaction"] > 0 else "less"
    verdict = {
        None: f"What {what} in {one} and in {other}, not tested",
        False: f"What {what} cannot be told apart between {one} and {other}",
        True: what.replace(" gains over", f" gains {more} in {one} than in {other} over", 1),
    }[row["told_apart"]]
    digits = 3 if abs(row["interaction"]) >= 0.01 else 4
    p_text = "" if row["told_apart"] is None else f", {_p(row['p_adjusted'])}{corrected}"
    return (
        f"{verdict}: {row['difference']:+.{digits}f} against "
        f"{row['other_difference']:+.{digits}f}, {row['interaction']:+.{digits}f}"
        f"{_interval(row, level, digits)}{p_text}."
    )


def margin_sentence(row: dict[str, Any], question: str, level: float, corrected: str) -> str:
    """Say whether two systems differ by less than a margin, or one is worse by less.

    The row has the columns of `MarginTests` and whether that is "shown"; `question` is
    "equivalence" or "noninferiority".
    """
    system, baseline, measure = row["system"], row["baseline"], row["measure"]
    if row["n_queries"] == 0:
        return f"{system} and {baseline} have no query in common with a value of {measure}."
    verdict = {
        ("equivalence", True): f"is equivalent to {baseline} by {measure} within ±",
        ("equivalence", False): f"may differ from {baseline} by {measure} by more than ",
        ("noninferiority", True): f"is not worse than {baseline} by {measure} by more than ",
        ("noninferiority", False): f"may be worse than {baseline} by {measure} by more than ",
    }[question, row["shown"]]
    same = row["ci_low"] == row["ci_high"]  # nan for a single query
    few = " All differences are the same: their spread and the interval say nothing." * same
    return (
        f"{system} {verdict}{row['margin']:g}: {row['mean']:.4f} against "
        f"{row['baseline_mean']:.4f}, {row['difference']:+.4f}"
        f"{_interval(row, 2 * level - 1, 4)}, {_p(row['p_adjusted'])}{corrected}, of "
        f"{_queries(row['n_queries'])}.{few}{_undefined(row)}"
    )


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


# Tests and corrections --------------------------------------------------------------------------

def procedure(test: str | None, correction: str | None, n_tests: int) -> str:
    """Name the test and, if there are more than one, how p-values are corrected."""
    if test is None:
        return "no test"
    words = TESTS[test].words
    if n_tests <= 1:
        return words
    if correction is None:
        return f"{words}, {n_tests} tests, not corrected"
    return f"{words}, {CORRECTIONS[correction].title} over {n_tests} tests"


def corrected(correction: str | None, n_tests: int) -> str:
    """Say behind a p-value what it is corrected for; nothing of a single test."""
    if n_tests <= 1:
        return ""
    if correction is None:
        return f" not corrected for {n_tests} tests"
    return f" after {CORRECTIONS[correction].words} over {n_tests} tests"
