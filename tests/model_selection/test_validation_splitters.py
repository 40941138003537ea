"""Early stopping on validation queries that a splitter chooses."""

from functools import wraps

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRanker
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GroupKFold, GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from table_kinds import FRAMES, TABLES
from xgboost import XGBRanker

import skgraded as sg
from skgraded.datasets import make_ranking
from skgraded.model_selection import QueryTimeSeriesSplit

LIGHTGBM = {
    "n_estimators": 30,
    "learning_rate": 0.3,
    "min_child_samples": 5,
    "verbose": -1,
    "n_jobs": 1,
    "deterministic": True,
    "force_col_wise": True,
    "random_state": 0,
}
# The columns of toy tables are called age, query_id, links and words; words contains the day.
LAST_DAY = QueryTimeSeriesSplit(4, time="words", qid="query_id")
LAST_DAY_BY_POSITION = QueryTimeSeriesSplit(4, time=-1, qid=1)


ranking = make_ranking(40, 10, 2, random_state=0)
order = np.random.default_rng(0).permutation(len(ranking[1]))
features, y, qid = [array[order] for array in ranking]
day = (qid * 7) % 5  # days are 0 to 4, not in query order
X = np.column_stack([features[:, 0], qid, features[:, 1], day]).astype(float)


def stopping(splitter, estimator=None, **parameters):
    estimator = LGBMRanker(**LIGHTGBM) if estimator is None else estimator
    settings = {"qid": "query_id", "early_stopping": splitter, "n_iter_no_change": 5}
    return sg.QueryRanker(estimator, **settings | parameters)


def with_last_day_as_X_val(table, **parameters):
    """Fit the same ranker with the rows of the last day passed as X_val, without the day."""
    rest, last = np.flatnonzero(day < 4), np.flatnonzero(day == 4)
    ranker = stopping(True, **{"drop": [3]} | parameters)
    return ranker.fit(table(X[rest]), y[rest], X_val=table(X[last]), y_val=y[last])


@pytest.mark.parametrize(
    ("kind", "estimator"),
    [
        *((kind, LGBMRanker(**LIGHTGBM)) for kind in FRAMES),
        ("pandas", XGBRanker(n_estimators=30, n_jobs=1)),
    ],
)
def test_the_latest_queries_of_a_frame_decide_when_to_stop(kind, estimator):
    table = TABLES[kind](X)
    ranker = stopping(LAST_DAY, estimator).fit(table, y)
    expected = with_last_day_as_X_val(TABLES[kind], estimator=estimator)
    assert ranker.evals_result_ == expected.evals_result_
    np.testing.assert_array_equal(ranker.predict(table), expected.predict(table))
    assert ranker.feature_names_in_.tolist() == ["age", "links"]  # not the query and the day


@pytest.mark.parametrize("kind", ["numpy", "list", "csr", "csc", "pandas without names", "polars"])
def test_the_columns_of_a_splitter_are_given_by_position(kind):
    ranker = stopping(LAST_DAY_BY_POSITION, qid=1).fit(TABLES[kind](X), y)
    expected = with_last_day_as_X_val(np.array, qid=1)
    assert ranker.evals_result_ == expected.evals_result_


def test_times_are_in_a_series_or_in_a_column_that_a_pipeline_drops():
    frame = TABLES["pandas"](X)
    expected = with_last_day_as_X_val(np.array, qid=1)
    times = QueryTimeSeriesSplit(4, time=pd.Series(day, index=frame.index), qid="query_id")
    ranker = stopping(times).fit(frame.drop(columns="words"), y)
    assert ranker.evals_result_ == expected.evals_result_

    frame["words"] = pd.Timestamp(2026, 11, 1) + pd.to_timedelta(day, "D")
    without_dates = make_column_transformer(("drop", ["words"]), remainder="passthrough")
    ranker = stopping(LAST_DAY, make_pipeline(without_dates, LGBMRanker(**LIGHTGBM)))
    assert ranker.fit(frame, y).evals_result_ == expected.evals_result_


def test_only_refit_trains_on_rows_in_the_gap():
    splitter = QueryTimeSeriesSplit(2, time="words", qid="query_id", gap=1, max_train_size=2)
    days = []

    class Recorder(LGBMRanker):
        @wraps(LGBMRanker.fit)  # whose signature QueryRanker reads
        def fit(self, X, y, **parameters):
            days.append(sorted(set(X["day"])))
            return super().fit(X, y, **parameters)

    recorder = Recorder(**LIGHTGBM)
    stopping(splitter, recorder, refit=True).fit(TABLES["pandas"](X).assign(day=day), y)
    assert days == [[1, 2], [0, 1, 2, 3, 4]]  # day 3 is the gap before day 4


@pytest.mark.parametrize(
    "splitter", [GroupKFold(4), GroupShuffleSplit(1, test_size=0.25, random_state=0)]
)
def test_splitters_of_scikit_learn_receive_the_queries_as_groups(splitter):
    weight = np.where(qid % 2, 1.0, 0.5)
    train, test = list(splitter.split(X, y, qid))[-1]
    ranker = stopping(splitter, qid=None).fit(X, y, qid=qid, sample_weight=weight)
    expected = stopping(True, qid=None).fit(
        X[train],
        y[train],
        qid=qid[train],
        sample_weight=weight[train],
        X_val=X[test],
        y_val=y[test],
        qid_val=qid[test],
        sample_weight_val=weight[test],
    )
    assert ranker.evals_result_ == expected.evals_result_
    rows = np.argsort(qid, kind="stable")
    by_size = stopping(splitter, qid=None).fit(X[rows], y[rows], group=np.bincount(qid))
    assert by_size.n_iter_ > 0
