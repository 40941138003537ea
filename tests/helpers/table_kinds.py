"""The same numbers in every kind of table that estimators are given."""

import numpy as np
import pytest
from scipy import sparse

NAMES = ["age", "query_id", "links", "words"]


def _pandas(X):
    return pytest.importorskip("pandas").DataFrame(X, columns=NAMES[: X.shape[1]])


def _pandas_numbered(X):
    return pytest.importorskip("pandas").DataFrame(X)


def _polars(X):
    return pytest.importorskip("polars").DataFrame(X, schema=NAMES[: X.shape[1]])


TABLES = {
    "numpy": np.array,
    "fortran": np.asfortranarray,
    "list": lambda X: X.tolist(),
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "csr array": sparse.csr_array,
    "pandas": _pandas,
    "pandas without names": _pandas_numbered,
    "polars": _polars,
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
