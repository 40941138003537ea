"""Power analysis: the required number of queries and the smallest detectable effect."""

import math
from bisect import bisect_left
from typing import Any

import numpy as np

from skgraded._input.door import check_whole_number, number_validator
from skgraded._input.queries import QueryIds, query_codes, sort_positions
from skgraded.stats.intervals import CHECK_LEVEL, Rng, check_rng

MOST = 10_000_000  # maximum number of queries; effects that require more are rejected
POWER = 0.8  # power at which detectable effects are reported (Cohen 1988, Sakai 2016)


def required_queries(effect_size: float, *, power: float = 0.8, level: float = 0.95) -> int:
    """Compute the number of queries that a paired t-test needs to detect a difference.

    Parameters
    ----------
    effect_size : float
        The difference to detect, divided by the standard deviation of the per-query differences,
        as in the column ``effect_size`` of a comparison.
    power : float, default=0.8
        The desired probability of detecting the difference, between 0 and 1.
    level : float, default=0.95
        1 minus the significance level of the two-sided test. For m tests with Bonferroni's
        correction, use 1 - 0.05 / m; Holm's correction needs no more queries.

    Returns
    -------
    int
        The smallest sufficient number of queries, at least 2, from the noncentral t-distribution
        (Sakai: Topic set size design. Information Retrieval Journal 19, 2016).

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.required_queries(0.5), sg.required_queries(0.1)
    (34, 787)
    """
    effect = abs(number_validator("effect_size", -math.inf, math.inf)(effect_size))
    power = number_validator("power", 0, 1, above=True, below=True)(power)
    level = CHECK_LEVEL(level)
    if not effect or _power(effect, MOST, level) < power:
        raise ValueError(
            f"effect_size is too small to detect with {MOST:,} queries; got {effect_size!r}. Pass "
            "the smallest effect that matters, such as 0.2."
        )
    return bisect_left(range(MOST), power, lo=2, key=lambda n: _power(effect, n, level))


def sample_queries(query_ids: QueryIds, n: int, rng: Rng = None) -> np.ndarray:
    """Draw distinct queries at random, for example to collect human judgments.

    Parameters
    ----------
    query_ids : array-like
        Query ids. Repeated ids, such as the `qid` of rows, count once.
    n : int
        Number of queries, from 1 to the number of distinct ids.
    rng : int or numpy.random.Generator, optional
        Source of random numbers; pass an int for reproducible results.

    Returns
    -------
    ndarray of shape (n,)
        The drawn ids, sorted; they do not depend on the order of `query_ids`.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.sample_queries(["q1", "q2", "q3", "q3", "q4"], 2, rng=0).tolist()
    ['q3', 'q4']
    """
    distinct = query_codes(query_ids, name="query_ids")[1]
    n = check_whole_number(n, "n", 1)
    check_rng(rng)
    if n > len(distinct):
        raise ValueError(f"n is {n}, but query_ids contains only {len(distinct)} distinct queries.")
    drawn = np.random.default_rng(rng).choice(len(distinct), n, replace=False)
    return distinct[sort_positions(distinct)[np.sort(drawn)]]


def _power(effect: float, n: int, level: float) -> float:
    """Return the power of a two-sided paired t-test to detect an effect with the correct sign."""
    from scipy.special import nctdtr, stdtrit

    reach, shift = stdtrit(n - 1, (1 + level) / 2), effect * np.sqrt(n)
    if shift > 37:  # nctdtr is inaccurate for larger shifts
        return 1.0 if shift - reach > 37 else 1 - nctdtr(n - 1, 37.0, reach)
    return 1 - nctdtr(n - 1, shift, reach)


def find_detectable_effect(n: np.ndarray, reach: np.ndarray) -> Any:
    """Return the smallest effect that a t-test with this critical value detects at 80 % power."""
    from scipy.special import nctdtrinc

    effect = nctdtrinc(n - 1, 1 - POWER, reach) / np.sqrt(n)
    return np.where((n > 1) & np.isfinite(reach), effect, np.nan)
