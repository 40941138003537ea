"""Pieces of whole queries: rows and per-query values, split by the hash of the query id.

The engines and temporary files transport pieces as bytes.
"""

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from skgraded._input import arrow, arrow_strings
from skgraded._kernels.layout import order_by_hash
from skgraded.large.parts import GRADE, QUERY, Measured, join_rows


def split_items(items: list[Any], n: int) -> Iterator[tuple[int, Any]]:
    """Split rows and values by query into n pieces; yield each nonempty piece and its index."""
    tables = [item for item in items if not isinstance(item, Measured)]
    if tables:
        yield from _split(join_rows(tables), n)
    for item in items:
        if isinstance(item, Measured):
            yield from _split(item, n)


def _split(item: Any, n: int) -> Iterator[tuple[int, Any]]:
    if isinstance(item, Measured):
        order, sizes = order_by_hash(arrow_strings.marks(item.query_ids), n)
    else:
        position = item.column_names.index(GRADE)
        if item.schema.types[position] == pa.float64():
            item = item.set_column(position, GRADE, arrow.narrowed(item[GRADE]))
        order, sizes = order_by_hash(arrow.marks_of_rows(item[QUERY]), n)
        batch = arrow.take(item, order).to_batches()[0]
    ends = np.cumsum(sizes)
    for number in np.flatnonzero(sizes).tolist():
        rows = slice(ends[number] - sizes[number], ends[number])
        yield number, item.take(order[rows]) if isinstance(item, Measured) else batch[rows]


def write_piece(file: Any, item: Any) -> None:
    """Write rows, values or an error to a file: rows in Arrow's format, all others as a pickle."""
    if isinstance(item, pa.RecordBatch):
        with pa.ipc.new_stream(file, item.schema) as writer:
            writer.write_batch(item)
    else:
        pickle.dump(item, file, protocol=pickle.HIGHEST_PROTOCOL)


def read_piece(buffer: Any) -> Any:
    """Return what `write_piece` wrote; only pickles begin with the byte `pickle.PROTO`."""
    if bytes(buffer[:1]) == pickle.PROTO:
        return pickle.loads(buffer)
    if buffer.address % 8:  # Arrow requires aligned memory
        buffer = pa.py_buffer(buffer.to_pybytes())
    with pa.ipc.open_stream(buffer) as reader:
        return reader.read_all()


def pack_pieces(pieces: Iterable[tuple[int, Any]]) -> Any:
    """Return an Arrow table with the columns ``piece`` and ``content``."""
    numbers, ends, stream = [], [0], pa.BufferOutputStream()
    for number, piece in pieces:
        write_piece(stream, piece)
        numbers.append(number)
        ends.append(stream.tell())
    buffers = [None, pa.py_buffer(np.array(ends, dtype=np.int64)), stream.getvalue()]
    contents = pa.Array.from_buffers(pa.large_binary(), len(numbers), buffers)
    return pa.table({"piece": pa.array(numbers, pa.int32()), "content": contents})
