"""The same numbers in every kind of table that estimators are given."""

import numpy as np
import pandas as pd
import polars as pl
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
}
FRAMES = {name: TABLES[name] for name in ("pandas", "polars")}


def toy_data(n=240, n_queries=24, seed=0):
    """Three features and a query column in the second place, grades, and the queries shuffled."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.arange(n) % n_queries) + 1
    X = np.round(rng.normal(size=(n, 4)), 2)
    X[:, 1] = qid
    y = np.clip(np.round(X[:, 0] + 0.5 * X[:, 2] + rng.normal(size=n, scale=0.5) + 1), 0, 4)
    return X, y, qid
