"""Evaluation of tables larger than memory, in batches on one machine."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, Unpack

from skgraded._input.needs import needs
from skgraded._input.progress import counting_bar
from skgraded.large import jobs, parts
from skgraded.large.jobs import DEFAULT_MEASURES, Job, Measures, Settings
from skgraded.large.merging import Result
from skgraded.large.shuffle import pieces_of, unpacked
from skgraded.large.sources import batches_of
from skgraded.large.system_summaries import Summaries
from skgraded.reports.summary import Summary

# These constants affect speed and memory usage, but never the results.
ROWS = 2**18  # small batches are combined up to this number of rows, for speed
MAX_ROWS_IN_MEMORY = 2**21  # maximum number of rows in memory; larger tables are written to disk
N_PIECES = 64  # number of pieces on disk for tables with an unknown number of rows
MIN_ROWS_PER_WRITE = 2**14  # minimum rows per piece in each write, on average
ROWS_PER_PIECE = 2**20  # rows; each piece must fit in memory
MAX_BYTES_OF_IDS = 2**24  # size in bytes above which query ids are moved to disk


@jobs.entry_point(Settings, jobs.RETURNS)
def evaluate_batches(
    batches: Any, y_true: str, y_score: str | list[str], qid: str,
    measures: Measures = DEFAULT_MEASURES, *, progress: bool = False, **settings: Unpack[Settings],
) -> Summary | Summaries:
    """Evaluate a table of any size in batches on one machine.

    Parameters
    ----------
    batches : table, iterable of tables, str or Path
        A table may be a pandas or polars frame or any object that supports Arrow's C stream
        (``__arrow_c_stream__``), such as an Arrow table or a DuckDB relation. A pyarrow Dataset, a
        polars LazyFrame or a DuckDB relation is read in batches. A path names a Parquet or CSV file
        or a folder, or is a pattern such as ``"scores/*.parquet"``. Files are read in natural
        order: ``part-2`` before ``part-10``. Files ending in ``.csv`` or ``.tsv`` are text, also
        if they are compressed (``.csv.gz``, ``.bz2`` or ``.xz``). In text files, query ids and
        segments are text, so ``007`` and ``7`` differ. Other files are Parquet.
    progress : bool, default=False
        Show a progress bar in a terminal or notebook; requires tqdm.

    Raises
    ------
    ValueError, TypeError
        If the input is invalid; the message names the batch and the row within it. Also if the rows
        are not arranged as `partitioning` states; the message names a query.
    OSError
        If the temporary file does not fit on the disk; the file is then removed.

    Notes
    -----
    With "clustered" and "whole", memory use grows by only 8 bytes per query. With "shuffle", tables
    with more than 2 million rows are written to a temporary file (in ``TMPDIR``), in pieces of
    whole queries that are evaluated one by one. The file is about as large as the columns are in
    memory. With "whole", each batch or file must contain whole queries.

    Examples
    --------
    >>> import pandas as pd
    >>> import skgraded as sg
    >>> day = pd.DataFrame({"grade": [1, 0, 0, 1], "bm25": [2, 1, 2, 1], "query": list("aabb")})
    >>> sg.evaluate_batches([day[:1], day[1:3], day[3:]], "grade", "bm25", "query", measures="rr")
    Summary(2 queries: RR=0.7500)
    """
    with needs("evaluate_batches", "pyarrow"):
        import pyarrow  # noqa: F401
    job = jobs.check_job(y_true, y_score, qid, measures, **settings, shipped=False)
    batches_by_place, n_rows = batches_of(batches, job, ROWS)
    with (
        closing(batches_by_place),  # after an error, closes files and streams at once
        counting_bar(progress, n_rows, unit=" rows", unit_scale=True) as show,
    ):
        if job.partitioning == "shuffle":
            return parts.finished(_shuffled(batches_by_place, n_rows, job, show), job)
        return _in_order(batches_by_place, job, show)


# Validating batches ------------------------------------------------------------------------------

def _cleaned(
    batches: Iterable[tuple[str, Any]], job: Job, show: Callable[[int], Any]
) -> Iterator[tuple[str, Any]]:
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

def _in_order(
    batches: Iterable[tuple[str, Any]], job: Job, show: Callable[[int], Any]
) -> Summary | Summaries:
    """Evaluate tables of whole queries; only 8 bytes per query are kept in memory."""
    is_clustered = job.partitioning == "clustered"
    tables = (_clustered if is_clustered else _cleaned)(batches, job, show)
    total = Result(None, [], [], frozenset())
    starts: list[int] = []  # position of each table's query ids in the file
    with _closing(tempfile.SpooledTemporaryFile(MAX_BYTES_OF_IDS)) as file:
        def ids_of(i: int) -> Any:
            file.seek(starts[i])
            return pickle.load(file)

        def results() -> Iterator[parts.Measured]:
            yield parts.measure_together(None, job)
            for place, table in tables:
                measured = parts.measure_together(table, job, place, is_clustered)
                total.add(Result.of(measured, job, with_sums=False), job)
                with _disk_errors("writing query ids"):
                    starts.append(file.tell())
                    pickle.dump(measured.query_ids, file, protocol=pickle.HIGHEST_PROTOCOL)
                    file.flush()  # otherwise, a later statement could raise the error
                yield measured

        total.sums = parts.summed(results(), job)
        return total.finished(job, ids_of)


@contextmanager
def _closing(file: Any) -> Iterator[Any]:
    """Close a temporary file, ignoring errors: closing repeats a failed write."""
    try:
        yield file
    finally:
        with suppress(OSError):
            file.close()


def _clustered(
    batches: Iterable[tuple[str, Any]], job: Job, show: Callable[[int], Any]
) -> Iterator[tuple[str, Any]]:
    """Yield tables of whole queries by moving the last query of each table to the next table."""
    from skgraded._input.arrow import first_of_last

    rest, place = None, ""
    for places, tables in parts.gathered(_cleaned(batches, job, show), ROWS):
        first, last = places[0], places[-1]
        place = first if first == last else f"{first} to {last}"
        table = parts.joined([rest, *tables])
        _, start = first_of_last(table[parts.QUERY])
        yield place, table.slice(0, start)
        rest = table.slice(start)
    yield place, rest


# Rows in any order -------------------------------------------------------------------------------

def _shuffled(
    batches: Iterable[tuple[str, Any]], n_rows: int | None, job: Job, show: Callable[[int], Any]
) -> Summary | Summaries:
    """Evaluate rows in any order, in memory or, if there are many rows, from pieces on disk."""
    with closing(_Pieces(n_rows)) as pieces:
        may_fit = n_rows is None or n_rows < MAX_ROWS_IN_MEMORY
        n_gathered = MAX_ROWS_IN_MEMORY if may_fit else pieces.rows_per_write
        for _, tables in parts.gathered(_cleaned(batches, job, show), n_gathered):
            table = parts.joined(tables)
            if may_fit and pieces.file is None and table.num_rows < MAX_ROWS_IN_MEMORY:
                return parts.summed([parts.measure_together(table, job)], job)
            pieces.write(table)
            del tables, table  # free memory before the next rows are read
        return parts.summed((parts.measure_together(table, job) for table in pieces.read()), job)


class _Pieces:
    """Temporary file that stores rows in pieces of whole queries."""

    def __init__(self, n_rows: int | None) -> None:
        n = N_PIECES if n_rows is None else min(max(n_rows // ROWS_PER_PIECE, 8), 1024)
        # offset and size of each block
        self._places: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        self.file: Any = None  # created by the first write
        self.rows_per_write = min(max(ROWS, MIN_ROWS_PER_WRITE * n), MAX_ROWS_IN_MEMORY)

    def close(self) -> None:
        """Close and remove the file."""
        if self.file is not None:
            with _closing(self.file):
                pass

    def write(self, table: Any) -> None:
        """Append the rows of a validated table to the pieces, in blocks that reuse memory."""
        for start in range(0, table.num_rows, self.rows_per_write):
            self._write(table.slice(start, self.rows_per_write))

    def _write(self, table: Any) -> None:
        from skgraded._input.arrow import write_batch

        pieces = pieces_of(table, len(self._places))
        with _disk_errors("writing rows for partitioning='shuffle'"):
            if self.file is None:
                self.file = tempfile.TemporaryFile(prefix="skgraded-")
            for number, piece in pieces:
                start = self.file.tell()
                write_batch(self.file, piece)
                self._places[number].append((start, self.file.tell() - start))
            self.file.flush()

    def read(self) -> Iterator[Any]:
        """Yield each piece as a table."""
        return (unpacked(map(self._read, places)) for places in self._places)

    def _read(self, place: tuple[int, int]) -> Any:
        from pyarrow import py_buffer

        start, size = place
        self.file.seek(start)
        return py_buffer(self.file.read(size))


@contextmanager
def _disk_errors(action: str) -> Iterator[None]:
    """Extend a disk error: state what was being written and how to avoid the error."""
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno, f"Error while {action} to {tempfile.gettempdir()}: "
            f"{os.strerror(error.errno or 5)}. Set TMPDIR to a folder on a larger disk, or sort "
            "the rows by query and use partitioning='clustered'."
        ) from None
