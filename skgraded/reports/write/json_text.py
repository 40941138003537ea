"""Reports as JSON and back: every value, and ids of their own types."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from skgraded._input.words import plain
from skgraded._input.writing import write_text

FORMAT = 2  # since when files have a number: with versions, the seed and n_undefined


def write(report: dict[str, Any], path: str | Path | None) -> str | None:
    """Write a report as JSON, to a file if there is a path, else as the text that is returned."""
    text = json.dumps({"format": FORMAT, **report}, allow_nan=False)
    if path is None:
        return text
    write_text(text, path)
    return None


def read(text_or_path: str | Path) -> dict[str, Any]:
    """Read a report that `write` wrote: a text that begins with { or else a path."""
    if isinstance(text_or_path, str) and text_or_path.lstrip().startswith("{"):
        source, text = "The text", text_or_path
    else:
        source = str(text_or_path)
        text = Path(text_or_path).read_text(encoding="utf-8")
    try:
        report = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{source} is not JSON: {error}") from None
    if not isinstance(report, dict) or "kind" not in report:
        raise ValueError(f"{source} is not a report that to_json wrote: it has no 'kind'.")
    written = report.get("format", 1)  # the first had no number
    if written not in range(1, FORMAT + 1):
        raise ValueError(
            f"{source} has the format {written!r}, but this version of skgraded reads those up to "
            f"{FORMAT}: install the newest."
        )
    return report


def numbers_to_json(values: np.ndarray) -> list[Any]:
    """Floats as a list, with None for nan, which JSON does not have."""
    return [None if value != value else value for value in values.tolist()]


def numbers_of_json(values: list[Any]) -> np.ndarray:
    """Floats that `numbers_to_json` gave."""
    return np.array([math.nan if value is None else value for value in values], dtype=float)


def flags_of_json(positions: list[int], n: int, measure: str) -> np.ndarray:
    """Flags of n queries, those at the given positions set."""
    wrong = [at for at in positions if type(at) is not int or not 0 <= at < n]
    if wrong:
        raise ValueError(f"undefined[{measure!r}] has {wrong[0]!r}; there are {n} queries.")
    flags = np.zeros(n, dtype=bool)
    flags[positions] = True
    return flags


def ids_to_json(ids: np.ndarray) -> dict[str, Any]:
    """Ids and their dtype."""
    plain = ids.view(np.int64) if ids.dtype.kind in "mM" else ids
    return {"dtype": ids.dtype.str, "values": [_id_to_json(value) for value in plain.tolist()]}


def ids_of_json(written: dict[str, Any]) -> np.ndarray:
    """Ids that `ids_to_json` gave."""
    dtype = np.dtype(written["dtype"])
    plain = np.empty(len(written["values"]), dtype=np.int64 if dtype.kind in "mM" else dtype)
    plain[:] = [_id_of_json(value) for value in written["values"]]
    return plain.view(dtype)


def _id_to_json(value):
    value = plain(value)
    if type(value) is tuple:
        return {"tuple": [_id_to_json(part) for part in value]}
    if type(value) is float and math.isinf(value):
        return {"float": str(value)}
    if type(value) in (str, bool, int, float):
        return value
    raise TypeError(
        f"JSON has no form of the query id {value!r} of type {type(value).__name__}: make ids "
        "text, numbers or tuples of these."
    )


def _id_of_json(written):
    if not isinstance(written, dict):
        return written
    if "float" in written:
        return float(written["float"])
    return tuple(_id_of_json(part) for part in written["tuple"])
