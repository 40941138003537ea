"""Rows brought together by query: tables cut into pieces, a query's rows always into the same."""

import math

import numpy as np

from skgraded._kernels.layout import order_by_hash
from skgraded.large.parts import (
    GRADE,
    QUERY,
    id_types_of,
    joined,
    refuse_other_types,
)


def cut(table, n):
    """The rows of a clean table piece by piece, and how many there are in each of the n pieces."""
    from skgraded._input import arrow

    order, sizes = order_by_hash(np.ascontiguousarray(arrow.marks_of_rows(table[QUERY])), n)
    return arrow.compute.take(table.combine_chunks(), order, boundscheck=False), sizes


def packed(table, n, largest=math.inf):
    """Pieces of a clean table that have rows: their numbers, and each as bytes, in an array.

    An engine that moves rows looks at each of them on the way; so there is one to look at for
    thousands. A piece of more than `largest` bytes, on the average row, comes in several.
    """
    from skgraded._input import arrow

    position = table.column_names.index(GRADE)
    if table.schema.types[position] == arrow.pa.float64():
        table = table.set_column(position, GRADE, arrow.narrowed(table[GRADE]))
    table, sizes = cut(table, n)
    batch = table.combine_chunks().to_batches()[0]
    step = max(int(min(largest / batch.nbytes, 1) * len(batch)), 1)
    starts: list[int] = []
    numbers: list[int] = []
    for number, end in enumerate(np.cumsum(sizes).tolist()):
        own = range(end - int(sizes[number]), end, step)
        starts += own
        numbers += [number] * len(own)
    ends = [*starts[1:], len(batch)]
    return np.array(numbers), arrow.to_bytes(
        batch.slice(start, end - start) for start, end in zip(starts, ends, strict=True)
    )


def unpacked(pieces):
    """One clean table of pieces, which come as buffers of bytes, None of none."""
    from skgraded._input import arrow

    tables = list(arrow.of_bytes(pieces))
    refuse_other_types(id_types_of(*tables))
    return joined(tables)
