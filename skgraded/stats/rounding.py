"""Rounding errors: which values and differences are equal.

Rounding errors are proportional to the values: sums over two orders of documents with equal grades
can differ slightly. Values up to 1 are equal if they differ by at most 5e-13, and larger values if
they differ by at most this share of the larger one.
"""

from typing import Any

import numpy as np

DECIMALS = 12  # number of decimals to which differences are rounded
TOLERANCE = 0.5 * 10.0**-DECIMALS
EXACT = 2.0**53  # from here on, floats have no decimals, and rounding could overflow


def are_equal(first: Any, second: Any) -> Any:
    """Return whether values are equal up to rounding errors; False for nan."""
    largest = np.maximum(1.0, np.maximum(np.abs(first), np.abs(second)))
    return np.abs(first - second) <= TOLERANCE * largest


def subtract(first: np.ndarray, second: np.ndarray, *, merge: bool = False) -> np.ndarray:
    """Return first - second without rounding errors of values beyond [-1, 1].

    Differences of equal values are 0. If `merge`, differences of equal size have the same size, and
    therefore equal ranks. Differences of values from -1 to 1 are not changed: see `rounded`.
    """
    differences, largest = first - second, np.maximum(np.abs(first), np.abs(second))
    if not (largest > 1).any():
        return differences
    reach = TOLERANCE * np.maximum(largest, 1.0)
    differences = np.where((largest > 1) & (np.abs(differences) <= reach), 0.0, differences)
    if not merge:
        return differences
    order = np.argsort(np.abs(differences))
    sizes, reach = np.abs(differences)[order], reach[order]
    is_equal = np.append(False, np.diff(sizes) <= np.minimum(reach[1:], reach[:-1]))
    sizes = sizes[np.maximum.accumulate(np.where(is_equal, 0, np.arange(len(order))))]
    merged = np.empty(len(order))
    merged[order] = np.copysign(sizes, differences[order])
    return merged


def rounded(differences: np.ndarray) -> np.ndarray:
    """Round differences to 12 decimals, which removes the rounding errors of values up to 1."""
    has_decimals = np.abs(differences) < EXACT
    decimals = np.round(np.where(has_decimals, differences, 0.0), DECIMALS)
    return np.where(has_decimals, decimals, differences)


def signs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the signs of first - second; 0 if the values are equal up to rounding errors."""
    differences = subtract(first, second)
    return np.sign(np.where(np.abs(differences) <= TOLERANCE, 0.0, differences))
