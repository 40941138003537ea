"""Concatenation of the rows of tables."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from skgraded._input.table_kinds import stack_rows

TABLES = {
    "float64": np.asarray,
    "float32": lambda rows: np.asarray(rows, dtype=np.float32),
    "sparse": sparse.csr_matrix,
    "pandas": lambda rows: pd.DataFrame(rows),
    "pandas, names that repeat": lambda rows: pd.DataFrame(rows, columns=list("aab")),
    "polars": lambda rows: pl.DataFrame(rows, orient="row"),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
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
