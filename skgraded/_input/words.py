"""What messages have in common: the nearest known name, plurals, ids as Python writes them."""

import difflib
import re

import numpy as np

LONGEST = 100  # characters of a word that are compared; the time grows with their square


def nearest(word, known):
    """The known word nearest to `word`, regardless of letter case; None if none is near.

    A word is near if at most one character in four differs, or if `word` abbreviates it.
    """
    word = str(word).lower()[:LONGEST]
    near = {}
    for candidate in map(str, known):
        other = candidate.lower()[:LONGEST]
        n_characters = max(len(word), len(other))
        if 4 * abs(len(word) - len(other)) <= n_characters:  # speed only
            is_near = 4 * _n_edits(word, other) <= n_characters
        else:
            is_near = len(word) >= 4 and other.startswith(word)
        if is_near:
            near[other] = candidate
    return near[difflib.get_close_matches(word, near, n=1, cutoff=0)[0]] if near else None


def _n_edits(word, other):
    """Number of insertions, deletions, substitutions and swaps of neighbours between words."""
    row = before = list(range(len(other) + 1))
    for i, letter in enumerate(word):
        earlier, before, row = before, row, [i + 1]
        for j, character in enumerate(other):
            costs = [before[j + 1] + 1, row[j] + 1, before[j] + (letter != character)]
            if i and j and letter == other[j - 1] and word[i - 1] == character:
                costs.append(earlier[j - 1] + 1)
            row.append(min(costs))
    return row[-1]


def did_you_mean(word, known):
    """A question that names the nearest known word, after a blank; empty if none is near."""
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
