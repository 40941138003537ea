"""Pieces of whole queries, which are sent between workers or written to files as bytes."""

import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from skgraded._input import arrow
from skgraded._input.arrow_strings import hash_ids
from skgraded._input.atomic_files import write_whole
from skgraded._kernels.layout import order_by_hash
from skgraded.large.jobs import Job
from skgraded.large.parts import (
    GRADE,
    QUERY,
    Item,
    Measured,
    evaluate_items,
    group_by_size,
    join_rows,
    tabulate_measured,
)

# These constants affect speed and memory usage, but never the results.
MAX_ROWS_IN_MEMORY = 2**21  # maximum number of rows in memory; larger tables are written to disk
MAX_QUERIES_IN_MEMORY = 2**18  # maximum number of queries whose values are in memory
N_PIECES = 64  # number of pieces on disk if rows are shuffled and the number of rows is unknown
N_PIECES_OF_QUERIES = 8  # number of pieces on disk if rows are not shuffled
ROWS_PER_PIECE = 2**20  # number of rows per piece, which must fit in memory
ROWS_PER_WRITE = 2**18  # minimum number of rows per write if the table is large
MIN_ROWS_PER_WRITE = 2**14  # minimum number of rows per write and piece, on average


def split_items(items: list[Item], n: int) -> Iterator[tuple[int, Any]]:
    """Split rows and values into n pieces of whole queries; yield pairs (index, nonempty piece)."""
    tables = [item for item in items if not isinstance(item, Measured)]
    measured = [item for item in items if isinstance(item, Measured)]
    for item in [join_rows(tables), *measured] if tables else measured:
        if isinstance(item, Measured):
            order, sizes = order_by_hash(hash_ids(item.query_ids), n)
        else:
            position = item.column_names.index(GRADE)
            if item.schema.types[position] == pa.float64():
                item = item.set_column(position, GRADE, arrow.narrow(item[GRADE]))
            order, sizes = order_by_hash(arrow.mark_rows(item[QUERY]), n)
            batch = arrow.copy_rows(item, order).to_batches()[0]
        ends = np.cumsum(sizes)
        for number in np.flatnonzero(sizes).tolist():
            rows = slice(ends[number] - sizes[number], ends[number])
            yield number, item.take(order[rows]) if isinstance(item, Measured) else batch[rows]


def pack_pieces(pieces: Iterable[tuple[int, Any]]) -> pa.Table:
    """Return an Arrow table with the columns ``piece`` and ``content``."""
    numbers, ends, stream = [], [0], pa.BufferOutputStream()
    for number, piece in pieces:
        _write_piece(stream, piece)
        numbers.append(number)
        ends.append(stream.tell())
    buffers = [None, pa.py_buffer(np.array(ends, dtype=np.int64)), stream.getvalue()]
    contents = pa.Array.from_buffers(pa.large_binary(), len(numbers), buffers)
    return pa.table({"piece": pa.array(numbers, pa.int32()), "content": contents})


def _write_piece(
    file: IO[bytes] | pa.BufferOutputStream, item: pa.RecordBatch | Measured | Exception
) -> None:
    """Write rows to a file in Arrow's format; write per-query values or an error as a pickle."""
    if isinstance(item, pa.RecordBatch):
        with pa.ipc.new_stream(file, item.schema) as writer:
            writer.write_batch(item)
    else:
        pickle.dump(item, file, protocol=pickle.HIGHEST_PROTOCOL)


def read_piece(buffer: pa.Buffer) -> Any:
    """Return the item written by `_write_piece`; raise it if it is an error.

    Only pickles begin with `pickle.PROTO`.
    """
    if bytes(buffer[:1]) == pickle.PROTO:
        item = pickle.loads(buffer)
        if isinstance(item, Exception):
            raise item
        return item
    if buffer.address % 8:  # Arrow requires aligned memory
        buffer = pa.py_buffer(buffer.to_pybytes())
    with pa.ipc.open_stream(buffer) as reader:
        return reader.read_all()


def evaluate_contents(contents: Iterable[pa.Scalar], job: Job) -> Measured | None:
    """Evaluate the pieces in a column `content`; return None if there are none."""
    items = [read_piece(content.as_buffer()) for content in contents]
    return evaluate_items(items, job) if items else None


@contextmanager
def open_values(
    path: str | os.PathLike[str] | None, job: Job
) -> Iterator[Callable[[Measured], Measured]]:
    """Yield a function that writes per-query values to a Parquet file and returns its argument.

    If `path` is None, nothing is written. Otherwise, the file is written completely or not at all.
    """
    if path is None:
        yield lambda measured: measured
        return
    writers: list[parquet.ParquetWriter] = []
    with write_whole(path) as temporary, ExitStack() as stack:

        def write(measured: Measured) -> Measured:
            table = tabulate_measured(measured, job)
            if not writers:
                writer = parquet.ParquetWriter(temporary, table.schema)
                writers.append(stack.enter_context(writer))
            writers[0].write_table(table.cast(writers[0].schema))
            return measured

        yield write


def regroup_items(
    items: Iterable[Item], file: IO[bytes], job: Job, n_rows: int | None
) -> Iterator[list[Item]]:
    """Yield lists of items; no query is in two lists.

    If the items have too many rows to keep in memory, they are first written to `file`.
    """
    n, limit = N_PIECES_OF_QUERIES, MAX_QUERIES_IN_MEMORY
    if job.partitioning == "shuffle":
        n, limit = N_PIECES, MAX_ROWS_IN_MEMORY
        if n_rows is not None:
            n = min(max(n_rows // ROWS_PER_PIECE, 8), 1024)
            if n_rows >= MAX_ROWS_IN_MEMORY:
                limit = min(max(ROWS_PER_WRITE, MIN_ROWS_PER_WRITE * n), limit)
    blocks: list[list[tuple[int, int]]] = [[] for _ in range(n)]  # offset and size of each block
    for group in group_by_size(items, limit):
        if not file.tell() and sum(item.num_rows for item in group) < limit:
            yield group  # the group contains all items
            return
        _write_group(group, file, blocks)
        del group  # free its memory before the next group is read
    for of_piece in filter(None, blocks):
        yield [_read_block(file, *block) for block in of_piece]


def _write_group(group: list[Item], file: IO[bytes], blocks: list[list[tuple[int, int]]]) -> None:
    for number, piece in split_items(group, len(blocks)):
        start = file.tell()
        _write_piece(file, piece)
        blocks[number].append((start, file.tell() - start))


def _read_block(file: IO[bytes], start: int, size: int) -> Item:
    file.seek(start)
    return read_piece(pa.py_buffer(file.read(size)))
