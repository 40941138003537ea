"""QueryRanker on its own: fit, predict, score, and the warning about torn queries."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from lightgbm import LGBMRanker
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.utils import get_tags
from tables import FRAMES, TABLES, toy_data

import skgraded as sg

pd = pytest.importorskip("pandas")

FEATURES = [0, 2, 3]


def lambdarank():
    return LGBMRanker(
        n_estimators=8, min_child_samples=3, verbose=-1, n_jobs=1, random_state=0,
        deterministic=True, force_col_wise=True,
    )


# Fit and predict ---------------------------------------------------------------------------------

class Recorder(BaseEstimator):
    def fit(self, X, y, group):
        self.seen_ = X, list(group)
        return self


def test_rows_query_by_query_are_not_copied():
    X, y, qid = toy_data()
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    ranker = sg.QueryRanker(Recorder()).fit(X, y, qid=qid)
    assert ranker.estimator_.seen_[0] is X
    assert ranker.estimator_.seen_[1] == [10] * 24


@pytest.mark.parametrize(("kind", "estimator", "qid"), [
    *((kind, lambdarank(), 1) for kind in TABLES),
    *((kind, Ridge(), -3) for kind in TABLES),
    *((kind, Ridge(), "query_id") for kind in FRAMES),
], ids=lambda value: None if isinstance(value, (str, int)) else type(value).__name__)
def test_the_column_is_taken_out_and_predict_takes_x_with_and_without_it(kind, estimator, qid):
    X, y, queries = toy_data()
    make = TABLES[kind]
    ranker = sg.QueryRanker(estimator, qid=qid).fit(make(X), y)
    assert ranker.n_features_in_ == 3
    with_it = ranker.predict(make(X))
    without = make(X[:, FEATURES])
    if kind in FRAMES:
        without = make(X)[["age", "links", "words"]]
    np.testing.assert_allclose(ranker.predict(without), with_it, rtol=1e-10)
    same = sg.QueryRanker(estimator).fit(without, y, qid=queries)
    np.testing.assert_allclose(same.predict(without), with_it, rtol=1e-10)
    assert ranker.score(make(X), y) == pytest.approx(same.score(without, y, qid=queries))


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("qid", ["query_id", 1])
def test_columns_of_a_frame_are_found_by_their_names_wherever_they_stand(kind, qid):
    X, y, _ = toy_data()
    frame = FRAMES[kind](X)
    ranker = sg.QueryRanker(lambdarank(), qid=qid).fit(frame, y)
    assert ranker.feature_names_in_.tolist() == ["age", "links", "words"]
    moved = frame[["age", "links", "words", "query_id"]]
    np.testing.assert_array_equal(ranker.predict(moved), ranker.predict(frame))
    assert ranker.score(moved, y) == ranker.score(frame, y)


def test_a_frame_may_be_fitted_and_an_array_predicted():
    X, y, _ = toy_data()
    ranker = sg.QueryRanker(lambdarank(), qid="query_id").fit(TABLES["pandas"](X), y)
    expected = ranker.predict(TABLES["pandas"](X))
    np.testing.assert_array_equal(ranker.predict(X), expected)
    np.testing.assert_array_equal(ranker.predict(X[:, FEATURES]), expected)


def test_text_queries_beside_categories_leave_the_categories_as_they_are():
    X, y, qid = toy_data()
    kinds = np.array(["page", "image", "video"])[np.random.default_rng(0).integers(3, size=len(X))]
    frame = pd.DataFrame({"kind": pd.Categorical(kinds), "age": X[:, 0]})
    expected = sg.QueryRanker(lambdarank()).fit(frame, y, qid=qid)
    frame["query"] = [f"q{one}" for one in qid]
    ranker = sg.QueryRanker(lambdarank(), qid="query").fit(frame, y)
    np.testing.assert_array_equal(ranker.predict(frame), expected.predict(frame.iloc[:, :2]))
    assert ranker.estimator_.booster_.pandas_categorical == [["image", "page", "video"]]


def test_queries_are_looked_up_by_index():
    X, y, qid = toy_data()
    frame = pd.DataFrame(X[:, FEATURES], index=np.arange(len(X))[::-1], columns=list("abc"))
    series = pd.Series(qid, index=frame.index).sort_index()
    ranker = sg.QueryRanker(lambdarank(), qid=series).fit(frame, y)
    expected = sg.QueryRanker(lambdarank()).fit(X[:, FEATURES], y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(frame), expected.predict(X[:, FEATURES]))
    assert ranker.score(frame, y) == sg.NDCNG(k=10)(y, ranker.predict(frame), qid=qid)


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(), RandomForestRegressor(n_estimators=3, random_state=0), KNeighborsRegressor(),
        HistGradientBoostingRegressor(max_iter=3),
        make_pipeline(StandardScaler(), SVR()), GridSearchCV(Ridge(), {"alpha": [1.0]}),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_regressor_is_fitted_on_the_rows_as_they_are(estimator):
    X, y, qid = toy_data()
    ranker = sg.QueryRanker(estimator).fit(X, y / 8, qid=qid)  # fractional grades
    expected = clone(estimator).fit(X, y / 8).predict(X)
    np.testing.assert_array_equal(ranker.predict(X), expected)


def test_group_sizes_are_taken_in_place_of_qid():
    X, y, qid = toy_data()
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    ranker = sg.QueryRanker(lambdarank()).fit(X, y, group=[10] * 24)
    expected = sg.QueryRanker(lambdarank()).fit(X, y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))
    assert ranker.score(X, y, group=[10] * 24) == ranker.score(X, y, qid=qid)


# Weights and other arguments of fit --------------------------------------------------------------

def test_other_arguments_of_fit_are_passed_on():
    X, y, qid = toy_data()
    X[:, 3] = np.round(abs(X[:, 3]))
    names = ["a", "b", "c", "d"]
    ranker = sg.QueryRanker(lambdarank()).fit(
        X, y, qid=qid, feature_name=names, categorical_feature=["d"]
    )
    assert ranker.estimator_.booster_.feature_name() == names


# Score -------------------------------------------------------------------------------------------

def test_score_is_the_measure():
    X, y, qid = toy_data()
    weights = qid % 3 + 1
    ranker = sg.QueryRanker(Ridge()).fit(X, y, qid=qid)
    scores = ranker.predict(X)
    assert ranker.score(X, y, qid=qid) == sg.NDCNG(k=10)(y, scores, qid=qid)
    ranker.set_params(measure="mu_map")
    expected = sg.MuAP()(y, scores, qid=qid, sample_weight=weights)
    assert ranker.score(X, y, qid=qid, sample_weight=weights) == expected
    ranker.set_params(measure=["rr", sg.AP()])
    assert ranker.score(X, y, qid=qid) == {
        "RR": sg.RR()(y, scores, qid=qid), "AP": sg.AP()(y, scores, qid=qid)
    }


def test_score_takes_the_column_of_the_queries_out_once():
    polars = pytest.importorskip("polars")

    class Counting(polars.DataFrame):
        n_taken = 0

        def drop(self, *columns, **kwargs):
            Counting.n_taken += 1
            return super().drop(*columns, **kwargs)

    X, y, _ = toy_data()
    frame = Counting(FRAMES["polars"](X))
    ranker = sg.QueryRanker(Ridge(), qid="query_id").fit(frame, y)
    assert Counting.n_taken == 1
    ranker.score(frame, y)  # the very rows of the fit, whose features are compared
    assert Counting.n_taken == 2
    new = Counting(frame.with_columns(query_id=polars.col("query_id") + 100))
    for score in (sg.QueryRanker.score, sg.make_ranking_scorer("ndcng@10", qid="query_id")):
        Counting.n_taken = 0
        score(ranker, new, y)
        assert Counting.n_taken == 1


# Bad input ---------------------------------------------------------------------------------------

WHOLE = ("lambdarank", "rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart")


@pytest.mark.parametrize(
    ("given", "is_whole"),
    [({"objective": name}, True) for name in WHOLE]
    + [({alias: "xendcg"}, True) for alias in ("objective_type", "app", "application", "loss")]
    + [({alias: "l2"}, False) for alias in ("objective_type", "app", "application", "loss")]
    + [({"objective": "regression"}, False), ({"objective": "xendcg", "loss": "l2"}, False)]
    + [({"objective": "l2", "app": "xendcg"}, True)],
)
def test_the_objective_goes_by_all_names_that_lightgbm_knows(given, is_whole):
    X, y, qid = toy_data()
    y[7] = 2.5
    ranker = sg.QueryRanker(LGBMRanker(n_estimators=1, verbose=-1, **given))
    if is_whole:
        with pytest.raises(ValueError, match="integers for LGBMRanker; got 2.5 in row 7"):
            ranker.fit(X, y, qid=qid)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LightGBM's, of two names for one parameter
            model = ranker.fit(X, y, qid=qid).estimator_.booster_
        assert "objective=regression" in model.model_to_string()


# As an estimator ---------------------------------------------------------------------------------

def test_parameters_are_nested_and_clones_are_unfitted():
    ranker = sg.QueryRanker(lambdarank(), qid="query_id", measure="mu_map")
    assert ranker.get_params()["estimator__n_estimators"] == 8
    ranker.set_params(estimator__n_estimators=3)
    same = clone(ranker)
    assert same.estimator is not ranker.estimator
    assert (same.qid, same.measure, same.estimator.n_estimators) == ("query_id", "mu_map", 3)
    assert not hasattr(same, "estimator_")
    assert "query_id" in repr(ranker)


def test_a_fitted_ranker_pickles():
    X, y, _ = toy_data()
    ranker = sg.QueryRanker(lambdarank(), qid=1).fit(X, y)
    same = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(same.predict(X), ranker.predict(X))
    assert same.score(X, y) == ranker.score(X, y)


def test_a_ranker_with_a_series_clones_pickles_and_prints():
    ranker = sg.QueryRanker(lambdarank(), qid=pd.Series([1, 2]))
    for same in (clone(ranker), pickle.loads(pickle.dumps(ranker))):
        assert same.qid.tolist() == [1, 2]
    assert repr(ranker).startswith("QueryRanker(")
    assert ranker._repr_html_()


def test_fitting_again_forgets_the_first_fit():
    X, y, qid = toy_data()
    ranker = sg.QueryRanker(lambdarank()).fit(TABLES["pandas"](X), y, qid=qid)
    ranker.fit(X[:, :3], y, qid=qid)
    assert not hasattr(ranker, "feature_names_in_")
    assert ranker.n_features_in_ == 3
    ranker.set_params(qid=1).fit(X, y)
    assert ranker.predict(X).shape == (240,)


def test_its_tags():
    ranker = sg.QueryRanker(lambdarank())
    assert is_regressor(ranker)
    assert not is_classifier(ranker)
    assert get_tags(ranker).target_tags.required
    for estimator in (lambdarank(), Ridge(), HistGradientBoostingRegressor()):
        inner = get_tags(estimator).input_tags
        tags = get_tags(sg.QueryRanker(estimator)).input_tags
        assert (tags.sparse, tags.allow_nan) == (inner.sparse, inner.allow_nan)


def test_it_asks_for_qid_unless_the_constructor_has_one():
    with sklearn.config_context(enable_metadata_routing=True):
        wanted = sg.QueryRanker(Ridge()).get_metadata_routing()
        validation = dict.fromkeys(("eval_X", "eval_y", "eval_qid", "eval_sample_weight"))
        assert wanted.fit.requests == {"qid": True, "sample_weight": None} | validation
        assert wanted.score.requests == {"qid": True, "sample_weight": None}
        for qid in ("query_id", 0):
            wanted = sg.QueryRanker(Ridge(), qid=qid).get_metadata_routing()
            assert wanted.fit.requests == {"sample_weight": None} | validation
            assert wanted.score.requests == {"sample_weight": None}
        ranker = sg.QueryRanker(Ridge()).set_fit_request(qid="groups", sample_weight=True)
        assert clone(ranker).get_metadata_routing().fit.requests == {
            "qid": "groups", "sample_weight": True
        } | validation


# Torn queries ------------------------------------------------------------------------------------

def halves(qid, torn):
    """Two sets of rows: of whole queries, or of half the rows of each query."""
    if torn:
        return train_test_split(np.arange(len(qid)), test_size=0.4, random_state=0)
    return next(GroupKFold(2).split(qid, groups=qid))


def text(qid):
    return [f"query {one}" for one in qid]


def pairs(qid):
    return [(int(one) // 5, int(one) % 5) for one in qid]


def days(qid):
    return np.datetime64("2024-01-01", "ns") + qid * np.timedelta64(1, "D")


QUERY_KINDS = {"int": lambda qid: qid, "text": text, "pairs": pairs,
               "float": lambda qid: qid / 2, "dates": days}


@pytest.mark.parametrize("ids", QUERY_KINDS.values(), ids=QUERY_KINDS.keys())
def test_rows_of_known_queries_warn_and_rows_of_others_do_not(ids):
    X, y, qid = toy_data()
    for torn in (True, False):
        train, test = halves(qid, torn)
        ranker = sg.QueryRanker(Ridge()).fit(X[train], y[train], qid=ids(qid[train]))
        scorer = sg.make_ranking_scorer("ndcng@10")
        known = len(set(qid[test]) & set(qid[train]))
        assert (known > 0) == torn
        for score in (scorer, sg.QueryRanker.score):
            if torn:
                with pytest.warns(sg.TornQueryWarning, match=f"{known} of the {known} queries"):
                    score(ranker, X[test], y[test], qid=ids(qid[test]))
            else:
                score(ranker, X[test], y[test], qid=ids(qid[test]))


def test_the_warning_gives_an_example_and_says_what_to_do():
    X, y, qid = toy_data()
    ranker = sg.QueryRanker(Ridge()).fit(X[:200], y[:200], qid=qid[:200])
    with pytest.warns(sg.TornQueryWarning) as record:
        ranker.score(X[200:], y[200:], qid=qid[200:])
    message = str(record[0].message)
    assert f"such as {qid[200]}," in message
    assert "cv=GroupKFold(5).set_split_request(groups='qid')" in message
    assert record[0].filename == __file__
    assert [warning.category for warning in record] == [sg.TornQueryWarning]
    assert issubclass(sg.TornQueryWarning, UserWarning)


def test_a_query_that_is_a_date_is_shown_as_one():
    X, y, qid = toy_data()
    ranker = sg.QueryRanker(Ridge()).fit(X[:200], y[:200], qid=days(qid[:200]))
    with pytest.warns(sg.TornQueryWarning, match=f"such as .*'{days(qid[200])}'"):
        ranker.score(X[200:], y[200:], qid=days(qid[200:]))
    new = days(qid[200:]).astype(int)  # numbers are no dates
    ranker.score(X[200:], y[200:], qid=new)


def test_one_known_query_among_new_ones_is_enough():
    X, y, qid = toy_data()
    train = qid <= 12
    train[np.flatnonzero(qid == 20)[0]] = True
    ranker = sg.QueryRanker(Ridge()).fit(X[train], y[train], qid=qid[train])
    with pytest.warns(sg.TornQueryWarning, match="1 of the 12 queries to score, such as 20,"):
        ranker.score(X[~train], y[~train], qid=qid[~train])


def test_the_very_rows_in_any_order_and_with_minus_zeros_do_not_warn():
    X, y, qid = toy_data()
    X, y = np.round(X), y.astype(float)
    ranker = sg.QueryRanker(Ridge()).fit(X, y, qid=qid)
    order = np.random.default_rng(0).permutation(len(X))
    ranker.score(X[order], y[order], qid=qid[order])
    assert (X == 0).any() and (y == 0).any()
    ranker.score(np.where(X == 0, -0.0, X), np.where(y == 0, -0.0, y), qid=qid)


def test_the_same_queries_with_other_grades_or_fewer_rows_are_other_rows():
    X, y, qid = toy_data()
    ranker = sg.QueryRanker(Ridge()).fit(X, y, qid=qid)
    with pytest.warns(sg.TornQueryWarning):
        ranker.score(X[1:], y[1:], qid=qid[1:])
    other = y.copy()
    other[5] += 1
    with pytest.warns(sg.TornQueryWarning):
        ranker.score(X, other, qid=qid)
    with pytest.warns(sg.TornQueryWarning):
        ranker.score(X[qid <= 12], y[qid <= 12], qid=qid[qid <= 12])


def test_a_query_of_a_column_is_the_query_given_as_integers():
    X, y, qid = toy_data()
    ranker = sg.QueryRanker(Ridge(), qid=1).fit(X[:200], y[:200])  # 3.0
    with pytest.warns(sg.TornQueryWarning):
        sg.make_ranking_scorer("rr")(ranker, X[200:], y[200:], qid=qid[200:].astype(object))  # 3


def test_rankers_inside_pipelines_and_searches_are_found():
    X, y, qid = toy_data()
    scorer = sg.make_ranking_scorer("rr", qid=1)
    pipeline = make_pipeline(StandardScaler(), sg.QueryRanker(Ridge()))
    pipeline.fit(X[:200], y[:200], queryranker__qid=qid[:200])
    search = GridSearchCV(
        sg.QueryRanker(Ridge(), qid=1), {"estimator__alpha": [1, 2]}, cv=GroupKFold(2)
    ).fit(X[:200], y[:200], groups=qid[:200])
    for estimator in (pipeline, search):
        with pytest.warns(sg.TornQueryWarning):
            scorer(estimator, X[200:], y[200:])
        scorer(estimator, X[:200], y[:200])


def test_a_ranker_fitted_by_group_sizes_knows_no_queries():
    X, y, qid = toy_data()
    ranker = sg.QueryRanker(Ridge()).fit(X[:20], y[:20], group=[10, 10])
    ranker.score(X[20:40], y[20:40], group=[10, 10])
    ranker.score(X[20:40], y[20:40], qid=np.zeros(20))
    model = LinearRegression().fit(X[:200], y[:200])  # nor does a regressor
    sg.make_ranking_scorer("rr")(model, X[200:], y[200:], qid=qid[200:])


def test_the_memory_of_the_fit_is_a_few_numbers_a_query():
    n_queries = 1000
    qid = np.repeat(np.arange(n_queries), 50)
    X = np.random.default_rng(0).normal(size=(len(qid), 1))
    ranker = sg.QueryRanker(DummyRegressor()).fit(X, np.arange(len(qid)) % 5, qid=qid)
    assert len(pickle.dumps(ranker)) < 40 * n_queries


@pytest.mark.parametrize("first", [0, 1])
def test_two_files_that_number_their_queries_alike_are_the_likely_cause(first):
    X, y, qid = sg.datasets.make_ranking(n_queries=20, random_state=0)
    ranker = sg.QueryRanker(Ridge()).fit(X, y, qid=qid + first)
    few = qid < 5
    message = f"5 of the 5 queries to score.*number their queries from {first}, as often in"
    with pytest.warns(sg.TornQueryWarning, match=message):
        ranker.score(X[few] + 1, y[few], qid=qid[few] + first)
    others = (qid >= 3) & (qid < 6)
    with pytest.warns(sg.TornQueryWarning, match="the split divides queries, and"):
        ranker.score(X[others] + 1, y[others], qid=qid[others] + first)


def test_sparse_rows_keep_their_class_and_sparse_columns_become_rows():
    X, y, _ = toy_data()
    seen = {sparse.csr_matrix: sparse.csr_matrix, sparse.csr_array: sparse.csr_array,
            sparse.csc_matrix: sparse.csr_matrix, sparse.csc_array: sparse.csr_array}
    for given, expected in seen.items():
        fitted = sg.QueryRanker(Recorder(), qid=1).fit(given(X), y)
        assert type(fitted.estimator_.seen_[0]) is expected


@pytest.mark.parametrize("table", TABLES)
def test_test_rows_with_the_grades_of_the_training_rows_warn_all_the_same(table):
    # every query has its two grades five times in either half
    qid, y = np.arange(200) % 10, (np.arange(200) // 10) % 2
    X = np.random.default_rng(0).normal(size=(200, 4))
    half = np.arange(200) < 100
    make = TABLES[table]
    ranker = sg.QueryRanker(Ridge()).fit(make(X[half]), y[half], qid=qid[half])
    scorer = sg.make_ranking_scorer("ap")
    for score in (scorer, sg.QueryRanker.score):
        with pytest.warns(sg.TornQueryWarning, match="10 of the 10"):
            score(ranker, make(X[~half]), y[~half], qid=qid[~half])
        mixed = np.random.default_rng(1).permutation(100)  # the very rows, in another order
        score(ranker, make(X[half][mixed]), y[half][mixed], qid=qid[half][mixed])
