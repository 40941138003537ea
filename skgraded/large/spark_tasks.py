"""Functions that Spark's Python workers run on the Arrow batches of a partition.

This module is separate from `spark.py` so that workers do not import pyspark.ml. This import would
take 0.4 seconds of CPU time, nearly as long as all other imports together.
"""

import gc
import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from skgraded._input.arrow import buffers
from skgraded._kernels.layout import order_by_hash
from skgraded.large import parts
from skgraded.large.jobs import Job
from skgraded.large.merging import refuse_split
from skgraded.large.shuffle import packed, unpacked

# Each record describes one piece; exactly one of `measured`, `rows` and `error` is not null.
PIECES = "piece int, measured binary, rows binary, error binary"
SUMS = "sums binary"  # one value per partition: a pickled Summary or a pickled error
FILES_ADVICE = (
    "If the rows come from sorted files, Spark may have combined small files in a different order: "
    "set spark.sql.files.openCostInBytes to 1073741824 before reading, so that each file has its "
    "own partition."
)
ROWS = 2**18  # maximum number of rows that are split into pieces in one step
ROWS_PER_PIECE = 2**13  # average number of rows per piece; keeps batches below Arrow's 2 GB limit


def run(
    function: Callable[..., Iterator[pa.RecordBatch]], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Apply a function to the batches of a partition and yield the results of the function."""
    yield from function(batches)
    _freeze_modules()


@cache
def _freeze_modules() -> None:
    """Exclude all current objects of a worker from garbage collection.

    PySpark collects garbage after each task; this can take longer than the evaluation.
    """
    gc.collect()
    gc.freeze()


def cut(batches: Iterable[pa.RecordBatch], job: Job, n_pieces: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition in pieces of whole queries, or the first error."""
    part, first, is_good = TaskContext.get().partitionId(), 0, True  # type: ignore[union-attr]
    n_rows = min(ROWS, ROWS_PER_PIECE * n_pieces)
    for _, group in parts.gathered(enumerate(batches), n_rows):
        if not is_good:  # Spark requires that all rows are read
            continue
        rows = pa.Table.from_batches(group)
        place = f"partition {part}" + (f" from row {first}" if first else "")
        first += rows.num_rows
        try:
            table = parts.clean(rows, job, place)
        except (ValueError, TypeError) as error:
            is_good = False
            yield _pieces([0], error=[pickle.dumps((part, error))])
        else:
            numbers, pieces = packed(table, n_pieces)
            yield _pieces(numbers, rows=pieces.cast(pa.binary()))


def inside(batches: Iterable[pa.RecordBatch], job: Job, n_pieces: int) -> Iterator[pa.RecordBatch]:
    """Evaluate a partition; yield per-query values, and the rows of possibly incomplete queries."""
    part, batches = TaskContext.get().partitionId(), list(batches)  # type: ignore[union-attr]
    if not batches:
        return
    table = pa.Table.from_batches(batches)
    try:
        # Rows may be out of order, because Spark sorts files by size and combines small files.
        measured = parts.measure_part(table, job, f"partition {part}")
    except (ValueError, TypeError) as error:
        yield _pieces([0], error=[pickle.dumps((part, error))])
        return
    order, sizes = order_by_hash(measured.marks, n_pieces)  # the piece of each query
    numbers = np.flatnonzero(sizes)
    queries_of_piece = np.split(order, np.cumsum(sizes))
    values = [pickle.dumps(measured.take(queries_of_piece[i])) for i in numbers]
    yield _pieces(numbers, measured=pa.array(values, pa.binary()))
    if measured.edges is not None:
        numbers, rows = packed(measured.edges, n_pieces)
        yield _pieces(numbers, rows=rows.cast(pa.binary()))


def _pieces(numbers: Any, **columns: Any) -> pa.RecordBatch:
    nulls = pa.nulls(len(numbers), pa.binary())
    return pa.RecordBatch.from_pydict(
        {
            "piece": pa.array(numbers, pa.int32()),
            **{name: columns.get(name, nulls) for name in ("measured", "rows", "error")},
        }
    )


def _evaluations(batches: Iterable[pa.RecordBatch], job: Job) -> list[parts.Measured]:
    """Check that no query is split; return the results for each piece of a partition."""
    batches = list(batches)
    if not batches:
        return [parts.measure_together(None, job)]
    table = pa.Table.from_batches(batches)
    errors = dict(map(pickle.loads, table["error"].drop_null().to_pylist()))
    if errors:
        raise errors[min(errors)]
    measured = [pickle.loads(values) for values in table["measured"].drop_null().to_pylist()]
    rows = unpacked(buffers(table["rows"].drop_null()))
    measured.append(parts.measure_together(rows, job, parts.EDGES if measured else None))
    marks = [(part.place, part.marks) for part in measured]
    try:
        refuse_split(marks, lambda i: measured[i].query_ids)
    except ValueError as error:
        advice = f" {FILES_ADVICE}" if job.partitioning == "clustered" else ""
        raise ValueError(f"{error}{advice}") from None
    return measured


def sums(batches: Iterable[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """Yield one row, which contains the pickled Summary of a partition or a pickled error."""
    try:
        result: object = parts.summed(_evaluations(batches, job), job)
    except (ValueError, TypeError) as error:  # if the error were raised, Spark would retry the task
        result = error
    yield pa.RecordBatch.from_pydict({"sums": pa.array([pickle.dumps(result)], pa.binary())})


def values(batches: Iterable[pa.RecordBatch], job: Job, id_type: Any) -> Iterator[pa.RecordBatch]:
    """Yield the per-query values of a partition, whose query ids have the Arrow type `id_type`."""
    for measured in _evaluations(batches, job):
        yield from parts.table_of_values(measured, id_type).to_batches()
