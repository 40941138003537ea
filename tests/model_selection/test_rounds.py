"""early_stopping=k: the number of rounds by cross-validation over whole queries."""

import signal
import threading
import time

import joblib
import lightgbm
import numpy as np
import pytest
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRanker

import skgraded as sg
from skgraded.datasets import make_ranking

ROUNDS, FOLDS, PATIENCE = 20, 3, 5
LIGHTGBM = LGBMRanker(
    n_estimators=ROUNDS, learning_rate=0.3, min_child_samples=5, n_jobs=1, verbose=-1
)
ESTIMATORS = {
    "LightGBM": LIGHTGBM,
    "XGBoost": XGBRanker(n_estimators=ROUNDS, max_depth=3, n_jobs=1),
    "CatBoost": CatBoostRanker(
        iterations=ROUNDS,
        learning_rate=0.3,
        depth=3,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    ),
    "HistGradientBoosting": HistGradientBoostingRegressor(max_iter=8),
    "pipeline": make_pipeline(StandardScaler(), LIGHTGBM),
}
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


ranking = make_ranking(50, 10, 4, random_state=0)
order = np.random.default_rng(0).permutation(len(ranking[1]))
X, y, qid = [array[order] for array in ranking]


def ranker_of(estimator, **settings):
    defaults = {"early_stopping": FOLDS, "n_iter_no_change": PATIENCE, "random_state": 0}
    return sg.QueryRanker(estimator, **defaults | settings)


def folds_of(qid):
    """The rows of each fold, which contains every third query in a random order."""
    ids = np.unique(qid)
    order = np.random.RandomState(0).permutation(len(ids))
    return (np.isin(qid, ids[order[fold::FOLDS]]) for fold in range(FOLDS))


@every_estimator
def test_the_curve_is_the_mean_over_the_queries_of_all_folds(name):
    estimator = ESTIMATORS[name]
    weights = np.random.default_rng(0).uniform(0.1, 5, 50)[qid]
    by_row = {"sample_weight": weights}
    measures = [sg.NDCNG(k=10), sg.MuAP()]
    ranker = ranker_of(estimator, measure=measures).fit(X, y, qid=qid, **by_row)

    totals, total_weight = np.zeros((2, ranker.n_iter_)), 0
    for held in folds_of(qid):
        # Trained for all rounds on the same queries; the folds have different numbers of queries.
        of_fold = sg.QueryRanker(
            estimator,
            early_stopping=PredefinedSplit(np.where(held, 0, -1)),
            measure=measures,
            n_iter_no_change=ROUNDS,
        ).fit(X, y, qid=qid, **by_row)
        weight = sum(weights[qid == query][0] for query in np.unique(qid[held]))
        curves = of_fold.evals_result_["validation"].values()
        totals += weight * np.array(list(curves))[:, : ranker.n_iter_]
        total_weight += weight
    history = ranker.evals_result_["validation"]
    assert list(history) == ["NDCNG@10", "MuAP"]
    expected = totals / total_weight
    np.testing.assert_allclose(list(history.values()), expected, rtol=0, atol=1e-9)
    best = int(np.argmax(expected[0])) + 1
    assert ranker.best_iteration_ == best
    most = 8 if name == "HistGradientBoosting" else ROUNDS
    assert ranker.n_iter_ == min(best + PATIENCE, most)
    assert ranker.best_score_ == history["NDCNG@10"][best - 1]

    whole = clone(estimator) if name != "CatBoost" else estimator.copy()
    last = whole[-1] if name == "pipeline" else whole
    rounds = {"CatBoost": "iterations", "HistGradientBoosting": "max_iter"}
    last.set_params(**{rounds.get(name, "n_estimators"): best})
    expected = sg.QueryRanker(whole).fit(X, y, qid=qid, **by_row).predict(X)
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-6, atol=1e-9)


@every_estimator
def test_the_number_of_threads_does_not_change_the_result(name):
    ranker = ranker_of(ESTIMATORS[name]).fit(X, y, qid=qid)
    with joblib.parallel_config(n_jobs=3):
        parallel = ranker_of(ESTIMATORS[name]).fit(X, y, qid=qid)
    assert parallel.evals_result_ == ranker.evals_result_
    np.testing.assert_array_equal(parallel.predict(X), ranker.predict(X))


class Failing:
    """A callback of LightGBM that raises an error the third time it is called."""

    def __init__(self, error):
        self.error, self.n = error, 0

    def __call__(self, env):
        self.n += 1
        if self.n == 3:
            raise self.error


@pytest.mark.parametrize("error", [ZeroDivisionError("no"), KeyboardInterrupt()])
def test_an_error_in_one_fold_ends_all_trainings(error):
    n_threads = threading.active_count()
    with pytest.raises(type(error)):
        ranker_of(LIGHTGBM).fit(X, y, qid=qid, callbacks=[Failing(error)])
    assert threading.active_count() == n_threads


def test_ctrl_c_ends_all_trainings_after_their_current_round():
    calls = []

    def interrupt(env):
        calls.append(env)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.05)

    with pytest.raises(KeyboardInterrupt):
        ranker_of(LIGHTGBM, n_iter_no_change=ROUNDS).fit(X, y, qid=qid, callbacks=[interrupt])
    assert len(calls) < ROUNDS  # of one fold; there are three


@pytest.mark.parametrize("name", ["LightGBM", "CatBoost"])
def test_callbacks_receive_the_joint_curve_once_per_round_and_not_without_validation(name):
    curve = []

    class Recorder:
        """A callback that fails without a value of the validation queries, like Optuna's."""

        def __call__(self, env):
            ((_, _, value, _),) = env.evaluation_result_list
            curve.append(value)

        def after_iteration(self, info):
            *_, values = info.metrics["validation"].values()
            curve.append(values[-1])
            return True

    ranker = ranker_of(ESTIMATORS[name]).fit(X, y, qid=qid, callbacks=[Recorder()])
    history = ranker.evals_result_["validation"]["NDCNG@10"]
    assert len(curve) == ranker.n_iter_
    if name == "LightGBM":
        assert curve == history
    fold = ranker_of(ESTIMATORS[name], early_stopping=True, refit=True)
    with pytest.warns(UserWarning, match="early_stopping=True chooses"):
        fold.fit(X, y, qid=qid, callbacks=[Recorder()])
    assert len(curve) == ranker.n_iter_ + fold.n_iter_


def test_parameters_are_reset_before_the_rounds_of_all_trainings():
    ranker = ranker_of(clone(LIGHTGBM).set_params(learning_rate=1e-9))
    ranker.fit(X, y, qid=qid, callbacks=[lightgbm.reset_parameter(learning_rate=lambda i: 0.3)])
    expected = ranker_of(LIGHTGBM).fit(X, y, qid=qid)
    assert ranker.evals_result_ == expected.evals_result_
    np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))


def test_all_queries_of_a_fold_may_have_weight_0():
    held = next(folds_of(qid))
    ranker = ranker_of(LIGHTGBM, measure="p")  # without a cut-off, the same for all rankings
    ranker.fit(X, y, qid=qid, sample_weight=np.where(held, 0.0, 1.0))
    relevant = [np.mean(y[qid == query] > 0) for query in np.unique(qid[~held])]
    assert ranker.best_score_ == pytest.approx(np.mean(relevant))


def test_few_held_out_queries_warn():
    X, y, qid = make_ranking(100, 10, 4, random_state=0)
    ranker = ranker_of(LIGHTGBM, early_stopping=True, validation_fraction=0.49)
    with pytest.warns(UserWarning, match="only 49 of 100 queries.* set early_stopping=5") as record:
        ranker.fit(X, y, qid=qid)
    assert record[0].filename == __file__
    ranker.set_params(validation_fraction=0.5).fit(X, y, qid=qid)
