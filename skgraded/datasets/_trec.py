"""Readers of TREC files: judgments (qrels) and runs."""

import math
import os
import re
import warnings
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
from sklearn.utils import Bunch

from skgraded.datasets._files import (
    check_path,
    number_in,
    parsed,
    parsed_blocks,
    refuse_contradicting,
    repeats,
    shown,
)
from skgraded.datasets._words import first_of_runs, hashes, numbers, texts


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

        Rows are in the order of the file. Lines that repeat an earlier query, document and grade
        are left out.

    Warns
    -----
    UserWarning
        If grades are negative.

    Raises
    ------
    ValueError
        If a line cannot be read, a query has a document with different grades, the file holds no
        row, or it is cut short or not text. The error names the file and the line.
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
        As `read_qrels`; also if a query has a document twice, or a score is NaN.

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
    no_rows: np.ndarray  # lines that became no row: blank ones, and judgments that are repeated

    @property
    def query(self):
        """The query of each row."""
        return self.query_ids[self.query_codes]

    @property
    def name(self):
        """The last column of a run."""
        return self.names[self.name_codes]

    def place(self, row):
        """Where a row, from 0, stood in the file."""
        return f"line {self.line(row)}"

    def line(self, row):
        """The lines of the file, from 1, that rows, from 0, were on."""
        n_rows_before = self.no_rows - np.arange(len(self.no_rows)) - 1
        return row + 1 + np.searchsorted(n_rows_before, row, side="right")


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
    documents, found, keys, blanks = [], [], [], []

    def parse(text, first):
        tidy, blank = _tidied(text, first)
        blanks.append(blank)
        if not tidy:
            return
        places = _places(tidy, form)
        starts, ends = places["document"]
        documents.append(texts(tidy, starts, ends))
        found.append(_numbers(tidy, places[form.number], form))
        queries.add(tidy, *places["query"])
        keys.append(hashes(tidy, starts, ends, queries.pieces[-1]))
        if form is RUN:
            names.add(tidy, *places["name"])

    for _ in parsed_blocks(
        source, path, form.kind, parse, lambda line: _problem(line, form), progress
    ):
        pass
    if not documents:
        raise ValueError(f"{path}: the file holds no row: it is empty, or all blank lines.")
    table = Table(
        path, queries.texts, queries.joined(), _joined(documents), _joined(found),
        names.texts, names.joined(), np.concatenate(blanks),
    )
    return _without_repeats(table, form, _joined(keys))


class _Codes:
    """Numbers for the texts of a column with few distinct ones, in order of appearance."""

    def __init__(self):
        self.known = {}
        self.pieces = []

    def add(self, text, starts, ends):
        # Only the first row of each run is looked at closer: rows mostly come query by query.
        heads = first_of_runs(text, starts, ends)
        words = texts(text, starts[heads], ends[heads]).tolist()
        codes = [self.known.setdefault(word, len(self.known)) for word in words]
        self.pieces.append(
            np.repeat(np.array(codes, dtype=np.int32), np.diff(heads, append=len(starts)))
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


def _numbers(text, places, form):
    """Scores, which may be infinite, or grades."""
    found = numbers(text, *places)
    bad = np.isnan(found) if form is RUN else ~np.isfinite(found)
    if bad.any():
        raise ValueError("a number is NaN, or a grade infinite")
    return found


# Errors ------------------------------------------------------------------------------------------

def _problem(line, form):
    """Say what is wrong with a line; None if nothing is."""
    if b"\r" in line[:-1]:
        return "a carriage return within the line; lines must end with a line feed."
    words = re.split(rb"[ \t]+", line.strip(b" \t\r"))
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


# Repeated lines ----------------------------------------------------------------------------------

def _without_repeats(table, form, keys):
    """The table, without judgments that repeat an earlier one; a run may repeat nothing.

    `keys` are hashes of queries and documents.
    """
    rows, firsts = repeats(table.query_codes, table.document, keys)
    if not len(rows):
        return table
    if form is QRELS:
        refuse_contradicting(table, table.query_ids[table.query_codes], rows, firsts)
        left = np.delete(np.arange(len(table.numbers)), rows)
        return replace(
            table, query_codes=table.query_codes[left], document=table.document[left],
            numbers=table.numbers[left], no_rows=np.union1d(table.no_rows, table.line(rows)),
        )
    row, first = rows[0], firsts[0]
    raise ValueError(
        f"{table.source}: {table.place(row)}: query {table.query[row]!r} has document "
        f"{table.document[row]!r} twice, first on {table.place(first)}."
    )
