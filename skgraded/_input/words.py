"""What messages have in common: the nearest known name, plurals, ids as Python writes them."""

import difflib

import numpy as np


def nearest(word, known):
    """The one of the `known` words that is most like `word`, None if none is."""
    near = difflib.get_close_matches(str(word), [str(one) for one in known], n=1, cutoff=0.5)
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
