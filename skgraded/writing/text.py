"""Names and numbers as text, mainly for HTML pages."""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from skgraded._input.words import plain, printable

NAME = 48  # characters of a name that are shown


class Bound(float):
    """A p-value that is only an upper bound: no resample was as extreme as the observation."""


def labels(names: Iterable[Any]) -> list[str]:
    """The texts of query ids, systems or measures."""
    return [label(name) for name in names]


def label(name: Any) -> str:
    """The text of a query id, a system or a measure."""
    if isinstance(name, tuple):  # repr would contain NumPy's types
        name = tuple(map(plain, name))
    return printable(str(name))


def shortened(name: object, width: int = NAME) -> str:
    """A name of at most `width` characters; a longer name loses its middle."""
    text = label(name)
    if len(text) <= width:
        return text
    return f"{text[: width - width // 3 - 1]}…{text[-(width // 3) :]}"


def name_parts(sentence: str, names: Iterable[str]) -> list[tuple[str, str]]:
    """Split a sentence into texts and names, as pairs of what is shown and the full name.

    For text between names, the full name is empty. Only names that are shortened, or may run from
    right to left, are split off.
    """
    special = [name for name in names if name and (len(name) > NAME or not name.isascii())]
    longest_first = sorted(special, key=len, reverse=True)
    pieces = re.split(f"({'|'.join(map(re.escape, longest_first))})", sentence) if special else [
        sentence
    ]
    return [
        (shortened(piece), label(piece)) if i % 2 else (printable(piece), "")
        for i, piece in enumerate(pieces)
    ]


def utf8(text: str) -> str:
    """The text with lone surrogates escaped, which UTF-8 cannot encode."""
    return text.encode("utf-8", "backslashreplace").decode()


def json_numbers(values: np.ndarray) -> list[float | None]:
    """Python floats with six digits for JSON; None for nan."""
    return [None if math.isnan(x) else float(f"{x:.6g}") for x in values.tolist()]


def percent_text(level: float) -> str:
    """A level between 0 and 1 in percent."""
    return f"{100 * level:g} %"


def number(value: float, digits: int = 4) -> str:
    """Fixed decimals with a true minus sign, and no minus before a zero."""
    text = f"{value:z.{digits}f}"
    return text.replace("-", "−")


def signed(value: float, digits: int = 4) -> str:
    """A number with its sign, unless it is zero."""
    text = number(value, digits)
    return text if text[0] == "−" or text == "nan" or float(text) == 0 else f"+{text}"


def interval_text(ends: tuple[float, float]) -> str:
    """The ends of an interval."""
    low, high = ends
    if math.isnan(low):
        return "unknown"  # of a single query
    return f"{number(low)} to {number(high)}"


def p_text(value: float) -> str:
    """A p-value, or its upper bound."""
    if value < 0.00005:
        return "< 0.0001"
    return f"≤ {number(value)}" if isinstance(value, Bound) else number(value)


def shown(value: Any, kind: str) -> str:
    """The text of a cell, which depends on the kind of its column."""
    show: dict[str, Callable[[Any], str]] = {
        "value": number, "signed": signed, "p": p_text,
        "count": lambda n: f"{n:,}".replace("-", "−"), "seconds": lambda s: number(s, 3),
    }
    return show[kind](value)


def exact(cell: Any, kind: str) -> str:
    """The sort key of a cell; cells with an empty key come last."""
    value = {
        "interval": lambda: cell[0], "strip": lambda: cell["value"],
        "mean": lambda: cell["mean"].value,
    }.get(kind, lambda: cell)()
    return "" if math.isnan(value) else repr(float(value))
