"""Columns of lines of words, one block of lines at a time: with Arrow, or else with NumPy."""

import io
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from skgraded._input.words import object_array
from skgraded.datasets.text_files import BOM

PLAIN = b"0123456789.+-eE\n"  # pandas also accepts words such as True, or reads them differently


@dataclass(frozen=True)
class Form:
    """The columns of a kind of file."""

    kind: str
    columns: tuple[str, ...]
    number: str
    few: tuple[str, ...]  # columns with few distinct texts


@dataclass(frozen=True)
class Block:
    """The columns of some lines."""

    codes: dict  # by name of the column: a number for each row, and the texts that are numbered
    document: Any  # an Arrow array, or an array of objects if Arrow is not installed
    numbers: np.ndarray


def columns(text, form):
    """Split tidy lines into columns; raise a ValueError if a line does not have the form."""
    if not find_spec("pyarrow"):
        return _by_numpy(text, form, object_array)
    from skgraded.datasets import arrow_csv

    if not text.startswith(BOM):  # which Arrow would leave out
        try:
            return _by_arrow(text, form, arrow_csv)
        except ValueError:  # an error, or a number as only Python writes it
            pass
    return _by_numpy(text, form, arrow_csv.text_array)


def _by_arrow(text, form, arrow_csv):
    types = dict.fromkeys(form.few, arrow_csv.CODES)
    types |= {"document": arrow_csv.TEXTS, form.number: arrow_csv.NUMBERS}
    read = arrow_csv.read_lines(text, form.columns, types)
    codes = {
        name: (read[name].indices.to_numpy(), read[name].dictionary.to_pylist())
        for name in form.few
    }
    return Block(codes, read["document"], _checked(read[form.number].to_numpy(), form))


def _by_numpy(text, form, text_array):
    import pandas as pd

    letters = np.frombuffer(text, np.uint8)
    new_line = letters == ord("\n")
    ends = np.flatnonzero(new_line | (letters == ord(" ")))
    n_columns = len(form.columns)
    even = len(ends) == np.count_nonzero(new_line) * n_columns
    if not even or not new_line[ends[n_columns - 1 :: n_columns]].all():
        raise ValueError("a line has more or fewer columns")
    starts = np.append(0, ends[:-1] + 1)

    def lines_of(name):
        """The words of a column, one per line."""
        column = slice(form.columns.index(name), None, n_columns)
        bounds = np.stack([starts[column], ends[column] + 1], axis=1).ravel()
        is_word = np.tile([False, True], len(bounds) // 2)
        words = letters[: bounds[-1]][np.repeat(is_word, np.diff(bounds, prepend=0))]
        words[words == ord(" ")] = ord("\n")
        return words.tobytes()

    def texts_of(name):
        return object_array(lines_of(name).decode().split("\n")[:-1])

    return Block(
        {name: pd.factorize(texts_of(name)) for name in form.few},
        text_array(texts_of("document")),
        _checked(floats(lines_of(form.number)), form),
    )


def floats(lines):
    """Convert lines as Python's `float` does, except that 1_0 is a ValueError."""
    import pandas as pd

    rounds_exactly = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
    if rounds_exactly and not lines.translate(None, PLAIN):
        with suppress(ValueError):
            numbers = pd.read_csv(
                io.BytesIO(lines), header=None, dtype=float, na_filter=False,
                skip_blank_lines=False, low_memory=False,
            )[0].to_numpy()
            if len(numbers) == lines.count(b"\n"):
                return numbers
    if b"_" in lines:
        raise ValueError("an underscore in a number")
    return np.array(list(map(float, lines[:-1].split(b"\n"))))


def _checked(numbers, form):
    """Scores, which may be infinite, or grades."""
    if np.isnan(numbers).any() or form.number == "grade" and np.isinf(numbers).any():
        raise ValueError("a number is NaN, or a grade infinite")
    return numbers


def tidied(text, first):
    """Return lines with single blanks between words and none around, and numbers of blank lines."""
    if not text.endswith(b"\n"):
        text += b"\n"
    white = np.frombuffer(text, np.uint8) <= ord(" ")
    if not (white[0] or (white[1:] & white[:-1]).any()):  # as in most files
        _refuse_return(text)
        return text.replace(b"\t", b" "), []
    text = text.replace(b"\r\n", b"\n").replace(b"\t", b" ")
    _refuse_return(text)
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    if b"\n\n" not in text and not text.startswith(b"\n"):
        return text, []
    lines = text.split(b"\n")
    blank = [number for number, line in enumerate(lines[:-1], first) if not line]
    return b"".join([line + b"\n" for line in lines if line]), blank


def _refuse_return(text):
    if b"\r" in text:
        raise ValueError("a carriage return within a line")
