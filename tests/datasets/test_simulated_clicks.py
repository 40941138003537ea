"""Simulated sessions."""

import numpy as np
import pandas as pd
import pytest

from skgraded.datasets import make_clicks

Y, QID = np.array([2, 0, 1, 0, 2, 1]), np.array([7, 7, 7, 8, 8, 8])
SCORES = [[3, 2, 1, 1, 2, 3], [1, 2, 3, 3, 2, 1]]
ATTRACTION = 0.1 + 0.9 * (2.0**Y - 1) / 3


@pytest.mark.parametrize("model", ["position", "trust"])
def test_click_rates_are_those_of_the_model(model):
    theta = np.array([0.9, 0.6, 0.3])
    log = make_clicks(Y, SCORES, QID, 100_000, model, theta, random_state=0)
    assert log.examination.tolist() == theta.tolist()
    rates = pd.Series(log.clicked).groupby([log.item, log.position]).mean()
    for (item, k), rate in rates.items():
        g = ATTRACTION[item]
        if model == "trust":
            g = (1 - 0.1 * (k - 1) / 3) * g + 0.3 / k * (1 - g)
        assert rate == pytest.approx(theta[k - 1] * g, abs=0.015)


def test_sessions_show_the_rankings_of_the_systems():
    log = make_clicks(Y, SCORES, QID, 50, examination=[1, 1], random_state=0)
    shown = {tuple(log.item[log.session == s]) for s in range(50)}
    assert shown == {(0, 1), (2, 1), (5, 4), (3, 4)}
    assert (log.qid == QID[log.item]).all() and set(log.position) == {1, 2}
    again = make_clicks(Y, SCORES, QID, 50, examination=[1, 1], random_state=0)
    assert (again.clicked == log.clicked).all() and set(log.clicked) <= {0, 1}
    one = make_clicks(Y, SCORES[0], QID, 5, noise=1, random_state=0)
    assert one.clicked[one.position == 1].all()  # noise=1: every document is attractive


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "cascade"}, "model must be one of"),
        *(({"y_scores": empty}, "y_scores is empty") for empty in ([], (), [[]])),
        ({"noise": 2}, "noise"),
        ({"n_sessions": 0}, "n_sessions must be at least 1"),
        ({"examination": [2.0]}, "examination must contain probabilities from 0 to 1"),
    ],
)
def test_invalid_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        make_clicks(**{"y_true": Y, "y_scores": SCORES, "qid": QID} | settings)
