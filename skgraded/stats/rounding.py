"""Rounding errors: which values and differences are equal.

Two values of a sample are equal if they differ by at most 5e-13 times the larger value or the mean
size of the sample's values, whichever is more. Near 0, measures such as TauAP have the rounding
errors of the numbers that cancel. Multiplying all values by a constant changes no tie.
"""

from typing import Any, TypeAlias

import numpy as np

Numbers: TypeAlias = float | np.ndarray
TOLERANCE = 5e-13  # largest rounding error, as a share of the values


def are_equal(first: Numbers, second: Numbers, size: Numbers = 0.0) -> Any:
    """Return whether numbers are equal up to rounding errors; False for nan.

    `size` is the size of the values from which both numbers were computed, if they may cancel.
    """
    largest = np.maximum(size, np.maximum(np.abs(first), np.abs(second)))
    return np.abs(first - second) <= TOLERANCE * largest


def signs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the signs of first - second; 0 if the numbers are equal up to rounding errors."""
    return np.sign(np.where(are_equal(first, second), 0.0, first - second))


def subtract(first: np.ndarray, second: np.ndarray, *, merge: bool = False) -> np.ndarray:
    """Return first - second for two samples of values, which may contain nan.

    Differences of equal values are exactly 0. If `merge`, differences of equal size have exactly
    the same size, and therefore equal ranks.
    """
    differences = first - second
    reach = TOLERANCE * np.maximum(np.abs(first), np.abs(second))
    known = ~np.isnan(reach)
    if not known.any():
        return differences
    reach = np.maximum(reach, reach[known].mean())
    differences = np.where(np.abs(differences) <= reach, 0.0, differences)
    if merge:
        differences[known] = _merged(differences[known], reach[known])
    return differences


def _merged(differences: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Replace sizes that are equal up to rounding errors by the smallest of them."""
    steps = np.diff(np.sort(np.abs(differences)))
    if not ((steps > 0) & (steps <= reach.max())).any():  # fast path
        return differences
    order = np.argsort(np.abs(differences))
    sizes, reach = np.abs(differences)[order], reach[order]
    is_new = np.append(True, np.diff(sizes) > np.minimum(reach[1:], reach[:-1]))
    first = np.flatnonzero(is_new)
    last = np.append(first[1:], len(sizes)) - 1
    # Sizes that differ by much more than rounding errors can form a chain of small steps.
    is_chain = sizes[last] - sizes[first] > 2 * reach[last]
    group = np.cumsum(is_new) - 1
    sizes = np.where(is_chain[group], sizes, sizes[first][group])
    merged = np.empty(len(order))
    merged[order] = np.copysign(sizes, differences[order])
    return merged
