"""Readers of TREC files: judgments (qrels) and runs."""

from __future__ import annotations

import math
import os
import re
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from skgraded._input.words import object_array
from skgraded.datasets._files import (
    bunch,
    check_path,
    number_in,
    parsed,
    parsed_blocks,
    refuse_contradicting,
    repeats,
    sharing,
    shown,
)
from skgraded.datasets._lines import columns, tidied
from skgraded.datasets._texts import Growing, GrowingTexts, Texts, taken
from skgraded.datasets._words import mixed

if TYPE_CHECKING:
    from sklearn.utils import Bunch


@dataclass(frozen=True)
class Form:
    """The columns of a file."""

    kind: str
    columns: tuple[str, ...]
    number: str
    few: tuple[str, ...]  # columns of texts of which there are few


QRELS = Form("qrels", ("query", "iteration", "document", "grade"), "grade", ("query",))
RUN = Form(
    "a run", ("query", "Q0", "document", "rank", "score", "name"), "score", ("query", "name")
)


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
    return bunch(query=table.query, document=table.document, grade=table.numbers)


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
    return bunch(
        query=table.query, document=table.document, score=table.numbers, name=table.name
    )


@dataclass(frozen=True)
class Table:
    """The columns of a TREC file; queries and names as codes, for there are few."""

    source: str
    query_ids: np.ndarray
    query_codes: np.ndarray
    document: np.ndarray | Texts
    numbers: np.ndarray
    names: np.ndarray
    name_codes: np.ndarray | None
    no_rows: np.ndarray  # lines that became no row: blank ones, and judgments that are repeated

    @property
    def query(self):
        """The query of each row."""
        return taken(self.query_ids, self.query_codes)

    @property
    def name(self):
        """The last column of a run."""
        return taken(self.names, self.name_codes)

    def place(self, row):
        """Where a row, from 0, stood in the file."""
        return f"line {self.line(row)}"

    def line(self, row):
        """The lines of the file, from 1, that rows, from 0, were on."""
        n_rows_before = self.no_rows - np.arange(len(self.no_rows)) - 1
        return row + 1 + np.searchsorted(n_rows_before, row, side="right")


def read_judgments(path, progress=False, packed=False):
    """Read qrels; see `Table`. Negative grades become 0."""
    table = read_table(path, QRELS, progress, packed)
    negative = table.numbers < 0
    if negative.any():
        warnings.warn(
            f"{table.source}: {negative.sum()} of {len(negative)} grades are negative and "
            "became 0.",
            stacklevel=3,
        )
        table.numbers[negative] = 0
    return table


def read_table(path, form, progress=False, packed=False):
    """Read a TREC file block by block; see `Table`. Of packed ones the documents are `Texts`."""
    import pandas  # noqa: F401  # needed in the end: said before a large file is read

    source, path = path, check_path(path)
    codes: dict = {name: _Codes() for name in form.few}
    documents, found, blanks = GrowingTexts(), Growing(np.float64), []

    def parse(text, first):
        tidy, blank = tidied(text, first)
        blanks.append(blank)
        if tidy:
            block = columns(tidy, form)
            found.add(block.numbers)
            documents.add(*block.letters)
            for name, of_block in block.codes.items():
                codes[name].add(*of_block)

    for _ in parsed_blocks(
        source, path, form.kind, parse, lambda line: _problem(line, form), progress
    ):
        pass
    queries, names = codes["query"], codes.get("name", _Codes())
    if not queries.known:
        raise ValueError(f"{path}: the file holds no row: it is empty, or all blank lines.")
    suspects = sharing(mixed(documents.hashes(), queries.rows.array()))
    table = Table(
        path, queries.texts, queries.rows.array(),
        documents.texts() if packed else documents.objects(), found.array(),
        names.texts, names.rows.array(), np.concatenate(blanks),
    )
    return _without_repeats(table, form, suspects)


class _Codes:
    """Numbers for the texts of a column with few distinct ones, in order of appearance."""

    def __init__(self):
        self.known = {}
        self.rows = Growing(np.uint8)

    def add(self, numbers, texts):
        """Add the rows of a block, which has numbers of its own."""
        codes = [self.known.setdefault(text, len(self.known)) for text in texts]
        self.rows.add(np.array(codes, np.min_scalar_type(len(self.known)))[numbers])

    @property
    def texts(self):
        return object_array(list(self.known))


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

def _without_repeats(table, form, suspects):
    """The table, without judgments that repeat an earlier one; a run may repeat nothing."""
    rows, firsts = repeats(table.query_codes, table.document, suspects)
    if not len(rows):
        return table
    if form is QRELS:
        refuse_contradicting(table, table.query, rows, firsts)
        left = np.delete(np.arange(len(table.numbers)), rows)
        document = table.document
        return replace(
            table, query_codes=table.query_codes[left],
            document=document.take(left) if isinstance(document, Texts) else document[left],
            numbers=table.numbers[left], no_rows=np.union1d(table.no_rows, table.line(rows)),
        )
    row, first = rows[0], firsts[0]
    query = table.query_ids[table.query_codes[row]]
    raise ValueError(
        f"{table.source}: {table.place(row)}: query {query!r} has document "
        f"{table.document[row]!r} twice, first on {table.place(first)}."
    )
