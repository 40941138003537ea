"""The functions that Spark's Python workers run on the Arrow batches of a partition.

They are not in `spark.py` because each worker process would then import pyspark.ml, which takes 0.4
seconds of processor time, nearly as long as the rest of its imports.
"""

import gc
import pickle
from functools import cache

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from skgraded._input.arrow import buffers
from skgraded._kernels.layout import order_by_hash
from skgraded.large import parts
from skgraded.large.shuffle import packed, unpacked
from skgraded.large.split_queries import refuse_split

# A row per piece: pickled values of some queries of a partition, rows as bytes, or an error.
PIECES = "piece int, measured binary, rows binary, error binary"
SUMS = "sums binary"  # a row per partition: its pickled Summary, or an error
FILES_ADVICE = (
    "If the rows come from sorted files, Spark may have combined small files in another order: set "
    "spark.sql.files.openCostInBytes to 1073741824 before reading, so that each file has its own "
    "partition."
)
ROWS = 2**18  # rows that are cut into pieces at once
ROWS_PER_PIECE = 2**13  # on average, so that a batch of pieces stays below Arrow's limit of 2 GB


def run(function, batches):
    """Yield what a function makes of the batches of a partition."""
    yield from function(batches)
    _freeze_modules()


@cache
def _freeze_modules():
    """Exclude what a worker has loaded so far from garbage collection.

    PySpark collects garbage after each task, which takes longer than a small partition.
    """
    gc.collect()
    gc.freeze()


def _part():
    return TaskContext.get().partitionId()  # type: ignore[union-attr]  # there is a task here


def cut(batches, job, labels):
    """Rows as pieces whose numbers are the labels, or a row with the error about them."""
    part, first, is_good = _part(), 0, True
    n_rows = min(ROWS, ROWS_PER_PIECE * len(labels))
    for _, together in parts.gathered(enumerate(batches), n_rows):
        if not is_good:  # Spark wants all rows to be taken
            continue
        given = pa.Table.from_batches(together)
        place = f"partition {part}" + (f" from row {first}" if first else "")
        first += given.num_rows
        try:
            table = parts.clean(given, job, place)
        except (ValueError, TypeError) as error:
            is_good = False
            yield _pieces([0], error=[pickle.dumps((part, error))])
        else:
            numbers, rows = packed(table, len(labels))
            yield _pieces(labels[numbers], rows=rows.cast(pa.binary()))


def inside(batches, job, labels):
    """What a partition hands on: values of its queries, and rows of those that may continue."""
    part, batches = _part(), list(batches)
    if not batches:
        return
    table = pa.Table.from_batches(batches)
    try:
        # Files come by size, and several of them may be one partition.
        measured = parts.measure_part(table, job, f"partition {part}", in_order=False)
    except (ValueError, TypeError) as error:
        yield _pieces([0], error=[pickle.dumps((part, error))])
        return
    order, sizes = order_by_hash(measured.marks, len(labels))  # each query's piece
    numbers = np.flatnonzero(sizes)
    taken = np.split(order, np.cumsum(sizes))
    values = [pickle.dumps(measured.take(taken[i])) for i in numbers]
    yield _pieces(labels[numbers], measured=pa.array(values, pa.binary()))
    if measured.edges is not None:
        numbers, rows = packed(measured.edges, len(labels))
        yield _pieces(labels[numbers], rows=rows.cast(pa.binary()))


def _pieces(numbers, **columns):
    nulls = pa.nulls(len(numbers), pa.binary())
    return pa.RecordBatch.from_pydict({
        "piece": pa.array(numbers, pa.int32()),
        **{name: columns.get(name, nulls) for name in ("measured", "rows", "error")},
    })


def _evaluations(batches, job):
    """Evaluations of the queries in the pieces of a partition, none of which may be split."""
    try:
        return _measured(batches, job)
    except ValueError as error:
        if job.partitioning != "clustered" or parts.SPLIT not in str(error):
            raise
        raise ValueError(f"{error} {FILES_ADVICE}") from None


def _measured(batches, job):
    batches = list(batches)
    if not batches:
        return [parts.no_queries(job)]
    table = pa.Table.from_batches(batches)
    errors = dict(map(pickle.loads, table["error"].drop_null().to_pylist()))
    if errors:
        raise errors[min(errors)]
    measured = [pickle.loads(values) for values in table["measured"].drop_null().to_pylist()]
    rows = unpacked(buffers(table["rows"].drop_null()))
    measured.append(parts.measure_together(rows, job, parts.EDGES if measured else None))
    refuse_split(
        [(of_part.place, of_part.marks) for of_part in measured], lambda i: measured[i].query_ids
    )
    return [of_part.evaluations for of_part in measured]


def sums(batches, job):
    """A row with the pickled Summary of a partition, or with its error."""
    try:
        result: object = job.merged(map(job.summed, _evaluations(batches, job)))
    except (ValueError, TypeError) as error:  # as a result, for Spark would try it again
        result = error
    yield pa.RecordBatch.from_pydict({"sums": pa.array([pickle.dumps(result)], pa.binary())})


def values(batches, job, id_type):
    """Values of the queries of a partition, with ids of a type of Arrow."""
    for (evaluation,) in map(dict.values, _evaluations(batches, job)):
        columns = {"query_id": pa.array(evaluation.query_ids.tolist(), id_type)}
        columns |= evaluation.per_query
        if evaluation.weights is not None:
            columns["weight"] = evaluation.weights
        yield from pa.table(columns).to_batches()
