"""One-sided comparisons, which show whether a system loses more than a limit."""

import math
from bisect import bisect_left

import numpy as np

WORSE, NOT_WORSE, UNDECIDED = "worse", "not worse", "undecided"
MOST = 10**12  # maximum number of units; more are never needed in practice


def judge_outcomes(
    difference: np.ndarray,
    standard_error: np.ndarray,
    n_units: np.ndarray,
    level: float,
    max_loss: float,
) -> dict[str, np.ndarray]:
    """Compare differences (system minus baseline) with the largest acceptable loss.

    Return columns: the one-sided limits ``low`` and ``high``, the ``outcome``, and ``n_needed``,
    the smallest number of units that gives an outcome if all else is equal, or nan if no number
    suffices. See `Comparison.outcomes`. A standard error of 0 means that all differences of a row are
    equal.
    """
    from scipy.special import stdtrit

    error = (1 - level) / len(difference)
    with np.errstate(invalid="ignore"):
        reach = stdtrit(n_units - 1, 1 - error) * standard_error
    is_unknown = (standard_error == 0) & (difference != 0) & (2.0 ** (1 - n_units) > error)
    reach = np.where(standard_error == 0, np.where(is_unknown, np.nan, 0.0), reach)
    low, high = difference - reach, difference + reach
    outcome = np.select([high < -max_loss, low >= -max_loss], [WORSE, NOT_WORSE], UNDECIDED)
    deviations = standard_error * np.sqrt(n_units)
    rows = zip(difference.tolist(), deviations.tolist(), strict=True)
    n_needed = np.array([_count_needed(*row, error, max_loss) for row in rows])
    return {"low": low, "high": high, "outcome": outcome, "n_needed": n_needed}


def _count_needed(difference: float, deviation: float, error: float, max_loss: float) -> float:
    """Return the smallest number of units with an outcome, or nan if no number suffices."""
    from scipy.special import stdtrit

    margin = abs(difference + max_loss)
    if deviation == 0:
        return 2 if difference == 0 else max(2, 1 + math.ceil(-math.log2(error)))
    if not margin > 0:  # also nan
        return math.nan

    def is_decided(n: int) -> bool:
        return bool(stdtrit(n - 1, 1 - error) * deviation / math.sqrt(n) <= margin)

    return bisect_left(range(MOST), True, lo=2, key=is_decided) if is_decided(MOST) else math.nan
