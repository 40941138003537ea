"""Charts for HTML pages: positions of intervals."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skgraded.writing.columns import list_rows, means_of_systems, select_rows, swap_systems
from skgraded.writing.text import interval_text, shortened, signed

MAX_INTERVALS = 24  # maximum number of intervals on one axis


def _percent(value: float, low: float, high: float) -> float:
    return round(100 * (value - low) / (high - low), 2)


def interval_mark(value: float, ends: Sequence[float], low: float, high: float) -> dict[str, Any]:
    """Return the positions of a value and its interval as percentages of the axis length."""
    at, left, right = (
        _percent(min(max(x, low), high), low, high) if math.isfinite(x) else None
        for x in (value, *ends)
    )
    if left is None or right is None:
        left = right = None
    zero = _percent(0, low, high) if low < 0 else None
    return {"at": at, "low": left, "high": right, "zero": zero, "open": False}


def forest(
    measure: str, rows: Mapping[str, np.ndarray], letters: Mapping[str, str], is_tested: bool
) -> dict[str, Any]:
    """Return a forest plot of the differences for one measure, on an axis that contains 0."""
    rows, note = charted(rows)
    ends = np.concatenate([[0.0], *(rows[name] for name in ("difference", "ci_low", "ci_high"))])
    ends = ends[np.isfinite(ends)]
    ticks, digits = _ticks(float(ends.min()), float(ends.max()))
    margin = 0.08 * (ticks[-1] - ticks[0])  # space for half a label at each end
    low, high = ticks[0] - margin, ticks[-1] + margin
    drawn = []
    for row in list_rows(rows):
        pair, interval = (row["system"], row["baseline"]), (row["ci_low"], row["ci_high"])
        mark = interval_mark(row["difference"], interval, low, high)
        mark["open"] = not row["is_significant"] if is_tested else interval[0] <= 0 <= interval[1]
        drawn.append(
            {
                "letters": " − ".join(letters[name] for name in pair),
                "name": pair_name(*pair),
                "mark": mark,
                "full": " − ".join(pair),
                "text": f"{signed(row['difference'])} ({interval_text(interval)})",
            }
        )
    labels = [(_percent(tick, low, high), signed(tick, digits)) for tick in ticks]
    return {"measure": measure, "note": note, "rows": drawn, "ticks": labels}


def charted(rows: Mapping[str, np.ndarray]) -> tuple[Mapping[str, np.ndarray], str]:
    """Select the rows of one measure to chart; also return a note if some are omitted.

    With a baseline, select the systems with the highest means. Otherwise, select the pairs that
    include the best system, which then comes first in each row.
    """
    n_rows = len(rows["system"])
    if n_rows <= MAX_INTERVALS:
        return rows, ""
    means = {
        name: -math.inf if math.isnan(mean) else mean
        for name, mean in means_of_systems(rows).items()
    }
    if len(set(rows["baseline"])) == 1:
        ranked, others = rows, rows["system"].tolist()
        note = f"The {MAX_INTERVALS} of {n_rows} systems with the highest means are shown."
    else:
        best = max(means, key=lambda name: means[name])
        ranked = select_rows(rows, (rows["system"] == best) | (rows["baseline"] == best))
        ranked = swap_systems(ranked, ranked["system"] != best)
        others = ranked["baseline"].tolist()
        note = (
            f"The {min(len(others), MAX_INTERVALS)} of {n_rows} pairs with the best system by this "
            f"measure, {shortened(best)}, are shown."
        )
    order = sorted(range(len(others)), key=lambda i: -means[others[i]])[:MAX_INTERVALS]
    return select_rows(ranked, order), note


def pair_name(system: str, baseline: str) -> str:
    """Return the shortened names of two systems, separated by a minus sign."""
    return f"{shortened(system)} − {shortened(baseline)}"


def _ticks(low: float, high: float) -> tuple[list[float], int]:
    """Return three to six round tick positions from low to high, and the number of decimals."""
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        low, high = (-1, 1) if low == 0 else (min(0, low), max(0, high))
    span = high - low
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(power * unit for unit in (1, 2, 5, 10) if span / (power * unit) <= 4)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)], digits
