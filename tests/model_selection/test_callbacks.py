"""Callbacks of scikit-learn, such as progress bars, receive the boosting rounds of QueryRanker."""

import numpy as np
import pytest
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRanker

import skgraded as sg
from skgraded.model_selection import QueryKFold

pytestmark = pytest.mark.filterwarnings("ignore:early_stopping=True chooses:UserWarning")

pytest.importorskip("sklearn.callback", reason="needs scikit-learn ≥ 1.9")

ROUNDS = 7
LIGHTGBM = LGBMRanker(n_estimators=ROUNDS, verbose=-1, n_jobs=1)
BOOSTERS = {
    "LightGBM": LIGHTGBM,
    "XGBoost": XGBRanker(n_estimators=ROUNDS, n_jobs=1),
    "CatBoost": CatBoostRanker(iterations=ROUNDS, verbose=False, allow_writing_files=False),
    "pipeline": make_pipeline(StandardScaler(), LIGHTGBM),
}
STOPPING = {"early_stopping": True, "n_iter_no_change": 3, "random_state": 0}
GRID = {"estimator__num_leaves": [3, 31]}


class Recorder:
    """A callback that counts the ended tasks by name; searches pass it on to their estimators."""

    max_propagation_depth = None

    def __init__(self):
        self.ended, self.limits = [], []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.limits.append(context.max_subtasks)

    def on_fit_task_end(self, estimator, context):
        self.ended.append(f"{context.estimator_name} {context.task_name}")


def data():
    X, y, qid = sg.datasets.make_ranking(n_queries=30, random_state=0)
    return np.column_stack([X, qid]), y, qid


def fitted_with(recorder, booster, **settings):
    X, y, _ = data()
    return sg.QueryRanker(booster, qid=-1, **settings).set_callbacks(recorder).fit(X, y)


def search(**settings):
    return GridSearchCV(
        sg.QueryRanker(LIGHTGBM, qid=-1),
        GRID,
        cv=QueryKFold(3, qid=-1),
        scoring=sg.make_ranking_scorer("ndcng@10"),
        **settings,
    )


@pytest.mark.parametrize(
    ("booster", "n_rounds"),
    [*((booster, ROUNDS) for booster in BOOSTERS.values()), (Ridge(), 0)],
    ids=[*BOOSTERS, "Ridge"],
)
def test_each_round_is_a_task_of_fit_and_the_model_is_unchanged(booster, n_rounds):
    recorder = Recorder()
    ranker = fitted_with(recorder, booster)
    assert recorder.ended == ["QueryRanker round"] * n_rounds + ["QueryRanker fit"]
    assert recorder.limits == [n_rounds] + [0] * n_rounds
    X, y, _ = data()
    without = sg.QueryRanker(booster, qid=-1).fit(X, y)
    np.testing.assert_array_equal(ranker.predict(X), without.predict(X))
    parameters = ranker.estimator_.get_params()
    assert parameters.get("callbacks") == without.estimator_.get_params().get("callbacks")


@pytest.mark.parametrize(
    ("booster", "refit"),
    [*((booster, True) for booster in BOOSTERS.values()), (LIGHTGBM, False)],
    ids=[*BOOSTERS, "without refit"],
)
def test_early_stopping_reports_the_rounds_that_ran(booster, refit):
    recorder = Recorder()
    ranker = fitted_with(recorder, booster, refit=refit, **STOPPING)
    n_refitted = ranker.best_iteration_ if refit else 0
    assert recorder.ended.count("QueryRanker round") == ranker.n_iter_ + n_refitted
    assert recorder.limits[0] == (2 * ROUNDS if refit else ROUNDS)


def test_the_callbacks_of_a_search_receive_the_rounds_of_each_fit():
    X, y, _ = data()
    recorder = Recorder()
    search().set_callbacks(recorder).fit(X, y)
    n_fits = 2 * 3 + 1
    assert recorder.ended.count("QueryRanker fit") == n_fits
    assert recorder.ended.count("QueryRanker round") == n_fits * ROUNDS
