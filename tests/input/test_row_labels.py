"""Warnings about pandas objects whose rows have the same labels in a different order."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import skgraded as sg
from skgraded.measures import cutoff_curve
from skgraded.measures.preferences import edrc_per_query

X, Y, QID = sg.datasets.make_ranking(n_queries=12, n_documents=5, random_state=0)
N = len(Y)
ROWS = np.arange(N)
ORDER = np.random.default_rng(1).permutation(N)
INDEXES = {
    "strings": [f"r{i}" for i in range(N)],
    "numbers": np.arange(N) * 2,
    "range": range(N),
    "dates": pd.date_range("2026-01-01", periods=N),
    "repeated": np.arange(N) % 7,
    "categories": pd.CategoricalIndex(np.where(np.arange(N) % 2, "a", "b")),
    "tuples": pd.MultiIndex.from_arrays([QID, np.arange(N)]),
    "mixed": [1.5, *"a" * (N - 1)],
}
RANKER = sg.QueryRanker(Ridge())
CALLS = {  # (function, the arguments that differ, the column that is shuffled)
    "measure": (lambda c: sg.AP()(c.y, c.s, qid=c.q), ("y_true", "y_score"), "s"),
    "per_query": (lambda c: sg.AP().per_query(c.y, c.s, qid=c.q), ("y_true", "qid"), "q"),
    "n_undefined": (lambda c: sg.AP().n_undefined(c.y, qid=c.q), ("y_true", "qid"), "q"),
    "Judgments": (
        lambda c: sg.Judgments(c.y, qid=QID, sample_weight=c.s - c.s.min()),
        ("y_true", "sample_weight"),
        "s",
    ),
    "Judgments, scores": (
        lambda c: sg.RR()(sg.Judgments(c.y, qid=QID), c.s),
        ("y_true", "y_score"),
        "s",
    ),
    "evaluate": (lambda c: sg.evaluate(c.y, c.s, qid=c.q), ("y_true", "y_score"), "s"),
    "evaluate, systems": (
        lambda c: sg.evaluate(Y, {"a": c.y, "b": c.s}, qid=QID),
        ("y_score 'a'", "y_score 'b'"),
        "s",
    ),
    "evaluate_preferences": (
        lambda c: sg.evaluate_preferences(c.pairs, dict.fromkeys(QID, {0: 1, 1: 2}), qid=c.q),
        ("true_pairs", "qid"),
        "q",
    ),
    "edrc_score": (
        lambda c: sg.edrc_score(c.pairs, dict.fromkeys(QID, {0: 1, 1: 2}), qid=c.q),
        ("true_pairs", "qid"),
        "q",
    ),
    "edrc_per_query": (
        lambda c: edrc_per_query(c.pairs, dict.fromkeys(QID, {0: 1, 1: 2}), qid=c.q),
        ("true_pairs", "qid"),
        "q",
    ),
    "compare_judges": (
        lambda c: sg.compare_judges({"a": c.y, "b": Y}, {"c": c.s, "d": c.s}, qid=c.q, rng=0),
        ("y_judges['a']", "y_scores['c']"),
        "s",
    ),
    "compare_judges, grades": (
        lambda c: sg.compare_judges({"a": c.y, "b": c.s.rank() % 5}, qid=QID),
        ("y_judges['a']", "y_judges['b']"),
        "s",
    ),
    "rbo": (lambda c: sg.rbo(c.y, c.s), ("x", "y"), "s"),
    "make_clicks": (
        lambda c: sg.datasets.make_clicks(c.y, [X[:, 0], c.s], c.q, n_sessions=2, random_state=0),
        ("y_true", "y_scores[1]"),
        "s",
    ),
    "ClickLog": (
        lambda c: sg.ClickLog(c.y > 0, 1 + QID, qid=c.q),
        ("clicked", "qid"),
        "q",
    ),
    "ClickLog.compare": (
        lambda c: sg.ClickLog(c.y > 0, 1 + QID, qid=c.y, item=ROWS, session=ROWS).compare(
            {"a": X[:, 0], "b": c.s}, bias=np.ones(N), clusters="session", n_resamples=0
        ),
        ("clicked", "y_scores['b']"),
        "s",
    ),
    "a curve": (lambda c: cutoff_curve(c.y, c.s, qid=c.q), ("y_true", "y_score"), "s"),
    "cross_evaluate": (
        lambda c: sg.cross_evaluate(RANKER, c.X, c.y, qid=c.q, cv=2),
        ("X", "y"),
        "y",
    ),
    "fit": (lambda c: RANKER.fit(c.X, c.y, qid=c.q), ("X", "qid"), "q"),
    "score": (
        lambda c: RANKER.fit(X[:0:-1], Y[:0:-1], qid=-1 - QID[1:]).score(c.X, c.y, qid=c.q),
        ("X", "qid"),
        "q",
    ),
}


class Columns:
    """Columns with the same index; one column may be shuffled together with its labels."""

    def __init__(self, index, shuffled=None):
        self.X, self.y = pd.DataFrame(X, index=index), pd.Series(Y, index=index)
        self.s, self.q = pd.Series(X[:, 0], index=index), pd.Series(QID, index=index)
        self.pairs = pd.DataFrame({"preferred": 1, "other": 0}, index=index)
        if shuffled is not None:
            setattr(self, shuffled, getattr(self, shuffled).iloc[ORDER])


@pytest.mark.parametrize("name", CALLS)
def test_every_function_warns_once_and_names_both_arguments_and_the_row(name):
    call, arguments, shuffled = CALLS[name]
    labels = pd.Index(INDEXES["strings"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(Columns(labels))
    row = int(np.argmax(labels != labels[ORDER]))
    first, second = map(re.escape, arguments)
    message = (
        f"^{first} and {second} have the same row labels in a different order: row {row} is "
        f"'{labels[row]}' in {first} and '{labels[ORDER][row]}' in {second}. Rows are paired by pos"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(Columns(labels, shuffled))
    (warning,) = [item for item in caught if "have the same row labels" in str(item.message)]
    assert re.search(message, str(warning.message))
    assert warning.filename == __file__


@pytest.mark.parametrize("kind", INDEXES)
def test_labels_of_any_type_are_compared_and_rows_are_never_realigned(kind):
    index = pd.Index(INDEXES[kind])
    columns = Columns(index, "s")
    with pytest.warns(UserWarning, match="^y_true and y_score have the same row labels"):
        value = sg.MuAP()(columns.y, columns.s, qid=columns.q)
    assert value == sg.MuAP()(Y, X[ORDER, 0], qid=QID)


def test_other_labels_are_silent(recwarn):
    columns = Columns(pd.Index(INDEXES["strings"]), "s")
    for scores in (
        columns.s.to_numpy(),
        columns.s.reset_index(drop=True),
        columns.s.tolist(),
        columns.s.rename(lambda label: label + "x"),
    ):
        sg.evaluate(columns.y, scores, qid=columns.q)
    copied = columns.y.rename(str)  # equal labels in another index object
    sg.Judgments(columns.y, qid=columns.q, sample_weight=copied - copied.min() + 1)
    assert not recwarn


def test_two_arguments_that_differ_from_a_third_are_compared():
    columns = Columns(pd.Index(INDEXES["strings"]), "s")
    with pytest.warns(UserWarning, match="^qid and y_score have the same row labels"):
        sg.evaluate(columns.y.reset_index(drop=True), columns.s, qid=columns.q)
