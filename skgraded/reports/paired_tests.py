"""Two-sided tests of paired differences by query, and corrections for many of them."""

import warnings

import numpy as np

from skgraded.reports.intervals import BLOCK

TIE = 12  # decimals to which differences are told apart: a list scored twice may differ by rounding


def p_value(test: str, differences: np.ndarray, n_resamples: int, rng) -> float:
    """Two-sided p-value of "the differences are symmetric about 0" (t, bootstrap: their mean is 0).

    Parameters
    ----------
    test : {"randomization", "t", "wilcoxon", "bootstrap"}
    differences : ndarray of shape (n,)
    n_resamples : int
        Of randomization and bootstrap.
    rng : numpy.random.Generator

    Returns
    -------
    float
        1 if no difference is other than 0, or there is only one; nan if there is none.
    """
    if not len(differences):
        return np.nan
    if len(differences) == 1 or not np.round(differences, TIE).any():
        return 1.0
    return float(TESTS[test](differences, n_resamples, rng))


def _randomization(differences, n_resamples, rng):
    # The sign of 0 changes nothing, so 0 needs no flip; this makes more tests exact.
    flipped = differences[np.round(differences, TIE) != 0]
    exact = 2 ** len(flipped) <= n_resamples
    observed, slack = flipped.sum(), 1e-12 * np.abs(flipped).sum()
    n_less = n_greater = n_drawn = 0
    for flips in _all_flips(len(flipped)) if exact else _some_flips(len(flipped), n_resamples, rng):
        sums = observed - 2 * (flips.astype(float) @ flipped)
        n_less += np.count_nonzero(sums <= observed + slack)
        n_greater += np.count_nonzero(sums >= observed - slack)
        n_drawn += len(sums)
    itself = 0 if exact else 1  # what was observed counts as one of the random flips
    return min(1.0, 2 * (min(n_less, n_greater) + itself) / (n_drawn + itself))


def _all_flips(n):
    first = 0
    for rows in _batches(n, 2**n):
        numbers = np.arange(first, first + rows)[:, None]
        yield numbers >> np.arange(n) & 1
        first += rows


def _some_flips(n, n_resamples, rng):
    n_bytes = -(-n // 8)
    for rows in _batches(n, n_resamples):
        bits = np.frombuffer(rng.bytes(rows * n_bytes), np.uint8).reshape(rows, n_bytes)
        yield np.unpackbits(bits, axis=1, count=n)


def _batches(n, n_resamples):
    """Sizes of the batches of resamples of n numbers."""
    rows = max(1, BLOCK // n)
    for first in range(0, n_resamples, rows):
        yield min(rows, n_resamples - first)


def _t(differences, n_resamples, rng):
    from scipy import stats

    with warnings.catch_warnings():
        # Equal differences have no spread: t is infinite, p is 0.
        warnings.simplefilter("ignore", RuntimeWarning)
        return stats.ttest_1samp(differences, 0.0).pvalue


def _wilcoxon(differences, n_resamples, rng):
    from scipy import stats

    with warnings.catch_warnings():
        # Older scipy says that it takes the normal approximation.
        warnings.simplefilter("ignore", UserWarning)
        return stats.wilcoxon(np.round(differences, TIE)).pvalue


def _bootstrap(differences, n_resamples, rng):
    if np.ptp(np.round(differences, TIE)) == 0:  # t is infinite, in no resample it is
        return 1 / (1 + n_resamples)
    mean, n = differences.mean(), len(differences)
    centred = differences - mean
    n_extreme = 0
    with np.errstate(divide="ignore", invalid="ignore"):  # t of a resample may be infinite
        observed = np.abs(mean) / centred.std()
        for rows in _batches(n, n_resamples):
            drawn = centred[rng.integers(0, n, (rows, n))]
            means = drawn.mean(axis=1)
            squares = np.einsum("ij,ij->i", drawn, drawn) / n
            spreads = np.sqrt(np.maximum(squares - means**2, 0.0))
            n_extreme += np.count_nonzero(np.abs(means) / spreads >= observed)
    return (1 + n_extreme) / (1 + n_resamples)


TESTS = {
    "randomization": _randomization, "t": _t, "wilcoxon": _wilcoxon, "bootstrap": _bootstrap,
}


def smallest_p(test: str, differences: np.ndarray, n_resamples: int) -> float:
    """Smallest p-value that the test could give if the differences had other signs.

    For t and bootstrap also if they had other sizes.

    Parameters
    ----------
    test, differences, n_resamples
        As for `p_value`.

    Returns
    -------
    float
    """
    if test == "wilcoxon":
        return p_value(test, np.abs(differences), n_resamples, None)
    n = np.count_nonzero(np.round(differences, TIE))
    if len(differences) < 2 or n == 0:
        return 1.0
    if test == "randomization":
        return max(2.0 ** (1 - n), 2 / (n_resamples + 1))
    return 1 / (n_resamples + 1) if test == "bootstrap" else 0.0


# Corrections -------------------------------------------------------------------------------------

def adjust(p_values: np.ndarray, correction: str | None) -> np.ndarray:
    """Correct p-values for their number.

    Parameters
    ----------
    p_values : ndarray of shape (n_tests,)
        nan: not a test.
    correction : {"holm", "bonferroni", "fdr_bh"} or None

    Returns
    -------
    ndarray of shape (n_tests,)
    """
    adjusted = np.array(p_values, dtype=float)
    tested = ~np.isnan(adjusted)
    if correction is not None and tested.any():
        adjusted[tested] = np.minimum(CORRECTIONS[correction](adjusted[tested]), 1.0)
    return adjusted


def _holm(p):
    order = np.argsort(p)
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return adjusted


def _bonferroni(p):
    return p * len(p)


def _fdr_bh(p):
    from scipy import stats

    return stats.false_discovery_control(p, method="bh")


CORRECTIONS = {"holm": _holm, "bonferroni": _bonferroni, "fdr_bh": _fdr_bh}
