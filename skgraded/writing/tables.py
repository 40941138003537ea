"""Format tables as text, Markdown, LaTeX and CSV, or convert them to pandas DataFrames."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from skgraded._input.atomic_files import write_whole
from skgraded._input.door import whole_number
from skgraded._input.needs import needs
from skgraded._input.words import plain_list
from skgraded.writing.text import DIGITS, Bound

if TYPE_CHECKING:
    import pandas

_MARKDOWN = str.maketrans(
    {
        **{mark: "\\" + mark for mark in r"\`*[]|~$"},
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
    }
)
# Methods of pandas by the end of a file name; temporary files have other names.
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zip": "zip", ".zst": "zstd"}
SHORT_TABLE = 40  # in LaTeX, tables with more rows are split between pages
_OUTER_UNDERSCORES = re.compile(r"\b_+|_+\b")  # others are literal in Markdown
# LaTeX's default font encoding lacks <, > and |, so these characters are escaped.
_LATEX = str.maketrans(
    {
        **{mark: "\\" + mark for mark in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "≤": r"$\leq$",
        "▲": r"$\uparrow$",
        "▼": r"$\downarrow$",
        "–": "--",
        "[": "{[}",
        "]": "{]}",  # LaTeX would read [ after \\ as an optional argument
    }
)


class Interval(NamedTuple):
    """A table cell that contains the limits of an interval; nan if they are unknown."""

    low: float
    high: float


class Marked(NamedTuple):
    """A table cell that contains a mean, its significance mark and its interval."""

    value: float
    is_best: bool
    mark: str
    interval: Interval


Tabular: TypeAlias = "Grid | list[dict[str, Any]] | dict[str, Any] | pandas.DataFrame"


class Grid(NamedTuple):
    """A table as column names and rows of cells."""

    names: list[Any]
    rows: list[list[Any]]

    @classmethod
    def of(cls, table: Tabular) -> Grid:
        """Create a Grid from a frame, a dict of columns, or a list of dicts with equal keys."""
        if isinstance(table, Grid):
            return table
        if isinstance(table, list):
            return cls(list(table[0]), [list(row.values()) for row in table])
        if not isinstance(table, dict):
            return cls(list(table.columns), list(map(list, table.itertuples(False, None))))
        columns = [plain_list(np.asarray(c)) if hasattr(c, "dtype") else c for c in table.values()]
        return cls(list(table), list(map(list, zip(*columns, strict=True))))

    @property
    def are_numbers(self) -> list[bool]:
        """Whether each column contains only numbers."""
        return [
            all(isinstance(row[i], (numbers.Number, Bound, Interval, Marked)) for row in self.rows)
            for i in range(len(self.names))
        ]

    def column(self, i: int) -> list[Any]:
        """Return the name of a column, followed by its cells."""
        return [self.names[i], *(row[i] for row in self.rows)]


def frame(data: Any, **settings: Any) -> Any:
    """Create a DataFrame from columns or rows; pandas is imported only when needed."""
    import pandas as pd

    return pd.DataFrame(data, **settings)


def markdown(table: Tabular) -> str:
    """Format a table as Markdown; floats have four decimals. See `Grid.of` for `table`."""
    grid = Grid.of(table)
    text = _as_text(grid, safe_in_markdown, best="**{}**", with_interval="{} {}".format)
    columns, rules = [], []
    for i, is_number in enumerate(grid.are_numbers):
        name, *cells = text.column(i)
        width = max(map(len, [f"{name}  ", *cells]))
        line = "-" * (width + 1)
        rules.append(f"{line}:" if is_number else f":{line}")
        columns.append(_justified([name, *cells], width, is_number))
    head, *lines = [f"| {' | '.join(row)} |" for row in zip(*columns, strict=True)]
    return "\n".join([head, f"|{'|'.join(rules)}|", *lines])


def latex(
    table: Tabular, *, caption: str | None = None, label: str | None = None, digits: int = DIGITS
) -> str:
    """Format a table as LaTeX; see `Grid.of` and `Table.to_latex`."""
    grid, digits = Grid.of(table), whole_number(digits, "digits", 0)
    names, rows = _as_text(
        grid,
        _safe_in_latex,
        best=r"\textbf{{{}}}",
        mark=r"\textsuperscript{{{}}}",
        with_interval="{} {}".format,
        digits=digits,
    )
    with needs("to_latex", "jinja2"):
        return frame(rows, columns=names).to_latex(
            index=False,
            escape=False,
            caption=caption,
            label=label,
            longtable=len(rows) > SHORT_TABLE,
            column_format="".join("r" if number else "l" for number in grid.are_numbers),
        )


def latex_note(note: str) -> str:
    """Format a note below a LaTeX table; "" without a note."""
    return f"\\par{{\\footnotesize {_safe_in_latex(note)}}}\n" if note else ""


def aligned(table: Tabular) -> str:
    """Format a table with left-aligned names and decimal-aligned numbers; see `Grid.of`."""
    grid = Grid.of(table)
    text = _as_text(grid, str, best="*{}")
    columns = []
    for i, is_number in enumerate(grid.are_numbers):
        name, *cells = text.column(i)
        marks = [getattr(cell, "mark", "") for cell in grid.column(i)[1:]]
        widest = max(map(len, marks), default=0)
        column = [
            name,
            *(
                cell + " " * (widest - len(mark) + (widest > 0 and not mark))
                for cell, mark in zip(cells, marks, strict=True)
            ),
        ]
        columns.append(_justified(column, max(map(len, column)), is_number))
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _justified(cells: list[str], width: int, is_number: bool) -> list[str]:
    return [cell.rjust(width) if is_number else cell.ljust(width) for cell in cells]


def csv(frame: pandas.DataFrame, path: str | Path | None = None) -> str | None:
    """Write a frame as CSV without its index, or return the text if `path` is None.

    nan is written as "nan"; None, as in the rows of all segments, is an empty cell.
    """
    names = [name for name, dtype in frame.dtypes.items() if dtype.kind == "O"]  # text
    settings: Any = {"index": False, "na_rep": "nan"}
    frame = frame.fillna(dict.fromkeys(names, ""))
    if path is None:
        return frame.to_csv(**settings)
    compression = _COMPRESSIONS.get(Path(path).suffix)
    with write_whole(path) as temporary_file:
        frame.to_csv(temporary_file, compression=compression, **settings)
    return None


def _as_text(
    grid: Grid,
    safe: Callable[[str], str],
    best: str,
    mark: str = " {}",
    with_interval: Callable[[str, str], str] | None = None,
    digits: int = DIGITS,
) -> Grid:
    """Convert cells to safe text; `best` and `mark` are patterns, None omits the intervals."""

    def shown(cell: object) -> str:
        if isinstance(cell, Interval):  # its brackets need no escape
            return cell_text(cell, digits)
        if not isinstance(cell, Marked):
            return safe(cell_text(cell, digits))
        value = cell_text(cell.value, digits)
        text = best.format(value) if cell.is_best else value
        text += mark.format(safe(cell.mark)) if cell.mark else ""
        if with_interval is None or math.isnan(cell.interval.low):
            return text
        return with_interval(text, shown(cell.interval))

    rows = [[shown(cell) for cell in row] for row in grid.rows]
    return Grid([safe(cell_text(name)) for name in grid.names], rows)


def cell_text(cell: object, digits: int = DIGITS) -> str:
    """Format a cell on one line: floats with `digits` decimals, other values unchanged."""
    if isinstance(cell, Bound):
        return f"≤ {cell_text(cell.limit, digits)}"
    if isinstance(cell, Interval):
        low, high = (f"{limit:z.{digits}f}" for limit in cell)
        return "unknown" if math.isnan(cell.low) else f"[{low}, {high}]"
    if isinstance(cell, numbers.Real) and not isinstance(cell, numbers.Integral):
        # Very small p-values, such as 1e-9, must not be shown as 0.
        rounds_to_0 = 0 < abs(float(cell)) < 0.5 * 10**-digits
        return f"{cell:.1e}" if rounds_to_0 else f"{cell:z.{digits}f}"
    return " ".join(str(cell).split())  # a line break would end the row


def safe_in_markdown(text: str) -> str:
    """Escape what Markdown would read as HTML or as a format."""
    escaped = text.translate(_MARKDOWN)
    return _OUTER_UNDERSCORES.sub(lambda match: match[0].replace("_", r"\_"), escaped)


def _safe_in_latex(text: str) -> str:
    return text.translate(_LATEX)
