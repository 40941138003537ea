"""Readers of TREC files: judgments (qrels) and runs."""

import io
import math
import os
import re
import warnings
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from sklearn.utils import Bunch

from skgraded.datasets._files import check_path, number_in, parsed, parsed_blocks, repeated, shown


@dataclass(frozen=True)
class Form:
    """The columns of a file."""

    kind: str
    columns: tuple[str, ...]
    number: str


QRELS = Form("qrels", ("query", "iteration", "document", "grade"), "grade")
RUN = Form("a run", ("query", "Q0", "document", "rank", "score", "name"), "score")


def read_qrels(path: str | os.PathLike[str] | BinaryIO, *, progress: bool = False) -> Bunch:
    r"""Read judgments in TREC's form, ``query iteration document grade``.

    Columns are separated by blanks or tabs. Blank lines are skipped. Needs pandas.

    Parameters
    ----------
    path : str, path-like or binary file
        The file, plain or compressed with gzip, whatever its name ends in.
    progress : bool, default=False
        Show a progress bar, on a terminal or in a notebook; needs tqdm.

    Returns
    -------
    Bunch
        ``query``, ``document`` : ndarray of shape (n,), object
            Texts as in the file: ``"007"`` is not ``"7"``.
        ``grade`` : ndarray of shape (n,), float64
            Grades ≥ 0. Negative ones, by which trec_eval marks what was pooled and not judged, or
            spam, are 0, and a warning says how many there were.

        Rows are in the order of the file.

    Warns
    -----
    UserWarning
        If grades are negative.

    Raises
    ------
    ValueError
        If a line cannot be read, a query has a document twice, the file holds no row, or it is
        cut short or not text. The error names the file and the line.
    TypeError, OSError
        If `path` is not text, path-like or a file in binary mode, or cannot be opened.

    Examples
    --------
    >>> import io
    >>> from skgraded.datasets import read_qrels
    >>> qrels = read_qrels(io.BytesIO(b"301 0 FT911-3 2\n301 0 FT911-4 0\n"))
    >>> qrels.query.tolist(), qrels.document.tolist(), qrels.grade.tolist()
    (['301', '301'], ['FT911-3', 'FT911-4'], [2.0, 0.0])
    """
    table = read_judgments(path, progress)
    return Bunch(query=table.query, document=table.document, grade=table.numbers)


def read_run(path: str | os.PathLike[str] | BinaryIO, *, progress: bool = False) -> Bunch:
    r"""Read a run in TREC's form, ``query Q0 document rank score name``.

    Columns are separated by blanks or tabs. Blank lines are skipped. The rank is not used: as for
    trec_eval, the score is what ranks. Needs pandas.

    Parameters
    ----------
    path, progress
        As for `read_qrels`.

    Returns
    -------
    Bunch
        ``query``, ``document``, ``name`` : ndarray of shape (n,), object
            Texts as in the file; ``name`` is the system's, the last column.
        ``score`` : ndarray of shape (n,), float64
            The highest first; -inf: not retrieved.

        Rows are in the order of the file.

    Raises
    ------
    ValueError, TypeError, OSError
        As `read_qrels`; also if a score is NaN.

    Examples
    --------
    >>> import io
    >>> from skgraded.datasets import read_run
    >>> run = read_run(io.BytesIO(b"301 Q0 FT911-3 1 12.5 bm25\n301 Q0 FT911-4 2 7 bm25\n"))
    >>> run.document.tolist(), run.score.tolist(), run.name.tolist()
    (['FT911-3', 'FT911-4'], [12.5, 7.0], ['bm25', 'bm25'])
    """
    table = read_table(path, RUN, progress)
    return Bunch(
        query=table.query, document=table.document, score=table.numbers, name=table.name
    )


@dataclass(frozen=True)
class Table:
    """The columns of a TREC file; queries and names as codes, for there are few."""

    source: str
    query_ids: np.ndarray
    query_codes: np.ndarray
    document: np.ndarray
    numbers: np.ndarray
    names: np.ndarray
    name_codes: np.ndarray | None
    blank_lines: np.ndarray

    @property
    def query(self):
        """The query of each row."""
        return self.query_ids[self.query_codes]

    @property
    def name(self):
        """The last column of a run."""
        return self.names[self.name_codes]

    def place(self, row):
        """The line of the file, from 1, that a row, from 0, was on."""
        n_rows_before = self.blank_lines - np.arange(len(self.blank_lines)) - 1  # each blank line
        return f"line {row + 1 + np.searchsorted(n_rows_before, row, side='right')}"


def read_judgments(path, progress):
    """Read qrels; see `Table`. Negative grades become 0."""
    table = read_table(path, QRELS, progress)
    negative = table.numbers < 0
    if negative.any():
        warnings.warn(
            f"{table.source}: {negative.sum()} of {len(negative)} grades are negative and "
            "became 0.",
            stacklevel=3,
        )
        table.numbers[negative] = 0
    return table


def read_table(path, form, progress=False):
    """Read a TREC file block by block; see `Table`."""
    source, path = path, check_path(path)
    queries, names = _Codes(), _Codes()
    numbers, keys, blanks = [], [], []

    def parse(text, first):  # to the documents; the other columns are gathered
        tidy, blank = _tidied(text, first)
        blanks.append(blank)
        if not tidy:
            return None
        starts, ends = _documents(tidy, form)
        frame = _frame(tidy, form, len(starts))
        texts = _texts(tidy, starts, ends)
        queries.add(frame["query"].to_numpy(object))
        keys.append(_keys(tidy, starts, ends, queries.pieces[-1]))
        numbers.append(frame[form.number].to_numpy())
        if form is RUN:
            names.add(frame["name"].to_numpy(object))
        return texts

    found = parsed_blocks(
        source, path, form.kind, parse, lambda line: _problem(line, form), progress
    )
    documents = [texts for texts in found if texts is not None]
    if not documents:
        raise ValueError(f"{path}: the file holds no row: it is empty, or all blank lines.")
    table = Table(
        path, queries.texts, queries.joined(), _joined(documents), _joined(numbers),
        names.texts, names.joined(), np.concatenate(blanks),
    )
    _refuse_duplicates(table, _joined(keys))
    return table


class _Codes:
    """Numbers for the texts of a column with few distinct ones, in order of appearance."""

    def __init__(self):
        self.known = {}
        self.pieces = []

    def add(self, texts):
        # Only the first row of each run is looked at closer: rows mostly come query by query.
        heads = np.flatnonzero(np.append(True, texts[1:] != texts[:-1]))
        numbers = [self.known.setdefault(text, len(self.known)) for text in texts[heads].tolist()]
        self.pieces.append(
            np.repeat(np.array(numbers, dtype=np.int32), np.diff(heads, append=len(texts)))
        )

    @property
    def texts(self):
        return np.array(list(self.known), dtype=object)

    def joined(self):
        return _joined(self.pieces) if self.pieces else None


def _joined(pieces):
    """One array of a list of arrays, which is emptied."""
    array = np.concatenate(pieces)
    pieces.clear()
    return array


def _tidied(text, first):
    """Lines with single blanks between their words and none around; the numbers of blank lines."""
    if first == 1:
        text = text.removeprefix(b"\xef\xbb\xbf")
    if not text.endswith(b"\n"):
        text += b"\n"
    blank = np.empty(0, dtype=np.intp)
    white = np.frombuffer(text, np.uint8) <= ord(" ")
    if not (white[0] or (white[1:] & white[:-1]).any()):  # as most files are
        return text.replace(b"\t", b" "), blank
    text = text.replace(b"\r\n", b"\n").replace(b"\t", b" ")
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


def _documents(text, form):
    """Where the document of each tidy line starts and ends, if every line has all columns."""
    letters = np.frombuffer(text, np.uint8)
    new_line = letters == ord("\n")
    ends = np.flatnonzero(new_line | (letters == ord(" ")))  # of words
    n_columns = len(form.columns)
    line_ends = ends[n_columns - 1 :: n_columns]
    even = len(ends) == np.count_nonzero(new_line) * n_columns
    if not even or not new_line[line_ends].all():
        raise ValueError("a line has more or fewer columns")
    column = form.columns.index("document")
    return ends[column - 1 :: n_columns] + 1, ends[column::n_columns]


def _frame(text, form, n_rows):
    """Parse queries, numbers and names by pandas; a ValueError if one is not as it should be."""
    import pandas as pd

    types = {"query": object, form.number: float}
    if form is RUN:
        types["name"] = object
    frame = pd.read_csv(
        io.BytesIO(text), sep=" ", header=None, names=list(form.columns), usecols=list(types),
        dtype=types, quoting=3, na_filter=False, low_memory=False,
    )
    numbers = frame[form.number].to_numpy()
    bad = np.isnan(numbers) if form is RUN else ~np.isfinite(numbers)
    if len(frame) != n_rows or bad.any():
        raise ValueError("a line cannot be read")
    return frame


def _texts(text, starts, ends):
    """The documents as texts. pandas is slower: it looks for equal ones, and there are none."""
    # Cut out with the blank after each, by which they are split.
    bounds = np.stack([starts, ends + 1], axis=1).ravel()
    chosen = np.tile([False, True], len(starts))
    letters = np.frombuffer(text, np.uint8, bounds[-1])
    cut = letters[np.repeat(chosen, np.diff(bounds, prepend=0))].tobytes()
    return np.array(cut.decode().split(" ")[:-1], dtype=object)


def _keys(text, starts, ends, query_codes):
    """A hash of the query and the document of each row."""
    text += bytes(7)
    words = np.ndarray(len(text) - 7, "<u8", text, strides=(1,))  # of 8 bytes, from each byte on
    keys = query_codes.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
    rows, key, at, left = np.arange(len(starts)), keys, starts, ends - starts
    while len(rows):
        beyond = np.maximum(8 - left, 0).astype(np.uint64)  # bytes that are not the document's
        key = (key ^ (words[at] << (beyond * np.uint64(8)))) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(32)
        keys[rows] = key
        longer = left > 8
        rows, key, at, left = rows[longer], key[longer], at[longer] + 8, left[longer] - 8
    return keys


# Errors ------------------------------------------------------------------------------------------

def _problem(line, form):
    """Say what is wrong with a line; None if nothing is."""
    if b"\r" in line[:-1]:
        return "a carriage return within the line; lines must end with a line feed."
    words = re.split(rb"[ \t]+", line.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r"))
    if words == [b""]:
        return None
    for word in words:
        if parsed(bytes.decode, word) is None:
            return f"text must be UTF-8; got {shown(word)}."
    if len(words) != len(form.columns):
        return (
            f"{form.kind} has {len(form.columns)} columns, {' '.join(form.columns)}; "
            f"got {len(words)}: {shown(line.strip())}."
        )
    word = words[form.columns.index(form.number)]
    number = number_in(word)
    if number is None:
        return f"the {form.number} must be a number; got {shown(word)}."
    if form is QRELS and math.isinf(number):
        return f"the grade must be finite; got {shown(word)}."
    return None


def _refuse_duplicates(table, keys):
    """Raise if a query has a document twice. `keys` are hashes of both."""
    twice = repeated(table.query_codes, table.document, keys)
    if twice:
        row, first = twice
        raise ValueError(
            f"{table.source}: {table.place(row)}: query {table.query[row]!r} has document "
            f"{table.document[row]!r} twice, first on {table.place(first)}."
        )
