"""Tables of all kinds: columns by name, features and the query column, rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lightgbm import LGBMRanker
from scipy import sparse
from sklearn.linear_model import Ridge
from table_kinds import FRAMES, NAMED, toy_data

import skgraded as sg
from skgraded._input.tables import stack_rows

TABLES = {
    "float64": np.asarray,
    "float32": lambda rows: np.asarray(rows, dtype=np.float32),
    "sparse": sparse.csr_matrix,
    "pandas": lambda rows: pd.DataFrame(rows),
    "polars": lambda rows: pl.DataFrame(rows, orient="row"),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_rows_of_any_table_are_stacked(table):
    rows = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 5.0], [3.0, 0.0, 0.0]])
    stacked, whole = stack_rows(table(rows[:2]), table(rows[2:])), table(rows)
    assert type(stacked) is type(whole)
    if sparse.issparse(whole):
        assert stacked.format == "csr"
        stacked, whole = stacked.toarray(), whole.toarray()
    np.testing.assert_array_equal(np.asarray(stacked), np.asarray(whole))


BIG = 2**53  # float64 does not represent the next integer
COLUMNS = {
    "grade": [2.0, 0.0, 1.0, 0.0],
    "score": [1, 2, 4, 3],
    "query": [BIG, BIG, BIG + 1, BIG + 1],
    "text": ["b", "b", "a", "a"],
}


@pytest.mark.parametrize("kind", NAMED)
def test_columns_of_any_table_are_read_by_name(kind):
    data = NAMED[kind](COLUMNS)
    for qid in ("query", "text"):
        evaluation = sg.evaluate("grade", "score", qid=qid, measures="rr", data=data)
        assert evaluation.per_query["RR"].tolist() == [1 / 2, 1]
        assert evaluation.query_ids.tolist() == list(dict.fromkeys(COLUMNS[qid]))
    with pytest.raises(ValueError, match="There is no column 'scor'.*Did you mean 'score'"):
        sg.evaluate("grade", "scor", qid="query", data=data)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_ranker_reads_queries_and_features_by_name(kind):
    X, y, qid = toy_data()
    expected = sg.QueryRanker(Ridge()).fit(np.delete(X, 1, axis=1), y, qid=qid)
    ranker = sg.QueryRanker(Ridge(), qid="query_id").fit(FRAMES[kind](X), y)
    assert ranker.feature_names_in_.tolist() == ["age", "links", "words"]
    scores = expected.predict(np.delete(X, 1, axis=1))
    np.testing.assert_allclose(ranker.predict(FRAMES[kind](X)), scores, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="Expected unique column names"):
        ranker.fit(pd.DataFrame(X, columns=list("abca")), y)


def test_sparse_columns_of_pandas_stay_sparse():
    X = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(toy_data()[0]))
    X.columns = ["age", "query_id", "links", "words"]

    class Seen(Ridge):
        def fit(self, X, y):
            type(self).dtypes = list(map(str, X.dtypes))
            return super().fit(X, y)

    sg.QueryRanker(Seen(), qid="query_id").fit(X, toy_data()[1])
    assert Seen.dtypes == ["Sparse[float64, 0]"] * 3 or set(Seen.dtypes) == {"Sparse[float64, 0.0]"}


def test_lightgbm_receives_categories_of_polars_and_refuses_text():
    X, y, qid = toy_data()
    frame = pl.DataFrame(X[:, :1], schema=["age"]).with_columns(kind=pl.Series(["x", "y"] * 120))
    ranker = sg.QueryRanker(LGBMRanker(n_estimators=2, verbose=-1, n_jobs=1))
    for dtype in (pl.Categorical, pl.Enum(["x", "y"])):
        typed = frame.with_columns(pl.col("kind").cast(dtype))
        assert len(set(ranker.fit(typed, y, qid=qid).predict(typed))) > 1
    with pytest.raises(ValueError, match="dtypes must be int, float or bool"):  # not an abort
        ranker.fit(frame, y, qid=qid)
