"""Preferences from sessions, checked against the definitions."""

import numpy as np
import pandas as pd
import pytest

import skgraded as sg


@pytest.mark.parametrize("rule", ["click_skip_above", "last_click_skip_above"])
def test_pairs_equal_the_definition(rule):
    rng = np.random.default_rng(0)
    rows, expected = [], {}
    for session in range(60):
        clicked = rng.random(rng.integers(1, 7)) < 0.4
        items = rng.permutation(50)[: len(clicked)]
        positions = np.sort(rng.permutation(20)[: len(clicked)]) + 1  # with gaps
        rows += zip([f"s{session}"] * len(clicked), items, positions, clicked, strict=True)
        # The rules of Joachims et al. (2007)
        hits = np.flatnonzero(clicked)
        if rule == "last_click_skip_above":
            hits = hits[-1:]
        expected[f"s{session}"] = {
            (items[i], items[j]) for i in hits for j in range(i) if not clicked[j]
        }
    frame = pd.DataFrame(rows, columns=["session", "item", "position", "clicked"])
    shuffled = frame.sample(frac=1, random_state=0)
    for data in (frame, shuffled):
        log = sg.ClickLog("clicked", "position", session="session", item="item", data=data)
        pairs, session = log.preferences(rule)
        result = {name: set() for name in expected}
        for name, (preferred, other) in zip(session, pairs.tolist(), strict=True):
            result[name].add((preferred, other))
        assert result == expected and len(pairs) == sum(map(len, expected.values()))


def test_preferences_of_sessions_are_evaluated():
    log = sg.ClickLog(
        [0, 1, 1, 0, 1], [1, 2, 1, 2, 3], session=["s", "s", "t", "t", "t"], item=list("abxyz")
    )
    pairs, session = log.preferences()
    assert pairs.tolist() == [["b", "a"], ["z", "y"]] and session.tolist() == ["s", "t"]
    predicted = {"s": {"a": 1, "b": 2}, "t": {"y": 2, "z": 1}}
    ev = sg.evaluate_preferences(pairs, predicted, qid=session, measures="pair_accuracy")
    assert ev.per_query["PairAccuracy"].tolist() == [1, 0]
    pairs, session = sg.ClickLog([0, 0], [1, 2], session=[1, 1], item=[1, 2]).preferences()
    assert pairs.shape == (0, 2) and session.shape == (0,)  # a session without clicks


@pytest.mark.parametrize(
    ("changes", "settings", "message"),
    [
        ({"position": [1, 1]}, {}, r"Session 's' contains position 1 twice \(again in row 1\)"),
        ({"item": ["a", "a"]}, {}, r"Session 's' contains item 'a' twice \(again in row 1\)"),
        (
            {"qid": [4, 5]},
            {},
            r"Session 's' contains the queries 4 and 5 \(in row 1\): a session is",
        ),
        ({"session": None}, {}, "preferences requires session: pass session= to ClickLog"),
        ({"item": None}, {}, "preferences requires item"),
        ({}, {"rule": "click_skip_previous"}, "rule must be one of"),
    ],
)
def test_sessions_must_be_lists_of_results_and_rules_are_checked(changes, settings, message):
    columns = {"clicked": [0, 1], "position": [1, 2], "session": ["s", "s"], "item": ["a", "b"]}
    log = sg.ClickLog(**columns | changes)
    with pytest.raises(ValueError, match=message):
        log.preferences(**settings)
