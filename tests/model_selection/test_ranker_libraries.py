"""QueryRanker fits the same models as each library with its form of queries and weights."""

import pickle
from functools import cache

import numpy as np
import pytest
from catboost import CatBoost, CatBoostRanker, CatBoostRegressor
from lightgbm import LGBMRanker, LGBMRegressor
from sklearn.base import BaseEstimator, clone
from table_kinds import FRAMES, TABLES, toy_data
from xgboost import XGBRanker, XGBRegressor

import skgraded as sg

LIGHTGBM = {
    "n_estimators": 8,
    "min_child_samples": 3,
    "verbose": -1,
    "n_jobs": 1,
    "deterministic": True,
    "force_col_wise": True,
    "random_state": 0,
}
XGBOOST = {"n_estimators": 8, "n_jobs": 1, "random_state": 0}
CATBOOST = {
    "iterations": 8,
    "depth": 3,
    "thread_count": 1,
    "random_seed": 0,
    "verbose": False,
    "allow_writing_files": False,
}

RANKERS = {
    "LightGBM": LGBMRanker(**LIGHTGBM),
    "XGBoost": XGBRanker(**XGBOOST),
    "XGBoost pairwise": XGBRanker(objective="rank:pairwise", **XGBOOST),
    "CatBoost": CatBoostRanker(**CATBOOST),
    "CatBoost QueryRMSE": CatBoostRanker(loss_function="QueryRMSE", **CATBOOST),
    "CatBoost PairLogit": CatBoostRanker(loss_function="PairLogit", **CATBOOST),
    "CatBoost base class": CatBoost({"loss_function": "YetiRank"} | CATBOOST),
}
REGRESSORS = {
    "LightGBM": LGBMRegressor(**LIGHTGBM),
    "XGBoost": XGBRegressor(**XGBOOST),
    "CatBoost": CatBoostRegressor(**CATBOOST),
}
ONE_EACH = {name: RANKERS[name] for name in ("LightGBM", "XGBoost", "CatBoost")}
ESTIMATORS = ONE_EACH | {
    "XGBRegressor": REGRESSORS["XGBoost"],
    "CatBoostRegressor": REGRESSORS["CatBoost"],
}
TOY = toy_data()
X, y, qid = TOY[0][:, [0, 2, 3]].copy(), *TOY[1:]


def tolerance(name):
    return 0 if name.startswith("LightGBM") else 1e-6


def params_of(table):
    return pytest.mark.parametrize("name", table)


def fresh(estimator):
    """Copy an estimator; `clone` fails for some estimators of CatBoost."""
    if type(estimator) is CatBoost:
        return CatBoost(estimator.get_params())
    return type(estimator)(**estimator.get_params())


def fitted_by_library(estimator, X, y, qid, sample_weight=None):
    """Fit a library's ranker to rows sorted by query, with its form of queries and weights."""
    queries = list(dict.fromkeys(qid.tolist()))
    rows = [np.flatnonzero(qid == query) for query in queries]
    order, sizes = np.concatenate(rows), [len(part) for part in rows]
    model, arguments = fresh(estimator), {}
    if sample_weight is not None:
        weights = np.array([sample_weight[part].mean() for part in rows])
    if isinstance(model, LGBMRanker):
        arguments["group"] = sizes
        if sample_weight is not None:
            arguments["sample_weight"] = sample_weight[order]
    elif isinstance(model, XGBRanker):
        arguments["qid"] = np.repeat(np.arange(len(sizes)), sizes)
        if sample_weight is not None:
            arguments["sample_weight"] = weights
    else:
        arguments["group_id"] = [f"query {i}" for i in np.repeat(np.arange(len(sizes)), sizes)]
        if sample_weight is not None:
            arguments["group_weight"] = np.repeat(weights, sizes)
    return model.fit(X[order], y[order], **arguments)


# Groups and weights ------------------------------------------------------------------------------


@params_of(RANKERS)
def test_rows_in_any_order_give_the_model_of_sorted_rows_with_query_weights(name):
    some = np.random.default_rng(0).random(240) < 0.7  # queries differ in size
    rows, grades, queries = X[some], y[some], qid[some]
    before = str(RANKERS[name].get_params())
    unweighted = fitted_by_library(RANKERS[name], rows, grades, queries).predict(rows)
    ranker = sg.QueryRanker(RANKERS[name]).fit(rows, grades, qid=queries)
    np.testing.assert_allclose(ranker.predict(rows), unweighted, rtol=0, atol=tolerance(name))
    assert np.ptp(unweighted) > 0.01

    weights = np.random.default_rng(1).uniform(0.1, 3, 25)[queries]
    if name != "LightGBM":  # the other libraries have no weights within a query
        weights = weights * np.random.default_rng(2).uniform(0.5, 1.5, len(grades))
    expected = fitted_by_library(RANKERS[name], rows, grades, queries, weights).predict(rows)
    ranker = sg.QueryRanker(RANKERS[name]).fit(rows, grades, qid=queries, sample_weight=weights)
    np.testing.assert_allclose(ranker.predict(rows), expected, rtol=0, atol=tolerance(name))
    assert np.abs(expected - unweighted).max() > 1e-3
    assert str(RANKERS[name].get_params()) == before
    with pytest.raises(Exception, match=r"(?i)fit"):  # the estimator itself is not fitted
        RANKERS[name].predict(rows)


@params_of(REGRESSORS)
def test_regressors_are_fitted_on_unchanged_rows_and_weights(name):
    weights = np.random.default_rng(1).uniform(0.1, 3, len(y))
    ranker = sg.QueryRanker(REGRESSORS[name])
    ranker.fit(X, y / 8, qid=qid, sample_weight=weights.tolist())
    expected = fresh(REGRESSORS[name]).fit(X, y / 8, sample_weight=weights).predict(X)
    np.testing.assert_array_equal(ranker.predict(X), expected)


# Tables ------------------------------------------------------------------------------------------


@cache
def predictions(name, is_sparse):
    """Predictions of an estimator for the toy rows in an array or a sparse matrix."""
    if name not in ("XGBoost", "XGBRegressor") or not is_sparse:
        return sg.QueryRanker(ESTIMATORS[name]).fit(X, y, qid=qid).predict(X)
    # XGBoost treats values that a sparse matrix does not store as missing, not as 0.
    rows = TABLES["csr"](X)
    if name == "XGBoost":
        return fitted_by_library(ESTIMATORS[name], rows, y, qid).predict(rows)
    return fresh(ESTIMATORS[name]).fit(rows, y).predict(rows)


@pytest.mark.parametrize("kind", TABLES)
@params_of(ESTIMATORS)
def test_the_query_column_is_read_from_tables_of_any_kind(name, kind):
    table = TABLES[kind](TOY[0])
    ranker = sg.QueryRanker(ESTIMATORS[name], qid="query_id" if kind in FRAMES else 1)
    ranker.fit(table, y)
    expected = predictions(name, kind in ("csr", "csc", "coo", "csr array"))
    np.testing.assert_allclose(ranker.predict(table), expected, rtol=0, atol=tolerance(name))
    assert ranker.score(table, y) == pytest.approx(sg.NDCNG(k=10)(y, expected, qid=qid))


@pytest.mark.parametrize(
    "estimator",
    [
        XGBRanker(ndcg_exp_gain=False, **XGBOOST),
        RANKERS["XGBoost pairwise"],
        RANKERS["CatBoost"],
    ],
    ids=["XGBoost linear", "XGBoost pairwise", "CatBoost"],
)
def test_other_objectives_accept_fractional_grades(estimator):
    ranker = sg.QueryRanker(estimator).fit(X, y / 8, qid=qid)
    expected = fitted_by_library(estimator, X, y / 8, qid).predict(X)
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=0, atol=1e-6)


# Rankers of other libraries ----------------------------------------------------------------------


class QueryMeans(BaseEstimator):
    """Weights features by their covariance with the grade within queries."""

    def _fit(self, X, y, starts):
        parts = [slice(*pair) for pair in zip(starts[:-1], starts[1:], strict=True)]
        inside = [X[part] - X[part].mean(axis=0) for part in parts]
        self.coef_ = sum(x.T @ y[part] for x, part in zip(inside, parts, strict=True))
        return self

    def predict(self, X):
        return X @ self.coef_


class ByGroup(QueryMeans):
    def fit(self, X, y, group):
        return self._fit(X, y, np.concatenate(([0], np.cumsum(group))))


class ByQid(QueryMeans):
    def fit(self, X, y, *, qid):
        qid = np.asarray(qid)
        assert (np.diff(qid) >= 0).all()
        return self._fit(X, y, np.flatnonzero(np.diff(qid, prepend=-1, append=-1)))


class ByGroupId(QueryMeans):
    def fit(self, X, y, group_id=None, sample_weight=None):
        assert len(group_id) == len(X)
        return self._fit(X, y, np.flatnonzero(np.diff(group_id, prepend=-1, append=-1)))


class InModuleMetric(ByGroup):  # skgraded/boosting/ has a file with this name
    __module__ = "metric"


@pytest.mark.parametrize("estimator", [ByGroup(), ByQid(), ByGroupId(), InModuleMetric()])
def test_a_ranker_of_an_unknown_library_receives_queries_by_argument_name(estimator):
    rows = X + qid[:, None]  # differences between queries must not count
    ranker = sg.QueryRanker(estimator).fit(rows, y, qid=qid)
    inside = rows - np.array([rows[qid == query].mean(axis=0) for query in range(1, 25)])[qid - 1]
    np.testing.assert_allclose(ranker.predict(rows), rows @ (inside.T @ y), rtol=1e-9)


# As estimators -----------------------------------------------------------------------------------

WITH_LISTS = CatBoostRanker(cat_features=["kind"], custom_metric=["NDCG"], **CATBOOST)


@pytest.mark.parametrize("estimator", [WITH_LISTS, RANKERS["CatBoost base class"]])
def test_catboost_estimators_that_clone_rejects_can_be_wrapped(estimator):
    with pytest.raises((RuntimeError, TypeError)):
        clone(estimator)
    ranker = sg.QueryRanker(estimator, measure="mu_map").set_params(estimator__depth=2)
    for same in (clone(ranker), pickle.loads(pickle.dumps(ranker))):  # pickles are sent to workers
        assert same.estimator is not ranker.estimator
        assert same.estimator.get_params() == ranker.estimator.get_params()
        assert (same.measure, same.estimator.get_params()["depth"]) == ("mu_map", 2)
