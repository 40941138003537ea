"""Differences of two systems query by query, and what a row of a comparison says of them."""

import numpy as np

from skgraded.measures import mean_over_queries
from skgraded.reports.intervals import default_method, mean_interval
from skgraded.reports.paired_tests import TIE, p_value


def differences_by_query(values, other, weights):
    """One system's values less the other's; nan where a value lacks or the weight is 0."""
    differences = values - other
    return differences if weights is None else np.where(weights > 0, differences, np.nan)


def outcomes(differences):
    """Numbers of wins, ties and losses; equal up to rounding is a tie."""
    signs = np.sign(np.round(differences, TIE))
    meant = (("wins", 1), ("ties", 0), ("losses", -1))
    return {name: int((signs == sign).sum()) for name, sign in meant}


def statistics(values, other, weights, *, test, level, n_resamples, seed):
    """What a row of a comparison says of the values of two systems, by the names of its columns.

    The seed is that of the interval and again that of the test.
    """
    differences = differences_by_query(values, other, weights)
    counts = ~np.isnan(differences)
    mean, other_mean = (
        mean_over_queries(np.where(counts, one, np.nan), weights) for one in (values, other)
    )
    differences = differences[counts]
    weights = None if weights is None else weights[counts]
    ci_method = default_method(len(differences))
    low, high = mean_interval(differences, weights, level, ci_method, n_resamples, seed)
    p = np.nan
    if test is not None:
        p = p_value(test, differences, n_resamples, np.random.default_rng(seed))
    return {
        "mean": mean,
        "baseline_mean": other_mean,
        "difference": mean - other_mean,
        "ci_low": low,
        "ci_high": high,
        "p_value": p,
        "n_queries": len(differences),
        **outcomes(differences),
        "effect_size": _effect_size(np.round(differences, TIE), weights),
        "ci_method": ci_method,
    }


def _effect_size(differences, weights):
    n = len(differences)
    if not differences.any():
        return 0.0 if n > 1 else np.nan
    if n < 2 or np.ptp(differences) == 0:
        return np.nan
    mean = np.average(differences, weights=weights)
    variance = np.average((differences - mean) ** 2, weights=weights) * n / (n - 1)
    return float(mean / np.sqrt(variance))
