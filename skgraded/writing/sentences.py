"""Plain sentences for the rows of comparisons."""

from typing import Any, NamedTuple

from skgraded._input.words import plural
from skgraded.stats.corrections import CORRECTIONS
from skgraded.stats.paired_tests import TESTS
from skgraded.writing.text import Bound, percent_text

SAME = " All differences are the same: their spread and the interval say nothing."


class Unreachable(NamedTuple):
    """The smallest p-value of a test, which even then would not be significant."""

    p: float
    adjusted: float
    n_resamples: int | None  # if the number of resamples bounds p


class Findings(NamedTuple):
    """What a test tells about a row besides its p-value."""

    ranks_contradict: bool = False  # the ranks of the differences favour the lower mean
    assumes: str | None = None  # what the test assumes about so few queries
    unreachable: Unreachable | None = None
    is_fine: bool = False  # not significant, but a larger difference could have been


# A pair of systems -------------------------------------------------------------------------------

def sentence(row: Any, findings: Findings, n_queries: int, level: float, corrected: str) -> str:
    """Say what a row of a comparison shows.

    `n_queries` includes queries that do not count; `corrected` names the correction, after a space.
    """
    n, measure = row.n_queries, row.heading
    if n == 0:
        return f"{row.system} and {row.baseline} have no query in common with a value of {measure}."
    n_left_out = n_queries - n
    left_out = f" Left out: {_queries(n_left_out)}, undefined or without weight."
    end = _undefined(row) + (left_out if n_left_out else "")
    if row.ties == n:
        everywhere = "the one query" if n == 1 else f"all {n} queries"
        return (
            f"{row.system} and {row.baseline} have the same {measure} for {everywhere}: "
            f"{row.mean:.3f}.{end}"
        )
    digits = 3 if abs(row.difference) >= 0.01 else 4
    verdict = _verdict(row, findings)
    who = "" if verdict.startswith(f"{row.system} is ") else f"{row.system} is "
    few = SAME if row.ci_low == row.ci_high else ""  # nan for a single query
    if findings.assumes and not few:
        few = f" Of so few queries the test supposes {findings.assumes}."
    return (
        f"{verdict}: {row.mean:.{digits}f} against {row.baseline_mean:.{digits}f}, "
        f"{row.difference:+.{digits}f}{_interval(row, level, digits)}{_tested(row, corrected)}; "
        f"{who}better for {row.wins} of {_queries(n)}, worse for {row.losses}."
        f"{few}{_unreachable(row, findings.unreachable)}{_detectable(row, findings)}{end}"
    )


def _undefined(row):
    """Say how many ties tell nothing about the systems."""
    n = row.n_undefined
    if not n > 0:  # nan: unknown
        return ""
    return f" {_queries(n)}, undefined for both, {plural(n, 'is a tie', 'are ties')}."


def _verdict(row, findings):
    system, baseline, measure = row.system, row.baseline, row.heading
    better = row.difference > 0
    if row.is_significant is None:
        return f"{system} against {baseline} by {measure}, not tested"
    if not row.is_significant:
        return f"{system} and {baseline} cannot be told apart by {measure}"
    if findings.ranks_contradict:
        return (
            f"{system} and {baseline} differ by {measure}, but the ranks of the differences, which "
            f"the test compares, favour {baseline if better else system}, not so their mean"
        )
    return f"{system} is {'better' if better else 'worse'} than {baseline} by {measure}"


def _interval(row, level, digits):
    if row.n_queries < 2:
        return ""
    return (
        f" ({percent_text(level)} interval {row.ci_low:.{digits}f} to {row.ci_high:.{digits}f})"
    )


def _tested(row, corrected):
    return "" if row.is_significant is None else f", {_p(row.p_adjusted)}{corrected}"


def _unreachable(row, smallest):
    """Say so if no outcome of the test could have been significant."""
    if smallest is None:
        return ""
    n = row.n_queries - row.ties
    what = f"{_queries(n)} that {plural(n, 'differs', 'differ')}"
    if smallest.n_resamples is not None:
        what = f"{smallest.n_resamples:,} resamples"
    p, adjusted = smallest.p, smallest.adjusted
    after = f", {adjusted:.3g} after the correction" if adjusted > p else ""
    return f" No outcome could have told them apart: the smallest p of {what} is {p:.3g}{after}."


def _detectable(row, findings):
    """Say how small a difference could have been shown."""
    smallest = row.min_detectable
    if not findings.is_fine or smallest != smallest:
        return ""
    digits = 3 if smallest >= 0.01 else 4
    return (
        f" So many queries show a difference of {smallest:.{digits}f} or more with a power of 80 %."
    )


# Segments ----------------------------------------------------------------------------------------

def gap_sentence(
    gap: Any, segment: str, other: str, is_significant: bool | None, level: float, corrected: str
) -> str:
    """Say how the difference of two systems differs between two segments, by their labels."""
    what = f"{gap.system} gains over {gap.baseline} by {gap.measure}"
    few = [
        f"{name} has {'one' if n else 'no'} query that counts"
        for name, n in ((other, gap.other_n_queries), (segment, gap.n_queries)) if n < 2
    ]
    if few:
        return f"What {what} is not compared between {segment} and {other}: {' and '.join(few)}."
    more = "more" if gap.interaction > 0 else "less"
    verdict = {
        None: f"What {what} in {segment} and in {other}, not tested",
        False: f"What {what} cannot be told apart between {segment} and {other}",
        True: what.replace(" gains over", f" gains {more} in {segment} than in {other} over", 1),
    }[is_significant]
    digits = 3 if abs(gap.interaction) >= 0.01 else 4
    p_text = "" if is_significant is None else f", {_p(gap.p_adjusted)}{corrected}"
    return (
        f"{verdict}: {gap.difference:+.{digits}f} against "
        f"{gap.other_difference:+.{digits}f}, {gap.interaction:+.{digits}f}"
        f"{_interval(gap, level, digits)}{p_text}."
    )


# Margins -----------------------------------------------------------------------------------------

def margin_sentence(
    row: Any, question: str, is_shown: bool, level: float, corrected: str
) -> str:
    """Say whether two systems differ by less than a margin, or one is worse by less.

    `question` is "equivalence" or "noninferiority".
    """
    system, baseline, measure = row.system, row.baseline, row.measure
    if row.n_queries == 0:
        return f"{system} and {baseline} have no query in common with a value of {measure}."
    verdict = {
        ("equivalence", True): f"is equivalent to {baseline} by {measure} within ±",
        ("equivalence", False): f"may differ from {baseline} by {measure} by more than ",
        ("noninferiority", True): f"is not worse than {baseline} by {measure} by more than ",
        ("noninferiority", False): f"may be worse than {baseline} by {measure} by more than ",
    }[question, is_shown]
    few = SAME if row.ci_low == row.ci_high else ""  # nan for a single query
    return (
        f"{system} {verdict}{row.margin:g}: {row.mean:.4f} against {row.baseline_mean:.4f}, "
        f"{row.difference:+.4f}{_interval(row, 2 * level - 1, 4)}, {_p(row.p_adjusted)}{corrected},"
        f" of {_queries(row.n_queries)}.{few}{_undefined(row)}"
    )


def _p(p):
    if isinstance(p, Bound) and p >= 0.0001:
        return f"p ≤ {p:.3g}"
    if p < 0.001:
        return "p < 0.0001" if p < 0.0001 else f"p = {p:.1g}"
    return f"p = {p:.3g}"


def _queries(n):
    return f"{n} {plural(n, 'query', 'queries')}"


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
    title = CORRECTIONS[correction].title or CORRECTIONS[correction].words
    return f"{words}, {title} over {n_tests} tests"


def corrected(correction: str | None, n_tests: int) -> str:
    """Say behind a p-value what it is corrected for; nothing of a single test."""
    if n_tests <= 1:
        return ""
    if correction is None:
        return f" not corrected for {n_tests} tests"
    return f" after {CORRECTIONS[correction].words} over {n_tests} tests"
