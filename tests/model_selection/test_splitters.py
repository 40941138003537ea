"""QueryKFold and QueryTimeSeriesSplit, and scorers that read the query column of a ranker."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from table_kinds import FRAMES, toy_data

import skgraded as sg
from skgraded.model_selection import QueryKFold, QueryTimeSeriesSplit

NDCNG = sg.make_ranking_scorer("ndcng@10")


def frame_of(ids, days=None, make=pd.DataFrame):
    columns = {"query": ids, "x": np.arange(len(ids))}
    return make(columns if days is None else columns | {"day": days})


def rows_of(splits):
    return [[part.tolist() for part in split] for split in splits]


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_folds_equal_the_folds_of_group_k_fold(make):
    _, _, qid = toy_data()
    X = make(np.column_stack([np.ones(len(qid)), qid]))
    expected = rows_of(GroupKFold(3).split(qid, groups=qid))
    for source in ("query_id", 1, -1):
        assert rows_of(QueryKFold(3, qid=source).split(X)) == expected


def test_query_ids_may_have_no_order():
    ids = ["a", ("a", 1), 3, "a", 3, ("a", 1)]
    for train, test in QueryKFold(3, qid="query").split(frame_of(ids)):
        assert len(test) == 2 and {ids[i] for i in test}.isdisjoint(ids[i] for i in train)


def test_shuffled_folds_keep_queries_whole_and_depend_on_the_seed():
    _, _, qid = toy_data()
    X = frame_of(qid)
    splits = [
        rows_of(QueryKFold(4, qid="query", shuffle=True, random_state=seed).split(X))
        for seed in (0, 0, 1)
    ]
    assert splits[0] == splits[1] != splits[2]
    n_queries = [len({qid[row] for row in test}) for _, test in splits[0]]
    assert sum(n_queries) == len(set(qid)) and max(n_queries) - min(n_queries) <= 1
    assert sorted(sum((test for _, test in splits[0]), [])) == list(range(len(qid)))
    for train, test in splits[0]:
        assert {qid[row] for row in train}.isdisjoint(qid[row] for row in test)


@pytest.mark.parametrize("settings", [{}, {"gap": 1}, {"test_size": 1}, {"max_train_size": 2}])
@pytest.mark.parametrize("day_of", [int, float, str, lambda day: pd.Timestamp(2026, 11, day + 1)])
def test_times_are_split_as_by_scikit_learn(settings, day_of):
    days = np.array([3, 0, 0, 5, 1, 1, 4, 2, 3, 5])
    ids = days * 10 + [0, 0, 0, 0, 0, 1, 0, 0, 1, 0]  # two queries on days 1 and 3
    splitter = QueryTimeSeriesSplit(2, time="day", qid="query", **settings)
    X = frame_of(ids, [day_of(int(day)) for day in days])
    expected = [
        [np.flatnonzero(np.isin(days, part)).tolist() for part in split]
        for split in TimeSeriesSplit(2, **settings).split(range(6))
    ]
    assert rows_of(splitter.split(X)) == expected
    for train, test in splitter.split(X):
        assert days[train].max() < days[test].min()


def test_splitters_have_the_interface_of_scikit_learn():
    splitter = QueryTimeSeriesSplit(3, time="day", qid=0, gap=1)
    assert splitter.get_n_splits() == 3
    assert repr(pickle.loads(pickle.dumps(splitter))) == repr(splitter)
    assert repr(QueryKFold(3, "q")) == (
        "QueryKFold(n_splits=3, qid='q', random_state=None, shuffle=False)"
    )


# Scorers -----------------------------------------------------------------------------------------

class Counting(TransformerMixin, BaseEstimator):
    """Returns X unchanged and counts the calls."""

    calls = 0

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        Counting.calls += 1
        return X


@pytest.mark.parametrize("routing", [False, True])
def test_a_scorer_reads_the_query_column_of_the_ranker(routing):
    X, y, qid = toy_data()
    X = pd.DataFrame(X).add_prefix("f").assign(session=qid)
    ranker = sg.QueryRanker(Ridge(), qid="session")
    expected = cross_val_score(
        ranker, X, y, groups=None if routing else qid, cv=QueryKFold(3, "session"),
        scoring=sg.make_ranking_scorer("ndcng@10", qid="session"),
    )
    with sklearn.config_context(enable_metadata_routing=routing):
        for model in (ranker, make_pipeline(Counting(), make_pipeline(Counting(), ranker))):
            scores = cross_val_score(
                model, X, y, cv=QueryKFold(3, "session"), scoring=NDCNG, error_score="raise",
                params={},  # scikit-learn 1.6.0 fails without it while routing is on
            )
            assert scores.tolist() == expected.tolist()
        search = GridSearchCV(
            ranker, {"estimator__alpha": [1.0]}, scoring=NDCNG, cv=QueryKFold(3, "session")
        ).fit(X, y)
    assert search.best_score_ == expected.mean()
    refitted = ranker.fit(X, y)
    with pytest.warns(sg.TornQueryWarning):
        assert NDCNG(search, X.iloc[:50], y[:50]) == NDCNG(refitted, X.iloc[:50], y[:50])


def test_the_steps_of_a_pipeline_transform_once_per_score():
    X, y, qid = toy_data()
    X = np.column_stack([qid, X])
    pipeline = make_pipeline(Counting(), "passthrough", sg.QueryRanker(Ridge(), qid=0)).fit(X, y)
    expected = sg.NDCNG(k=10)(y, pipeline.predict(X), qid=qid)
    Counting.calls = 0
    assert NDCNG(pipeline, X, y) == expected
    assert Counting.calls == 1


def test_qid_in_the_call_takes_precedence_over_the_ranker():
    X, y, qid = toy_data()
    model = sg.QueryRanker(Ridge(), qid=0).fit(np.column_stack([qid, X]), y)
    X = np.column_stack([qid, X])
    other = np.arange(len(y)) // 5 + 1000
    expected = sg.NDCNG(k=10)(y, model.predict(X), qid=other)
    assert NDCNG(model, X, y, qid=other) == expected
