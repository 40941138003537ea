"""Sketches of queries and their values, which reveal samples of the same rows; and histograms.

A sketch contains the N_HASHES smallest hashes of a set ("bottom-k sketch"; Cohen and Kaplan:
Summarizing data using bottom-k sketches. PODC 2007). Sketches of parts yield the sketch of the
whole. The hashes below the largest hash of a full sketch are a random sample of the set.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from skgraded._input.arrow_strings import marks

N_HASHES = 64
FEWEST_COMPARED = 5  # fewer hashes may be shared by chance if samples share some of their queries
SAME = 0.9  # minimum share of the compared queries of one sample that are in the other
STEP = np.uint64(0x9E3779B97F4A7C15)
STEPS = 1000  # number of histogram bins from 0 to 1
FINER = 2**14  # number of histogram bins from 1 to 2, from 2 to 4 and so on
MAX_BIN = STEPS + 1024 * FINER - 1


def sketch_of(ids: np.ndarray, values: Iterable[np.ndarray]) -> list[int]:
    """Return the smallest hashes of queries, of 53 bits each, in ascending order.

    A hash depends on the id and on the values, with one array of floats per measure.
    """
    hashes = mix_bits(marks(ids) + STEP)
    for of_measure in values:
        bits = np.where(np.isnan(of_measure), np.nan, of_measure + 0.0).view(np.uint64)
        hashes = mix_bits((hashes ^ bits) + STEP)
    hashes >>= np.uint64(11)  # every JSON reader represents such integers exactly
    if len(hashes) > N_HASHES:
        hashes = np.partition(hashes, N_HASHES - 1)[:N_HASHES]
    return np.unique(hashes).tolist()


def mix_bits(bits: np.ndarray) -> np.ndarray:
    """Spread the bits of each number over all 64 bits, in place (splitmix64)."""
    steps = (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)
    for shift, factor in steps:
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    return bits


def merged_sketch(first: list[int], second: list[int]) -> list[int]:
    """Return the sketch of the union of two sets of ids."""
    return sorted({*first, *second})[:N_HASHES]


def same_rows(sketches: Sequence[list[int]]) -> tuple[int, int] | None:
    """Return the positions of two sketches that share most of the queries of one of them."""
    positions: dict[int, list[int]] = {}
    for i, sketch in enumerate(sketches):
        for value in sketch:
            positions.setdefault(value, []).append(i)
    pairs = {pair for shared in positions.values() for pair in combinations(shared, 2)}
    for i, j in sorted(pairs):
        limits = [sketch[-1] for sketch in (sketches[i], sketches[j]) if len(sketch) == N_HASHES]
        first, second = (
            {value for value in sketches[k] if value <= min(limits, default=value)} for k in (i, j)
        )
        n = min(len(first), len(second))
        if len(first & second) >= SAME * n and (n >= FEWEST_COMPARED or not limits):
            return i, j
    return None


# Histograms of values with fixed bins, which can be added exactly ---------------------------------


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
