"""Agreement between two judges, and prediction-powered means from human and machine judgments."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from skgraded.stats.intervals import BLOCK, ConfidenceInterval, compute_t_reach
from skgraded.stats.rounding import ROUNDING, Numbers, signs

CELLS = 16 * BLOCK  # maximum number of values in a block of resamples; limits memory


Estimate: TypeAlias = tuple[float, ConfidenceInterval]  # a statistic and its interval
UNKNOWN = ConfidenceInterval(np.nan, np.nan)


def measure_agreement(
    truth: np.ndarray, judge: np.ndarray, query: np.ndarray, level: float, is_ordinal: bool
) -> tuple[Estimate, Estimate]:
    """Compute Cohen's kappa and Krippendorff's alpha for the grades of two judges.

    If `is_ordinal`, alpha uses the ordinal distance; otherwise alpha uses the interval distance,
    and kappa is nan. The jackknife omits whole queries, because documents of the same query are not
    independent.
    """
    query = np.unique(query, return_inverse=True)[1]
    both = np.concatenate([truth, judge])
    settings = level, both, query
    if is_ordinal and len(query):
        table = GradePairs(truth, judge, query)
        kappa = jackknife(table.kappa, table.total, table.without_each, *settings)
        return kappa, jackknife(table.alpha, table.total, table.without_each, *settings)
    scale = np.abs(both).max(initial=0) or 1.0  # squares neither overflow nor underflow
    center = (both / scale).mean() if len(both) else 0.0
    x, y = truth / scale - center, judge / scale - center
    sums = np.array(
        [
            np.bincount(query, weights)
            for weights in (np.ones(len(x)), (x - y) ** 2, x + y, x * x + y * y)
        ]
    )
    total = sums.sum(axis=1)
    rounding = ROUNDING * 2 * total[0] * total[3]
    alpha = jackknife(
        lambda sums: _alpha(*sums, rounding=rounding),
        total,
        lambda: iter([total[:, None] - sums]),
        *settings,
    )
    return (np.nan, UNKNOWN), alpha


def compute_kappas(truth: np.ndarray, judge: np.ndarray, weights: str) -> tuple[float, float]:
    """Return Cohen's kappa, unweighted and weighted; nan if all grades are equal."""
    from sklearn.metrics import cohen_kappa_score

    both = np.concatenate([truth, judge])
    if len(truth) < 1 or (both == both[0]).all():
        return np.nan, np.nan
    codes = np.unique(both, return_inverse=True)[1].reshape(2, -1)
    weighted = cohen_kappa_score(*codes, weights=weights)
    return float(cohen_kappa_score(*codes)), float(weighted)


def jackknife(
    statistic: Callable[..., Any],
    total: np.ndarray,
    without_each: Callable[[], Iterator[Any]],
    level: float,
    grades: np.ndarray,
    query: np.ndarray,
) -> Estimate:
    """Compute a statistic between -1 and 1 and its jackknife confidence interval over queries.

    `without_each` yields arrays of sums, each of which leaves out one query. If the jackknife
    variance is 0, the interval is based on the effective number of queries.
    """
    from scipy.special import ndtri

    estimate = float(statistic(total))
    values = np.concatenate([np.atleast_1d(statistic(sums)) for sums in without_each()])
    n = len(values)
    if n < 2 or np.isnan(estimate) or np.isnan(values).any():
        return estimate, UNKNOWN
    squares = (values - values.mean()) ** 2
    variance = (n - 1) / n * squares.sum()
    if variance <= ROUNDING**2 or abs(estimate) == 1:
        # Kish's effective number of queries, in which each query is weighted by the expected
        # disagreement between its grades and randomly drawn grades
        _, codes, counts = np.unique(grades, return_inverse=True, return_counts=True)
        weights = np.bincount(np.tile(query, 2), 1 - counts[codes] / len(grades))
        n_trials = 2 * float(weights.sum() ** 2 / np.sum(weights**2))
    else:
        kurtosis = n * np.sum(squares**2) / squares.sum() ** 2
        # Satterthwaite's approximation of the degrees of freedom, at most n - 1
        degrees = 2 * n / max(kurtosis - 1, 2 * n / (n - 1))
        ratio = ndtri((1 + level) / 2) / compute_t_reach(degrees + 1, level)
        n_trials = (1 - estimate**2) / variance * ratio**2
    return estimate, compute_exact_interval(estimate, n_trials, level)


def compute_exact_interval(estimate: float, n: float, level: float) -> ConfidenceInterval:
    """Compute Korn and Graubard's (1998) confidence interval for a statistic between -1 and 1.

    This is the Clopper-Pearson interval for (1 - estimate) / 2, treated as the proportion of
    successes in n independent trials, where n need not be an integer.
    """
    from scipy.special import betaincinv

    x, tail = n * (1 - estimate) / 2, (1 - level) / 2
    low = betaincinv(x, n - x + 1, tail) if x > 0 else 0.0
    high = betaincinv(x + 1, n - x, 1 - tail) if x < n else 1.0
    return ConfidenceInterval(float(1 - 2 * high), float(1 - 2 * low))


class GradePairs:
    """Pairs (true grade, judge's grade), and how often each pair occurs in each query."""

    def __init__(self, truth: np.ndarray, judge: np.ndarray, query: np.ndarray) -> None:
        self.grades, codes = np.unique(np.concatenate([truth, judge]), return_inverse=True)
        first, second = codes.reshape(2, -1)
        pairs, self._pair = np.unique(first * len(self.grades) + second, return_inverse=True)
        self.first, self.second = np.divmod(pairs, len(self.grades))
        order = np.argsort(query, kind="stable")
        self._query, self._pair = query[order], self._pair[order]
        self.total: np.ndarray = np.bincount(self._pair, minlength=len(pairs))

    def without_each(self) -> Iterator[np.ndarray]:
        """Yield blocks of counts of shape (n, n_pairs); each row excludes one query."""
        n_pairs, n_queries = len(self.total), self._query[-1] + 1
        size = max(1, BLOCK // (n_pairs + len(self.grades)))  # limits memory
        for start in range(0, n_queries, size):
            n = min(size, n_queries - start)
            rows = slice(*np.searchsorted(self._query, [start, start + n]))
            cells = (self._query[rows] - start) * n_pairs + self._pair[rows]
            yield self.total - np.bincount(cells, minlength=n * n_pairs).reshape(n, n_pairs)

    def _n_grades(self, counts: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Sum each row of `counts` by grade; `codes` contains the grade code of each column."""
        n = np.zeros((*counts.shape[:-1], len(self.grades)))
        order = np.argsort(codes, kind="stable")
        known, starts = np.unique(codes[order], return_index=True)
        n[..., known] = np.add.reduceat(counts[..., order], starts, axis=-1)
        return n

    def kappa(self, counts: np.ndarray) -> np.ndarray:
        """Compute Cohen's kappa for each row of counts; nan if the expected agreement is 1."""
        n = counts.sum(axis=-1)
        agreed = counts[..., self.first == self.second].sum(axis=-1)
        by_chance = self._n_grades(counts, self.first) * self._n_grades(counts, self.second)
        with np.errstate(invalid="ignore", divide="ignore"):
            expected = by_chance.sum(axis=-1) / n
            return (agreed - expected) / (n - expected)

    def alpha(self, counts: np.ndarray) -> np.ndarray:
        """Compute Krippendorff's ordinal alpha for each row of counts.

        The ordinal distance between two grades is the difference between their mean ranks among all
        grades of both judges.
        """
        n_grades = self._n_grades(counts, self.first) + self._n_grades(counts, self.second)
        ranks = np.cumsum(n_grades, axis=-1) - n_grades / 2
        ranks -= n_grades.sum(axis=-1, keepdims=True) / 2
        distances = ranks[..., self.first] - ranks[..., self.second]
        return _alpha(
            counts.sum(axis=-1),
            (counts * distances**2).sum(axis=-1),
            (n_grades * ranks).sum(axis=-1),
            (n_grades * ranks**2).sum(axis=-1),
        )


def _alpha(
    n: Numbers, squares: Numbers, total: Numbers, total_squares: Numbers, *, rounding: float = 0.0
) -> np.ndarray:
    """Compute alpha = 1 - observed / expected disagreement from sums over n documents.

    For the grades x and y of the two judges, the sums are Σ (x - y)², Σ (x + y) and Σ (x² + y²).
    Alpha is nan if the expected disagreement is at most `rounding`.
    """
    expected = 2 * n * total_squares - total**2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > rounding, 1 - (2 * n - 1) * squares / expected, np.nan)


# Rankings of systems -----------------------------------------------------------------------------


def tau_b(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute Kendall's tau-b along the last axis; nan if all values in x or y are equal."""
    first, second = np.triu_indices(x.shape[-1], 1)
    x_signs, y_signs = (signs(means[..., first], means[..., second]) for means in (x, y))
    n_untied = np.abs(x_signs).sum(axis=-1) * np.abs(y_signs).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (x_signs * y_signs).sum(axis=-1) / np.sqrt(n_untied)


def resample_tau(
    truth: np.ndarray, judge: np.ndarray, n_resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the 2.5 % and 97.5 % quantiles of tau-b over bootstrap resamples of the queries.

    The arrays have the shape (n_systems, n_queries); nan values are ignored. The quantiles are not
    a confidence interval, because ties in the resamples lower tau. They are nan for a single query.
    """
    n_systems, n_queries = truth.shape
    values = np.concatenate([truth, judge])
    is_known = (~np.isnan(values)).T.astype(float)
    values = np.nan_to_num(values).T
    size = max(1, CELLS // (n_queries + n_systems**2))
    taus = np.empty(n_resamples)
    for start in range(0, n_resamples, size):
        n = min(size, n_resamples - start)
        draws = rng.integers(n_queries, size=(n, n_queries)) + np.arange(n)[:, None] * n_queries
        times = np.bincount(draws.ravel(), minlength=n * n_queries).reshape(n, -1).astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = times @ values / (times @ is_known)
            taus[start : start + n] = tau_b(means[:, :n_systems], means[:, n_systems:])
    if is_known.any(axis=1).sum() < 2 or np.isnan(taus).all():
        return np.nan, np.nan
    low, high = np.nanquantile(taus, [0.025, 0.975])
    return float(low), float(high)


def rank_means(means: np.ndarray) -> np.ndarray:
    """Return the ranks of the means, with average ranks for ties; all are nan if any mean is nan."""
    return (signs(means[:, None], means).sum(axis=1) + len(means) + 1) / 2


# Prediction-powered means (Angelopoulos, Bates et al. 2023), with the weights of PPI++ ------------

FEWEST_QUERIES = 10  # with fewer human-judged queries, estimated weights and errors are unreliable


class PoweredMean(NamedTuple):
    """A prediction-powered mean over n human-judged queries and n_judge additional queries."""

    n: int
    n_judge: int
    mean: float
    standard_error: float
    weight: float  # λ, from 0 (the judge is ignored) to 1
    human_mean: float
    human_error: float
    judge_mean: float  # mean of the judge's values over all queries

    def interval(self, level: float) -> ConfidenceInterval:
        """Compute Student's t interval; it is nan if the standard error is 0.

        Student's t has n - 2 degrees of freedom here, because the weight is estimated.
        """
        reach = (
            compute_t_reach(self.n - 1, level) * self.standard_error
            if self.standard_error
            else np.nan
        )
        return ConfidenceInterval(float(self.mean - reach), float(self.mean + reach))

    @property
    def worth(self) -> float:
        """Number of human-judged queries that would yield the same standard error on their own."""
        if not self.standard_error:
            return float(self.n)
        return self.n * (self.human_error / self.standard_error) ** 2


def variance(values: np.ndarray) -> float:
    """Return the variance (divisor n - 1); 0 if the values are equal up to rounding errors."""
    if np.ptp(values) <= ROUNDING * np.abs(values).max():
        return 0.0
    return float(np.var(values, ddof=1))


def estimate_powered_mean(human: np.ndarray, judge: np.ndarray, others: np.ndarray) -> PoweredMean:
    """Estimate the mean human value over all queries.

    `human` (h) and `judge` (j) contain values for the same n queries; `others` contains the judge's
    values for N additional queries. The weight is λ = cov(h, j) / ((1 + n/N) var(j)), where var(j)
    is computed from all of the judge's values.
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


def count_queries_needed(
    human: np.ndarray, judge: np.ndarray, others: np.ndarray, half_width: float, level: float
) -> tuple[float, float]:
    """Return how many human-judged queries `half_width` requires, without and with the judge.

    The set of machine-judged queries is fixed. If the machine judge does not reduce the required
    number, both results are equal. Both are nan if no number suffices.
    """
    human_variance, total = variance(human), len(judge) + len(others)
    alone = bisect_left(
        range(total + 1),
        True,
        lo=2,
        key=lambda n: bool(compute_t_reach(n, level) * np.sqrt(human_variance / n) <= half_width),
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
    enough = compute_t_reach(n - 1, level) * np.sqrt(square) <= half_width
    return alone, int(n[np.argmax(enough)]) if enough.any() else alone
