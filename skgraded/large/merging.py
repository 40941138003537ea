"""Merging of results from the chunks of a table, with detection of split queries."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skgraded._input import arrow, arrow_strings
from skgraded._input.words import plain_list
from skgraded.large import parts
from skgraded.large.jobs import Job
from skgraded.reports.summary import Summary, merged_in_order
from skgraded.reports.system_summaries import Summaries

MERGE_SIZE = 16  # number of results merged by each task


@dataclass
class Result:
    """The merged result of several chunks: sums over queries, and what reveals split queries."""

    sums: Summary | Summaries | None  # None for per-query values
    marks: list[tuple[str, np.ndarray]]  # name of each chunk, and a 64-bit key per query in it
    edges: list[Any]  # validated rows of queries that may continue in another chunk
    types: frozenset[tuple[str, str]]  # pairs (argument, type) of ids and segments

    @classmethod
    def of(cls, measured: parts.Measured, job: Job, with_sums: bool = True) -> "Result":
        """Return the result of one chunk."""
        sums = parts.summed([measured], job) if with_sums else None
        marks = [] if measured.place is None else [(measured.place, measured.marks)]
        return cls(sums, marks, [measured.edges], measured.types)

    @classmethod
    def merge(cls, *results: "Result") -> "Result":
        """Merge the results of several chunks in the given order."""
        total = cls(None, [], [], frozenset())
        for result in results:
            total.add(result)
        return total

    def add(self, other: "Result") -> None:
        """Merge the result of the next chunks into this result in place."""
        sums = [sums for sums in (self.sums, other.sums) if sums is not None]
        self.sums = merged_in_order(sums) if sums else None
        self.marks += other.marks
        self.edges += other.edges
        self.types |= other.types

    def measure_edges(self, job: Job, ids_of: Callable[[int], Any]) -> parts.Measured:
        """Check that no query is split, and evaluate the first and last queries of all chunks.

        `ids_of` returns the query ids of the chunk with a given index; see `refuse_split`.
        """
        parts.refuse_other_types(self.types)
        rows = parts.joined(self.edges)
        edges = parts.measure_together(rows, job, parts.EDGES)
        n_parts = len(self.marks)
        refuse_split(
            [*self.marks, (parts.EDGES, edges.marks)],
            lambda i: edges.query_ids if i == n_parts else ids_of(i),
        )
        return edges

    def shared_marks(self) -> np.ndarray:
        """Return the keys that occur in several chunks or among their first and last queries."""
        edges = [arrow.marks_of_rows(rows[parts.QUERY]) for rows in self.edges if rows is not None]
        return _repeated([*(marks for _, marks in self.marks), *map(np.unique, edges)])

    def finished(self, job: Job, ids_of: Callable[[int], Any]) -> Summary | Summaries:
        """Check that no query is split, and return the sums over all queries of all chunks."""
        edges = self.measure_edges(job, ids_of)
        sums = merged_in_order([self.sums, parts.summed([edges], job)])
        return parts.finished(sums, job)


def merge_in_tree(
    measured: Iterable[Any], job: Job, submit: Callable[..., Any], with_sums: bool = True
) -> Any:
    """Return a task that merges the results of all chunks, given the tasks that evaluate them.

    `submit` creates a task from a function and its arguments, which may be other tasks.
    """
    results = [submit(Result.of, part, job, with_sums) for part in measured]
    while len(results) > 1:
        groups = [results[i : i + MERGE_SIZE] for i in range(0, len(results), MERGE_SIZE)]
        results = [submit(Result.merge, *group) for group in groups]
    return results[0]


def _repeated(chunks: Iterable[np.ndarray]) -> np.ndarray:
    """Return the keys that occur more than once, in ascending order."""
    marks = np.concatenate([np.empty(0, dtype=np.uint64), *chunks])
    marks.sort()
    return np.unique(marks[1:][marks[1:] == marks[:-1]])


def refuse_split(
    chunks: Sequence[tuple[str | None, np.ndarray]], ids_of: Callable[[int], Any]
) -> None:
    """If two chunks share a query, raise a ValueError that names the query and both chunks.

    `chunks` contains the name and the query keys of each chunk. `ids_of` returns the query ids of
    the chunk with a given index, at least those with a repeated key; it may read the chunk again.
    """
    repeated = _repeated([marks for _, marks in chunks])
    if not len(repeated):
        return
    # Two different ids, also in one chunk, may have the same key.
    within = [np.unique(marks[np.isin(marks, repeated)]) for _, marks in chunks]
    shared = _repeated(within)
    chunk_of: dict[Any, int] = {}  # keyed by query id
    marks_of_ids = []
    for i, marks in enumerate(within):
        if not np.isin(marks, shared).any():
            continue
        ids = ids_of(i)
        marks = arrow_strings.marks(ids)
        rows = np.flatnonzero(np.isin(marks, shared))
        marks_of_ids.append(marks[rows])
        for query in plain_list(ids[rows]):
            first = chunk_of.setdefault(query, i)
            if first != i:
                raise parts.split_error(query, chunks[first][0], chunks[i][0]) from None
    for mark in np.setdiff1d(shared, _repeated(marks_of_ids)):  # rows changed between reads
        places = [name for name, marks in chunks if (marks == mark).any()]
        raise parts.split_error(None, *places[:2])
