"""Read reports from JSON, and convert their arrays and ids to and from JSON values."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from skgraded._input.door import make_object_array, plain

VERSION = 1  # version of the JSON layout; docs/json.md explains when it increases


def read_report(
    text_or_path: str | Path, readers: Mapping[str, Callable[[dict[str, Any]], Any]]
) -> Any:
    """Read a report from a file or from a JSON string (a string that starts with { or is empty).

    Every error names the file.
    """
    is_text = isinstance(text_or_path, str) and text_or_path.lstrip()[:1] in ("{", "")
    text: Any = text_or_path if is_text else Path(text_or_path).read_bytes()
    source = "The JSON" if is_text else f"{text_or_path}: The JSON"
    try:
        written: Any = json.loads(text)
    except ValueError as error:  # also for bytes that are not UTF-8
        what = "is empty" if not text.strip() else f"is not complete or not valid: {error}"
        raise ValueError(f"{source} {what}.") from None
    written = written if isinstance(written, dict) else {}
    kind, version = written.get("kind"), written.get("version")
    if kind is None or kind not in readers:
        raise ValueError(f"{source} must have the kind {' or '.join(readers)}; got {kind!r}.")
    if version != VERSION:
        raise ValueError(
            f"{source} has version {version!r}, but this version of skgraded reads only "
            f"version {VERSION}. Install the newest version of skgraded."
        )
    try:
        return readers[kind](written)
    except KeyError as error:
        raise ValueError(f"{source} of the {kind} has no field {error}.") from None


# Arrays and ids ----------------------------------------------------------------------------------


def write_arrays(value: Any) -> Any:
    """Convert an array or a dict of arrays to lists, and nan to None; return None unchanged."""
    if isinstance(value, dict):
        return {name: write_arrays(array) for name, array in value.items()}
    if value is None or value.dtype.kind != "f":
        return None if value is None else value.tolist()
    numbers: Any = np.where(np.isnan(value), None, value)
    return numbers.tolist()


def read_arrays(written: list[Any] | dict[str, Any] | None, dtype: type = float) -> Any:
    """Convert the result of `write_arrays` back to arrays; None in a list becomes nan."""
    if isinstance(written, dict):
        return {name: read_arrays(values, dtype) for name, values in written.items()}
    return None if written is None else np.array(written, dtype=dtype)


def write_json_ids(ids: np.ndarray) -> dict[str, Any]:
    """Convert ids to a dict with their dtype and values; dates become integers."""
    if ids.dtype.kind == "O":
        values = list(map(write_json_id, ids.tolist()))
    else:
        values = ids.astype(np.int64).tolist() if ids.dtype.kind in "mM" else ids.tolist()
    return {"dtype": ids.dtype.str, "values": values}


def read_json_ids(written: dict[str, Any]) -> np.ndarray:
    """Convert the result of `write_json_ids` back to an array."""
    dtype = np.dtype(written["dtype"])
    if dtype.kind == "O":
        return make_object_array(list(map(read_json_id, written["values"])))
    return np.array(written["values"], dtype=np.int64 if dtype.kind in "mM" else dtype).view(dtype)


def write_json_id(value: object) -> Any:
    """Convert a query id or a segment to a JSON value; tuples become lists."""
    value = plain(value)
    if isinstance(value, tuple):
        return list(map(write_json_id, value))
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return {"dtype": value.dtype.str, "value": int(value.astype(np.int64))}
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(
        f"Cannot write {value!r} of type {type(value).__name__} as JSON: use query ids and "
        "segments that are strings, numbers, NumPy dates or tuples of these."
    )


def read_json_id(written: object) -> Any:
    """Convert the result of `write_json_id`."""
    if isinstance(written, list):
        return tuple(map(read_json_id, written))
    if isinstance(written, dict):
        return np.int64(written["value"]).view(written["dtype"])
    return written
