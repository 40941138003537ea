"""Control limits for the means and shares of many days."""

import numpy as np

WIDTH = 3.0  # distance of control limits from the center, in standard deviations
FEWEST_DEGREES = 2  # with 1 degree of freedom, limits are hundreds of standard deviations wide


def prediction_limits(values: np.ndarray, seasons: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return the center, lower and upper limit for each value, of shape (n, 3), ignoring nan.

    The limits of x come from the values before it: m ± t s √(1 + 1/k), where m is the mean of the k
    values in the same season, s² the pooled variance within seasons, and t the quantile of
    Student's distribution that corresponds to three standard deviations. Limits are nan if there are
    too few values, and at least as wide as the sampling `errors`, which may be nan.
    """
    from scipy.special import ndtr, stdtrit

    limits = np.full((len(values), 3), np.nan)
    known = ~np.isnan(values)
    names, season_of = np.unique(seasons, return_inverse=True)
    for i in range(len(values)):
        before, season = values[:i][known[:i]], season_of[:i][known[:i]]
        sizes = np.bincount(season, minlength=len(names))
        degrees, k = len(before) - np.count_nonzero(sizes), sizes[season_of[i]]
        if degrees < FEWEST_DEGREES or not k:
            continue
        means = np.bincount(season, before, minlength=len(names)) / np.maximum(sizes, 1)
        deviation = np.sqrt(np.sum((before - means[season]) ** 2) / degrees)
        reach = stdtrit(degrees, ndtr(WIDTH)) * deviation * np.sqrt(1 + 1 / k)
        center = means[season_of[i]]
        limits[i] = center + np.array([0, -1, 1]) * np.fmax(reach, errors[i])
    return limits


def share_errors(counts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the largest plausible deviation of each share from the share of all earlier counts.

    The bound d = |p - q| of a share p solves d = z √(p (1 - p) / n) for q, where z is WIDTH, as in
    Wilson's interval.
    """
    n_before, n_queries = (np.cumsum(part) - part for part in (counts, sizes))
    share = n_before / np.maximum(n_queries, 1)
    spread = np.sqrt(WIDTH**2 / 4 + sizes * share * (1 - share))
    return (WIDTH**2 / 2 + WIDTH * spread) / np.maximum(sizes, 1)
