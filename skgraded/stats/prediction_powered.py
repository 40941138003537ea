"""Prediction-powered means (Angelopoulos, Bates et al. 2023), with the weights of PPI++."""

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from skgraded.stats.intervals import ROUNDING, ConfidenceInterval, t_reach

FEWEST_QUERIES = 10  # with fewer human-judged queries, estimates of weight and error are unreliable


class PoweredMean(NamedTuple):
    """A prediction-powered mean over n human-judged queries and n_judge further queries."""

    n: int
    n_judge: int
    mean: float
    standard_error: float
    weight: float  # λ, from 0 (the judge is ignored) to 1
    human_mean: float
    human_error: float
    judge_mean: float  # over all queries

    def interval(self, level: float) -> ConfidenceInterval:
        """Compute Student's t interval; it is nan if the standard error is 0.

        Estimating the weight costs one of the n - 1 degrees of freedom.
        """
        reach = t_reach(self.n - 1, level) * self.standard_error if self.standard_error else np.nan
        return ConfidenceInterval(float(self.mean - reach), float(self.mean + reach))

    @property
    def worth(self) -> float:
        """Number of human-judged queries that give the same standard error without the judge."""
        if not self.standard_error:
            return float(self.n)
        return self.n * (self.human_error / self.standard_error) ** 2


def variance(values: np.ndarray) -> float:
    """Return the variance (divisor n - 1); 0 if the values are identical up to rounding."""
    if np.ptp(values) <= ROUNDING * np.abs(values).max():
        return 0.0
    return float(np.var(values, ddof=1))


def powered_mean(human: np.ndarray, judge: np.ndarray, others: np.ndarray) -> PoweredMean:
    """Estimate the mean human value over all queries.

    `human` (h) and `judge` (j) cover the same n queries; `others` contains the judge's N other
    values. The weight is λ = cov(h, j) / ((1 + n/N) var(j)), with var(j) over all values of the
    judge.
    """
    n, n_judge, weight = len(human), len(others), 0.0
    judge_variance = variance(np.concatenate([judge, others]))
    if judge_variance and variance(human):
        covariance = np.cov(human, judge)[0, 1]
        weight = float(np.clip(covariance / ((1 + n / n_judge) * judge_variance), 0, 1))
    square = weight**2 * variance(others) / n_judge + variance(human - weight * judge) / n
    return PoweredMean(
        n,
        n_judge,
        float(weight * np.mean(others) + np.mean(human - weight * judge)),
        float(np.sqrt(square)),
        weight,
        float(np.mean(human)),
        float(np.sqrt(variance(human) / n)),
        float(np.mean(np.concatenate([judge, others]))),
    )


def queries_needed(
    human: np.ndarray, judge: np.ndarray, others: np.ndarray, half_width: float, level: float
) -> tuple[float, float]:
    """Return how many queries people must judge for this half-width, without and with the judge.

    The judge's queries are fixed. If the judge does not reduce the number of human-judged queries,
    both results are equal. Both are nan if no number suffices.
    """
    human_variance, total = variance(human), len(judge) + len(others)
    alone = bisect_left(
        range(total + 1),
        True,
        lo=2,
        key=lambda n: bool(t_reach(n, level) * np.sqrt(human_variance / n) <= half_width),
    )
    if alone > total:
        return np.nan, np.nan
    n = np.arange(FEWEST_QUERIES, min(alone, total - 1))
    judge_variance = variance(np.concatenate([judge, others]))
    if not len(n) or not judge_variance:
        return alone, alone
    covariance = np.cov(human, judge)[0, 1]
    weight = np.clip(covariance / ((1 + n / (total - n)) * judge_variance), 0, 1)
    residual = human_variance - 2 * weight * covariance + weight**2 * variance(judge)
    square = weight**2 * judge_variance / (total - n) + np.maximum(residual, 0) / n
    enough = t_reach(n - 1, level) * np.sqrt(square) <= half_width
    return alone, int(n[np.argmax(enough)]) if enough.any() else alone
