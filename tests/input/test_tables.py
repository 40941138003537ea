"""Hashes and concatenation of the rows of tables."""

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
def test_hashes_depend_on_values_and_their_columns(table):
    rows = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 2.0], [1.0, 2.0, 0.0]])
    hashes = hash_rows(table(rows)).tolist()
    assert hashes[0] == hashes[3] and len(set(hashes)) == 3
    plus, minus = hash_rows(table(np.array([[0.0, 1.0, 5.0], [-0.0, 1.0, 5.0]]))).tolist()
    assert plus == minus
    hashes = hash_rows(table(np.array([[1e-30], [2e-30], [0.0]]).repeat(3, axis=1)))
    assert len(set(hashes.tolist())) == 3


def test_stored_zeros_of_a_sparse_matrix_do_not_change_hashes():
    values, columns = np.array([0.0, 1.0, -0.0, 1.0, 1.0]), [0, 1, 0, 1, 1]
    plus, minus, left_out = hash_rows(sparse.csr_matrix((values, columns, [0, 2, 4, 5]))).tolist()
    assert plus == minus == left_out


@pytest.mark.parametrize("table", [np.asarray, sparse.csr_matrix, pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("n_columns", [1, 2, HASHED_COLUMNS, HASHED_COLUMNS + 1, 40])
def test_hashes_use_16_columns_including_the_first_and_the_last(table, n_columns):
    base = np.zeros((1, n_columns))
    hashes = hash_rows(table(np.concatenate([base, np.eye(n_columns)])))
    counts = hashes[1:] != hashes[0]
    is_sparse = table is sparse.csr_matrix
    assert counts.sum() == (n_columns if is_sparse else min(n_columns, HASHED_COLUMNS))
    assert counts[0] and counts[-1]
    assert len(set(hashes.tolist())) == 1 + counts.sum()
    assert HASHED_COLUMNS == 16


@every_table
def test_stacked_rows_have_a_new_index(table):
    rows = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 5.0], [3.0, 0.0, 0.0]])
    stacked, whole = stack_rows(table(rows[:2]), table(rows[2:])), table(rows)
    assert type(stacked) is type(whole)
    if sparse.issparse(whole):
        assert stacked.format == "csr"
        stacked, whole = stacked.toarray(), whole.toarray()
    np.testing.assert_array_equal(np.asarray(stacked), np.asarray(whole))
    if isinstance(whole, pd.DataFrame):
        pd.testing.assert_frame_equal(stacked, whole)
