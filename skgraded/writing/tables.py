"""Describe the columns of tables, and format tables as text, Markdown, LaTeX and CSV."""

import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from skgraded._input.atomic_files import write_whole
from skgraded._input.door import check_whole_number, is_missing
from skgraded._input.libraries import needs
from skgraded.writing.text import DIGITS, Bound, Interval, Marked

if TYPE_CHECKING:
    import pandas

DataFrame: TypeAlias = "pandas.DataFrame"  # pandas is imported where a DataFrame is created

_MARKDOWN = str.maketrans(
    {
        **{mark: "\\" + mark for mark in r"\`*[]|~$"},
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
    }
)
# pandas cannot infer the compression from the name of a temporary file.
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zip": "zip", ".zst": "zstd"}
SHORT_TABLE = 40  # LaTeX tables with more rows are split across pages
_OUTER_UNDERSCORES = re.compile(r"\b_+|_+\b")  # Markdown treats underscores inside words literally
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
        "]": "{]}",  # LaTeX would read [ after \\ as the start of an optional argument
    }
)


# A table is a list of (heading, cells) pairs, a list of dicts, a dict of columns or a DataFrame.
Tabular: TypeAlias = (
    "list[tuple[Any, list[Any]]] | list[dict[str, Any]] | dict[str, Any] | pandas.DataFrame"
)
NUMBERS = (numbers.Number, Bound, Interval, Marked)  # types of right-aligned cells


# Columns and rows --------------------------------------------------------------------------------

OUTPUTS = ("rows", "frame", "page", "terminal", "latex")  # from the widest to the narrowest
Rows = dict[str, np.ndarray]  # a table of columns


class Column(NamedTuple):
    """A column of a table."""

    heading: str
    # "name", "text" or one of `KINDS`; "signed" numbers change sign if the systems are swapped.
    kind: str
    narrowest: str = "page"  # the narrowest output in OUTPUTS that includes the column
    # If the systems of a row are swapped, this column and the column `other` swap their values.
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


def select_names(output: str, names: Iterable[str]) -> list[str]:
    """Return the names of the columns that `output`, one of `OUTPUTS`, includes.

    Columns that are not in `COLUMNS` are included only in the outputs "rows" and "frame".
    """
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
    """Group the row indices by the values in the named columns.

    The keys are tuples of these values, in order of first appearance.
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
    """Convert a table of columns to a list of dicts, one per row, with Python values."""
    cells = zip(*(column.tolist() for column in rows.values()), strict=True)
    return [dict(zip(rows, row, strict=True)) for row in cells]


def fitting(table: Any, output: str) -> dict[str, list[Any]]:
    """Return the columns that an output includes, in the order of `COLUMNS`."""
    return {name: list(table[name]) for name in select_names(output, COLUMNS) if name in table}


def join_limits(table: Any) -> dict[str, list[Any]]:
    """Merge the columns of lower and upper limits into a single column of intervals."""
    joined = {
        "interval" if name == "ci_low" else name: list(table[name])
        for name in table
        if name != "ci_high"
    }
    if "interval" in joined:
        joined["interval"] = list(map(Interval, joined["interval"], table["ci_high"]))
    return joined


# Formats -----------------------------------------------------------------------------------------


def frame(data: Any, **settings: Any) -> Any:
    """Create a DataFrame from columns or rows; pandas is imported only when needed."""
    import pandas as pd

    return pd.DataFrame(data, **settings)


def markdown(table: Tabular) -> str:
    """Format a table as Markdown; floats have four decimals."""
    columns, rules = [], []
    for (name, *cells), is_number in _format_columns(table, escape_markdown, best="**{}**"):
        width = max(map(len, [f"{name}  ", *cells]))
        line = "-" * (width + 1)
        rules.append(f"{line}:" if is_number else f":{line}")
        columns.append(_justify([name, *cells], width, is_number))
    head, *lines = [f"| {' | '.join(row)} |" for row in zip(*columns, strict=True)]
    return "\n".join([head, f"|{'|'.join(rules)}|", *lines])


def latex(
    table: Tabular,
    *,
    caption: str | None = None,
    label: str | None = None,
    digits: int = DIGITS,
    note: str = "",
) -> str:
    """Format a table as LaTeX, with a note below it; see `Table.to_latex`."""
    digits = check_whole_number(digits, "digits", 0)
    columns, are_numbers = zip(
        *_format_columns(
            table,
            methodcaller("translate", _LATEX),
            r"\textbf{{{}}}",
            r"\textsuperscript{{{}}}",
            digits=digits,
        ),
        strict=True,
    )
    names, *rows = zip(*columns, strict=True)
    with needs("to_latex", "jinja2"):
        text: str = frame(rows, columns=names).to_latex(
            index=False,
            escape=False,
            caption=caption,
            label=label,
            longtable=len(rows) > SHORT_TABLE,
            column_format="".join("r" if is_number else "l" for is_number in are_numbers),
        )
    return text + (f"\\par{{\\footnotesize {note.translate(_LATEX)}}}\n" if note else "")


def aligned(table: Tabular) -> str:
    """Format a table with left-aligned names and decimal-aligned numbers."""
    columns, shown = _list_columns(table), []
    texts = _format_columns(columns, str, best="*{}", with_intervals=False)
    for (_, cells), ((name, *lines), is_number) in zip(columns, texts, strict=True):
        marks = [f" {cell.mark}".rstrip() if isinstance(cell, Marked) else "" for cell in cells]
        widest = max(map(len, marks), default=0)
        column = [
            name,
            *(line + " " * (widest - len(mark)) for line, mark in zip(lines, marks, strict=True)),
        ]
        shown.append(_justify(column, max(map(len, column)), is_number))
    return "\n".join("  ".join(row).rstrip() for row in zip(*shown, strict=True))


def _justify(cells: list[str], width: int, is_number: bool) -> list[str]:
    return [cell.rjust(width) if is_number else cell.ljust(width) for cell in cells]


def csv(frame: DataFrame, path: str | Path | None = None) -> str | None:
    """Write a DataFrame to CSV without its index, or return the text if `path` is None.

    nan is written as "nan", and None is written as an empty cell.
    """
    settings: Any = {"index": False, "na_rep": "nan"}
    for name, dtype in frame.dtypes.items():
        if dtype.kind == "O" and frame[name].isna().any():
            cells = ["" if is_missing(cell) else cell for cell in frame[name]]
            frame = frame.assign(**{str(name): cells})
    if path is None:
        return frame.to_csv(**settings)
    compression = _COMPRESSIONS.get(Path(path).suffix)
    with write_whole(path) as temporary_file:
        frame.to_csv(temporary_file, compression=compression, **settings)
    return None


def _list_columns(table: Any) -> list[tuple[Any, list[Any]]]:
    """Return the heading and the cells of each column."""
    if isinstance(table, list) and isinstance(table[0], dict):
        return [(name, [row[name] for row in table]) for name in table[0]]
    columns = table if isinstance(table, list) else table.items()
    return [
        (name, cells.tolist() if hasattr(cells, "tolist") else list(cells))
        for name, cells in columns
    ]


def _format_columns(
    table: Tabular,
    safe: Callable[[str], str],
    best: str,
    mark: str = " {}",
    with_intervals: bool = True,
    digits: int = DIGITS,
) -> list[tuple[list[str], bool]]:
    """For each column, return the escaped heading and cells, and whether its cells are numbers.

    `best` and `mark` are patterns.
    """

    def show(cell: object) -> str:
        if isinstance(cell, Interval):  # its brackets need no escape
            return format_cell(cell, digits)
        if not isinstance(cell, Marked):
            return safe(format_cell(cell, digits))
        value = format_cell(cell.value, digits)
        text = best.format(value) if cell.is_best else value
        text += mark.format(safe(cell.mark)) if cell.mark else ""
        has_interval = with_intervals and not math.isnan(cell.interval.low)
        return f"{text} {show(cell.interval)}" if has_interval else text

    return [
        (
            [safe(format_cell(name)), *map(show, cells)],
            all(isinstance(cell, NUMBERS) for cell in cells),
        )
        for name, cells in _list_columns(table)
    ]


def format_cell(cell: object, digits: int = DIGITS) -> str:
    """Format a cell as one line of text; floats have `digits` decimals."""
    if isinstance(cell, Bound):
        return f"≤ {format_cell(cell.limit, digits)}"
    if isinstance(cell, Interval):
        low, high = (f"{limit:z.{digits}f}" for limit in cell)
        return "unknown" if math.isnan(cell.low) else f"[{low}, {high}]"
    if isinstance(cell, numbers.Real) and not isinstance(cell, numbers.Integral):
        # Very small p-values, such as 1e-9, must not be shown as 0.
        rounds_to_0 = 0 < abs(float(cell)) < 0.5 * 10**-digits
        return f"{cell:.1e}" if rounds_to_0 else f"{cell:z.{digits}f}"
    return " ".join(str(cell).split())  # a line break would end the row


def escape_markdown(text: str) -> str:
    """Escape characters that Markdown would interpret as HTML or formatting."""
    escaped = text.translate(_MARKDOWN)
    return _OUTER_UNDERSCORES.sub(lambda match: match[0].replace("_", r"\_"), escaped)
