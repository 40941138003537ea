"""Evaluation in batches on one machine; larger tables are written to temporary files."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from pyarrow import py_buffer

from skgraded._input.progress import counting_bar
from skgraded.large import parts
from skgraded.large.jobs import Job
from skgraded.large.sources import Batches, batches_of
from skgraded.reports.summary import Summary
from skgraded.reports.system_summaries import Summaries

# These constants affect speed and memory usage, but never the results.
ROWS = 2**18  # small batches are combined up to this number of rows, for speed
MAX_ROWS_IN_MEMORY = 2**21  # maximum number of rows in memory; larger tables are written to disk
MAX_QUERIES_IN_MEMORY = 2**18  # the same for per-query values
N_PIECES_OF_QUERIES = 8  # number of pieces on disk for per-query values
N_PIECES = 64  # number of pieces on disk for rows if their number is unknown
MIN_ROWS_PER_WRITE = 2**14  # minimum rows per piece in each write, on average
ROWS_PER_PIECE = 2**20  # rows; each piece must fit in memory
MIN_QUERIES = 2**16  # queries that are summed at once, because each sum of a segment takes long


def evaluate_in_steps(batches: Any, job: Job, progress: bool) -> Summary | Summaries:
    """Evaluate the batches of any source; see `evaluate_batches` and `batches_of`."""
    batches_by_place, n_rows = batches_of(batches, job, ROWS)
    with (
        closing(batches_by_place),  # after an error, closes files and streams at once
        counting_bar(progress, n_rows, unit=" rows", unit_scale=True) as show,
        # The file is created on disk when something is first written to it.
        tempfile.SpooledTemporaryFile(1, prefix="skgraded-") as file,
    ):
        pieces = _Pieces(file, n_rows, job)
        for item in _measure(batches_by_place, job, show):
            pieces.add(item)
        measured = (parts.measure_queries(items, job) for items in pieces.read())
        groups = parts.group_tables(enumerate(measured), MIN_QUERIES)
        report = parts.merge_sums(
            parts.sum_queries(parts.join_measured([part for _, part in group]), job)
            for group in groups
        )
    return parts.finish(report, job)


def _measure(batches: Batches, job: Job, show: Callable[[int], Any]) -> Iterator[Any]:
    """Yield the rows and per-query values of `measure_part`."""
    tables = ((place, parts.check_rows(batch, job, place)) for place, batch in batches)
    known = (pair for pair in tables if pair[1] is not None)
    for group in parts.group_tables(known, ROWS if job.partitioning == "clustered" else 0):
        first, last = group[0][0], group[-1][0]
        place = first if first == last else f"{first} to {last}"
        table = parts.join_rows([table for _, table in group])
        show(table.num_rows)
        yield from parts.measure_part(table, job, place)


class _Pieces:
    """Rows and per-query values, which are written to a file in pieces if they are many."""

    def __init__(self, file: Any, n_rows: int | None, job: Job) -> None:
        self._file, self._job = file, job
        self._items: list[Any] = []  # not written yet
        self._size = 0  # number of rows and queries in them
        n, self._limit = N_PIECES_OF_QUERIES, MAX_QUERIES_IN_MEMORY
        if job.partitioning == "shuffle":
            n = N_PIECES if n_rows is None else min(max(n_rows // ROWS_PER_PIECE, 8), 1024)
            self._limit = MAX_ROWS_IN_MEMORY
            if n_rows is not None and n_rows >= MAX_ROWS_IN_MEMORY:
                self._limit = min(max(ROWS, MIN_ROWS_PER_WRITE * n), MAX_ROWS_IN_MEMORY)
        # offset and size of each block
        self._places: list[list[tuple[int, int]]] = [[] for _ in range(n)]

    def add(self, item: Any) -> None:
        """Add an Arrow table of rows, or Measured."""
        self._items.append(item)
        self._size += item.num_rows
        if self._size >= self._limit:
            self._write()

    def _write(self) -> None:
        items, self._items, self._size = self._items, [], 0
        for number, piece in parts.split_items(items, len(self._places)):
            start = self._file.tell()
            parts.write_piece(self._file, piece)
            self._places[number].append((start, self._file.tell() - start))

    def read(self) -> Iterator[list[Any]]:
        """Yield the rows and per-query values of each piece."""
        if self._file.tell():
            self._write()
        if self._items:
            yield self._items
        for places in filter(None, self._places):
            yield [self._read(*place) for place in places]

    def _read(self, start: int, size: int) -> Any:
        self._file.seek(start)
        return parts.read_piece(py_buffer(self._file.read(size)))
