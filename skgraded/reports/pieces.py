"""Rows brought together by query: tables cut into pieces, a query's rows always into the same."""

import numpy as np

from skgraded._input.tables import mix_bits
from skgraded.reports.partitions import QUERY, joined


def cut(table, n):
    """The rows of a clean table piece by piece, and how many there are in each of the n pieces."""
    from skgraded._input import arrow

    marks = arrow.marks_of_rows(table[QUERY]).copy()
    piece = (mix_bits(marks) % np.uint64(n)).astype(np.min_scalar_type(n - 1))
    order = np.argsort(piece, kind="stable")  # of 16 bits in a time that grows with the rows only
    return table.combine_chunks().take(order), np.bincount(piece, minlength=n)


def packed(table, n):
    """Pieces of a clean table that have rows: their numbers, and each as bytes.

    An engine that moves rows looks at each of them on the way; so there is one to look at for
    thousands.
    """
    from skgraded._input import arrow

    table, sizes = cut(table, n)
    batch = arrow.one_batch(table, table.schema)
    held = np.flatnonzero(sizes)
    starts = (np.cumsum(sizes) - sizes)[held]
    return held, [
        arrow.to_bytes(batch.slice(start, size))
        for start, size in zip(starts.tolist(), sizes[held].tolist(), strict=True)
    ]


def unpacked(pieces):
    """One clean table of the bytes of pieces, None of none."""
    from skgraded._input import arrow

    tables = [arrow.of_bytes(piece) for piece in pieces]
    kinds = {str(table.schema.field(QUERY).type) for table in tables}
    if len(kinds) > 1:
        raise TypeError(
            f"qid is of the types {' and '.join(sorted(kinds))} in different partitions. Give it "
            "the same type in all."
        )
    return joined(tables)
