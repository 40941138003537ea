"""What messages have in common: the nearest known name, plurals, ids as Python writes them."""

import difflib
import re

import numpy as np


def nearest(word, known):
    """The one of the `known` words that is most like `word`, None if none is."""
    near = difflib.get_close_matches(str(word), [str(one) for one in known], cutoff=0.5)
    return near[0] if near else None


def did_you_mean(word, known):
    """A question after the nearest of the `known` words, with a blank before it, or nothing."""
    near = nearest(word, known)
    return "" if near is None else f" Did you mean {near!r}?"


def plural(n, one, many):
    """The word for `n` things."""
    return one if n == 1 else many


def counted(n, one, many):
    """A number and what it counts."""
    return f"{n:,} {plural(n, one, many)}"


def plain(value):
    """A NumPy number as Python's, which messages show as it is written; a date as it is."""
    is_number = isinstance(value, np.generic) and value.dtype.kind not in "mM"
    return value.item() if is_number else value


def plain_list(values):
    """An array as a list of Python's own values; of dates as NumPy's, for tolist loses them."""
    return list(values) if values.dtype.kind in "mM" else values.tolist()


def object_array(values):
    """An array of the objects of a list, tuples among them, as they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# Control characters but tab and end of line, marks of direction, halves of surrogate pairs.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text):
    """The text with what a terminal would obey, or could not write, spelt out."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
