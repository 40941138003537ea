"""Helpers for messages and ids: suggestions, plurals, readable values, and the order of ids."""

import difflib
import heapq
import numbers
import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np

LONGEST = 100  # maximum number of characters in compared words; the running time is quadratic


_IGNORED = str.maketrans("", "", "_- ")


def normalize_name(name: str) -> str:
    """Normalize a name for comparison: ignore case, underscores, hyphens and spaces."""
    return name.translate(_IGNORED).casefold()  # casefold unifies the two Unicode characters for μ


def find_nearest(word: object, known: Iterable[Any]) -> str | None:
    """Return the known word most similar to `word`, ignoring case, or None if none is similar."""
    by_key = {name.lower()[:LONGEST]: name for name in map(str, known)}
    near = difflib.get_close_matches(str(word).lower()[:LONGEST], by_key, n=1, cutoff=0.75)
    return by_key[near[0]] if near else None


def suggest_name(word: object, known: Iterable[Any]) -> str:
    """Return " Did you mean …?" with the nearest known word, or "" if no word is similar."""
    near = find_nearest(word, known)
    return "" if near is None else f" Did you mean {near!r}?"


def quote_names(names: Sequence[Any]) -> str:
    """Return the first 20 names for a message."""
    quoted = [f"{name!r:.60}" for name in names[:20]]
    return ", ".join(quoted if len(names) <= 20 else [*quoted, "…"]) or "none"


def choose_noun(n: int, singular: str, several: str) -> str:
    """Return the singular or plural form of a word for `n` items."""
    return singular if n == 1 else several


def counted(n: int, singular: str, several: str) -> str:
    """Return a number and the matching noun, such as "3 queries"."""
    return f"{n:,} {choose_noun(n, singular, several)}"


def is_missing(value: object) -> bool:
    """Return whether an id is None, NaN, NaT or pandas.NA, or a tuple with a missing value."""
    if isinstance(value, (str, int)):  # fast path
        return False
    if isinstance(value, tuple):
        return any(map(is_missing, value))
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (numbers.Number, np.generic)) and bool(value != value)


def is_empty(value: object) -> bool:
    """Return whether an id or a number is missing or an empty string."""
    return is_missing(value) or isinstance(value, str) and not value


def plain(value: Any) -> Any:
    """Convert a NumPy number to a Python number for messages; dates are returned unchanged."""
    is_number = isinstance(value, np.generic) and value.dtype.kind not in "mM"
    return value.item() if is_number else value


def plain_list(values: np.ndarray) -> list[Any]:
    """Convert an array to a list of Python values; dates remain NumPy values with their unit."""
    return list(values) if values.dtype.kind in "mM" else values.tolist()


def object_array(values: Sequence[Any]) -> np.ndarray:
    """Convert a list to a 1-D array of objects, in which tuples are single elements."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def check_names(names: Iterable[Any], argument: str) -> None:
    """Raise a TypeError unless all names in an argument are strings."""
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"The names in {argument} must be strings; got {name!r}.")


def refuse_repeated(names: Sequence[Any], argument: str) -> None:
    """Raise a ValueError if a name is repeated; a dict would contain it only once."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"{argument} contains {name!r} {names.count(name)} times: pass it once."
            )


# Control characters (except tab and newline), text direction marks and lone surrogates.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def escape_unprintable(text: str) -> str:
    """Escape characters that a terminal would interpret or cannot print."""
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


# Order of ids of any type, for results that do not depend on the order of the rows ----------------


def find_lowest(values: np.ndarray, ids: np.ndarray, n: int) -> np.ndarray:
    """Return the positions of the n lowest values in ascending order; ids break ties."""
    if ids.dtype.kind != "O":
        return np.lexsort((ids, values))[:n]
    keys = ids if set(map(type, ids)) == {str} else map(make_sort_key, ids)  # shortcut for strings
    lowest = heapq.nsmallest(n, zip(values.tolist(), keys, range(len(ids)), strict=True))
    return np.array([i for *_, i in lowest], dtype=np.intp)


def make_sort_key(query: Any) -> tuple[str, Any]:
    """Return a sort key for ids of any type: the name of the type, then the value."""
    if type(query) in (str, int):  # only for speed
        return "str" if type(query) is str else "", query
    query = plain(query)
    if isinstance(query, tuple):
        return "tuple", tuple(map(make_sort_key, query))
    if isinstance(query, (numbers.Real, Decimal)):
        return "", query
    known = isinstance(query, (str, bytes, np.generic, timedelta)) or hasattr(query, "isoformat")
    return type(query).__name__, query if known else repr(query)
