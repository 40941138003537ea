"""Access to texts in memory without copies; this module does not import pyarrow."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from decimal import Decimal
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from skgraded._kernels.strings import (
    copy_texts,
    hash_texts,
    number_texts,
    spans_of_views,
    texts_at,
    utf8_of,
)

if TYPE_CHECKING:
    import pyarrow as pa

ArrowColumn: TypeAlias = "pa.Array | pa.ChunkedArray"
INLINE_BYTES = 12  # maximum length of a text that Arrow stores in the view itself


class Texts:
    """Texts of an Arrow column without nulls, or of an array of Python strings."""

    def __init__(
        self, source: "ArrowColumn | np.ndarray", base: int, starts: np.ndarray, stops: np.ndarray
    ) -> None:
        self.source = source  # keeps the memory alive
        self.base, self.starts, self.stops = base, starts, stops  # see `_kernels/strings.pyx`

    def __len__(self) -> int:
        return len(self.starts)

    def numbered(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
        """Return row codes, distinct texts, row counts, and whether the codes are sorted."""
        codes, rows, *rest = number_texts(self.base, self.starts, self.stops)
        return codes, self.at(rows), *rest

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Return the texts of the given rows as an array of Python objects."""
        if isinstance(self.source, np.ndarray):
            return self.source[rows].astype(object)
        is_binary = "binary" in str(self.source.type)
        return texts_at(self.base, self.starts[rows], self.stops[rows], is_binary)


def is_text(kind: "pa.DataType") -> bool:
    """Return whether an Arrow type is text or bytes in one of Arrow's layouts."""
    kind = kind.value_type if is_dictionary(kind) else kind
    name = str(kind).removeprefix("large_").removesuffix("_view")
    return name in ("string", "binary")


def is_dictionary(kind: "pa.DataType") -> bool:
    """Return whether an Arrow type is a dictionary."""
    return str(kind).startswith("dictionary<")


def read_texts(column: "ArrowColumn") -> Texts:
    """Return the texts of an Arrow column without nulls."""
    return Texts(column, *_find_spans(column))


def read_strings(ids: list[Any] | np.ndarray) -> Texts | None:
    """Return the texts of a list or an array, or None if it contains other objects than str."""
    if isinstance(ids, list):
        ids = np.fromiter(ids, dtype=object, count=len(ids))
    elif ids.dtype.kind == "O":
        ids = ids.copy()  # another thread may change the array
    if ids.dtype.kind == "O":
        spans = utf8_of(ids)
        return spans and Texts(ids, 0, *spans)
    ids = np.ascontiguousarray(ids)  # shorter texts are padded with zeros
    ends = ids.itemsize * np.arange(len(ids) + 1, dtype=np.uint64)
    return Texts(ids, ids.ctypes.data, ends[:-1], ends[1:])


def has_short_dictionaries(column: "ArrowColumn") -> bool:
    """Return whether the dictionaries of an Arrow column are shorter than it and have no nulls."""
    if not is_dictionary(column.type):
        return False
    dictionaries = [chunk.dictionary for chunk in _list_chunks(column)]
    return sum(map(len, dictionaries)) <= len(column) and not any(
        dictionary.null_count for dictionary in dictionaries
    )


def read_codes(column: "ArrowColumn") -> tuple[np.ndarray, Texts]:
    """Return the code of each row in a dictionary-encoded column, and the text of each code."""
    spans = [_find_spans(chunk.dictionary) for chunk in _list_chunks(column)]
    base, starts, stops = _join_spans(spans)
    numbers, rows, *_ = number_texts(base, starts, stops)  # a text may occur more than once
    firsts = np.cumsum([0, *(len(stops) for *_, stops in spans)])
    codes = [
        numbers[first:][chunk.indices.to_numpy()]
        for first, chunk in zip(firsts[:-1], _list_chunks(column), strict=True)
    ]
    return np.concatenate(codes), Texts(column, base, starts[rows], stops[rows])


def hash_column(column: "ArrowColumn") -> np.ndarray:
    """Return a 64-bit key per text of an Arrow column without nulls, equal on every machine."""
    if not is_dictionary(column.type):
        return hash_texts(*_find_spans(column))
    chunks = [
        hash_column(chunk.dictionary)[chunk.indices.to_numpy()] for chunk in _list_chunks(column)
    ]
    return np.concatenate([np.empty(0, dtype=np.uint64), *chunks])


def hash_ids(ids: np.ndarray) -> np.ndarray:
    """Return a 64-bit key per id, equal in all processes; distinct text ids may share a key."""
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
    texts = read_strings(ids if types == {str} else list(map(_write_id, ids)))
    assert texts is not None
    return hash_texts(texts.base, texts.starts, texts.stops)


def _write_id(value: object) -> str:
    """Return the text of an id; decimals that are equal have equal texts."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)


def copy_column(column: "ArrowColumn", order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Copy texts of an Arrow column in the given order; return their boundaries and bytes."""
    return copy_texts(*_find_spans(column), order)


def refuse_damaged(values: object, name: str) -> None:
    """Raise a ValueError if Arrow memory is inconsistent or contains text that is not UTF-8.

    `values` is any object; nothing is checked unless it is an Arrow array or table, or a pandas
    Series in Arrow memory. Damaged memory must not be read, because this could crash the process.
    """
    if type(values) in (list, np.ndarray):  # fast path
        return
    dtype = getattr(values, "dtype", None)
    pa = sys.modules.get("pyarrow")
    if pa is None or isinstance(dtype, np.dtype):
        return
    storage = str(getattr(dtype, "storage", ""))
    if storage.startswith("pyarrow") or str(dtype).endswith("[pyarrow]"):
        extension: Any = getattr(values, "array", values)
        values = extension.__arrow_array__()
    if isinstance(values, (pa.Table, pa.RecordBatch)):
        for column in values.columns:
            _refuse_damaged_column(column, name, pa)
    elif isinstance(values, (pa.Array, pa.ChunkedArray)):
        _refuse_damaged_column(values, name, pa)


def _refuse_damaged_column(column: "ArrowColumn", name: str, pa: ModuleType) -> None:
    kind = column.type
    try:
        column.validate()  # the sizes of all buffers
        if not (pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or _is_ascii(column)):
            column.validate(full=True)
    except (ValueError, IndexError) as error:  # base classes of Arrow's errors
        problem = " ".join(str(error).split()).removesuffix(".")
        raise ValueError(
            f"{name} contains damaged Arrow memory, or text that is not UTF-8: {problem}."
        ) from None


def _is_ascii(column: "ArrowColumn") -> bool:
    """Return whether a column contains only valid ASCII strings; this is faster than `validate`."""
    if str(column.type) not in ("string", "large_string"):
        return False
    for array in _list_chunks(column):
        data, ends = array.buffers()[2], _read_ends(array)
        if (ends[1:] < ends[:-1]).any():
            return False
        if data and np.frombuffer(data, np.int8)[ends[0] : ends[-1]].min(initial=0) < 0:
            return False
    return True


def _list_chunks(column: "ArrowColumn") -> Iterator[Any]:
    return (chunk for chunk in getattr(column, "chunks", [column]) if len(chunk))


Spans = tuple[int, np.ndarray, np.ndarray]  # base, starts and stops, see `_kernels/strings.pyx`


def _find_spans(column: "ArrowColumn") -> Spans:
    return _join_spans([_find_spans_of_chunk(chunk) for chunk in _list_chunks(column)])


def _join_spans(spans: list[Spans]) -> Spans:
    if len(spans) == 1:
        return spans[0]
    none = np.empty(0, dtype=np.uint64)
    starts = np.concatenate([none, *(starts + np.uint64(base) for base, starts, _ in spans)])
    stops = np.concatenate([none, *(stops + np.uint64(base) for base, _, stops in spans)])
    return 0, starts, stops


def _find_spans_of_chunk(array: "pa.Array") -> Spans:
    if is_dictionary(array.type):
        base, starts, stops = _find_spans(array.dictionary)
        indices = array.indices.to_numpy()
        return base, starts[indices], stops[indices]
    if "view" in str(array.type):
        return 0, *_find_spans_of_views(array)
    data, ends = array.buffers()[2], _read_ends(array).astype(np.int64, copy=False).view(np.uint64)
    return 0 if data is None else data.address, ends[:-1], ends[1:]


def _read_ends(array: "pa.Array") -> np.ndarray:
    """Return the boundaries of the texts in the buffer of their bytes."""
    is_large = str(array.type).startswith("large")
    ends = np.frombuffer(array.buffers()[1], dtype=np.int64 if is_large else np.int32)
    return ends[array.offset : array.offset + len(array) + 1]


def _find_spans_of_views(array: "pa.Array") -> tuple[np.ndarray, np.ndarray]:
    _, views, *buffers = array.buffers()
    words = np.frombuffer(views, dtype="<u4").reshape(-1, 4)
    words = words[array.offset : array.offset + len(array)]
    bases = np.array([buffer.address for buffer in buffers], dtype=np.uint64)
    return spans_of_views(words, views.address + 16 * array.offset, bases, INLINE_BYTES)
