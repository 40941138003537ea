"""Shuffling of rows by query: each table is split into pieces by the hash of the query id."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from skgraded._input import arrow
from skgraded._kernels.layout import order_by_hash
from skgraded.large.parts import GRADE, QUERY, joined


def packed(table: Any, n: int) -> tuple[np.ndarray, Any]:
    """Split a table by query into n pieces; return the indices and bytes of nonempty pieces."""
    pieces = list(pieces_of(table, n))
    numbers = np.array([number for number, _ in pieces], dtype=np.int64)
    return numbers, arrow.to_bytes(piece for _, piece in pieces)


def pieces_of(table: Any, n: int) -> Iterator[tuple[int, Any]]:
    """Split a table by query; yield the index and the record batch of each nonempty piece."""
    if table is None:
        return
    position = table.column_names.index(GRADE)
    if table.schema.types[position] == arrow.pa.float64():
        table = table.set_column(position, GRADE, arrow.narrowed(table[GRADE]))
    order, sizes = order_by_hash(arrow.marks_of_rows(table[QUERY]), n)
    batch = arrow.take(table, order).to_batches()[0]
    starts = np.cumsum(sizes) - sizes
    for number in np.flatnonzero(sizes).tolist():
        yield number, batch.slice(starts[number], sizes[number])


def unpacked(pieces: Iterable[Any]) -> Any:
    """Concatenate pieces (buffers of bytes) into one table; return None if there are no pieces."""
    return joined(list(arrow.of_bytes(pieces)))
