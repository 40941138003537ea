"""Zero-copy access to strings in memory. This module does not import pyarrow."""

from contextlib import suppress
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from skgraded._kernels.strings import (
    hash_texts,
    number_texts,
    texts_at,
    utf8_of,
)

if TYPE_CHECKING:
    import pyarrow as pa

ArrowColumn: TypeAlias = "pa.Array | pa.ChunkedArray"


Spans: TypeAlias = tuple[int, np.ndarray, np.ndarray]  # base, starts and stops of texts
Numbered: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, bool]  # see `encode_column`


def is_text(kind: "pa.DataType") -> bool:
    """Return whether an Arrow type is a string or binary type with 32-bit or 64-bit offsets."""
    return str(kind).removeprefix("large_") in ("string", "binary")


def encode_column(column: "ArrowColumn") -> Numbered:
    """Return a code per row, the distinct strings, their counts, and whether codes are sorted."""
    base, starts, stops = find_spans(column)
    codes, rows, *rest = number_texts(base, starts, stops)
    is_binary = "binary" in str(column.type)
    return codes, texts_at(base, starts[rows], stops[rows], is_binary), *rest


def number_strings(ids: list[Any] | np.ndarray) -> Numbered | None:
    """Encode strings in the same way as `encode_column`; return None if any id is not a str."""
    copy, spans = _find_spans_of_strings(ids)
    if spans is None:
        return None
    codes, rows, *rest = number_texts(*spans)
    return codes, copy[rows].astype(object), *rest


def _find_spans_of_strings(ids: list[Any] | np.ndarray) -> tuple[np.ndarray, Spans | None]:
    """Return ids as an array, and their strings' memory spans (None unless all ids are str)."""
    if isinstance(ids, list):
        ids = np.fromiter(ids, dtype=object, count=len(ids))
    elif ids.dtype.kind == "O":
        ids = ids.copy()  # another thread may change the array
    if ids.dtype.kind == "O":
        spans = utf8_of(ids)
        return ids, spans and (0, *spans)
    ids = np.ascontiguousarray(ids)  # shorter texts are padded with zeros
    ends = ids.itemsize * np.arange(len(ids) + 1, dtype=np.uint64)
    return ids, (ids.ctypes.data, ends[:-1], ends[1:])


def hash_ids(ids: np.ndarray) -> np.ndarray:
    """Return a 64-bit key per id, which is the same in all processes; keys may collide."""
    kind = ids.dtype.kind
    types = set(map(type, ids.tolist())) if kind == "O" else set()
    if types and types <= {int, float, bool}:
        with suppress(OverflowError):  # raised for integers that int64 cannot represent
            return hash_ids(ids.astype(float if float in types else np.int64))
    if (
        types
        and all(issubclass(kind, date | np.datetime64) for kind in types)
        and not any(getattr(value, "tzinfo", None) for value in ids)
    ):
        return hash_ids(np.array(ids.tolist(), dtype="M8[us]"))
    if kind in "mM":  # the key must not depend on the unit
        return ids.astype(f"{kind}8[us]", copy=False).view(np.uint64)
    if kind in "iub":
        return ids.astype(np.int64, copy=False).view(np.uint64)
    if kind == "f":
        whole = (ids == np.rint(ids)) & (np.abs(ids) < 2.0**62)
        bits = ids.astype(np.float64).view(np.uint64)
        return np.where(whole, np.where(whole, ids, 0).astype(np.int64).view(np.uint64), bits)
    if types == {bytes}:
        data = np.frombuffer(b"".join(ids), dtype=np.uint8)
        ends = np.cumsum([0, *map(len, ids)], dtype=np.uint64)
        return hash_texts(data.ctypes.data, ends[:-1], ends[1:])
    texts: Any = ids
    if types != {str}:  # equal decimals become equal strings
        texts = [f"{i.normalize():f}" if isinstance(i, Decimal) else str(i) for i in ids]
    _, spans = _find_spans_of_strings(texts)
    assert spans is not None
    return hash_texts(*spans)


def find_spans(column: "ArrowColumn") -> Spans:
    """Return the base address of the strings in a column, and the start and stop of each string."""
    chunks = [chunk for chunk in getattr(column, "chunks", [column]) if len(chunk)]
    spans = list(map(_find_spans_of_chunk, chunks))
    if len(spans) == 1:
        return spans[0]
    none = np.empty(0, dtype=np.uint64)
    starts = np.concatenate([none, *(starts + np.uint64(base) for base, starts, _ in spans)])
    stops = np.concatenate([none, *(stops + np.uint64(base) for base, _, stops in spans)])
    return 0, starts, stops


def _find_spans_of_chunk(array: "pa.Array") -> Spans:
    array.validate()  # raises a ValueError unless the last string ends within the buffer
    is_large = str(array.type).startswith("large")
    _, ends, data = array.buffers()
    ends = np.frombuffer(ends, dtype=np.int64 if is_large else np.int32)
    ends = ends[array.offset : array.offset + len(array) + 1]
    if (ends[1:] < ends[:-1]).any():
        raise ValueError("Arrow data are corrupt: a string ends before it starts.")
    ends = ends.astype(np.int64, copy=False).view(np.uint64)
    return 0 if data is None else data.address, ends[:-1], ends[1:]
