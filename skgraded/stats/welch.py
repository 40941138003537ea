"""Welch's t-test and interval for the difference between two independent means."""

from __future__ import annotations

from math import comb
from typing import NamedTuple, Self

import numpy as np

from skgraded.stats.exact_sums import Moments
from skgraded.stats.intervals import ConfidenceInterval
from skgraded.stats.paired_tests import TIE_DECIMALS, has_spread, p_of_identical


class GroupMean(NamedTuple):
    """The weighted mean of a group of values."""

    n: int
    mean: float
    square: float  # squared standard error of the mean; 0 if all values are identical

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray | None) -> Self:
        """Compute the weighted mean and its squared standard error, ignoring nan."""
        counts = ~np.isnan(values)
        w = np.ones(len(values)) if weights is None else weights
        values, w = values[counts], w[counts]
        n = len(values)
        if not n:
            return cls(0, np.nan, np.nan)
        shares = w / w.sum()
        mean = float(shares @ values)
        square = 0.0
        if n > 1 and has_spread(values):
            square = float(n / (n - 1) * np.sum((shares * (values - mean)) ** 2))
        return cls(n, mean, square)

    @classmethod
    def of_moments(cls, moments: Moments) -> GroupMean:
        """Compute the mean and its squared standard error from exact sums."""
        if not moments.n:
            return cls(0, np.nan, np.nan)
        ends = {round(end, TIE_DECIMALS) for end in (moments.lowest, moments.highest)}
        square = 0.0 if moments.n == 1 or len(ends) == 1 else moments.standard_error**2
        return cls(moments.n, moments.mean, square)


def welch_p_value(first: GroupMean, second: GroupMean) -> float:
    """Return the two-sided p-value of Welch's t-test, or nan if a group has fewer than two values.

    If all values of a group are identical, p is at least the p-value of a sign test of this group.
    """
    from scipy.special import stdtr

    if min(first.n, second.n) < 2:
        return np.nan
    gap, square = first.mean - second.mean, first.square + second.square
    if not square:  # use a permutation test over all assignments of values to groups
        p = min(1.0, 2 / comb(first.n + second.n, first.n))
        return p if round(gap, TIE_DECIMALS) else 1.0
    p = float(2 * stdtr(_degrees(first, second), -abs(gap) / np.sqrt(square)))
    return max([p, *(p_of_identical(g.n) for g in (first, second) if not g.square)])


def welch_interval(first: GroupMean, second: GroupMean, level: float) -> ConfidenceInterval:
    """Compute Welch's interval for a difference of means, or nan if a group has n < 2."""
    from scipy.special import stdtrit

    if min(first.n, second.n) < 2:
        return ConfidenceInterval(np.nan, np.nan)
    gap, square = first.mean - second.mean, first.square + second.square
    reach = 0.0
    if square:
        reach = float(stdtrit(_degrees(first, second), (1 + level) / 2) * np.sqrt(square))
    return ConfidenceInterval(gap - reach, gap + reach)


def _degrees(first: GroupMean, second: GroupMean) -> float:
    """Return the Welch-Satterthwaite degrees of freedom of the t-distribution."""
    squares = [group.square**2 / (group.n - 1) for group in (first, second)]
    return (first.square + second.square) ** 2 / sum(squares)
