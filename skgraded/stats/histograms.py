"""Histograms of values with fixed bins, which can be added exactly."""

import numpy as np

STEPS = 1000  # number of histogram bins from 0 to 1
FINER = 2**14  # number of histogram bins from 1 to 2, from 2 to 4 and so on
MAX_BIN = STEPS + 1024 * FINER - 1


def bins_of(values: np.ndarray) -> np.ndarray:
    """Return the histogram bin of each value: thousandths from -1 to 1, and finer bins beyond."""
    sizes = np.abs(values)
    if sizes.max(initial=0.0) <= 1:  # speed only
        return np.rint(values * STEPS).astype(np.intp)
    mantissas, exponents = np.frexp(sizes)
    doublings = np.maximum(exponents + 2 * mantissas - 2, 0.0)  # log2, interpolated linearly
    bins = np.rint(np.minimum(sizes, 1.0) * STEPS + doublings * FINER)
    return np.copysign(np.minimum(bins, MAX_BIN), values).astype(np.intp)


def counts_of_bins(bins: np.ndarray, n_values: np.ndarray | None = None) -> np.ndarray:
    """Return the distinct bins and the total number of values in each bin."""
    first = bins.min(initial=MAX_BIN)
    if len(bins) and bins.max() - first < 2**20:  # limits memory
        totals = np.bincount(bins - first, n_values)
        places = np.flatnonzero(totals)
        return np.array([places + first, totals[places]], dtype=np.intp)
    bins, at = np.unique(bins, return_inverse=True)
    return np.array([bins, np.bincount(at, n_values)], dtype=np.intp)


def values_of_bins(bins: np.ndarray) -> np.ndarray:
    """Return the value at the center of each bin."""
    sizes = np.abs(bins)
    doublings = np.maximum(sizes - STEPS, 0) / FINER
    powers = np.floor(doublings)
    beyond = np.ldexp(1 + doublings - powers, powers.astype(int))
    return np.sign(bins) * np.where(sizes > STEPS, beyond, sizes / STEPS)
