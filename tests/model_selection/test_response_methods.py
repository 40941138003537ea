"""Scorers, cross_evaluate and Displays compute document scores from an estimator alike."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from catboost import CatBoostRegressor
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import skgraded as sg
from skgraded.model_selection.scorer import score_documents

CLASSIFIERS = [
    LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1),
    make_pipeline(StandardScaler(), LogisticRegression()),
]
MEASURE = sg.NDCNG(k=10)
X, y, qid = sg.datasets.make_ranking(n_queries=30, random_state=0)


def expected_grades(estimator, X):
    return estimator.predict_proba(X) @ estimator.classes_


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=["LightGBM", "pipeline"])
def test_classifiers_are_scored_by_the_expected_grade(classifier):
    values = np.zeros(30)
    for train, test in GroupKFold(3).split(X, y, qid):
        fitted = clone(classifier).fit(X[train], y[train])
        queries = np.unique(qid[test])
        scores = expected_grades(fitted, X[test])
        values[queries] = MEASURE.per_query(y[test], scores, qid=qid[test])
    cv = sg.cross_evaluate(classifier, X, y, qid=qid, measures=MEASURE, cv=3)
    np.testing.assert_allclose(cv.per_query[MEASURE.name], values, rtol=1e-12)
    scorer = sg.make_ranking_scorer(MEASURE, qid=0)
    model = make_pipeline(FunctionTransformer(lambda table: table[:, 1:]), clone(classifier))
    scores = cross_val_score(
        model, np.column_stack([qid, X]), y, groups=qid, cv=GroupKFold(3), scoring=scorer
    )
    np.testing.assert_allclose(cv.by_fold()[MEASURE.name], scores, rtol=1e-12)
    by_labels = sg.cross_evaluate(
        classifier, X, y, qid=qid, measures=MEASURE, cv=3, response_method="predict"
    )
    assert by_labels.mean()[MEASURE.name] < cv.mean()[MEASURE.name]


@pytest.mark.parametrize("n_grades", [2, 3])
def test_only_two_classes_are_scored_by_the_decision_function(n_grades):
    grades = np.minimum(y, n_grades - 1)
    fitted = LogisticRegression(max_iter=1000).fit(X, grades)
    scores = fitted.decision_function(X) if n_grades == 2 else expected_grades(fitted, X)
    value = sg.make_ranking_scorer(MEASURE)(fitted, X, grades, qid=qid)
    assert value == pytest.approx(MEASURE(grades, scores, qid=qid), rel=1e-12)


class Probabilities:
    """A classifier of the grades 0 to 3 whose probabilities are the columns of X."""

    _estimator_type = "classifier"
    classes_ = np.arange(4)

    def predict_proba(self, X):
        return np.asarray(X)


# Each row contains the probabilities of the grades 0 to 3, in tenths.
TENTHS = [row for row in product(range(11), repeat=4) if sum(row) == 10]


def test_equal_expected_grades_tie():
    scores = score_documents(Probabilities(), np.array(TENTHS) / 10, ["predict_proba"])
    exact = np.array([Fraction(b + 2 * c + 3 * d, 10) for _, b, c, d in TENTHS])
    assert len(np.unique(scores)) == len(set(exact)) == 31
    np.testing.assert_allclose(scores, exact.astype(float), rtol=1e-10)


@pytest.mark.parametrize(
    "classifier",
    [
        *CLASSIFIERS,
        RandomForestClassifier(20, random_state=0),
        GaussianNB(),
    ],
    ids=["LightGBM", "pipeline", "forest", "Bayes"],
)
def test_expected_grades_do_not_depend_on_the_position_of_a_row(classifier):
    fitted = clone(classifier).fit(X, y)
    scores = score_documents(fitted, X, ["predict_proba"])
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = score_documents(fitted, np.asfortranarray(X[order]), ["predict_proba"])
    np.testing.assert_array_equal(shuffled, scores[order])
    alone = [score_documents(fitted, X[[i]], ["predict_proba"])[0] for i in range(20)]
    np.testing.assert_array_equal(alone, scores[:20])
    gaps = np.diff(np.unique(scores))
    assert gaps.min() > 1e-9  # expected grades differ clearly or tie


def test_estimators_without_metadata_routing_are_cross_evaluated():
    booster = CatBoostRegressor(
        iterations=5, thread_count=1, verbose=False, allow_writing_files=False, cat_features=[]
    )
    cv = sg.cross_evaluate(booster, X, y, qid=qid, measures=MEASURE, cv=3)
    assert cv.mean()[MEASURE.name] > 0.3
