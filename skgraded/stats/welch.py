"""Tests and intervals for independent samples: Welch's for means, and Fisher's for shares."""

from math import comb
from typing import NamedTuple, Self

import numpy as np

from skgraded.stats.exact_sums import Moments
from skgraded.stats.intervals import ConfidenceInterval
from skgraded.stats.paired_tests import p_of_identical
from skgraded.stats.rounding import are_equal


class GroupMean(NamedTuple):
    """The weighted mean of a group of values."""

    n: int
    mean: float
    square: float  # squared standard error of the mean; 0 if all values are identical

    @classmethod
    def of_moments(cls, moments: Moments) -> Self:
        """Compute the mean and its squared standard error from exact sums."""
        if not moments.n:
            return cls(0, np.nan, np.nan)
        has_error = moments.n > 1 and not are_equal(moments.lowest, moments.highest)
        square = moments.standard_error**2 if has_error else 0.0
        return cls(moments.n, moments.mean, square)


def share_p_value(counts: tuple[int, int], sizes: tuple[int, int]) -> float:
    """Return the two-sided p-value of Fisher's exact test of two shares, or nan without values."""
    from scipy.stats import fisher_exact

    if not min(sizes):
        return np.nan
    rest = [n - count for count, n in zip(counts, sizes, strict=True)]
    return min(1.0, float(fisher_exact([counts, rest])[1]))


def welch_p_value(first: GroupMean, second: GroupMean) -> float:
    """Return the two-sided p-value of Welch's t-test, or nan if a group has fewer than two values.

    If all values of a group are identical, p is at least the p-value of a sign test of this group.
    """
    from scipy.special import stdtr

    if min(first.n, second.n) < 2:
        return np.nan
    error, degrees = _error(first, second)
    if not error:  # use a permutation test over all assignments of values to groups
        return min(1.0, 2 / comb(first.n + second.n, first.n)) if gap_of(first, second) else 1.0
    p = float(2 * stdtr(degrees, -abs(first.mean - second.mean) / error))
    return max([p, *(p_of_identical(g.n) for g in (first, second) if not g.square)])


def welch_interval(first: GroupMean, second: GroupMean, level: float) -> ConfidenceInterval:
    """Compute Welch's interval for a difference of means, or nan if a group has n < 2."""
    from scipy.special import stdtrit

    if min(first.n, second.n) < 2:
        return ConfidenceInterval(np.nan, np.nan)
    error, degrees = _error(first, second)
    gap = gap_of(first, second)
    reach = float(stdtrit(degrees, (1 + level) / 2) * error) if error else 0.0
    return ConfidenceInterval(gap - reach, gap + reach)


def gap_of(first: GroupMean, second: GroupMean) -> float:
    """Return the difference of the means; exactly 0 if all values of both groups are equal."""
    has_error = first.square or second.square
    is_tie = not has_error and are_equal(first.mean, second.mean)
    return 0.0 if is_tie else first.mean - second.mean


def _error(first: GroupMean, second: GroupMean) -> tuple[float, float]:
    """Return the standard error of the difference, and Welch-Satterthwaite degrees of freedom."""
    total = first.square + second.square
    if not total:
        return 0.0, np.nan
    return (
        float(np.sqrt(total)),
        total**2 / (first.square**2 / (first.n - 1) + second.square**2 / (second.n - 1)),
    )
