"""Functions that Spark's Python workers apply to the Arrow batches of a partition.

This module is separate from `spark.py` so that workers do not import pyspark.ml. That import would
take 0.4 seconds of CPU time, nearly as long as all other imports together.
"""

import gc
import math
import pickle
from collections.abc import Iterable, Iterator
from functools import cache

import pyarrow as pa
from pyspark import TaskContext

from skgraded.large.jobs import Job
from skgraded.large.parts import (
    Measured,
    evaluate_parts,
    group_by_size,
    summarize_measured,
    tabulate_measured,
)
from skgraded.large.pieces import evaluate_contents, pack_pieces, split_items

PIECES = "piece int, content binary"
SUMS = "sums binary"  # one value per partition: a pickled Summary or a pickled error
ROWS = 2**18  # approximate number of rows that are split into pieces in one step


@cache
def _freeze_modules() -> None:
    """Exclude all current objects of a worker from garbage collection.

    PySpark collects garbage after each task, which can take longer than the evaluation.
    """
    gc.collect()
    gc.freeze()


def pack_partition(
    batches: Iterable[pa.RecordBatch], job: Job, n_pieces: int
) -> Iterator[pa.RecordBatch]:
    """Yield pieces of whole queries from a partition, or yield the first error."""
    _freeze_modules()
    part, first = TaskContext.get().partitionId(), 0  # type: ignore[union-attr]
    batches = iter(batches)
    for group in group_by_size(batches, ROWS if job.partitioning == "shuffle" else math.inf):
        rows = pa.Table.from_batches(group).rename_columns(list(job.columns))
        place = f"partition {part}" + (f" from row {first}" if first else "")
        first += rows.num_rows
        try:
            items = list(evaluate_parts([(place, rows)], job))
            pieces = pack_pieces(split_items(items, n_pieces))
        except (ValueError, TypeError) as error:
            pieces = pack_pieces([(0, error)])
            for _ in batches:  # Spark requires that all rows are read
                pass
        yield from pieces.cast(
            pa.schema({"piece": pa.int32(), "content": pa.binary()})
        ).to_batches()


def _evaluate_pieces(batches: Iterable[pa.RecordBatch], job: Job) -> Measured | None:
    """Evaluate the pieces of a partition; raise any error returned by `pack_partition`."""
    _freeze_modules()
    return evaluate_contents((content for batch in batches for content in batch["content"]), job)


def sum_pieces(batches: Iterable[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """Yield one row, which contains the pickled Summary of a partition or a pickled error."""
    try:
        result: object = summarize_measured(_evaluate_pieces(batches, job), job)
    except (ValueError, TypeError) as error:  # Spark would retry the task if the error were raised
        result = error
    yield pa.RecordBatch.from_pydict({"sums": pa.array([pickle.dumps(result)], pa.binary())})


def tabulate_pieces(
    batches: Iterable[pa.RecordBatch], job: Job, id_type: pa.DataType
) -> Iterator[pa.RecordBatch]:
    """Yield the per-query values of a partition, with query ids of the Arrow type `id_type`."""
    measured = _evaluate_pieces(batches, job)
    if measured is not None:
        ids = pa.array(measured.query_ids.tolist(), id_type)
        yield from tabulate_measured(measured, job, ids).to_batches()
