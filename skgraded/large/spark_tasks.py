"""What Spark's Python workers do with the Arrow batches of a partition: cut, measure, compare ids.

A worker loads this module, and nothing of pyspark.ml, which takes it longer than all else here.
"""

from __future__ import annotations

import gc
import pickle
from functools import cache

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from skgraded._input.arrow import buffers, marks
from skgraded._kernels.layout import order_by_hash
from skgraded.large.parts import (
    EDGES,
    clean,
    gathered,
    ids_of_part,
    marks_of,
    measure_edges,
    measure_part,
    measure_together,
    refuse_torn,
)
from skgraded.large.shuffle import packed, unpacked

PIECES = "piece int, rows binary, error binary"  # what `cut` gives: a row a piece
# What `inside` gives: pieces of what was found, and of rows of the queries at the ends.
FOUND = "piece int, found binary, rows binary, error binary"
RESULT = "part int, found binary, mark bigint"  # a row a partition with `found`, and one a query
ROWS = 2**18  # that are cut into pieces at once
PIECE = 2**16  # bytes, or so
IN_ORDER = False  # files come by size, and several of them may be one partition


def signed(bits):
    """Marks as whole numbers of a kind that Spark has."""
    return bits.view(np.int64)


def run(batches, function):
    """What a function makes of the batches of a partition."""
    yield from function(batches)
    _settle()


@cache
def _settle():
    """Leave what a worker has loaded out of the rounds of the garbage collector.

    PySpark has it look at everything after each task, which takes longer than a small partition.
    """
    gc.collect()
    gc.freeze()


def _table(batches):
    """The rows of a partition, which come in several batches, and its number."""
    batches = list(batches)
    part = TaskContext.get().partitionId()  # type: ignore[union-attr]  # there is a task here
    return part, (pa.Table.from_batches(batches) if batches else None)


def cut(batches, job, labels):
    """Rows as pieces whose numbers are the labels, or a row with the error about them."""
    part, first, is_good = TaskContext.get().partitionId(), 0, True  # type: ignore[union-attr]
    for _, together in gathered(enumerate(batches), ROWS):
        if not is_good:  # Spark wants all rows to be taken
            continue
        given = pa.Table.from_batches(together)
        place = f"partition {part}" + (f" from row {first}" if first else "")
        first += given.num_rows
        try:
            table = clean(given, job, place)
        except (ValueError, TypeError) as error:
            is_good = False
            yield _pieces([0], pa.nulls(1), [pickle.dumps(error)])
        else:
            if table is not None:
                held, rows = packed(table, len(labels), PIECE)
                yield _pieces(labels[held], rows, [None] * len(rows))


def _pieces(numbers, rows, errors):
    return pa.RecordBatch.from_pydict({
        "piece": pa.array(numbers, pa.int32()), "rows": rows.cast(pa.binary()),
        "error": pa.array(errors, pa.binary()),
    })


def _measured(table, part, job, partitioning):
    """What comes of a partition; with "shuffle" of the pieces in it."""
    if partitioning != "shuffle":
        return measure_part(table, job, f"partition {part}", partitioning, IN_ORDER)
    for error in table["error"].drop_null().to_pylist():
        raise pickle.loads(error)
    return measure_together(unpacked(buffers(table["rows"])), job)


def summarized(batches, job, partitioning):
    """A row with the pickled Summary and edges of a partition, or its error; a row a query."""
    part, table = _table(batches)
    if table is None:
        return
    try:
        measured = _measured(table, part, job, partitioning)
    except (ValueError, TypeError) as error:  # as a result, for Spark would try it again
        yield _result(part, pickle.dumps(error))
        return
    found = job.summed(measured.evaluations), measured.edges
    yield _result(part, pickle.dumps(found))
    if partitioning != "shuffle":
        own = signed(marks_of(measured.evaluations))
        yield pa.RecordBatch.from_pydict({
            "part": pa.array(np.full(len(own), part), pa.int32()),
            "found": pa.nulls(len(own), pa.binary()),
            "mark": pa.array(own),
        })


def _result(part, found):
    return pa.RecordBatch.from_pydict({
        "part": pa.array([part], pa.int32()), "found": pa.array([found], pa.binary()),
        "mark": pa.array([None], pa.int64()),
    })


def ids_with_marks(batches, job, wanted):
    """A row with the pickled ids that have the wanted marks."""
    part, table = _table(batches)
    if table is None or not table.num_rows:
        return
    ids = ids_of_part(table, job, f"partition {part}")
    yield _result(part, pickle.dumps(ids[np.isin(signed(marks(ids)), wanted)]))


def values(batches, job, id_type):
    """Values by query of the pieces in a partition."""
    part, table = _table(batches)
    if table is not None:
        (evaluation,) = _measured(table, part, job, "shuffle").evaluations.values()
        yield from _table_of(evaluation, id_type).to_batches()


def inside(batches, job, partitioning, labels):
    """What a partition gives, by query: values and, where queries go on in others, their rows.

    All that there is of a query so comes together, from one and the same run of the plan: in
    another its rows may be in other partitions.
    """
    part, table = _table(batches)
    if table is None:
        return
    try:
        measured = measure_part(table, job, f"partition {part}", partitioning, IN_ORDER)
    except (ValueError, TypeError) as error:
        yield _found([0], error=[pickle.dumps(error)])
        return
    (evaluation,) = measured.evaluations.values()
    order, sizes = order_by_hash(np.ascontiguousarray(marks(evaluation.query_ids)), len(labels))
    held = np.flatnonzero(sizes)
    ends = np.cumsum(sizes)[held]
    own = (order[end - size : end] for size, end in zip(sizes[held], ends, strict=True))
    found = [pickle.dumps((part, evaluation._take(rows))) for rows in own]
    yield _found(labels[held], found=found)
    if measured.edges is not None:
        numbers, rows = packed(measured.edges, len(labels))
        yield _found(labels[numbers], rows=rows.cast(pa.binary()))


def _found(numbers, **columns):
    names = ("found", "rows", "error")
    nothing = pa.nulls(len(numbers), pa.binary())
    return pa.RecordBatch.from_pydict({
        "piece": pa.array(numbers, pa.int32()),
        **{name: pa.array(columns.get(name, nothing), pa.binary()) for name in names},
    })


def brought_together(batches, job, id_type):
    """Values by query of what `inside` gave of some queries, none of which may be torn."""
    _, table = _table(batches)
    if table is None:
        return
    for error in table["error"].drop_null().to_pylist():
        raise pickle.loads(error)
    found = [pickle.loads(one) for one in table["found"].drop_null().to_pylist()]
    edges = unpacked(buffers(table["rows"].drop_null()))
    (at_ends,) = measure_edges([edges], job, IN_ORDER).values()
    places = [*(f"partition {part}" for part, _ in found), EDGES]
    evaluations = [*(evaluation for _, evaluation in found), at_ends]
    ids = [evaluation.query_ids for evaluation in evaluations]
    refuse_torn([marks(own) for own in ids], ids.__getitem__, places.__getitem__)
    for evaluation in evaluations:
        yield from _table_of(evaluation, id_type).to_batches()


def _table_of(evaluation, id_type):
    """Values by query, whose ids are of a type of Arrow."""
    ids = pa.array(evaluation.query_ids.tolist(), id_type)
    columns = {"query_id": ids, **evaluation.per_query}
    if evaluation.weights is not None:
        columns["weight"] = evaluation.weights
    return pa.table(columns)
