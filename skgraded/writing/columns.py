"""The columns of all tables: how each output shows a column, and what a swap of systems does to it.

A `Comparison` contains all columns of its rows; each further output of `OUTPUTS` contains fewer
columns.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from skgraded.writing.text import Interval

OUTPUTS = ("rows", "frame", "page", "terminal", "latex")  # from the widest to the narrowest
Rows = dict[str, np.ndarray]  # a table of columns


class Column(NamedTuple):
    """A column of a table."""

    heading: str
    kind: str  # "name", "text" or one of `KINDS` in text.py; a swap negates "signed" numbers
    narrowest: str = "page"  # the narrowest of OUTPUTS that includes the column
    # The column that takes the values of this one when the systems of a row are swapped, or ""
    other: str = ""


COLUMNS = {
    "segment": Column("Segment", "name", "latex"),
    "heading": Column("Heading", "text", "rows"),
    "system": Column("System", "name", "latex", other="baseline"),
    "baseline": Column("Baseline", "name", "latex", other="system"),
    "measure": Column("Measure", "text", "latex"),
    "mean": Column("Mean", "value", "latex", other="baseline_mean"),
    "baseline_mean": Column("Baseline mean", "value", other="mean"),
    "difference": Column("Difference", "signed", "latex"),
    "interval": Column("Interval", "interval", "latex"),
    "ci_low": Column("Lower limit", "signed", "latex", other="ci_high"),
    "ci_high": Column("Upper limit", "signed", "latex", other="ci_low"),
    "ci_method": Column("Method", "text", "frame"),
    "p_value": Column("p", "p", "terminal"),
    "p_adjusted": Column("p corrected", "p", "latex"),
    "is_significant": Column("Significant", "text", "rows"),
    "has_winner": Column("Has a winner", "text", "rows"),
    "p_is_bound": Column("p is a bound", "text", "rows"),
    "wins": Column("Wins", "count", "terminal", other="losses"),
    "ties": Column("Ties", "count", "terminal"),
    "losses": Column("Losses", "count", "terminal", other="wins"),
    "n_undefined": Column("Undefined", "count"),
    "effect_size": Column("Effect size", "signed"),
    "min_detectable": Column("Detectable", "value", "frame"),
    "n_queries": Column("Queries", "count"),
    "n_defined": Column("Defined", "count"),
    "n_clusters": Column("Clusters", "count"),
    "standard_error": Column("Standard error", "value", "rows"),
}


def names_in(output: str, names: Iterable[str]) -> list[str]:
    """Return the columns that one of the `OUTPUTS` includes; unknown columns are only in frames."""
    narrower = OUTPUTS[OUTPUTS.index(output) :]
    return [
        name
        for name in names
        if (COLUMNS[name].narrowest if name in COLUMNS else "frame") in narrower
    ]


def select_rows(
    rows: Mapping[str, np.ndarray], positions: np.ndarray | slice
) -> dict[str, np.ndarray]:
    """Select rows of a table of columns."""
    return {name: column[positions] for name, column in rows.items()}


def group_rows(rows: Mapping[str, np.ndarray], *names: str) -> dict[Any, np.ndarray]:
    """Return the positions of the rows with equal values in the named columns.

    Keys are tuples of these values, in order of first appearance.
    """
    groups: dict[Any, list[int]] = {}
    for i, key in enumerate(zip(*(rows[name].tolist() for name in names), strict=True)):
        groups.setdefault(key, []).append(i)
    return {key: np.array(positions) for key, positions in groups.items()}


def swap_systems(rows: Mapping[str, np.ndarray], is_swapped: np.ndarray) -> dict[str, np.ndarray]:
    """Swap the two systems in some rows of a comparison."""
    swapped = {}
    for name, column in rows.items():
        _, kind, _, other = COLUMNS[name]
        source = rows[other or name]
        source = 0.0 - source if kind == "signed" else source  # never -0.0
        swapped[name] = np.where(is_swapped, source, column)
    return swapped


def list_rows(rows: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """Convert a table of columns to one dict of Python values per row."""
    cells = zip(*(column.tolist() for column in rows.values()), strict=True)
    return [dict(zip(rows, row, strict=True)) for row in cells]


def fitting(table: Any, output: str) -> dict[str, list[Any]]:
    """Return the columns that fit in one of the `OUTPUTS`, in the order of `COLUMNS`."""
    return {name: list(table[name]) for name in names_in(output, COLUMNS) if name in table}


def join_limits(table: Any) -> dict[str, list[Any]]:
    """Replace the columns with limits of intervals by a column of intervals."""
    names = {"ci_low": "interval"}
    joined = {names.get(name, name): list(table[name]) for name in table if name != "ci_high"}
    if "interval" in joined:
        joined["interval"] = list(map(Interval, joined["interval"], table["ci_high"]))
    return joined
