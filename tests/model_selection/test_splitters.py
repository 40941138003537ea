"""QueryKFold and QueryTimeSeriesSplit, and scorers that read the query column of a ranker."""

import pickle
from functools import wraps

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from lightgbm import LGBMRegressor
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from table_kinds import FRAMES, toy_data

import skgraded as sg
from skgraded.model_selection import QueryKFold, QueryTimeSeriesSplit

NDCNG = sg.make_ranking_scorer("ndcng@10")
X, y, qid = toy_data()


def frame_of(ids, days=None, make=pd.DataFrame):
    columns = {"query": ids, "x": np.arange(len(ids))}
    return make(columns if days is None else columns | {"day": days})


def rows_of(splits):
    return [[part.tolist() for part in split] for split in splits]


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_folds_equal_the_folds_of_group_k_fold(make):
    table = make(np.column_stack([np.ones(len(qid)), qid]))
    expected = rows_of(GroupKFold(3).split(qid, groups=qid))
    for source in ("query_id", 1, -1):
        assert rows_of(QueryKFold(3, qid=source).split(table)) == expected


def test_folds_of_groups_equal_the_folds_of_group_k_fold():
    expected, by_groups = GroupKFold(3), sg.QueryKFold(3)
    assert rows_of(by_groups.split(X, y, qid)) == rows_of(expected.split(X, y, qid))
    by_column = sg.QueryKFold(3, qid=1)  # reads the column, and not the groups
    assert rows_of(by_column.split(X, y, np.zeros(len(y)))) == rows_of(by_groups.split(X, y, qid))
    settings = {"scoring": sg.make_ranking_scorer("ndcng@10", qid=1), "error_score": "raise"}
    scores = cross_val_score(Ridge(), X, y, groups=qid, cv=expected, **settings)
    assert cross_val_score(Ridge(), X, y, groups=qid, cv=by_groups, **settings).tolist() == (
        scores.tolist()
    )
    with sklearn.config_context(enable_metadata_routing=True):
        routed = sg.QueryKFold(3).set_split_request(groups="qid")
        settings |= {"params": {"qid": qid}, "cv": routed, "scoring": NDCNG}
        assert cross_val_score(Ridge(), X, y, **settings).tolist() == scores.tolist()
    for cv, ids in ((expected, qid), (by_groups, qid), (by_column, None)):
        fold = sg.cross_evaluate(Ridge(), X, y, qid=1 if ids is None else ids, cv=cv).fold
        assert fold.tolist() == sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=3).fold.tolist()


def test_shuffled_folds_keep_queries_whole_and_depend_on_the_seed():
    splits = [
        rows_of(QueryKFold(4, "query", shuffle=True, random_state=seed).split(frame_of(qid)))
        for seed in (0, 0, 1)
    ]
    assert splits[0] == splits[1] != splits[2]
    n_queries = [len({qid[row] for row in test}) for _, test in splits[0]]
    assert sum(n_queries) == len(set(qid)) and max(n_queries) - min(n_queries) <= 1
    assert sorted(sum((test for _, test in splits[0]), [])) == list(range(len(qid)))
    for train, test in splits[0]:
        assert {qid[row] for row in train}.isdisjoint(qid[row] for row in test)


@pytest.mark.parametrize("settings", [{}, {"gap": 1}, {"test_size": 1}, {"max_train_size": 2}])
@pytest.mark.parametrize("day_of", [int, float, lambda day: pd.Timestamp(2026, 11, day + 1)])
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


IDS = {
    "numbers": lambda query: query,
    "text": str,
    "two types": lambda query: query if query % 2 else str(query),
    "tuples of two types": lambda query: ("a" if query % 3 else 1, query),
    "sets": lambda query: frozenset({query, 0}),
}


class Recorder(LGBMRegressor):
    """Records the queries of each fit, which are the only feature."""

    fits: list = []

    @wraps(LGBMRegressor.fit)
    def fit(self, X, y, **parameters):
        Recorder.fits.append(sorted(set(X["number"].tolist())))
        return super().fit(X, y, **parameters)


@pytest.mark.filterwarnings("ignore:early_stopping=True chooses:UserWarning")
@pytest.mark.parametrize("id_of", IDS.values(), ids=IDS)
def test_permuting_the_rows_changes_no_fold(id_of):
    _, y, numbers = sg.datasets.make_ranking(n_queries=20, random_state=0)
    qid = pd.Series([id_of(query) for query in numbers.tolist()])

    def folds_of(rows):
        """Return the folds of all functions that divide queries into folds or hold some out."""
        X, ids = pd.DataFrame({"number": numbers}).iloc[rows], qid.iloc[rows]
        for settings in ({}, {"shuffle": True, "random_state": 0}):
            for _, test in QueryKFold(4, qid, **settings).split(X):
                yield set(numbers[rows][test])
        cv = sg.cross_evaluate(Ridge(), X, y[rows], qid=ids, cv=4)
        fold_of = dict(zip(cv.query_ids, cv.fold, strict=True))
        yield [fold_of[id_of(query)] for query in range(20)]
        Recorder.fits = []
        for k in (True, 3):
            settings = {"early_stopping": k, "validation_fraction": 0.3, "random_state": 0}
            booster = Recorder(n_estimators=2, verbose=-1, n_jobs=1)
            sg.QueryRanker(booster, **settings).fit(X, y[rows], qid=ids)
        yield sorted(Recorder.fits)  # the folds are fitted in threads

    expected = list(folds_of(np.arange(len(y))))
    for seed in range(3):
        assert list(folds_of(np.random.default_rng(seed).permutation(len(y)))) == expected


# Six times in chronological order. As text, only the first and the last sort in this order.
TEXT_TIMES = {
    "dates": ["2026-09-20", "2026-09-21", "2026-10-05", "2026-10-06", "2026-11-01", "2027-01-01"],
    "time zones": [
        "2026-11-28T09:00+02:00",
        "2026-11-28T08:00Z",
        "2026-11-28T07:00-03:00",
        "2026-11-28T13:00+01:00",
        "2026-11-28T11:00-02:00",
        "2026-11-28T10:00-05:00",
    ],
    "two forms": ["20260920", "2026-09-21", "20261005", "2026-10-06", "20261101", "2027"],
}


@pytest.mark.parametrize("texts", TEXT_TIMES.values(), ids=TEXT_TIMES)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_text_in_iso_8601_is_ordered_by_time(texts, make):
    order = np.array([3, 0, 5, 1, 4, 2])
    X = frame_of(order, [texts[i] for i in order], make)
    for train, test in QueryTimeSeriesSplit(5, time="day", qid="query").split(X):
        assert order[train].max() < order[test].min() and len(test) == 1


@pytest.mark.parametrize("texts", [["05.10.2026", "20.09.2026"], ["10", "9"], ["2026-11-28", ""]])
@pytest.mark.parametrize("dtype", ["object", "str", "category"])
def test_other_text_is_no_time_because_it_would_train_on_the_future(texts, dtype):
    X = frame_of(range(4), pd.Series(2 * texts, dtype=dtype))
    with pytest.raises(ValueError, match=r"ISO 8601.* in row [01] of X.* pd.to_datetime"):
        next(QueryTimeSeriesSplit(2, time="day", qid="query").split(X))


def test_splitters_have_the_interface_of_scikit_learn():
    splitter = QueryTimeSeriesSplit(3, time="day", qid=0, gap=1)
    assert splitter.get_n_splits() == 3
    assert repr(pickle.loads(pickle.dumps(splitter))) == repr(splitter)
    assert repr(QueryKFold(3, "q")) == (
        "QueryKFold(n_splits=3, qid='q', random_state=None, shuffle=False)"
    )


# The query column --------------------------------------------------------------------------------


@pytest.fixture(params=[int, str], ids=["numbers", "text"])
def sessions(request):
    """Return features, query ids, and a frame of features with a column of these ids."""
    features = pd.DataFrame(X[:, [0, 2, 3]]).add_prefix("f")
    ids = np.array([request.param(query) for query in qid])
    return features, ids, features.assign(session=ids)


@pytest.mark.parametrize("estimator", [Ridge(), make_pipeline(StandardScaler(), Ridge())])
def test_cross_evaluate_does_not_train_on_the_query_column_of_the_splitter(sessions, estimator):
    features, ids, frame = sessions
    expected = sg.cross_evaluate(estimator, features, y, qid=ids, cv=GroupKFold(3))
    for named in ({}, {"qid": "session"}, {"qid": ids}):
        result = sg.cross_evaluate(
            estimator, frame, y, cv=QueryKFold(3, "session"), return_estimator=True, **named
        )
        assert {fitted.n_features_in_ for fitted in result.estimators} == {3}
        assert result.mean()["NDCNG@10"] == pytest.approx(expected.mean()["NDCNG@10"], rel=1e-12)


def test_a_racing_search_does_not_train_on_the_query_column_of_the_splitter(sessions):
    features, ids, frame = sessions
    pipeline, space = make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [1.0, 1e4]}

    def search(cv):
        return sg.model_selection.RacingSearchCV(pipeline, space, cv=cv, random_state=0)

    expected = search(GroupKFold(3)).fit(features, y, qid=ids)
    result = search(QueryKFold(3, "session")).fit(frame, y)
    assert result.best_estimator_.n_features_in_ == 3
    assert result.best_score_ == pytest.approx(expected.best_score_, rel=1e-12)
    for X in (frame, features):
        assert result.predict(X).tolist() == expected.predict(features).tolist()
    assert result.score(frame, y) == expected.score(features, y, qid=ids)
    assert result.score(features, y, qid=ids) == expected.score(features, y, qid=ids)


def test_a_ranker_does_not_train_on_the_query_column_of_its_early_stopping(sessions):
    features, ids, frame = sessions
    booster = HistGradientBoostingRegressor(max_iter=5)
    ranker = sg.QueryRanker(booster, early_stopping=QueryKFold(3, "session"))
    assert ranker.fit(frame, y, qid=ids).n_features_in_ == 3
    assert ranker.predict(frame).tolist() == ranker.predict(features).tolist()


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
    frame = pd.DataFrame(X).add_prefix("f").assign(session=qid)
    ranker = sg.QueryRanker(Ridge(), qid="session")
    expected = cross_val_score(
        ranker,
        frame,
        y,
        groups=None if routing else qid,
        cv=QueryKFold(3, "session"),
        scoring=sg.make_ranking_scorer("ndcng@10", qid="session"),
    )
    with sklearn.config_context(enable_metadata_routing=routing):
        for model in (ranker, make_pipeline(Counting(), make_pipeline(Counting(), ranker))):
            scores = cross_val_score(
                model,
                frame,
                y,
                cv=QueryKFold(3, "session"),
                scoring=NDCNG,
                error_score="raise",
                params={},  # scikit-learn 1.6.0 fails without it while routing is on
            )
            assert scores.tolist() == expected.tolist()
        search = GridSearchCV(
            ranker, {"estimator__alpha": [1.0]}, scoring=NDCNG, cv=QueryKFold(3, "session")
        ).fit(frame, y)
    assert search.best_score_ == expected.mean()
    refitted = ranker.fit(frame, y)
    with pytest.warns(sg.TornQueryWarning):
        assert NDCNG(search, frame.iloc[:50], y[:50]) == NDCNG(refitted, frame.iloc[:50], y[:50])
