"""Two-sided tests of paired differences by query, and corrections for many of them."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skgraded.reports.intervals import BLOCK

TIE = 12  # decimals to which differences are told apart: a list scored twice may differ by rounding


class PairedTest(NamedTuple):
    """A test with its words; its functions get two or more differences that are not all 0."""

    words: str
    p: Callable  # differences, n_resamples, rng → p
    # differences, n_resamples → the smallest p if such differences had other signs (by t and
    # bootstrap also other sizes), and whether it is the number of resamples that bounds it
    smallest: Callable
    compares_ranks: bool = False  # which may favour the system that is worse in the mean


class Correction(NamedTuple):
    """A correction of p-values for their number, with its words."""

    words: str  # in a sentence
    title: str  # after the words of a test
    adjusted: Callable  # p-values → corrected, which may be above 1


# Tests -------------------------------------------------------------------------------------------

def p_value(test: str, differences: np.ndarray, n_resamples: int, rng) -> float:
    """Two-sided p-value of "the differences are symmetric about 0" (t, bootstrap: their mean is 0).

    1 if no difference is other than 0, or there is only one; nan if there is none.
    """
    if not len(differences):
        return np.nan
    if _show_nothing(differences):
        return 1.0
    return float(TESTS[test].p(differences, n_resamples, rng))


def smallest_p(test: str, differences: np.ndarray, n_resamples: int) -> tuple[float, bool]:
    """Smallest p-value that the test could give, and whether n_resamples bounds it."""
    p, by_resamples = TESTS[test].smallest(differences, n_resamples)
    return 1.0 if _show_nothing(differences) else p, by_resamples


def ranks_contradict(test: str, differences: np.ndarray, mean: float) -> bool:
    """Whether the test compares ranks, and they favour the system that is worse in the mean."""
    if not TESTS[test].compares_ranks:
        return False
    from scipy.stats import rankdata

    differences = np.round(differences, TIE)
    differences = differences[differences != 0]
    return bool(rankdata(np.abs(differences)) @ np.sign(differences) * mean < 0)


def _show_nothing(differences):
    return len(differences) < 2 or not np.round(differences, TIE).any()


def _randomization(differences, n_resamples, rng):
    # The sign of 0 changes nothing, so 0 needs no flip; this makes more tests exact.
    flipped = differences[np.round(differences, TIE) != 0]
    exact = 2 ** len(flipped) <= n_resamples
    observed, slack = flipped.sum(), 1e-12 * np.abs(flipped).sum()
    n_less = n_greater = n_drawn = 0
    for flips in _all_flips(len(flipped)) if exact else _some_flips(len(flipped), n_resamples, rng):
        sums = observed - 2 * (flips.astype(float) @ flipped)
        n_less += int(np.count_nonzero(sums <= observed + slack))
        n_greater += int(np.count_nonzero(sums >= observed - slack))
        n_drawn += len(sums)
    itself = 0 if exact else 1  # what was observed counts as one of the random flips
    return min(1.0, 2 * (min(n_less, n_greater) + itself) / (n_drawn + itself))


def _smallest_of_flips(differences, n_resamples):
    of_all = 2.0 ** (1 - np.count_nonzero(np.round(differences, TIE)))
    of_some = 2 / (n_resamples + 1)
    return max(of_all, of_some), of_some > of_all


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


def _smallest_of_ranks(differences, n_resamples):
    return p_value("wilcoxon", np.abs(differences), n_resamples, None), False


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
            n_extreme += int(np.count_nonzero(np.abs(means) / spreads >= observed))
    return (1 + n_extreme) / (1 + n_resamples)


TESTS = {
    "randomization": PairedTest(
        "randomization test (sign flips)", _randomization, _smallest_of_flips
    ),
    "t": PairedTest("paired t-test", _t, lambda differences, n_resamples: (0.0, False)),
    "wilcoxon": PairedTest(
        "Wilcoxon signed-rank test", _wilcoxon, _smallest_of_ranks, compares_ranks=True
    ),
    "bootstrap": PairedTest(
        "bootstrap test", _bootstrap, lambda differences, n_resamples: (1 / (n_resamples + 1), True)
    ),
}


# Corrections -------------------------------------------------------------------------------------

def adjust(p_values: np.ndarray, correction: str | None) -> np.ndarray:
    """Correct p-values for their number, nan for what is no test; None: no correction."""
    adjusted = np.array(p_values, dtype=float)
    tested = ~np.isnan(adjusted)
    if correction is not None and tested.any():
        adjusted[tested] = np.minimum(CORRECTIONS[correction].adjusted(adjusted[tested]), 1.0)
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


CORRECTIONS = {
    "holm": Correction("Holm's correction", "Holm's correction", _holm),
    "bonferroni": Correction("Bonferroni's correction", "Bonferroni's correction", _bonferroni),
    "fdr_bh": Correction(
        "Benjamini and Hochberg's correction", "false discovery rate (Benjamini-Hochberg)", _fdr_bh
    ),
}


# Words -------------------------------------------------------------------------------------------

def procedure(test: str | None, correction: str | None, n_tests: int) -> str:
    """Name the test and, if there are more than one, how p-values are corrected."""
    if test is None:
        return "no test"
    words = TESTS[test].words
    if n_tests <= 1:
        return words
    if correction is None:
        return f"{words}, {n_tests} tests, not corrected"
    return f"{words}, {CORRECTIONS[correction].title} over {n_tests} tests"


def corrected(correction: str | None, n_tests: int) -> str:
    """Say behind a p-value what it is corrected for; nothing of a single test."""
    if n_tests <= 1:
        return ""
    if correction is None:
        return f" not corrected for {n_tests} tests"
    return f" after {CORRECTIONS[correction].words} over {n_tests} tests"
