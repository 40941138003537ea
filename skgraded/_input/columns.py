"""Validation of columns; each function returns converted values or raises an error.

In errors, `name` names the checked argument, `expected` names an argument with `n` rows, and
`row_name` returns the name of a row.
"""

import math
import numbers
from collections.abc import Callable, Iterable, Sized
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import numpy as np

from skgraded._input.arrow_strings import refuse_damaged
from skgraded._input.words import object_array, plain

RowName = Callable[[int], str]
ROW: RowName = "row {}".format
# Names of the float types in pandas and polars (in lower case) and in Arrow.
FLOATS: dict[str, Any] = {
    "float16": np.float16,
    "halffloat": np.float16,
    "float32": np.float32,
    "float": np.float32,
    "float64": np.float64,
    "double": np.float64,
}
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

NEGATIVE_GRADES = (
    "Give irrelevant documents grade 0: subtract the irrelevant level from all grades, or, if 0 "
    "already means irrelevant and lower grades mean spam, clip at 0: np.clip(grades, 0, None)."
)


def is_missing(value: Any) -> bool:
    """Return whether an id is None, NaN, NaT or pandas.NA, or a tuple with a missing value."""
    if isinstance(value, (str, int)):  # fast path
        return False
    if isinstance(value, tuple):
        return any(map(is_missing, value))
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (numbers.Number, np.generic)) and bool(value != value)


def float_type(column: Any) -> Any:
    """Return the float dtype of a column or of its categories, or None if it has no such dtype."""
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    dtype = getattr(dtype, "value_type", dtype)  # of an Arrow dictionary
    dtype = getattr(getattr(dtype, "categories", None), "dtype", dtype)
    if isinstance(dtype, np.dtype):
        return dtype if dtype.kind == "f" else None
    return FLOATS.get(str(dtype).lower().removesuffix("[pyarrow]"))


def refuse_inexact(
    ids: Any, name: str, dtype: Any = None, row_of: Callable[[int], Any] = int
) -> None:
    """Raise a ValueError for the first id that is too large for its float type to be exact.

    `ids` is a column or a list. `dtype` is the float type of a column whose ids were converted to
    objects. `row_of` converts the position of an id to its row.
    """
    if not isinstance(ids, np.ndarray):
        dtype = float_type(ids) if dtype is None else dtype
        ids = ids.to_pylist() if hasattr(ids, "to_pylist") else list(ids)
    inexact: Iterable[tuple[int, Any]] = ()  # positions and float types
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "f":
        inexact = ((i, ids.dtype) for i in np.flatnonzero(_are_inexact(ids, ids.dtype)).tolist())
    elif isinstance(ids, np.ndarray) and ids.dtype.kind != "O":
        return
    elif any(issubclass(kind, (float, np.floating, tuple)) for kind in set(map(type, ids))):
        types = (_inexact_type(value, dtype) for value in ids)
        inexact = ((i, kind) for i, kind in enumerate(types) if kind is not None)
    for i, kind in inexact:
        raise ValueError(
            f"{name} contains {plain(ids[i])!r} in row {row_of(i)}, but {kind.name} represents "
            f"integers exactly only below {_exact_below(kind):,}: different ids may have become "
            "equal. Read ids as integers or text, or number them before the conversion to floats "
            "with np.unique(ids, return_inverse=True)[1]."
        )


def _exact_below(dtype: Any) -> int:
    return 2 ** (int(np.finfo(dtype).nmant) + 1)


def _are_inexact(ids: Any, dtype: Any) -> Any:
    """Return where ids may be rounded integers; inf is an id, except if it may be an overflow."""
    may_overflow = np.dtype(dtype).itemsize < 8
    limit = np.dtype(dtype).type(_exact_below(dtype))  # NumPy 1.26 compares no longdouble with 2^64
    return (np.abs(ids) >= limit) & (may_overflow | np.isfinite(ids))


def _inexact_type(value: Any, dtype: Any) -> Any:
    """Return the float type of an id that is too large for it to be exact, or None."""
    if isinstance(value, tuple):
        types = (_inexact_type(element, dtype) for element in value)
        return next((kind for kind in types if kind is not None), None)
    if not isinstance(value, (float, np.floating)):
        return None
    kind = np.dtype(np.asarray(value).dtype if dtype is None else dtype)
    return kind if _are_inexact(value, kind) else None


def as_array(values: Any, name: str) -> np.ndarray:
    """Convert an array-like to a 1-D ndarray; error messages start with `name`."""
    if values is None:
        raise ValueError(
            f"{name} is missing. Expected array-like (array or non-string sequence), got None."
        )
    refuse_unordered(values, name)
    refuse_damaged(values, name)
    try:
        array = np.asarray(unmasked(values))
    except ValueError:
        raise ValueError(
            f"{name} must be a 1-D array of numbers; got rows of different lengths."
            + ROWS * (name in SIDES)
        ) from None
    if array.ndim == 0:
        refuse_data_set(values, name)
    if array.ndim != 1:
        what = "a single value" if array.ndim == 0 else f"an array of shape {array.shape}"
        hint = _advice(values, array, name) if array.ndim == 2 else ""
        raise ValueError(f"{name} must be 1-D; got {what}.{hint}")
    if len(array) == 0:
        raise ValueError(f"{name} is empty: at least one row is required.")
    return array


def _advice(values: Any, array: np.ndarray, name: str) -> str:
    """Return how to pass a matrix, or qrels and a run, as 1-D arrays."""
    if array.shape[1] == 1 or name not in SIDES:
        return " Pass one column, or use .ravel()."
    labels = getattr(values, "column_names", getattr(values, "columns", ()))
    if array.dtype.kind not in "buif" or any(isinstance(label, str) for label in labels):
        return f" Pass one column.{JOIN}"
    return f" Pass one column.{MATRIX}"


def refuse_other_length(values: Sized, name: str, n: int | None, expected: str | None) -> None:
    """Raise a ValueError if the number of values is not `n`; if `n` is None, do nothing."""
    if n is not None and len(values) != n:
        raise ValueError(f"{name} has {len(values)} rows, but {expected} has {n}.")


def refuse_unordered(values: Any, name: str) -> None:
    """Raise a TypeError for a set, a dict, or a ranx Qrels or Run."""
    is_set = isinstance(values, (set, frozenset))
    if is_set or isinstance(values, dict) or type(values).__module__.startswith("ranx."):
        advice = JOIN if name in SIDES and not is_set else ""
        raise TypeError(f"{name} is a {type(values).__name__}, which has no row order.{advice}")


def refuse_lazy(values: Any, name: str) -> None:
    """Raise a TypeError for a polars LazyFrame, whose rows have not been computed."""
    if type(values).__name__ == "LazyFrame":
        raise TypeError(f"{name} is a polars LazyFrame, which has no rows yet: pass its collect().")


def refuse_data_set(values: Any, name: str) -> None:
    """Raise a TypeError for the data set of a supported library, such as a LightGBM Dataset."""
    refuse_lazy(values, name)
    package = type(values).__module__.partition(".")[0]
    if find_spec(f"skgraded.{package}") is not None:
        raise TypeError(
            f"{name} must be an array; got a {type(values).__name__} from {package}. With "
            f"{package}, use a metric from skgraded.{package} to evaluate."
        )


def unmasked(values: Any) -> Any:
    """Convert a masked array to objects, with None for masked values; return other input as is."""
    if not np.ma.isMaskedArray(values):
        return values
    objects = values.data.astype(object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def column(
    values: Any, name: str, n: int | None = None, expected: str = "y_true", row_name: RowName = ROW
) -> np.ndarray:
    """Convert a numeric column, which may contain NaN, to a contiguous float64 array."""
    return _as_given_and_float(values, name, n, expected, row_name)[1]


def _as_given_and_float(
    values: Any, name: str, n: int | None, expected: str, row_name: RowName
) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays: one with the original dtype, and one with contiguous float64 values."""
    array = as_array(values, name)
    refuse_other_length(array, name, n, expected)
    if array.dtype.kind in "US" and not hasattr(values, "dtype"):
        array = as_array(np.array(list(values), dtype=object), name)  # from a list
    floats = array if array.dtype.kind in "buif" else _numbers(array, name, row_name)
    if floats.dtype.itemsize <= 8:
        return array, np.ascontiguousarray(floats, dtype=np.float64)
    with np.errstate(over="ignore"):  # a long double may overflow
        return array, np.ascontiguousarray(floats, dtype=np.float64)


def _numbers(array: np.ndarray, name: str, row_name: RowName) -> np.ndarray:
    """Convert an object array of numbers to float64; missing values become NaN."""
    if array.dtype.kind == "c":  # in the words that scikit-learn requires of all estimators
        raise ValueError(f"Complex data not supported: {name} has dtype {array.dtype}.")
    if array.dtype.kind != "O":
        raise TypeError(
            f"{name} must contain numbers; its dtype is {array.dtype}, and {row_name(0)} "
            f"contains {array[0].item()!r}."
        )
    out = np.empty(len(array))
    for row, value in enumerate(array):
        if is_missing(value):
            out[row] = np.nan
        elif isinstance(value, (numbers.Real, np.bool_)) or type(value).__name__ == "Decimal":
            try:
                out[row] = value
            except OverflowError:
                raise ValueError(f"{name} is too large for a float in {row_name(row)}.") from None
        else:
            raise TypeError(f"{name} must contain numbers; {row_name(row)} is {value!r}.")
    return out


def grade_type(values: Any) -> Any:
    """Return the dtype of grades: float16, float32 or, for all other types, float64."""
    dtype = np.dtype(float)
    if hasattr(values, "__array__"):  # a list contains Python numbers
        dtype = np.asarray(unmasked(values)).dtype
    return dtype if dtype.type in (np.float16, np.float32) else np.dtype(float)


def as_decimals(floats: np.ndarray) -> np.ndarray:
    """Convert float16 or float32 values to float64 via their shortest decimal representation."""
    if (floats == np.rint(floats)).all() and floats.max() < 2**11:  # fast path
        return floats.astype(np.float64)
    distinct, inverse = np.unique(floats, return_inverse=True)
    return distinct.astype("S").astype(np.float64)[inverse]


def check_grades(
    y: Any, name: str, n: int | None = None, expected: str = "X", allow_nan: bool = False
) -> np.ndarray:
    """Check that grades are finite and ≥ 0, or NaN if allowed; return the grades as float64."""
    grades, _ = grade_column(y, name, n, expected)
    refuse_bad_grades(grades, name, allow_nan)
    return grades


def grades_as_given(y: Any, name: str, allow_nan: bool = False) -> np.ndarray:
    """Check grades; return float16 and float32 grades unchanged and other grades as float64."""
    grades = check_grades(y, name, allow_nan=allow_nan)
    return grades if grade_type(y) == np.float64 else np.asarray(y)


def grade_column(
    y: Any, name: str, n: int | None = None, expected: str = "X", row_name: RowName = ROW
) -> tuple[np.ndarray, Any]:
    """Return unchecked grades as float64, and their `grade_type`; see `as_decimals` for float32."""
    grades, dtype = column(y, name, n, expected, row_name), grade_type(y)
    return grades if dtype == np.float64 else as_decimals(grades.astype(dtype)), dtype


def refuse_bad_grades(
    grades: np.ndarray, name: str, allow_nan: bool, row_name: RowName = ROW
) -> None:
    """Raise a ValueError that names the first row whose grade is not a finite number ≥ 0."""
    if grades.min(initial=0.0) >= 0 and grades.max(initial=0.0) < np.inf:  # fast path
        return
    good = (grades >= 0) & (grades < np.inf) | np.isnan(grades) & allow_nan
    if good.all():
        return
    row = int(np.argmin(good))
    if not np.isfinite(grades[row]):
        raise ValueError(f"{name} must be finite; got {grades[row]} for {row_name(row)}.")
    raise ValueError(
        f"{name} must contain only grades ≥ 0; got {grades[row]:g} for {row_name(row)}. "
        f"{NEGATIVE_GRADES}"
    )


def check_weights(
    sample_weight: Any, n: int, expected: str, n_queries: int | None = None
) -> np.ndarray:
    """Check that row weights are finite, ≥ 0 and not all 0; return the weights as float64."""
    weights = column(sample_weight, "sample_weight")
    if n != len(weights) == n_queries:
        raise ValueError(
            f"sample_weight has {len(weights)} rows, but {expected} has {n}. To pass one weight "
            "per query, repeat it for each row of the query: np.repeat(sample_weight, group) or, "
            "for weights in the order in which the ids first appear, "
            "sample_weight[pandas.factorize(qid)[0]]."
        )
    refuse_other_length(weights, "sample_weight", n, expected)
    good = (weights >= 0) & (weights < np.inf)
    if not good.all():
        row = int(np.argmin(good))
        raise ValueError(
            f"sample_weight must be finite and ≥ 0; got {weights[row]:g} for row {row}."
        )
    if weights.max() == 0:
        raise ValueError("sample_weight is 0 in all rows: at least one weight must be positive.")
    return weights


def is_finite_number(value: Any) -> bool:
    """Return whether the value is a finite real number and not a bool."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    return is_number and -math.inf < value < math.inf


def whole_number(value: Any, name: str, minimum: int) -> int:
    """Return a value as an int; raise a ValueError unless it is a whole number ≥ `minimum`."""
    if not is_finite_number(value) or value != int(value):
        raise ValueError(f"{name} must be an integer ≥ {minimum}; got {value!r}.")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}; got {value!r}.")
    return int(value)


def choice_validator(
    name: str, known: Iterable[str], or_callable: bool = False
) -> Callable[[Any], Any]:
    """Return a validator that accepts the known strings; if `or_callable`, it accepts callables."""

    def check(value: Any) -> Any:
        if or_callable and callable(value):
            return value
        if isinstance(value, str) and value in known:
            return str(value)
        also = ", or a callable" if or_callable else ""
        raise ValueError(f"{name} must be one of {list(known)}{also}; got {value!r}.")

    return check


def check_unjudged_documents(rule: str | None) -> str | None:
    """Return `rule` if it is None or a valid option; otherwise raise a ValueError."""
    if rule is None:
        return None
    return str(choice_validator("unjudged_documents", ("irrelevant", "drop"))(rule))


def number_validator(
    name: str,
    low: float,
    high: float = math.inf,
    above: bool = False,
    below: bool = False,
    optional: bool = False,
) -> Callable[[Any], Any]:
    """Return a validator for numbers; `above` excludes `low`, and `below` excludes `high`."""

    def check(value: Any) -> float | None:
        if value is None and optional:
            return None
        if (
            not is_finite_number(value)
            or not low <= value <= high
            or ((above and value == low) or (below and value == high))
        ):
            lower = f"> {low}" if above else f"≥ {low}"
            upper = f" and {'<' if below else '≤'} {high}" if high < math.inf else ""
            raise ValueError(f"{name} must be a finite number {lower}{upper}; got {value!r}.")
        if isinstance(value, (np.float16, np.float32)):
            value = float(str(value))  # 0.7, not 0.699999988
        # Show 2.0 and 2 alike, as 2.
        return int(value) if value == int(value) and value < 2**53 else float(value)

    return check


def check_scores(
    y_score: Any, n: int, name: str = "y_score", expected: str = "y_true", row_name: RowName = ROW
) -> np.ndarray:
    """Convert scores to float64 and reject NaN; a score of -inf means "not retrieved"."""
    scores = score_column(y_score, n, name, expected, row_name)
    refuse_nan_scores(scores, name, row_name)
    return scores


def score_column(
    y_score: Any, n: int, name: str = "y_score", expected: str = "y_true", row_name: RowName = ROW
) -> np.ndarray:
    """Convert scores to float64, or to ranks if float64 cannot represent every score exactly."""
    array, scores = _as_given_and_float(y_score, name, n, expected, row_name)
    kind = array.dtype.kind
    if kind in "bf" and array.dtype.type is not np.longdouble:
        return scores
    if kind in "iu" and -(2**53) <= array.min() and array.max() <= 2**53:  # fast path
        return scores
    is_number = np.isfinite(scores) if kind == "O" else np.isfinite(array)
    exact = array[is_number]
    if kind == "O":
        exact = object_array([_exact(value) for value in exact])
    if kind in "iu" or (exact != scores[is_number]).any():
        scores[is_number] = np.unique(exact, return_inverse=True)[1]
    return scores


def scores_as_given(y_score: Any, name: str) -> np.ndarray:
    """Reject NaN scores; return 64-bit integers and objects unchanged, other scores as float64."""
    array, scores = _as_given_and_float(y_score, name, None, "y_true", ROW)
    refuse_nan_scores(scores, name)
    kind, size = array.dtype.kind, array.dtype.itemsize
    return array if kind == "O" or kind in "iu" and size == 8 else scores


def _exact(value: Any) -> int | Fraction:
    """Convert a number to an int or a Fraction, so that comparisons are exact."""
    if isinstance(value, (numbers.Integral, np.bool_)):
        return int(value)
    return Fraction(*value.as_integer_ratio())


def refuse_nan_scores(scores: np.ndarray, name: str = "y_score", row_name: RowName = ROW) -> None:
    """Raise a ValueError that names the first row whose score is NaN."""
    if np.isnan(scores.max(initial=-np.inf)):
        row = int(np.argmax(np.isnan(scores)))
        raise ValueError(
            f"{name} must not contain NaN; got nan for {row_name(row)}. Use the score -inf for "
            "documents that were not retrieved."
        )
