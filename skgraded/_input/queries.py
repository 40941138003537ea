"""Query ids, group sizes and the rows of each query."""

import heapq
import numbers
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input import door
from skgraded._input.arrow_strings import encode_column, is_text, number_strings
from skgraded._input.door import is_empty, is_missing, make_object_array, plain, to_plain_list
from skgraded._input.libraries import is_installed, refuse_data_set
from skgraded._input.messages import warn_of_input
from skgraded._kernels import layout

Ids: TypeAlias = Sequence[Any] | np.ndarray | Any  # or an Arrow column of texts
QueryIds: TypeAlias = ArrayLike | Sequence[Hashable]  # what users pass as qid

NUMBERS = re.compile(r"U?Int\d+|Float\d+")  # types of nullable columns of pandas


def query_codes(
    qid: QueryIds, n: int | None = None, expected: str | None = "y_true", name: str = "qid"
) -> tuple[np.ndarray, np.ndarray]:
    """Return the code of each row, and the distinct ids in order of first appearance.

    The distinct ids are returned as objects unless they are numbers or dates.
    """
    n_rows, heads, codes, queries, *_ = _number_blocks(qid, n, expected, name)
    if heads is not None:
        codes = np.repeat(codes, np.diff(heads, append=n_rows))
    return codes, queries


def group_by_query(
    qid: QueryIds, n: int, expected: str = "y_true"
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Return the distinct ids in order of first appearance, and the results of `sort_by_query`."""
    _, heads, codes, queries, counts, in_order = _number_blocks(qid, n, expected, "qid")
    if heads is None:
        starts = layout.starts_of(counts)
        return queries, None if in_order else layout.order_by_code(codes, starts), starts
    if len(queries) == len(heads):
        return queries, None, np.append(heads, n)
    codes = np.repeat(codes, np.diff(heads, append=n))
    return queries, *sort_by_query(codes, len(queries))


def _number_blocks(
    qid: QueryIds, n: int | None, expected: str | None, name: str
) -> tuple[Any, ...]:
    """Return the number of rows, the first row of each block of equal ids, and the encoded ids.

    For some types of ids, there are no blocks: None is returned instead of the first rows, and
    the id of each row is encoded. Otherwise, one id per block is encoded.
    """
    ids, categories = _read_ids(qid, name)
    if n is not None and len(ids) != n:
        has_group = name == "qid" and expected in ("y_true", "X")
        advice = " Pass query sizes as group=." if has_group else ""
        raise ValueError(f"{name} has {len(ids)} rows, but {expected} has {n}.{advice}")
    if len(ids) == 0:
        raise ValueError(f"{name} is empty: at least one id is required.")
    heads = None
    if isinstance(ids, np.ndarray) and (ids.dtype.itemsize == 8 or ids.dtype.kind in "biu"):
        is_whole = ids.dtype.kind in "biu"
        heads = layout.heads_of_runs(ids.astype(np.int64, copy=False) if is_whole else ids)
    codes, queries, *rest = _number(ids if heads is None else ids[heads], name, heads)
    if categories is not None:
        queries = make_object_array([categories[code] for code in queries.tolist()])
    return len(ids), heads, codes, queries, *rest


def make_sort_key(query: Any) -> tuple[str, Any]:
    """Return a sort key for ids of any type: the name of the type, then the value."""
    if type(query) in (str, int):  # only for speed
        return "str" if type(query) is str else "", query
    query = plain(query)
    if isinstance(query, tuple):
        return "tuple", tuple(map(make_sort_key, query))
    if isinstance(query, (numbers.Real, Decimal)):
        return "", query
    known = isinstance(query, (str, bytes, np.generic, timedelta)) or hasattr(query, "isoformat")
    return type(query).__name__, query if known else repr(query)


def sort_positions(ids: np.ndarray) -> np.ndarray:
    """Return the indices that would sort the ids; ids of different types are sorted by type."""
    if ids.dtype.kind != "O":
        return np.argsort(ids, kind="stable")
    keys = ids.tolist()
    if set(map(type, keys)) != {str}:
        keys = list(map(make_sort_key, keys))
    # Python sorts a list of str twice as fast as NumPy sorts an array of objects.
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)


def find_lowest(values: np.ndarray, ids: np.ndarray, n: int) -> np.ndarray:
    """Return the indices of the n lowest values in ascending order; ties are broken by id."""
    if ids.dtype.kind != "O":
        return np.lexsort((ids, values))[:n]
    keys = ids if set(map(type, ids)) == {str} else map(make_sort_key, ids)  # strings save time
    lowest = heapq.nsmallest(n, zip(values.tolist(), keys, range(len(ids)), strict=True))
    return np.array([i for *_, i in lowest], dtype=np.intp)


def make_sortable(ids: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return each row's id or, if `<` cannot compare all ids, the id's rank by type and value."""
    order = sort_positions(ids)
    try:
        if ids.dtype.kind != "O" or all(low < high for low, high in pairwise(ids[order])):
            return ids[codes]
    except TypeError:  # ids of several types
        pass
    return np.argsort(order)[codes]


def read_group_sizes(group: ArrayLike, n: int, expected: str = "y_true") -> np.ndarray:
    """Return the sizes of consecutive queries after checking that they add up to n rows."""
    sizes = door.column(group, "group")
    bad = ~((sizes >= 1) & (sizes == np.floor(sizes)) & np.isfinite(sizes))
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"group must contain only integers ≥ 1, but group[{i}] is {sizes[i]:g}. If group "
            "contains query ids, pass them as qid=."
        )
    if sizes.sum() != n:
        raise ValueError(
            f"The sizes in group add up to {sizes.sum():.0f} rows, but {expected} has {n}. If group "
            "contains query ids, pass them as qid=."
        )
    series: Any = group
    is_unsorted = hasattr(series, "iloc") and not series.index.is_monotonic_increasing
    # Accept the result of groupby(…, sort=False).size(): an unnamed Series with a named index.
    if is_unsorted and (series.name is not None or series.index.names[0] is None):
        first = ", ".join(map(repr, series.index[:3].tolist()))
        raise ValueError(
            f"group is a pandas Series whose index ({first}, …) is not sorted; value_counts(), "
            "for example, sorts by size. Pass the sizes in row order, for example "
            "groupby(qid, sort=False).size().to_numpy(), or, if group is already in row order, "
            "group.to_numpy()."
        )
    return sizes.astype(np.intp)


def sort_by_query(codes: np.ndarray, n_queries: int) -> tuple[np.ndarray | None, np.ndarray]:
    """Return row indices for a stable sort by query, and the n_queries + 1 query boundaries.

    The row indices are None if the rows are already sorted by query.
    """
    starts = layout.starts_of(np.bincount(codes, minlength=n_queries))
    in_order = not (codes[1:] < codes[:-1]).any()
    return None if in_order else layout.order_by_code(codes, starts), starts


def average_weights(weights: np.ndarray, codes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the mean row weight of each query; at least one weight must be positive."""
    # Dividing by a power of 2 is exact and keeps the sums from overflowing.
    exponent = np.frexp(weights.max())[1]
    weights = np.ldexp(weights, -exponent)
    by_query = np.empty(len(sizes))
    by_query[codes] = weights
    if (weights != by_query[codes]).any():  # sort, because the summation order affects rounding
        order = np.lexsort((weights, codes))
        codes, weights = codes[order], weights[order]
    return np.ldexp(np.bincount(codes, weights, minlength=len(sizes)) / sizes, exponent)


def warn_of_row_ids(sizes: np.ndarray) -> None:
    """Warn if there are at least ten queries and each has a single row: qid may be a row id."""
    if len(sizes) >= 10 and sizes.max() == 1:
        warn_of_input(
            f"Each of the {len(sizes)} queries has only one row. A single row cannot be ranked: "
            "every value is trivial, and a ranker learns nothing. If qid is an id of the rows, "
            "pass the id of the query, user or session to which each row belongs."
        )


# Repeated documents ------------------------------------------------------------------------------

_check_duplicates = door.choice_validator("duplicates", ("raise", "drop"))


def check_duplicates(duplicates: str, document: str | None) -> str:
    """Return `duplicates` if it is valid; "drop" requires the argument `document`."""
    if _check_duplicates(duplicates) == "drop" and document is None:
        raise door.make_argument_error(
            "duplicates='drop' requires document=, the column with document ids.",
            "duplicates",
            "document",
        )
    return str(duplicates)


def find_distinct_rows(
    codes: np.ndarray,
    query_ids: np.ndarray,
    document: ArrayLike,
    values: Mapping[str, np.ndarray],
    duplicates: str,
) -> np.ndarray | None:
    """Return the indices of the rows to keep, or None if no document is repeated in a query.

    For each row, `codes` contains the index of its query in `query_ids`. The arrays in `values`,
    keyed by argument, must be equal in repeated rows. Raise a ValueError if they differ, or if
    `duplicates` is "raise" and a document is repeated.
    """
    document_codes, documents = query_codes(document, len(codes), "qid", name="document")
    keys = codes.astype(np.intp) * len(documents) + document_codes
    numbers, firsts, *_ = layout.number_by_appearance(keys)
    if len(firsts) == len(keys):
        return None
    first_of_row = firsts[numbers]
    later = np.flatnonzero(first_of_row != np.arange(len(keys)))

    def repeated(row: int) -> str:
        query, text = to_plain_list(query_ids[codes[[row]]])[0], to_plain_list(documents)
        return f"Query {query!r} contains document {text[document_codes[row]]!r}"

    if duplicates == "raise":
        raise door.make_argument_error(
            f"{repeated(later[0])} more than once. Remove the repeated rows, or pass "
            "duplicates='drop' to keep one row of each set of identical rows.",
            "duplicates",
        )
    for argument, of_row in values.items():
        first, second = of_row[first_of_row[later]], of_row[later]
        same = (first == second) | ((first != first) & (second != second))  # both may be NaN
        if not same.all():
            i = int(np.argmin(same))
            raise door.make_argument_error(
                f"{repeated(later[i])} more than once, with different values of {argument}: "
                f"{plain(first[i])!r} and {plain(second[i])!r}. duplicates='drop' requires equal "
                "rows: remove the wrong row.",
                "duplicates",
            )
    return firsts


def _number(
    ids: Ids, name: str, rows: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Return a code per id, the distinct ids, their counts, and whether the codes are sorted.

    `rows` contains the row of each id, or is None if there is one id per row.
    """

    def row_of(i: int) -> int:
        return i if rows is None else int(rows[i])

    if hasattr(ids, "null_count"):  # an Arrow column of texts
        return encode_column(ids)
    if isinstance(ids, (list, np.ndarray)) and isinstance(ids[0], str):
        numbered = number_strings(ids)
        if numbered is not None:
            return numbered
    if not isinstance(ids, np.ndarray) or ids.dtype.kind == "O" or ids.dtype.itemsize > 8:
        codes, queries = _number_by_hash(ids, name, row_of)
        return codes, queries, np.bincount(codes), not (codes[1:] < codes[:-1]).any()
    kind, whole = ids.dtype.kind, ids
    if kind in "mMf":
        missing = np.isnan(ids) if kind == "f" else np.isnat(ids)
        if missing.any():
            _number_by_hash(ids, name, row_of)  # raises an error with the row
        whole = (ids.astype(np.float64) + 0.0 if kind == "f" else ids.copy()).view(np.int64)
    codes, first, *rest = layout.number_by_appearance(np.ascontiguousarray(whole, dtype=np.intp))
    queries = ids[first]
    if kind == "f":
        refuse_inexact(queries, name, lambda i: row_of(first[i]))
        queries += 0  # -0.0 becomes 0.0
    return codes, queries, *rest


def refuse_inexact(ids: np.ndarray, name: str, row_of: Callable[[int], int] = int) -> None:
    """Raise a ValueError for the first float id that is too large to be represented exactly.

    `row_of` maps the index of an id to its row. Infinity is accepted as an id unless it may be the
    result of an overflow.
    """
    limit = 2 ** (int(np.finfo(ids.dtype).nmant) + 1)
    may_overflow = ids.dtype.itemsize < 8
    is_inexact = (np.abs(ids) >= ids.dtype.type(limit)) & (may_overflow | np.isfinite(ids))
    if is_inexact.any():
        i = int(np.argmax(is_inexact))
        raise ValueError(
            f"{name} contains {plain(ids[i])!r} in row {row_of(i)}, but {ids.dtype.name} "
            f"represents integers exactly only below {limit:,}: different ids may have become "
            "equal. Read ids as integers or text, or encode them with "
            "np.unique(ids, return_inverse=True)[1] before converting them to floats."
        )


def refuse_missing_ids(ids: Iterable[Any], name: str) -> None:
    """Raise a ValueError that names the first row whose id is missing or an empty string."""
    kinds = set(map(type, ids))
    if kinds <= {int} or kinds == {str} and all(ids):  # fast path
        return
    for row, value in enumerate(ids):
        if is_empty(value):
            raise make_missing_id_error(name, row, value)


def make_missing_id_error(name: str, row: int, value: object) -> ValueError:
    """Return the error for a row without an id."""
    shown = repr(value) if isinstance(value, str) else value
    return ValueError(f"{name} is missing in row {row} ({shown}): every row must have an id.")


def _read_ids(qid: Any, name: str) -> tuple[Any, Any]:
    """Return (ids, None) or, for a categorical column of strings, (codes, categories).

    The ids are returned as an array, a list or an Arrow string column. The ids 1 and "1" are
    distinct.
    """
    is_plain = isinstance(getattr(qid, "dtype", None), np.dtype) and not np.ma.isMaskedArray(qid)
    if is_plain and qid.ndim == 1 and qid.dtype.kind in "buifmMU":  # fast path
        return np.asarray(qid), None
    door.refuse_unordered(qid, name)
    if isinstance(qid, (str, bytes)) or not hasattr(qid, "__len__"):
        refuse_data_set(qid, name)
        hint = (
            " If this is a column name, pass the column itself; QueryRanker, make_ranking_scorer, "
            f"QueryKFold and cross_evaluate accept qid={qid!r}."
            if isinstance(qid, str)
            else ""
        )
        raise TypeError(f"{name} must be an array with one id per row; got {qid!r}.{hint}")
    if len(getattr(qid, "shape", (None,))) != 1:
        raise ValueError(f"{name} must be 1-D; got an array of shape {qid.shape}. Pass one column.")
    if not isinstance(getattr(qid, "dtype", None), np.dtype) and not isinstance(qid, (list, tuple)):
        qid, categories = _read_typed(qid, name)
        if categories is not None or hasattr(qid, "null_count"):
            return qid, categories
    if isinstance(getattr(qid, "dtype", None), np.dtype):
        array = np.asarray(door.replace_masked(qid))
        if array.dtype.kind in "buifmMU":
            return array, None
        qid = array if array.dtype.kind == "O" else array.tolist()
    if all(isinstance(value, (float, np.floating)) for value in qid):
        return np.array(list(qid)), None
    return qid, None


def _read_typed(qid: Any, name: str) -> tuple[Any, Any]:
    """Read a pandas, polars or Arrow column whose dtype NumPy does not support; see `_read_ids`."""
    dtype = getattr(qid, "dtype", getattr(qid, "type", None))
    kind, storage = str(dtype), getattr(dtype, "storage", None)
    if kind == "category":
        values = getattr(qid, "array", qid)  # a pandas.Categorical
        if values.categories.dtype.kind in "biufmM":
            return np.asarray(qid), None
        if (values.codes < 0).any():
            raise make_missing_id_error(name, int(np.argmax(values.codes < 0)), None)
        return values.codes.astype(np.intp), values.categories.tolist()
    if storage == "pyarrow" or kind.endswith("[pyarrow]"):
        qid = getattr(qid, "array", qid).__arrow_array__()
    elif kind.startswith(("String", "Categorical", "Enum")) and is_installed("pyarrow"):  # polars
        qid = qid.to_arrow()
    if hasattr(qid, "dictionary_encode") and not hasattr(qid, "factorize"):
        return _read_arrow(qid, name)
    array = np.asarray(qid) if hasattr(qid, "__array__") else make_object_array(list(qid))
    if array.dtype.kind == "O" and NUMBERS.fullmatch(kind) and not any(map(is_missing, array)):
        array = array.astype(kind.lower())  # nullable numbers of pandas 2
    is_number = array.dtype.kind in "iuf" and array.ndim == 1
    if is_number or storage is not None:  # text of pandas
        return array, None
    return qid.to_list() if hasattr(qid, "to_list") else list(qid), None


def _read_arrow(column: Any, name: str) -> tuple[Any, Any]:
    kind = str(column.type)
    if kind.startswith("dictionary<"):
        column = column.cast(column.type.value_type)
    elif kind.endswith("_view"):
        column = column.cast(f"large_{kind.removesuffix('_view')}")
    if column.null_count:
        raise make_missing_id_error(name, int(np.argmax(column.is_null())), None)
    if is_text(column.type):
        return column, None
    array = np.asarray(column)
    return (array if array.dtype.kind in "iuf" else column.to_pylist()), None


def _number_by_hash(
    values: Any, name: str, row_of: Callable[[int], int]
) -> tuple[np.ndarray, np.ndarray]:
    numbers_of: dict[Any, int] = {}
    codes = np.empty(len(values), dtype=np.intp)
    for i, query in enumerate(values):
        try:
            code = numbers_of.get(query)
        except TypeError:
            raise TypeError(
                f"{name} must contain hashable ids; row {row_of(i)} contains {query!r}. Use tuples "
                "for composite ids."
            ) from None
        if code is None:
            code = numbers_of[query] = len(numbers_of)
        codes[i] = code
    if not set(map(type, numbers_of)) <= {int, str, np.int64}:  # these types have no missing values
        for code, query in enumerate(numbers_of):
            if is_missing(query):
                raise make_missing_id_error(name, row_of(int(np.argmax(codes == code))), query)
    return codes, make_object_array(list(numbers_of))
