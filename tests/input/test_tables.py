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
def test_hashes_use_16_columns_including_the_first_and_the_last(table):
    assert HASHED_COLUMNS == 16
    for n_columns in (1, 2, 16, 17, 40):
        hashes = hash_rows(table(np.concatenate([np.zeros((1, n_columns)), np.eye(n_columns)])))
        counts = hashes[1:] != hashes[0]
        assert counts.sum() == (n_columns if table is sparse.csr_matrix else min(n_columns, 16))
        assert counts[0] and counts[-1]
        assert len(set(hashes.tolist())) == 1 + counts.sum()


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
