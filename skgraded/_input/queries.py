"""Query ids, group sizes and the rows of each query."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from skgraded._input import arrow_strings, columns, words
from skgraded._input.arrow_strings import Texts, refuse_damaged, texts_of, texts_of_strings
from skgraded._input.needs import is_installed
from skgraded._input.words import are_utf8, object_array, plain, plain_list
from skgraded._kernels import layout

BY_NAME = "QueryRanker, make_ranking_scorer, QueryKFold and cross_evaluate"
WHOLE_NUMBERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def query_codes(
    qid: Any, n: int | None = None, expected: str | None = "y_true", name: str = "qid"
) -> tuple[np.ndarray, np.ndarray]:
    """Return the code of each row, and the distinct ids in order of first appearance.

    The distinct ids are returned as objects unless they are numbers or dates.
    """
    ids, heads, codes, queries, *_ = _numbered(qid, n, expected, name)
    if heads is not None:
        codes = np.repeat(codes, np.diff(heads, append=len(ids)))
    return codes, queries


def queries_of(
    qid: Any, n: int, expected: str = "y_true"
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Return the distinct ids in order of first appearance, and the results of `rows_by_query`."""
    _, heads, codes, queries, counts, in_order = _numbered(qid, n, expected, "qid")
    if heads is None:
        starts = layout.starts_of(counts)
        return queries, None if in_order else layout.order_by_code(codes, starts), starts
    if len(queries) == len(heads):
        return queries, None, np.append(heads, n)
    codes = np.repeat(codes, np.diff(heads, append=n))
    return queries, *rows_by_query(codes, len(queries))


def _numbered(qid: Any, n: int | None, expected: str | None, name: str) -> tuple[Any, ...]:
    """Return the checked ids, the `_heads` of their blocks, and the results of `_number`.

    The results are for the first row of each block or, if the heads are None, for all rows.
    """
    ids, categories = _checked_ids(qid, n, expected, name)
    heads, dtype = _heads(ids), columns.float_type(qid)
    try:
        codes, queries, counts, in_order = _number(
            ids if heads is None else ids[heads], name, dtype
        )
    except (ValueError, TypeError):
        _number(ids, name, dtype)  # raises the same error with the row
        raise
    if isinstance(categories, Texts):
        queries = categories.at(queries)
    elif categories is not None:
        numbers = queries
        queries = object_array([categories[i] for i in numbers.tolist()])
        columns.refuse_inexact(queries, name, dtype, lambda i: int(np.argmax(ids == numbers[i])))
        if not all(map(words.is_writable, queries)):
            _hash_codes([categories[i] for i in ids.tolist()], name)  # raises an error with the row
    return ids, heads, codes, queries, counts, in_order


def _checked_ids(
    qid: Any, n: int | None, expected: str | None, name: str
) -> tuple[Any, list[Any] | Texts | None]:
    """Check the number of ids; return (ids, None) or, for a coded column, (codes, categories)."""
    ids, categories = _coded(qid, name) or (_ids(qid, name), None)
    has_numbers = categories is None and not isinstance(ids, Texts)
    if n is not None and has_numbers and _are_sizes(ids, n):
        raise ValueError(
            f"{name} has {len(ids)} rows, but {expected} has {n}. The values of {name} add up "
            f"to {n}: if they are query sizes, pass them as group=, or convert them to ids with "
            "np.repeat(np.arange(len(sizes)), sizes)."
        )
    columns.refuse_other_length(ids, name, n, expected)
    if len(ids) == 0:
        raise ValueError(f"{name} is empty: at least one id is required.")
    if categories is not None:
        refuse_missing(ids < 0, lambda row: None, name)
    return ids, categories


def sortable_ids(ids: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return one id per row or, if the ids cannot be sorted, one code per row."""
    try:
        np.unique(ids)
    except TypeError:
        return codes
    return ids[codes]


def group_sizes(group: Any, n: int, expected: str = "y_true") -> np.ndarray:
    """Return the sizes of consecutive queries after checking that the sizes add up to n rows."""
    columns.refuse_unordered(group, "group")
    try:
        sizes = columns.column(group, "group")
    except TypeError as error:
        raise TypeError(f"{error}{_advice_on_ids(group, n)}") from None
    advice = _advice_on_ids(sizes, n)
    bad = ~((sizes >= 1) & (sizes == np.floor(sizes)) & np.isfinite(sizes))
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"group must contain only integers ≥ 1, but group[{i}] is {sizes[i]:g}.{advice}"
        )
    with np.errstate(over="ignore"):
        total = sizes.sum()
    if total != n:
        raise ValueError(
            f"The sizes in group add up to {total:.0f} rows, but {expected} has {n}.{advice}"
        )
    _refuse_unsorted_index(group)
    return sizes.astype(np.intp)


def _advice_on_ids(group: Any, n: int) -> str:
    has_ids = hasattr(group, "__len__") and len(group) == n
    return " If group contains the query id of each row, pass it as qid." if has_ids else ""


def _refuse_unsorted_index(group: Any) -> None:
    """Raise a ValueError if a pandas Series is not in the order of its index.

    A Series without a name whose index has a name is accepted, because ``groupby(…).size()``
    returns it; with ``sort=False``, it is in the order of the rows.
    """
    if not hasattr(group, "iloc") or group.index.is_monotonic_increasing:
        return
    if group.name is not None or group.index.names[0] is None:
        first = ", ".join(map(repr, group.index[:3].tolist()))
        raise ValueError(
            f"group is a pandas Series whose index ({first}, …) is not in order; value_counts(), "
            "for example, sorts by size. Pass the sizes in the order of the rows, "
            "groupby(qid, sort=False).size().to_numpy(), or, if group is already in this order, "
            "group.to_numpy()."
        )


def rows_by_query(codes: np.ndarray, n_queries: int) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the row positions, stably sorted by query, and the n_queries + 1 query boundaries.

    The row positions are None if the rows are already sorted by query.
    """
    starts = layout.starts_of(np.bincount(codes, minlength=n_queries))
    in_order = not (codes[1:] < codes[:-1]).any()
    return None if in_order else layout.order_by_code(codes, starts), starts


def mean_weights(weights: np.ndarray, codes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
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


def warn_of_row_ids(sizes: np.ndarray, stacklevel: int = 3) -> None:
    """Warn if all of at least ten queries have one row, probably because qid is a row id."""
    if len(sizes) >= 10 and sizes.max() == 1:
        warnings.warn(
            f"Each of the {len(sizes)} queries has only one row. A single row cannot be ranked: "
            "every value is trivial, and a ranker learns nothing. If qid is an id of the rows, "
            "pass the id of the query, user or session to which each row belongs.",
            stacklevel=stacklevel,
        )


# Repeated documents ------------------------------------------------------------------------------

_check_duplicates = columns.choice_validator("duplicates", ("raise", "drop"))


def check_duplicates(duplicates: Any, document: Any) -> str:
    """Return `duplicates` if it is valid; "drop" requires the argument `document`."""
    if _check_duplicates(duplicates) == "drop" and document is None:
        raise ValueError("duplicates='drop' requires document=, the column with document ids.")
    return str(duplicates)


def distinct_rows(
    codes: np.ndarray,
    query_ids: np.ndarray,
    document: Any,
    values: Mapping[str, np.ndarray],
    duplicates: str,
) -> np.ndarray | None:
    """Return the rows that remain if repeated documents of a query are dropped, or None for all.

    `codes` contains the position in `query_ids` of each row's query; `values`, keyed by argument,
    must be equal in repeated rows. A ValueError names a document if they differ, or if `duplicates`
    is "raise" and a document is repeated.
    """
    document_codes, documents = query_codes(document, len(codes), "qid", name="document")
    keys = codes.astype(np.intp) * len(documents) + document_codes
    numbers, firsts, *_ = layout.number_by_appearance(keys)
    if len(firsts) == len(keys):
        return None
    first_of_row = firsts[numbers]
    later = np.flatnonzero(first_of_row != np.arange(len(keys)))

    def repeated(row: int) -> str:
        query, text = plain_list(query_ids[codes[[row]]])[0], plain_list(documents)
        return f"Query {query!r} contains document {text[document_codes[row]]!r}"

    if duplicates == "raise":
        raise ValueError(
            f"{repeated(later[0])} more than once. Remove the repeated rows, or pass "
            "duplicates='drop' to count rows with equal values once."
        )
    for argument, of_row in values.items():
        first, second = of_row[first_of_row[later]], of_row[later]
        same = (first == second) | ((first != first) & (second != second))  # both may be NaN
        if not same.all():
            i = int(np.argmin(same))
            raise ValueError(
                f"{repeated(later[i])} more than once, with different values of {argument}: "
                f"{plain(first[i])!r} and {plain(second[i])!r}. duplicates='drop' requires equal "
                "rows: remove the wrong row."
            )
    return firsts


def _heads(ids: Any) -> np.ndarray | None:
    """Return the first row of each block of equal ids, or None if there are many blocks."""
    if not isinstance(ids, np.ndarray) or ids.dtype.itemsize != 8 and ids.dtype.kind not in "biu":
        return None
    is_number = ids.dtype.kind in "biu"
    return layout.heads_of_runs(ids.astype(np.int64, copy=False) if is_number else ids)


def _number(ids: Any, name: str, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Return row codes, distinct ids, row counts per id, and whether the codes are sorted."""
    has_strings = isinstance(ids, (list, np.ndarray)) and isinstance(ids[0], str)
    texts = texts_of_strings(ids) if has_strings else ids
    if isinstance(texts, Texts):
        numbered = texts.numbered()
        if getattr(ids, "dtype", np.dtype("O")).kind == "U" and not are_utf8(numbered[1].tolist()):
            _hash_codes(ids, name)  # raises an error with the row
        return numbered
    if not isinstance(ids, np.ndarray) or ids.dtype.kind == "O" or ids.dtype.itemsize > 8:
        codes, queries = _hash_codes(ids, name)
        columns.refuse_inexact(queries, name, dtype, lambda i: int(np.argmax(codes == i)))
        return codes, queries, np.bincount(codes), not (codes[1:] < codes[:-1]).any()
    kind, whole = ids.dtype.kind, ids
    if kind in "mMf":
        refuse_missing(np.isnan(ids) if kind == "f" else np.isnat(ids), ids.__getitem__, name)
        whole = (ids.astype(np.float64) + 0.0 if kind == "f" else ids.copy()).view(np.int64)
    codes, first, *rest = layout.number_by_appearance(np.ascontiguousarray(whole, dtype=np.intp))
    queries = ids[first]
    if kind == "f":
        columns.refuse_inexact(queries, name, row_of=first.__getitem__)
        queries += 0  # -0.0 becomes 0.0
    return codes, queries, *rest


def refuse_missing(missing: np.ndarray, value_of: Callable[[int], Any], name: str) -> None:
    """Raise a ValueError that names the first row whose id is missing."""
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(
            f"{name} is missing in row {row} ({value_of(row)}): every row must have an id."
        )


def refuse_missing_ids(ids: Iterable[Any], name: str) -> None:
    """Raise a ValueError that names the first row whose id is missing or an empty string."""
    kinds = set(map(type, ids))
    if kinds <= {int} or kinds == {str} and all(ids):  # fast path
        return
    is_blank = [columns.is_missing(value) or isinstance(value, str) and not value for value in ids]
    refuse_missing(np.array(is_blank), lambda row: repr(list(ids)[row]), name)


def _coded(qid: Any, name: str) -> tuple[Any, list[Any] | Texts | None] | None:
    """Return (codes, categories) of a categorical column, (texts, None) of text, or else None.

    The code -1 means missing.
    """
    if isinstance(getattr(qid, "dtype", None), np.dtype):
        return None
    dtype = str(getattr(qid, "dtype", getattr(qid, "type", "")))
    if getattr(getattr(qid, "dtype", None), "storage", None) == "pyarrow":  # pandas text
        qid = getattr(qid, "array", qid).__arrow_array__()
    if hasattr(qid, "factorize") and dtype == "category":
        codes, categories = qid.factorize()
        return np.ascontiguousarray(codes, dtype=np.intp), categories.tolist()
    kinds = ("String", "Categorical", "Enum")
    is_polars_text = dtype.startswith(kinds) and hasattr(qid, "to_arrow")
    if is_polars_text and is_installed("pyarrow"):
        qid = qid.to_arrow()
    refuse_damaged(qid, name)
    is_arrow = hasattr(qid, "dictionary_encode") and not hasattr(qid, "factorize")
    if not is_arrow or not arrow_strings.is_text(qid.type):
        return None
    is_coded = arrow_strings.has_short_dictionaries(qid)
    if not is_coded and arrow_strings.is_dictionary(qid.type):
        qid = qid.cast(qid.type.value_type)
    if qid.null_count:
        return -np.asarray(qid.is_null(), dtype=np.intp), []  # the caller raises an error
    return arrow_strings.coded(qid) if is_coded and len(qid) else (texts_of(qid), None)


def _ids(qid: Any, name: str) -> Any:
    """Return numbers and dates as an array and other ids as objects, so that 1 and "1" differ."""
    columns.refuse_unordered(qid, name)
    if isinstance(qid, (str, bytes)) or not hasattr(qid, "__len__"):
        columns.refuse_lazy(qid, name)
        hint = (
            f" If this is a column name, pass the column itself; {BY_NAME} accept qid={qid!r}."
            if isinstance(qid, str)
            else ""
        )
        raise TypeError(f"{name} must be an array with one id per row; got {qid!r}.{hint}")
    if len(getattr(qid, "shape", (None,))) != 1:
        raise ValueError(f"{name} must be 1-D; got an array of shape {qid.shape}. Pass one column.")
    dtype = getattr(qid, "dtype", None)
    if isinstance(dtype, np.dtype):
        array = np.asarray(columns.unmasked(qid))
        return array if array.dtype.kind in "buifmMOU" else array.tolist()
    # Conversion to NumPy is lossless only for pandas and polars integers without missing values.
    if str(dtype).lower() in WHOLE_NUMBERS:
        array = np.asarray(qid)
        if array.dtype.kind in "iu":
            return array
        if array.dtype.kind == "O" and not any(map(columns.is_missing, array)):  # pandas 2
            return array.astype(str(dtype).lower())
    if str(dtype) in ("str", "string") and hasattr(qid, "to_numpy"):  # pandas text
        return qid.to_numpy(dtype=object)
    return qid.to_pylist() if hasattr(qid, "to_pylist") else qid  # avoid pyarrow scalars


def _are_sizes(ids: Any, n: int) -> bool:
    """Return whether the ids may be query sizes: fewer than n integers ≥ 1 that add up to n."""
    return (
        len(ids) < n
        and all(columns.is_finite_number(size) and size >= 1 and size == int(size) for size in ids)
        and sum(map(int, ids)) == n
    )


def _hash_codes(values: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    numbers_of: dict[Any, int] = {}
    codes = np.empty(len(values), dtype=np.intp)
    for row, query in enumerate(values):
        try:
            code = numbers_of.get(query)
        except TypeError:
            raise TypeError(
                f"{name} must contain hashable ids; row {row} contains {query!r}. Use tuples for "
                "composite ids."
            ) from None
        if code is None:
            if not words.is_writable(query):
                words.refuse_unwritable(query, f"{name} in row {row}")
            if columns.is_missing(query):
                raise ValueError(
                    f"{name} is missing in row {row} ({query!r}): every row must have an id."
                )
            code = numbers_of[query] = len(numbers_of)
        codes[row] = code
    return codes, object_array(list(numbers_of))
