"""Read user tables: DataFrames from any library supported by narwhals, arrays and CSR matrices."""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import plain
from skgraded._input.messages import (
    find_nearest,
    normalize_name,
    quote_names,
    suggest_name,
    warn_of_input,
)

if TYPE_CHECKING:
    import pandas as pd

ENGINES = ("dask", "pyspark")  # packages whose DataFrames require a separate skgraded module
LIBRARIES = ("duckdb", "narwhals", "pandas", "polars", "pyarrow")  # packages of other tables
UNLABELLED = frozenset((type(None), np.ndarray, list))
Labels = Sequence[tuple[str, Any]]  # (argument, pandas Index) pairs; all indexes differ


class FeatureTable(Protocol):
    """A pandas or polars DataFrame, a CSR matrix or a 2-D array."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and columns."""


Features: TypeAlias = ArrayLike | FeatureTable  # what users pass as X


@contextmanager
def convert_library_errors(name: str) -> Iterator[None]:
    """Convert errors from file access or table libraries to a one-line ValueError about `name`."""
    try:
        yield
    except Exception as error:
        package = type(error).__module__.partition(".")[0].lstrip("_")
        if package not in LIBRARIES and not isinstance(error, (OSError, UnicodeDecodeError)):
            raise
        raise ValueError(f"{name} cannot be read: {' '.join(str(error).split())}") from None


def frame_of(table: Any) -> Any:
    """Convert a DataFrame from any library to a narwhals frame; return None for other objects.

    narwhals does not support repeated column names, so columns with such names are left out.
    """
    package = type(table).__module__.partition(".")[0]
    if isinstance(table, np.ndarray) or package in ENGINES:
        return None
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame = nw.from_native(table, pass_through=True)
    except DuplicateError:  # raised for tables of pandas and Arrow
        times = Counter(list_column_names(table))
        names = [name for name, n in times.items() if n == 1]
        frame = nw.from_native(table[names] if hasattr(table, "iloc") else table.select(names))
    return frame if isinstance(frame, (nw.DataFrame, nw.LazyFrame)) else None


def list_column_names(table: object) -> list[Any]:
    """Return all column names of an eager DataFrame or Arrow table, including repeated names."""
    return list(getattr(table, "column_names", getattr(table, "columns", ())))


# Tables of features ------------------------------------------------------------------------------


def as_table(X: Any) -> Any:
    """Convert `X` with `convert_features`, and raise a ValueError for repeated column names."""
    table = convert_features(X)
    names = list(getattr(table, "columns", ()))
    if len(set(names)) < len(names):
        ((name, times),) = Counter(names).most_common(1)
        raise ValueError(
            f"Expected unique column names in X, but {times} columns are named {name!r}: rename "
            "all but one."
        )
    return table


def convert_features(X: Any) -> Any:
    """Convert `X` to a CSR matrix, pandas or polars DataFrame, or array; copy only if needed."""
    if hasattr(X, "tocsr"):
        return X.tocsr()  # selecting rows of a CSC matrix would leave the indices unsorted
    frame = frame_of(X)
    if hasattr(frame, "collect"):
        raise TypeError(f"X is a {type(X).__name__}, which has no rows yet: collect it first.")
    if frame is None or not (frame.implementation.is_pandas() or frame.implementation.is_polars()):
        X = np.asarray(X) if frame is None else _convert_to_pandas(X, frame)
    if len(X.shape) != 2:
        raise ValueError(
            f"X must be 2-D; got an array of shape {X.shape}. Reshape your data: X.reshape(-1, 1) "
            "for a single feature, X.reshape(1, -1) for a single document."
        )
    if X.shape[1] == 0:
        raise ValueError(
            f"X has 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required."
        )
    return X


def _convert_to_pandas(table: Any, frame: Any) -> Any:
    names = list_column_names(table)
    if not frame.implementation.is_pyarrow() or len(set(names)) == len(names):
        return getattr(table, "to_pandas", frame.to_pandas)()
    positions = list(map(str, range(len(names))))  # pyarrow 14 refuses repeated names
    return table.rename_columns(positions).to_pandas().set_axis(names, axis=1)


def column_names(table: Any) -> list[str] | None:
    """Return the column names of a table if all of them are strings, otherwise None."""
    names = list(getattr(table, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def take_column(table: Any, position: int) -> Any:
    """Return a column of a table as a 1-D array or Series."""
    if hasattr(table, "tocsr"):
        return table[:, [position]].toarray().ravel()
    return getattr(table, "iloc", table)[:, position]


def drop_columns(table: Any, positions: list[Any]) -> Any:
    """Return a table without the columns at `positions`; all other columns keep their types."""
    if isinstance(table, np.ndarray):
        return np.delete(table, positions, axis=1)
    kept = np.delete(np.arange(table.shape[1]), positions).tolist()
    return getattr(table, "iloc", table)[:, kept]


def take_rows(table: Any, rows: np.ndarray | slice) -> Any:
    """Select rows of a table by position."""
    return getattr(table, "iloc", table)[rows]


def stack_rows(table: Any, other: Any) -> Any:
    """Concatenate the rows of two tables of the same kind; their categories may differ.

    The categories of `table` keep their codes; new categories from `other` are appended.
    """
    if isinstance(table, np.ndarray):
        return np.concatenate([table, other])
    if hasattr(table, "tocsr"):
        from scipy import sparse

        return sparse.vstack([table, other], format="csr")
    import narwhals.stable.v2 as nw

    tables = [nw.from_native(each, eager_only=True) for each in (table, other)]
    schema = tables[0].schema
    for name in [name for name, dtype in schema.items() if dtype in (nw.Categorical, nw.Enum)]:
        columns = _unify_categories(*(each[name].to_native() for each in tables))
        tables = [
            each.with_columns(nw.from_native(column, series_only=True).alias(name))
            for each, column in zip(tables, columns, strict=True)
        ]
    return nw.concat(tables).to_native()


def _unify_categories(column: Any, other: Any) -> tuple[Any, Any]:
    """Convert two columns to the union of their categories; the categories of `column` come first.

    Arrow dictionaries and polars Categoricals are returned unchanged, because `narwhals.concat`
    unifies their categories.
    """
    if hasattr(column, "iloc"):  # pandas
        categories = column.cat.categories
        categories = categories.append(other.cat.categories.difference(categories, sort=False))
        return column.cat.set_categories(categories), other.cat.set_categories(categories)
    if str(getattr(column, "dtype", "")).startswith("Enum"):  # polars
        known = dict.fromkeys([*column.dtype.categories, *other.dtype.categories])
        dtype = type(column.dtype)(list(known))
        return column.cast(dtype), other.cast(dtype)
    return column, other


# Columns by name ---------------------------------------------------------------------------------


def read_named(data: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Replace column names in the arguments with columns of `data`; None remains None.

    Without `data`, all arguments must be arrays.
    """
    named = {argument: value for argument, value in arguments.items() if value is not None}
    for argument, value in named.items():
        if data is None and isinstance(value, str):
            raise TypeError(
                f"Argument {argument} must be an array; got the string {value!r}. If this is a "
                "column name, pass the table with data=..."
            )
        if data is not None and not isinstance(value, str):
            raise TypeError(
                f"If data is passed, {argument} must be the name of a column; got "
                f"{type(value).__name__}."
            )
    if data is None:
        return dict(arguments)
    if isinstance(data, Mapping):
        refuse_unknown(named.values(), data)
        columns = data
    else:
        columns = _select_from_frame(data, {name: argument for argument, name in named.items()})
    return {**arguments, **{argument: columns[name] for argument, name in named.items()}}


def _select_from_frame(data: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the named columns of a DataFrame; for a LazyFrame, only these columns are computed."""
    frame = frame_of(data)
    if frame is None and hasattr(data, "column_names"):  # an Arrow record batch
        refuse_unknown(names, data.column_names)
        return {name: data[name] for name in names}
    if frame is None:
        package = type(data).__module__.partition(".")[0]
        is_file = isinstance(data, (str, os.PathLike))
        advice = " Use evaluate_batches to read files." if is_file else ""
        if package in ENGINES:
            advice = f" Use skgraded.{package.removeprefix('py')}.evaluate."
        raise TypeError(
            "data must be a table, such as a pandas or polars DataFrame, an Arrow table or a "
            f"DuckDB relation, or a dict of columns; got {type(data).__name__}.{advice}"
        )
    if hasattr(frame, "collect"):
        refuse_unknown(names, frame.collect_schema().names())
        frame = frame.select(list(names)).collect()
    else:
        refuse_unknown(names, list_column_names(data))
    return {name: frame[name].to_native() for name in names}


def refuse_unknown(
    names: Iterable[Any], known: Iterable[Any], place: str = "", advice: str = ""
) -> None:
    """Raise a ValueError unless every name matches exactly one known column.

    `names` may map each name to the argument that contains it, for use in messages.
    """
    known, arguments = list(known), names if isinstance(names, Mapping) else {}
    for name in names:
        if known.count(name) > 1:
            argument = f" ({arguments[name]})" if name in arguments else ""
            raise ValueError(
                f"{place}Several columns are named {name!r}{argument}: rename all but one."
            )
        if name not in known:
            raise ValueError(
                f"{place}There is no column {name!r}. Available columns: {quote_names(known)}."
                f"{suggest_column(name, known)}{advice}"
            )


# Names that many tools give to the columns of qrels, runs and tables of scores --------------------

# The names in a group are used only if no column has a name from an earlier group.
# In PyTerrier DataFrames, `qid` contains query ids, and `query` contains query texts.
NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "query": (("qid", "query_id", "q_id", "query-id", "query", "user_id"),),
    "document": (
        (
            *("doc_id", "docno", "docid", "doc-id", "corpus-id", "document", "document_id"),
            *("corpus_id", "item_id", "passage_id", "pid"),
        ),
        ("_id", "id"),
    ),
    "grade": (("grade", "relevance", "label", "rating", "rel"),),
    "score": (("score", "_score"),),
}
KEYS = {
    column: tuple(tuple(dict.fromkeys(map(normalize_name, group))) for group in groups)
    for column, groups in NAMES.items()
}
COLUMN_OF = {key: column for column, keys in KEYS.items() for group in keys for key in group}
COLUMNS = {"qrels": ("query", "document", "grade"), "run": ("query", "document", "score")}
BEIR = normalize_name("corpus-id")  # in qrels with this column, the grade column may be named score


def find_columns(names: Iterable[Any], side: str) -> dict[str, list[Any]]:
    """Return the candidate names for each column of qrels or a run, in order of priority.

    Case, "_", "-" and spaces are ignored, but exact matches take precedence.
    """
    known = list(dict.fromkeys(names))
    spellings: dict[str, list[Any]] = {}
    for name in known:
        spellings.setdefault(normalize_name(str(name)), []).append(name)
    if side == "qrels" and BEIR in spellings and not spellings.keys() & set(KEYS["grade"][0]):
        spellings["grade"] = spellings.get("score", [])
    found: dict[str, list[Any]] = {column: [] for column in COLUMNS[side]}
    for column in found:
        for group, keys in zip(NAMES[column], KEYS[column], strict=True):
            exact = [name for name in group if name in known]
            spelled = [name for key in keys for name in spellings.get(key, ())]
            found[column] = found[column] or exact or spelled
    return found


def choose_columns(names: Collection[Any], side: str, columns: Iterable[str] = ()) -> list[Any]:
    """Return the names of the requested columns of qrels or a run (default: all three columns)."""
    found = find_columns(names, side)
    for column in columns or found:
        matches = found[column]
        if not matches:
            raise ValueError(
                f"{side} has no column {column!r}; its columns are {quote_names(list(names))}. "
                f"Rename one, for example with pandas: {_show_renaming(column, found, names)}. "
                f"Other accepted names (ignoring case): {', '.join(chain(*NAMES[column]))}."
            )
        keys = [column if column == "grade" else normalize_name(str(name)) for name in matches]
        if len(keys) > 1 and keys[0] == keys[1]:
            raise ValueError(
                f"{side} has several {column} columns, {matches[0]!r} and {matches[1]!r}: keep "
                "only one of them."
            )
    return [found[column][0] for column in columns or found]


def _show_renaming(column: str, found: Mapping[str, list[Any]], names: Iterable[Any]) -> str:
    """Return the pandas code that renames the most likely candidate to the missing column."""
    others = [name for name in names if not any(name in matches for matches in found.values())]
    nearest = (find_nearest(known, others) for known in chain(*NAMES[column]))
    name = next(filter(None, nearest), others[0] if others else "…")
    return f'rename(columns={{"{name!s:.60}": "{column}"}})'


def suggest_column(name: Any, names: Collection[Any]) -> str:
    """Suggest a synonym of `name` among `names` or, if there is none, a similar name."""
    column = COLUMN_OF.get(normalize_name(str(name)))
    side = "run" if column == "score" else "qrels"
    matches = find_columns(names, side)[column] if column else ()
    return f" Did you mean {matches[0]!r}?" if matches else suggest_name(name, names)


# Row labels of pandas objects, whose rows are paired by position ---------------------------------


def check_row_labels(arguments: Mapping[str, Any], known: Labels = ()) -> Labels:
    """Warn if two pandas objects have the same row labels in a different order.

    `known` contains the labels returned by an earlier call; the result includes them.
    """
    labels = [*known]
    for name, values in arguments.items():
        if type(values) in UNLABELLED or not hasattr(values, "iloc"):
            continue
        index = values.index
        if any(index.is_(other) or index.equals(other) for _, other in labels):
            continue
        for first_name, first in labels:
            row = _find_reordered(first, index)
            if row is not None:
                warn_of_input(
                    f"{first_name} and {name} have the same row labels in a different order: row "
                    f"{row} is {plain(first[row])!r} in {first_name} and {plain(index[row])!r} in "
                    f"{name}. Rows are paired by position. Pass {name}.loc[{first_name}.index] to "
                    "pair them by label, or .to_numpy() if the order is right."
                )
        labels.append((name, index))
    return labels


def _find_reordered(index: "pd.Index", other: "pd.Index") -> int | None:
    """Return the first differing row if the indexes have the same labels in a different order."""
    if len(index) != len(other):
        return None
    from pandas.util import hash_pandas_object

    hashes, others = (hash_pandas_object(labels).to_numpy() for labels in (index, other))
    differs = hashes != others
    # Equal sums of 64-bit hashes imply equal labels, unless there is an improbable collision.
    is_permutation = differs.any() and hashes.sum() == others.sum()
    return int(np.argmax(differs)) if is_permutation else None
