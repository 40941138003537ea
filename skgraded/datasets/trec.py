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
from skgraded.datasets.rows import Rows
from skgraded.datasets.text_files import (
    bunch,
    check_path,
    number_in,
    parsed,
    parsed_blocks,
    shown,
)
from skgraded.datasets.word_columns import Form, columns, tidied

if TYPE_CHECKING:
    from sklearn.utils import Bunch


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
    return read_qrels_table(path, progress).bunch("grade")


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
    table = read_run_table(path, progress)
    return table.bunch("score", name=table.names[table.name_codes])


@dataclass(frozen=True)
class Table(Rows):
    """The columns of a TREC file; queries and names as codes, since few are distinct."""

    names: np.ndarray | None
    name_codes: np.ndarray | None
    no_rows: np.ndarray  # lines that became no row: blank ones, and repeated judgments

    def place(self, row):
        """The line of a row, for errors."""
        return f"line {self.line(row)}"

    def line(self, row):
        """The lines of the file, from 1, that contain rows, from 0."""
        n_rows_before = self.no_rows - np.arange(len(self.no_rows)) - 1
        return row + 1 + np.searchsorted(n_rows_before, row, side="right")

    def drop(self, rows):
        """Leave out some rows of qrels."""
        return replace(super().drop(rows), no_rows=np.union1d(self.no_rows, self.line(rows)))

    def bunch(self, number, **more):
        """What the public readers return; the numbers are named."""
        return bunch(
            query=self.query_ids[self.query_codes],
            document=np.asarray(self.document, dtype=object), **{number: self.numbers}, **more,
        )


def read_qrels_table(path, progress=False):
    """Read qrels; negative grades become 0, and judgments that repeat others are left out."""
    table = _read_table(path, QRELS, progress).without_repeats()
    negative = table.numbers < 0
    if negative.any():
        warnings.warn(
            f"{table.source}: {negative.sum()} of {len(negative)} grades are negative and "
            "became 0.",
            stacklevel=3,
        )
        table.numbers[negative] = 0
    return table


def read_run_table(path, progress=False):
    """Read a run, in which no query may have a document twice."""
    table = _read_table(path, RUN, progress)
    table.refuse_repeats()
    return table


def _read_table(path, form, progress):
    """Read a TREC file block by block."""
    import pandas  # noqa: F401  # imported first, so that the error comes before a long reading

    def parse(text, first):
        tidy, blank_lines = tidied(text, first)
        return columns(tidy, form) if tidy else None, blank_lines

    name = check_path(path)
    parsed_texts = list(parsed_blocks(
        path, name, form.kind, parse, lambda line: _problem(line, form), progress
    ))
    blocks = [block for block, _ in parsed_texts if block]
    if not blocks:
        raise ValueError(f"{name}: the file holds no row: it is empty, or all blank lines.")
    query_ids, query_codes = _numbered(blocks, "query")
    names, name_codes = _numbered(blocks, "name") if form is RUN else (None, None)
    return Table(
        name, query_ids, query_codes, _documents(blocks),
        np.concatenate([block.numbers for block in blocks]), names, name_codes,
        np.array([line for _, blank_lines in parsed_texts for line in blank_lines], dtype=np.intp),
    )


def _numbered(blocks, column):
    """Distinct texts of a column in order of appearance, and the number of each row's text."""
    known: dict = {}
    codes = []
    for block in blocks:
        rows, texts = block.codes[column]
        numbers = [known.setdefault(text, len(known)) for text in texts]
        codes.append(np.array(numbers, np.min_scalar_type(len(known)))[rows])
    return object_array(list(known)), np.concatenate(codes)


def _documents(blocks):
    pieces = [block.document for block in blocks]
    if isinstance(pieces[0], np.ndarray):
        return np.concatenate(pieces)
    from skgraded.datasets.arrow_csv import joined

    return joined(pieces)


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
