"""Sums over queries that have the same bits however the queries were cut and in whatever order.

A sum of floats depends on the order of its terms, a sum of whole numbers does not: what is added up
here are fractions whose denominators are powers of 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np

from skgraded.reports.intervals import ROUNDING, ConfidenceInterval, t_reach

# Numbers at once, which stay in the cache and below the size from which malloc maps new memory for
# each array, on Dask's workers always; of up to 2^26 of BITS a float holds the sum.
AT_ONCE = 2**13
BITS = 26  # of a number that one step takes
LARGEST = 2.0**960  # beyond, the float that rounds to BITS is infinite
FAR = 2.0**450  # beyond, and below its inverse, a product's error may leave the range of floats
SPLIT = 2.0**27 + 1  # Veltkamp's, of a float into two halves


@dataclass(frozen=True)
class Moments:
    """Of values v with weights w: how many, their range, and sums, without any rounding.

    A product of two floats has more digits than a float. Of each query w · v is rounded to the
    nearest float u; Σ w u, Σ u² and Σ u v are sums of exact products.
    """

    n: int
    lowest: float  # inf if there is none
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
    def of(cls, values: np.ndarray, weights: np.ndarray | None = None) -> Moments:
        """Moments of values without nan; None: all weights are 1."""
        lowest, highest = _ends(values)
        if weights is None:
            lightest, heaviest = (1.0, 1.0) if len(values) else (math.inf, -math.inf)
            n, first, second = Fraction(len(values)), exact_sum(values), exact_dot(values, values)
            sums: tuple[Fraction, ...] = n, first, n, first, second, second
        else:
            lightest, heaviest = _ends(weights)
            u = weights * values
            sums = (
                exact_sum(weights), exact_sum(u), exact_dot(weights, weights),
                exact_dot(weights, u), exact_dot(u, u), exact_dot(u, values),
            )
        return cls(len(values), lowest, highest, lightest, heaviest, *sums)

    def __add__(self, other: Moments) -> Moments:
        added = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in fields(self)
        }
        for name, extreme in _EXTREMES.items():
            added[name] = extreme(getattr(self, name), getattr(other, name))
        return Moments(**added)

    def __neg__(self) -> Moments:
        """Moments of the values with the other sign."""
        return Moments(
            self.n, -self.highest, -self.lowest, self.lightest, self.heaviest,
            self.w, -self.wv, self.ww, -self.wwv, self.wwvv, self.wvv,
        )

    @property
    def mean(self) -> float:
        """Σ w v / Σ w, the nearest float to it; nan if there is no value."""
        if not self.n:
            return math.nan
        return min(max(float(self.wv / self.w), self.lowest), self.highest)

    @property
    def are_identical(self) -> bool:
        """Whether all values are the same up to rounding."""
        largest = max(abs(self.lowest), abs(self.highest))
        return self.highest - self.lowest <= ROUNDING * largest

    def standard_error(self) -> float:
        """The root of n / (n - 1) Σ (w (v - m))² / (Σ w)², for two values or more."""
        m = self.wv / self.w
        squares = self.wwvv - 2 * m * self.wwv + m * m * self.ww
        return math.sqrt(squares / self.w**2 * self.n / (self.n - 1))

    def deviation(self) -> float:
        """The root of n / (n - 1) Σ w (v - m)² / Σ w, for two values or more."""
        m = self.wv / self.w
        return math.sqrt(max(Fraction(0), self.wvv / self.w - m * m) * self.n / (self.n - 1))

    def interval(self, level: float) -> ConfidenceInterval:
        """Student's interval of the mean, as `mean_interval` has it."""
        if self.n < 2:
            return ConfidenceInterval(math.nan, math.nan)
        if self.are_identical:
            return ConfidenceInterval(self.lowest, self.highest)
        reach = t_reach(self.n, level) * self.standard_error()
        return ConfidenceInterval(self.mean - reach, self.mean + reach)


_EXTREMES = {"lowest": min, "highest": max, "lightest": min, "heaviest": max}


def _ends(values):
    return float(values.min(initial=math.inf)), float(values.max(initial=-math.inf))


def exact_sum(values: np.ndarray) -> Fraction:
    """Σ v of finite floats, without rounding.

    Step by step the upper bits of all numbers are taken off: whole multiples of one power of 2 that
    are few enough for a float to hold their sum.
    """
    total = Fraction(0)
    for rest in _blocks(values):
        large = np.abs(rest) > LARGEST
        if large.any():
            total += sum(map(Fraction, rest[large].tolist()))
            rest = rest[~large]
        while rest.any():
            top = np.frexp(np.abs(rest).max())[1]
            rounds = np.ldexp(1.5, top + 52 - BITS)  # what is added to it loses its lower bits
            upper = rest + rounds
            upper -= rounds
            total += Fraction(float(upper.sum()))
            rest = rest - upper
    return total


def exact_dot(x: np.ndarray, y: np.ndarray) -> Fraction:
    """Σ x y of finite floats, without rounding: of each product with what it is rounded by."""
    total = Fraction(0)
    for a, b in zip(_blocks(x), _blocks(y), strict=True):
        usual = _is_usual(a) & _is_usual(b)
        if not usual.all():  # one by one, which is slow, and met in small gains only
            far = zip(a[~usual].tolist(), b[~usual].tolist(), strict=True)
            total += sum(Fraction(one) * Fraction(other) for one, other in far)
            a, b = a[usual], b[usual]
        product = a * b
        total += exact_sum(product) + exact_sum(_error_of(product, a, b))
    return total


def _blocks(values):
    return (values[first : first + AT_ONCE] for first in range(0, len(values), AT_ONCE))


def _error_of(product, x, y):
    """What the product of two floats is rounded by (Dekker 1971)."""
    (a, b), (c, d) = _halves(x), _halves(y)
    return ((a * c - product) + a * d + b * c) + b * d


def _is_usual(values):
    size = np.abs(values)
    return (size == 0) | ((size > 1 / FAR) & (size < FAR))


def _halves(values):
    """Two floats of 26 bits each whose sum a float is."""
    shifted = SPLIT * values
    upper = shifted - (shifted - values)
    return upper, values - upper
