"""Rankers trained on any grades ≥ 0, as gains or with objectives of skgraded."""

from types import SimpleNamespace

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRanker
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRanker
from xgboost.core import XGBoostError

import skgraded as sg
from skgraded.datasets import make_ranking
from skgraded.lightgbm import eval_metric, objective

pytestmark = pytest.mark.filterwarnings("ignore:early_stopping=True chooses:UserWarning")

SETTINGS = {"n_estimators": 10, "n_jobs": 1}
QUIET = SETTINGS | {"verbose": -1, "min_child_samples": 5}
X, y, qid = make_ranking(n_queries=40, random_state=0)
y = np.exp(0.8 * y + 0.1 * X[:, 0])  # not integers


# Grades as gains ---------------------------------------------------------------------------------


def test_lightgbm_receives_codes_and_their_gains_and_xgboost_linear_gains():
    gains, codes = np.unique(y, return_inverse=True)
    lightgbm = LGBMRanker(**QUIET, label_gain=gains.tolist()).fit(X, codes, group=np.bincount(qid))
    xgboost = XGBRanker(**SETTINGS, objective="rank:ndcg", ndcg_exp_gain=False).fit(X, y, qid=qid)
    for estimator, by_hand in ((LGBMRanker(**QUIET), lightgbm), (XGBRanker(**SETTINGS), xgboost)):
        ranker = sg.QueryRanker(estimator, grades="gain").fit(X, y, qid=qid)
        np.testing.assert_array_equal(ranker.predict(X), by_hand.predict(X))


@pytest.mark.parametrize(
    "estimator",
    [
        LGBMRanker(**QUIET),
        XGBRanker(**SETTINGS),
        make_pipeline(StandardScaler(), LGBMRanker(**QUIET)),
    ],
)
def test_early_stopping_uses_the_grades_instead_of_their_codes(estimator):
    held = qid >= 30
    ranker = sg.QueryRanker(
        estimator,
        grades="gain",
        early_stopping=True,
        measure="ndcg(gain='linear')",
        n_iter_no_change=10,
    ).fit(X[~held], y[~held], qid=qid[~held], X_val=X[held], y_val=y[held], qid_val=qid[held])
    expected = sg.NDCG(gain="linear")(y[held], ranker.predict(X[held]), qid=qid[held])
    assert ranker.best_score_ == pytest.approx(expected, abs=1e-9)


def test_refit_encodes_the_grades_of_all_rows():
    ranker = sg.QueryRanker(
        LGBMRanker(**QUIET), grades="gain", early_stopping=True, refit=True, random_state=0
    ).fit(X, y, qid=qid)
    gains, codes = np.unique(y, return_inverse=True)
    by_hand = LGBMRanker(**QUIET | {"n_estimators": ranker.best_iteration_})
    by_hand.set_params(label_gain=gains.tolist()).fit(X, codes, group=np.bincount(qid))
    np.testing.assert_array_equal(ranker.predict(X), by_hand.predict(X))


@pytest.mark.parametrize(
    "estimator, limit",
    [
        (LGBMRanker(**QUIET), 30),
        (LGBMRanker(**QUIET, objective="rank_xendcg", label_gain="0,1"), 1),
        (XGBRanker(**SETTINGS), 31),
        (XGBRanker(**SETTINGS, objective="rank:map"), 1),
    ],
)
def test_the_highest_grade_of_the_library_is_accepted(estimator, limit):
    y = np.where(X[:, 0] > 0, limit, 0)
    assert sg.QueryRanker(estimator).fit(X, y, qid=qid).score(X, y, qid=qid) > 0.9
    queries = {"group": np.bincount(qid)} if isinstance(estimator, LGBMRanker) else {"qid": qid}
    with pytest.raises((lgb.basic.LightGBMError, XGBoostError)):
        estimator.fit(X, y + (y > 0), **queries)


# Objectives that are callables -------------------------------------------------------------------


@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_callable_objective_accepts_fractional_grades(early_stopping):
    ranker = sg.QueryRanker(
        LGBMRanker(objective=objective("mu_map"), **QUIET),
        measure="mu_map",
        random_state=0,
        early_stopping=early_stopping,
        refit=early_stopping,
    ).fit(X, y, qid=qid)
    assert ranker.score(X, y, qid=qid) > sg.MuAP()(y, 0 * y, qid=qid) + 0.1
    rounds = ranker.best_iteration_ if early_stopping else 10
    train = lgb.Dataset(X, y, group=np.bincount(qid))
    params = {
        "objective": objective("mu_map"),
        "metric": "None",
        "num_threads": 1,
        "verbose": -1,
        "min_data_in_leaf": 5,
    }
    np.testing.assert_array_equal(ranker.predict(X), lgb.train(params, train, rounds).predict(X))


# Truth that has only an order --------------------------------------------------------------------


def test_daily_returns_are_a_truth_in_every_interface():
    X, y, qid = make_ranking(n_queries=60, random_state=0)
    y = (y - 2.0 + 0.1 * X[:, 0]) / 100
    frame = pd.DataFrame({"day": qid, "return": y, "score": X[:, 0]})
    ranks = frame.groupby("day").rank()
    expected = ranks.groupby(qid).apply(lambda day: day["return"].corr(day["score"])).mean()
    settings = {"qid": qid, "measures": "spearman_rho"}
    names = {"y_true": "return", "y_score": "score", "qid": "day", "measures": "spearman_rho"}
    first = SimpleNamespace(predict=lambda X: X[:, 0])
    for value in (
        sg.evaluate(y, X[:, 0], **settings).mean()["SpearmanRho"],
        sg.evaluate_batches([frame], **names).mean()["SpearmanRho"],
        sg.make_ranking_scorer("spearman_rho")(first, X, y, qid=qid),
    ):
        assert value == pytest.approx(expected, abs=1e-12)

    regressor = lgb.LGBMRegressor(**QUIET)
    whole = sg.QueryRanker(regressor).fit(X, y, qid=qid)
    assert whole.predict(X).tolist() == regressor.fit(X, y).predict(X).tolist()
    stopped = sg.QueryRanker(
        regressor, measure="spearman_rho", early_stopping=3, n_iter_no_change=10, random_state=0
    ).fit(X, y, qid=qid)
    values = stopped.evals_result_["validation"]["SpearmanRho"]
    assert stopped.best_iteration_ == np.argmax(values) + 1
    score = stopped.score(X, y, qid=qid)
    assert score == sg.SpearmanRho()(y, stopped.predict(X), qid=qid) > 0.5
    cv = sg.cross_evaluate(whole, X, y, cv=3, **settings)
    search = sg.RacingSearchCV(whole, {"estimator__num_leaves": [31]}, measure="spearman_rho", cv=3)
    assert search.fit(X, y, qid=qid).best_score_ == pytest.approx(cv.mean()["SpearmanRho"])
    curve, data = {}, lgb.Dataset(X, y, group=np.bincount(qid))
    callbacks = [lgb.record_evaluation(curve)]
    metric = {"feval": eval_metric("spearman_rho"), "callbacks": callbacks, "valid_sets": [data]}
    parameters = {"metric": "None", "verbose": -1, "num_threads": 1}
    booster = lgb.train(parameters, data, num_boost_round=3, **metric)
    last = curve["training"]["SpearmanRho"][-1]
    assert last == sg.SpearmanRho()(y, booster.predict(X), qid=qid)
    for ranker, message in (
        (sg.QueryRanker(regressor, early_stopping=3), "y must contain only grades ≥ 0; got -"),
        (sg.QueryRanker(LGBMRanker(), measure="tau_ap"), "integers ≥ 0 for LGBMRanker; got -"),
    ):
        with pytest.raises(ValueError, match=message):
            ranker.fit(X, np.where(y < 0, y, 0), qid=qid)
