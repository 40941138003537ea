"""evaluate and cross_evaluate: values by query, their means, folds and frames."""

import numpy as np
import pytest
import sklearn
from lightgbm import LGBMRanker
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    RepeatedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skgraded as sg

Y_TRUE = [2, 0, 1, 0, 0, 1, 0]
Y_SCORE = [3, 1, 2, 7, 6, 4, 5]
QID = ["b", "b", "b", "none", "none", "a", "a"]


@pytest.fixture(scope="module")
def ranking():
    X, y, qid = sg.datasets.make_ranking(n_queries=40, n_documents=10, random_state=3)
    rows = np.random.default_rng(0).permutation(len(y))
    return X[rows], y[rows], qid[rows]


def test_values_by_query_are_those_of_the_measures():
    ev = sg.evaluate(Y_TRUE, Y_SCORE, qid=QID, measures=["ap", sg.RR(undefined=np.nan), "ndcng@1"])
    assert ev.query_ids.tolist() == ["b", "none", "a"]
    assert list(ev.per_query) == ["AP", "RR(undefined=nan)", "NDCNG@1"]
    np.testing.assert_array_equal(ev.per_query["AP"], [(1 / 1 + 2 / 2) / 2, 0, 1 / 2])
    np.testing.assert_array_equal(ev.per_query["RR(undefined=nan)"], [1, np.nan, 1 / 2])
    assert ev.n_undefined == {"AP": 1, "RR(undefined=nan)": 1, "NDCNG@1": 1}
    assert ev.mean() == {
        "AP": (1 + 0 + 1 / 2) / 3, "RR(undefined=nan)": (1 + 1 / 2) / 2, "NDCNG@1": 1 / 3,
    }
    assert all(type(value) is float for value in ev.mean().values())
    assert all(type(n) is int for n in ev.n_undefined.values())


def test_weights_count_in_means_only():
    weight = [4, 4, 4, 0, 0, 1, 1]
    ev = sg.evaluate(Y_TRUE, Y_SCORE, qid=QID, measures="ap", sample_weight=weight)
    np.testing.assert_array_equal(ev.weights, [4, 0, 1])
    np.testing.assert_array_equal(ev.per_query["AP"], [1, 0, 1 / 2])
    assert ev.mean()["AP"] == pytest.approx((4 * 1 + 1 * 1 / 2) / 5)
    assert ev.to_frame()["weight"].tolist() == [4, 0, 1]


def test_groups_and_judgments_serve_as_queries():
    by_group = sg.evaluate(Y_TRUE, Y_SCORE, group=[3, 2, 2], measures="ap")
    judgments = sg.evaluate(sg.Judgments(Y_TRUE, qid=QID), Y_SCORE, measures="ap")
    np.testing.assert_array_equal(by_group.per_query["AP"], judgments.per_query["AP"])
    assert by_group.query_ids.tolist() == [0, 1, 2]


def test_a_frame_has_a_row_a_query():
    frame = sg.evaluate(Y_TRUE, Y_SCORE, qid=QID, measures=["ap", "rr"]).to_frame()
    assert frame.columns.tolist() == ["query_id", "AP", "RR"]
    assert frame["query_id"].tolist() == ["b", "none", "a"]
    tuples = [("x", 1)] * 3 + [("y", 1)] * 4
    frame = sg.evaluate(Y_TRUE, Y_SCORE, qid=tuples, measures="ap").to_frame()
    assert frame["query_id"].tolist() == [("x", 1), ("y", 1)]


def test_default_measures_are_ndcng_and_mu_map():
    assert list(sg.evaluate(Y_TRUE, Y_SCORE, qid=QID).mean()) == ["NDCNG@10", "MuAP"]


def test_the_same_measure_twice_is_refused():
    with pytest.raises(ValueError, match="AP twice"):
        sg.evaluate(Y_TRUE, Y_SCORE, qid=QID, measures=["ap", "map"])


def out_of_fold_by_hand(X, y, qid, cv, n_queries=40):
    """AP by query, from LightGBM's own form of groups."""
    values, folds = np.full(n_queries, np.nan), np.full(n_queries, -1)
    for fold, (train, test) in enumerate(cv.split(X, y, qid)):
        train = train[np.argsort(qid[train], kind="stable")]
        sizes = np.unique(qid[train], return_counts=True)[1]
        model = LGBMRanker(n_estimators=10, verbose=-1, n_jobs=1)
        model.fit(X[train], y[train], group=sizes)
        scores = model.predict(X[test])
        for query in np.unique(qid[test]):
            of_query = qid[test] == query
            values[query] = sg.AP()(y[test][of_query], scores[of_query])
            folds[query] = fold
    return values, folds


@pytest.mark.parametrize("cv", [5, GroupKFold(3), LeaveOneGroupOut()])
def test_out_of_fold_values_are_those_of_a_loop_by_hand(ranking, cv):
    X, y, qid = ranking
    if isinstance(cv, LeaveOneGroupOut):
        few = qid < 4
        X, y, qid = X[few], y[few], qid[few]
    ranker = sg.QueryRanker(LGBMRanker(n_estimators=10, verbose=-1, n_jobs=1))
    found = sg.cross_evaluate(ranker, X, y, qid=qid, measures=["ap", "rr"], cv=cv)
    values, folds = out_of_fold_by_hand(X, y, qid, GroupKFold(cv) if cv == 5 else cv)
    np.testing.assert_allclose(found.per_query["AP"], values[found.query_ids], atol=1e-9)
    np.testing.assert_array_equal(found.fold, folds[found.query_ids])
    assert found.query_ids.tolist() == list(dict.fromkeys(qid.tolist()))
    assert not hasattr(ranker, "estimator_")


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize(
    "ranker", [Ridge(), sg.QueryRanker(Ridge()), make_pipeline(StandardScaler(),
                                                             sg.QueryRanker(Ridge()))],
    ids=["regressor", "ranker", "pipeline"],
)
def test_a_ranker_a_pipeline_and_a_plain_regressor_give_the_same(ranking, ranker, routing):
    X, y, qid = ranking
    with sklearn.config_context(enable_metadata_routing=routing):
        found = sg.cross_evaluate(ranker, X, y, qid=qid, cv=4)
    expected = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=4)
    for name, values in expected.per_query.items():
        np.testing.assert_allclose(found.per_query[name], values, atol=1e-6)


def test_frames_sparse_matrices_and_text_ids_are_taken(ranking):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y, qid = ranking
    expected = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=4)
    names = [f"x{i}" for i in range(X.shape[1])]
    tables = [pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names), sparse.csr_matrix(X)]
    for table in tables:
        # ids whose order is that of the numbers, so that the folds are the same
        text = np.array([f"q{query:03}" for query in qid])
        found = sg.cross_evaluate(sg.QueryRanker(Ridge()), table, pd.Series(y), qid=text, cv=4)
        np.testing.assert_allclose(found.mean()["MuAP"], expected.mean()["MuAP"], atol=1e-6)
        np.testing.assert_array_equal(found.fold, expected.fold)


def test_ids_without_an_order_are_taken(ranking):
    X, y, qid = ranking
    mixed = [("odd", int(q)) if q % 2 else int(q) for q in qid]
    found = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, qid=mixed, cv=4)
    assert set(found.query_ids) == set(mixed)


def test_queries_that_are_never_tested_are_left_out(ranking):
    X, y, qid = ranking
    splitter = GroupShuffleSplit(1, test_size=0.25, random_state=0)
    found = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=splitter)
    (_, test), = splitter.split(X, y, qid)
    assert found.query_ids.tolist() == list(dict.fromkeys(qid[test].tolist()))
    assert set(found.fold.tolist()) == {0}


# scikit-learn says by itself that such splitters do not look at groups
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_a_splitter_that_tears_queries_is_refused(ranking):
    X, y, qid = ranking
    test, train = np.split(qid, [-(-len(y) // 5)])
    torn = len(np.intersect1d(test, train))
    with pytest.raises(ValueError, match=rf"cv tears {torn} queries apart in fold 0.*GroupKFold"):
        sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=KFold(5))


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_queries_that_are_tested_twice_are_refused():
    X, y = np.arange(4.0)[:, None], [0, 1, 2, 0]
    with pytest.raises(ValueError, match=r"cv tests query 0 more than once"):
        sg.cross_evaluate(Ridge(), X, y, qid=range(4), cv=RepeatedKFold(n_splits=2, n_repeats=2))


def test_a_frame_of_folds_names_them(ranking):
    X, y, qid = ranking
    frame = sg.cross_evaluate(Ridge(), X, y, qid=qid, measures="ap", cv=4).to_frame()
    assert frame.columns.tolist() == ["query_id", "fold", "AP"]
    assert sorted(frame["fold"].unique()) == [0, 1, 2, 3]


def test_the_query_as_a_column_of_x_or_by_its_index(ranking):
    pd = pytest.importorskip("pandas")
    X, y, qid = ranking
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    expected = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=4).mean()["MuAP"]
    by_column = sg.QueryRanker(Ridge(), qid="query")
    by_index = sg.QueryRanker(Ridge(), qid=pd.Series(qid))
    for ranker, X in ((by_column, frame.assign(query=qid)), (by_index, frame)):
        for given in (qid, None):
            found = sg.cross_evaluate(ranker, X, y, qid=given, cv=4)
            assert found.mean()["MuAP"] == pytest.approx(expected, abs=1e-6)


def test_group_sizes_serve_as_queries_of_consecutive_rows():
    X, y, qid = sg.datasets.make_ranking(n_queries=12, random_state=0)
    found = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, group=np.bincount(qid), cv=3)
    expected = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, qid=qid, cv=3)
    assert found.mean() == expected.mean()


def test_without_queries_there_is_one_clear_error(ranking):
    X, y, _ = ranking
    with pytest.raises(ValueError, match="needs the query of each row: give qid or group"):
        sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y)


@pytest.mark.parametrize("kind", [list, tuple, lambda ids: [f"q{i:03}" for i in ids],
                                  lambda ids: [(i // 7, i % 7) for i in ids]],
                         ids=["list", "tuple", "text", "pairs"])
def test_the_folds_do_not_depend_on_the_kind_of_ids(ranking, kind):
    X, y, qid = ranking
    expected = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=5)
    found = sg.cross_evaluate(Ridge(), X, y, qid=kind(qid.tolist()), cv=5)
    np.testing.assert_array_equal(found.fold, expected.fold)
    np.testing.assert_array_equal(found.per_query["MuAP"], expected.per_query["MuAP"])


def test_splits_may_be_given_as_a_list(ranking):
    X, y, qid = ranking
    splits = list(GroupKFold(5).split(X, y, qid))
    found = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=splits)
    assert found.mean() == sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=None).mean()
    with pytest.raises(ValueError, match="cv"):
        sg.cross_evaluate(Ridge(), X, y, qid=qid, cv="five")


class NeverFitted(Ridge):
    def fit(self, X, y):
        raise AssertionError("bad input must be refused before any fit")


@pytest.mark.parametrize(
    ("grade", "measures", "message"),
    [
        (np.nan, "ap", r"^y must be finite: row 3 is nan"),
        (-1, "ap", r"^y must hold grades ≥ 0: row 3 is -1"),
        (9, "ndcng(max_grade=4)", r"max_grade is 4, but y_true has 9 in row 3"),
    ],
)
def test_bad_grades_are_refused_before_any_fit(ranking, grade, measures, message):
    X, y, qid = ranking
    y = y.astype(float)
    y[3] = grade
    with pytest.raises(ValueError, match=message):
        sg.cross_evaluate(NeverFitted(), X, y, qid=qid, measures=measures)
