"""Validate arguments: each argument passed by a user is converted and checked only once.

The functions in this module return plain NumPy arrays, which other modules do not check again. In
error messages, `name` is the name of the checked argument, `expected` is the name of the argument
that has `n` rows, and `row_name` returns the description of a row.
"""

import inspect
import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.libraries import refuse_data_set
from skgraded._input.messages import suggest_name

P = ParamSpec("P")
Result = TypeVar("Result")
RowName = Callable[[int], str]
ROW: RowName = "row {}".format
JOIN = (
    " Join qrels with a run first: rows = skgraded.datasets.join_run(qrels, run), then evaluate("
    "rows.y_true, rows.y_score, qid=rows.qid)."
)
MATRIX = (
    " If it has the shape (n_queries, n_documents), as for scikit-learn's ndcg_score, pass "
    "y_true.ravel(), y_score.ravel() and qid=np.repeat(np.arange(n_queries), n_documents)."
)
ROWS = (
    " If each row is a query, pass np.concatenate(y_true), np.concatenate(y_score) and "
    "group=[len(row) for row in y_true]."
)
SIDES = ("y_true", "y_score")

# Maps argument names in other libraries to the corresponding argument names in skgraded.
# No function accepts more than one of the names in the same tuple.
OUR_NAMES = {
    "metrics": ("measures", "measure"),
    "metric": ("measures", "measure"),
    "groups": ("qid",),
    "y_pred": ("y_score", "runs"),
    "scores": ("y_score", "runs"),
}

NEGATIVE_GRADES = (
    "If the scale starts below 0, subtract the irrelevant level from all grades. If negative "
    "grades mark padding, leave out their rows (with grade 0, they would count). Only measures "
    "of order, such as SpearmanRho, accept them."
)


def suggest_arguments(function: Callable[P, Result]) -> Callable[P, Result]:
    """Return a wrapper that suggests skgraded's argument name for a name from another library."""
    known = inspect.signature(function).parameters

    @wraps(function)
    def call_function(*args: P.args, **kwargs: P.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except TypeError:  # also raised for an unknown argument
            for name in OUR_NAMES.keys() & kwargs.keys() - known.keys():
                for ours in known.keys() & set(OUR_NAMES[name]):
                    raise TypeError(
                        f"{function.__name__}() has no argument {name!r}: pass it as {ours}=."
                    ) from None
            raise

    return call_function


def make_argument_error(message: str, *arguments: str) -> ValueError:
    """Return a ValueError that stores the argument names mentioned in its message.

    The command replaces these names with its options.
    """
    error = ValueError(message)
    error.arguments = arguments  # type: ignore[attr-defined]
    return error


def add_place(error: ValueError | TypeError, place: str) -> ValueError | TypeError:
    """Return a copy of an error with a file, part or argument name prepended to its message."""
    message = f"{place}: {error}"
    if isinstance(error, TypeError):
        return TypeError(message)
    return make_argument_error(message, *getattr(error, "arguments", ()))


@contextmanager
def place_errors(place: str | None) -> Iterator[None]:
    """Prefix the messages of ValueErrors and TypeErrors with a location, such as a file name."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise (error if place is None else add_place(error, place)) from None


# Single values -----------------------------------------------------------------------------------


def is_missing(value: object) -> bool:
    """Return whether an id is None, NaN, NaT or pandas.NA, or a tuple that contains one."""
    if isinstance(value, (str, int)):  # fast path
        return False
    if isinstance(value, tuple):
        return any(map(is_missing, value))
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (numbers.Number, np.generic)) and bool(value != value)


def is_empty(value: object) -> bool:
    """Return whether a value is missing or is an empty string."""
    return is_missing(value) or isinstance(value, str) and not value


def plain(value: Any) -> Any:
    """Convert a NumPy scalar to a Python scalar for messages; return dates unchanged."""
    is_number = isinstance(value, np.generic) and value.dtype.kind not in "mM"
    return value.item() if is_number else value


def to_plain_list(values: np.ndarray) -> list[Any]:
    """Convert an array to a list of Python scalars; dates remain NumPy scalars with their unit."""
    return list(values) if values.dtype.kind in "mM" else values.tolist()


def make_object_array(values: Sequence[Any]) -> np.ndarray:
    """Convert a sequence to a 1-D object array, in which each tuple is a single element."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# Columns of numbers ------------------------------------------------------------------------------


def as_array(
    values: ArrayLike, name: str, n: int | None = None, expected: str = "y_true"
) -> np.ndarray:
    """Convert a column to a 1-D array of any dtype; masked values become None."""
    is_plain = isinstance(getattr(values, "dtype", None), np.dtype)  # an array, or from pandas
    is_plain = is_plain and not np.ma.isMaskedArray(values)
    array = np.asarray(values) if is_plain else _convert_column(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-D; got {_describe_shape(values, array, name)}")
    if len(array) == 0:
        raise ValueError(f"{name} is empty: at least one row is required.")
    if n is not None and len(array) != n:
        raise ValueError(f"{name} has {len(array)} rows, but {expected} has {n}.")
    return array


def _convert_column(values: ArrayLike, name: str) -> np.ndarray:
    if values is None:
        raise ValueError(
            f"{name} is missing. Expected array-like (array or non-string sequence), got None."
        )
    refuse_unordered(values, name)
    try:
        array = np.asarray(replace_masked(values))
    except ValueError:
        raise ValueError(
            f"{name} must be a 1-D array of numbers; got rows of different lengths."
            f"{ROWS if name in SIDES else ''}"
        ) from None
    except Exception as error:  # DataFrame libraries raise many types of exceptions
        kind = type(values).__name__
        raise ValueError(f"{name} must be an array; cannot convert {kind}: {error}") from None
    if array.ndim == 0:
        refuse_data_set(values, name)
    return array


def _describe_shape(values: ArrayLike, array: np.ndarray, name: str) -> str:
    """Describe the shape of an array that is not 1-D, and explain how to convert it."""
    if array.ndim == 0:
        return "a single value."
    advice = " Pass one column, or use .ravel()."
    if name in SIDES and array.shape[1] > 1:
        labels = getattr(values, "column_names", getattr(values, "columns", ()))
        is_table = array.dtype.kind not in "buif" or any(isinstance(name, str) for name in labels)
        advice = f" Pass one column.{JOIN if is_table else MATRIX}"
    return f"an array of shape {array.shape}.{advice}"


def refuse_unordered(values: object, name: str) -> None:
    """Raise a TypeError for a set, a dict, or a ranx object (Qrels or Run)."""
    is_set = isinstance(values, (set, frozenset))
    if is_set or isinstance(values, dict) or type(values).__module__.startswith("ranx."):
        advice = JOIN if name.partition(" ")[0] in SIDES and not is_set else ""
        raise TypeError(f"{name} is a {type(values).__name__}, which has no row order.{advice}")


def replace_masked(values: Any) -> Any:
    """Replace masked values with None in an object array; return unmasked input unchanged."""
    if not np.ma.isMaskedArray(values):
        return values
    objects = values.data.astype(object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def read_numbers(
    values: ArrayLike,
    name: str,
    n: int | None = None,
    expected: str = "y_true",
    row_name: RowName = ROW,
) -> np.ndarray:
    """Convert a column to an array of any numeric dtype; missing values become NaN."""
    if type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "buif":
        if len(values) and n in (None, len(values)):  # fast path
            return values
    array = as_array(values, name, n, expected)
    if array.dtype.kind in "buif":
        return array
    if array.dtype.kind == "c":  # scikit-learn's estimator checks require this wording
        raise ValueError(f"Complex data not supported: {name} has dtype {array.dtype}.")
    if array.dtype.kind in "US":
        array = make_object_array(values if isinstance(values, (list, tuple)) else array.tolist())
    if array.dtype.kind != "O":
        raise TypeError(f"{name} must contain numbers; its dtype is {array.dtype}.")
    out = np.empty(len(array))
    for row, value in enumerate(array):
        if is_missing(value):
            out[row] = np.nan
        elif isinstance(value, (numbers.Real, np.bool_)) or type(value).__name__ == "Decimal":
            out[row] = value
        else:
            raise TypeError(f"{name} must contain numbers; {row_name(row)} is {value!r:.100}.")
    return out


def column(
    values: ArrayLike,
    name: str,
    n: int | None = None,
    expected: str = "y_true",
    row_name: RowName = ROW,
) -> np.ndarray:
    """Convert a numeric column, which may contain NaN, to a contiguous float64 array."""
    return np.ascontiguousarray(read_numbers(values, name, n, expected, row_name), np.float64)


# Grades, scores and weights ----------------------------------------------------------------------


def read_grades(
    y: ArrayLike, name: str, n: int | None = None, expected: str = "X", row_name: RowName = ROW
) -> tuple[np.ndarray, Any]:
    """Convert grades to float64 without range checks; also return their floating-point dtype.

    Grades with dtype float16 or float32 are converted by `as_decimals`.
    """
    grades = read_numbers(y, name, n, expected, row_name)
    if grades.dtype.type in (np.float16, np.float32):
        return as_decimals(grades), grades.dtype.newbyteorder("=")
    return np.ascontiguousarray(grades, np.float64), np.dtype(np.float64)


def as_decimals(floats: np.ndarray) -> np.ndarray:
    """Convert float16 or float32 values to float64 via their shortest decimal representation."""
    if (floats == np.rint(floats)).all() and np.abs(floats).max() < 2**11:  # fast path
        return floats.astype(np.float64)
    distinct, inverse = np.unique(floats, return_inverse=True)
    return distinct.astype("S").astype(np.float64)[inverse]


def check_grades(
    y: ArrayLike,
    name: str,
    n: int | None = None,
    expected: str = "X",
    allow_nan: bool = False,
    allow_negative: bool = False,
) -> np.ndarray:
    """Return grades as float64; they must be finite and ≥ 0 unless a flag allows other values."""
    grades, _ = read_grades(y, name, n, expected)
    refuse_bad_grades(grades, name, allow_nan, allow_negative=allow_negative)
    return grades


def refuse_bad_grades(
    grades: np.ndarray,
    name: str,
    allow_nan: bool = False,
    row_name: RowName = ROW,
    allow_negative: bool = False,
) -> None:
    """Raise a ValueError for the first row whose grade is not a finite number ≥ 0.

    NaN or negative numbers are accepted if allowed.
    """
    if grades.min(initial=0.0) >= 0 and grades.max(initial=0.0) < np.inf:  # fast path
        return
    good = np.isfinite(grades) & (allow_negative | (grades >= 0)) | np.isnan(grades) & allow_nan
    if good.all():
        return
    row = int(np.argmin(good))
    if not np.isfinite(grades[row]):
        raise ValueError(f"{name} must be finite; got {grades[row]} for {row_name(row)}.")
    raise ValueError(
        f"{name} must contain only grades ≥ 0; got {grades[row]:g} for {row_name(row)}. "
        f"{NEGATIVE_GRADES}"
    )


def check_scores(
    y_score: ArrayLike,
    n: int | None,
    name: str = "y_score",
    expected: str = "y_true",
    row_name: RowName = ROW,
) -> np.ndarray:
    """Return scores as float64; -inf means "not retrieved", and NaN raises an error.

    If float64 cannot represent all integer scores exactly, they are replaced by their ranks.
    """
    array = read_numbers(y_score, name, n, expected, row_name)
    if array.dtype.kind in "iu" and not -(2**53) <= array.min() <= array.max() <= 2**53:
        array = np.unique(array, return_inverse=True)[1]
    scores = np.ascontiguousarray(array, np.float64)
    if np.isnan(scores.max()):
        row = int(np.argmax(np.isnan(scores)))
        raise ValueError(
            f"{name} must not contain NaN; got nan for {row_name(row)}. Use the score -inf for "
            "documents that were not retrieved."
        )
    return scores


def check_given_scores(y_score: ArrayLike, name: str, row_name: RowName = ROW) -> np.ndarray:
    """Reject NaN scores; return 64-bit integers unchanged, and other scores as float64."""
    array = read_numbers(y_score, name, row_name=row_name)
    scores = check_scores(array, len(array), name, row_name=row_name)
    return array if array.dtype.kind in "iu" and array.dtype.itemsize == 8 else scores


def check_weights(
    weights: ArrayLike,
    n: int,
    expected: str,
    n_queries: int | None = None,
    name: str = "sample_weight",
    row_name: RowName = ROW,
) -> np.ndarray:
    """Return weights as float64; they must be finite and ≥ 0, and at least one must be positive.

    If there are `n_queries` weights instead of `n`, the error explains how to repeat each weight
    for the rows of its query.
    """
    weights = column(weights, name)
    if n != len(weights) == n_queries:
        raise ValueError(
            f"sample_weight has {len(weights)} rows, but {expected} has {n}. To pass one weight "
            "per query, repeat it for each row of the query: np.repeat(sample_weight, group) or, "
            "for weights in the order in which the ids first appear, "
            "sample_weight[pandas.factorize(qid)[0]]."
        )
    column(weights, name, n, expected)
    good = (weights >= 0) & (weights < np.inf)
    if not good.all():
        row = int(np.argmin(good))
        raise ValueError(
            f"{name} must be finite and ≥ 0; got {weights[row]:g} for {row_name(row)}."
        )
    if weights.max() == 0:
        raise ValueError(f"{name} is 0 in all rows: at least one weight must be positive.")
    return weights


# Settings ----------------------------------------------------------------------------------------


def is_finite_number(value: Any) -> bool:
    """Return whether the value is a finite real number and not a bool."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    return is_number and -math.inf < value < math.inf


def check_whole_number(value: Any, name: str, minimum: int) -> int:
    """Return a value as an int; raise a ValueError unless it is a whole number ≥ `minimum`."""
    if type(value) is int and value >= minimum:  # fast path
        return value
    if not is_finite_number(value) or value != int(value):
        raise make_argument_error(f"{name} must be an integer ≥ {minimum}; got {value!r}.", name)
    if value < minimum:
        raise make_argument_error(f"{name} must be at least {minimum}; got {value!r}.", name)
    return int(value)


def check_kind(value: object, kind: type, name: str) -> None:
    """Raise a TypeError unless a value is an instance of the class `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must have the type {kind.__name__}; got {type(value).__name__}.")


def check_names(names: Iterable[Any], argument: str) -> None:
    """Raise a TypeError unless all names in an argument are strings."""
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"The names in {argument} must be strings; got {name!r}.")


def refuse_repeated(names: Sequence[Any], argument: str) -> None:
    """Raise a ValueError for repeated names, of which a dict would keep only one."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"{argument} contains {name!r} {names.count(name)} times: pass it once."
            )


def choice_validator(
    name: str, known: Iterable[str], or_callable: bool = False, optional: bool = False
) -> Callable[[Any], Any]:
    """Return a validator that accepts the strings in `known`, and optionally callables or None."""

    def validate_choice(value: Any) -> Any:
        if or_callable and callable(value) or optional and value is None:
            return value
        if isinstance(value, str) and value in known:
            return str(value)
        also = ", or a callable" if or_callable else " or None" if optional else ""
        near = suggest_name(value, known)
        raise make_argument_error(
            f"{name} must be one of {list(known)}{also}; got {value!r}.{near}", name
        )

    return validate_choice


check_unjudged_documents = choice_validator(
    "unjudged_documents", ("irrelevant", "drop"), optional=True
)


def number_validator(
    name: str,
    low: float,
    high: float = math.inf,
    above: bool = False,
    below: bool = False,
    optional: bool = False,
) -> Callable[[Any], Any]:
    """Return a validator for numbers from `low` to `high`.

    `low` itself is excluded if `above` is true, and `high` itself if `below` is true.
    """

    def validate_number(value: Any) -> float | None:
        if value is None and optional:
            return None
        if (
            not is_finite_number(value)
            or not low <= value <= high
            or ((above and value == low) or (below and value == high))
        ):
            lower = "" if low == -math.inf else f" {'>' if above else '≥'} {low}"
            upper = f" and {'<' if below else '≤'} {high}" if high < math.inf else ""
            message = f"{name} must be a finite number{lower}{upper}; got {value!r}."
            raise make_argument_error(message, name)
        if isinstance(value, (np.float16, np.float32)):
            value = float(str(value))  # 0.7, not 0.699999988
        # Show 2.0 and 2 alike, as 2.
        return int(value) if value == int(value) and abs(value) < 2**53 else float(value)

    return validate_number
