"""Tables of all kinds: columns by name, features and the query column, rows."""

from itertools import product

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lightgbm import LGBMRanker
from scipy import sparse
from sklearn.linear_model import Ridge
from table_kinds import FRAMES, NAMED, toy_data

import skgraded as sg
from skgraded._input.tables import stack_rows
from skgraded.datasets import join_run

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
    with pytest.raises(ValueError, match="There is no column 'query'.*Did you mean 'User ID'"):
        sg.evaluate(
            "Label", "score", qid="query", data={"User ID": [1], "Label": [1], "score": [1]}
        )


NUMBERS = {"grade": [2, 0, 0, 1], "score": [2, 1, 2, 1], "query": [1, 1, 2, 2]}
REPEATED = {  # functions from names and lists to tables that may have repeated names
    "pandas": lambda names, lists: pd.DataFrame(np.transpose(lists), columns=names),
    "Arrow": lambda names, lists: pa.table(lists, names=names),
    "Arrow batch": lambda names, lists: pa.record_batch(list(map(pa.array, lists)), names=names),
}
READERS = {  # functions that read columns of a table by name
    "evaluate": lambda table: sg.evaluate("grade", "score", qid="query", measures="rr", data=table),
    "evaluate_batches": lambda table: sg.evaluate_batches([table], "grade", "score", "query", "rr"),
    "one table": lambda table: sg.evaluate_batches(table, "grade", "score", "query", "rr"),
    "QueryKFold": lambda table: list(sg.model_selection.QueryKFold(2, qid="query").split(table)),
}


@pytest.mark.parametrize(
    "kind, reader",
    [pair for pair in product(REPEATED, READERS) if pair != ("Arrow batch", "QueryKFold")],
)
def test_only_columns_that_are_read_must_have_unique_names(kind, reader):
    read, make = READERS[reader], REPEATED[kind]
    names, lists = list(NUMBERS), list(NUMBERS.values())
    expected = read(make(names, lists))
    result = read(make([*names, "other", "other"], [*lists, [0] * 4, [1] * 4]))
    assert str(result) == str(expected)
    with pytest.raises(ValueError, match=r"Several columns are named 'query' \(qid\): rename all"):
        read(make([*names, "query"], [*lists, [3] * 4]))


def test_names_of_systems_are_distinct():
    with pytest.raises(ValueError, match="y_score contains 'score' 2 times"):
        sg.evaluate("grade", ["score", "score"], qid="query", data=NUMBERS)
    with pytest.raises(ValueError, match="runs contains 'a.run' 2 times"):
        sg.evaluate_runs("qrels", ["a.run", "b.run", "a.run"])


@pytest.mark.parametrize("ids", [[{"a": 1}] * 4, [[1]] * 4], ids=["struct", "list"])
@pytest.mark.parametrize(
    "make", [pl.Series, pa.array, lambda ids: pa.array(ids).to_pandas(types_mapper=pd.ArrowDtype)]
)
def test_nested_ids_are_refused(make, ids):
    with pytest.raises(TypeError, match="qid must contain hashable ids; row 0 contains"):
        sg.evaluate(NUMBERS["grade"], NUMBERS["score"], qid=make(ids))


UNION = pa.UnionArray.from_sparse(pa.array([0] * 4, pa.int8()), [pa.array([1, 1, 2, 2])])


@pytest.mark.parametrize("values", [duckdb.from_arrow(pa.table(NUMBERS)), UNION])
def test_errors_of_other_libraries_name_the_argument(values):
    y = NUMBERS["grade"]
    for call, name in (
        (lambda: sg.evaluate(y, values, group=[4]), "y_score"),
        (lambda: sg.rbo(values, y), "x"),
        (lambda: sg.compare_judges({"a": values, "b": y}, group=[4]), r"y_judges\['a'\]"),
        (
            lambda: join_run(
                {1: {"a": 1}}, {"qid": [1] * 4, "docno": list("abcd"), "score": values}
            ),
            "run.score",
        ),
    ):
        with pytest.raises(ValueError, match=f"^{name} must be an array; cannot convert "):
            call()


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


def dictionary(values, categories):
    codes = pa.array([categories.index(value) for value in values], pa.int32())
    return pa.table({"kind": pa.DictionaryArray.from_arrays(codes, categories)})


CATEGORIES = {
    "pandas": lambda values, known: pd.DataFrame({"kind": pd.Categorical(values, known)}),
    "polars": lambda values, known: pl.DataFrame({"kind": pl.Series(values, dtype=pl.Enum(known))}),
    "arrow": dictionary,
}


@pytest.mark.parametrize("make", CATEGORIES.values(), ids=CATEGORIES)
def test_stacked_rows_keep_the_codes_of_the_first_table_and_add_new_categories(make):
    first, second = make(["b", "a"], ["b", "a"]), make(["c", "a"], ["a", "c"])
    column = nw.from_native(stack_rows(first, second))["kind"]
    assert column.cat.get_categories().to_list() == ["b", "a", "c"]
    assert column.to_list() == ["b", "a", "c", "a"]
