"""Preferences from sessions, and simulated sessions."""

import numpy as np
import pandas as pd
import pytest

import skgraded as sg
from skgraded.datasets import click_preferences, make_clicks

RULES = ["click_skip_above", "last_click_skip_above", "click_skip_previous", "click_no_click_next"]


def pairs_by_definition(clicked, rule):
    """Positions (preferred, other) in one session, by the rules of Joachims et al. (2007)."""
    n, hits = len(clicked), [i for i, click in enumerate(clicked) if click]
    if rule == "click_skip_above":
        return {(i, j) for i in hits for j in range(i) if not clicked[j]}
    if rule == "last_click_skip_above":
        return {(i, j) for i in hits[-1:] for j in range(i) if not clicked[j]}
    step = -1 if rule == "click_skip_previous" else 1
    return {(i, i + step) for i in hits if 0 <= i + step < n and not clicked[i + step]}


@pytest.mark.parametrize("rule", RULES)
def test_pairs_equal_the_definition(rule):
    rng = np.random.default_rng(0)
    rows, expected = [], {}
    for session in range(60):
        clicked = rng.random(rng.integers(1, 7)) < 0.4
        items = rng.permutation(50)[: len(clicked)]
        positions = np.sort(rng.permutation(20)[: len(clicked)]) + 1  # with gaps
        rows += zip([f"s{session}"] * len(clicked), items, positions, clicked, strict=True)
        expected[f"s{session}"] = {
            (items[i], items[j]) for i, j in pairs_by_definition(clicked, rule)
        }
    frame = pd.DataFrame(rows, columns=["session", "item", "position", "clicked"])
    shuffled = frame.sample(frac=1, random_state=0)
    for data in (frame, shuffled):
        pairs, session = click_preferences(
            "clicked", "position", session="session", item="item", rule=rule, data=data
        )
        result = {name: set() for name in expected}
        for name, (preferred, other) in zip(session, pairs.tolist(), strict=True):
            result[name].add((preferred, other))
        assert result == expected and len(pairs) == sum(map(len, expected.values()))


def test_preferences_of_sessions_are_evaluated():
    pairs, session = click_preferences(
        [0, 1, 1, 0, 1], [1, 2, 1, 2, 3], session=["s", "s", "t", "t", "t"], item=list("abxyz")
    )
    assert pairs.tolist() == [["b", "a"], ["z", "y"]] and session.tolist() == ["s", "t"]
    predicted = {"s": {"a": 1, "b": 2}, "t": {"y": 2, "z": 1}}
    ev = sg.evaluate_preferences(pairs, predicted, qid=session, measures="pair_accuracy")
    assert ev.per_query["PairAccuracy"].tolist() == [1, 0]
    pairs, session = click_preferences([0, 0], [1, 2], session=[1, 1], item=[1, 2])
    assert pairs.shape == (0, 2) and session.shape == (0,)  # a session without clicks


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"position": [1, 1]}, "Session 's' contains position 1 twice"),
        ({"item": ["a", "a"]}, r"Session 's' contains item 'a' twice \(again in row 1\)"),
        ({"rule": "skip"}, "rule must be one of"),
        ({"session": ["s", None]}, "session is missing"),
        ({"clicked": [np.nan, 1]}, "got nan in row 0"),
        ({"position": [0, 1]}, "pass position . 1"),
    ],
)
def test_invalid_sessions_are_refused(changes, message):
    settings = {"clicked": [0, 1], "position": [1, 2], "session": ["s", "s"], "item": ["a", "b"]}
    with pytest.raises(ValueError, match=message):
        click_preferences(**settings | changes)


# Simulated sessions ------------------------------------------------------------------------------

Y, QID = np.array([2, 0, 1, 0, 2, 1]), np.array([7, 7, 7, 8, 8, 8])
SCORES = [[3, 2, 1, 1, 2, 3], [1, 2, 3, 3, 2, 1]]
ATTRACTION = 0.1 + 0.9 * (2.0**Y - 1) / 3


def rates(log):
    frame = pd.DataFrame({name: log[name] for name in ("item", "position", "clicked")})
    return frame.groupby(["item", "position"])["clicked"].mean()


@pytest.mark.parametrize("model", ["position", "trust"])
def test_click_rates_are_those_of_the_model(model):
    theta = np.array([0.9, 0.6, 0.3])
    log = make_clicks(Y, SCORES, QID, 100_000, model, theta, random_state=0)
    assert log.examination.tolist() == theta.tolist()
    for (item, position), rate in rates(log).items():
        g, k = ATTRACTION[item], position
        if model == "trust":
            g = (1 - 0.1 * (k - 1) / 3) * g + 0.3 / k * (1 - g)
        assert rate == pytest.approx(theta[k - 1] * g, abs=0.015)


def test_a_cascade_ends_with_the_first_click():
    log = make_clicks(Y, SCORES, QID, 20_000, "cascade", random_state=0)
    assert np.bincount(log.session, log.clicked).max() == 1
    first = log.position == 1
    assert log.examination[0] == 1 and log.examination[1] == pytest.approx(
        1 - log.clicked[first].mean()
    )


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
        ({"model": "dbn"}, "model must be one of"),
        *(({"y_scores": empty}, "y_scores is empty") for empty in ([], (), [[]])),
        ({"noise": 2}, "noise"),
        ({"n_sessions": 0}, "n_sessions must be at least 1"),
        ({"examination": [2.0]}, "examination must be from 0 to 1"),
        (
            {"examination": [1.0], "model": "cascade"},
            "The cascade model determines the examination",
        ),
    ],
)
def test_invalid_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        make_clicks(**{"y_true": Y, "y_scores": SCORES, "qid": QID} | settings)
