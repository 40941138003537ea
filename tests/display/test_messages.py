"""Bad input of a Display raises one clear error, before any figure is created."""

from functools import cache

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from small_reports import systems

import skgraded as sg

THRESHOLD, CUTOFF = sg.ThresholdCurveDisplay, sg.CutoffCurveDisplay
DIFFERENCE, INTERVAL = sg.QueryDifferenceDisplay, sg.IntervalDisplay
X, Y = np.eye(3), [1, 0, 2]


def predictions(cls, y_score=(1, 2, 3), y_true=Y, **settings):
    return cls.from_predictions(y_true, y_score, **settings)


@cache
def reports():
    return systems(["good", "fair", "poor"], 6, ["NDCNG@5", "AP"])


@cache
def comparison():
    return sg.compare(reports(), baseline="fair", test=None)


def segments():
    return sg.compare(reports(), test=None, by=["x", "y"] * 3)


def pair(**names):
    return lambda: DIFFERENCE.from_comparison(comparison(), **names)


ROWS = [
    # y_true, y_score and settings of curves
    (
        lambda: predictions(THRESHOLD, {"a": [1, 2, 3], "b": [1, 2]}),
        ValueError,
        "^y_score of 'b' has 2 rows",
    ),
    (
        lambda: predictions(CUTOFF, [1, np.nan, 3]),
        ValueError,
        "^y_score must not contain NaN; got nan for row 1",
    ),
    *(
        (
            lambda cls=cls: predictions(cls, qid=[1, 1, 2], unjudged_documents="ignore"),
            ValueError,
            "unjudged_documents must be one of .*'ignore'",
        )
        for cls in (THRESHOLD, CUTOFF)
    ),
    # estimators
    (
        lambda: CUTOFF.from_estimator(Ridge().fit(X, Y), X, Y),
        ValueError,
        "requires the query of each row: pass qid or group",
    ),
    (lambda: CUTOFF.from_estimator(Ridge(), X, Y, qid=[1, 1, 2]), NotFittedError, "not fitted"),
    # measures and cut-offs
    (
        lambda: predictions(CUTOFF, measures="ndcg@10"),
        ValueError,
        "must accept a cut-off but not set one; got NDCG@10",
    ),
    (lambda: predictions(CUTOFF, cutoffs=[]), ValueError, "^cutoffs is empty"),
    (lambda: predictions(CUTOFF, cutoffs=[0, 1]), ValueError, "^cutoffs must be at least 1; got 0"),
    (lambda: predictions(CUTOFF, cutoffs=10), ValueError, "^cutoffs must be 1-D; got a single va"),
    # pairs of systems
    (pair(), ValueError, r"system=None and baseline=None must .* but they select 2\."),
    (pair(system="fair"), ValueError, "system='fair' and baseline=None must .* select 0"),
    # reports
    *(
        (lambda cls=cls: cls.from_comparison(segments()), ValueError, "must not have segments")
        for cls in (DIFFERENCE, INTERVAL)
    ),
    (
        lambda: INTERVAL.from_evaluations(reports(), measures="rr"),
        ValueError,
        "one of the evaluated measures NDCNG@5, AP; got RR",
    ),
    (
        lambda: sg.PositionBiasDisplay.from_bias([1, 0.5]),
        TypeError,
        "^bias must have the type PositionBias; got list",
    ),
    (lambda: INTERVAL.from_comparison(reports()), TypeError, "^comparison must have .* got dict"),
    (lambda: INTERVAL.from_evaluations([1]), TypeError, "^evaluations must have .* got list"),
    # arrays of the constructors
    (
        lambda: THRESHOLD([1, 2], [0.5, 0.5, 0.5]),
        ValueError,
        r"average_precision must have shape \(n_systems, 2\)",
    ),
    (
        lambda: CUTOFF([1, 2, 3], np.zeros((3, 2)), measures=["a", "b"]),
        ValueError,
        r"values must have shape \(n_systems, 2, 3\)",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), ROWS, ids=range(len(ROWS)))
def test_bad_input_raises_one_clear_error(call, error, message):
    with pytest.raises(error, match=message):
        call()
