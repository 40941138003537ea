"""Frames as text: Markdown, LaTeX and CSV."""

import math
import numbers
import re
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from skgraded._input.writing import written_whole
from skgraded.writing.text import Bound

_MARKDOWN = str.maketrans({
    **{mark: "\\" + mark for mark in r"\`*[]|~$"}, "&": "&amp;", "<": "&lt;", ">": "&gt;",
})
SHORT_TABLE, SHORT_NAME = 40, 30  # rows and characters; longer tables and names break in LaTeX
LINE, LETTER, GAP = 345, 4.2, 6  # widths of a line, a character and a gap in LaTeX, in points
_NAMES = r">{\raggedright\arraybackslash}p"
_INTERVAL = re.compile(r"\[[-\d.]+, [-\d.]+\]|unknown")
_AT_MOST_A_LINE = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}"
_BREAK = re.compile(r"([^\w\s]|_|[^\W_]{6}(?=[^\W_]))")  # where a long name may be broken
_OUTER_UNDERSCORES = re.compile(r"\b_+|_+\b")  # those inside a word mean nothing in Markdown
# Besides reserved characters: <, > and |, which LaTeX's old text fonts replace by other characters.
_LATEX = str.maketrans({
    **{mark: "\\" + mark for mark in "&%$#_{}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "≤": r"$\leq$",
    "[": "{[}", "]": "{]}",  # after the \\ of a row, [ would begin an option
})


class Marked(NamedTuple):
    """A mean with its mark and interval in a table."""

    value: float
    best: bool
    mark: str
    interval: tuple[float, float] = (math.nan, math.nan)


def frame(data: Any, **settings: Any) -> Any:
    """Make a frame of columns or rows."""
    import pandas as pd

    return pd.DataFrame(data, **settings)


def markdown(frame: Any, digits: int = 4) -> str:
    """Write a frame without its index as a Markdown table; floats have `digits` decimals."""
    aligned = ["right" if is_number else "left" for is_number in are_numbers(frame)]
    return _as_text(frame, digits, _safe_in_markdown, _marked_in_markdown).to_markdown(
        index=False, disable_numparse=True, colalign=aligned
    )


def latex(frame: Any, digits: int = 4) -> str:
    r"""Write a frame without its index as a LaTeX table that fits the width of a line.

    The table needs ``\usepackage{booktabs,array,graphicx}`` and is shrunk if it is too wide. With
    more than 40 rows it is a longtable, which breaks over pages and needs
    ``\usepackage{longtable}``.
    """
    is_long = len(frame) > SHORT_TABLE
    safe = partial(_safe_in_latex, longest=6) if is_long else _safe_in_latex
    text = _as_text(frame, digits, safe, _marked_in_latex)
    numeric = [
        is_number or all(_INTERVAL.fullmatch(str(cell)) for cell in frame.iloc[:, i])
        for i, is_number in enumerate(are_numbers(frame))
    ]
    headings = [_lines_of(str(name)) for name in frame.columns]
    text.columns = [
        _in_lines([_safe_in_latex(line) for line in lines], "r" if is_number else "l")
        for lines, is_number in zip(headings, numeric, strict=True)
    ]
    widths = [
        max(map(len, [*lines, *(cell_text(_plain(cell), digits) for cell in frame.iloc[:, i])]))
        for i, lines in enumerate(headings)
    ]
    columns = _columns_of_line(widths, numeric) if is_long else [
        "r" if is_number else "l" if width <= SHORT_NAME else f"{_NAMES}{{14em}}"
        for is_number, width in zip(numeric, widths, strict=True)
    ]
    table = text.to_latex(
        index=False, escape=False, column_format="".join(columns), longtable=is_long
    )
    if is_long:
        return f"{{\\scriptsize\\setlength{{\\tabcolsep}}{{{GAP / 2:g}pt}}\n{table}}}\n"
    return f"\\noindent{_AT_MOST_A_LINE}{{%\n{table}}}\n"


def _plain(cell):
    return f"{cell.value:.4f} {cell.mark}" if isinstance(cell, Marked) else cell


def _columns_of_line(widths, numeric):
    """Columns of a longtable: numbers have their full width, and names share the rest of a line."""
    columns = ["r"] * len(widths)
    names = sorted((width, i) for i, width in enumerate(widths) if not numeric[i])
    taken = sum(widths) - sum(width for width, _ in names)
    room = LINE - GAP * len(widths) - LETTER * taken
    for n_left, (width, i) in zip(range(len(names), 0, -1), names, strict=True):
        share = max(room / n_left, LINE / 12)
        fits = LETTER * width <= share
        columns[i] = "l" if fits else f"{_NAMES}{{{share / LINE:.3f}\\linewidth}}"
        room -= LETTER * width if fits else share
    return columns


def _lines_of(heading):
    """Split a long heading into lines."""
    return [heading] if len(heading) <= 12 else re.split(r"(?<=,)|(?=\()|(?=@)", heading)


def _in_lines(lines, side):
    if len(lines) == 1:
        return lines[0]
    heading = r"\\".join(lines)
    return rf"\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}{heading}\end{{tabular}}"


def aligned(frame: Any, digits: int = 4) -> str:
    """Write a frame as aligned text: names to the left, numbers at the decimal point."""
    text = _as_text(frame, digits, str, _marked_in_text)
    columns = []
    for i, is_number in enumerate(are_numbers(frame)):
        marks = [getattr(cell, "mark", "") for cell in frame.iloc[:, i]]
        widest = max(map(len, marks), default=0)
        cells = [
            cell + " " * (widest - len(mark) + (widest > 0 and not mark))
            for cell, mark in zip(text.iloc[:, i], marks, strict=True)
        ]
        column = [text.columns[i], *cells]
        width = max(map(len, column))
        columns.append([c.rjust(width) if is_number else c.ljust(width) for c in column])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def csv(frame: Any, path: str | Path | None = None) -> str | None:
    """Write a frame without its index as CSV with all digits; return the text without a path."""
    if path is None:
        return frame.to_csv(index=False, na_rep="nan")
    with written_whole(path) as beside:
        frame.to_csv(beside, index=False, na_rep="nan")
    return None


def rows_of(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Rows of a table of columns, each as a dict by column name."""
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def are_numbers(frame: Any) -> list[bool]:
    """Whether each column of a frame contains only numbers."""
    return [
        all(isinstance(cell, (numbers.Number, Marked)) for cell in frame.iloc[:, i])
        for i in range(frame.shape[1])
    ]


def _as_text(frame, digits, safe, marked):
    """The frame with all cells and column names as text that is safe in a table."""
    import pandas as pd

    def shown(cell):
        if isinstance(cell, Marked):
            return marked(cell_text(cell.value, digits), cell)
        return safe(cell_text(cell, digits))

    rows = [[shown(cell) for cell in row] for row in frame.itertuples(index=False, name=None)]
    columns = [safe(cell_text(name, digits)) for name in frame.columns]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def cell_text(cell: Any, digits: int) -> str:
    """Text of one cell on one line: floats with `digits` decimals, other values unchanged."""
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
    mark = cell.mark.replace("▲", r"$\uparrow$").replace("▼", r"$\downarrow$").replace("–", "--")
    bold = rf"\textbf{{{text}}}" if cell.best else text
    return bold + (rf"\textsuperscript{{{mark}}}" if mark else "")


def _safe_in_markdown(text):
    escaped = text.translate(_MARKDOWN)
    return _OUTER_UNDERSCORES.sub(lambda found: found[0].replace("_", r"\_"), escaped)


def _safe_in_latex(text, longest=SHORT_NAME):
    if len(text) <= longest or _INTERVAL.fullmatch(text):
        return text.translate(_LATEX)
    return _BREAK.sub("\\1\0", text).translate(_LATEX).replace("\0", r"\hspace{0pt}")
