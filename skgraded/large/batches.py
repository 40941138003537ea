"""Tables larger than memory, measured on one machine batch by batch."""

from __future__ import annotations

import glob
import os
import pickle
import re
import tempfile
from collections.abc import Iterable
from contextlib import closing, contextmanager, suppress
from typing import Any

from skgraded._input.docs import documented
from skgraded._input.needs import needs
from skgraded._input.progress import counting_bar
from skgraded.large import parts
from skgraded.large.shuffle import packed, unpacked
from skgraded.large.split_queries import Result
from skgraded.measures import Measure
from skgraded.reports.summary import Summary
from skgraded.reports.system_summaries import Summaries

ROWS = 2**18  # speed only: smaller batches are measured together, up to this number of rows
IN_MEMORY = 2**21  # memory only: above this number of rows, rows are written to disk
N_PIECES = 64  # memory only: pieces on disk where the number of rows is unknown
ROWS_A_PIECE = 2**20  # memory only
IDS_IN_MEMORY = 2**24  # memory only: bytes


@documented(parts.PARAMETERS + parts.RETURNS)
def evaluate_batches(
    batches: Iterable[Any] | str | os.PathLike[str],
    y_true: str,
    y_score: str | list[str],
    qid: str,
    measures: str | Measure | Iterable[str | Measure] = ("ndcng@10", "mu_map"),
    sample_weight: str | None = None,
    partitioning: str = "shuffle",
    unjudged_documents: str | None = None,
    *,
    progress: bool = False,
) -> Summary | Summaries:
    """Measure a table of any size on this machine, batch by batch.

    Parameters
    ----------
    batches : iterable of tables, str or Path
        Arrow tables or batches, or frames of pandas or polars, one after the other; or Parquet: a
        file, a folder of files, or a pattern such as ``"scores/*.parquet"``, whose files are read
        in the order of their names, numbers in these by their size.
    progress : bool, default=False
        Show a progress bar, on a terminal or in a notebook; needs tqdm.

    Raises
    ------
    ValueError, TypeError
        On bad input; the message says in which batch, and at which row of it. With "clustered" and
        "whole" also if a query is torn, and the message names it.
    OSError
        If what "shuffle" writes does not fit on the disk. Nothing of it is left there.

    Notes
    -----
    With "clustered" and "whole" memory does not grow with the table, but for 8 bytes a query. With
    "shuffle" more than 2 million rows are written to a folder for temporary files (``TMPDIR``), in
    pieces by query, each of which is then read and measured: about as many bytes as the columns
    have in memory. A part, of which "whole" promises whole queries, is a batch, or a file.

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
    job = parts.check_job(
        y_true, y_score, qid, measures, sample_weight, partitioning, unjudged_documents,
        shipped=False,
    )
    named, n_rows = _source(batches, job)
    with counting_bar(progress, n_rows, unit=" rows", unit_scale=True) as show:
        if partitioning == "shuffle":
            return parts.refuse_nothing(_shuffled(named, n_rows, job, show), job)
        return _in_order(named, job, show)


# Where batches come from -------------------------------------------------------------------------

def _source(batches, job):
    """Each batch with its name in errors, and the number of all rows, None if unknown."""
    if isinstance(batches, (str, os.PathLike)):
        paths = parquet_files(batches)
        return _batches_of_files(paths, job), sum(map(_n_rows, paths))
    if hasattr(batches, "__len__") and hasattr(batches, "columns"):
        raise TypeError(
            f"batches is one {type(batches).__name__}: put it in a list, or use evaluate, which "
            "keeps the values of every query."
        )
    if not isinstance(batches, Iterable):
        raise TypeError(
            "batches must be an iterable of tables, or the path of Parquet files; got "
            f"{type(batches).__name__}."
        )
    return ((f"batch {i}", batch) for i, batch in enumerate(batches)), None


def parquet_files(path: str | os.PathLike[str]) -> list[str]:
    """Files that a path, a folder or a pattern stands for, numbers in their names by size."""
    path = os.fspath(path)
    matched = [path] if os.path.exists(path) else glob.glob(path, recursive=True)
    files = {
        file for name in matched for file in (_in_folder(name) if os.path.isdir(name) else [name])
    }
    if not files:
        raise FileNotFoundError(2, "there is no Parquet file", path)
    return sorted(files, key=lambda name: [
        int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)
    ])


def _in_folder(folder):
    """The Parquet files in a folder and in those in it, links followed, hidden ones left out."""
    seen: dict = {}
    for inside, folders, names in os.walk(folder, followlinks=True):
        first = seen.setdefault(os.path.realpath(inside), inside)
        if first != inside:
            raise ValueError(
                f"{inside} is a link to a folder that is read as {first} already: name the files "
                "by a pattern."
            )
        folders[:] = [name for name in folders if name[0] not in "._"]
        yield from (
            os.path.join(inside, name) for name in names
            if name.endswith(".parquet") and name[0] not in "._"
        )


def _n_rows(path):
    with _opened(path) as file:
        return file.metadata.num_rows


@contextmanager
def _opened(path):
    from pyarrow import ArrowException, parquet

    try:
        # Arrow's own threads and buffers may abort the process when it ends (apache/arrow#34314).
        with parquet.ParquetFile(path, pre_buffer=False) as file:
            yield file
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path}: the Parquet file cannot be read: {error}") from None


def _batches_of_files(paths, job):
    """Batches of files, or all rows of each."""
    from skgraded._input.arrow import refuse_unknown

    for path in paths:
        with _opened(path) as file:
            refuse_unknown(job.columns, file.schema_arrow.names, f"{path}: ")
            if job.partitioning == "whole":
                yield path, file.read(job.columns, use_threads=False)
                continue
            first = 0
            for batch in file.iter_batches(ROWS, columns=job.columns, use_threads=False):
                yield f"{path} from row {first}", batch
                first += batch.num_rows


def _cleaned(batches, job, show):
    """Clean tables that have rows, with what errors call each."""
    first: Any = None
    for place, batch in batches:
        table = parts.clean(batch, job, place)
        if table is None:
            continue
        id_type = parts.id_type_of(table)
        first = first or id_type
        if id_type != first:
            raise TypeError(
                f"In {place}: qid is of the type {id_type}, but it began as {first}. Give it the "
                "same type in all batches."
            )
        show(table.num_rows)
        yield place, table


# Query after query -------------------------------------------------------------------------------

def _in_order(batches, job, show):
    """Measure tables of whole queries, with 8 bytes per query in memory and its id on disk."""
    is_clustered = job.partitioning == "clustered"
    tables = (_clustered if is_clustered else _cleaned)(batches, job, show)
    total = Result.of(parts.measure_together(None, job), job)
    starts: list[int] = []  # of the ids of each table in the file
    with tempfile.SpooledTemporaryFile(IDS_IN_MEMORY) as file:
        def ids_of(i):
            file.seek(starts[i])
            return pickle.load(file)

        for place, table in tables:
            measured = parts.measure_together(table, job, place, is_clustered)
            total.add(Result.of(measured, job), job)
            starts.append(file.tell())
            with _errors_of_disk("ids were written"):
                pickle.dump(measured.query_ids, file, protocol=pickle.HIGHEST_PROTOCOL)
        return total.finished(job, ids_of)


def _clustered(batches, job, show):
    """Tables of whole queries: the last query of each is moved to the next."""
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


# In any order ------------------------------------------------------------------------------------

def _shuffled(batches, n_rows, job, show):
    """Measure rows in any order: at once if they are few, else by pieces on disk."""
    with closing(_Pieces(n_rows)) as pieces:
        for _, tables in parts.gathered(_cleaned(batches, job, show), IN_MEMORY):
            table = parts.joined(tables)
            if pieces.file is None and table.num_rows < IN_MEMORY:  # these are all rows
                return job.summed(parts.measure_together(table, job).evaluations)
            pieces.write(table)
            del tables, table  # before others come into memory
        return job.merged(
            job.summed(parts.measure_together(table, job).evaluations) for table in pieces.read()
        )


class _Pieces:
    """Rows in a temporary file, in pieces that hold whole queries."""

    def __init__(self, n_rows):
        n = N_PIECES if n_rows is None else min(max(n_rows // ROWS_A_PIECE, 8), 1024)
        self._places: list = [[] for _ in range(n)]  # of each piece, in the file: start and size
        self.file: Any = None  # until something is written

    def close(self):
        """Remove the file."""
        if self.file is not None:
            with suppress(OSError):  # what could not be written, once more
                self.file.close()

    def write(self, table):
        """Cut a clean table by query and write it."""
        numbers, rows = packed(table, len(self._places))
        with _errors_of_disk("partitioning='shuffle' wrote rows"):
            if self.file is None:
                self.file = tempfile.TemporaryFile(prefix="skgraded-")
            for number, row in zip(numbers, rows, strict=True):
                self._places[number].append((self.file.tell(), row.as_buffer().size))
                self.file.write(row.as_buffer())
            self.file.flush()

    def read(self):
        """Each piece as a table."""
        return (unpacked(map(self._read, places)) for places in self._places)

    def _read(self, place):
        from pyarrow import py_buffer

        start, size = place
        self.file.seek(start)
        return py_buffer(self.file.read(size))


@contextmanager
def _errors_of_disk(doing):
    """Say of errors of the disk while doing what, and what to do."""
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno, f"{os.strerror(error.errno or 5)}, while {doing} to "
            f"{tempfile.gettempdir()}: set TMPDIR to a larger disk, or sort the rows by query and "
            "use partitioning='clustered'"
        ) from None
