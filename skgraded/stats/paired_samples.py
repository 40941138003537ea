"""Summary statistics of the paired differences between two systems."""

from typing import NamedTuple

import numpy as np

from skgraded._kernels.sums import mean_of_defined
from skgraded.stats.intervals import MeanEstimate, estimate_mean, sum_differences
from skgraded.stats.rounding import subtract


class PairedSample(NamedTuple):
    """Summary statistics of a system, its baseline and their differences, without a test."""

    mean: float
    baseline_mean: float
    wins: int
    ties: int
    losses: int
    n_undefined: float  # number of queries with undefined values for both systems; nan if unknown
    deviation: float  # standard deviation (ddof=1); 0 if all differences are equal
    unit_deviation: float  # for clusters: standard error times the root of the number of clusters
    n_differing: int  # number of queries, or clusters, whose (sum of) differences is not 0
    estimate: MeanEstimate  # of the mean difference
    differences: np.ndarray | None = None  # nan for excluded queries; None if they are unknown


def summarize_pair(
    values: np.ndarray,
    baseline_values: np.ndarray,
    are_undefined: np.ndarray,
    weights: np.ndarray | None = None,
    cluster: np.ndarray | None = None,
) -> PairedSample:
    """Summarize two samples of values; `are_undefined` are the queries undefined for both."""
    of_queries = differences_by_query(values, baseline_values, weights, merge=True)
    is_known = ~np.isnan(of_queries)
    differences = of_queries[is_known]
    weights = None if weights is None else weights[is_known]
    cluster = None if cluster is None else cluster[is_known]
    estimate, deviation = estimate_mean(differences, weights, cluster), 0.0
    n = estimate.n
    if n > 1 and np.ptp(differences) > 0:
        variance = np.average((differences - estimate.mean) ** 2, weights=weights) * n / (n - 1)
        deviation = float(np.sqrt(variance))
    unit_deviation = deviation
    if cluster is not None:
        unit_deviation = estimate.standard_error * np.sqrt(estimate.n_units)
    return PairedSample(
        mean_of_defined(values[is_known], weights),
        mean_of_defined(baseline_values[is_known], weights),
        **count_outcomes(differences),
        n_undefined=int(np.count_nonzero(is_known & are_undefined)),
        deviation=deviation,
        unit_deviation=unit_deviation,
        n_differing=int(np.count_nonzero(sum_differences(differences, cluster))),
        estimate=estimate,
        differences=of_queries,
    )


def differences_by_query(
    values: np.ndarray,
    baseline_values: np.ndarray,
    weights: np.ndarray | None,
    *,
    merge: bool = False,
) -> np.ndarray:
    """Subtract the baseline values; return nan where a value is missing or the weight is 0.

    Queries are ties if and only if their difference is 0; see `subtract`.
    """
    if weights is not None:
        values = np.where(weights > 0, values, np.nan)
    return subtract(values, baseline_values, merge=merge)


def count_outcomes(differences: np.ndarray) -> dict[str, int]:
    """Count wins, ties and losses: differences above, equal to and below 0."""
    wins, losses = (int(np.count_nonzero(x > 0)) for x in (differences, -differences))
    return {"wins": wins, "ties": len(differences) - wins - losses, "losses": losses}


def means_of_queries(values: np.ndarray, query: np.ndarray, n_queries: int) -> np.ndarray:
    """Return each query's mean value, ignoring nan, or nan for queries without values."""
    known = ~np.isnan(values)
    counts = np.bincount(query[known], minlength=n_queries)
    sums = np.bincount(query[known], values[known], minlength=n_queries)
    return np.divide(sums, counts, out=np.full(n_queries, np.nan), where=counts > 0)
