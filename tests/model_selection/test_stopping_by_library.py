"""Early stopping beside what users have set on the boosters of each library."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from scipy import sparse
from xgboost import XGBRanker

import skgraded as sg
from skgraded.datasets import make_ranking

LIGHTGBM = {"n_estimators": 12, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}
XGBOOST = {"n_estimators": 12, "max_depth": 3, "n_jobs": 1}
CATBOOST = {"iterations": 12, "depth": 3, "thread_count": 1, "verbose": False,
            "allow_writing_files": False}
MEASURE = "NDCNG@5"


@pytest.fixture(scope="module")
def rows():
    return make_ranking(30, 10, 4, random_state=0)


def stopped(estimator, X, y, qid, **fit_params):
    ranker = sg.QueryRanker(
        estimator, early_stopping=True, n_iter_no_change=5, measure=MEASURE, random_state=0
    )
    return ranker.fit(X, y, qid=qid, **fit_params)


# LightGBM ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("metric", [None, "ndcg", "map"])
def test_lightgbm_computes_no_metric_of_its_own(rows, metric):
    ranker = stopped(LGBMRanker(metric=metric, **LIGHTGBM), *rows)
    assert list(ranker.estimator_.evals_result_["validation"]) == [MEASURE]
    assert list(ranker.estimator_.best_score_["validation"]) == [MEASURE]
    assert ranker.estimator_.best_score_["validation"][MEASURE] == ranker.best_score_


@pytest.mark.parametrize("last", [1, 3])
def test_a_lightgbm_ended_by_a_callback_predicts_with_its_best_round(rows, last):
    X, y, qid = rows

    def end(env):
        if env.iteration == last - 1:
            raise lightgbm.callback.EarlyStopException(8, env.evaluation_result_list)

    end.order = 25  # after the round was measured
    ranker = stopped(LGBMRanker(**LIGHTGBM), X, y, qid, callbacks=[end])
    assert ranker.n_iter_ == last
    assert ranker.estimator_.booster_.best_iteration == ranker.best_iteration_ <= last
    best = ranker.estimator_.predict(X, num_iteration=ranker.best_iteration_)
    np.testing.assert_array_equal(ranker.predict(X), best)


def test_callbacks_of_lightgbm_record_the_last_round_too(rows):
    history = {}
    record = lightgbm.record_evaluation(history)
    ranker = stopped(LGBMRanker(**LIGHTGBM), *rows, callbacks=[record])
    assert history["validation"] == ranker.evals_result_["validation"]


# XGBoost -----------------------------------------------------------------------------------------

def test_what_xgboost_takes_for_missing_is_missing_in_the_held_out_rows_too(rows):
    X, y, qid = rows
    gaps = np.random.default_rng(0).random(X.shape) < 0.3
    expected = stopped(XGBRanker(**XGBOOST), np.where(gaps, np.nan, X), y, qid)
    ranker = stopped(XGBRanker(missing=-9.0, **XGBOOST), np.where(gaps, -9.0, X), y, qid)
    assert ranker.evals_result_ == expected.evals_result_


def test_feature_types_of_xgboost_are_those_of_the_held_out_rows_too(rows):
    X, y, qid = rows
    X = np.column_stack([y, X[:, :2]]).astype(float)
    ranker = stopped(
        XGBRanker(feature_types=["c", "q", "q"], enable_categorical=True, **XGBOOST), X, y, qid
    )
    assert ranker.best_score_ == 1.0


class EndsAt(xgboost.callback.TrainingCallback):
    def __init__(self, last):
        self.last = last

    def after_iteration(self, model, epoch, evals_log):
        return epoch + 1 == self.last


@pytest.mark.parametrize("last", [1, 3])
def test_the_round_at_which_a_callback_ends_xgboost_is_measured(rows, last):
    ranker = stopped(XGBRanker(callbacks=[EndsAt(last)], **XGBOOST), *rows)
    assert ranker.n_iter_ == last
    assert ranker.estimator_.get_booster().num_boosted_rounds() == last


def test_xgboost_knows_its_best_round_and_score(rows):
    ranker = stopped(XGBRanker(**XGBOOST), *rows)
    assert ranker.estimator_.best_iteration == ranker.best_iteration_ - 1
    assert ranker.estimator_.best_score == ranker.best_score_


# CatBoost ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("early_stopping", [False, True])
def test_catboost_takes_sparse_rows_with_64_bit_indices(rows, early_stopping):
    X, y, qid = rows
    table = sparse.csr_matrix(np.where(X > 0, X, 0.0))
    wide = table.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    expected, found = (
        sg.QueryRanker(
            CatBoostRanker(**CATBOOST), early_stopping=early_stopping, random_state=0
        ).fit(one, y, qid=qid)
        for one in (table, wide)
    )
    np.testing.assert_array_equal(found.predict(wide), expected.predict(table))


def test_categories_named_to_the_constructor_of_catboost_are_held_out_from(rows):
    X, y, qid = rows
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.array(list("xyzuv"))[y])
    by_fit = stopped(CatBoostRanker(**CATBOOST), frame, y, qid, cat_features=["kind"])
    ranker = stopped(CatBoostRanker(cat_features=["kind"], **CATBOOST), frame, y, qid)
    assert ranker.evals_result_ == by_fit.evals_result_
