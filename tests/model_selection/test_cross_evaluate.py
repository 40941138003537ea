"""cross_evaluate: folds, out-of-fold values, times, failures and weights."""

import re

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from lightgbm import LGBMRanker
from never_fitted import NeverFitted
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneGroupOut,
    PredefinedSplit,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from table_kinds import FRAMES, TABLES, toy_data

import skgraded as sg
from skgraded.model_selection import QueryKFold

ranking = sg.datasets.make_ranking(n_queries=40, n_documents=10, random_state=3)
order = np.random.default_rng(0).permutation(len(ranking[1]))
RANKING = X, y, qid = [array[order] for array in ranking]


@pytest.fixture(scope="module")
def of_ridge():
    """The cross-evaluation of Ridge over four folds."""
    return sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=4, return_estimator=True)


def assert_same_values(result, expected, atol=0):
    np.testing.assert_array_equal(result.fold, expected.fold)
    for name, values in expected.per_query.items():
        np.testing.assert_allclose(result.per_query[name], values, rtol=0, atol=atol)


@pytest.mark.parametrize("kind, qid", [*((kind, "query_id") for kind in FRAMES), ("csr", 1)])
def test_the_queries_are_a_column_that_the_ranker_does_not_receive(kind, qid):
    X, y, queries = toy_data()
    make = TABLES[kind]
    expected = sg.cross_evaluate(Ridge(), np.delete(X, 1, axis=1), y, qid=queries, cv=3)
    by_query = QueryKFold(3, qid=qid)
    searches = [(GridSearchCV(sg.QueryRanker(Ridge(), qid=qid), {}, cv=by_query), 3)]
    if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 7):
        searches = []  # scikit-learn 1.6 also passes qid to the ranker's scorer
    for ranker, cv in (
        (Ridge(), 3),
        (sg.QueryRanker(Ridge()), by_query),
        (sg.QueryRanker(Ridge(), qid=qid), 3),
        (make_pipeline(StandardScaler(with_mean=False), Ridge()), by_query),
        *searches,
    ):
        result = sg.cross_evaluate(ranker, make(X), y, qid=qid, cv=cv)
        assert_same_values(result, expected, atol=1e-12)


@pytest.mark.parametrize("cv", [5, GroupKFold(3), LeaveOneGroupOut()])
def test_out_of_fold_values_equal_a_loop(cv):
    X, y, qid = RANKING
    if isinstance(cv, LeaveOneGroupOut):
        few = qid < 4
        X, y, qid = X[few], y[few], qid[few]
    ranker = sg.QueryRanker(LGBMRanker(n_estimators=5, verbose=-1, n_jobs=1))
    result = sg.cross_evaluate(ranker, X, y, qid=qid, measures=["ap", "rr"], cv=cv)
    values, folds = np.full(40, np.nan), np.full(40, -1)
    for fold, (train, test) in enumerate((GroupKFold(5) if cv == 5 else cv).split(X, y, qid)):
        train = train[np.argsort(qid[train], kind="stable")]
        model = LGBMRanker(n_estimators=5, verbose=-1, n_jobs=1)
        model.fit(X[train], y[train], group=np.unique(qid[train], return_counts=True)[1])
        scores = model.predict(X[test])
        for query in np.unique(qid[test]):
            of_query = qid[test] == query
            values[query] = sg.AP()(y[test][of_query], scores[of_query])
            folds[query] = fold
    np.testing.assert_allclose(result.per_query["AP"], values[result.query_ids], atol=1e-9)
    np.testing.assert_array_equal(result.fold, folds[result.query_ids])
    assert result.query_ids.tolist() == list(dict.fromkeys(qid.tolist()))
    assert not hasattr(ranker, "estimator_")


def test_queries_are_looked_up_in_a_series_or_given_by_group_sizes(of_ridge):
    X, y, qid = RANKING
    ranker = sg.QueryRanker(Ridge(), qid=pd.Series(qid))
    assert_same_values(sg.cross_evaluate(ranker, pd.DataFrame(X), y, cv=4), of_ridge, atol=1e-9)
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    by_size = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, group=np.bincount(qid), cv=4)
    by_id = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, qid=qid, cv=4)
    assert_same_values(by_size, by_id)


def test_splits_are_a_list_or_a_splitter_that_ignores_groups(of_ridge):
    splits = list(GroupKFold(4).split(X, y, qid))
    assert_same_values(sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=splits), of_ridge)
    five = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=None)
    assert_same_values(five, sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=5))
    cv = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=PredefinedSplit(qid % 3))
    np.testing.assert_array_equal(cv.fold, cv.query_ids % 3)


# Repeated tests ----------------------------------------------------------------------------------


def repeated_folds(qid, n_repeats=3):
    return [
        split
        for seed in range(n_repeats)
        for split in GroupKFold(4, shuffle=True, random_state=seed).split(qid, qid, qid)
    ]


@pytest.mark.parametrize("weighted", [False, True])
def test_repeated_cross_validation_is_pooled_by_query(weighted):
    folds = repeated_folds(qid)
    measures = ["ndcng@5", "AP(undefined=nan)"]
    settings = {"qid": qid, "measures": measures}
    if weighted:
        settings["sample_weight"] = 1.0 + qid % 3
    cv = sg.cross_evaluate(Ridge(), X, y, cv=folds, **settings)
    rounds = [sg.cross_evaluate(Ridge(), X, y, cv=folds[i : i + 4], **settings) for i in (0, 4, 8)]
    for name in cv.per_query:
        values = np.array([part.per_query[name] for part in rounds])
        np.testing.assert_allclose(cv.per_query[name], values.mean(axis=0))
        np.testing.assert_array_equal(cv.undefined[name], rounds[0].undefined[name])
    np.testing.assert_array_equal(cv.query_ids, rounds[0].query_ids)
    np.testing.assert_array_equal(cv.fold, rounds[0].fold)
    by_fold = cv.by_fold()
    assert by_fold["fold"].tolist() == list(range(12)) and by_fold["n_queries"].sum() == 3 * 40
    means = np.concatenate([part.by_fold()["NDCNG@5"] for part in rounds])
    np.testing.assert_allclose(by_fold["NDCNG@5"], means)


def test_taken_queries_keep_their_folds_and_tests():
    settings = {"qid": qid, "measures": "ap"}
    cv = sg.cross_evaluate(Ridge(), X, y, cv=repeated_folds(qid, 2), **settings)
    taken = cv.take(np.array([7, 3, 12]))
    np.testing.assert_array_equal(taken.fold, cv.fold[[7, 3, 12]])
    for position, query in enumerate((7, 3, 12)):
        assert (
            taken.tests.values["AP"][taken.tests.query == position].tolist()
            == cv.tests.values["AP"][cv.tests.query == query].tolist()
        )
    n_tests = [np.count_nonzero(taken.tests.fold == fold) for fold in range(8)]
    assert taken.by_fold()["n_queries"].tolist() == n_tests and sum(n_tests) == 6
    other = sg.cross_evaluate(Ridge(), X, y, cv=PredefinedSplit(qid % 3), **settings)
    half = np.arange(20)
    with pytest.warns(UserWarning, match="'b' was cross-evaluated on different folds than 'a'"):
        sg.compare({"a": cv.take(half), "b": other.take(half)}, rng=0)


# Fold means, times, estimators, progress ---------------------------------------------------------


def test_times_and_estimators_of_each_fold_are_kept(of_ridge):
    assert of_ridge.fit_time.shape == of_ridge.score_time.shape == (4,)
    assert (of_ridge.fit_time > 0).all() and (of_ridge.score_time > 0).all()
    assert of_ridge.errors == [None] * 4 and len(of_ridge.estimators) == 4
    values = dict(zip(of_ridge.query_ids, of_ridge.per_query["MuAP"], strict=True))
    for fold, (_, test) in enumerate(GroupKFold(4).split(X, y, qid)):
        scores = of_ridge.estimators[fold].predict(X[test])
        expected = sg.evaluate(y[test], scores, qid=qid[test], measures="mu_map")
        assert [values[query] for query in expected.query_ids] == pytest.approx(
            expected.per_query["MuAP"], abs=1e-12
        )


class Configured(Ridge):
    """Fails if the configuration of the caller does not apply in fit."""

    def fit(self, X, y):
        assert sklearn.get_config()["assume_finite"]
        return super().fit(X, y)


def test_workers_give_the_same_values_and_inherit_the_configuration(of_ridge):
    # Threads start faster than processes, and scikit-learn has one configuration per thread.
    with sklearn.config_context(assume_finite=True), joblib.parallel_config("threading"):
        cv = sg.cross_evaluate(Configured(), X, y, qid=qid, cv=4, n_jobs=2, progress=True)
    assert_same_values(cv, of_ridge)


# Weights -----------------------------------------------------------------------------------------


class RecordsWeights(Ridge):
    def fit(self, X, y, sample_weight=None):
        self.weights_ = sample_weight
        return super().fit(X, y)


def weighted_rankers():
    """Yield a ranker, and whether its fit receives weights."""
    with sklearn.config_context(enable_metadata_routing=True):
        requesting = RecordsWeights().set_fit_request(sample_weight=True)
        refusing = RecordsWeights().set_fit_request(sample_weight=False)
    yield from [(RecordsWeights(), True), (requesting, True), (refusing, False)]
    yield from [(make_pipeline(RecordsWeights()), False), (make_pipeline(requesting), True)]


@pytest.mark.parametrize("routing", [False, True])
def test_weights_reach_the_fit_and_the_means(of_ridge, routing):
    weight = np.where(qid % 2, 1.0, 3.0)
    settings = {"qid": qid, "cv": 4, "return_estimator": True, "sample_weight": weight}
    for ranker, is_weighted in weighted_rankers():
        with sklearn.config_context(enable_metadata_routing=routing):
            cv = sg.cross_evaluate(ranker, X, y, **settings)
        np.testing.assert_array_equal(cv.weights, np.where(cv.query_ids % 2, 1.0, 3.0))
        assert_same_values(cv, of_ridge)
        mean = np.average(cv.per_query["MuAP"], weights=cv.weights)
        assert cv.mean()["MuAP"] == pytest.approx(mean)
        for fitted, (train, _) in zip(cv.estimators, GroupKFold(4).split(X, y, qid), strict=True):
            last = getattr(fitted, "steps", [("", fitted)])[-1][1]
            np.testing.assert_array_equal(last.weights_, weight[train] if is_weighted else None)


def test_a_ranker_without_weights_inside_a_query_ranker_is_fitted_without_weights():
    settings, ranker = {"qid": qid, "cv": 4}, sg.QueryRanker(KNeighborsRegressor())
    weighted = sg.cross_evaluate(ranker, X, y, sample_weight=1.0 + qid, **settings)
    assert_same_values(weighted, sg.cross_evaluate(ranker, X, y, **settings))


# Failing folds -----------------------------------------------------------------------------------


class FailsWhere(Ridge):
    """Fails in fit, in predict or by predicting nan in the fold that tests `row`."""

    def __init__(self, row=None, how="fit"):
        super().__init__()
        self.row = row
        self.how = how

    def _is_in(self, X):
        return (X == self.row).all(axis=1).any()

    def fit(self, X, y):
        if self.how == "fit" and not self._is_in(X):
            raise RuntimeError("no fit")
        return super().fit(X, y)

    def predict(self, X):
        if self.how == "predict" and self._is_in(X):
            raise RuntimeError("no prediction")
        scores = super().predict(X)
        return scores * np.nan if self.how == "nan" and self._is_in(X) else scores


ERRORS = {
    "fit": "RuntimeError: no fit",
    "predict": "RuntimeError: no prediction",
    "nan": r"ValueError: Predictions must not contain NaN; got nan for row \d+ of X",
}


def failing_in_fold_1(X, y, qid, how):
    _, test = list(GroupKFold(4).split(X, y, qid))[1]
    return FailsWhere(X[test[0]].copy(), how)


@pytest.mark.parametrize(
    ("how", "error_score"), [("fit", np.nan), ("fit", 0), ("predict", -1.5), ("nan", np.nan)]
)
def test_the_queries_of_a_failing_fold_have_the_error_score(of_ridge, how, error_score):
    ranker = failing_in_fold_1(X, y, qid, how)
    n, error = np.count_nonzero(of_ridge.fold == 1), ERRORS[how]
    message = rf"1 of 4 .* {n} queries have the value {error_score}. Error in fold 1: {error}"
    with pytest.warns(FitFailedWarning, match=message):
        cv = sg.cross_evaluate(
            ranker, X, y, qid=qid, cv=4, error_score=error_score, return_estimator=True
        )
    for name, values in of_ridge.per_query.items():
        expected = np.where(cv.fold == 1, error_score, values)
        np.testing.assert_array_equal(cv.per_query[name], expected)
    assert cv.n_undefined == of_ridge.n_undefined
    frame = cv.by_fold()
    assert frame["error"][[0, 2, 3]].tolist() == [""] * 3
    assert re.match(error, frame["error"][1])
    np.testing.assert_equal(frame["MuAP"][1], float(error_score))
    assert np.isnan(frame["score_time"]).tolist() == [False, True, False, False]
    assert np.isnan(frame["fit_time"]).tolist() == [False, how == "fit", False, False]


def test_an_error_is_raised_by_default_and_if_all_folds_fail():
    ranker = failing_in_fold_1(X, y, qid, "predict")
    with pytest.raises(RuntimeError, match="no prediction"):
        sg.cross_evaluate(ranker, X, y, qid=qid, cv=4)
    with pytest.raises(ValueError, match="Error in fold 0: AssertionError: bad input"):
        sg.cross_evaluate(NeverFitted(), X, y, qid=qid, error_score=0)
