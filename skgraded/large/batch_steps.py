"""Evaluation in batches on one machine; larger tables are written to temporary files."""

import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import Any

from pyarrow import py_buffer

from skgraded._input.arrow import first_of_last, write_batch
from skgraded._input.progress import counting_bar
from skgraded.large import parts
from skgraded.large.jobs import Job
from skgraded.large.merging import Result, refuse_split
from skgraded.large.shuffle import pieces_of, unpacked
from skgraded.large.sources import Batches, Skipped, batches_of
from skgraded.reports.summary import Summary
from skgraded.reports.system_summaries import Summaries

# These constants affect speed and memory usage, but never the results.
ROWS = 2**18  # small batches are combined up to this number of rows, for speed
MAX_ROWS_IN_MEMORY = 2**21  # maximum number of rows in memory; larger tables are written to disk
N_PIECES = 64  # number of pieces on disk for tables with an unknown number of rows
MIN_ROWS_PER_WRITE = 2**14  # minimum rows per piece in each write, on average
ROWS_PER_PIECE = 2**20  # rows; each piece must fit in memory
MAX_BYTES_OF_IDS = 2**24  # size in bytes above which query ids are moved to disk


def evaluate_in_steps(
    batches: Any, job: Job, progress: bool, skipped: Skipped | None
) -> Summary | Summaries:
    """Evaluate the batches of any source; see `evaluate_batches` and `batches_of`."""
    batches_by_place, n_rows = batches_of(batches, job, ROWS, skipped)
    with (
        closing(batches_by_place),  # after an error, closes files and streams at once
        counting_bar(progress, n_rows, unit=" rows", unit_scale=True) as show,
    ):
        tables = _cleaned(batches_by_place, job, show)
        if job.partitioning == "shuffle":
            report = parts.finished(_shuffled(tables, n_rows, job), job)
        else:
            report = _in_order(tables, job)
    return replace(report, skipped=skipped) if skipped else report


# Validating batches ------------------------------------------------------------------------------


def _cleaned(batches: Batches, job: Job, show: Callable[[int], Any]) -> Batches:
    """Yield the name and the validated table of each nonempty batch."""
    first: Any = None
    for place, batch in batches:
        table = parts.clean(batch, job, place)
        if table is None:
            continue
        types = dict(parts.types_of(table))
        first = first or types
        for argument in first:
            if types[argument] != first[argument]:
                raise TypeError(
                    f"{argument} must have the same type in all batches; got {types[argument]} in "
                    f"{place}, but {first[argument]} in earlier batches."
                )
        show(table.num_rows)
        yield place, table


# Contiguous queries ------------------------------------------------------------------------------


def _in_order(tables: Batches, job: Job) -> Summary | Summaries:
    """Evaluate tables of whole queries; only 8 bytes per query are kept in memory."""
    if job.partitioning == "clustered":
        tables = _clustered(tables)
    total = Result(None, [], [], frozenset())
    starts: list[int] = []  # position of each table's query ids in the file
    with _closing(tempfile.SpooledTemporaryFile(MAX_BYTES_OF_IDS)) as file:

        def ids_of(i: int) -> Any:
            file.seek(starts[i])
            return pickle.load(file)

        def results() -> Iterator[parts.Measured]:
            yield parts.measure_together(None, job)
            for place, table in tables:
                measured = parts.measure_together(table, job, place)
                total.add(Result.of(measured, job, with_sums=False))
                with _disk_errors("writing query ids"):
                    starts.append(file.tell())
                    pickle.dump(measured.query_ids, file, protocol=pickle.HIGHEST_PROTOCOL)
                    file.flush()  # otherwise, a later statement could raise the error
                yield measured

        try:
            total.sums = parts.summed(results(), job)
        except ValueError:
            refuse_split(total.marks, ids_of)  # if a query is split, this error helps more
            raise
        return total.finished(job, ids_of)


@contextmanager
def _closing(file: Any) -> Iterator[Any]:
    """Close a temporary file, ignoring errors: closing repeats a failed write."""
    try:
        yield file
    finally:
        with suppress(OSError):
            file.close()


def _clustered(validated: Batches) -> Batches:
    """Yield tables of whole queries by moving the last query of each table to the next table."""
    rest, place = None, ""
    for places, tables in parts.gathered(validated, ROWS):
        first, last = places[0], places[-1]
        place = first if first == last else f"{first} to {last}"
        table = parts.joined([rest, *tables])
        _, start = first_of_last(table[parts.QUERY])
        yield place, table.slice(0, start)
        rest = table.slice(start)
    yield place, rest


# Rows in any order -------------------------------------------------------------------------------


def _shuffled(validated: Batches, n_rows: int | None, job: Job) -> Summary | Summaries:
    """Evaluate rows in any order, in memory or, if there are many rows, from pieces on disk."""
    # A spooled file of at least one byte is on disk; until then, there is no file.
    with _closing(tempfile.SpooledTemporaryFile(1, prefix="skgraded-")) as file:
        pieces = _Pieces(file, n_rows)
        may_fit = n_rows is None or n_rows < MAX_ROWS_IN_MEMORY
        n_gathered = MAX_ROWS_IN_MEMORY if may_fit else pieces.rows_per_write
        for _, tables in parts.gathered(validated, n_gathered):
            table = parts.joined(tables)
            if may_fit and not file.tell() and table.num_rows < MAX_ROWS_IN_MEMORY:
                return parts.summed([parts.measure_together(table, job)], job)
            pieces.write(table)
            del tables, table  # free memory before the next rows are read
        return parts.summed((parts.measure_together(table, job) for table in pieces.read()), job)


class _Pieces:
    """Temporary file that stores rows in pieces of whole queries."""

    def __init__(self, file: Any, n_rows: int | None) -> None:
        self._file = file
        n = N_PIECES if n_rows is None else min(max(n_rows // ROWS_PER_PIECE, 8), 1024)
        # offset and size of each block
        self._places: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        self.rows_per_write = min(max(ROWS, MIN_ROWS_PER_WRITE * n), MAX_ROWS_IN_MEMORY)

    def write(self, table: Any) -> None:
        """Append the rows of a validated table to the pieces, in blocks that reuse memory."""
        for first in range(0, table.num_rows, self.rows_per_write):
            rows = table.slice(first, self.rows_per_write)
            with _disk_errors("writing rows for partitioning='shuffle'"):
                for number, piece in pieces_of(rows, len(self._places)):
                    start = self._file.tell()
                    write_batch(self._file, piece)
                    self._places[number].append((start, self._file.tell() - start))
                self._file.flush()

    def read(self) -> Iterator[Any]:
        """Yield each piece as a table."""
        return (unpacked(map(self._read, places)) for places in self._places)

    def _read(self, place: tuple[int, int]) -> Any:
        start, size = place
        self._file.seek(start)
        return py_buffer(self._file.read(size))


@contextmanager
def _disk_errors(action: str) -> Iterator[None]:
    """Extend a disk error: state what was being written and how to avoid the error."""
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno,
            f"Error while {action} to {tempfile.gettempdir()}: "
            f"{os.strerror(error.errno or 5)}. Set TMPDIR to a folder on a larger disk, or sort "
            "the rows by query and use partitioning='clustered'.",
        ) from None
