"""Lines of words as columns, a block of lines at a time: by Arrow if it is installed, or NumPy.

Texts of which there are few become numbers of what the block has of them, all others letters.
"""

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from skgraded.datasets._files import BOM
from skgraded.datasets._words import first_of_runs, joined, numbers, texts


@dataclass(frozen=True)
class Block:
    """The columns of some lines."""

    codes: dict  # by name of the column: a number of each row, and the texts that these count
    letters: tuple  # of the documents: UTF-8 with a zero byte after each, and where these are
    numbers: np.ndarray


def columns(text, form):
    """The columns of tidy lines; a ValueError if a line is not of that form."""
    if find_spec("pyarrow") and not text.startswith(BOM):  # which Arrow would leave out
        try:
            return _by_arrow(text, form)
        except ValueError:  # an error, or a number as only Python writes it
            pass
    return _by_numpy(text, form)


def _by_arrow(text, form):
    from skgraded.datasets import _by_arrow as arrow

    types = dict.fromkeys(form.few, arrow.CODES)
    types |= {"document": arrow.TEXTS, form.number: arrow.NUMBERS}
    read = arrow.read_lines(text, form.columns, types)
    codes = {
        name: (read[name].indices.to_numpy(), read[name].dictionary.to_pylist())
        for name in form.few
    }
    found = _checked(read[form.number].to_numpy(), form)
    return Block(codes, arrow.letters_of(read["document"]), found)


def _by_numpy(text, form):
    places = _places(text, form)
    starts, ends = places["document"]
    letters = joined(text, starts, ends, "\0")
    letters.decode()  # an error where it is no UTF-8
    return Block(
        {name: _codes(text, *places[name]) for name in form.few},
        (letters, np.cumsum(ends - starts + 1) - 1),
        _checked(numbers(text, *places[form.number]), form),
    )


def _codes(text, starts, ends):
    # Only the first row of each run is looked at closer: rows mostly come query by query.
    heads = first_of_runs(text, starts, ends)
    words = texts(text, starts[heads], ends[heads]).tolist()
    return np.repeat(np.arange(len(heads)), np.diff(heads, append=len(starts))), words


def _places(text, form):
    """Where the words of each column start and end, if every tidy line has all columns."""
    letters = np.frombuffer(text, np.uint8)
    new_line = letters == ord("\n")
    ends = np.flatnonzero(new_line | (letters == ord(" ")))
    n_columns = len(form.columns)
    even = len(ends) == np.count_nonzero(new_line) * n_columns
    if not even or not new_line[ends[n_columns - 1 :: n_columns]].all():
        raise ValueError("a line has more or fewer columns")
    starts = np.append(0, ends[:-1] + 1)
    return {
        name: (starts[i::n_columns], ends[i::n_columns]) for i, name in enumerate(form.columns)
    }


def _checked(found, form):
    """Scores, which may be infinite, or grades."""
    bad = ~np.isfinite(found) if form.number == "grade" else np.isnan(found)
    if bad.any():
        raise ValueError("a number is NaN, or a grade infinite")
    return found


def tidied(text, first):
    """Lines with single blanks between their words and none around; the numbers of blank lines."""
    if not text.endswith(b"\n"):
        text += b"\n"
    blank = np.empty(0, dtype=np.intp)
    white = np.frombuffer(text, np.uint8) <= ord(" ")
    if not (white[0] or (white[1:] & white[:-1]).any()):  # as most files are
        _refuse_return(text)
        return text.replace(b"\t", b" "), blank
    text = text.replace(b"\r\n", b"\n").replace(b"\t", b" ")
    _refuse_return(text)
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    if b"\n\n" in text or text.startswith(b"\n"):
        ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
        blank = np.flatnonzero(np.diff(ends, prepend=-1) == 1) + first
        while b"\n\n" in text:
            text = text.replace(b"\n\n", b"\n")
        text = text.removeprefix(b"\n")
    return text, blank


def _refuse_return(text):
    if b"\r" in text:
        raise ValueError("a carriage return within a line")
