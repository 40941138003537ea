"""Write and read reports as JSON; a `Form` converts each kind of value.

A form checks only types and shapes. The class constructed from the values checks the rest.
"""

import base64
import json
import math
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from skgraded._input.atomic_files import write_text
from skgraded._input.words import MOST_NESTED, are_utf8, object_array, plain

FORMAT = 1
MOST_UNPACKED = 2**24  # bytes; limits the memory that a short text can require
MOST_DIGITS = 300  # maximum number of digits in an integer; old pandas versions reject longer ones
# Up to 2,500 digits are allowed, because the square of a float can have 1,300 digits.
A_FRACTION = re.compile(r"-?\d{1,2500}(/0*[1-9]\d{0,2500})?")
DTYPE_OF_IDS = re.compile(r"[<>|=]?[biufmMO][\w\[\]]*")


# Files -------------------------------------------------------------------------------------------


def write(report: dict[str, Any], path: str | Path | None) -> str | None:
    """Write a report as JSON to a file, or return the JSON text if `path` is None."""
    text = json.dumps({"format": FORMAT, **report}, allow_nan=False, separators=(",", ":"))
    if path is None:
        return text
    write_text(text, path)
    return None


def read(text_or_path: str | Path) -> dict[str, Any]:
    """Read a report written by `write`, from a path or from text that starts with {."""
    is_text = isinstance(text_or_path, str) and text_or_path.lstrip().startswith("{")
    source = "the text" if is_text else f"the file {text_or_path}"
    try:
        text = str(text_or_path) if is_text else Path(text_or_path).read_text(encoding="utf-8")
        report = json.loads(text, parse_constant=_refuse_constant, parse_int=_whole)
        if "\\ud" in text or "\\uD" in text or not are_utf8([text]):
            json.dumps(report, ensure_ascii=False).encode()  # lone surrogates raise an error
    except ValueError as error:  # also invalid UTF-8
        raise ValueError(f"Cannot read {source} as JSON: {error}") from None
    except RecursionError:
        raise ValueError(f"Cannot read {source} as JSON: it is nested too deeply.") from None
    if not isinstance(report, dict) or "kind" not in report:
        raise ValueError(f"A report written by to_json must contain 'kind', but {source} does not.")
    written = report.get("format")
    if type(written) is not int or written != FORMAT:
        raise ValueError(
            f"Cannot read {source}: its format is {written!r}, but this version of skgraded reads "
            f"only format {FORMAT}. Install the newest version of skgraded."
        )
    return report


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"it contains {text}, which is not valid JSON")


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"an integer has {len(text)} digits; the maximum is {MOST_DIGITS}")
    return int(text)


# Forms -------------------------------------------------------------------------------------------


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


def packed(form: Form) -> Form:
    """Return the form of a large value: compressed JSON (zlib), as base64 text."""

    def read_packed(written: Any, name: str) -> Any:
        reader = zlib.decompressobj()
        try:
            text = reader.decompress(base64.b64decode(TEXT.read(written, name)), MOST_UNPACKED)
            if not reader.eof or reader.unused_data:
                raise ValueError(f"it is incomplete, or longer than {MOST_UNPACKED} bytes")
            value = json.loads(text, parse_int=_whole)
        except (ValueError, zlib.error) as error:
            raise ValueError(f"{name} cannot be decompressed: {error}") from None
        return form.read(value, name)

    def write_packed(value: Any) -> str:
        text = json.dumps(form.write(value), separators=(",", ":"))
        return base64.b64encode(zlib.compress(text.encode(), 9)).decode()

    return Form(write_packed, read_packed)


def agree(written: Any, value: Any) -> bool:
    """Return whether numbers in JSON, which may be nested in objects, equal those of a report."""
    if isinstance(value, dict):
        return (
            isinstance(written, dict)
            and written.keys() == value.keys()
            and all(agree(written[key], value[key]) for key in value)
        )
    if value is None or type(written) not in (int, float):
        return written is None and value is None
    return math.isclose(written, value, rel_tol=1e-9, abs_tol=1e-12)


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


def ids_to_json(ids: np.ndarray, what: str = "query id") -> dict[str, Any]:
    """Convert ids to a dict of their dtype and values."""
    numbers = ids.view(np.int64) if ids.dtype.kind in "mM" else ids
    values = [_id_to_json(value, what) for value in numbers.tolist()]
    return {"dtype": ids.dtype.str, "values": values}


def ids_of_json(written: dict[str, Any], name: str = "query_ids") -> np.ndarray:
    """Convert the result of `ids_to_json` back to ids; raise a ValueError for a wrong dtype."""
    parts = read_fields({"dtype": TEXT, "values": list_of(ONE_ID)}, written, name)
    text, values = parts["dtype"], parts["values"]
    if not DTYPE_OF_IDS.fullmatch(text):
        raise ValueError(f"{name} requires a boolean, numeric, time or object dtype; got {text!r}.")
    dtype = np.dtype(text)
    if dtype.kind == "O":
        return object_array(values)
    try:
        with np.errstate(all="ignore"):
            ids = object_array(values).astype(np.int64 if dtype.kind in "mM" else dtype)
    except (TypeError, ValueError, OverflowError):
        ids = np.empty(0)
    read_back = ids.tolist()
    if read_back != values or [*map(type, read_back)] != [*map(type, values)]:
        raise ValueError(f"The values of {name} do not match the dtype {text!r}.")
    return ids.view(dtype)


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


IDS, ONE_ID = Form(ids_to_json, ids_of_json), Form(_id_to_json, _id_of_json)
SEGMENT = Form(lambda segment: _id_to_json(segment, "segment"), _id_of_json)
SEGMENT_NAMES = Form(
    lambda segments: ids_to_json(object_array(segments), "segment"),
    lambda written, name: IDS.read(written, name).tolist(),
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
