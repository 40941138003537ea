"""Learning curves over numbers of queries."""

import numpy as np
import pytest
import sklearn
from never_fitted import NeverFitted
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    ShuffleSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_rankers import fitted_by_hand, lambdarank
from tables import FRAMES, TABLES, toy_data

import skgraded as sg
from skgraded.model_selection import learning_curve

pd = pytest.importorskip("pandas")

MEASURES = ["ndcng@10", "mu_map"]
NAMES = ["NDCNG@10", "MuAP"]
FEATURES = [0, 2, 3]


@pytest.fixture(params=[False, True], ids=["routing off", "routing on"])
def routing(request):
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield


@pytest.mark.parametrize("make", [Ridge, lambdarank])
def test_a_learning_curve_is_the_loop_by_hand(routing, make):
    X, y, qid = toy_data()
    X = X[:, FEATURES]
    curve = learning_curve(
        sg.QueryRanker(make()), X, y, qid=qid, measures=MEASURES, cv=3, train_sizes=[16, 4, 9]
    )
    assert curve.n_queries.tolist() == [4, 9, 16]
    for size, n in enumerate([4, 9, 16]):
        for fold, (train, test) in enumerate(GroupKFold(3).split(X, groups=qid)):
            first = list(dict.fromkeys(qid[train].tolist()))[:n]
            part = train[np.isin(qid[train], first)]
            model = fitted_by_hand(make(), X[part], y[part], qid[part])
            assert curve.n_rows[size, fold] == len(part)
            for name in NAMES:
                for rows, found in ((part, curve.train_scores), (test, curve.test_scores)):
                    expected = sg.measure(name)(y[rows], model.predict(X[rows]), qid=qid[rows])
                    assert found[name][size, fold] == pytest.approx(expected, abs=1e-9)


class Diary(RegressorMixin, BaseEstimator):
    """Writes the first column of what it is fitted on, the numbers of rows, into a list."""

    def __init__(self, pages):
        self.pages = pages

    def __sklearn_clone__(self):
        return self  # so that all fits write into one list

    def fit(self, X, y):
        self.pages.append(X[:, 0].astype(int))
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.parametrize("shuffle", [False, True])
def test_training_queries_are_whole_and_nested_and_never_tested(shuffle):
    _, y, qid = toy_data()
    X, pages = np.arange(len(y))[:, None], []
    learning_curve(
        Diary(pages), X, y, qid=qid, cv=4, train_sizes=[3, 7, 18], shuffle=shuffle, random_state=1
    )
    tests = [qid[test] for _, test in GroupKFold(4).split(X, groups=qid)]
    assert len(pages) == 3 * 4
    for fold, tested in enumerate(tests):
        before = set()
        for n, rows in zip([3, 7, 18], pages[fold::4], strict=True):
            queries = set(qid[rows])
            assert len(queries) == n
            assert sorted(rows) == np.flatnonzero(np.isin(qid, list(queries))).tolist()
            assert queries > before
            assert not queries & set(tested)
            before = queries


def test_shuffled_queries_depend_on_the_random_state_only():
    X, y, qid = toy_data()

    def rows(**shuffled):
        pages = []
        learning_curve(Diary(pages), np.arange(len(y))[:, None], y, qid=qid, cv=2,
                       train_sizes=[4], **shuffled)
        return [page.tolist() for page in pages]

    assert rows(shuffle=True, random_state=0) == rows(shuffle=True, random_state=0)
    assert rows(shuffle=True, random_state=0) != rows(shuffle=True, random_state=1)
    assert rows() == rows(random_state=0) != rows(shuffle=True, random_state=0)


def test_fractions_are_of_the_queries_of_the_smallest_training_part():
    sizes = np.array([40, 20, 10, 10, 10, 10])
    qid = np.repeat(np.arange(6), sizes)
    X, y = np.arange(100.0)[:, None], np.arange(100) % 3
    # GroupKFold(2) puts queries 0 and one of 10 rows into a fold, the other 4 into the other.
    smallest = min(len(np.unique(qid[train])) for train, _ in GroupKFold(2).split(X, groups=qid))
    assert smallest == 2
    curve = learning_curve(Ridge(), X, y, qid=qid, cv=2, train_sizes=[0.01, 0.5, 0.6, 1.0])
    assert curve.n_queries.tolist() == [1, 2]
    curve = learning_curve(Ridge(), X, y, qid=qid, cv=LeaveOneGroupOut())
    assert curve.n_queries.tolist() == [1, 2, 3, 4, 5]  # 0.1, 0.325, 0.55, 0.775 and 1.0 of 5
    assert curve.n_rows[-1].tolist() == [100 - n for n in sizes]


def test_all_queries_give_the_cross_evaluation():
    X, y, qid = toy_data()
    X = X[:, FEATURES]
    curve = learning_curve(Ridge(), X, y, qid=qid, cv=3, train_sizes=[0.5, 1.0])
    by_query = sg.cross_evaluate(Ridge(), X, y, qid=qid, cv=3)
    assert list(curve.test_scores) == list(by_query.per_query) == NAMES
    for fold, evaluation in enumerate(curve.evaluations[-1]):
        of_fold = by_query.fold == fold
        assert set(evaluation.query_ids) == set(by_query.query_ids[of_fold])
        for name in NAMES:
            expected = by_query.per_query[name][of_fold]
            np.testing.assert_allclose(evaluation.per_query[name], expected, atol=1e-12)
            assert curve.test_scores[name][-1, fold] == pytest.approx(expected.mean())


def test_queries_may_be_tested_more_than_once():
    X, y, qid = toy_data()
    splits = GroupShuffleSplit(6, test_size=0.25, random_state=0)
    curve = learning_curve(Ridge(), X[:, FEATURES], y, qid=qid, cv=splits, train_sizes=[5, 18])
    assert curve.test_scores["MuAP"].shape == (2, 6)
    for evaluation, (_, test) in zip(curve.evaluations[0], splits.split(X, y, qid), strict=True):
        assert set(evaluation.query_ids) == set(qid[test])


@pytest.mark.parametrize("kind", TABLES)
def test_a_curve_of_any_table_by_column(kind):
    X, y, qid = toy_data()
    ranker = sg.QueryRanker(Ridge(), qid="query_id" if kind in FRAMES else 1)
    expected = learning_curve(Ridge(), X[:, FEATURES], y, qid=qid, cv=2, train_sizes=[3, 9])
    found = learning_curve(ranker, TABLES[kind](X), y, cv=2, train_sizes=[3, 9])
    for name in NAMES:
        np.testing.assert_allclose(found.test_scores[name], expected.test_scores[name], atol=1e-9)


def test_a_curve_by_index_by_group_sizes_and_of_a_pipeline(routing):
    X, y, qid = toy_data()
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order][:, FEATURES], y[order], qid[order]
    frame = pd.DataFrame(X, columns=list("abc")).set_axis(-np.arange(len(X)))
    given = dict(cv=2, train_sizes=[3, 9])
    expected = learning_curve(Ridge(), X, y, qid=qid, **given)
    pipeline = make_pipeline(StandardScaler(), sg.QueryRanker(Ridge(alpha=0)))
    unscaled = learning_curve(Ridge(alpha=0), X, y, qid=qid, **given)
    for found, curve in (
        (learning_curve(
            sg.QueryRanker(Ridge(), qid=pd.Series(qid, frame.index)), frame, y, **given
        ), expected),
        (learning_curve(Ridge(), X, y, group=np.unique(qid, return_counts=True)[1], **given),
         expected),
        (learning_curve(pipeline, X, y.tolist(), qid=[f"q{q:02}" for q in qid], **given),
         unscaled),
    ):
        np.testing.assert_allclose(
            found.test_scores["MuAP"], curve.test_scores["MuAP"], atol=1e-9
        )


def test_a_curve_as_a_frame_and_as_a_text():
    X, y, qid = toy_data()
    curve = learning_curve(Ridge(), X, y, qid=qid, measures="ap", cv=2, train_sizes=[3, 9])
    frame = curve.to_frame()
    assert frame.columns.tolist() == ["n_queries", "fold", "n_rows", "train_AP", "test_AP"]
    assert frame["n_queries"].tolist() == [3, 3, 9, 9]
    assert frame["fold"].tolist() == [0, 1, 0, 1]
    assert frame["n_rows"].tolist() == [30, 30, 90, 90]
    assert frame["test_AP"].tolist() == curve.test_scores["AP"].ravel().tolist()
    assert frame["train_AP"].tolist() == curve.train_scores["AP"].ravel().tolist()
    few, many = curve.test_scores["AP"].mean(axis=1)
    assert repr(curve) == f"LearningCurve(3 to 9 queries: AP={few:.4f} to {many:.4f})"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(train_sizes=[0.0, 0.5]), r"fractions of the queries in \(0, 1\].*got 0.0"),
        (dict(train_sizes=[0.5, 10]), r"fractions of the queries in \(0, 1\].*got 10.0"),
        (dict(train_sizes=[np.nan]), r"got nan"),
        (dict(train_sizes=[0, 5]), r"numbers of queries from 1 to 12.*got 0"),
        (dict(train_sizes=[13]), r"numbers of queries from 1 to 12.*got 13"),
        (dict(train_sizes=[]), r"train_sizes must be a non-empty list of numbers; got \[\]"),
        (dict(train_sizes=0.5), r"train_sizes must be a non-empty list of numbers; got 0.5"),
        (dict(train_sizes=[True]), r"train_sizes must be a non-empty list of numbers"),
        (dict(cv=KFold(2)), r"Fold 0 of cv splits 24 queries"),
        (dict(qid=None), r"pass qid or group to learning_curve"),
        (dict(measures="ndcng(max_grade=1)"), r"max_grade is 1"),
        (dict(measures=[]), r"measures is empty"),
    ],
)
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_a_bad_curve_is_refused_before_any_fit(given, message):
    X, y, qid = toy_data()
    with pytest.raises(ValueError, match=message):
        learning_curve(NeverFitted(), X, y, **dict(qid=qid, cv=2) | given)


def test_a_query_that_is_a_date_is_shown_as_one():
    X, y, qid = toy_data()
    dates = np.datetime64("2024-01-01", "ns") + qid * np.timedelta64(1, "D")
    with pytest.raises(ValueError, match=f"Fold 0 .*, such as .*'{dates[0]}'"):
        learning_curve(NeverFitted(), X, y, qid=dates, cv=ShuffleSplit(2, random_state=0))
