"""Access to the texts of Arrow columns without copies; this module does not import pyarrow."""

from typing import Any

import numpy as np

from skgraded._kernels.strings import hash_texts, number_texts

INLINE_BYTES = 12  # maximum length of a text that Arrow stores in the view itself


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is text or bytes in one of Arrow's layouts."""
    name = str(kind).removeprefix("large_").removesuffix("_view")
    return name in ("string", "binary")


def keys(column: Any) -> np.ndarray:
    """Return a 64-bit key per text of an Arrow column without nulls, equal on every machine."""
    return hash_texts(*_spans(column))


def numbered(column: Any) -> tuple[np.ndarray, list[Any]]:
    """Number the texts of an Arrow column without nulls in order of first appearance.

    Returns the number of each text and the distinct texts.
    """
    return number_texts(*_spans(column), "binary" in str(column.type))


def _spans(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the address and the number of bytes of each text."""
    chunks = [chunk for chunk in getattr(column, "chunks", [column]) if len(chunk)]
    spans = [(_view_spans if "view" in str(column.type) else _spans_of)(chunk) for chunk in chunks]
    if len(spans) == 1:
        return spans[0]
    none = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    addresses, lengths = zip(none, *spans, strict=True)
    return np.concatenate(addresses), np.concatenate(lengths)


def _spans_of(array: Any) -> tuple[np.ndarray, np.ndarray]:
    _, offsets, data = array.buffers()
    is_large = str(array.type).startswith("large")
    ends = np.frombuffer(offsets, dtype=np.int64 if is_large else np.int32)
    ends = ends[array.offset : array.offset + len(array) + 1].astype(np.int64, copy=False)
    base = 0 if data is None else data.address
    return (ends[:-1] + base).view(np.uint64), np.diff(ends)


def _view_spans(array: Any) -> tuple[np.ndarray, np.ndarray]:
    """Read the views: 4 bytes of length, then a short text or its prefix, buffer and offset."""
    _, views, *buffers = array.buffers()
    rows = np.arange(array.offset, array.offset + len(array))
    words = np.frombuffer(views, dtype=np.int32).reshape(-1, 4)[rows[0] : rows[-1] + 1]
    lengths = words[:, 0].astype(np.int64)
    addresses = views.address + 16 * rows + 4
    is_long = lengths > INLINE_BYTES
    if is_long.any():
        bases = np.array([buffer.address for buffer in buffers], dtype=np.int64)
        addresses[is_long] = bases[words[is_long, 2]] + words[is_long, 3]
    return addresses.view(np.uint64), lengths
