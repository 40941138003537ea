"""Entries of qrels and runs, and detection of repeated documents."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from skgraded._input.door import make_object_array, plain, to_plain_list
from skgraded._input.messages import counted, warn_user
from skgraded._input.queries import sort_by_query

PIECE = 1 << 14  # approximate number of rows per piece; a piece fits in the CPU cache
FEW = 1000  # up to this number of values, a dict is faster than a pandas Index


@dataclass(frozen=True)
class Entries:
    """Columns of qrels or a run, one row per query and document; `numbers` are grades or scores."""

    source: str
    query_ids: np.ndarray
    query_codes: np.ndarray
    document: Any  # an object array, or a pandas array of Arrow strings
    numbers: np.ndarray
    lines: np.ndarray | None = None  # line numbers in the file, from 1
    names: np.ndarray | None = None  # distinct names in a file of runs
    name_codes: np.ndarray | None = None  # position in `names` of each row's name
    ranks: np.ndarray | None = None  # the rank column of a run, used only by `warn_of_ranks`
    are_distinct: bool = False  # whether documents are known to be distinct in each query

    def query(self, row: int) -> Any:
        """Return the query of a row for an error message."""
        return plain(self.query_ids[self.query_codes[row]])

    def pair(self, row: int) -> str:
        """Return the document and the query of a row for an error message."""
        return f"document {plain(self.document[row])!r:.100} of query {self.query(row)!r:.100}"

    def place(self, row: int) -> str:
        """Return the line number or, if it is unknown, the row number for an error message."""
        return name_rows(self.lines)(row)

    def check(self, side: str, allow_empty: bool = False) -> Self:
        """Check the rows of qrels or a run; drop judgments that are repeated or have no grade."""
        if not allow_empty and len(self.numbers) == 0:
            raise ValueError(f"{self.source} is empty: it contains no documents.")
        if side == "run":
            return self.refuse_missing_scores().refuse_repeats().warn_of_ranks()
        entries = self.drop_missing_grades().drop_repeats()
        entries.warn_of_negative()
        return entries

    def drop_missing_grades(self) -> Self:
        """Drop judgments without a grade, and warn; raise an error if no grade is left."""
        is_missing = np.isnan(self.numbers)
        if not is_missing.any():
            return self
        row = int(is_missing.argmax())
        first = f"the first is {self.place(row)} ({self.pair(row)})."
        if is_missing.all():
            raise ValueError(f"{self.source}: no row contains a grade; {first}")
        warn_user(
            f"{self.source}: {is_missing.sum()} of {len(is_missing)} rows contain no grade and are "
            f"left out; {first}"
        )
        entries = self.without(np.flatnonzero(is_missing))
        codes, used = number_values(entries.query_codes)
        return replace(entries, query_codes=codes, query_ids=self.query_ids[used])

    def refuse_missing_scores(self) -> Self:
        """Raise an error that names the first document without a score, if any."""
        is_missing = np.isnan(self.numbers)
        if is_missing.any():
            row = int(is_missing.argmax())
            raise ValueError(
                f"{self.source} must not contain missing scores or NaN; got nan for "
                f"{self.place(row)}, {self.pair(row)}. If the document was not retrieved, leave it "
                "out. If it was retrieved without a score, use -rank as the score."
            )
        return self

    def drop_repeats(self) -> Self:
        """Drop repeated judgments; raise an error if a document has two grades for a query."""
        rows, firsts = self.find_repeats()
        other = np.flatnonzero(self.numbers[rows] != self.numbers[firsts])
        if len(other):
            row, first = rows[other[0]], firsts[other[0]]
            raise ValueError(
                f"{self.source}: {self.place(row)}: {self.pair(row)} has grade "
                f"{self.numbers[row]:g}, but it has grade {self.numbers[first]:g} "
                f"at {self.place(first)}: keep only one of the grades."
            )
        return self.without(rows)

    def find_repeats(self) -> np.ndarray:
        """Return rows that repeat an earlier row's query and document, and the earlier rows."""
        if self.are_distinct:
            return np.empty((2, 0), dtype=np.intp)
        query_codes, document = self.query_codes.astype(np.intp), self.document
        order, starts = sort_by_query(query_codes, int(query_codes.max(initial=-1)) + 1)
        if order is not None:
            query_codes, document = query_codes[order], document[order]
        if isinstance(document, np.ndarray) and document.dtype == object:  # fast path
            ids, bounds = document.tolist(), itertools.pairwise(starts.tolist())
            if all(len(set(ids[first:last])) == last - first for first, last in bounds):
                return np.empty((2, 0), dtype=np.intp)
        # Pieces contain whole queries, so each piece can be searched for duplicates separately.
        pieces = np.searchsorted(starts, np.arange(0, starts[-1] + PIECE, PIECE))
        bounds = np.unique(starts[np.minimum(pieces, len(starts) - 1)]).tolist()
        repeated = [np.empty((2, 0), dtype=np.intp)]
        for first, last in itertools.pairwise(bounds):
            codes, known = number_values(document[first:last])
            keys = query_codes[first:last] * len(known) + codes
            repeated.append(find_repeated_keys(keys) + first)
        rows = np.concatenate(repeated, axis=1)
        rows = rows if order is None else order[rows]
        return rows[:, np.argsort(rows[0])]

    def drop_identical_ids(self) -> Self:
        """Drop the documents whose id equals the id of their query; all queries are kept."""
        query = make_finder(self.query_ids)(np.asarray(self.document, dtype=object))
        return self.without(np.flatnonzero(query == self.query_codes))

    def without(self, rows: np.ndarray) -> Self:
        """Drop the rows at some positions."""
        if not len(rows):
            return self
        kept = np.delete(np.arange(len(self.numbers)), rows)
        of_rows = ("query_codes", "document", "numbers", "lines", "name_codes", "ranks")
        columns = {name: getattr(self, name) for name in of_rows}
        known = {name: values[kept] for name, values in columns.items() if values is not None}
        return replace(self, **known)

    def lift_infinite_scores(self) -> np.ndarray:
        """Return the scores, with -inf replaced by a number below all other scores of the query.

        In a run, as in trec_eval, a document with the score -inf was retrieved and ranks last. In
        joined rows, however, -inf means "not retrieved".
        """
        scores, is_last = self.numbers, self.numbers == -np.inf
        if not is_last.any():
            return scores
        lowest = np.full(len(self.query_ids), np.inf)
        np.minimum.at(lowest, self.query_codes[~is_last], scores[~is_last])
        below = np.minimum(lowest - 1, np.nextafter(lowest, -np.inf))  # if -1 is lost in rounding
        below = np.where(np.isinf(lowest), 0.0, np.maximum(below, np.finfo(float).min))
        return np.where(is_last, below[self.query_codes], scores)

    def warn_of_negative(self) -> None:
        """Warn about negative grades, which mean "not judged" in trec_eval."""
        is_negative = self.numbers < 0
        if is_negative.any():
            row = int(np.argmax(is_negative))
            warn_user(
                f"{self.source}: {is_negative.sum()} of {len(is_negative)} grades are negative, "
                f'which means "not judged"; the first is {self.numbers[row]:g} for '
                f"{self.pair(row)}. Measures that accept unjudged documents receive NaN for them, "
                "and all other measures receive 0. If these are grades on a scale below 0, "
                "subtract the grade that means irrelevant."
            )

    def warn_of_ranks(self) -> Self:
        """Warn if ranks increase from row to row within each query, but scores never decrease."""
        if self.ranks is None:
            return self
        codes, ranks, scores = self.query_codes, self.ranks, self.numbers
        rows = np.flatnonzero(codes[1:] == codes[:-1])
        falls, rises = scores[rows + 1] < scores[rows], scores[rows + 1] > scores[rows]
        if not len(rows) or falls.any() or not (ranks[rows + 1] > ranks[rows]).all():
            return self
        what = "scores are equal, although ranks differ,"
        if rises.any():
            what = "scores rise with the rank column or are equal"
        n_queries = counted(len(np.unique(codes[rows])), "query", "queries")
        warn_user(
            f"{self.source}: {what} in every query with two or more documents ({n_queries}). "
            "Documents are ranked by score, as in trec_eval, and the rank column is ignored. If lower "
            "scores are better, as for distances, negate them. If the ranks are right, use -rank as "
            "the score."
        )
        return self

    def refuse_repeats(self) -> Self:
        """Raise an error if a query contains the same document twice."""
        for row, first in zip(*self.find_repeats(), strict=True):
            raise ValueError(
                f"{self.source}: {self.place(row)}: query {self.query(row)!r:.100} already contains "
                f"document {plain(self.document[row])!r:.100} at {self.place(first)}."
            )
        return self


def name_rows(lines: np.ndarray | None) -> Callable[[int], str]:
    """Return a function that names a row by its line or, if `lines` is None, by its position."""
    return "row {}".format if lines is None else lambda row: f"line {lines[row]}"


def make_empty_run(source: str) -> Entries:
    """Return the Entries of a run without documents."""
    no_ids, no_rows = make_object_array([]), np.array([], dtype=np.intp)
    return Entries(source, no_ids, no_rows, no_ids, no_rows.astype(float), no_rows)


def number_values(values: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return the code of each value, and the distinct values in order of first appearance."""
    import pandas as pd

    return pd.factorize(values, use_na_sentinel=False)


def make_finder(known: np.ndarray, dtype: type = object) -> Callable[[Any], np.ndarray]:
    """Return a function that finds the positions of values in `known`; -1 for unknown values."""
    if len(known) > FEW:
        import pandas as pd

        as_index = partial(pd.Index, dtype=dtype, tupleize_cols=False)
        index = as_index(known)
        return lambda values: index.get_indexer(as_index(values))
    position_of = {value: i for i, value in enumerate(to_plain_list(known))}
    return lambda values: np.array(
        [position_of.get(value, -1) for value in to_plain_list(values)], dtype=np.intp
    )


def find_repeated_keys(keys: np.ndarray) -> np.ndarray:
    """Return rows whose key occurs in an earlier row and, for each, the first row with its key."""
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():  # much faster than np.unique
        return np.empty((2, 0), dtype=np.intp)
    _, firsts, inverse = np.unique(keys, return_index=True, return_inverse=True)
    later = np.flatnonzero(firsts[inverse] < np.arange(len(keys)))
    return np.stack([later, firsts[inverse[later]]])
