"""Write and read reports as JSON, and convert the arrays and ids in them."""

import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from skgraded._input.atomic_files import text_or_file
from skgraded._input.words import MOST_NESTED, object_array, plain

A_FRACTION = re.compile(r"-?\d{1,2500}(/0*[1-9]\d{0,2500})?")
VERSION = 1  # of the layout; docs/json.md states when it increases


def write(report: dict[str, Any], path: str | Path | None) -> str | None:
    """Write a report as JSON to a file, or return the JSON text if `path` is None."""
    return text_or_file(json.dumps(report, allow_nan=False, separators=(",", ":")), path)


def read(text_or_path: str | Path, kinds: Collection[str]) -> dict[str, Any]:
    """Read a report of one of these kinds, from a path or from text that starts with {."""
    is_text = isinstance(text_or_path, str) and text_or_path.lstrip().startswith("{")
    source = "the text" if is_text else f"the file {text_or_path}"
    text = str(text_or_path) if is_text else Path(text_or_path).read_text(encoding="utf-8")
    try:
        report: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise ValueError(f"Cannot read {source} as JSON: {error}") from None
    kind, version = report.get("kind"), report.get("version")
    if kind not in kinds:
        raise ValueError(f"The JSON must have the kind {' or '.join(kinds)}; got {kind!r}.")
    if version != VERSION:
        raise ValueError(
            f"Cannot read {source}: its version is {version!r}, but this version of skgraded reads "
            f"only version {VERSION}. Install the newest version of skgraded."
        )
    return report


# Arrays and ids ----------------------------------------------------------------------------------


def write_arrays(value: Any) -> Any:
    """Convert an array, or a dict of arrays, to lists with None for nan; None remains None."""
    if isinstance(value, dict):
        return {name: write_arrays(array) for name, array in value.items()}
    if value is None or value.dtype.kind != "f":
        return None if value is None else value.tolist()
    numbers = value.astype(object)
    numbers[np.isnan(value)] = None
    return numbers.tolist()


def read_arrays(written: Any, dtype: Any = float) -> Any:
    """Convert the result of `write_arrays` to arrays; None in a list becomes nan."""
    if isinstance(written, dict):
        return {name: read_arrays(values, dtype) for name, values in written.items()}
    return None if written is None else np.array(written, dtype=dtype)


def ids_to_json(ids: np.ndarray) -> dict[str, Any]:
    """Convert ids to a dict of their dtype and values; dates become integers."""
    if ids.dtype.kind == "O":
        values = list(map(id_to_json, ids.tolist()))
    else:
        values = ids.astype(np.int64).tolist() if ids.dtype.kind in "mM" else ids.tolist()
    return {"dtype": ids.dtype.str, "values": values}


def ids_from_json(written: dict[str, Any]) -> np.ndarray:
    """Convert the result of `ids_to_json` to an array."""
    dtype = np.dtype(written["dtype"])
    if dtype.kind == "O":
        return object_array(list(map(id_from_json, written["values"])))
    return np.array(written["values"], dtype=np.int64 if dtype.kind in "mM" else dtype).view(dtype)


def id_to_json(value: Any) -> Any:
    """Convert a query id or a segment; tuples become lists."""
    value = plain(value)
    if isinstance(value, tuple):
        return list(map(id_to_json, value))
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return {"dtype": value.dtype.str, "value": int(value.astype(np.int64))}
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(
        f"Cannot write {value!r} of type {type(value).__name__} as JSON: use query ids and "
        "segments that are strings, numbers, NumPy dates or tuples of these."
    )


def id_from_json(written: Any) -> Any:
    """Convert the result of `id_to_json`."""
    if isinstance(written, list):
        return tuple(map(id_from_json, written))
    if isinstance(written, dict):
        return np.int64(written["value"]).view(written["dtype"])
    return written


# LEFTOVER: forms of the reports that become frames; removed in the last commit


class Form(NamedTuple):
    """Functions that convert one kind of value to JSON and back.

    `read` receives the result of `write` and its location in the report. If the value has the wrong
    form, `read` raises a ValueError that contains this location.
    """

    write: Callable[[Any], Any]
    read: Callable[[Any, str], Any]


def maybe(form: Form) -> Form:
    """Return the form of a value that may be None."""
    return Form(
        lambda value: None if value is None else form.write(value),
        lambda written, name: None if written is None else form.read(written, name),
    )


def list_of(form: Form) -> Form:
    """Return the form of a list of values."""

    def read_list(written: Any, name: str) -> list[Any]:
        _refuse_other_type(written, (list,), "a list", name)
        return [form.read(value, f"{name}[{i}]") for i, value in enumerate(written)]

    return Form(lambda values: [form.write(value) for value in values], read_list)


def by_name(form: Form) -> Form:
    """Return the form of a dict with string keys."""

    def read_dict(written: Any, name: str) -> dict[str, Any]:
        _refuse_other_type(written, (dict,), "an object", name)
        return {key: form.read(value, f"{name}[{key!r}]") for key, value in written.items()}

    return Form(lambda values: {key: form.write(value) for key, value in values.items()}, read_dict)


def record(made: Callable[..., Any], **forms: Form) -> Form:
    """Return the form of an object that `made` constructs from the attributes in `forms`."""

    def read_record(written: Any, name: str) -> Any:
        parts = read_fields(forms, written, name)
        try:
            return made(**parts)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{name}: {error}") from None

    return Form(lambda value: write_fields(forms, value), read_record)


def write_fields(forms: Mapping[str, Form], value: Any) -> dict[str, Any]:
    """Convert the attributes of an object that have a form to JSON."""
    return {name: form.write(getattr(value, name)) for name, form in forms.items()}


def read_fields(forms: Mapping[str, Form], written: Any, place: str = "") -> dict[str, Any]:
    """Read the result of `write_fields`; error messages contain the location `place`."""
    _refuse_other_type(written, (dict,), "an object", place)
    for name in forms:
        if name not in written:
            raise ValueError(f"{place or 'it'} does not contain {name!r}.")
    return {
        name: form.read(written[name], f"{place}[{name!r}]" if place else name)
        for name, form in forms.items()
    }


def _refuse_other_type(value: Any, types: tuple[type, ...], expected: str, name: str) -> None:
    if type(value) not in types:
        text = repr(value)
        text = text if len(text) <= 60 else f"{text[:57]}…"
        raise ValueError(f"{name} must be {expected}; got {text}.")


def _plain_form(expected: str, *types: type) -> Form:
    def read_plain(written: Any, name: str) -> Any:
        _refuse_other_type(written, types, expected, name)
        return written

    return Form(lambda value: value, read_plain)


TEXT = _plain_form("a string", str)
INTEGER = _plain_form("an integer", int)
TRUE_OR_FALSE = _plain_form("true or false", bool)
OBJECT = _plain_form("an object", dict)


def _read_number(written: Any, name: str) -> int | float:
    _refuse_other_type(written, (int, float), "a number", name)
    return written if abs(written) < 2**53 else float(written)  # NumPy has no larger integers


PLAIN_NUMBER = Form(lambda value: value, _read_number)
NUMBER = Form(
    lambda value: str(value) if math.isinf(value) else value,
    lambda written, name: (
        float(written) if written in ("inf", "-inf") else PLAIN_NUMBER.read(written, name)
    ),
)


def _read_fraction(written: Any, name: str) -> Fraction:
    if not isinstance(written, str) or not A_FRACTION.fullmatch(written):
        raise ValueError(f"{name} must be a fraction, such as '3/4'; got {written!r:.60}.")
    return Fraction(written)


FRACTION = Form(str, _read_fraction)


# Arrays ------------------------------------------------------------------------------------------


def _array_form(
    expected: str, dtype: Any, write_array: Callable[[np.ndarray], list[Any]], *types: type
) -> Form:
    def read_array(written: Any, name: str) -> np.ndarray:
        _refuse_other_type(written, (list,), "a list", name)
        if not set(map(type, written)) <= set(types):  # fast for long lists
            for i, value in enumerate(written):
                _refuse_other_type(value, types, expected, f"{name}[{i}]")
        return np.array(written, dtype=dtype)  # None becomes nan

    return Form(write_array, read_array)


FLOATS = _array_form(  # JSON does not support nan
    "a number",
    float,
    lambda values: [None if value != value else value for value in values.tolist()],
    int,
    float,
    type(None),
)
INTEGERS = _array_form("an integer", np.intp, np.ndarray.tolist, int)
FLAGS = _array_form("true or false", bool, np.ndarray.tolist, bool)


def _id_to_json(value: Any, what: str = "query id") -> Any:
    value = plain(value)
    if type(value) is tuple:
        return {"tuple": [_id_to_json(part, what) for part in value]}
    if type(value) is float and math.isinf(value):
        return {"float": str(value)}
    if type(value) in (str, bool, int, float):
        return value
    raise TypeError(
        f"Cannot write the {what} {value!r} of type {type(value).__name__} as JSON: convert it to "
        "a string, a number or a tuple of these."
    )


def _id_of_json(written: Any, name: str, depth: int = 0) -> Any:
    if type(written) in (str, bool, int, float):
        return written
    if isinstance(written, dict) and written.get("float") in ("inf", "-inf"):
        return float(written["float"])
    if isinstance(written, dict) and isinstance(written.get("tuple"), list):
        if depth == MOST_NESTED:
            raise ValueError(f"{name} contains more than {MOST_NESTED} nested tuples.")
        return tuple(_id_of_json(part, name, depth + 1) for part in written["tuple"])
    raise ValueError(f"{name} must contain ids; got {written!r:.60}.")


SEGMENT = Form(lambda segment: _id_to_json(segment, "segment"), _id_of_json)
SEGMENT_NAMES = Form(
    lambda segments: ids_to_json(object_array(segments)),
    lambda written, name: ids_from_json(written).tolist(),
)


# Classes -----------------------------------------------------------------------------------------

FORMS = {  # maps the type of a field to its form
    "str": TEXT,
    "str | None": maybe(TEXT),
    "list[str]": list_of(TEXT),
    "int": INTEGER,
    "int | None": maybe(INTEGER),
    "float": PLAIN_NUMBER,
    "bool": TRUE_OR_FALSE,
    "dict[str, np.ndarray]": by_name(FLOATS),
    "dict[str, int | None]": by_name(maybe(INTEGER)),
    "dict[str, np.ndarray] | None": maybe(by_name(FLOATS)),
    "np.ndarray | None": maybe(FLOATS),
}


def forms_of(made: Any, **special: Form) -> dict[str, Form]:
    """Return the form of each field of a dataclass or named tuple in `special` or `FORMS`."""
    types = made.__annotations__
    if is_dataclass(made):  # also the fields of its base classes
        types = {field.name: field.type for field in fields(made)}
    names = {name: getattr(kind, "__name__", kind) for name, kind in types.items()}
    forms = {name: special.get(name, FORMS.get(kind)) for name, kind in names.items()}
    return {name: form for name, form in forms.items() if form is not None}
