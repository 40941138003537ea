"""Confidence intervals of means over queries."""

from __future__ import annotations

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


def mean_interval(
    values: np.ndarray,
    weights: np.ndarray | None,
    level: float,
    method: str,
    n_resamples: int = 9999,
    rng: int | np.random.Generator | None = None,
) -> ConfidenceInterval:
    """Interval of the mean Σ w v / Σ w over the queries that values v are a sample of.

    As `Evaluation.confidence_interval` says. Values that are nan and queries of weight 0 are left
    out. The value itself if all are identical; nan if fewer than two are left.
    """
    kept = ~np.isnan(values)
    if weights is not None:
        kept &= weights > 0
        weights = weights[kept]
    values = values[kept]
    if len(values) < 2:
        return ConfidenceInterval(np.nan, np.nan)
    if weights is not None:
        # Over a power of 2, which rounds nothing: no sum overflows.
        weights = np.ldexp(weights, -np.frexp(weights.max())[1])
        weights = None if np.ptp(weights) == 0 else weights
    if np.ptp(values) <= ROUNDING * np.abs(values).max():
        return ConfidenceInterval(float(values.min()), float(values.max()))
    if method == "t":
        return _t(values, weights, level)
    with np.errstate(divide="ignore", invalid="ignore"):  # weights that vanish beside another: nan
        return _bca(values, weights, level, n_resamples, np.random.default_rng(rng))


def t_reach(n: int, level: float) -> float:
    """How many standard errors of a mean of n values an interval by t reaches to either side."""
    from scipy.special import stdtrit  # as scipy.stats.t.ppf, which takes longer to import

    return stdtrit(n - 1, (1 + level) / 2)


def _t(values, weights, level):
    n = len(values)
    mean = np.average(values, weights=weights)
    shares = 1 / n if weights is None else weights / weights.sum()
    error = np.sqrt(n / (n - 1) * np.sum((shares * (values - mean)) ** 2))
    reach = t_reach(n, level) * error
    return ConfidenceInterval(float(mean - reach), float(mean + reach))


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
