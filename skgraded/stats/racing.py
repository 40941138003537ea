"""The rule of a racing search: which candidates cannot be the best, after each look at the values.

Candidate c is dropped if the leader L, the candidate with the highest mean, is better than c by so
much that c cannot be better than L by more than a margin. Let d be the mean of L minus the mean of
c, and s its standard error. The statistic is (d + margin) / s.

The rule inverts a test of the hypothesis "c has the highest expected value". If it holds, the
statistic is at most the maximum over all candidates i of the centered (mean of i - mean of c) / s.
The distribution of this maximum follows from the covariance of the per-query values, as in
a Gaussian multiplier bootstrap over queries (Chernozhukov, Chetverikov & Kato 2013). The hypothesis
is true only for the best candidate, so its tests need no correction for the number of candidates.

The looks share queries. The error `1 - level` is spent over the looks by a function of the share of
queries seen so far (Lan & DeMets 1983; the function is the one that they derive from Pocock's
boundary, which spends more on early looks, where most fits can be saved). Simulated paths of
partial sums give the critical value of each look, given that no earlier look has rejected the
hypothesis.

All queries have equal weights: with unequal weights, t statistics of few effective queries reject
the hypothesis too often.
"""

from dataclasses import dataclass

import numpy as np

from skgraded.stats.rounding import TOLERANCE

N_PATHS = 4000  # an error of .05 / 10 per look is then estimated to within 20 %
FEWEST_QUERIES = 20  # before a first look; with fewer, a t statistic of skewed values is unreliable


@dataclass(frozen=True)
class Look:
    """Differences of the remaining candidates from the leader after a fold, and their intervals.

    All arrays have the shape (n_candidates,). `half_width` belongs to the difference from the
    leader; a candidate is dropped if its upper limit is below the margin.
    """

    difference: np.ndarray
    half_width: np.ndarray
    is_dropped: np.ndarray


class Race:
    """State of a race: the simulated paths of the candidates that remain.

    Parameters
    ----------
    n_candidates : int
    level : float
        Probability that the candidate with the highest expected value is never dropped.
    margin : float
        Candidates are dropped unless they can be better than the leader by more than this.
    rng : numpy.random.Generator
    """

    def __init__(
        self, n_candidates: int, level: float, margin: float, rng: np.random.Generator
    ) -> None:
        self.level, self.margin, self.rng = level, margin, rng
        self.spent = 0.0
        self.n_queries = 0
        self.sums = np.zeros((n_candidates, N_PATHS))  # in float64, as values can be tiny or huge
        self.is_alive = np.ones((n_candidates, N_PATHS), dtype=bool)

    def look(self, values: np.ndarray, share: float) -> Look:
        """Compare the candidates on all queries seen so far.

        Parameters
        ----------
        values : ndarray of shape (n_queries, n_candidates)
            Values of the candidates that were not dropped.
        share : float
            Share of the queries of the whole race that `values` contains, in (0, 1].
        """
        # Small differences between large values would be lost in the rounding of their covariance.
        centered = values - values.mean(axis=1, keepdims=True)
        mean = centered.mean(axis=0)
        leader = int(np.argmax(mean))
        rounding = TOLERANCE * np.abs(values).mean()
        difference = mean - mean[leader]
        difference[np.abs(difference) <= rounding] = 0.0
        if len(values) < (FEWEST_QUERIES if share < 1 else 2):
            unknown = np.full(len(mean), np.nan)
            return Look(difference, unknown, np.zeros(len(mean), dtype=bool))
        covariance = np.atleast_2d(np.cov(centered.T))
        critical = self._critical_values(covariance, len(values), share)
        error = (centered - centered[:, [leader]]).std(axis=0, ddof=1)
        # Values equal to the leader's have no error, even if the critical value is infinite.
        error[error <= rounding] = 0.0
        half_width = np.where(error > 0, critical, 0.0) * error / np.sqrt(len(values))
        is_dropped = difference + half_width < self.margin
        is_dropped[leader] = False
        return Look(difference, half_width, is_dropped)

    def keep(self, kept: np.ndarray) -> None:
        """Keep the candidates of a boolean mask; the next look has no values of the others."""
        self.sums, self.is_alive = self.sums[kept], self.is_alive[kept]

    def _critical_values(self, covariance: np.ndarray, n_queries: int, share: float) -> np.ndarray:
        """Return the critical value of each candidate, and end the paths that exceed it."""
        # Draws from a normal distribution, whose covariance may be singular. The symmetric root does
        # not depend on the arbitrary signs of the eigenvectors.
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.clip(values, 0, None)) @ vectors.T
        draws = root @ self.rng.standard_normal((len(covariance), N_PATHS))
        self.sums += np.sqrt(max(n_queries - self.n_queries, 0)) * draws
        self.n_queries = n_queries
        scale = np.sqrt(n_queries * self.rng.chisquare(n_queries - 1, N_PATHS) / (n_queries - 1))
        spent = (1 - self.level) * float(np.log1p((np.e - 1) * share))
        n_more = round(spent * N_PATHS) - round(self.spent * N_PATHS)
        self.spent = spent
        # The critical value lies between the last rejected and the first accepted path.
        last = N_PATHS - max(n_more, 1)
        critical = np.full(len(covariance), np.inf)
        for c in range(len(covariance)) if n_more > 0 else ():
            # The variances of the differences from candidate c; rounding errors become 0.
            sums = np.diag(covariance) + covariance[c, c]
            variances = sums - 2 * covariance[c]
            error = np.sqrt(np.where(variances > 1e-12 * sums, variances, 0.0))
            others = np.flatnonzero(error > 0)
            if len(others):
                statistics = (self.sums[others] - self.sums[c]) / error[others, None]
                largest = np.where(self.is_alive[c], statistics.max(axis=0) / scale, -np.inf)
                critical[c] = np.partition(largest, last)[last]
                self.is_alive[c] &= largest < critical[c]
        return critical
