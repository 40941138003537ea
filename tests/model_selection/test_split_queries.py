"""Warnings if a ranker is fitted on only some rows of a query, or scores only some rows."""

import pickle
import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from table_kinds import toy_data

import skgraded as sg

PARTIAL = re.compile(
    r"(\d+) of the (\d+) queries to (fit|score), such as (.+), are incomplete: "
    r"X does not contain (\d+) of their rows in qid"
)
SCORER = sg.make_ranking_scorer("ndcng@10")
X, y, qid = toy_data()
LABELS = [f"document {i}" for i in range(len(y))]
FRAME, QUERIES = pd.DataFrame(X[:, [0, 2, 3]], LABELS, list("abc")), pd.Series(qid, LABELS)


def caught(work):
    """Return the result of the work, and its warnings about split queries."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        result = work()
    return result, [each for each in record if issubclass(each.category, sg.TornQueryWarning)]


def days(qid):
    return np.datetime64("2024-01-01", "ns") + qid * np.timedelta64(1, "D")


IDS = {
    "int": lambda qid: qid,
    "text": lambda qid: [f"query {query}" for query in qid],
    "pairs": lambda qid: [(int(query) // 5, int(query) % 5) for query in qid],
    "float": lambda qid: qid / 2,
    "dates": days,
}


# Rows of queries that the ranker was fitted on ---------------------------------------------------


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_scoring_other_rows_of_fitted_queries_warns(ids):
    whole = next(GroupKFold(2).split(qid, groups=qid))
    split = train_test_split(np.arange(len(qid)), test_size=0.4, random_state=0)
    for train, test in (whole, split):
        ranker = sg.QueryRanker(Ridge()).fit(X[train], y[train], qid=ids(qid[train]))
        known = len(set(qid[test]) & set(qid[train]))
        for score in (SCORER, sg.QueryRanker.score):
            _, record = caught(partial(score, ranker, X[test], y[test], qid=ids(qid[test])))
            assert len(record) == (known > 0)
            if known:
                assert f"{known} of the {known} queries" in str(record[0].message)


def test_the_warning_names_a_query_and_a_splitter_at_the_line_of_the_caller():
    ranker = sg.QueryRanker(Ridge()).fit(X[:200], y[:200], qid=days(qid[:200]))
    with pytest.warns(sg.TornQueryWarning) as record:
        ranker.score(X[200:], y[200:], qid=days(qid[200:]))
    assert re.search(
        f"such as .*'{days(qid[200])}'.*cv=QueryKFold.* from skgraded", str(record[0].message)
    )
    assert [warning.filename for warning in record] == [__file__]
    ranker.score(X[200:], y[200:], qid=days(qid[200:]).astype(int))  # numbers differ from dates


def test_scoring_exactly_the_fitted_rows_does_not_warn():
    table, grades = np.round(X), y.astype(float)
    ranker = sg.QueryRanker(Ridge()).fit(table, grades, qid=qid)
    order = np.random.default_rng(0).permutation(len(table))
    ranker.score(table[order], grades[order], qid=qid[order])
    assert (table == 0).any() and (grades == 0).any()
    ranker.score(np.where(table == 0, -0.0, table), np.where(grades == 0, -0.0, grades), qid=qid)
    other = grades + (np.arange(len(grades)) == 5)
    some = qid <= 12
    for rows in (
        (table[1:], grades[1:], qid[1:]),
        (table, other, qid),
        (table[some], grades[some], qid[some]),
    ):
        with pytest.warns(sg.TornQueryWarning):
            ranker.score(*rows[:2], qid=rows[2])


def test_rankers_in_pipelines_and_searches_are_recognized():
    scorer = sg.make_ranking_scorer("rr", qid=1)
    pipeline = make_pipeline(StandardScaler(), sg.QueryRanker(Ridge()))
    pipeline.fit(X[:200], y[:200], queryranker__qid=qid[:200])
    search = GridSearchCV(
        sg.QueryRanker(Ridge(), qid=1), {"estimator__alpha": [1, 2]}, cv=GroupKFold(2)
    ).fit(X[:200], y[:200], groups=qid[:200])
    for estimator in (pipeline, search):
        with pytest.warns(sg.TornQueryWarning):
            scorer(estimator, X[200:], y[200:])
        scorer(estimator, X[:200], y[:200])


# Incomplete queries in X, known from a Series ----------------------------------------------------


def counts(issued, verb):
    """Return (incomplete queries, queries, missing rows) of each warning about a fit or a score."""
    result = [PARTIAL.search(str(warning.message)) for warning in issued]
    return [(int(m[1]), int(m[2]), int(m[5])) for m in result if m and m[3] == verb]


def counts_by_hand(qid, part):
    """Count the incomplete queries, the queries and the missing rows at some positions."""
    missing = [
        int(np.sum(qid == query) - np.sum(qid[part] == query)) for query in np.unique(qid[part])
    ]
    return sum(m > 0 for m in missing), len(missing), sum(missing)


@pytest.mark.parametrize("cv", [KFold(3), ShuffleSplit(3, random_state=0)], ids=str)
def test_splits_of_rows_warn_about_incomplete_queries(cv):
    scorer = sg.make_ranking_scorer("ndcng@10", qid=QUERIES)
    ranker = sg.QueryRanker(Ridge(), qid=QUERIES)
    _, issued = caught(lambda: cross_val_score(ranker, FRAME, y, cv=cv))
    splits = list(cv.split(FRAME))
    assert counts(issued, "fit") == [counts_by_hand(qid, train) for train, _ in splits]
    # The warning about the score has the more serious reason.
    assert len(issued) == 2 * len(splits)
    shared = "among those that the ranker was fitted on"
    assert sum(shared in str(warning.message) for warning in issued) == 3
    # A regressor does not store the queries that it was fitted on.
    _, issued = caught(lambda: cross_val_score(Ridge(), FRAME, y, cv=cv, scoring=scorer))
    assert counts(issued, "score") == [counts_by_hand(qid, test) for _, test in splits]


def test_one_missing_row_is_enough_but_queries_without_rows_do_not_count():
    some = qid <= 12
    ranker = sg.QueryRanker(Ridge(), qid=QUERIES).fit(FRAME[some], y[some])
    ranker.score(FRAME[~some], y[~some])
    some[np.flatnonzero(qid == 7)[3]] = False
    _, issued = caught(lambda: ranker.fit(FRAME[some], y[some]))
    assert counts(issued, "fit") == [(1, 12, 1)]
    assert "such as 7, are" in str(issued[0].message)


@pytest.mark.parametrize("id_of", [str, int, lambda query: ("user", query)])
def test_a_pickle_contains_no_query_ids_and_still_warns_of_shared_queries(id_of):
    ids = pd.Series([id_of(123_456_789_000 + query) for query in qid.tolist()])
    ranker = sg.QueryRanker(Ridge()).fit(X[:200], y[:200], qid=ids[:200])
    text = pickle.dumps(ranker)
    for query in set(ids):
        assert pickle.dumps(query)[2:-1] not in text and str(query).encode() not in text
    loaded = pickle.loads(pickle.dumps(pickle.loads(text)))
    loaded.score(X[:200], y[:200], qid=ids[:200])
    shared = len(set(ids[:200]) & set(ids[200:]))
    with pytest.warns(sg.TornQueryWarning, match=f"^{shared} of the"):
        loaded.score(X[200:], y[200:], qid=ids[200:])
