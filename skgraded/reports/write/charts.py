"""Charts of pages of HTML: where intervals and bars lie, for the templates to draw."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from skgraded._input.words import counted
from skgraded.reports.write.text import interval_text, number, signed

MAX_BARS = 300  # of a chart: more than a narrow screen has pixels for


def level_chart(name: str, values: np.ndarray, mean: float) -> dict[str, Any]:
    """Chart the values of all queries by one measure."""
    values = -np.sort(-values[~np.isnan(values)])
    low, high = math.floor(values.min(initial=0.0)), 1.0
    text = f"mean {number(mean, 3)}"
    if len(values):
        lower, median, upper = np.quantile(values, [0.25, 0.5, 0.75])
        text += f", median {number(median, 3)}, quartiles {number(lower, 3)} and {number(upper, 3)}"
    return {
        "kind": "level",
        "title": name,
        "text": text,
        "scale": [number(high, 0), number(low, 0)],
        "ends": ["highest", "lowest"],
        "mean": None if math.isnan(mean) else _height(mean, low, high),
        **_bars(values, low, high),
    }


def difference_chart(record: Mapping[str, Any], differences: np.ndarray) -> dict[str, Any]:
    """Chart the differences of a pair of systems by one measure."""
    values = -np.sort(-differences)
    outcomes = ("wins", "win"), ("ties", "tie"), ("losses", "loss")
    high = float(np.abs(values).max(initial=0.0)) or 1.0
    return {
        "kind": "difference",
        "title": f"{pair_name(record)}, {record['measure']}",
        "text": ", ".join(counted(record[many], one, many) for many, one in outcomes),
        "scale": [signed(high, 2), "0", signed(-high, 2)],
        "ends": ["largest win", "largest loss"],
        "mean": None,
        **_bars(values, -high, high),
    }


def _bars(values, low, high):
    """Outlines of the bars above and below 0, of at most MAX_BARS values that stand for all."""
    n = min(len(values), MAX_BARS)
    values = values[np.linspace(0, len(values) - 1, n).round().astype(int)]
    zero = _height(0, low, high)
    up, down = values > 0, values < 0
    return {
        "width": max(n, 1),
        "zero": zero,
        "up": _outline(values[up], 0, zero, low, high),
        "down": _outline(values[down], n - int(down.sum()), zero, low, high),
    }


def _outline(values, start, zero, low, high):
    if not len(values):
        return ""
    steps = (f"V{_height(value, low, high):g}h1" for value in values.tolist())
    return f"M{start},{zero:g}{''.join(steps)}V{zero:g}Z"


def _height(value, low, high):
    return round(100 * (high - value) / (high - low), 1)


def _percent(value, low, high):
    return round(100 * (value - low) / (high - low), 2)


def interval_mark(value: float, ends: Iterable[float], low: float, high: float) -> dict[str, Any]:
    """A point with its interval, in percent of a line; `value` is kept for sorting."""
    at, left, right = (
        _percent(min(max(x, low), high), low, high) if math.isfinite(x) else None
        for x in (value, *ends)
    )
    if left is None or right is None:
        left = right = None
    zero = _percent(0, low, high) if low < 0 else None
    return {"at": at, "low": left, "high": right, "zero": zero, "open": False, "value": value}


def forest(measure: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Intervals of the differences by one measure, on one axis that holds 0."""
    records = [record for record in records if record["measure"] == measure]
    ends = [record[key] for record in records for key in ("difference", "ci_low", "ci_high")]
    ends = [0.0, *(end for end in ends if math.isfinite(end))]
    ticks, digits = _ticks(min(ends), max(ends))
    margin = 0.08 * (ticks[-1] - ticks[0])  # room for half a text at both ends
    low, high = ticks[0] - margin, ticks[-1] + margin
    rows = []
    for record in records:
        interval = record["ci_low"], record["ci_high"]
        mark = interval_mark(record["difference"], interval, low, high)
        mark["zero"] = _percent(0, low, high)
        told_apart = record.get("told_apart")  # None without a test
        mark["open"] = interval[0] <= 0 <= interval[1] if told_apart is None else not told_apart
        text = f"{signed(record['difference'])} ({interval_text(interval)})"
        rows.append({"name": pair_name(record), "mark": mark, "text": text})
    return {
        "measure": measure,
        "rows": rows,
        "ticks": [(_percent(tick, low, high), signed(tick, digits)) for tick in ticks],
    }


def pair_name(record: Mapping[str, Any]) -> str:
    """Name a pair of systems."""
    return f"{record['system']} − {record['baseline']}"


def _ticks(low, high):
    """Three to six round numbers that span low to high, and the decimals they need."""
    if low == high:
        low, high = -1, 1
    span = high - low
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(power * unit for unit in (1, 2, 5, 10) if span / (power * unit) <= 4)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)], digits
