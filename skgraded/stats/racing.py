"""Rules for a search over boosters: which candidates are hopeless, and which may be the best.

During training, a candidate is hopeless if it stays below the leader under two favorable
assumptions: its best mean will increase by as much as it did in the second half of the rounds so
far, and its gap to the leader is overestimated by several standard errors.

After the search, the leader L is the candidate with the highest mean. Candidate c is eliminated if
it cannot be better than L by more than a margin. Let d be the mean of L minus the mean of c, and
let s be the standard error of d. The test statistic is (d + margin) / s. The null hypothesis is
that c has the highest expected value. If it is true, the statistic is at most the maximum over all
candidates i of the centered (mean of i - mean of c) / s. The distribution of this maximum is
estimated with a Gaussian multiplier bootstrap over queries (Chernozhukov, Chetverikov & Kato 2013).
The hypothesis is true only for the best candidate, so the tests need no correction for the number
of candidates.
"""

import numpy as np

from skgraded.stats.rounding import TOLERANCE

CHECKPOINTS = tuple(round(5 * 2 ** (j / 2)) for j in range(60))  # numbers of rounds: 5, 7, 10, …
N_DRAWS = 4000  # with this many draws, an error rate of 0.05 has a relative standard error of 7 %


def is_hopeless(curve: list[float], error: float, n_standard_errors: float, leader: float) -> bool:
    """Return whether a candidate is hopeless, given its mean after each round so far.

    `leader` is the mean to reach, and `error` the standard error of the candidate's difference from
    the leader.
    """
    best = max(curve)
    gain = best - max(curve[: len(curve) // 2])
    # Infinity times an error of 0 is nan, and comparisons with nan are False.
    return bool(best + gain + float(n_standard_errors) * float(error) < leader)


def compare_with_leader(
    values: np.ndarray, level: float, margin: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compare candidates with the leader.

    Return the differences from the leader, the half-widths of their intervals, and whether each
    candidate survives. A candidate survives unless the upper limit of its interval is below the
    margin.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_candidates)
    level : float
        Probability that the candidate with the highest expected value survives, for a margin of 0.
    margin : float
        A candidate survives only if it can be better than the leader by more than this.
    rng : numpy.random.Generator
    """
    # Small differences between large values would be lost in the rounding of their covariance.
    centered = values - values.mean(axis=1, keepdims=True)
    mean = centered.mean(axis=0)
    leader = int(np.argmax(mean))
    rounding = TOLERANCE * np.abs(values).mean()
    difference = mean - mean[leader]
    difference[np.abs(difference) <= rounding] = 0.0
    if len(values) < 2:
        return difference, np.full(len(mean), np.nan), np.ones(len(mean), dtype=bool)
    critical = _estimate_critical_values(np.atleast_2d(np.cov(centered.T)), len(values), level, rng)
    error = (centered - centered[:, [leader]]).std(axis=0, ddof=1)
    # If a candidate equals the leader, its half-width is 0 even for an infinite critical value.
    error[error <= rounding] = 0.0
    half_width = np.where(error > 0, critical, 0.0) * error / np.sqrt(len(values))
    survives = difference + half_width >= margin
    survives[leader] = True
    return difference, half_width, survives


def _estimate_critical_values(
    covariance: np.ndarray, n_queries: int, level: float, rng: np.random.Generator
) -> np.ndarray:
    """Return the critical value of each candidate, given the covariance of the per-query values."""
    # Draw from a normal distribution whose covariance matrix may be singular.
    # The symmetric square root does not depend on the arbitrary signs of eigenvectors.
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.clip(values, 0, None)) @ vectors.T
    draws = root @ rng.standard_normal((len(covariance), N_DRAWS))
    scale = np.sqrt(rng.chisquare(n_queries - 1, N_DRAWS) / (n_queries - 1))
    critical = np.full(len(covariance), np.inf)
    for c in range(len(covariance)):
        # Variances of the differences from candidate c; those within rounding error of 0 become 0
        sums = np.diag(covariance) + covariance[c, c]
        variances = sums - 2 * covariance[c]
        error = np.sqrt(np.where(variances > 1e-12 * sums, variances, 0.0))
        others = np.flatnonzero(error > 0)
        if len(others):
            largest = ((draws[others] - draws[c]) / error[others, None]).max(axis=0) / scale
            critical[c] = np.quantile(largest, level, method="higher")
    return critical
