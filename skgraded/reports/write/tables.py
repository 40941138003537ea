"""Frames as text: Markdown, LaTeX and CSV."""

from __future__ import annotations

import numbers
import re
from pathlib import Path
from typing import TYPE_CHECKING

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
    "[": "{[}", "]": "{]}",  # after the \\ of a row, [ would begin an option
})


def markdown(frame: pandas.DataFrame, digits: int = 4) -> str:
    """Write a frame as a Markdown table, without its index, with so many decimals of floats."""
    aligned = ["right" if is_number else "left" for is_number in are_numbers(frame)]
    return _as_text(frame, digits, _safe_in_markdown).to_markdown(
        index=False, disable_numparse=True, colalign=aligned
    )


def latex(frame: pandas.DataFrame, digits: int = 4) -> str:
    r"""Write a frame as a LaTeX tabular, without its index; needs ``\usepackage{booktabs}``."""
    aligned = "".join("r" if is_number else "l" for is_number in are_numbers(frame))
    return _as_text(frame, digits, _safe_in_latex).to_latex(
        index=False, escape=False, column_format=aligned
    )


def csv(frame: pandas.DataFrame, path: str | Path | None = None) -> str | None:
    """Write a frame as CSV with all digits, without its index; the text if there is no path."""
    return frame.to_csv(path, index=False, na_rep="nan")


def rows_of(table: dict[str, list]) -> list[dict]:
    """Rows of a table of columns, such as that of a Comparison, each by column name."""
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def are_numbers(frame):
    """Whether each column of a frame holds numbers only."""
    return [
        all(isinstance(cell, numbers.Number) for cell in frame.iloc[:, i])
        for i in range(frame.shape[1])
    ]


def _as_text(frame, digits, safe):
    """The frame with all cells and names as text that is safe in a table."""
    import pandas as pd

    columns = {
        i: [safe(cell_text(cell, digits)) for cell in frame.iloc[:, i]]
        for i in range(frame.shape[1])
    }
    text = pd.DataFrame(columns, dtype=object)
    text.columns = [safe(cell_text(name, digits)) for name in frame.columns]
    return text


def cell_text(cell, digits):
    """Text of one cell: floats to so many digits, other values as they are, on one line."""
    if isinstance(cell, numbers.Real) and not isinstance(cell, numbers.Integral):
        # A p-value of 1e-9 is not 0.
        vanishes = 0 < abs(float(cell)) < 0.5 * 10**-digits
        return f"{cell:.1e}" if vanishes else f"{cell:.{digits}f}"
    return " ".join(str(cell).split())  # a line is a row


def _safe_in_markdown(text):
    escaped = text.translate(_MARKDOWN)
    return _OUTER_UNDERSCORES.sub(lambda found: found[0].replace("_", r"\_"), escaped)


def _safe_in_latex(text):
    return text.translate(_LATEX)
