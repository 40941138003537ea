"""Functions that Spark's Python workers run on the Arrow batches of a partition.

This module is separate from `spark.py` so that workers do not import pyspark.ml. This import would
take 0.4 seconds of CPU time, nearly as long as all other imports together.
"""

import gc
import math
import pickle
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from skgraded.large import parts
from skgraded.large.jobs import Job

PIECES = "piece int, content binary"
SUMS = "sums binary"  # one value per partition: a pickled Summary or a pickled error
ROWS = 2**18  # maximum number of rows that are split into pieces in one step


@cache
def _freeze_modules() -> None:
    """Exclude all current objects of a worker from garbage collection.

    PySpark collects garbage after each task; this can take longer than the evaluation.
    """
    gc.collect()
    gc.freeze()


def pack_partition(
    batches: Iterable[pa.RecordBatch], job: Job, n_pieces: int
) -> Iterator[pa.RecordBatch]:
    """Yield the rows and values of a partition in pieces of whole queries, or the first error."""
    _freeze_modules()
    part, first = TaskContext.get().partitionId(), 0  # type: ignore[union-attr]
    pairs = enumerate(batches)
    for group in parts.group_tables(pairs, ROWS if job.partitioning == "shuffle" else math.inf):
        rows = pa.Table.from_batches([batch for _, batch in group])
        place = f"partition {part}" + (f" from row {first}" if first else "")
        first += rows.num_rows
        try:
            pieces = parts.pack_pieces(
                parts.split_items(parts.read_part(rows, job, place), n_pieces)
            )
        except (ValueError, TypeError) as error:
            pieces = parts.pack_pieces([(0, error)])
            for _ in pairs:  # Spark requires that all rows are read
                pass
        yield from pieces.cast(
            pa.schema({"piece": pa.int32(), "content": pa.binary()})
        ).to_batches()


def _measure_pieces(batches: Iterable[pa.RecordBatch], job: Job) -> parts.Measured | None:
    """Evaluate the pieces of a partition; raise an error that `pack_partition` returned."""
    _freeze_modules()
    items = [
        parts.read_piece(content.as_buffer()) for batch in batches for content in batch["content"]
    ]
    for item in items:
        if isinstance(item, Exception):
            raise item
    return parts.measure_queries(items, job)


def sum_pieces(batches: Iterable[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """Yield one row, which contains the pickled Summary of a partition or a pickled error."""
    try:
        result: object = parts.sum_queries(_measure_pieces(batches, job), job)
    except (ValueError, TypeError) as error:  # if the error were raised, Spark would retry the task
        result = error
    yield pa.RecordBatch.from_pydict({"sums": pa.array([pickle.dumps(result)], pa.binary())})


def tabulate_pieces(
    batches: Iterable[pa.RecordBatch], job: Job, id_type: Any
) -> Iterator[pa.RecordBatch]:
    """Yield the per-query values of a partition, whose query ids have the Arrow type `id_type`."""
    measured = _measure_pieces(batches, job)
    if measured is not None:
        (evaluation,) = measured.evaluations.values()
        weight = {} if evaluation.weights is None else {"weight": evaluation.weights}
        ids = pa.array(evaluation.query_ids.tolist(), id_type)
        yield from pa.table({"query_id": ids, **evaluation.per_query, **weight}).to_batches()
