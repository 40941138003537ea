"""Charts for HTML pages: positions of intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

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
    measure: str, records: list[Any], note: str, letters: Mapping[str, str]
) -> dict[str, Any]:
    """Return a forest plot of the differences for one measure, on an axis that contains 0."""
    ends = [end for row in records for end in (row.difference, row.ci_low, row.ci_high)]
    ends = [0.0, *(end for end in ends if math.isfinite(end))]
    ticks, digits = _ticks(min(ends), max(ends))
    margin = 0.08 * (ticks[-1] - ticks[0])  # space for half a label at each end
    low, high = ticks[0] - margin, ticks[-1] + margin
    rows = []
    for record in records:
        interval = record.ci_low, record.ci_high
        mark = interval_mark(record.difference, interval, low, high)
        mark["open"] = not record.is_significant
        if record.is_significant is None:  # no test was performed
            mark["open"] = interval[0] <= 0 <= interval[1]
        rows.append(
            {
                "letters": _pair_letters(record, letters),
                "name": pair_name(record),
                "mark": mark,
                "full": f"{record.system} − {record.baseline}",
                "text": f"{signed(record.difference)} ({interval_text(interval)})",
            }
        )
    labels = [(_percent(tick, low, high), signed(tick, digits)) for tick in ticks]
    return {"measure": measure, "note": note, "rows": rows, "ticks": labels}


def charted(records: list[Any]) -> tuple[list[Any], str]:
    """Select the records of one measure to chart; also return a note if some are omitted.

    With a baseline, select the systems with the highest means. Otherwise, select the pairs that
    include the best system, which then comes first in each record.
    """
    if len(records) <= MAX_INTERVALS:
        return records, ""
    means: dict[str, float] = {}
    for record in records:
        for name, mean in ((record.system, record.mean), (record.baseline, record.baseline_mean)):
            means.setdefault(name, -math.inf if math.isnan(mean) else mean)
    if len({record.baseline for record in records}) == 1:
        ranked = sorted(records, key=lambda record: -means[record.system])[:MAX_INTERVALS]
        return ranked, (
            f"The {MAX_INTERVALS} of {len(records)} systems with the highest means are shown."
        )
    best = max(means, key=lambda name: means[name])
    of_best = sorted(
        (
            record if record.system == best else turned(record)
            for record in records
            if best in (record.system, record.baseline)
        ),
        key=lambda record: -means[record.baseline],
    )[:MAX_INTERVALS]
    return of_best, (
        f"The {len(of_best)} of {len(records)} pairs with the best system by this measure, "
        f"{shortened(best)}, are shown."
    )


def turned(row: Any) -> Any:
    """Return the row with the two systems swapped."""
    return replace(
        row,
        system=row.baseline,
        baseline=row.system,
        mean=row.baseline_mean,
        baseline_mean=row.mean,
        wins=row.losses,
        losses=row.wins,
        difference=-row.difference,
        ci_low=-row.ci_high,
        ci_high=-row.ci_low,
        effect_size=-row.effect_size,
    )


def pair_name(record: Any) -> str:
    """Return the shortened names of two systems, separated by a minus sign."""
    return f"{shortened(record.system)} − {shortened(record.baseline)}"


def _pair_letters(record: Any, letters: Mapping[str, str]) -> str:
    return f"{letters[record.system]} − {letters[record.baseline]}"


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
