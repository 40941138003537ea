"""RacingSearchCV: candidates that per-query values rule out are dropped, fold by fold."""

import joblib
import numpy as np
import pandas as pd
import pytest
from never_fitted import NeverFitted
from scipy.stats import loguniform
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skgraded as sg
from skgraded.model_selection import RacingSearchCV

RIDGE = sg.QueryRanker(Ridge())
ALPHAS = {"estimator__alpha": [1, 1e3, 1e6]}
# Constant predictions rank at random, so that these candidates are clearly worse.
CONSTANT = {"estimator__fit_intercept": [True], "estimator__alpha": [1, 1e30]}


@pytest.fixture(scope="module")
def data():
    return sg.datasets.make_ranking(n_queries=120, random_state=0)


@pytest.fixture(scope="module")
def search(data):
    X, y, qid = data
    return race(CONSTANT).fit(X, y, qid=qid)


def race(parameters=ALPHAS, ranker=RIDGE, **settings):
    return RacingSearchCV(ranker, parameters, **{"cv": 6, "random_state": 0, **settings})


def test_a_clearly_worse_candidate_is_dropped_and_not_fitted_again(search):
    table = search.cv_results_
    assert search.survivors_.tolist() == [0]
    assert search.best_params_ == {"estimator__fit_intercept": True, "estimator__alpha": 1}
    n_folds = table["n_folds"][1]
    assert table["n_folds"].tolist() == [6, n_folds]
    assert search.n_fits_ == 6 + n_folds < 12
    assert table["dropped_after"].tolist() == [-1, n_folds - 1]
    scores = [table[f"split{fold}_test_score"][1] for fold in range(6)]
    assert np.isnan(scores).tolist() == [fold >= n_folds for fold in range(6)]
    assert table["rank_test_score"].tolist() == [1, 2]


def test_without_a_level_the_results_are_those_of_grid_search(data):
    X, y, qid = data
    folds = list(GroupKFold(6).split(X, y, qid))
    every = race(level=None, cv=folds).fit(X, y, qid=qid)
    grid = GridSearchCV(
        sg.QueryRanker(Ridge(), qid=0),
        ALPHAS,
        cv=folds,
        scoring=sg.make_ranking_scorer("ndcng@10", qid=0),
    ).fit(np.column_stack([qid, X]), y)
    assert every.n_fits_ == 18
    assert set(grid.cv_results_) - {"params"} <= set(every.cv_results_)
    assert every.cv_results_["params"] == grid.cv_results_["params"]
    for name in ("mean_test_score", "std_test_score", "rank_test_score"):  # folds of equal size
        np.testing.assert_allclose(every.cv_results_[name], grid.cv_results_[name])
    values = sg.cross_evaluate(every.best_estimator_, X, y, qid=qid, measures="ndcng@10", cv=folds)
    assert every.best_score_ == pytest.approx(values.mean()["NDCNG@10"], rel=1e-12)


def test_equal_seeds_give_equal_searches_for_every_number_of_jobs(data):
    X, y, qid = data
    settings = {"n_iter": 3, "cv": 3, "random_state": 3}
    with joblib.parallel_config("threading"):
        first, second = (
            race({"estimator__alpha": loguniform(1, 1e8)}, n_jobs=n_jobs, **settings).fit(
                X, y, qid=qid
            )
            for n_jobs in (1, 2)
        )
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame())


def test_the_comparison_contains_the_survivors_named_after_their_indices(data):
    X, y, qid = data
    fitted = race().fit(X, y, qid=qid)
    best, *others = map(str, fitted.survivors_)
    frame = fitted.comparison_.to_frame()
    assert set(frame["baseline"]) == {best}
    assert frame["system"].tolist() == others
    assert (frame["difference"] <= 0).all()
    means = fitted.cv_results_["mean_test_score"]
    np.testing.assert_allclose(frame["mean"], means[fitted.survivors_[1:]])
    assert race(CONSTANT).fit(X, y, qid=qid).comparison_ is None  # one survivor


def largest_alpha(parameters):
    return -parameters["estimator__alpha"]


def test_ties_within_the_margin_are_decided_by_the_preference(data):
    X, y, qid = data
    alphas = {"estimator__alpha": [1, 1e3]}  # the means differ by .003
    by_mean = race(alphas, level=None).fit(X, y, qid=qid).best_index_
    for prefer, preferred in (("estimator__alpha", 0), (largest_alpha, 1)):
        fitted = race(alphas, margin=0.05, prefer=prefer).fit(X, y, qid=qid)
        assert fitted.survivors_.tolist() == [by_mean, 1 - by_mean]
        assert fitted.best_index_ == preferred
    # Random rankings are worse by more than the margin, and without a preference ties are dropped.
    assert race(CONSTANT, margin=0.01, prefer=largest_alpha).fit(X, y, qid=qid).best_index_ == 0
    assert race(alphas, margin=0.05).fit(X, y, qid=qid).survivors_.tolist() == [by_mean]


@pytest.mark.parametrize("prefer", ["estimator__alpha", lambda p: p["estimator__alpha"]])
def test_preferences_without_a_number_are_refused_before_any_fit(data, prefer):
    X, y, qid = data
    search = race({"estimator__alpha": [1, None]}, sg.QueryRanker(NeverFitted()), prefer=prefer)
    with pytest.raises(TypeError, match="prefer.* must give .* a number; got None for .*alpha"):
        search.fit(X, y, qid=qid)


def test_without_refit_there_is_no_estimator_to_score(data):
    X, y, qid = data
    fitted = race({"estimator__alpha": [1]}, refit=False, cv=2).fit(X, y, qid=qid)
    for call in (lambda: fitted.predict(X), lambda: fitted.score(X, y, qid=qid)):
        with pytest.raises(AttributeError, match="requires refit=True"):
            call()


def test_several_measures_are_reported_and_the_first_decides(data):
    X, y, qid = data
    fitted = race(CONSTANT, measure=["mu_map", "ndcng@10"]).fit(X, y, qid=qid)
    assert {"mean_test_MuAP", "mean_test_NDCNG@10"} <= set(fitted.cv_results_)
    assert fitted.best_score_ == fitted.cv_results_["mean_test_MuAP"][fitted.best_index_]
    value = sg.MuAP()(y, fitted.predict(X), qid=qid)
    assert fitted.score(X, y, qid=qid) == pytest.approx(value, rel=1e-12)


def test_queries_are_read_from_a_column_also_in_a_pipeline_and_in_cross_evaluation(data):
    X, y, qid = data
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])]).assign(session=qid)
    by_column = race(ranker=sg.QueryRanker(Ridge(), qid="session")).fit(frame, y)
    assert by_column.score(frame, y) == race().fit(X, y, qid=qid).score(X, y, qid=qid)
    inner = race(cv=3, ranker=sg.QueryRanker(Ridge(), qid="session"))
    outer = race(cv=3)
    assert (
        sg.cross_evaluate(inner, frame, y, cv=3).mean()
        == sg.cross_evaluate(outer, X, y, qid=qid, cv=3).mean()
    )
    pipeline = make_pipeline(StandardScaler(), RIDGE)
    fitted = race({"queryranker__estimator__alpha": [1, 2]}, pipeline).fit(X, y, qid=qid)
    assert fitted.predict(X).shape == y.shape


def test_without_a_level_unequal_weights_count_in_means(data):
    X, y, qid = data
    weights = 1.0 + qid % 3
    fitted = race(level=None).fit(X, y, qid=qid, sample_weight=weights)
    values = sg.cross_evaluate(
        fitted.best_estimator_, X, y, qid=qid, measures="ndcng@10", cv=6, sample_weight=weights
    )
    assert fitted.best_score_ == pytest.approx(values.mean()["NDCNG@10"], rel=1e-9)
    ridge = Ridge(**fitted.best_estimator_.estimator.get_params()).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(fitted.best_estimator_.coef_, ridge.coef_)
    frame = fitted.comparison_.to_frame()
    assert frame["p_value"].isna().all()
    means = fitted.cv_results_["mean_test_score"]
    np.testing.assert_allclose(frame["difference"], means[fitted.survivors_[1:]] - means.max())


@pytest.mark.parametrize(
    "weights",
    [
        pytest.param(lambda qid: 1.0 + (qid == 7), id="one query"),
        pytest.param(lambda qid: 1e-50 / (1 + qid), id="tiny"),
    ],
)
def test_unequal_weights_of_queries_are_refused_before_any_fit(data, weights):
    X, y, qid = data
    with pytest.raises(ValueError, match="weight all queries equally, .*level=None"):
        race(ranker=sg.QueryRanker(NeverFitted())).fit(X, y, qid=qid, sample_weight=weights(qid))


def test_all_queries_of_a_fold_may_have_weight_0(data):
    X, y, qid = data
    folds = list(GroupKFold(3).split(X, y, qid))
    weights = np.ones(len(y))
    weights[folds[1][1]] = 0
    fitted = race(level=None, cv=folds).fit(X, y, qid=qid, sample_weight=weights)
    table = pd.DataFrame(fitted.cv_results_)
    folds_with_weight = sorted(
        name for name in table if name.startswith("split") and table[name].notna().all()
    )
    assert len(folds_with_weight) == 2
    np.testing.assert_allclose(  # the folds have the same number of queries
        table["mean_test_score"], table[folds_with_weight].mean(axis=1)
    )
    assert race(cv=folds).fit(X, y, qid=qid, sample_weight=weights).comparison_.test == "t"


def test_a_failed_candidate_is_dropped_and_named(data):
    X, y, qid = data
    parameters = {"estimator__alpha": [1, 2, -1]}
    with pytest.warns(FitFailedWarning, match=r"1 of 3 candidates failed in fold 0.*alpha.*-1"):
        fitted = race(parameters, error_score=np.nan).fit(X, y, qid=qid)
    assert fitted.cv_results_["dropped_after"].tolist() == [-1, -1, 0]
    assert fitted.cv_results_["rank_test_score"][2] == 3
    with pytest.raises(ValueError, match="alpha"):
        race(parameters).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="All 1 candidates failed in fold 0"):
        race({"estimator__alpha": [-1]}, error_score=0.0).fit(X, y, qid=qid)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"parameters": {"estimator__alpha": []}}, "non-empty"),
        ({"parameters": []}, "contains no candidates"),
        ({"parameters": None}, "param_distributions must be a dict"),
        ({"parameters": {"estimator__alpha": loguniform(1, 2)}}, "pass n_iter"),
        ({"parameters": {"estimator__alhpa": [1]}}, "Invalid parameter 'alhpa'"),
        ({"margin": -0.1}, "margin must be a finite number ≥ 0"),
        ({"level": 1}, "level must be a finite number > 0 and < 1"),
        ({"n_iter": 0}, "n_iter must be"),
        ({"prefer": "estimator__alhpa"}, "must give each candidate a number; got None"),
        ({"prefer": "estimator__alpha", "level": None}, "requires a level"),
        ({"cv": 1}, "n_splits=1"),
        ({"cv": []}, "cv has no splits"),
        ({"cv": KFold(3)}, "splits .* queries"),
        ({"error_score": "ignore"}, "error_score must be"),
    ],
)
def test_invalid_settings_are_refused_before_any_fit(data, settings, message):
    X, y, qid = data
    with pytest.raises((ValueError, TypeError), match=message):
        race(**settings).fit(X, y, qid=qid)


def test_a_measure_without_any_value_is_refused(data):
    X, y, qid = data
    with pytest.raises(ValueError, match="undefined for all 120 queries"):
        race(measure="ndcng(undefined=nan)").fit(X, np.zeros(len(y)), qid=qid)


@pytest.mark.parametrize("n_defined", [1, 2])
def test_a_measure_with_values_for_one_or_two_queries_drops_nothing(data, n_defined):
    X, y, qid = data
    y = np.where(qid < n_defined, y, 0)  # some folds have no query with a value
    fitted = race(measure="ndcng(undefined=nan)").fit(X, y, qid=qid)
    assert len(fitted.survivors_) == 3
    assert np.isfinite(fitted.to_frame()["ci_low"]).all() == (n_defined == 2)
