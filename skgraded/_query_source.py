"""Where the query of each row is found, in a column of X or by X's row index; tables by column.

A table is a 2-D array, a CSR matrix, or a pandas or polars frame.
"""

import difflib
import numbers
import sys

import numpy as np
from scipy import sparse

HASHED_COLUMNS = 16


def check_source(qid):
    """Refuse a `qid` that is neither None, a column name, a position nor a pandas Series."""
    is_position = isinstance(qid, numbers.Integral) and not isinstance(qid, (bool, np.bool_))
    if qid is None or isinstance(qid, str) or is_position or _is_indexed_series(qid):
        return
    if _is_pandas_frame(qid):
        raise TypeError("qid is a DataFrame; pass the one column of it that holds the query.")
    raise TypeError(
        "qid must be the name of a column of X (str), its position (int), or a pandas Series that "
        f"is looked up by the row index of X; got {type(qid).__name__}. An array of queries "
        "cannot follow the rows through a split: give it where X and y are given, "
        "fit(X, y, qid=qid), with metadata routing."
    )


def is_column(source):
    """Whether the queries are a column of X."""
    return isinstance(source, (str, numbers.Integral))


def queries_of(X, source):
    """Find the query of each row of `X`.

    Parameters
    ----------
    X : array-like, sparse matrix or frame of shape (n, n_columns)
    source : str, int or pandas Series
        Column name, column position, or queries by row label.

    Returns
    -------
    array-like of shape (n,)
    """
    if is_column(source):
        table = as_table(X)
        return take_queries(table, find_column(table, source), source)
    return look_up(X, source)


def look_up(X, series):
    """Find the query of each row of the pandas frame `X` by its label in the Series."""
    if not series.index.is_unique:
        label = series.index[series.index.duplicated()][0]
        raise ValueError(
            f"qid is looked up by the row index of X, but its own index has {plain(label)!r} twice."
        )
    if not _is_pandas_frame(X):
        raise ValueError(
            "qid is a Series to look up by the row index of X, but X is a "
            f"{type(X).__name__} and has no row index. Pass X as a pandas DataFrame; where a tool "
            "hands plain arrays on, as feature selection does, give qid by metadata routing."
        )
    positions = series.index.get_indexer(X.index)
    if (positions < 0).any():
        row = int(np.argmax(positions < 0))
        raise ValueError(
            f"qid has no query for the label {plain(X.index[row])!r} (row {row} of X): its index "
            "must hold every row label of X. Was the index of X reset?"
        )
    return series.iloc[positions]


def as_table(X):
    """`X` as a table; no copy unless it is another kind of sparse matrix or a list."""
    if sparse.issparse(X):
        return X.tocsr()  # itself if it is one; rows taken from CSC come unsorted
    if not (_is_pandas_frame(X) or is_polars_frame(X)):
        X = np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(
            f"X must be 2-D; got an array of shape {X.shape}. Reshape your data: X.reshape(-1, 1) "
            "of one feature, X.reshape(1, -1) of one document."
        )
    if X.shape[1] == 0:
        raise ValueError(
            f"X has 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required."
        )
    return X


def column_names(table):
    """Names of all columns if the table is a frame and they are text, else None."""
    names = list(table.columns) if hasattr(table, "columns") else []
    return names if names and all(isinstance(name, str) for name in names) else None


def find_column(table, key):
    """Position ≥ 0 of the column with the name `key` (str), or at the position `key` (int)."""
    n_columns = table.shape[1]
    if not isinstance(key, str):
        if not -n_columns <= key < n_columns:
            raise ValueError(f"qid is column {key}, but X has {n_columns} columns.")
        return int(key) % n_columns
    if not hasattr(table, "columns"):
        raise ValueError(
            f"qid is the column {key!r}, but X is a {type(table).__name__}, whose columns have no "
            "names. Pass X as a frame; where a tool hands plain arrays on, as feature selection "
            "does, give qid by metadata routing."
        )
    names = list(table.columns)
    if names.count(key) == 1:
        return names.index(key)
    if key in names:
        raise ValueError(f"qid is the column {key!r}, but X has it {names.count(key)} times.")
    near = difflib.get_close_matches(key, [str(name) for name in names], n=1)
    nearest = f" Did you mean {near[0]!r}?" if near else ""
    shown = ", ".join(repr(name) for name in names[:10]) + (", …" if len(names) > 10 else "")
    raise ValueError(f"qid is the column {key!r}, but X has only {shown}.{nearest}")


def take_column(table, position):
    """One column of a table, 1-D."""
    if _is_pandas_frame(table):
        return table.iloc[:, position]
    if is_polars_frame(table):
        return table.to_series(position)
    if sparse.issparse(table):
        return table[:, [position]].toarray().ravel()
    return table[:, position]


def take_queries(table, position, source):
    """The column of the queries, refused if it was named by position and holds fractions.

    Where a tool has dropped or moved columns, the position may be that of a feature.
    """
    queries = take_column(table, position)
    if not isinstance(source, str):
        values = np.asarray(queries)
        fractional = values.dtype.kind == "f" and np.isfinite(values) & (values != np.rint(values))
        if np.any(fractional):
            row = int(np.argmax(fractional))
            raise ValueError(
                f"qid is column {source} of X, but that column has {values[row]:g} in row {row}, "
                "which looks like a feature and not like a query. Where a tool drops columns, as "
                "feature selection does, give qid by metadata routing."
            )
    return queries


def drop_column(table, position):
    """Leave one column out of a table, whose other columns keep their types."""
    if is_polars_frame(table):
        return table.drop(table.columns[position])
    if isinstance(table, np.ndarray):
        return np.delete(table, position, axis=1)
    keep = np.delete(np.arange(table.shape[1]), position)
    return table.iloc[:, keep] if _is_pandas_frame(table) else table[:, keep]


def take_rows(table, rows):
    """Rows of a table by position."""
    return table.iloc[rows] if _is_pandas_frame(table) else table[rows]


def plain(value):
    """A NumPy number as Python's, which messages show as it is written."""
    return value.item() if isinstance(value, np.generic) else value


def hash_rows(table):
    """A hash of each row's values, (n,) of uint64; the same for rows that are the same.

    Of arrays and frames at most HASHED_COLUMNS count, which is enough to tell rows apart.
    """
    n_columns = table.shape[1]
    some = np.unique(np.linspace(0, n_columns - 1, HASHED_COLUMNS).astype(int))
    if _is_pandas_frame(table):
        part = table.iloc[:, some]
        return sys.modules["pandas"].util.hash_pandas_object(part, index=False).to_numpy()
    if is_polars_frame(table):
        return table[:, some.tolist()].hash_rows().to_numpy()
    factors = mix_bits(np.arange(1, n_columns + 1, dtype=np.uint64)) | np.uint64(1)
    if sparse.issparse(table):
        bits = mix_bits(_bits(table.data)) * factors[table.indices]
        upto = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(bits, dtype=np.uint64)))
        return upto[table.indptr[1:]] - upto[table.indptr[:-1]]
    hashes = np.zeros(table.shape[0], dtype=np.uint64)
    if table.dtype.kind in "buif":
        for column in some:
            hashes += mix_bits(_bits(table[:, column])) * factors[column]
    return hashes


def _bits(numbers):
    return (numbers.astype(float) + 0.0).view(np.uint64)  # 0.0 and -0.0 are the same


def mix_bits(bits):
    """Spread each number's bits over all 64 (splitmix64); the array itself, changed."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(31)
    return bits


def _is_pandas_frame(X):
    return hasattr(X, "iloc") and getattr(X, "ndim", None) == 2


def is_polars_frame(X):
    """Whether X is a polars frame; does not import polars."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(X, polars.DataFrame)


def _is_indexed_series(qid):
    return hasattr(qid, "iloc") and getattr(qid, "ndim", None) == 1
