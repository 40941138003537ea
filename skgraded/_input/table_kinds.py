"""Common operations on tables: 2-D arrays, CSR matrices, and pandas and polars frames."""

import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from skgraded._input.arrow_strings import refuse_damaged
from skgraded._input.door import refuse_data_set
from skgraded._input.words import did_you_mean, plain

ENGINES = ("dask", "pyspark")  # packages with a skgraded module for their data frames
UNLABELLED = frozenset((type(None), np.ndarray, list))
Labels = Sequence[tuple[str, Any]]  # arguments and their indexes, which differ pairwise


def as_table(X: Any) -> Any:
    """Convert `X` to a table; copy it only if it is a list or a sparse matrix not in CSR format."""
    refuse_data_set(X, "X")
    if is_sparse(X):
        return X.tocsr()  # selecting rows of a CSC matrix would leave the indices unsorted
    if not (is_pandas_frame(X) or is_polars_frame(X)):
        refuse_damaged(X, "X")
        X = np.asarray(X)
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


def column_names(table: Any) -> list[str] | None:
    """Return the column names of a frame if all of them are strings, otherwise None."""
    names = list(table.columns) if hasattr(table, "columns") else []
    return names if names and all(isinstance(name, str) for name in names) else None


def take_column(table: Any, position: int) -> Any:
    """Return a column of a table as a 1-D array or Series."""
    if is_pandas_frame(table):
        return table.iloc[:, position]
    if is_polars_frame(table):
        return table.to_series(position)
    if is_sparse(table):
        return table[:, [position]].toarray().ravel()
    return table[:, position]


def drop_columns(table: Any, positions: list[Any]) -> Any:
    """Return a table without the columns at `positions`; all other columns keep their types."""
    if is_polars_frame(table):
        return table.drop([table.columns[position] for position in positions])
    if isinstance(table, np.ndarray):
        return np.delete(table, positions, axis=1)
    keep = np.delete(np.arange(table.shape[1]), positions)
    return table.iloc[:, keep] if is_pandas_frame(table) else table[:, keep]


def read_named(data: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments, with the columns of `data` that they name; None stays None.

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
    package = type(data).__module__.partition(".")[0]
    known: Any = getattr(data, "column_names", None)  # of an Arrow table or batch
    if isinstance(data, Mapping):
        known = data
    elif is_pandas_frame(data) or is_polars_frame(data):
        known = data.columns
    if known is None:
        advice = {
            package in ENGINES: f" Use skgraded.{package.removeprefix('py')}.evaluate.",
            isinstance(data, (str, os.PathLike)): " Use evaluate_batches to read files.",
            type(data).__name__ == "LazyFrame": " Call collect() first, or use evaluate_batches.",
        }
        raise TypeError(
            "data must be a pandas or polars DataFrame, an Arrow table or a dict of columns; got "
            f"{type(data).__name__}.{advice.get(True, '')}"
        )
    refuse_unknown(named.values(), known)
    return {**arguments, **{argument: data[name] for argument, name in named.items()}}


class UnknownColumnError(ValueError):
    """A required column is missing, or its name is not unique."""


def refuse_unknown(names: Iterable[Any], known: Any, place: str = "", advice: str = "") -> None:
    """Raise an UnknownColumnError unless every name matches exactly one known column."""
    known = list(known)
    for name in names:
        if known.count(name) > 1:
            raise UnknownColumnError(
                f"{place}Several columns are named {name!r}: rename all but one."
            )
        if name not in known:
            shown = ", ".join(map(repr, known[:20])) + (", …" if len(known) > 20 else "") or "none"
            raise UnknownColumnError(
                f"{place}There is no column {name!r}. Available columns: {shown}."
                f"{did_you_mean(name, known)}{advice}"
            )


def take_rows(table: Any, rows: Any) -> Any:
    """Select rows of a table, or values of a Series or array, by position."""
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def stack_rows(table: Any, other: Any) -> Any:
    """Concatenate the rows of two tables of the same kind."""
    if is_pandas_frame(table):
        return sys.modules["pandas"].concat([table, other], ignore_index=True)
    if is_polars_frame(table):
        return sys.modules["polars"].concat([table, other])
    if is_sparse(table):
        return sys.modules["scipy.sparse"].vstack([table, other], format="csr")
    return np.concatenate([table, other])


def is_pandas_frame(X: Any) -> bool:
    """Return whether X is a pandas DataFrame, and not a Dask frame, without importing pandas."""
    is_frame = hasattr(X, "iloc") and getattr(X, "ndim", None) == 2
    return is_frame and not hasattr(X, "__dask_graph__")


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix or array, without importing scipy.sparse."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and sparse.issparse(X)


def is_polars_frame(X: Any) -> bool:
    """Return whether X is a polars DataFrame, without importing polars."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(X, polars.DataFrame)


# Row labels of pandas objects, whose rows are paired by position ---------------------------------


def check_row_labels(arguments: Mapping[str, Any], stacklevel: int, known: Labels = ()) -> Labels:
    """Warn if two pandas objects have the same row labels in a different order.

    `known` are labels that an earlier call returned; the result also contains these labels.
    """
    labels = [*known]
    for name, values in arguments.items():
        if type(values) in UNLABELLED or not hasattr(values, "iloc"):
            continue
        index = values.index
        if any(index.is_(other) or index.equals(other) for _, other in labels):
            continue
        for first_name, first in labels:
            row = _first_reordered(first, index)
            if row is not None:
                warnings.warn(
                    f"{first_name} and {name} have the same row labels in a different order: row "
                    f"{row} is {plain(first[row])!r} in {first_name} and {plain(index[row])!r} in "
                    f"{name}. Rows are paired by position. Pass {name}.loc[{first_name}.index] to "
                    "pair them by label, or .to_numpy() if the order is right.",
                    stacklevel=stacklevel,
                )
        labels.append((name, index))
    return labels


def _first_reordered(index: Any, other: Any) -> int | None:
    """Return the first row whose label differs, or None unless the labels are a permutation."""
    if len(index) != len(other):
        return None
    from pandas.util import hash_pandas_object

    hashes, others = (hash_pandas_object(labels).to_numpy() for labels in (index, other))
    differs = hashes != others
    # Equal sums of 64-bit hashes: the same labels, up to an improbable collision.
    is_permutation = differs.any() and hashes.sum() == others.sum()
    return int(np.argmax(differs)) if is_permutation else None
