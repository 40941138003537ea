"""Power analysis: the required number of queries and the smallest detectable effect."""

import math
from bisect import bisect_left

import numpy as np

from skgraded._input.columns import number

MOST = 10_000_000  # queries; smaller effects are refused
POWER = 0.8  # power for which detectable effects are reported (Cohen 1988, Sakai 2016)


def required_queries(effect_size: float, *, power: float = 0.8, level: float = 0.95) -> int:
    """Compute the number of queries that a paired t-test needs to detect a difference.

    Parameters
    ----------
    effect_size : float
        The difference to detect, divided by the standard deviation of the per-query differences,
        as in the column ``effect_size`` of a comparison. The sign is ignored.
    power : float, default=0.8
        The desired probability of detecting the difference, between 0 and 1.
    level : float, default=0.95
        1 minus the significance level of the two-sided test. For m tests with Bonferroni's
        correction, use 1 - 0.05 / m; Holm's correction needs no more queries.

    Returns
    -------
    int
        The smallest sufficient number of queries, at least 2, from the noncentral t-distribution
        [1]_.

    References
    ----------
    .. [1] Sakai: Topic set size design. Information Retrieval Journal 19, 2016.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.required_queries(0.5), sg.required_queries(0.1)
    (34, 787)
    """
    effect = abs(number("effect_size", -math.inf, math.inf)(effect_size))
    power = number("power", 0, 1, above=True, below=True)(power)
    level = number("level", 0, 1, above=True, below=True)(level)
    if not effect or _power(effect, MOST, level) < power:
        raise ValueError(
            f"effect_size is {effect_size!r}, which {MOST:,} queries cannot detect: pass the "
            "smallest effect that matters, such as 0.2."
        )
    numbers = range(2, MOST + 1)
    return numbers[bisect_left(numbers, power, key=lambda n: _power(effect, n, level))]


def _power(effect, n, level):
    """Return the probability that a two-sided paired t-test detects an effect and its sign."""
    from scipy.special import nctdtr, stdtrit

    reach, shift = stdtrit(n - 1, (1 + level) / 2), effect * np.sqrt(n)
    if shift > 37:  # beyond the range in which nctdtr is accurate
        return 1.0 if shift - reach > 37 else 1 - nctdtr(n - 1, 37.0, reach)
    return 1 - nctdtr(n - 1, shift, reach)


def detectable_effect(n: int, reach: float) -> float:
    """Return the smallest effect that a t-test with critical value `reach` detects at POWER."""
    from scipy.special import nctdtrinc

    if n < 2 or not np.isfinite(reach):
        return math.nan
    return float(nctdtrinc(n - 1, 1 - POWER, reach) / math.sqrt(n))
