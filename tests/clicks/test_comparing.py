"""Comparisons by weighted clicks, checked against the definition in plain loops."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import skgraded as sg

NAMES = {name: name for name in ("clicked", "position", "qid", "item", "session")}
COLUMNS = [
    "system",
    "dcg",
    "ci_low",
    "ci_high",
    "difference",
    "difference_low",
    "difference_high",
    "p_value",
    "n_queries",
    "n_sessions",
]


def simulated(n_queries=30, n_sessions=3_000, seed=0):
    """A log of two rankers, their scores for its rows, and scores of a better ranker."""
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 5, size=5 * n_queries)
    rankers = [y + rng.normal(0, noise, size=y.size) for noise in (1.5, 1.5, 0.5)]
    qid = np.repeat(np.arange(n_queries), 5)
    columns = sg.datasets.make_clicks(y, rankers[:2], qid, n_sessions, random_state=seed)
    scores = {name: ranker[columns.item] for name, ranker in zip("abc", rankers, strict=True)}
    return columns, scores


LOGGED, SCORES = simulated()
LOG = sg.ClickLog(**NAMES, data=LOGGED)


def value(columns, scores, examination, rows=None, clip=None, **parameters):
    """The mean over sessions of the DCG of weighted clicks."""
    rows = np.arange(len(columns.clicked)) if rows is None else rows
    weights = 1 / examination[columns.position[rows] - 1]
    grades = columns.clicked[rows] * (weights if clip is None else np.minimum(weights, clip))
    return sg.DCG(gain="linear", **parameters)(grades, scores[rows], qid=columns.session[rows])


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"k": 2},
        {"discount": "letor"},
        {"discount": lambda rank: rank**-0.5, "k": 3},
        {"clip": 3},
    ],
    ids=lambda settings: "-".join(settings),
)
def test_values_equal_the_dcg_of_weighted_clicks(settings):
    scores = {
        **SCORES,
        "tied": np.round(SCORES["a"]),
        "all tied": np.zeros(len(LOGGED.clicked)),
        "some": np.where(LOGGED.item % 3, SCORES["b"], -np.inf),  # not retrieved
    }
    bias = LOG.position_bias(n_resamples=0)
    expected = [value(LOGGED, s, bias.examination, **settings) for s in scores.values()]
    for table in (
        LOG.compare(scores, n_resamples=0, **settings),
        LOG.compare(scores, n_resamples=0, bias=bias, **settings),
    ):
        np.testing.assert_allclose(table["dcg"], expected, rtol=1e-12)
        np.testing.assert_allclose(table["difference"][1:], np.subtract(expected, expected[0])[1:])
        assert table[["ci_low", "difference_low", "p_value"]].isna().all(axis=None)


@pytest.mark.parametrize("clusters", ["qid", "session"])
@pytest.mark.parametrize("method", ["all_pairs", "pivot"])
def test_each_resample_of_clusters_estimates_the_examination_anew(clusters, method):
    columns, scores = simulated(n_queries=40, n_sessions=6_000)
    table = sg.ClickLog(**NAMES, data=columns).compare(
        scores, baseline="b", bias=method, clusters=clusters, level=0.9, n_resamples=7, rng=3
    )
    rng, samples = np.random.default_rng(3), []
    ids = columns[clusters]
    names = pd.unique(ids)
    for _ in range(7):
        drawn = rng.integers(len(names), size=len(names))
        blocks = [np.flatnonzero(ids == names[i]) for i in drawn]
        rows = np.concatenate(blocks)
        copy = np.repeat(np.arange(len(blocks)), list(map(len, blocks)))
        # Copies of a session count as new sessions, and copies of a query as new queries.
        resample = {name: columns[name][rows] for name in ("clicked", "position", "item", "qid")}
        session = np.unique([copy, columns.session[rows]], axis=1, return_inverse=True)[1]
        resample["session"] = session.ravel()
        if clusters == "qid":
            resample["qid"] = copy
        log = sg.ClickLog(**NAMES, data=resample)
        examination = log.position_bias(method, n_resamples=0).examination
        resample = type(columns)(**resample)
        samples.append([value(resample, s[rows], examination) for s in scores.values()])
    n, means = len(names), table["dcg"].to_numpy()
    reach = stats.t.ppf(0.95, n - 1) * np.std(samples, axis=0, ddof=1)
    np.testing.assert_allclose(table["ci_low"], means - reach, rtol=1e-4)
    np.testing.assert_allclose(table["ci_high"], means + reach, rtol=1e-4)
    errors = np.std(np.subtract(samples, np.array(samples)[:, [1]]), axis=0, ddof=1)[[0, 2]]
    later = table.iloc[[0, 2]]
    np.testing.assert_allclose(later["difference"], means[[0, 2]] - means[1], rtol=1e-9)
    reach = stats.t.ppf(0.95, n - 1) * errors
    np.testing.assert_allclose(
        later["difference_high"] - later["difference"], reach, rtol=1e-4, atol=1e-9
    )
    p = 2 * stats.t.sf(np.abs(later["difference"]) / errors, n - 1)
    np.testing.assert_allclose(later["p_value"], p, rtol=1e-2)
    assert list(table) == COLUMNS and table["system"].tolist() == ["a", "b", "c"]
    assert table.loc[1, COLUMNS[4:8]].isna().all()
    assert set(table["n_queries"]) == {40} and set(table["n_sessions"]) == {6000}


def test_a_value_is_arithmetic():
    # One session: a click on "y" at position 2, weight 1 / .5. The ranker puts it first, or ties.
    log = sg.ClickLog([0, 1, 0], [1, 2, 3], qid=[7] * 3, item=list("xyz"), session=[0] * 3)
    scores = {"first": [1, 2, 0], "last": [1, 0, 2], "tied": [1, 1, 1]}
    with pytest.warns(UserWarning, match="the log has only 1 queries, and comparisons need 15"):
        table = log.compare(scores, bias=[1, 0.5, 0.25])
    discounts = np.array([1, 1 / np.log2(3), 1 / np.log2(4)])
    expected = [1 / 0.5 * 1, 1 / 0.5 / np.log2(4), 1 / 0.5 * discounts.mean()]
    assert table["dcg"].tolist() == pytest.approx(expected, rel=1e-14)
    assert table[["ci_low", "ci_high"]].isna().all(axis=None)


def test_clicks_do_not_favor_the_ranker_that_produced_the_log():
    columns, scores = simulated(n_queries=200, n_sessions=20_000)
    log = sg.ClickLog(**NAMES, data=columns)
    table = log.compare(scores, rng=0, n_resamples=50)
    assert table["p_value"][1] > 0.05 and table["p_value"][2] < 1e-6
    # If the examination probabilities are known, the intervals of the means are shorter.
    fixed = log.compare(scores, bias=columns.examination, rng=0, n_resamples=50)
    lengths = [frame["ci_high"].to_numpy() - frame["ci_low"] for frame in (fixed, table)]
    assert (lengths[0].to_numpy() < lengths[1].to_numpy()).all()
    # The scale of the scores changes nothing, and equal rankings are equal.
    same = log.compare({"a": scores["a"], "b": 2 * scores["a"] + 1}, rng=0, n_resamples=50)
    assert same.loc[1, COLUMNS[4:8]].tolist() == [0, 0, 0, 1]


def test_equal_resamples_have_the_p_value_of_a_sign_test():
    qid = np.repeat(np.arange(16), 2)  # all sessions are equal: a click at position 2
    log = sg.ClickLog([0, 1] * 16, [1, 2] * 16, qid=qid, item=list("xy") * 16, session=qid)
    scores = {"old": [2, 1] * 16, "new": [1, 2] * 16}
    row = log.compare(scores, bias=[1, 0.5], n_resamples=10).loc[1]
    gain = 1 / 0.5 * (1 - 1 / np.log2(3))
    expected = [2, 2, 2, gain, gain, gain, 2.0 ** (1 - 16)]
    assert row[COLUMNS[1:8]].tolist() == pytest.approx(expected)


def test_a_warning_counts_resamples_without_an_examination():
    # Only one of 20 queries shows a document at both positions.
    qid = np.append(np.repeat(np.arange(20), 2), [0, 0])
    session = np.append(np.repeat(np.arange(20), 2), [20, 20])
    clicked, position = [1, 1, *[1, 0] * 19, 1, 1], np.append(np.tile([1, 2], 20), [2, 1])
    item = [*"xy" * 20, *"xy"]
    log = sg.ClickLog(clicked, position, qid=qid, item=item, session=session)
    with pytest.warns(UserWarning, match=r"\d\d of 200 resamples have clicks at .*: use a longer"):
        log.compare({"a": position}, clusters="session", rng=0)
    assert log.compare({"a": position}, rng=0)["ci_low"].notna().all()


@pytest.mark.parametrize(
    ("columns", "settings", "error", "message"),
    [
        *(
            ({}, settings, error, message)
            for settings, error, message in [
                (
                    {"y_scores": [1, 2]},
                    TypeError,
                    "y_scores must be a non-empty mapping of names to scor",
                ),
                ({"y_scores": {}}, TypeError, "y_scores must be a non-empty mapping of names"),
                (
                    {"y_scores": {"a": [1]}},
                    ValueError,
                    r"y_scores\['a'\] has 1 rows, but clicked has 2",
                ),
                (
                    {"y_scores": {"a": [1, np.nan]}},
                    ValueError,
                    r"y_scores\['a'\] must not contain NaN",
                ),
                ({"baseline": "b"}, ValueError, r"baseline must be one of \['a'\]; got 'b'"),
                ({"k": 0}, ValueError, "k must be at least 1"),
                ({"discount": "linear"}, ValueError, "discount must be one of"),
                ({"bias": "chain"}, ValueError, "bias must be one of"),
                ({"bias": [1.0]}, ValueError, "Row 1 has a click at position 2"),
                ({"clip": 0}, ValueError, "clip"),
                ({"clusters": "item"}, ValueError, "clusters must be one of"),
                ({"level": 2}, ValueError, "level"),
                ({"n_resamples": -1}, ValueError, "n_resamples"),
                ({"rng": "a"}, TypeError, "rng"),
            ]
        ),
        # A single ranker
        (
            {},
            {"bias": "all_pairs"},
            ValueError,
            "Row 1 has a click at position 2, whose examination probability is unk",
        ),
        # Logs that are no lists of results per session
        ({"session": None}, {"bias": "all_pairs"}, ValueError, "compare requires session"),
        ({"item": None}, {"bias": "all_pairs"}, ValueError, "compare requires item"),
        (
            {"n_impressions": [2, 2]},
            {"bias": "all_pairs"},
            ValueError,
            "compare requires one row per impression, but rows in this log represent several impressions",
        ),
        (
            {"qid": [3, 4]},
            {"bias": "all_pairs"},
            ValueError,
            r"Session 's' contains the queries 3 and 4 \(in row 1\)",
        ),
        (
            {"item": ["x", "x"]},
            {"bias": "all_pairs"},
            ValueError,
            "Session 's' contains item 'x' twice",
        ),
    ],
    ids=str,
)
def test_invalid_logs_and_settings_raise_one_clear_error(columns, settings, error, message):
    valid = {"qid": [3, 3], "item": ["x", "y"], "session": ["s", "s"]}
    log = sg.ClickLog(**{"clicked": [0, 1], "position": [1, 2]} | valid | columns)
    with pytest.raises(error, match=message):
        log.compare(**{"y_scores": {"a": [1, 2]}, "bias": [1, 0.5]} | settings)
