"""Correct p-values for multiple testing, and choose the levels of the corresponding intervals."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skgraded._input.door import choice_validator
from skgraded.stats.rounding import Numbers


class Correction(NamedTuple):
    """A correction of p-values for multiple testing, and its name in reports."""

    words: str  # name of the correction, as used in sentences
    # maps p-values to corrected p-values, which may exceed 1
    adjusted: Callable[[np.ndarray], np.ndarray]


def adjust(p_values: np.ndarray, correction: str | None) -> np.ndarray:
    """Correct p-values for multiple testing; nan p-values, from rows without a test, remain nan."""
    adjusted = np.array(p_values, dtype=float)
    tested = ~np.isnan(adjusted)
    if correction is not None and tested.any():
        adjusted[tested] = np.minimum(CORRECTIONS[correction].adjusted(adjusted[tested]), 1.0)
    return adjusted


def is_significant(p: Numbers, level: Numbers) -> Any:
    """Return whether p-values, corrected or not, are significant at a confidence level."""
    return p <= 1 - level + 1e-12  # in floating point, 1 - 0.95 is not exactly 0.05


def find_level_of_each(adjusted: np.ndarray, level: float, correction: str | None) -> float:
    """Return the individual level at which the intervals have the joint confidence level `level`.

    If `correction` is "fdr_bh", `level` is the expected share of significant differences whose
    intervals contain the true mean (Benjamini and Yekutieli 2005).
    """
    n_tests = np.count_nonzero(~np.isnan(adjusted))
    if correction is None or not n_tests:
        return level
    n_chosen = 1
    if correction == "fdr_bh":
        n_chosen = max(1, int(is_significant(adjusted, level).sum()))
    return 1 - (1 - level) * n_chosen / n_tests


def _holm(p: np.ndarray) -> np.ndarray:
    order = np.argsort(p)
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return adjusted


def _fdr_bh(p: np.ndarray) -> np.ndarray:
    from scipy import stats

    return stats.false_discovery_control(p, method="bh")


CORRECTIONS = {
    "holm": Correction("Holm's correction", _holm),
    "bonferroni": Correction("Bonferroni's correction", lambda p: p * len(p)),
    "fdr_bh": Correction("Benjamini and Hochberg's correction", _fdr_bh),
}


CHECK_CORRECTION = choice_validator("correction", CORRECTIONS, optional=True)


def widen_to_zero(
    interval: tuple[Numbers, Numbers], p_adjusted: Numbers, level: float
) -> tuple[Any, Any]:
    """Extend intervals to 0 if the test is not significant, unless all values are identical."""
    low, high = interval
    is_widened = (low < high) & ~np.isnan(p_adjusted) & ~is_significant(p_adjusted, level)
    return np.where(is_widened & (low > 0), 0.0, low), np.where(is_widened & (high < 0), 0.0, high)
