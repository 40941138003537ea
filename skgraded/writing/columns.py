"""The columns of all tables: how pages, the command and LaTeX show each column of a frame.

Frames, CSV and Markdown contain every column of a table.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from skgraded.writing.text import KINDS, format_cells

OUTPUTS = ("page", "terminal", "latex")  # from the widest to the narrowest


class Column(NamedTuple):
    """How a column of a frame is shown."""

    heading: str
    kind: str  # "name", "text" or one of `KINDS`; an "interval" combines ci_low and ci_high
    narrowest: str = "page"  # the narrowest of OUTPUTS that includes the column


COLUMNS = {
    "segment": Column("Segment", "name", "latex"),
    "system": Column("System", "name", "latex"),
    "baseline": Column("Baseline", "name", "latex"),
    "measure": Column("Measure", "text", "latex"),
    "mean": Column("Mean", "value", "latex"),
    "baseline_mean": Column("Baseline mean", "value"),
    "difference": Column("Difference", "signed", "latex"),
    "ci_low": Column("Interval", "interval", "latex"),
    "ci_high": Column("Interval", "interval", "latex"),
    "p_value": Column("p", "p", "terminal"),
    "p_adjusted": Column("p corrected", "p", "latex"),
    "wins": Column("Wins", "count", "terminal"),
    "ties": Column("Ties", "count", "terminal"),
    "losses": Column("Losses", "count", "terminal"),
    "n_undefined": Column("Undefined", "count"),
    "effect_size": Column("Effect size", "signed"),
    "n_queries": Column("Queries", "count"),
    "n_defined": Column("Defined", "count"),
}


# Columns that change places if the two systems of a row are swapped
OF_OTHER_SYSTEM = {
    "system": "baseline",
    "baseline": "system",
    "mean": "baseline_mean",
    "baseline_mean": "mean",
    "wins": "losses",
    "losses": "wins",
}


def select_rows(rows: Mapping[str, np.ndarray], positions: Any) -> dict[str, np.ndarray]:
    """Select rows of a table of columns."""
    return {name: column[positions] for name, column in rows.items()}


def means_of_systems(rows: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return the mean of each system for one measure, from the first row with this system."""
    means: dict[str, float] = {}
    for row in list_rows(rows):
        means.setdefault(row["system"], row["mean"])
        means.setdefault(row["baseline"], row["baseline_mean"])
    return means


def swap_systems(rows: Mapping[str, np.ndarray], is_swapped: Any) -> dict[str, np.ndarray]:
    """Swap the two systems in some rows of a comparison."""
    swapped = {name: rows[other] for name, other in OF_OTHER_SYSTEM.items()} | {
        "difference": -rows["difference"],
        "ci_low": -rows["ci_high"],
        "ci_high": -rows["ci_low"],
        "effect_size": -rows["effect_size"],
    }
    return {
        **rows,
        **{name: np.where(is_swapped, column, rows[name]) for name, column in swapped.items()},
    }


def list_rows(rows: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """Convert a table of columns to one dict of Python values per row."""
    cells = zip(*(column.tolist() for column in rows.values()), strict=True)
    return [dict(zip(rows, row, strict=True)) for row in cells]


def fitting(table: Any, output: str) -> dict[str, list[Any]]:
    """Return the columns that one of the `OUTPUTS` has space for, in the order of `COLUMNS`."""
    narrow = OUTPUTS[OUTPUTS.index(output) :]
    return {
        name: list(table[name])
        for name, column in COLUMNS.items()
        if name in table and column.narrowest in narrow
    }


class PageTable(NamedTuple):
    """A table on a page: a caption, columns as pairs (heading, kind), and rows of cells.

    The cells of names and texts are strings, and other cells have a ``text`` and a sort ``key``.
    """

    caption: str
    columns: Sequence[tuple[Any, str]]
    rows: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, table: Any, caption: str) -> Self:
        """Create a table from the columns of a frame, or of a dict, that are in `COLUMNS`."""
        columns, cells = [], []
        for name in table:
            if name == "ci_high" or name not in COLUMNS:  # ci_high is shown with ci_low
                continue
            heading, kind, _ = COLUMNS[name]
            values = list(table[name])
            if kind == "interval":
                values = list(zip(values, table["ci_high"], strict=True))
            columns.append((heading, kind))
            cells.append(format_cells(values, kind) if kind in KINDS else values)
        return cls(caption, columns, list(zip(*cells, strict=True)))
