"""Which tables are logs of impressions, and what the errors for other tables advise."""

import numpy as np
import pandas as pd
import pytest

import skgraded as sg
from skgraded.clicks.impressions import combine_codes

COLUMNS = {"clicked": [0, 1], "position": [1, 2], "qid": [0, 0], "item": ["a", "b"]}
RATES = "clicked contains rates: .*; got 0.25 in row 1. Pass one .* and n_impressions. For dwell"
COUNTED = r"numbers above 1, .*; got 60 in row 0. Pass .* as n_impressions. If .* pass clicked > 0"


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"position": [0, 1]},
            ValueError,
            "got 0 in row 0. If positions start at 0, pass position",
        ),
        ({"position": [1.5, 1]}, ValueError, "integers from 1 .*got 1.5 in row 0"),
        ({"position": [1, np.nan]}, ValueError, "got nan in row 1"),
        ({"position": [1, 10**9]}, ValueError, "to 10,000,000; got 1e"),
        ({"clicked": [-1, 1]}, ValueError, "≥ 0; got -1 in row 0"),
        ({"clicked": [np.nan, 1]}, ValueError, "got nan in row 0"),
        ({"clicked": [1]}, ValueError, "clicked has 1 rows, but position has 2"),
        ({"qid": [1]}, ValueError, "qid has 1 rows, but clicked has 2.$"),
        ({"item": ["a", None]}, ValueError, "item is missing in row 1"),
        ({"session": ["s", None]}, ValueError, "session is missing in row 1"),
        ({"n_impressions": [2, 0]}, ValueError, "n_impressions must .* ≥ 1; got 0 in row 1"),
        (
            {"n_impressions": [2.5, 1]},
            ValueError,
            "n_impressions must contain integers .*; got 2.5",
        ),
        (
            {"n_impressions": [1, 1], "clicked": [1, 2]},
            ValueError,
            r"≤ n_impressions; got 2 in row 1. Count them with count_if\(clicks > 0\), not with sum",
        ),
        (
            {"n_impressions": [9, 9], "clicked": [1.5, 1]},
            ValueError,
            "integer .*; got 1.5 in row 0",
        ),
        ({"clicked": "clicked"}, TypeError, "clicked must .* pass the table with data=..."),
        (
            {"data": {}},
            TypeError,
            "If data is passed, clicked must be the name of a column; got li",
        ),
        # Logs without impressions
        ({"clicked": [0, 0.25]}, ValueError, RATES),
        ({"clicked": [1, 0.25], "n_impressions": [8, 8]}, ValueError, RATES),
        ({"clicked": [60, 0]}, ValueError, COUNTED),
        # counted per position
        ({"clicked": [60, 25], "qid": None, "item": None}, ValueError, COUNTED),
        (
            {"clicked": [1, 1]},
            ValueError,
            "Every row has a click, .*: pass a row for each document that was sh",
        ),
        ({"clicked": [9, 37.5], "session": [0, 0]}, ValueError, "Every row has a click"),
        (
            {"clicked": [3, 2], "n_impressions": [3, 2]},
            ValueError,
            r"clicked equals n_impressions .* count\(\*\)",
        ),
    ],
    ids=str,
)
def test_invalid_columns_and_logs_without_impressions_raise_one_clear_error(
    changes, error, message
):
    with pytest.raises(error, match=message):
        sg.ClickLog(**COLUMNS | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"clicked": [60, 0], "session": [0, 0]},  # seconds of dwell time
        {"clicked": [60, 0], "position": [1, 1], "item": ["a", "a"]},
        {"clicked": [0, 0]},
        {"clicked": [60, 25], "n_impressions": [60, 100]},
        {"clicked": [True, False]},
    ],
    ids=str,
)
def test_dwell_times_and_counts_are_logs(changes):
    assert sg.ClickLog(**COLUMNS | changes).grades([1, 0.5]).shape == (2,)


def test_events_of_one_impression_are_merged_by_the_lines_that_the_error_shows():
    log = sg.datasets.make_clicks([2, 0, 1] * 9, np.arange(27), np.repeat(np.arange(9), 3), 30)
    shown = pd.DataFrame({name: log[name] for name in ("session", "qid", "item", "position")})
    events = pd.concat(
        [shown.assign(click=0), shown[log.clicked == 1].assign(click=1)], ignore_index=True
    )
    names = {"clicked": "click", **{name: name for name in shown}}
    message = "Rows .* are the same impression .*, with and with"
    with pytest.raises(ValueError, match=message) as info:
        sg.ClickLog(**names, data=events)
    text = str(info.value)
    assert (
        "SELECT session, qid, item, position, max(click) AS click FROM log "
        "GROUP BY session, qid, item, position in SQL." in text
    ) and text.endswith("a different session id for each result list.")
    line = text.partition("take the maximum: ")[2].partition(" in pandas")[0]
    merged = eval(line, {"log": events})
    assert merged["click"].sum() == log.clicked.sum() and len(merged) == len(log.clicked)
    grades = sg.ClickLog(**names, data=merged).grades(1 / np.arange(1, 4.0))
    assert len(grades) == len(merged)
    # A click on the same document in another list does not belong to this impression.
    twice = {"clicked": [0, 1], "position": [1, 1], "item": ["a", "a"], "session": ["s", "s"]}
    sg.ClickLog(**twice, qid=["p", "q"])
    sg.ClickLog(**twice | {"session": ["s", "t"]}, qid=["p", "p"])


def test_columns_that_simulated_sessions_return_fit_data():
    log = sg.datasets.make_clicks([1, 0], [1, 2], [0, 0], n_sessions=5, random_state=0)
    ids = {"qid": "qid", "item": "item", "session": "session"}
    from_names = sg.ClickLog("clicked", "position", **ids, data=log)
    from_arrays = sg.ClickLog(log.clicked, log.position, **{name: log[name] for name in ids})
    assert repr(from_names) == repr(from_arrays) and "10 impressions" in repr(from_names)
    for name in ("position_bias", "click_grades"):
        assert not hasattr(sg, name)
    assert not hasattr(sg.datasets, "click_preferences")


def test_keys_of_several_columns_do_not_overflow():
    large = np.array([2**40, 0, 2**40, 2**40])
    keys = combine_codes([large, large, np.array([5, 5, 5, 4]), large])
    assert keys[0] == keys[2] and len(set(keys)) == 3 and keys.min() >= 0
