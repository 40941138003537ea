"""Format names and numbers as text, mainly for HTML pages."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np

from skgraded._input.words import escape_unprintable, plain

NAME, TEXT = 48, 1000  # maximum number of characters of a name and of a note
NOTED_SHARE = 0.1  # reports mention larger shares of undefined queries
DIGITS = 4  # decimals of all values in tables, sentences and pages


class Bound(NamedTuple):
    """A table cell for a p-value that is only an upper bound."""

    limit: float


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


def label(name: object) -> str:
    """Return a query id, a system or a measure as text."""
    if isinstance(name, tuple):  # repr would contain NumPy's types
        name = tuple(map(plain, name))
    text = str(name)
    return text if text.isprintable() else escape_unprintable(text)


def heading_of(measure: str, segment: object) -> str:
    """Return the heading of a measure, or of a measure in a segment."""
    return measure if segment is None else f"{measure} in {label(segment)}"


def labels(names: Iterable[Any]) -> list[str]:
    """Return query ids, systems or measures as texts."""
    return list(map(label, names))


def shortened(name: object, width: int = NAME) -> str:
    """Shorten a name to at most `width` characters by replacing its middle with "…"."""
    text = label(name)
    if len(text) <= width:
        return text
    return f"{text[: width - width // 3 - 1]}…{text[-(width // 3) :]}"


def shorten_text(text: str) -> str:
    """Shorten a note to at most `TEXT` characters by replacing its end with "…"."""
    return shorten(text, TEXT, placeholder=" …")


def utf8(text: str) -> str:
    """Escape lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "backslashreplace").decode()


def json_numbers(values: np.ndarray) -> list[Any]:
    """Convert an array to lists of floats with six significant digits; nan becomes None."""
    numbers = [None if math.isnan(x) else float(f"{x:.6g}") for x in values.ravel().tolist()]
    return np.array(numbers, dtype=object).reshape(values.shape).tolist()


def percent_text(level: float) -> str:
    """Format a level between 0 and 1 as a percentage."""
    return f"{100 * level:g} %"


def list_values(values: Mapping[str, float]) -> str:
    """List values with their names, such as "AP=0.5000, RR=1.0000"."""
    return ", ".join(f"{name}={value:.{DIGITS}f}" for name, value in values.items())


def undefined_note(n_undefined: Mapping[str, int], n_queries: int) -> str:
    """Report the share of undefined queries if it exceeds a tenth for a measure, or return ""."""
    shares = {n / max(n_queries, 1) for n in n_undefined.values()}
    if not shares or max(shares) <= NOTED_SHARE:
        return ""
    up_to = "up to " if len(shares) > 1 else ""
    return f"undefined for {up_to}{percent_text(round(max(shares), 3))} of the queries"


def fixed(value: float, digits: int = DIGITS) -> str:
    """Format a number with fixed decimals and a Unicode minus sign; zero has no sign."""
    return f"{value:z.{digits}f}".replace("-", "−")


def signed(value: float, digits: int = DIGITS) -> str:
    """Format a number with its sign, unless it is zero."""
    text = fixed(value, digits)
    return text if text[0] == "−" or text == "nan" or float(text) == 0 else f"+{text}"


def interval_text(ends: tuple[float, float]) -> str:
    """Format the limits of an interval."""
    low, high = ends
    if math.isnan(low):
        return "unknown"  # a single query has no interval
    return f"{fixed(low)} to {fixed(high)}"


def difference_text(row: Mapping[str, Any], level: float | None = None) -> str:
    """Format a difference and its interval; with a level, an unknown interval is left out."""
    text, interval = signed(row["difference"]), interval_text((row["ci_low"], row["ci_high"]))
    if level is None:
        return f"{text} ({interval})"
    is_known = not math.isnan(row["ci_low"])
    return f"{text} ({percent_text(level)} interval {interval})" if is_known else text


def p_text(p: float | Bound) -> str:
    """Format a p-value or its upper bound."""
    value = p.limit if isinstance(p, Bound) else p
    if value < 0.00005:
        return "< 0.0001"
    return f"≤ {fixed(value)}" if isinstance(p, Bound) else fixed(value)


class Cell(NamedTuple):
    """A cell of a table on a page: its text, its value, and its sort key, "" for the last rows."""

    text: str
    key: str
    value: Any


KINDS: dict[str, Callable[[Any], str]] = {  # of columns of numbers
    "value": fixed,
    "mean": lambda cell: fixed(cell.value),
    "signed": signed,
    "p": p_text,
    "count": lambda n: f"{n:,}".replace("-", "−"),
    "interval": interval_text,
}


def format_cells(values: Sequence[Any], kind: str) -> Sequence[Any]:
    """Format the cells of a column of numbers; return the cells of other columns unchanged."""
    if kind not in KINDS:
        return values
    cells = []
    for value in values:
        number = value[0] if isinstance(value, tuple) else value
        key = "" if math.isnan(number) else repr(float(number))
        cells.append(Cell(KINDS[kind](value), key, value))
    return cells
