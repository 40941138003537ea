"""One-sided t-tests of a mean difference against a margin (TOST)."""

import math

import numpy as np

from skgraded.stats.paired_tests import TIE_DECIMALS


def margin_p_value(differences: np.ndarray, margin: float, question: str) -> float:
    """P-value of "the mean is at least the margin away from 0": the larger of two one-sided tests.

    For the question "noninferiority": of "the mean is at most -margin".
    """
    below = _p_above(differences, -margin)
    return below if question == "noninferiority" else max(below, _p_above(-differences, -margin))


def _p_above(differences, bound):
    """One-sided p of "the mean is at most the bound"; that of the signs if all are the same."""
    from scipy.special import stdtr

    n = len(differences)
    if n < 2:
        return 1.0 if n else math.nan
    if np.ptp(np.round(differences, TIE_DECIMALS)) == 0:
        return 2.0**-n if round(differences[0] - bound, TIE_DECIMALS) > 0 else 1.0
    t = (differences.mean() - bound) / (differences.std(ddof=1) / math.sqrt(n))
    return float(stdtr(n - 1, -t))
