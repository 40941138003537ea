"""Hashes of rows: the same for the same values, others for values in other columns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from skgraded._input.tables import hash_rows

TABLES = {
    "float64": np.asarray,
    "float32": lambda rows: np.asarray(rows, dtype=np.float32),
    "sparse": sparse.csr_matrix,
    "pandas": lambda rows: pd.DataFrame(rows),
    "pandas, names that repeat": lambda rows: pd.DataFrame(rows, columns=list("aab")),
    "polars": lambda rows: pl.DataFrame(rows, orient="row"),
}
every_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


@every_table
def test_rows_are_told_apart_by_the_columns_of_their_values(table):
    rows = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 2.0], [1.0, 2.0, 0.0]])
    hashes = hash_rows(table(rows)).tolist()
    assert hashes[0] == hashes[3] and len(set(hashes)) == 3


@every_table
def test_minus_zero_is_zero(table):
    plus, minus = hash_rows(table(np.array([[0.0, 1.0, 5.0], [-0.0, 1.0, 5.0]]))).tolist()
    assert plus == minus


@every_table
def test_tiny_values_are_told_apart(table):
    hashes = hash_rows(table(np.array([[1e-30], [2e-30], [0.0]]).repeat(3, axis=1)))
    assert len(set(hashes.tolist())) == 3


def test_a_zero_that_a_sparse_matrix_holds_is_one_that_it_leaves_out():
    matrix = sparse.csr_matrix((np.array([0.0, 1.0, 1.0]), [0, 1, 1], [0, 2, 3]))
    held, left_out = hash_rows(matrix).tolist()
    assert held == left_out


def test_a_minus_zero_that_a_sparse_matrix_holds_is_zero():
    matrix = sparse.csr_matrix((np.array([0.0, 1.0, -0.0, 1.0]), [0, 1, 0, 1], [0, 2, 4]))
    plus, minus = hash_rows(matrix).tolist()
    assert plus == minus
