"""Queries seen in part: what a Series of queries, looked up by the row index, can know."""

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    KFold,
    LeaveOneGroupOut,
    ShuffleSplit,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables import toy_data

import skgraded as sg

pd = pytest.importorskip("pandas")

IN_PART = re.compile(
    r"(\d+) of the (\d+) queries to (fit|score), such as (.+), are incomplete: "
    r"X does not contain (\d+) of their rows in qid"
)
ALPHAS = {"estimator__alpha": [0.1, 1, 10, 100]}


@pytest.fixture
def rows():
    """A frame of three features, its grades and its queries by row label."""
    X, y, qid = toy_data()
    labels = [f"document {i}" for i in range(len(y))]
    return pd.DataFrame(X[:, [0, 2, 3]], labels, list("abc")), y, pd.Series(qid, labels)


def caught(work):
    """The result of the work, and its warnings about torn queries."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        result = work()
    return result, [one for one in record if issubclass(one.category, sg.TornQueryWarning)]


def counts(torn, verb):
    """(queries in part, all queries, missing rows) of each warning about a fit, or a score."""
    found = [IN_PART.search(str(one.message)) for one in torn]
    return [(int(m[1]), int(m[2]), int(m[5])) for m in found if m and m[3] == verb]


def counts_by_hand(qid, part):
    """The same for rows of the queries by their positions."""
    missing = [
        int(np.sum(qid == query) - np.sum(qid[part] == query)) for query in np.unique(qid[part])
    ]
    return sum(m > 0 for m in missing), len(missing), sum(missing)


# scikit-learn's tools ----------------------------------------------------------------------------

@pytest.mark.parametrize(
    "cv", [KFold(3), KFold(3, shuffle=True, random_state=0), ShuffleSplit(3, random_state=0)],
    ids=str,
)
def test_splits_of_rows_say_how_many_queries_are_seen_in_part(rows, cv):
    X, y, qid = rows
    scorer = sg.make_ranking_scorer("ndcng@10", qid=qid)
    _, torn = caught(lambda: cross_val_score(sg.QueryRanker(Ridge(), qid=qid), X, y, cv=cv))
    splits = list(cv.split(X))
    assert counts(torn, "fit") == [counts_by_hand(qid.to_numpy(), train) for train, _ in splits]
    # the score says the worse: that the ranker was fitted on these queries
    assert len(torn) == 2 * len(splits)
    assert sum("among those that the ranker was fitted on" in str(one.message) for one in torn) == 3
    # of a regressor it is not known what it was fitted on
    _, torn = caught(lambda: cross_val_score(Ridge(), X, y, cv=cv, scoring=scorer))
    assert counts(torn, "score") == [counts_by_hand(qid.to_numpy(), test) for _, test in splits]


@pytest.mark.parametrize(
    ("halving", "options"),
    [(HalvingGridSearchCV, {}), (HalvingRandomSearchCV, {"n_candidates": 4})],
)
def test_halving_on_rows_warns_at_every_fit_and_score_on_some_of_them(rows, halving, options):
    X, y, qid = rows
    search = halving(
        sg.QueryRanker(Ridge(), qid=qid), ALPHAS, resource="n_samples", min_resources=60, factor=2,
        random_state=0, cv=GroupKFold(3), scoring=sg.make_ranking_scorer("ndcng@10", qid=qid),
        **options,
    )
    search, torn = caught(lambda: search.fit(X, y, groups=qid))
    n_partial = 3 * np.sum(search.cv_results_["n_resources"] < len(y))
    assert n_partial > 0
    assert len(counts(torn, "fit")) == n_partial
    assert len(counts(torn, "score")) == 2 * n_partial  # on the rows of the fit too


@pytest.mark.parametrize("shuffle", [False, True])
def test_scikit_learns_learning_curve_warns_at_every_number_of_rows_but_all(rows, shuffle):
    X, y, qid = rows
    _, torn = caught(lambda: learning_curve(
        sg.QueryRanker(Ridge(), qid=qid), X, y, groups=qid, cv=GroupKFold(3), shuffle=shuffle,
        random_state=0, train_sizes=[0.2, 0.5, 1.0],
    ))
    assert len(counts(torn, "fit")) == 2 * 3
    assert len(counts(torn, "score")) == 2 * 3  # of the training rows; test queries are whole


def test_where_the_rows_come_query_by_query_the_learning_curve_tears_one(rows):
    X, y, qid = rows
    order = np.argsort(qid.to_numpy(), kind="stable")
    X, y, qid = X.iloc[order], y[order], qid.iloc[order]
    _, torn = caught(lambda: learning_curve(
        sg.QueryRanker(Ridge(), qid=qid), X, y, groups=qid, cv=GroupKFold(3), train_sizes=[45]
    ))
    # 45 rows are 4 queries of 10 rows and half of one
    assert counts(torn, "fit") == [(1, 5, 5)] * 3


@pytest.mark.parametrize("cv", [GroupKFold(3), LeaveOneGroupOut(),
                                GroupShuffleSplit(3, random_state=0)], ids=str)
def test_splits_by_query_are_silent(rows, cv):
    X, y, qid = (part[(rows[2] <= 8).to_numpy()] for part in rows)  # warnings are errors here
    scorer = sg.make_ranking_scorer("ndcng@10", qid=qid)
    for ranker in (
        sg.QueryRanker(Ridge(), qid=qid),
        make_pipeline(StandardScaler(), sg.QueryRanker(Ridge(), qid=qid)).set_output(
            transform="pandas"
        ),
    ):
        cross_validate(
            ranker, X, y, groups=qid, cv=cv, scoring=scorer, return_train_score=True,
            error_score="raise",
        )
    search = GridSearchCV(
        sg.QueryRanker(Ridge(), qid=qid), {}, cv=cv, scoring=scorer, error_score="raise"
    )
    search.fit(X, y, groups=qid).score(X, y)


def test_a_ranker_in_a_pipeline_warns_if_the_pipeline_keeps_the_index(rows):
    X, y, qid = rows
    pipeline = make_pipeline(StandardScaler(), sg.QueryRanker(Ridge(), qid=qid))
    with pytest.warns(sg.TornQueryWarning, match=IN_PART):
        pipeline.set_output(transform="pandas").fit(X[:100], y[:100])


# What is counted ---------------------------------------------------------------------------------

def test_queries_that_are_left_out_are_not_torn_and_one_missing_row_is_enough(rows):
    X, y, qid = rows
    some = (qid <= 12).to_numpy(copy=True)
    ranker = sg.QueryRanker(Ridge(), qid=qid).fit(X[some], y[some])
    ranker.score(X[~some], y[~some])
    some[np.flatnonzero(qid == 7)[3]] = False
    _, torn = caught(lambda: ranker.fit(X[some], y[some]))
    assert counts(torn, "fit") == [(1, 12, 1)]
    assert "such as 7, are" in str(torn[0].message)


def test_the_order_of_the_rows_and_rows_drawn_twice_do_not_matter(rows):
    X, y, qid = rows
    order = np.random.default_rng(0).permutation(len(y))
    ranker = sg.QueryRanker(Ridge(), qid=qid.sort_values())
    ranker.fit(X.iloc[order], y[order])
    twice = np.concatenate([order, order[:50]])
    ranker.fit(X.iloc[twice], y[twice])
    drawn = np.repeat(order[:120], 2)
    _, torn = caught(lambda: ranker.fit(X.iloc[drawn], y[drawn]))
    assert counts(torn, "fit") == [counts_by_hand(qid.to_numpy(), order[:120])]


KINDS = {
    "text": lambda qid: qid.map("q{}".format),
    "pairs": lambda qid: qid.map(lambda one: (one // 5, one % 5)),
    "float": lambda qid: qid / 2,
    "Int64": lambda qid: qid.astype("Int64"),
    "category": lambda qid: qid.astype("category"),
    "mixed": lambda qid: pd.Series([str(i) if i % 2 else i for i in qid], qid.index, dtype=object),
}


@pytest.mark.parametrize("kind", KINDS)
def test_queries_of_any_kind_are_counted(rows, kind):
    X, y, qid = rows
    ids = KINDS[kind](qid)
    scorer = sg.make_ranking_scorer("ndcng@10", qid=ids)
    model = Ridge().fit(X, y)
    scorer(model, X, y)
    _, torn = caught(lambda: scorer(model, X[:100], y[:100]))
    assert counts(torn, "score") == [counts_by_hand(qid.to_numpy(), np.arange(100))]
    assert f"such as {ids.tolist()[0]!r}, are" in str(torn[0].message)


def test_labels_without_a_query_are_of_no_query(rows):
    X, y, qid = rows
    gaps = qid.astype(float)
    gaps.iloc[5] = np.nan
    others = np.flatnonzero((qid != qid.iloc[5]).to_numpy())
    sg.QueryRanker(Ridge(), qid=gaps).fit(X.iloc[others], y[others])
    whole = np.flatnonzero(gaps.notna())
    sg.QueryRanker(Ridge(), qid=gaps).fit(X.iloc[whole], y[whole])


def test_rows_left_out_on_purpose_are_left_out_of_the_queries_too(rows):
    X, y, qid = rows
    judged = np.arange(len(y)) % 3 > 0
    with pytest.warns(sg.TornQueryWarning, match=re.escape("qid=series.loc[X.index]")):
        sg.QueryRanker(Ridge(), qid=qid).fit(X[judged], y[judged])
    sg.QueryRanker(Ridge(), qid=qid.loc[X[judged].index]).fit(X[judged], y[judged])


def test_the_warnings_point_at_the_callers_line(rows):
    X, y, qid = rows
    ranker = sg.QueryRanker(Ridge(), qid=qid).fit(X, y)
    half = X[:100], y[:100]
    scorer = sg.make_ranking_scorer("ndcng@10", qid=qid)
    for work in (
        lambda: ranker.fit(*half), lambda: ranker.score(*half),
        lambda: scorer(Ridge().fit(X, y), *half),
    ):
        _, torn = caught(work)
        assert [one.filename for one in torn] == [__file__]


def test_any_ranker_that_remembers_its_queries_is_recognised(rows):
    X, y, qid = rows
    ranker = sg.QueryRanker(Ridge()).fit(X[:100], y[:100], qid=qid[:100])
    other = SimpleNamespace(
        fitted_queries_=ranker.fitted_queries_, query_column_=None, predict=ranker.predict
    )
    scorer = sg.make_ranking_scorer("ndcng@10")
    scorer(other, X[:100], y[:100], qid=qid[:100])  # the rows of the fit
    with pytest.warns(sg.TornQueryWarning, match="the ranker was fitted on"):
        scorer(other, X[100:], y[100:], qid=qid[100:])


# What nobody can know ----------------------------------------------------------------------------

def test_a_column_is_cut_with_the_rows_so_that_nothing_shows():
    X, y, qid = toy_data()
    search = HalvingGridSearchCV(
        sg.QueryRanker(Ridge(), qid=1), ALPHAS, resource="n_samples", min_resources=60, factor=2,
        random_state=0, cv=GroupKFold(3), scoring=sg.make_ranking_scorer("ndcng@10", qid=1),
    )
    _, torn = caught(lambda: search.fit(X, y, groups=qid))
    assert not torn
    _, torn = caught(lambda: learning_curve(
        sg.QueryRanker(Ridge(), qid=1), X, y, groups=qid, cv=GroupKFold(3), shuffle=True
    ))
    assert not torn
