"""Frames as text: Markdown, LaTeX and CSV."""

from __future__ import annotations

import numbers
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from skgraded._input.writing import written_whole
from skgraded.reports.write.text import Bound

if TYPE_CHECKING:
    import pandas

_MARKDOWN = str.maketrans({
    **{mark: "\\" + mark for mark in r"\`*[]|~$"}, "&": "&amp;", "<": "&lt;", ">": "&gt;",
})
_OUTER_UNDERSCORES = re.compile(r"\b_+|_+\b")  # those inside a word mean nothing in Markdown
# Not only what LaTeX reserves: its old text fonts show other signs for <, > and |.
_LATEX = str.maketrans({
    **{mark: "\\" + mark for mark in "&%$#_{}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "≤": r"$\leq$",
    "[": "{[}", "]": "{]}",  # after the \\ of a row, [ would begin an option
})


class Marked(NamedTuple):
    """A number with what a table says of it."""

    value: float
    best: bool
    mark: str


def markdown(frame: pandas.DataFrame, digits: int = 4) -> str:
    """Write a frame as a Markdown table, without its index, with so many decimals of floats."""
    aligned = ["right" if is_number else "left" for is_number in are_numbers(frame)]
    return _as_text(frame, digits, _safe_in_markdown, _marked_in_markdown).to_markdown(
        index=False, disable_numparse=True, colalign=aligned
    )


def latex(frame: pandas.DataFrame, digits: int = 4) -> str:
    r"""Write a frame as a LaTeX tabular, without its index; needs ``\usepackage{booktabs}``."""
    aligned = "".join("r" if is_number else "l" for is_number in are_numbers(frame))
    return _as_text(frame, digits, _safe_in_latex, _marked_in_latex).to_latex(
        index=False, escape=False, column_format=aligned
    )


def aligned(frame: pandas.DataFrame, digits: int = 4) -> str:
    """Write a frame as aligned text, names to the left and numbers to the right."""
    text = _as_text(frame, digits, str, _marked_in_text)
    columns = []
    for i, is_number in enumerate(are_numbers(frame)):
        column = [text.columns[i], *text.iloc[:, i]]
        width = max(map(len, column))
        columns.append([c.rjust(width) if is_number else c.ljust(width) for c in column])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def csv(frame: pandas.DataFrame, path: str | Path | None = None) -> str | None:
    """Write a frame as CSV with all digits, without its index; the text if there is no path."""
    if path is None:
        return frame.to_csv(index=False, na_rep="nan")
    with written_whole(path) as beside:
        frame.to_csv(beside, index=False, na_rep="nan")
    return None


def rows_of(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Rows of a table of columns, such as that of a Comparison, each by column name."""
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def are_numbers(frame: pandas.DataFrame) -> list[bool]:
    """Whether each column of a frame holds numbers only."""
    return [
        all(isinstance(cell, (numbers.Number, Marked)) for cell in frame.iloc[:, i])
        for i in range(frame.shape[1])
    ]


def _as_text(frame, digits, safe, marked):
    """The frame with all cells and names as text that is safe in a table."""
    import pandas as pd

    def shown(cell):
        if isinstance(cell, Marked):
            return marked(cell_text(cell.value, digits), cell)
        return safe(cell_text(cell, digits))

    columns = {
        i: [shown(cell) for cell in frame.iloc[:, i]]
        for i in range(frame.shape[1])
    }
    text = pd.DataFrame(columns, dtype=object)
    text.columns = [safe(cell_text(name, digits)) for name in frame.columns]
    return text


def cell_text(cell: Any, digits: int) -> str:
    """Text of one cell: floats to so many digits, other values as they are, on one line."""
    if isinstance(cell, Bound):
        return f"≤ {cell_text(float(cell), digits)}"
    if isinstance(cell, numbers.Real) and not isinstance(cell, numbers.Integral):
        # A p-value of 1e-9 is not 0.
        vanishes = 0 < abs(float(cell)) < 0.5 * 10**-digits
        return f"{cell:.1e}" if vanishes else f"{cell:.{digits}f}"
    return " ".join(str(cell).split())  # a line is a row


def _marked_in_text(text, cell):
    return f"{'*' if cell.best else ''}{text}{cell.mark and ' ' + cell.mark}"


def _marked_in_markdown(text, cell):
    return f"{f'**{text}**' if cell.best else text}{cell.mark and ' ' + cell.mark}"


def _marked_in_latex(text, cell):
    mark = cell.mark.replace("▲", r"\uparrow ").replace("▼", r"\downarrow ")
    bold = rf"\textbf{{{text}}}" if cell.best else text
    return bold + (rf"$^{{\mathrm{{{mark.strip()}}}}}$" if mark else "")


def _safe_in_markdown(text):
    escaped = text.translate(_MARKDOWN)
    return _OUTER_UNDERSCORES.sub(lambda found: found[0].replace("_", r"\_"), escaped)


def _safe_in_latex(text):
    return text.translate(_LATEX)
