"""The same numbers in every kind of table that estimators are given."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

NAMES = ["age", "query_id", "links", "words"]
TABLES = {
    "numpy": np.array,
    "fortran": np.asfortranarray,
    "list": lambda X: X.tolist(),
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "csr array": sparse.csr_array,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES[: X.shape[1]]),
    "pandas without names": pd.DataFrame,
    "polars": lambda X: pl.DataFrame(X, schema=NAMES[: X.shape[1]]),
    "arrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=False))),
}
FRAMES = {name: TABLES[name] for name in ("pandas", "polars", "arrow")}


def select(frame, names):
    """Return the columns of a frame with these names, in this order."""
    return frame[names] if isinstance(frame, pd.DataFrame) else frame.select(names)


# Functions that convert a dict of columns to each kind of table that `data` accepts
NAMED = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "pandas with an index": lambda columns: pd.DataFrame(columns).set_axis(
        range(9, 9 + len(next(iter(columns.values()))))
    ),
    "pandas of Arrow types": lambda columns: pa.table(columns).to_pandas(
        types_mapper=pd.ArrowDtype
    ),
    "polars": pl.DataFrame,
    "polars, lazy": pl.LazyFrame,
    "Arrow": pa.table,
    "Arrow batch": pa.RecordBatch.from_pydict,
    "DuckDB": lambda columns: duckdb.from_arrow(pa.table(columns)),  # rows are computed later
}


def toy_data(n=240, n_queries=24, seed=0):
    """Three features and a query column in the second place, grades, and the queries shuffled."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.arange(n) % n_queries) + 1
    X = np.round(rng.normal(size=(n, 4)), 2)
    X[:, 1] = qid
    y = np.clip(np.round(X[:, 0] + 0.5 * X[:, 2] + rng.normal(size=n, scale=0.5) + 1), 0, 4)
    return X, y, qid
