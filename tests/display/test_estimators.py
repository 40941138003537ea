"""Plots of estimators and of their predictions agree."""

import numpy as np
import pandas as pd
import pytest
from drawings import described
from matplotlib.figure import Figure
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import skgraded as sg

X, y, qid = sg.datasets.make_ranking(30, 6, random_state=0)
CURVES = pytest.mark.parametrize("cls", [sg.ThresholdCurveDisplay, sg.CutoffCurveDisplay])


def heights(display):
    return [line.get_ydata().tolist() for line in display.lines_]


@CURVES
def test_estimators_are_plotted_like_their_scores(cls):
    ranker = sg.QueryRanker(LinearRegression()).fit(X, y, qid=qid)
    classifier = LogisticRegression().fit(X, y)
    for estimator, scores in (
        (ranker, ranker.predict(X)),
        (classifier, classifier.predict_proba(X) @ classifier.classes_),
    ):
        display = cls.from_estimator(estimator, X, y, qid=qid, ax=Figure().subplots())
        expected = cls.from_predictions(y, scores, qid=qid, ax=Figure().subplots())
        assert heights(display) == heights(expected)
        assert display.name == [type(estimator).__name__]


@pytest.mark.parametrize("rule", ["irrelevant", "drop"])
@CURVES
def test_unjudged_documents_have_grade_0_or_are_left_out(cls, rule):
    grades = np.where(np.arange(len(y)) % 5 == 0, np.nan, y)
    known = ~np.isnan(grades) if rule == "drop" else np.full(len(y), True)
    weights = 1.0 + qid % 3
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, X[:, 0])
    scores = {type(model).__name__: model.predict(X)}
    expected = cls.from_predictions(
        np.nan_to_num(grades)[known],
        {name: values[known] for name, values in scores.items()},
        qid=qid[known],
        sample_weight=weights[known],
        ax=Figure().subplots(),
    )
    settings = {"qid": qid, "sample_weight": weights, "unjudged_documents": rule}
    for display in (
        cls.from_predictions(grades, scores, **settings, ax=Figure().subplots()),
        cls.from_estimator(model, X, grades, **settings, ax=Figure().subplots()),
    ):
        assert [*described(display)] == [*described(expected)]


def test_judgments_group_sizes_and_query_ids_give_the_same_plot():
    y, score, cls = [1, 0, 2, 0, 1], [1, 2, 3, 4, 5], sg.ThresholdCurveDisplay
    qid, weights = [7, 7, 3, 3, 3], [1, 1, 2, 2, 2]
    judgments = sg.Judgments(y, qid=qid, sample_weight=weights)
    plots = [
        cls.from_predictions(judgments, score, ax=Figure().subplots()),
        cls.from_predictions(y, score, qid=qid, sample_weight=weights, ax=Figure().subplots()),
        cls.from_predictions(y, score, group=[2, 3], sample_weight=weights, ax=Figure().subplots()),
    ]
    assert heights(plots[0]) == heights(plots[1]) == heights(plots[2])


def test_query_ids_are_read_from_the_same_source_as_by_the_ranker():
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    with_column = frame.assign(query=qid)
    scores, cls = LinearRegression().fit(X, y).predict(X), sg.ThresholdCurveDisplay
    expected = cls.from_predictions(y, scores, qid=qid, ax=Figure().subplots())
    for source, table in (("query", with_column), (-1, with_column), (pd.Series(qid), frame)):
        ranker = sg.QueryRanker(LinearRegression(), qid=source).fit(table, y)
        for argument in {None, None if table is frame else source}:
            display = cls.from_estimator(ranker, table, y, qid=argument, ax=Figure().subplots())
            np.testing.assert_allclose(heights(display), heights(expected), atol=1e-9)


def test_training_queries_cause_a_warning(ax):
    half = np.arange(len(y)) % 2 == 0
    model = sg.QueryRanker(LinearRegression()).fit(X[half], y[half], qid=qid[half])
    with pytest.warns(sg.TornQueryWarning, match="the ranker was fitted on"):
        sg.CutoffCurveDisplay.from_estimator(model, X[~half], y[~half], qid=qid[~half], ax=ax)
