"""Hashes of rows: the same for the same values, others for values in other columns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from skgraded._input.table_kinds import HASHED_COLUMNS, hash_rows, stack_rows

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
    plus, minus = hash_rows(table(np.array([[0.0, 1.0, 5.0], [-0.0, 1.0, 5.0]]))).tolist()
    assert plus == minus
    hashes = hash_rows(table(np.array([[1e-30], [2e-30], [0.0]]).repeat(3, axis=1)))
    assert len(set(hashes.tolist())) == 3


def test_a_zero_that_a_sparse_matrix_holds_is_one_that_it_leaves_out():
    values, columns = np.array([0.0, 1.0, -0.0, 1.0, 1.0]), [0, 1, 0, 1, 1]
    plus, minus, left_out = hash_rows(sparse.csr_matrix((values, columns, [0, 2, 4, 5]))).tolist()
    assert plus == minus == left_out


@pytest.mark.parametrize("table", [np.asarray, sparse.csr_matrix, pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("n_columns", [1, 2, HASHED_COLUMNS, HASHED_COLUMNS + 1, 40])
def test_of_many_columns_as_many_as_said_count_the_first_and_the_last_among_them(table, n_columns):
    base = np.zeros((1, n_columns))
    hashes = hash_rows(table(np.concatenate([base, np.eye(n_columns)])))
    counts = hashes[1:] != hashes[0]
    is_sparse = table is sparse.csr_matrix
    assert counts.sum() == (n_columns if is_sparse else min(n_columns, HASHED_COLUMNS))
    assert counts[0] and counts[-1]
    assert len(set(hashes.tolist())) == 1 + counts.sum()
    assert HASHED_COLUMNS == 16


@every_table
def test_stacked_rows_are_numbered_anew(table):
    rows = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 5.0], [3.0, 0.0, 0.0]])
    stacked, whole = stack_rows(table(rows[:2]), table(rows[2:])), table(rows)
    assert type(stacked) is type(whole)
    if sparse.issparse(whole):
        assert stacked.format == "csr"
        stacked, whole = stacked.toarray(), whole.toarray()
    np.testing.assert_array_equal(np.asarray(stacked), np.asarray(whole))
    if isinstance(whole, pd.DataFrame):
        pd.testing.assert_frame_equal(stacked, whole)
