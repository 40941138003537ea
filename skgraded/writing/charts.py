"""Charts for HTML pages: positions of intervals and bars, and shades of cells."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skgraded._input.words import counted
from skgraded.writing.columns import PageTable
from skgraded.writing.text import DIGITS, fixed, interval_text, outcomes, shortened, signed

MAX_BARS = 300  # maximum number of bars per chart; narrow screens cannot display more
MAX_CHARTS = 12  # maximum number of charts per measure
MAX_INTERVALS = 24  # maximum number of intervals on one axis
MAX_SHADED = 30  # maximum number of systems in a heat map
SHADES = 5  # number of color shades for wins, and likewise for losses


# Values of all queries, in order -----------------------------------------------------------------

def level_chart(
    name: str, values: np.ndarray, mean: float, n_queries: int | None = None
) -> dict[str, Any]:
    """Chart the per-query values of one measure, or their quantiles over `n_queries` queries."""
    values = -np.sort(-values[~np.isnan(values)])
    low, high = axis_ends(values)
    text = f"mean {fixed(mean)}"
    if len(values):
        lower, median, upper = np.quantile(values, [0.25, 0.5, 0.75])
        text += f", median {fixed(median)}, quartiles {fixed(lower)} and {fixed(upper)}"
    ticks = zip((high, (low + high) / 2, low), reversed(interval_axis(low, high)), strict=True)
    n = len(values) if n_queries is None else n_queries
    return {
        "kind": "level", "letters": "", "title": name, "text": text,
        "ends": _ends(n, "highest", "lowest"), **_bars(values, (low, high), ticks, mean),
    }


def difference_charts(
    records: Sequence[Any], differences: Sequence[np.ndarray], letters: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Chart the per-query differences for each pair of systems, all on the same scale."""
    ordered = [-np.sort(-values) for values in differences]
    high = max((float(np.abs(values).max(initial=0.0)) for values in ordered), default=0.0) or 1.0
    ticks, digits = _ticks(-high, high)
    labelled = [(tick, signed(tick, digits)) for tick in reversed(ticks)]
    return [
        {
            "kind": "difference", "letters": _pair_letters(record, letters),
            "title": pair_name(record), "text": outcomes(record),
            "ends": _ends(len(values), "largest win", "largest loss"),
            **_bars(values, (ticks[0], ticks[-1]), labelled),
        }
        for record, values in zip(records, ordered, strict=True)
    ]


def _ends(n: int, first: str, last: str) -> list[str]:
    """Return the labels below the bars of the first and the last of n queries."""
    return [f"1, {first}", f"{n:,}, {last}"] if n > 1 else [counted(n, "query", "queries"), ""]


def _bars(
    values: np.ndarray, limits: tuple[float, float], ticks: Iterable[tuple[float, str]],
    mean: float = math.nan
) -> dict[str, Any]:
    """Chart at most MAX_BARS evenly spaced values as bars above and below 0."""
    n = min(len(values), MAX_BARS)
    values = values[np.linspace(0, len(values) - 1, n).round().astype(int)]
    zero = _height(0, *limits)
    down = values[values < 0]
    return {
        "scale": [(_height(tick, *limits), text) for tick, text in ticks],
        "mean": None if math.isnan(mean) else _height(mean, *limits),
        "width": max(n, 1),
        "zero": zero,
        "up": _outline(values[values > 0], 0, zero, limits),
        "down": _outline(down, n - len(down), zero, limits),
    }


def _outline(values: np.ndarray, start: int, zero: float, limits: tuple[float, float]) -> str:
    if not len(values):
        return ""
    steps = (f"V{_height(value, *limits):g}h1" for value in values.tolist())
    return f"M{start},{zero:g}{''.join(steps)}V{zero:g}Z"


def _height(value: float, low: float, high: float) -> float:
    return round(100 * (high - value) / (high - low), 1)


# Intervals ---------------------------------------------------------------------------------------

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
    return {"at": at, "low": left, "high": right, "zero": zero, "open": False, "value": value}


def axis_ends(values: np.ndarray) -> tuple[float, float]:
    """Return the ends of an axis for values of a measure; most values range from 0 to 1."""
    low, high = np.nanmin(values, initial=0.0), np.nanmax(values, initial=0.0)
    return math.floor(low), 1.0 if high <= 1 else _ticks(0, high)[0][-1]


def interval_axis(low: float, high: float) -> list[str]:
    """Return tick labels for the ends and the middle of an axis."""
    return [f"{tick:g}".replace("-", "−") for tick in (low, (low + high) / 2, high)]


def with_intervals(
    table: PageTable, frame: Any, names: Sequence[str], low: float, high: float = 1.0
) -> PageTable:
    """Add a column that draws the values and limits in the columns `names`, on one axis."""
    values = zip(*(frame[name] for name in names), strict=True)
    marks = [interval_mark(value, ends, low, high) for value, *ends in values]
    rows = [[*row, mark] for row, mark in zip(table.rows, marks, strict=True)]
    return table._replace(columns=[*table.columns, (interval_axis(low, high), "strip")], rows=rows)


def interval_bars(cells: Sequence[Any]) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """Return an axis that spans the intervals of all cells, and the position of each interval."""
    ends = [end for cell in cells for end in (cell.value, *cell.interval) if math.isfinite(end)]
    if not ends:
        return None, []
    ticks, digits = _ticks(min(ends), max(ends))
    low, high = ticks[0], ticks[-1]
    axis = {
        "ends": [fixed(end, digits) for end in (low, high)],
        "grid": [_percent(tick, low, high) for tick in ticks],
    }
    return axis, [
        interval_mark(cell.value, cell.interval, low, high) | {"grid": axis["grid"]}
        for cell in cells
    ]


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
        rows.append({
            "letters": _pair_letters(record, letters), "name": pair_name(record), "mark": mark,
            "full": f"{record.system} − {record.baseline}",
            "text": f"{signed(record.difference)} ({interval_text(interval)})",
        })
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
    of_best = sorted((
        record if record.system == best else turned(record)
        for record in records if best in (record.system, record.baseline)
    ), key=lambda record: -means[record.baseline])[:MAX_INTERVALS]
    return of_best, (
        f"The {len(of_best)} of {len(records)} pairs with the best system by this measure, "
        f"{shortened(best)}, are shown."
    )


def turned(row: Any) -> Any:
    """Return the row with the two systems swapped."""
    return replace(
        row, system=row.baseline, baseline=row.system, mean=row.baseline_mean,
        baseline_mean=row.mean, wins=row.losses, losses=row.wins, difference=-row.difference,
        ci_low=-row.ci_high, ci_high=-row.ci_low, effect_size=-row.effect_size,
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


# Pairs -------------------------------------------------------------------------------------------

def heat_map(
    measure: str, names: list[str], differences: np.ndarray, significant: np.ndarray
) -> dict[str, Any]:
    """Shade the mean difference for each pair of systems: row mean minus column mean.

    `differences` and `significant` have shape (n_systems, n_systems), in the order of `names`;
    `significant` is nan for pairs that are not tested.
    """
    tested = np.isfinite(significant).sum(axis=1)
    note = "; bold with *: significantly different" if tested.any() else "; not tested"
    if 0 < tested.min() < len(names) - 1:
        note += " (only pairs with the baseline are tested)"
    if len(names) > MAX_SHADED:
        note += f". The {len(names) - MAX_SHADED} lowest systems are omitted"
    differences = differences[:MAX_SHADED, :MAX_SHADED]
    peak = np.nanmax(np.abs(differences), initial=0.0) or 1.0
    digits = 3 if peak >= 0.01 else DIGITS  # twenty columns fit a window only with 3 decimals
    rows = []
    for i, of_system in enumerate(differences.tolist()):
        cells = []
        for j, value in enumerate(of_system):
            share = 0 if math.isnan(value) else abs(value) / peak
            shade = math.ceil(SHADES * share - 1e-9)
            side = "" if shade == 0 else f"{'win' if value > 0 else 'loss'}-{shade}"
            is_known = i != j and not math.isnan(value)  # Summaries lack pairs that are not tested
            text = signed(value, digits).replace("0.", ".", 1) if is_known else ""
            cells.append({"text": text, "shade": side, "significant": significant[i][j] == 1})
        rows.append((names[i], cells))
    return {"measure": measure, "rows": rows, "note": f"{note}."}
