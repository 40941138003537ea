"""How the differences of two systems differ between segments of the queries."""

from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from skgraded.reports.differences import differences_of, reaching_0
from skgraded.stats.corrections import adjust, level_of_each, without_hsd
from skgraded.stats.paired_tests import TIE

COLUMNS = (
    "system", "measure", "segment", "other_segment", "difference", "other_difference",
    "interaction", "ci_low", "ci_high", "p_value", "p_adjusted", "n_queries", "other_n_queries",
    "baseline",
)


def between_of(cases, systems, per_query, weights, *, test, correction, level):
    """Columns of a table with a row a pair of systems, a measure and two segments.

    Of the cases of a comparison, those of the same systems and measure behind each other.
    """
    of: dict = {}
    for case in cases:
        of.setdefault(case[:3], []).append((case.segment, Sample.of(case, per_query, weights)))
    found = [(*key, *one, *other) for key, own in of.items() for other, one in combinations(own, 2)]
    p = np.array([
        np.nan if test is None else _p_value(one, other) for *_, one, _, other in found
    ])
    correction = without_hsd(correction)
    adjusted = adjust(p, correction)
    within = level_of_each(adjusted, level, correction)
    table: dict[str, list] = {name: [] for name in COLUMNS}
    for i, (measure, at, baseline, segment, one, other_segment, other) in enumerate(found):
        row = _row(one, other, within) | {"p_value": float(p[i]), "p_adjusted": float(adjusted[i])}
        row |= {"system": systems[at], "baseline": systems[baseline], "measure": measure}
        row |= {"segment": segment, "other_segment": other_segment}
        for name, cell in reaching_0(row, level).items():
            table[name].append(cell)
    return table


class Sample(NamedTuple):
    """Differences of the queries of a segment that count."""

    n: int
    mean: float
    square: float  # of the standard error of the mean; 0 if all differences are the same

    @classmethod
    def of(cls, case, per_query, weights):
        """Of the queries of a case."""
        found = differences_of(case, per_query, weights)
        kept = ~np.isnan(found)
        w = np.ones(len(found)) if weights is None else weights[case.queries]
        found, w = found[kept], w[kept]
        n = len(found)
        if not n:
            return cls(0, np.nan, np.nan)
        shares = w / w.sum()
        mean = float(shares @ found)
        if n < 2 or np.ptp(np.round(found, TIE)) == 0:
            return cls(n, mean, 0.0)
        return cls(n, mean, float(n / (n - 1) * np.sum((shares * (found - mean)) ** 2)))


def _row(one, other, level):
    low, high = _interval(one, other, level)
    return {
        "difference": one.mean,
        "other_difference": other.mean,
        "interaction": one.mean - other.mean,
        "ci_low": low,
        "ci_high": high,
        "n_queries": one.n,
        "other_n_queries": other.n,
    }


def _p_value(one, other):
    """Two-sided p of Welch's t; of equal values no less than their signs say."""
    from scipy.special import stdtr

    if min(one.n, other.n) < 2:
        return np.nan
    gap, square = one.mean - other.mean, one.square + other.square
    if not square:  # p of all ways to deal the values out to the two
        return min(1.0, 2 / comb(one.n + other.n, one.n)) if round(gap, TIE) else 1.0
    p = 2 * stdtr(_degrees(one, other), -abs(gap) / np.sqrt(square))
    return max([float(p)] + [2.0 ** (1 - each.n) for each in (one, other) if not each.square])


def _interval(one, other, level):
    from scipy.special import stdtrit

    if min(one.n, other.n) < 2:
        return np.nan, np.nan
    gap, square = one.mean - other.mean, one.square + other.square
    reach = 0.0
    if square:
        reach = float(stdtrit(_degrees(one, other), (1 + level) / 2) * np.sqrt(square))
    return gap - reach, gap + reach


def _degrees(one, other):
    """Degrees of freedom by Welch and Satterthwaite."""
    squares = [each.square**2 / (each.n - 1) for each in (one, other)]
    return (one.square + other.square) ** 2 / sum(squares)
