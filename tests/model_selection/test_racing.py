"""RacingSearchCV: boosters that cannot become the best are dropped while they train."""

import joblib
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from never_fitted import NeverFitted
from scipy.stats import loguniform
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRanker

import skgraded as sg
from skgraded.model_selection import RacingSearchCV
from skgraded.stats.racing import CHECKPOINTS

RIDGE = sg.QueryRanker(Ridge())
ALPHAS = {"estimator__alpha": [1, 1e3, 1e6]}
# Constant predictions rank at random, so that these candidates are clearly worse.
CONSTANT = {"estimator__fit_intercept": [True], "estimator__alpha": [1, 1e30]}
LIGHTGBM = LGBMRanker(n_estimators=40, num_leaves=7, n_jobs=1, verbose=-1, random_state=0)
RATES = {"estimator__learning_rate": [0.1, 1e-5, 0.05, 1.0, 0.2]}
X, y, qid = sg.datasets.make_ranking(n_queries=120, random_state=0)


@pytest.fixture(scope="module")
def search():
    return race_rounds(n_jobs=2).fit(X, y, qid=qid)


def race(parameters=ALPHAS, ranker=RIDGE, **settings):
    return RacingSearchCV(ranker, parameters, **{"cv": 6, "random_state": 0, **settings})


def race_rounds(parameters=RATES, booster=LIGHTGBM, patience=15, **settings):
    ranker = sg.QueryRanker(booster, early_stopping=True, n_iter_no_change=patience)
    return race(parameters, ranker, **{"cv": 3, **settings})


# Candidates with rounds --------------------------------------------------------------------------


def values_by_round(X, y, qid, rate, n_rounds=40):
    """Return the values of all queries after each round, trained by lgb.train on three folds."""
    values = np.empty((n_rounds, 120))
    for train, test in GroupKFold(3).split(X, y, qid):
        dataset = lgb.Dataset(
            X[train], y[train], group=np.bincount(qid[train])[np.unique(qid[train])]
        )
        parameters = LIGHTGBM.get_params() | {"learning_rate": rate, "objective": "lambdarank"}
        del parameters["n_estimators"]
        booster = lgb.train(parameters, dataset, n_rounds)
        for n in range(n_rounds):
            scores = booster.predict(X[test], num_iteration=n + 1)
            result = sg.evaluate(y[test], scores, qid=qid[test], measures="ndcng@10")
            values[n, result.query_ids] = result.per_query["NDCNG@10"]
    return values


def expected_rounds(values, leader, patience=15, n_standard_errors=1.0, margin=0.0):
    """Return the number of trained rounds, and whether the rule drops the candidate."""
    means, was_hopeless = values.mean(axis=1), False
    for n in range(1, len(values) + 1):
        best = int(means[:n].argmax())
        if n in CHECKPOINTS and leader is not None:
            error = (values[best] - leader).std(ddof=1) / np.sqrt(120)
            reach = 2 * means[best] - means[: n // 2].max() + n_standard_errors * error
            is_hopeless = reach < leader.mean() - margin
            if is_hopeless and was_hopeless:
                return n, True
            was_hopeless = is_hopeless
        if n - (best + 1) >= patience:
            break
    return n, False


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_standard_errors": 0.0},
        {"n_standard_errors": 3},
        {"margin": 0.03, "prefer": "estimator__learning_rate"},
    ],
)
def test_candidates_are_dropped_by_the_rule_on_curves_that_lgb_train_gives(settings):
    result, leader, expected = race_rounds(**settings).fit(X, y, qid=qid), None, []
    used = {name: value for name, value in settings.items() if name != "prefer"}
    for rate in RATES["estimator__learning_rate"]:
        values = values_by_round(X, y, qid, rate)
        n, is_dropped = expected_rounds(values, leader, **used)
        best = int(values[:n].mean(axis=1).argmax())
        expected.append((n, best + 1, is_dropped, values[best].mean()))
        if not is_dropped and (leader is None or values[best].mean() > leader.mean()):
            leader = values[best]
    table = result.cv_results_
    columns = ("n_rounds", "best_rounds", "dropped")
    assert list(zip(*(table[name].tolist() for name in columns), strict=True)) == [
        row[:3] for row in expected
    ]
    np.testing.assert_allclose(table["mean_test_score"], [row[3] for row in expected], rtol=1e-12)
    assert result.n_rounds_ == 3 * sum(row[0] for row in expected)


def test_the_refit_uses_the_best_number_of_rounds_and_keeps_the_curve(search):
    best = search.best_estimator_
    values = values_by_round(X, y, qid, search.best_params_["estimator__learning_rate"])
    curve = best.evals_result_["validation"]["NDCNG@10"]
    assert curve == [
        sg.Evaluation(range(120), {"m": row}).mean()["m"] for row in values[: len(curve)]
    ]
    assert search.best_rounds_ == best.best_iteration_ == int(np.argmax(curve)) + 1
    assert search.best_score_ == best.best_score_ == max(curve)
    assert best.early_stopping is True
    by_hand = sg.QueryRanker(best.estimator).set_params(estimator__n_estimators=search.best_rounds_)
    assert search.predict(X).tolist() == by_hand.fit(X, y, qid=qid).predict(X).tolist()


def test_the_number_of_jobs_does_not_change_the_result(search):
    pd.testing.assert_frame_equal(race_rounds().fit(X, y, qid=qid).to_frame(), search.to_frame())


def test_dropped_candidates_neither_survive_nor_rank_before_others(search):
    table, frame = search.cv_results_, search.to_frame()
    dropped = table["dropped"]
    assert dropped.any() and not dropped[search.survivors_].any()
    assert table["rank_test_score"][dropped].min() > table["rank_test_score"][~dropped].max()
    assert frame.loc[dropped, ["ci_low", "ci_high"]].isna().all(axis=None)
    means = table["mean_test_score"]
    np.testing.assert_allclose(frame["difference"], means - means[search.survivors_[0]], atol=1e-12)
    splits = np.column_stack([table[f"split{i}_test_score"] for i in range(3)])
    np.testing.assert_allclose(splits.mean(axis=1), means)  # folds of 40 queries


BOOSTERS = {
    "LightGBM": LIGHTGBM,
    "HistGradientBoosting": HistGradientBoostingRegressor(
        max_iter=40, max_leaf_nodes=15, random_state=0
    ),
    "XGBoost": XGBRanker(n_estimators=40, max_depth=3, n_jobs=1),
    "CatBoost": CatBoostRanker(
        iterations=40, depth=3, thread_count=1, verbose=0, allow_writing_files=False
    ),
    "a pipeline": make_pipeline(StandardScaler(), LIGHTGBM),
}


def scores_by_hand(booster, X, y, qid, X_test):
    """Return the scores of test rows after each of 40 rounds, without a QueryRanker."""
    if hasattr(booster, "steps"):
        scaler = StandardScaler().fit(X)
        X, X_test, booster = scaler.transform(X), scaler.transform(X_test), booster[-1]
    model, library = clone(booster), type(booster).__module__.partition(".")[0]
    sizes = np.unique(qid, return_counts=True)[1]
    queries = {"lightgbm": {"group": sizes}, "xgboost": {"qid": qid}, "catboost": {"group_id": qid}}
    model.fit(X, y, **queries.get(library, {}))
    if library == "lightgbm":
        return [model.predict(X_test, num_iteration=n + 1) for n in range(40)]
    if library == "xgboost":
        return [model.predict(X_test, iteration_range=(0, n + 1)) for n in range(40)]
    return list(model.staged_predict(X_test))


@pytest.mark.parametrize("booster", BOOSTERS.values(), ids=BOOSTERS)
def test_the_curve_of_every_booster_is_that_of_training_by_hand_on_the_same_folds(booster):
    rate = "lgbmranker__learning_rate" if hasattr(booster, "steps") else "learning_rate"
    # scikit-learn's folds of queries with equal sizes depend on the processor.
    folds = [(np.flatnonzero(qid % 3 != i), np.flatnonzero(qid % 3 == i)) for i in (1, 2, 0)]
    search = race_rounds({f"estimator__{rate}": [0.1, 0.01]}, booster, n_jobs=2, cv=folds)
    fitted = clone(search).set_params(n_standard_errors=np.inf).fit(X, y, qid=qid)
    by_hand, values = clone(fitted.best_estimator_.estimator), np.empty((40, 120))
    for train, test in folds:
        scores = scores_by_hand(by_hand, X[train], y[train], qid[train], X[test])
        for n in range(40):
            result = sg.evaluate(y[test], scores[n], qid=qid[test], measures="ndcng@10")
            values[n, result.query_ids] = result.per_query["NDCNG@10"]
    means = [sg.Evaluation(range(120), {"m": row}).mean()["m"] for row in values]
    table = fitted.cv_results_
    curve = fitted.best_estimator_.evals_result_["validation"]["NDCNG@10"]
    assert curve == means[: table["n_rounds"][fitted.best_index_]]
    assert not table["dropped"].any()
    assert (table["n_rounds"] == np.minimum(table["best_rounds"] + 15, 40)).all()
    fitted = search.set_params(n_standard_errors=0, cv=folds[:1]).fit(X, y, qid=qid)
    n_rounds = fitted.cv_results_["n_rounds"][1]
    assert fitted.cv_results_["dropped"].tolist() == [False, True]
    assert n_rounds in CHECKPOINTS
    assert (n_rounds >= 15) or not isinstance(booster, HistGradientBoostingRegressor)


def test_the_measure_of_the_search_replaces_that_of_the_ranker_also_for_negative_grades():
    search = race_rounds(booster=HistGradientBoostingRegressor(max_iter=5), measure="spearman_rho")
    fitted = search.fit(X, y - 1.0, qid=qid)
    assert list(fitted.best_estimator_.evals_result_["validation"]) == ["SpearmanRho"]


def test_weights_count_in_the_curve_whether_or_not_the_fit_receives_them():
    weights = 1.0 + qid % 3
    fitted = race_rounds({"estimator__learning_rate": [0.1]}, level=None)
    with config_context(enable_metadata_routing=True):
        fitted.estimator.set_fit_request(sample_weight=False)
    fitted.fit(X, y, qid=qid, sample_weight=weights)
    values = values_by_round(X, y, qid, 0.1)
    curve = fitted.best_estimator_.evals_result_["validation"]["NDCNG@10"]
    expected = values[: len(curve)] @ (1.0 + np.arange(120) % 3) / 240
    np.testing.assert_allclose(curve, expected, rtol=1e-12)


def test_a_query_that_several_folds_test_counts_once():
    query_folds = RepeatedKFold(n_splits=2, n_repeats=2, random_state=0).split(np.arange(120))
    folds = [tuple(np.flatnonzero(np.isin(qid, part)) for part in split) for split in query_folds]
    folds = folds[:3]  # half of the queries are tested twice
    fitted = race_rounds({"estimator__learning_rate": [0.1]}, cv=folds).fit(X, y, qid=qid)
    ranker = sg.QueryRanker(LIGHTGBM).set_params(estimator__n_estimators=fitted.best_rounds_)
    values = sg.cross_evaluate(ranker, X, y, qid=qid, measures="ndcng@10", cv=folds)
    assert fitted.best_score_ == pytest.approx(values.mean()["NDCNG@10"], rel=1e-12)


def test_candidates_with_and_without_rounds_compete():
    space = [{"estimator": [Ridge()], "early_stopping": [False]}, {"estimator": [LIGHTGBM]}]
    table = race_rounds(space).fit(X, y, qid=qid).cv_results_
    assert table["n_rounds"][0] == table["best_rounds"][0] == -1 < table["best_rounds"][1]


def test_a_candidate_whose_training_fails_is_dropped():
    rates = {"estimator__learning_rate": [-1.0, 0.1]}
    with pytest.warns(FitFailedWarning, match=r"1 of 2 candidates failed.*candidate 0.*-1"):
        fitted = race_rounds(rates, error_score=0.0).fit(X, y, qid=qid)
    table = fitted.cv_results_
    assert table["dropped"].tolist() == [True, False]
    assert (table["mean_test_score"][0], table["n_rounds"][0]) == (0.0, 0)
    assert table["rank_test_score"].tolist() == [2, 1]
    with pytest.raises(Exception, match="learning_rate"):
        race_rounds(rates).fit(X, y, qid=qid)


def test_the_columns_of_a_splitter_in_early_stopping_are_removed():
    frame = pd.DataFrame(X).add_prefix("f").assign(session=qid)
    by_session = sg.model_selection.QueryKFold(3, "session")
    ranker = sg.QueryRanker(LIGHTGBM, early_stopping=by_session, n_iter_no_change=15)
    fitted = race(RATES, ranker, cv=3).fit(frame, y, qid=qid)
    assert fitted.n_features_in_ == X.shape[1]
    assert fitted.predict(frame).shape == y.shape


# Candidates without rounds -----------------------------------------------------------------------


def test_without_a_level_the_results_are_those_of_grid_search():
    folds = list(GroupKFold(6).split(X, y, qid))
    every = race(level=None, cv=folds).fit(X, y, qid=qid)
    grid = GridSearchCV(
        sg.QueryRanker(Ridge(), qid=0),
        ALPHAS,
        cv=folds,
        scoring=sg.make_ranking_scorer("ndcng@10", qid=0),
    ).fit(np.column_stack([qid, X]), y)
    assert every.survivors_.tolist() == np.argsort(-every.cv_results_["mean_test_score"]).tolist()
    assert (every.n_rounds_, every.best_rounds_) == (0, None)
    assert not every.cv_results_["dropped"].any()
    assert set(grid.cv_results_) - {"params"} <= set(every.cv_results_)
    assert every.cv_results_["params"] == grid.cv_results_["params"]
    for name in ("mean_test_score", "std_test_score", "rank_test_score"):  # folds of equal size
        np.testing.assert_allclose(every.cv_results_[name], grid.cv_results_[name])
    values = sg.cross_evaluate(every.best_estimator_, X, y, qid=qid, measures="ndcng@10", cv=folds)
    assert every.best_score_ == pytest.approx(values.mean()["NDCNG@10"], rel=1e-12)


def test_equal_seeds_give_equal_searches_for_every_number_of_jobs():
    settings = {"n_iter": 3, "cv": 3, "random_state": 3}
    with joblib.parallel_config("threading"):
        first, second = (
            race({"estimator__alpha": loguniform(1, 1e8)}, n_jobs=n_jobs, **settings).fit(
                X, y, qid=qid
            )
            for n_jobs in (1, 2)
        )
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame())


def test_the_comparison_contains_the_survivors_named_after_their_indices():
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


def test_ties_within_the_margin_are_decided_by_the_preference():
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
def test_preferences_without_a_number_are_refused_before_any_fit(prefer):
    search = race({"estimator__alpha": [1, None]}, sg.QueryRanker(NeverFitted()), prefer=prefer)
    with pytest.raises(
        TypeError, match="prefer.* must assign a number to .*; got None for .*alpha"
    ):
        search.fit(X, y, qid=qid)


def test_without_refit_there_is_no_estimator_to_score():
    fitted = race({"estimator__alpha": [1]}, refit=False, cv=2).fit(X, y, qid=qid)
    for call in (lambda: fitted.predict(X), lambda: fitted.score(X, y, qid=qid)):
        with pytest.raises(AttributeError, match="requires refit=True"):
            call()


def test_several_measures_are_reported_and_the_first_decides():
    fitted = race(CONSTANT, measure=["mu_map", "ndcng@10"]).fit(X, y, qid=qid)
    assert {"mean_test_MuAP", "mean_test_NDCNG@10"} <= set(fitted.cv_results_)
    assert fitted.best_score_ == fitted.cv_results_["mean_test_MuAP"][fitted.best_index_]
    value = sg.MuAP()(y, fitted.predict(X), qid=qid)
    assert fitted.score(X, y, qid=qid) == pytest.approx(value, rel=1e-12)


def test_queries_are_read_from_a_column_also_in_a_pipeline_and_in_cross_evaluation():
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


def test_without_a_level_unequal_weights_count_in_means():
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
def test_unequal_weights_of_queries_are_refused_before_any_fit(weights):
    with pytest.raises(ValueError, match="weight all queries equally, .*level=None"):
        race(ranker=sg.QueryRanker(NeverFitted())).fit(X, y, qid=qid, sample_weight=weights(qid))


def test_all_queries_of_a_fold_may_have_weight_0():
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


def test_a_failed_candidate_is_dropped_and_named():
    parameters = {"estimator__alpha": [1, 2, -1]}
    with pytest.warns(FitFailedWarning, match=r"1 of 3 candidates failed.*candidate 2.*alpha.*-1"):
        fitted = race(parameters, error_score=np.nan).fit(X, y, qid=qid)
    assert fitted.cv_results_["dropped"].tolist() == [False, False, True]
    assert fitted.cv_results_["rank_test_score"][2] == 3
    with pytest.raises(ValueError, match="alpha"):
        race(parameters).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="All 1 candidates failed"):
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
        ({"n_standard_errors": -1}, "n_standard_errors must be a finite number ≥ 0"),
        ({"level": 1}, "level must be a finite number > 0 and < 1"),
        ({"n_iter": 0}, "n_iter must be"),
        ({"prefer": "estimator__alhpa"}, "must assign a number to each candidate; got None"),
        ({"prefer": "estimator__alpha", "level": None}, "only if level is set"),
        ({"cv": 1}, "n_splits=1"),
        ({"cv": []}, "cv has no splits"),
        ({"cv": KFold(3)}, "queries are split"),
        ({"error_score": "ignore"}, "error_score must be"),
    ],
)
def test_invalid_settings_are_refused_before_any_fit(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        race(**settings).fit(X, y, qid=qid)


def test_a_measure_without_any_value_is_refused():
    with pytest.raises(ValueError, match="undefined for all 120 queries"):
        race(measure="ndcng(undefined=nan)").fit(X, np.zeros(len(y)), qid=qid)


@pytest.mark.parametrize("n_defined", [1, 2])
def test_a_measure_with_values_for_one_or_two_queries_drops_nothing(n_defined):
    grades = np.where(qid < n_defined, y, 0)  # some folds have no query with a value
    fitted = race(measure="ndcng(undefined=nan)").fit(X, grades, qid=qid)
    assert len(fitted.survivors_) == 3
    assert np.isfinite(fitted.to_frame()["ci_low"]).all() == (n_defined == 2)
