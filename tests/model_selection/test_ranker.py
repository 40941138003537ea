"""QueryRanker: fit, predict, score, and its behavior as an estimator of scikit-learn."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from lightgbm import LGBMRanker
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.feature_selection import RFE, SequentialFeatureSelector
from sklearn.linear_model import ElasticNetCV, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.svm import SVR
from table_kinds import FRAMES, TABLES, select, toy_data

import skgraded as sg

FEATURES = [0, 2, 3]
X, y, qid = toy_data()
LAMBDARANK = LGBMRanker(
    n_estimators=8,
    min_child_samples=3,
    verbose=-1,
    n_jobs=1,
    random_state=0,
    deterministic=True,
    force_col_wise=True,
)


# Fit and predict ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "estimator", "column"),
    [
        *((kind, LAMBDARANK, 1) for kind in TABLES),
        *((kind, Ridge(), -3) for kind in TABLES),
        *((kind, Ridge(), "query_id") for kind in FRAMES),
    ],
    ids=lambda value: None if isinstance(value, (str, int)) else type(value).__name__,
)
def test_the_query_column_is_removed_and_optional_in_predict(kind, estimator, column):
    make = TABLES[kind]
    ranker = sg.QueryRanker(estimator, qid=column).fit(make(X), y)
    assert ranker.n_features_in_ == 3
    with_it = ranker.predict(make(X))
    without = make(X[:, FEATURES])
    if kind in FRAMES:
        without = select(make(X), ["age", "links", "words"])
        moved = select(
            make(X), ["age", "links", "words", "query_id"]
        )  # the column is found by its name
        np.testing.assert_array_equal(ranker.predict(moved), with_it)
        assert ranker.feature_names_in_.tolist() == ["age", "links", "words"]
        assert ranker.score(moved, y) == ranker.score(make(X), y)
    np.testing.assert_allclose(ranker.predict(without), with_it, rtol=1e-10)
    same = sg.QueryRanker(estimator).fit(without, y, qid=qid)
    np.testing.assert_allclose(same.predict(without), with_it, rtol=1e-10)
    assert ranker.score(make(X), y) == pytest.approx(same.score(without, y, qid=qid))


@pytest.mark.parametrize(
    "kind, drop",
    [
        *((kind, [3, -4]) for kind in TABLES),
        *((kind, ["words", "age"]) for kind in FRAMES),
        ("pandas", "words"),
        ("numpy", (-1,)),
    ],
)
def test_dropped_columns_are_removed_and_optional_in_predict(kind, drop):
    make, kept = TABLES[kind], [0, 2] if np.size(drop) == 1 else [2]
    ranker = sg.QueryRanker(Ridge(), qid=1, drop=drop).fit(make(X), y)
    expected = Ridge().fit(X[:, kept], y).predict(X[:, kept])
    without = (
        select(make(X), ["age", "links"][-len(kept) :]) if kind in FRAMES else make(X[:, kept])
    )
    for table in (make(X), without):
        np.testing.assert_allclose(ranker.predict(table), expected, rtol=1e-10)
    assert ranker.score(make(X), y) == sg.NDCNG(k=10)(y, ranker.predict(without), qid=qid)
    if kind in FRAMES and len(kept) == 1:  # some of the columns
        table = select(make(X), ["links", "words"])
        np.testing.assert_allclose(ranker.predict(table), expected, rtol=1e-10)


def test_a_series_of_queries_is_looked_up_by_index():
    frame = pd.DataFrame(X[:, FEATURES], index=np.arange(len(X))[::-1], columns=list("abc"))
    series = pd.Series(qid, index=frame.index).sort_index()
    ranker = sg.QueryRanker(LAMBDARANK, qid=series).fit(frame, y)
    expected = sg.QueryRanker(LAMBDARANK).fit(X[:, FEATURES], y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(frame), expected.predict(X[:, FEATURES]))
    assert ranker.score(frame, y) == sg.NDCNG(k=10)(y, ranker.predict(frame), qid=qid)


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(),
        RandomForestRegressor(n_estimators=3, random_state=0),
        KNeighborsRegressor(),
        HistGradientBoostingRegressor(max_iter=3),
        make_pipeline(StandardScaler(), SVR()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_regressor_is_fitted_on_the_rows_in_their_order(estimator):
    ranker = sg.QueryRanker(estimator).fit(X, y / 8, qid=qid)  # fractional grades
    expected = clone(estimator).fit(X, y / 8).predict(X)
    np.testing.assert_array_equal(ranker.predict(X), expected)


def test_group_sizes_take_the_place_of_qid():
    order = np.argsort(qid, kind="stable")
    rows, grades, group = X[order], y[order], [10] * 24
    ranker = sg.QueryRanker(LAMBDARANK).fit(rows, grades, group=group)
    expected = sg.QueryRanker(LAMBDARANK).fit(rows, grades, qid=qid[order])
    np.testing.assert_array_equal(ranker.predict(rows), expected.predict(rows))
    assert ranker.score(rows, grades, group=group) == ranker.score(rows, grades, qid=qid[order])


ALIASES = ("objective_type", "app", "application", "loss")


@pytest.mark.parametrize(
    ("params", "needs_integers"),
    [
        ({"objective": name}, True)
        for name in (
            "lambdarank",
            "rank_xendcg",
            "xendcg",
            "xe_ndcg",
            "xe_ndcg_mart",
            "xendcg_mart",
        )
    ]
    + [({alias: "xendcg"}, True) for alias in ALIASES]
    + [({alias: "l2"}, False) for alias in ALIASES]
    + [({"objective": "regression"}, False), ({"objective": "xendcg", "loss": "l2"}, False)]
    + [({"objective": "l2", "app": "xendcg"}, True)],
)
def test_fractional_grades_depend_on_the_objective_under_any_alias(params, needs_integers):
    grades = np.where(np.arange(240) == 7, 2.5, y)
    ranker = sg.QueryRanker(LGBMRanker(n_estimators=1, verbose=-1, **params))
    if needs_integers:
        with pytest.raises(ValueError, match="integers ≤ 30 for LGBMRanker; got 2.5 in row 7"):
            ranker.fit(X, grades, qid=qid)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LightGBM warns about two names of one parameter
            model = ranker.fit(X, grades, qid=qid).estimator_.booster_
        assert "objective=regression" in model.model_to_string()


# Score -------------------------------------------------------------------------------------------


def test_the_score_method_computes_the_measure():
    weights = qid % 3 + 1
    ranker = sg.QueryRanker(Ridge()).fit(X, y, qid=qid)
    scores = ranker.predict(X)
    assert ranker.score(X, y, qid=qid) == sg.NDCNG(k=10)(y, scores, qid=qid)
    ranker.set_params(measure="mu_map")
    expected = sg.MuAP()(y, scores, qid=qid, sample_weight=weights)
    assert ranker.score(X, y, qid=qid, sample_weight=weights) == expected
    ranker.set_params(measure=["rr", sg.AP()])
    assert ranker.score(X, y, qid=qid) == {
        "RR": sg.RR()(y, scores, qid=qid),
        "AP": sg.AP()(y, scores, qid=qid),
    }


# Feature importances -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (Ridge(), "coef_"),
        (clone(LAMBDARANK).set_params(importance_type="gain"), "feature_importances_"),
    ],
)
def test_feature_selectors_receive_one_importance_per_column_or_an_error(estimator, name):
    noise = np.random.default_rng(0).normal(size=(len(y), 2))
    table = np.column_stack([qid, y, noise])  # column 1 is best
    with sklearn.config_context(enable_metadata_routing=True):
        selector = RFE(sg.QueryRanker(estimator), n_features_to_select=1).fit(
            table[:, 1:], y, qid=qid
        )
    assert selector.support_.tolist() == [True, False, False]
    frame, kept = pd.DataFrame(table), {"qid": pd.Series(qid)}
    assert getattr(sg.QueryRanker(estimator, **kept).fit(frame, y), name).shape == (4,)
    for removed in ({"qid": 0}, {"drop": [0]}):
        ranker = sg.QueryRanker(estimator, **kept | removed).fit(frame, y)
        message = rf"Use estimator_\.{name} or, for feature selectors, pass the queries"
        with pytest.raises(AttributeError, match=message):
            getattr(ranker, name)
        assert getattr(ranker.estimator_, name).shape == (3,)
    with pytest.raises(ValueError, match="should have `coef_` or `feature_importances_`"):
        RFE(sg.QueryRanker(estimator, qid=0), n_features_to_select=1).fit(table, y)


# As an estimator ---------------------------------------------------------------------------------


def test_fitting_again_replaces_the_first_fit():
    ranker = sg.QueryRanker(LAMBDARANK).fit(TABLES["pandas"](X), y, qid=qid)
    ranker.fit(X[:, :3], y, qid=qid)
    assert not hasattr(ranker, "feature_names_in_")
    assert ranker.n_features_in_ == 3
    ranker.set_params(qid=1).fit(X, y)
    assert ranker.predict(X).shape == (240,)


def test_the_ranker_requests_qid_unless_the_constructor_specifies_it():
    with sklearn.config_context(enable_metadata_routing=True):
        wanted = sg.QueryRanker(Ridge()).get_metadata_routing()
        validation = dict.fromkeys(("X_val", "y_val", "sample_weight_val"), True)
        of_queries = {"qid": True, "qid_val": True, "group": False}
        assert wanted.fit.requests == {"sample_weight": None} | of_queries | validation
        assert wanted.score.requests == {"qid": True, "group": False, "sample_weight": None}
        for qid in ("query_id", 0):
            wanted = sg.QueryRanker(Ridge(), qid=qid).get_metadata_routing()
            of_queries = dict.fromkeys(("qid", "qid_val", "group"), False)
            assert wanted.fit.requests == {"sample_weight": None} | of_queries | validation
            assert wanted.score.requests == {"qid": False, "group": False, "sample_weight": None}
        ranker = sg.QueryRanker(Ridge()).set_fit_request(qid="groups", sample_weight=True)
        assert (
            clone(ranker).get_metadata_routing().fit.requests
            == {"qid": "groups", "qid_val": True, "group": False, "sample_weight": True}
            | validation
        )


# Estimators that split rows ----------------------------------------------------------------------

CHOOSES = [
    GridSearchCV(Ridge(), {}),
    RidgeCV(),
    make_pipeline(StackingRegressor([("ridge", Ridge())])),
    make_pipeline(SequentialFeatureSelector(Ridge()), Ridge()),
    BaggingRegressor(ElasticNetCV()),
    MLPRegressor(early_stopping=True),
    GradientBoostingRegressor(n_iter_no_change=5),
]
TRAINS_ON_SAMPLES = [
    RandomForestRegressor(2),
    BaggingRegressor(Ridge()),
    GradientBoostingRegressor(n_estimators=2, subsample=0.5),
    make_pipeline(TargetEncoder(), Ridge()),
]


@pytest.mark.parametrize("estimator", CHOOSES)
def test_estimators_that_choose_something_on_random_rows_are_refused(estimator):
    message = "which (cross-validates on|holds out) rows, which splits queries: (wrap the|disable)"
    with pytest.raises(TypeError, match=message):
        sg.QueryRanker(estimator).fit([[0], [1], [2]], [0, 1, 2], qid=[1, 1, 2])


@pytest.mark.parametrize("estimator", TRAINS_ON_SAMPLES)
def test_estimators_that_only_train_on_samples_of_rows_are_fitted(estimator):
    X = np.arange(20.0)[:, np.newaxis] % 5
    y, qid = X[:, 0] + 0.5, np.arange(20) // 4
    model = sg.QueryRanker(estimator).fit(X, y, qid=qid)
    assert model.predict(X).shape == y.shape
