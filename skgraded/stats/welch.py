"""Tests and intervals for independent samples: Welch's for means, and Fisher's for shares."""

import math
from typing import NamedTuple, Self

import numpy as np

from skgraded.stats.exact_sums import Moments
from skgraded.stats.intervals import ConfidenceInterval
from skgraded.stats.paired_tests import p_of_identical
from skgraded.stats.rounding import are_equal


class MeanGap(NamedTuple):
    """The difference between the means of two independent samples, with Welch's t-test."""

    difference: float  # exactly 0 if all values of both samples are equal
    error: float  # standard error; 0 if each sample has identical values, nan if one has n < 2
    degrees: float  # Welch-Satterthwaite degrees of freedom
    p_value: float  # two-sided, or nan if a sample has fewer than two values

    @classmethod
    def of(cls, first: Moments, second: Moments) -> Self:
        """Compare the means of two samples, given their moments.

        If all values of a sample are identical, p is at least the p-value of a sign test of this
        sample.
        """
        from scipy.special import stdtr

        errors = [_error_of_mean(sample) for sample in (first, second)]
        unit = math.ldexp(1.0, math.frexp(max(errors))[1])  # so that squares do not overflow
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
            p_of_identical(sample.n)
            for sample, square in zip((first, second), squares, strict=True)
            if not square
        ]
        return cls(difference, error, degrees, max([p, *identical]))

    def interval(self, level: float) -> ConfidenceInterval:
        """Compute Welch's interval; nan if a sample has fewer than two values."""
        from scipy.special import stdtrit

        reach = float(stdtrit(self.degrees, (1 + level) / 2) * self.error) if self.error else 0.0
        return ConfidenceInterval(self.difference - reach, self.difference + reach)


def _error_of_mean(sample: Moments) -> float:
    """Return the standard error of a mean; 0 for identical values and for n < 2."""
    if sample.n < 2 or are_equal(sample.lowest, sample.highest):
        return 0.0
    return sample.standard_error


def share_p_value(counts: tuple[int, int], sizes: tuple[int, int]) -> float:
    """Return the two-sided p-value of Fisher's exact test of two shares, or nan without values."""
    from scipy.stats import fisher_exact

    if not min(sizes):
        return np.nan
    rest = [n - count for count, n in zip(counts, sizes, strict=True)]
    return min(1.0, float(fisher_exact([counts, rest])[1]))
