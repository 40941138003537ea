"""Rows of qrels or of a run, and the search for documents that a query has twice."""

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skgraded._input.needs import is_installed
from skgraded._input.queries import rows_by_query
from skgraded._input.words import object_array, plain, plain_list

PIECE = 1 << 14  # rows that are compared at a time, so that they fit into the cache


@dataclass(frozen=True)
class Rows:
    """Columns of qrels or of a run; the numbers are grades or scores."""

    source: str
    query_ids: np.ndarray
    query_codes: np.ndarray
    document: Any  # an array of objects, or pandas' array of Arrow's texts
    numbers: np.ndarray
    lines: np.ndarray | None = None  # of a file, from 1
    names: np.ndarray | None = None  # of a run in a file, and the number of each row's name
    name_codes: np.ndarray | None = None

    def query(self, row):
        """The query of a row, for errors."""
        return plain(self.query_ids[self.query_codes[row]])

    def place(self, row):
        """Where a row, from 0, was read, for errors."""
        return f"row {row}" if self.lines is None else f"line {self.lines[row]}"

    def without_repeats(self):
        """Leave out repeated judgments; raise if one has another grade."""
        rows, firsts = repeats(self.query_codes, self.document)
        other = np.flatnonzero(self.numbers[rows] != self.numbers[firsts])
        if len(other):
            row, first = rows[other[0]], firsts[other[0]]
            raise ValueError(
                f"{self.source}: {self.place(row)}: query {self.query(row)!r} has document "
                f"{plain(self.document[row])!r} with grade {self.numbers[row]:g}, and with grade "
                f"{self.numbers[first]:g} before ({self.place(first)}): keep one of them."
            )
        if not len(rows):
            return self
        left = np.delete(np.arange(len(self.numbers)), rows)
        return replace(
            self, query_codes=self.query_codes[left], document=self.document[left],
            numbers=self.numbers[left], lines=None if self.lines is None else self.lines[left],
        )

    def refuse_repeats(self):
        """Raise if a query has a document twice."""
        for row, first in zip(*repeats(self.query_codes, self.document), strict=True):
            raise ValueError(
                f"{self.source}: {self.place(row)}: query {self.query(row)!r} has document "
                f"{self.document[row]!r} twice, first {'in' if self.lines is None else 'on'} "
                f"{self.place(first)}."
            )


def numbered(values):
    """Number values in order of first appearance: the number of each, and the distinct values.

    pandas hashes them if it is installed; Python takes about three times as long.
    """
    if is_installed("pandas"):
        import pandas as pd

        return pd.factorize(values, use_na_sentinel=False)
    known: dict = {}
    codes = [known.setdefault(value, len(known)) for value in plain_list(values)]
    return np.array(codes, dtype=np.intp), object_array(list(known))


class Positions:
    """Positions of known distinct values, which may be tuples; uses pandas if it is installed."""

    def __init__(self, known, dtype=object):
        self._dtype = dtype
        if is_installed("pandas"):
            self._index = self._as_index(known)
        else:
            self._position_of = {value: i for i, value in enumerate(plain_list(known))}

    def _as_index(self, values):
        import pandas as pd

        return pd.Index(values, dtype=self._dtype, tupleize_cols=False)

    def find(self, values):
        """The position of each value, -1 where it is unknown."""
        if hasattr(self, "_index"):
            return self._index.get_indexer(self._as_index(values))
        positions = [self._position_of.get(value, -1) for value in plain_list(values)]
        return np.array(positions, dtype=np.intp)


def repeats(query_codes, document):
    """Rows whose query had their document before, in order, and the first row that had it."""
    query_codes = query_codes.astype(np.intp)
    order, starts = rows_by_query(query_codes, query_codes.max() + 1)
    if order is not None:
        query_codes, document = query_codes[order], document[order]
    # Each piece is compared alone. It consists of whole queries.
    pieces = np.searchsorted(starts, np.arange(0, starts[-1] + PIECE, PIECE))
    bounds = np.unique(starts[np.minimum(pieces, len(starts) - 1)]).tolist()
    found = [np.empty((2, 0), dtype=np.intp)]
    for first, last in itertools.pairwise(bounds):
        codes, known = numbered(document[first:last])
        keys = query_codes[first:last] * len(known) + codes
        ordered = np.sort(keys)
        if (ordered[1:] == ordered[:-1]).any():
            _, firsts, inverse = np.unique(keys, return_index=True, return_inverse=True)
            later = np.flatnonzero(firsts[inverse] < np.arange(len(keys)))
            found.append(np.stack([later, firsts[inverse[later]]]) + first)
    rows = np.concatenate(found, axis=1)
    rows = rows if order is None else order[rows]
    return rows[:, np.argsort(rows[0])]
