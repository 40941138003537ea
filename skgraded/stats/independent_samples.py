"""Compare independent samples, such as days: Welch's and Fisher's tests, and control limits."""

import math
from typing import NamedTuple, Self

import numpy as np

from skgraded.stats.intervals import ConfidenceInterval
from skgraded.stats.paired_tests import compute_p_of_identical
from skgraded.stats.rounding import Moments, are_equal


class MeanGap(NamedTuple):
    """The difference between the means of two independent samples, with Welch's t-test."""

    difference: float  # exactly 0 if all values of both samples are equal
    error: float  # standard error; 0 if both samples are constant, nan if a sample has n < 2
    degrees: float  # Welch-Satterthwaite degrees of freedom
    p_value: float  # two-sided p-value; nan if a sample has fewer than two values

    @classmethod
    def of(cls, first: Moments, second: Moments) -> Self:
        """Compare the means of two samples, given their moments.

        If all values of a sample are identical, the p-value is at least as large as in a sign test
        of this sample.
        """
        from scipy.special import stdtr

        errors = [
            0.0
            if sample.n < 2 or are_equal(sample.lowest, sample.highest)
            else sample.standard_error
            for sample in (first, second)
        ]
        # Dividing by a power of 2 is exact and prevents the squares from overflowing.
        unit = math.ldexp(1.0, math.frexp(max(errors))[1])
        squares = [(error / unit) ** 2 for error in errors]
        error, difference = unit * math.sqrt(sum(squares)), first.mean - second.mean
        if not error and are_equal(first.mean, second.mean):
            difference = 0.0
        if min(first.n, second.n) < 2:
            return cls(difference, np.nan, np.nan, np.nan)
        if not error:  # use a permutation test over all assignments of values to samples
            p = min(1.0, 2 / math.comb(first.n + second.n, first.n)) if difference else 1.0
            return cls(difference, error, np.nan, p)
        degrees = sum(squares) ** 2 / (
            squares[0] ** 2 / (first.n - 1) + squares[1] ** 2 / (second.n - 1)
        )
        p = float(2 * stdtr(degrees, -abs(difference) / error))
        identical = [
            compute_p_of_identical(sample.n)
            for sample, square in zip((first, second), squares, strict=True)
            if not square
        ]
        return cls(difference, error, degrees, max([p, *identical]))

    def interval(self, level: float) -> ConfidenceInterval:
        """Compute Welch's interval; it is nan if a sample has fewer than two values."""
        from scipy.special import stdtrit

        reach = float(stdtrit(self.degrees, (1 + level) / 2) * self.error) if self.error else 0.0
        return ConfidenceInterval(self.difference - reach, self.difference + reach)


def compute_share_p_value(counts: tuple[int, int], sizes: tuple[int, int]) -> float:
    """Return the two-sided p-value of Fisher's exact test; nan if a sample is empty."""
    from scipy.stats import fisher_exact

    if not min(sizes):
        return np.nan
    rest = [n - count for count, n in zip(counts, sizes, strict=True)]
    return min(1.0, float(fisher_exact([counts, rest])[1]))


# Control limits for the means and shares of many days --------------------------------------------

WIDTH = 3.0  # distance of control limits from the center, in standard deviations
FEWEST_DEGREES = 2  # if it were 1, limits would be hundreds of standard deviations from the center


def compute_prediction_limits(
    values: np.ndarray, seasons: np.ndarray, errors: np.ndarray
) -> np.ndarray:
    """Return the center, lower limit and upper limit for each value as an array of shape (n, 3).

    The limits for a value depend only on earlier values that are not nan: m ± t s √(1 + 1/k), where
    m is the mean of the k values in the same season, s² is the pooled variance within seasons, and
    t is the quantile of Student's t distribution that corresponds to three standard deviations.
    Limits are nan if there are too few values, and at least as wide as the sampling `errors`, which
    may be nan.
    """
    from scipy.special import ndtr, stdtrit

    limits = np.full((len(values), 3), np.nan)
    known = ~np.isnan(values)
    names, season_of = np.unique(seasons, return_inverse=True)
    for i in range(len(values)):
        before, season = values[:i][known[:i]], season_of[:i][known[:i]]
        sizes = np.bincount(season, minlength=len(names))
        degrees, k = len(before) - np.count_nonzero(sizes), sizes[season_of[i]]
        if degrees < FEWEST_DEGREES or not k:
            continue
        means = np.bincount(season, before, minlength=len(names)) / np.maximum(sizes, 1)
        deviation = np.sqrt(np.sum((before - means[season]) ** 2) / degrees)
        reach = stdtrit(degrees, ndtr(WIDTH)) * deviation * np.sqrt(1 + 1 / k)
        center = means[season_of[i]]
        limits[i] = center + np.array([0, -1, 1]) * np.fmax(reach, errors[i])
    return limits


def bound_share_errors(counts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return bounds on the deviation of each proportion from the proportion in earlier samples.

    Let q be the proportion in all earlier samples, n the sample size and z = WIDTH. The bound d is
    the solution of n d² = z² (q (1 - q) + d). The interval q ± d contains Wilson's interval.
    """
    n_before, n_queries = (np.cumsum(part) - part for part in (counts, sizes))
    share = n_before / np.maximum(n_queries, 1)
    spread = np.sqrt(WIDTH**2 / 4 + sizes * share * (1 - share))
    return (WIDTH**2 / 2 + WIDTH * spread) / np.maximum(sizes, 1)
