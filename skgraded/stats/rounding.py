"""Compare values up to rounding errors, compute exact sums, and assign values to histogram bins.

Two values in a sample are considered equal if they differ by at most 5e-13 times the larger value
or the sample's mean absolute value, whichever is greater. The mean is used because, for example, a
TauAP value near 0 is a difference of larger numbers and has their rounding errors. Multiplying all
values by a constant does not change which values are equal.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import add
from typing import Any, Self, TypeAlias

import numpy as np

from skgraded._kernels.exact import whole_dot

Numbers: TypeAlias = float | np.ndarray
ROUNDING = 1e-12  # smaller ranges, relative to the largest value, are treated as rounding errors
TOLERANCE = 5e-13  # largest rounding error, relative to the values


def are_equal(first: Numbers, second: Numbers, size: Numbers = 0.0) -> Any:
    """Return whether numbers are equal up to rounding errors; False for nan.

    If the numbers are sums whose terms may cancel, pass the magnitude of the terms as `size`.
    """
    largest = np.maximum(size, np.maximum(np.abs(first), np.abs(second)))
    return np.abs(first - second) <= TOLERANCE * largest


def signs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the signs of first - second; 0 if the numbers are equal up to rounding errors."""
    return np.sign(np.where(are_equal(first, second), 0.0, first - second))


def subtract(first: np.ndarray, second: np.ndarray, *, merge: bool = False) -> np.ndarray:
    """Return first - second for two samples of values, which may contain nan.

    Differences between equal values are exactly 0. If `merge` is True, absolute differences that
    are equal up to rounding errors become exactly equal, and therefore have equal ranks.
    """
    differences = first - second
    reach = TOLERANCE * np.maximum(np.abs(first), np.abs(second))
    known = ~np.isnan(reach)
    if not known.any():
        return differences
    reach = np.maximum(reach, reach[known].mean())
    differences = np.where(np.abs(differences) <= reach, 0.0, differences)
    if merge:
        differences[known] = _merge_sizes(differences[known], reach[known])
    return differences


def _merge_sizes(differences: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Set absolute differences that are equal up to rounding errors to the smallest of them."""
    steps = np.diff(np.sort(np.abs(differences)))
    if not ((steps > 0) & (steps <= reach.max())).any():  # no sizes need to be merged
        return differences
    order = np.argsort(np.abs(differences))
    sizes, reach = np.abs(differences)[order], reach[order]
    is_new = np.append(True, np.diff(sizes) > np.minimum(reach[1:], reach[:-1]))
    first = np.flatnonzero(is_new)
    last = np.append(first[1:], len(sizes)) - 1
    # Do not merge a chain of small steps if its ends differ by more than rounding errors.
    is_chain = sizes[last] - sizes[first] > 2 * reach[last]
    group = np.cumsum(is_new) - 1
    sizes = np.where(is_chain[group], sizes, sizes[first][group])
    merged = np.empty(len(order))
    merged[order] = np.copysign(sizes, differences[order])
    return merged


# Exact sums --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moments:
    """Count, range and exact sums of values v with weights w.

    The product w · v for each query is rounded to a float u. Each term of Σ w u, Σ u² and Σ u v is
    then a product of only two floats, and these products are summed exactly.
    """

    n: int
    lowest: float  # smallest value; inf without values
    highest: float
    lightest: float
    heaviest: float
    w: Fraction
    wv: Fraction  # Σ u
    ww: Fraction
    wwv: Fraction  # Σ w u
    wwvv: Fraction  # Σ u²
    wvv: Fraction  # Σ u v

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray | None = None) -> Self:
        """Compute the moments of finite values; if `weights` is None, all weights are 1."""
        if weights is None:  # this branch only saves time
            n, first, second = (
                Fraction(len(values)),
                sum_exactly(values),
                dot_exactly(values, values),
            )
            sums: tuple[Fraction, ...] = n, first, n, first, second, second
            weights = np.ones(min(len(values), 1))
        else:
            u = multiply_by_weights(values, weights)
            sums = (
                sum_exactly(weights),
                sum_exactly(u),
                dot_exactly(weights, weights),
                dot_exactly(weights, u),
                dot_exactly(u, u),
                dot_exactly(u, values),
            )
        extremes: Any = [
            float(extreme)
            for array in (values, weights)
            for extreme in (array.min(initial=math.inf), array.max(initial=-math.inf))
        ]
        return cls(len(values), *extremes, *sums)

    def __add__(self, other: Self) -> Self:
        return type(self)(
            **{
                name: _EXTREMES.get(name, add)(getattr(self, name), getattr(other, name))
                for name in vars(self)
            }
        )

    def __neg__(self) -> Self:
        """Return the moments of the negated values."""
        lowest, highest = 0.0 - self.highest, 0.0 - self.lowest  # never -0.0
        return replace(self, lowest=lowest, highest=highest, wv=-self.wv, wwv=-self.wwv)

    @property
    def n_units(self) -> int:
        """Number of independent units; each value is a unit."""
        return self.n

    @property
    def has_unequal_weights(self) -> bool:
        """Whether at least two values have different weights."""
        # Query weights are means of row weights and can therefore differ by rounding errors.
        return self.n > 0 and self.heaviest - self.lightest > ROUNDING * self.heaviest

    @property
    def mean(self) -> float:
        """Weighted mean Σ w v / Σ w, rounded to the nearest float; nan if there are no values."""
        if not self.n:
            return math.nan
        return min(max(float(self.wv / self.w), self.lowest), self.highest)

    @property
    def standard_error(self) -> float:
        """Standard error √(n / (n - 1) Σ (w (v - m))² / (Σ w)²) of the mean m; requires n ≥ 2."""
        m = self.wv / self.w
        squares = self.wwvv - 2 * m * self.wwv + m * m * self.ww
        return _root(max(Fraction(0), squares) / self.w**2 * self.n / (self.n - 1))

    def deviation(self) -> float:
        """Standard deviation √(n / (n - 1) Σ w (v - m)² / Σ w) from the mean m; requires n ≥ 2."""
        m = self.wv / self.w
        return _root(max(Fraction(0), self.wvv / self.w - m * m) * self.n / (self.n - 1))


_EXTREMES = {"lowest": min, "highest": max, "lightest": min, "heaviest": max}


def _root(square: Fraction) -> float:
    """Return the square root of a number that may be too large or too small for a float."""
    half = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(square / Fraction(4) ** half), half)


def multiply_by_weights(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the products of weights and values; raise a FloatingPointError on overflow."""
    with np.errstate(over="raise"):
        return weights * values


def sum_exactly(values: np.ndarray) -> Fraction:
    """Return the exact sum Σ v of finite floats as a Fraction."""
    return dot_exactly(values, np.ones(len(values)))


def dot_exactly(x: np.ndarray, y: np.ndarray) -> Fraction:
    """Return the exact sum Σ x y of finite floats as a Fraction."""
    x, y = np.ascontiguousarray(x, dtype=float), np.ascontiguousarray(y, dtype=float)
    return Fraction(whole_dot(x, y), 2**2148)


# Histograms --------------------------------------------------------------------------------------

STEPS = 1000  # number of histogram bins from 0 to 1
FINER = 2**14  # number of histogram bins in each of the ranges 1 to 2, 2 to 4, and so on
MAX_BIN = STEPS + 1024 * FINER - 1


def find_bins(values: np.ndarray) -> np.ndarray:
    """Return the histogram bin of each value.

    Bins from -1 to 1 have width 0.001; for larger absolute values, there are 2**14 bins per
    doubling.
    """
    sizes = np.abs(values)
    if sizes.max(initial=0.0) <= 1:  # this branch only saves time
        return np.rint(values * STEPS).astype(np.intp)
    mantissas, exponents = np.frexp(sizes)
    # Approximate the binary logarithm of the sizes by linear interpolation between powers of 2.
    doublings = np.maximum(exponents + 2 * mantissas - 2, 0.0)
    bins = np.rint(np.minimum(sizes, 1.0) * STEPS + doublings * FINER)
    return np.copysign(np.minimum(bins, MAX_BIN), values).astype(np.intp)


def count_bins(bins: np.ndarray, n_values: np.ndarray | None = None) -> np.ndarray:
    """Return the distinct bins and the total number of values in each bin."""
    first = bins.min(initial=MAX_BIN)
    if len(bins) and bins.max() - first < 2**20:  # limits the memory for np.bincount
        totals = np.bincount(bins - first, n_values)
        places = np.flatnonzero(totals)
        return np.array([places + first, totals[places]], dtype=np.intp)
    bins, at = np.unique(bins, return_inverse=True)
    return np.array([bins, np.bincount(at, n_values)], dtype=np.intp)


def find_bin_centers(bins: np.ndarray) -> np.ndarray:
    """Return the value at the center of each bin."""
    sizes = np.abs(bins)
    doublings = np.maximum(sizes - STEPS, 0) / FINER
    powers = np.floor(doublings)
    beyond = np.ldexp(1 + doublings - powers, powers.astype(int))
    return np.sign(bins) * np.where(sizes > STEPS, beyond, sizes / STEPS)
