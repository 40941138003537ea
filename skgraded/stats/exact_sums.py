"""Sums over queries that have the same bits however the queries were cut and in whatever order.

A sum of floats depends on the order of its terms, a sum of whole numbers does not: what is added up
here are fractions whose denominators are powers of 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import add

import numpy as np

from skgraded._kernels.exact import whole_dot, whole_sum


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

    def __post_init__(self) -> None:
        ends = (self.lowest, self.highest, self.lightest, self.heaviest)
        if self.n and not (self.n > 0 and all(map(math.isfinite, ends)) and self.w > 0):
            raise ValueError(f"moments are not those of {self.n} finite values with weights.")

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray | None = None) -> Moments:
        """Moments of values without nan; None: all weights are 1."""
        lowest, highest = _ends(values)
        if weights is None:  # speed only
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
        return Moments(**{
            name: _EXTREMES.get(name, add)(getattr(self, name), getattr(other, name))
            for name in vars(self)
        })

    def __neg__(self) -> Moments:
        """Moments of the values with the other sign."""
        return replace(
            self, lowest=-self.highest, highest=-self.lowest, wv=-self.wv, wwv=-self.wwv
        )

    @property
    def mean(self) -> float:
        """Σ w v / Σ w, the nearest float to it; nan if there is no value."""
        if not self.n:
            return math.nan
        return min(max(float(self.wv / self.w), self.lowest), self.highest)

    @property
    def standard_error(self) -> float:
        """The root of n / (n - 1) Σ (w (v - m))² / (Σ w)², for two values or more."""
        m = self.wv / self.w
        squares = self.wwvv - 2 * m * self.wwv + m * m * self.ww
        return math.sqrt(max(Fraction(0), squares) / self.w**2 * self.n / (self.n - 1))

    def deviation(self) -> float:
        """The root of n / (n - 1) Σ w (v - m)² / Σ w, for two values or more."""
        m = self.wv / self.w
        return math.sqrt(max(Fraction(0), self.wvv / self.w - m * m) * self.n / (self.n - 1))


_EXTREMES = {"lowest": min, "highest": max, "lightest": min, "heaviest": max}


def _ends(values):
    return float(values.min(initial=math.inf)), float(values.max(initial=-math.inf))


def exact_sum(values: np.ndarray) -> Fraction:
    """Σ v of finite floats, without rounding."""
    return _fraction(whole_sum(np.ascontiguousarray(values, dtype=float)), 1074)


def exact_dot(x: np.ndarray, y: np.ndarray) -> Fraction:
    """Σ x y of finite floats, without rounding."""
    x, y = np.ascontiguousarray(x, dtype=float), np.ascontiguousarray(y, dtype=float)
    return _fraction(whole_dot(x, y), 2148)


def _fraction(whole, exponent):
    """The fraction whole / 2^exponent, most of which cancels, which Fraction is slow to find."""
    n_zeros = (whole & -whole).bit_length() - 1 if whole else exponent
    shift = min(n_zeros, exponent)
    return Fraction(whole >> shift, 1 << (exponent - shift))
