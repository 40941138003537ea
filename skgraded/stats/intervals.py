"""Confidence intervals of means over queries."""

from typing import Any, NamedTuple

import numpy as np

from skgraded._input.columns import number, one_of, whole_number

METHODS = ("bootstrap", "t")
ROUNDING = 1e-12  # values whose spread is no more, by the largest of them, are identical
FEWEST_RESAMPLES = 100  # the ends of an interval are quantiles of as many means
BLOCK = 2**18  # speed only: numbers that a batch of resamples holds, so that it stays in the cache


class ConfidenceInterval(NamedTuple):
    """An interval of a mean.

    Attributes
    ----------
    low, high : float
    """

    low: float
    high: float


def check_settings(level: Any, method: Any, n_resamples: Any, rng: Any) -> tuple[float, str, int]:
    """Check level, method, n_resamples and rng; return the first three."""
    level = number("level", 0, 1, above=True, below=True)(level)
    method = one_of("method", METHODS)(method)
    try:
        np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise TypeError(
            f"rng must be None, a whole number ≥ 0 or a numpy.random.Generator; got {rng!r}."
        ) from None
    return level, method, whole_number(n_resamples, "n_resamples", FEWEST_RESAMPLES)


def are_identical(estimate: Any) -> bool:
    """Whether all values of a MeanEstimate or Moments are the same up to rounding."""
    largest = max(abs(estimate.lowest), abs(estimate.highest))
    return estimate.highest - estimate.lowest <= ROUNDING * largest


def t_interval(estimate: Any, level: float) -> ConfidenceInterval:
    """Student's interval: the value itself if all are identical, nan for fewer than two."""
    if estimate.n < 2:
        return ConfidenceInterval(np.nan, np.nan)
    if are_identical(estimate):
        return ConfidenceInterval(estimate.lowest, estimate.highest)
    reach = t_reach(estimate.n, level) * estimate.standard_error
    return ConfidenceInterval(float(estimate.mean - reach), float(estimate.mean + reach))


class MeanEstimate(NamedTuple):
    """A weighted mean with what Student's interval needs; nan for fewer than two values."""

    n: int
    mean: float
    standard_error: float
    lowest: float
    highest: float


def estimate_mean(values: np.ndarray, weights: np.ndarray | None) -> MeanEstimate:
    """Estimate Σ w v / Σ w with its standard error, √(n / (n - 1) Σ (w (v - m))²) / Σ w."""
    values, weights = _counting(values, weights)
    n = len(values)
    if n < 2:
        return MeanEstimate(n, np.nan, np.nan, np.nan, np.nan)
    mean = np.average(values, weights=weights)
    shares = 1 / n if weights is None else weights / weights.sum()
    error = np.sqrt(n / (n - 1) * np.sum((shares * (values - mean)) ** 2))
    return MeanEstimate(n, mean, error, float(values.min()), float(values.max()))


def mean_interval(values, weights, level: float, method: str, n_resamples=9999, rng=None):
    """Interval of the mean Σ w v / Σ w as `Evaluation.confidence_interval` describes it."""
    estimate = estimate_mean(values, weights)
    if method == "t" or estimate.n < 2 or are_identical(estimate):
        return t_interval(estimate, level)
    values, weights = _counting(values, weights)
    with np.errstate(divide="ignore", invalid="ignore"):  # weights that underflow: nan
        return _bca(values, weights, level, n_resamples, np.random.default_rng(rng))


def _counting(values, weights):
    """Values that count and their weights: None if these are equal."""
    kept = ~np.isnan(values)
    if weights is None:
        return values[kept], None
    kept &= weights > 0
    values, weights = values[kept], weights[kept]
    if len(weights) < 2 or np.ptp(weights) == 0:
        return values, None
    # Division by a power of 2 rounds nothing, and then no sum overflows.
    return values, np.ldexp(weights, -np.frexp(weights.max())[1])


def t_reach(n: int, level: float) -> float:
    """How many standard errors of a mean of n values an interval by t reaches to either side."""
    from scipy.special import stdtrit  # as scipy.stats.t.ppf, which takes longer to import

    return stdtrit(n - 1, (1 + level) / 2)


def _bca(values, weights, level, n_resamples, rng):
    """Efron's bias-corrected and accelerated interval, as by scipy.stats.bootstrap.

    scipy draws the resamples. The acceleration it would find by taking the mean n times over n - 1
    values, in n² steps (40 s for 100,000 queries); here each such mean comes from the sums.
    """
    from scipy import stats
    from scipy.special import ndtr, ndtri

    def mean(values, weights=None, axis=-1):
        if weights is None:
            return np.mean(values, axis=axis)
        return np.sum(values, axis=axis) / np.sum(weights, axis=axis)  # values times weights

    data: tuple = (values,) if weights is None else (values * weights, weights)
    means = stats.bootstrap(
        data, mean, paired=weights is not None, n_resamples=n_resamples, method="percentile",
        batch=max(1, BLOCK // len(values)),  # speed only
        random_state=rng,
    ).bootstrap_distribution
    found = mean(*data)
    bias = ndtri(((means < found).mean() + (means <= found).mean()) / 2)
    products, w = data if weights is not None else (values, np.ones(len(values)))
    without_one = (products.sum() - products) / (w.sum() - w)
    spread = without_one.mean() - without_one
    spread /= np.abs(spread).max()
    acceleration = np.sum(spread**3) / (6 * np.sum(spread**2) ** 1.5)
    z = bias + ndtri(np.array([1 - level, 1 + level]) / 2)
    low, high = np.quantile(means, ndtr(bias + z / (1 - acceleration * z)))
    return ConfidenceInterval(float(low), float(high))
