"""Rows brought together by query: tables cut into pieces, a query's rows always into the same."""

import numpy as np

from skgraded._kernels.layout import order_by_hash
from skgraded.reports.partitions import GRADE, QUERY, joined


def cut(table, n):
    """The rows of a clean table piece by piece, and how many there are in each of the n pieces."""
    from skgraded._input import arrow

    order, sizes = order_by_hash(np.ascontiguousarray(arrow.marks_of_rows(table[QUERY])), n)
    return arrow.compute.take(table.combine_chunks(), order, boundscheck=False), sizes


def packed(table, n):
    """Pieces of a clean table that have rows: their numbers, and each as bytes, in an array.

    An engine that moves rows looks at each of them on the way; so there is one to look at for
    thousands.
    """
    from skgraded._input import arrow

    position = table.column_names.index(GRADE)
    table = table.set_column(position, GRADE, arrow.narrowed(table[GRADE]))
    table, sizes = cut(table, n)
    batch = arrow.one_batch(table, table.schema)
    held = np.flatnonzero(sizes)
    starts = (np.cumsum(sizes) - sizes)[held]
    return held, arrow.to_bytes(
        batch.slice(start, size)
        for start, size in zip(starts.tolist(), sizes[held].tolist(), strict=True)
    )


def unpacked(pieces):
    """One clean table of a column of pieces as bytes, None of none."""
    from skgraded._input import arrow

    tables = list(arrow.of_bytes(pieces))
    kinds = {str(table.schema.field(QUERY).type) for table in tables}
    if len(kinds) > 1:
        raise TypeError(
            f"qid is of the types {' and '.join(sorted(kinds))} in different partitions. Give it "
            "the same type in all."
        )
    return joined(tables)
