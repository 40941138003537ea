"""Reports as JSON and back: every value, and ids of their own types."""

import json
import math
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from skgraded._input.words import plain
from skgraded._input.writing import write_text

# 2: files have a number, with versions, the seed and n_undefined; 3: min_detectable
FORMAT = 3
MOST_DIGITS = 300  # of whole numbers; floats have 309, and older pandas no table of more


def write(report: dict[str, Any], path: str | Path | None) -> str | None:
    """Write a report as JSON, to a file if there is a path, else as the text that is returned."""
    text = json.dumps({"format": FORMAT, **report}, allow_nan=False)
    if path is None:
        return text
    write_text(text, path)
    return None


def read(text_or_path: str | Path) -> dict[str, Any]:
    """Read a report that `write` wrote: a text that begins with { or else a path."""
    is_text = isinstance(text_or_path, str) and text_or_path.lstrip().startswith("{")
    source = "The text" if is_text else str(text_or_path)
    try:
        text = str(text_or_path) if is_text else Path(text_or_path).read_text(encoding="utf-8")
        report = json.loads(text, parse_constant=_refuse_constant, parse_int=_whole)
    except ValueError as error:  # of UTF-8 too
        raise ValueError(f"{source} is not JSON: {error}") from None
    except RecursionError:
        raise ValueError(f"{source} is not a report that to_json wrote: it is too deep.") from None
    if not isinstance(report, dict) or "kind" not in report:
        raise ValueError(f"{source} is not a report that to_json wrote: it has no 'kind'.")
    written = report.get("format", 1)  # the first had no number
    if type(written) is not int or written not in range(1, FORMAT + 1):
        raise ValueError(
            f"{source} has the format {written!r}, but this version of skgraded reads those up to "
            f"{FORMAT}: install the newest."
        )
    return report


def _refuse_constant(text):
    raise ValueError(f"it has {text}, which JSON does not know")


def _whole(text):
    if len(text) > MOST_DIGITS:
        raise ValueError(f"it has a whole number of {len(text)} digits, which no table holds")
    return int(text)


def columns_to_json(table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns of a table, with None for nan."""
    return {
        name: [None if cell != cell else cell for cell in cells] for name, cells in table.items()
    }


def columns_of_json(table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns that `columns_to_json` gave."""
    return {
        name: [math.nan if cell is None else cell for cell in cells]
        for name, cells in table.items()
    }


def numbers_to_json(values: np.ndarray) -> list[Any]:
    """Floats as a list, with None for nan, which JSON does not have."""
    return [None if value != value else value for value in values.tolist()]


def numbers_of_json(values: list[Any]) -> np.ndarray:
    """Floats that `numbers_to_json` gave."""
    found = np.array([math.nan if value is None else value for value in values], dtype=float)
    if np.isinf(found).any():
        raise ValueError(f"a value is {found[np.isinf(found)][0]}, which is not finite.")
    return found


def flags_of_json(positions: list[int], n: int, measure: str) -> np.ndarray:
    """Flags of n queries, those at the given positions set."""
    wrong = [at for at in positions if not 0 <= at < n]
    wrong += [at for before, at in pairwise(positions) if before >= at]
    if wrong:
        raise ValueError(
            f"undefined[{measure!r}] has {wrong[0]!r}; there are {n} queries, to be named in order."
        )
    flags = np.zeros(n, dtype=bool)
    flags[positions] = True
    return flags


def check_positions(positions: list[int], n: int, name: str) -> None:
    """Refuse what are no positions from 0 to n - 1."""
    wrong = next((at for at in positions if type(at) is not int or not 0 <= at < n), None)
    if wrong is not None:
        raise ValueError(f"{name} has {wrong!r}, but it must be from 0 to {n - 1}.")


def ids_to_json(ids: np.ndarray, what: str = "query id") -> dict[str, Any]:
    """Ids and their dtype."""
    plain = ids.view(np.int64) if ids.dtype.kind in "mM" else ids
    values = [_id_to_json(value, what) for value in plain.tolist()]
    return {"dtype": ids.dtype.str, "values": values}


def ids_of_json(written: dict[str, Any], name: str = "query_ids") -> np.ndarray:
    """Ids that `ids_to_json` gave; a ValueError if they are not of their dtype."""
    values = [_id_of_json(value, name) for value in written["values"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy 1 wraps numbers that are too large, and says so
        try:
            dtype = np.dtype(written["dtype"])
        except TypeError:
            dtype = None
        longest = max((len(value) for value in values if isinstance(value, str)), default=0)
        sizes = range(4 * longest + 4001)  # NumPy 1 has negative ones of what is too long
        if dtype is None or dtype.kind not in "biufUOmM" or dtype.itemsize not in sizes:
            raise ValueError(f"{name}['dtype'] is {written['dtype']!r}, which no ids have.")
        plain = np.empty(len(values), dtype=np.int64 if dtype.kind in "mM" else dtype)
        for i, value in enumerate(values):
            if not _holds(plain, i, value):
                raise ValueError(f"{name} has {value!r}, but its dtype is {written['dtype']!r}.")
    return plain.view(dtype)


def _holds(plain, i, value):
    """Whether an array takes a value as it is."""
    try:
        plain[i] = value
    except (ValueError, TypeError, OverflowError):
        return False
    held = plain[i] if plain.dtype.kind == "O" else plain[i].item()
    return held == value and type(held) is type(value)


def _id_to_json(value, what):
    value = plain(value)
    if type(value) is tuple:
        return {"tuple": [_id_to_json(part, what) for part in value]}
    if type(value) is float and math.isinf(value):
        return {"float": str(value)}
    if type(value) in (str, bool, int, float):
        return value
    raise TypeError(
        f"JSON has no form of the {what} {value!r} of type {type(value).__name__}: make it "
        "text, a number or a tuple of these."
    )


def _id_of_json(written, name):
    if type(written) in (str, bool, int, float):
        return written
    if isinstance(written, dict) and written.get("float") in ("inf", "-inf"):
        return float(written["float"])
    if isinstance(written, dict) and isinstance(written.get("tuple"), list):
        return tuple(_id_of_json(part, name) for part in written["tuple"])
    raise ValueError(f"{name} has {written!r}, which is no id.")
