"""Confidence intervals for means over queries."""

from typing import Any, NamedTuple

import numpy as np

from skgraded._input.columns import number, one_of, whole_number

METHODS = ("bootstrap", "t")
ROUNDING = 1e-12  # values with at most this relative range are treated as identical
FEWEST_RESAMPLES = 100  # interval endpoints are quantiles of at least this many means
BLOCK = 2**18  # numbers per batch of resamples, to fit in the cache; affects only speed


class ConfidenceInterval(NamedTuple):
    """A confidence interval for a mean.

    Attributes
    ----------
    low, high : float
        Lower and upper limits of the interval.
    """

    low: float
    high: float


def check_settings(level: Any, method: Any, n_resamples: Any, rng: Any) -> tuple[float, str, int]:
    """Validate the interval settings; return `level`, `method` and `n_resamples`."""
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
    """Return whether all values of a MeanEstimate or Moments are equal up to rounding."""
    largest = max(abs(estimate.lowest), abs(estimate.highest))
    return estimate.highest - estimate.lowest <= ROUNDING * largest


def t_interval(estimate: Any, level: float) -> ConfidenceInterval:
    """Compute Student's interval; nan for fewer than two values, zero width if all are equal."""
    if estimate.n < 2:
        return ConfidenceInterval(np.nan, np.nan)
    if are_identical(estimate):
        return ConfidenceInterval(estimate.lowest, estimate.highest)
    reach = t_reach(estimate.n, level) * estimate.standard_error
    return ConfidenceInterval(float(estimate.mean - reach), float(estimate.mean + reach))


class MeanEstimate(NamedTuple):
    """A weighted mean, its standard error and the range; nan for fewer than two values."""

    n: int
    mean: float
    standard_error: float
    lowest: float
    highest: float


def estimate_mean(values: np.ndarray, weights: np.ndarray | None) -> MeanEstimate:
    """Estimate the mean Σ w v / Σ w and its standard error √(n / (n - 1) Σ (w (v - m))²) / Σ w."""
    values, weights = _counting(values, weights)
    n = len(values)
    if n < 2:
        return MeanEstimate(n, np.nan, np.nan, np.nan, np.nan)
    mean = np.average(values, weights=weights)
    shares = 1 / n if weights is None else weights / weights.sum()
    error = np.sqrt(n / (n - 1) * np.sum((shares * (values - mean)) ** 2))
    return MeanEstimate(n, mean, error, float(values.min()), float(values.max()))


def mean_interval(values, weights, level: float, method: str, n_resamples=9999, rng=None):
    """Compute an interval for the weighted mean; see `Evaluation.confidence_interval`."""
    estimate = estimate_mean(values, weights)
    if method == "t" or estimate.n < 2 or are_identical(estimate):
        return t_interval(estimate, level)
    values, weights = _counting(values, weights)
    with np.errstate(divide="ignore", invalid="ignore"):  # weights that underflow give nan
        return _bca(values, weights, level, n_resamples, np.random.default_rng(rng))


def _counting(values, weights):
    """Drop values that are nan or have weight 0; return None as weights if all are equal."""
    counts = ~np.isnan(values)
    if weights is None:
        return values[counts], None
    counts &= weights > 0
    values, weights = values[counts], weights[counts]
    if len(weights) < 2 or np.ptp(weights) == 0:
        return values, None
    # Division by a power of 2 is exact and prevents the sums from overflowing.
    return values, np.ldexp(weights, -np.frexp(weights.max())[1])


def t_reach(n: int, level: float) -> float:
    """Return the half-width of Student's interval for the mean of n values, in standard errors."""
    from scipy.special import stdtrit  # equals scipy.stats.t.ppf, which takes longer to import

    return stdtrit(n - 1, (1 + level) / 2)


def _bca(values, weights, level, n_resamples, rng):
    """Compute Efron's bias-corrected and accelerated interval, as in scipy.stats.bootstrap.

    SciPy draws the resamples. For the acceleration, SciPy would compute n means of n - 1 values in
    n² steps (40 s for 100,000 queries). Here, these means are computed from the sums.
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
    estimate = mean(*data)
    bias = ndtri(((means < estimate).mean() + (means <= estimate).mean()) / 2)
    products, w = data if weights is not None else (values, np.ones(len(values)))
    jackknife_means = (products.sum() - products) / (w.sum() - w)
    spread = jackknife_means.mean() - jackknife_means
    spread /= np.abs(spread).max()
    acceleration = np.sum(spread**3) / (6 * np.sum(spread**2) ** 1.5)
    z = bias + ndtri(np.array([1 - level, 1 + level]) / 2)
    low, high = np.quantile(means, ndtr(bias + z / (1 - acceleration * z)))
    return ConfidenceInterval(float(low), float(high))
