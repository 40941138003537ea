"""Checks of user input: each returns clean arrays or raises one clear error."""

import numbers

import numpy as np

from skgraded._kernels import number_by_appearance, order_by_code


def is_missing(value):
    """Whether a query id is None, NaN, NaT or pandas' NA, or a tuple that holds one."""
    if isinstance(value, tuple):
        return any(is_missing(v) for v in value)
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (numbers.Number, np.generic)) and bool(value != value)


def as_array(values, name):
    """A 1-D ndarray of anything array-like, or an error that names the argument."""
    if values is None:
        raise ValueError(
            f"{name} is missing. Expected array-like (array or non-string sequence), got None."
        )
    _refuse_unordered(values, name)
    try:
        array = np.asarray(unmasked(values))
    except ValueError:
        raise ValueError(
            f"{name} must be a 1-D array of numbers; got rows of different lengths."
        ) from None
    if array.ndim != 1:
        what = "a single value" if array.ndim == 0 else f"an array of shape {array.shape}"
        hint = " Pass one column, or use .ravel()." if array.ndim == 2 else ""
        raise ValueError(f"{name} must be 1-D; got {what}.{hint}")
    if len(array) == 0:
        raise ValueError(f"{name} is empty: there is nothing to measure.")
    return array


def _refuse_unordered(values, name):
    if isinstance(values, (set, frozenset, dict)):
        raise TypeError(f"{name} is a {type(values).__name__}, which has no row order.")


def unmasked(values):
    """A masked array as an array of objects, None where it is masked; all else as it is."""
    if not np.ma.isMaskedArray(values):
        return values
    objects = values.data.astype(object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def column(values, name, n=None, expected="y_true"):
    """Check a column of numbers.

    Parameters
    ----------
    values : array-like of shape (n,)
        Numbers of any kind; NaN is let through.
    name : str
        The argument's name, for errors.
    n : int, optional
        The length that it must have.
    expected : str, default="y_true"
        The argument that has length `n`.

    Returns
    -------
    ndarray of shape (n,)
        float64 and C-contiguous; the input itself if it is so already.
    """
    array = as_array(values, name)
    if n is not None and len(array) != n:
        raise ValueError(f"{name} has {len(array)} rows, but {expected} has {n}.")
    if array.dtype.kind in "US" and not hasattr(values, "dtype"):
        array = as_array(np.array(list(values), dtype=object), name)  # a list, numbers among it
    if array.dtype.kind not in "buif":
        array = _numbers(array, name)
    with np.errstate(over="ignore"):  # a long double becomes infinite, which is refused later
        return np.ascontiguousarray(array, dtype=np.float64)


def _numbers(array, name):
    """float64 of an object array of numbers; missing values become NaN."""
    if array.dtype.kind != "O":
        raise TypeError(
            f"{name} must hold numbers; it has {array.dtype}, row 0 is {array[0].item()!r}."
        )
    out = np.empty(len(array))
    for row, value in enumerate(array):
        if is_missing(value):
            out[row] = np.nan
        elif isinstance(value, (numbers.Real, np.bool_)) or type(value).__name__ == "Decimal":
            try:
                out[row] = value
            except OverflowError:
                raise ValueError(f"{name}: row {row} is too large for a float.") from None
        else:
            raise TypeError(f"{name} must hold numbers; row {row} is {value!r}.")
    return out


def check_grades(y, name, n=None, expected="X", allow_nan=False):
    """Check a column of grades: finite and ≥ 0, or NaN where that is allowed; float64."""
    grades = column(y, name, n, expected)
    if np.fmin.reduce(grades) < 0 or not np.isfinite(grades.max()):
        good = (grades >= 0) & (grades < np.inf)
        good |= np.isnan(grades) & allow_nan
        if not good.all():
            row = int(np.argmin(good))
            if grades[row] < 0:
                raise ValueError(
                    f"{name} must hold grades ≥ 0: row {row} is {grades[row]:g}. Subtract the "
                    "irrelevant level from all grades, so that irrelevant documents have grade 0."
                )
            raise ValueError(f"{name} must be finite: row {row} is {grades[row]}.")
    return grades


def check_weights(sample_weight, n, expected):
    """Check weights of rows: finite, ≥ 0 and not all 0; float64."""
    weights = column(sample_weight, "sample_weight", n, expected)
    good = (weights >= 0) & (weights < np.inf)
    if not good.all():
        row = int(np.argmin(good))
        raise ValueError(f"sample_weight must be finite and ≥ 0: row {row} is {weights[row]:g}.")
    if weights.max() == 0:
        raise ValueError("sample_weight is 0 in all rows: give at least one query a weight.")
    return weights


def whole_number(value, name, minimum):
    """Check a whole number of at least `minimum` and return it as an int."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not is_number or value != value or value in (np.inf, -np.inf) or value != int(value):
        raise ValueError(f"{name} must be a whole number ≥ {minimum}; got {value!r}.")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}; got {value!r}.")
    return int(value)


def query_codes(qid, n, expected="y_true"):
    """Number the queries in order of first appearance.

    Parameters
    ----------
    qid : array-like of shape (n,)
        Query ids: any hashable, in any row order.
    n : int
        The number of rows.
    expected : str, default="y_true"
        The argument that has `n` rows.

    Returns
    -------
    codes : ndarray of shape (n,) of intp
        The query of each row.
    ids : ndarray of shape (n_queries,)
        The ids, of object dtype unless they are numbers or dates.
    """
    array = _ids(qid)
    if len(array) != n:
        raise ValueError(f"qid has {len(array)} rows, but {expected} has {n}.")
    if not isinstance(array, np.ndarray) or array.dtype.kind == "O":
        return _hash_codes(array)
    if array.dtype.kind in "iu":
        low = array.min()
        span = int(array.max()) - int(low) + 1
        if span <= 4 * n + 1000:  # a table of all of them is small
            whole = np.ascontiguousarray(array, dtype=np.intp)
            codes, first = number_by_appearance(whole, int(low.astype(np.intp)), span)
            return codes, array[first]
    missing = np.isnat(array) if array.dtype.kind in "mM" else array != array
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(f"qid is missing in row {row} ({array[row]}): give every row its query.")
    # Only the first row of each run is looked at closer: rows mostly come query by query.
    heads = np.flatnonzero(np.concatenate(([True], array[1:] != array[:-1])))
    ids, first, inverse = np.unique(array[heads], return_index=True, return_inverse=True)
    by_appearance = np.argsort(first, kind="stable")
    rank = np.empty(len(ids), dtype=np.intp)
    rank[by_appearance] = np.arange(len(ids))
    codes = np.repeat(rank[inverse.ravel()], np.diff(heads, append=n))
    return codes, ids[by_appearance]


def rows_by_query(codes, n_queries):
    """Bring rows together by query.

    Parameters
    ----------
    codes : ndarray of shape (n,) of intp
        The query of each row, 0 to ``n_queries - 1``.
    n_queries : int

    Returns
    -------
    order : ndarray of shape (n,) or None
        The rows query by query, those of a query in their order; None if they are so already.
    starts : ndarray of shape (n_queries + 1,)
        Where each query begins in `order`.
    """
    starts = np.zeros(n_queries + 1, dtype=np.intp)
    np.cumsum(np.bincount(codes, minlength=n_queries), out=starts[1:])
    in_order = not (codes[1:] < codes[:-1]).any()
    return None if in_order else order_by_code(codes, starts), starts


WHOLE_NUMBERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def _ids(qid):
    """The ids as an array of numbers or dates, or else as a sequence of Python's own values.

    Tuples stay ids so, and 1 is not "1".
    """
    _refuse_unordered(qid, "qid")
    if isinstance(qid, (str, bytes)) or not hasattr(qid, "__len__"):
        raise TypeError(f"qid must be an array with the query of each row; got {qid!r}.")
    if len(getattr(qid, "shape", (0,))) != 1:
        raise ValueError(f"qid must be 1-D; got an array of shape {qid.shape}. Pass one column.")
    dtype = getattr(qid, "dtype", None)
    if isinstance(dtype, np.dtype):
        array = np.asarray(unmasked(qid))
        return array if array.dtype.kind in "buifmMO" else array.tolist()
    # Of pandas' and polars' own types only whole numbers without gaps keep their values in NumPy.
    if str(dtype).lower() in WHOLE_NUMBERS:
        array = np.asarray(qid)
        if array.dtype.kind in "iu":
            return array
    return qid.to_pylist() if hasattr(qid, "to_pylist") else qid  # else pyarrow's own scalars


def _hash_codes(values):
    numbers_of: dict = {}
    codes = np.empty(len(values), dtype=np.intp)
    for row, query in enumerate(values):
        try:
            code = numbers_of.get(query)
        except TypeError:
            raise TypeError(
                f"qid must hold hashable ids; row {row} is {query!r}. Use tuples for composed ids."
            ) from None
        if code is None:
            if is_missing(query):
                raise ValueError(
                    f"qid is missing in row {row} ({query!r}): give every row its query."
                )
            code = numbers_of[query] = len(numbers_of)
        codes[row] = code
    ids = np.empty(len(numbers_of), dtype=object)
    ids[:] = list(numbers_of)
    return codes, ids


def group_codes(group, n, expected="y_true"):
    """Number the queries of consecutive rows by their sizes; see `query_codes`."""
    sizes = column(group, "group")
    bad = ~((sizes >= 1) & (sizes == np.floor(sizes)) & np.isfinite(sizes))
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(f"group must hold whole sizes ≥ 1: size {i} is {sizes[i]:g}.")
    with np.errstate(over="ignore"):
        total = sizes.sum()
    if total != n:
        raise ValueError(f"group sizes add up to {total:.0f} rows, but {expected} has {n}.")
    ids = np.arange(len(sizes))
    return np.repeat(ids, sizes.astype(np.intp)), ids
