"""Position bias and grades from clicks, checked against simulations and the definitions."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import optimize

import skgraded as sg


def simulated(eta=1.0, n_queries=300, n_sessions=20_000, n_rankers=3, seed=0):
    """A log of rankers that order ten documents per query by noisy grades."""
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 5, size=10 * n_queries)
    scores = [y + rng.normal(0, 1.5, size=y.size) for _ in range(n_rankers)]
    return sg.datasets.make_clicks(
        y,
        scores,
        np.repeat(np.arange(n_queries), 10),
        n_sessions=n_sessions,
        examination=np.arange(1, 11.0) ** -eta,
        random_state=seed,
    )


def bias_of(columns, session="session", **settings):
    names = {name: name for name in ("clicked", "position", "qid", "item")}
    log = sg.ClickLog(**names, session=session, data=columns)
    return log.position_bias(**{"rng": 0, "n_resamples": 20} | settings)


def bias_of_items(clicked, position, n_resamples=0, **columns):
    """The bias estimated from documents of one query."""
    columns = {"qid": [0] * len(position), "item": ["a"] * len(position)} | columns
    return sg.ClickLog(clicked, position, **columns).position_bias(n_resamples=n_resamples)


LOG = simulated()
FRAME = pd.DataFrame(
    {name: LOG[name] for name in ("session", "qid", "item", "position", "clicked")}
)


def pair_sums(frame):
    """C of each pair of positions by the definition: sums of click rates over S_{k,k'}."""
    cells = frame.groupby(["qid", "item", "position"])["clicked"].mean().reset_index()
    pairs = cells.merge(cells, on=["qid", "item"])
    pairs = pairs[pairs.position_x != pairs.position_y]
    grouped = pairs.groupby(["position_x", "position_y"])
    return grouped["clicked_x"].sum().unstack(), grouped.size().unstack()


def test_pivot_and_chain_equal_their_closed_forms():
    C, _ = pair_sums(FRAME)
    pivot = [1, *(C.loc[k, 1] / C.loc[1, k] for k in range(2, 11))]
    steps = [1, *(C.loc[k + 1, k] / C.loc[k, k + 1] for k in range(1, 10))]
    np.testing.assert_allclose(bias_of(LOG, method="pivot").examination, pivot, rtol=1e-12)
    chain = bias_of(LOG, method="adjacent_chain").examination
    np.testing.assert_allclose(chain, np.cumprod(steps), rtol=1e-12)
    rates = FRAME.groupby("position")["clicked"].mean()
    randomized = bias_of(LOG, method="randomized")
    np.testing.assert_allclose(randomized.examination, rates / rates[1], rtol=1e-12)
    np.testing.assert_allclose(randomized.to_frame()["click_rate"], rates, rtol=1e-12)


def test_all_pairs_maximizes_the_likelihood_of_the_paper():
    frame = FRAME[FRAME.position <= 4]
    C, n = pair_sums(frame)
    C, N = C.to_numpy(), (n - C).to_numpy()
    upper = np.triu_indices(4, 1)

    def loss(logits):
        theta, rho = np.split(1 / (1 + np.exp(-logits)), [4])
        symmetric = np.zeros((4, 4))
        symmetric[upper] = rho
        p = theta[:, None] * (symmetric + symmetric.T)
        np.fill_diagonal(p, 0.5)
        terms = C * np.log(p) + N * np.log1p(-p)
        return -np.nansum(terms) / 1000

    theta = 1 / (1 + np.exp(-optimize.minimize(loss, np.zeros(10), tol=1e-12).x[:4]))
    np.testing.assert_allclose(
        bias_of(frame, session=None).examination, theta / theta[0], rtol=1e-4
    )


@pytest.mark.parametrize("eta", [0.5, 2])
def test_all_pairs_finds_the_truth_of_200000_sessions(eta):
    log = simulated(eta, 2000, 200_000)
    bias = bias_of(log, n_resamples=0)
    np.testing.assert_allclose(bias.examination, log.examination, atol=0.02)
    frame = bias.to_frame()
    assert frame["ci_low"].isna().all() and frame["n_impressions"].tolist() == [200_000] * 10


@pytest.mark.parametrize("unit", ["session", None])
def test_intervals_cover_the_truth(unit):
    covered = []
    for seed in range(12):
        log = simulated(1.0, 100, 4_000, seed=seed)
        frame = bias_of(log, unit, n_resamples=100).to_frame()
        low, high = frame["ci_low"], frame["ci_high"]
        covered.append((low <= log.examination) & (log.examination <= high))
    assert np.mean(covered) > 0.9


def test_counted_logs_and_every_kind_of_table_give_the_same_result():
    expected = bias_of(LOG, session=None)
    counted = FRAME.groupby(["qid", "item", "position"], sort=False)["clicked"]
    counted = counted.agg(["sum", "size"]).reset_index()
    names = {"position": "position", "qid": "qid", "item": "item"}
    same = sg.ClickLog("sum", n_impressions="size", data=counted, **names)
    logs = [same] + [
        sg.ClickLog("clicked", data=data, **names)
        for data in (
            FRAME,
            pl.from_pandas(FRAME),
            dict(FRAME),
            FRAME.assign(item=FRAME["item"].astype(str)),
        )
    ]
    for other in logs:
        bias = other.position_bias(level=Fraction(95, 100), n_resamples=20, rng=0)
        pd.testing.assert_frame_equal(bias.to_frame(), expected.to_frame(), rtol=1e-9)
    grades = counted.assign(y=same.grades(expected))["y"].sum()
    assert grades == pytest.approx(logs[1].grades(expected).sum(), rel=1e-9)


def test_positions_without_interventions_have_no_estimate():
    single = simulated(n_rankers=1, n_sessions=2_000)
    with pytest.warns(UserWarning, match="9 of 10 positions have no estimate .*: 2, 3, .*single"):
        bias = bias_of(single)
    assert bias.examination[0] == 1 and np.isnan(bias.examination[1:]).all()
    assert not bias.to_frame()["n_interventions"].any()
    # "b" moves between 1 and 2, "d" between 5 and 6: no chain connects 5 and 6 with 1.
    with pytest.warns(UserWarning, match="2 of 4 positions have no estimate .*: 5, 6"):
        bias = bias_of_items([1, 1, 1, 1, 0], [1, 2, 5, 6, 1], item=["b", "b", "d", "d", "e"])
    assert bias.to_frame()["n_impressions"].tolist() == [2, 1, 0, 0, 1, 1]
    assert bias.to_frame()["n_interventions"].tolist() == [1, 1, 0, 0, 1, 1]
    assert bias.examination[:2].tolist() == pytest.approx([1, 1]) and len(bias.examination) == 6


def test_an_impression_has_one_click_or_none():
    # Document "a" at positions 1 and 2, four impressions each: three with a click, and one.
    position, clicked = np.repeat([1, 2], 4), np.array([1, 1, 1, 0, 1, 0, 0, 0])
    times = np.array([2, 37.5, 0.5, 0, 9, 0, 0, 0])  # clicks, or seconds of dwell time
    for values in (clicked, clicked > 0, times):
        bias = bias_of_items(values, position)
        np.testing.assert_allclose(bias.examination, [1, 1 / 3], rtol=1e-5)
        assert bias.to_frame()["click_rate"].tolist() == [3 / 4, 1 / 4]
        grades = sg.ClickLog(values, position).grades([1, 0.5])
        assert grades.tolist() == [1, 1, 1, 0, 1 / 0.5, 0, 0, 0]
    # Rows of a counted log are summed, also if there are several for a document and position.
    clicked, position, n_impressions = [2, 1, 1], [1, 1, 2], [3, 1, 4]
    bias = bias_of_items(clicked, position, n_impressions=n_impressions)
    np.testing.assert_allclose(bias.examination, [1, 1 / 3], rtol=1e-5)
    counted = sg.ClickLog(clicked, position, n_impressions=n_impressions)
    assert counted.grades([1, 0.5]).tolist() == [2, 1, 1 / 0.5]
    assert repr(counted) == "ClickLog(8 impressions, 4 of them with a click)"


def few_queries(n_queries, n_others=0):
    """Queries that show a document at two positions, and others that show it at position 1."""
    qid = np.append(np.repeat(np.arange(n_queries), 2), n_queries + np.arange(n_others))
    position = np.append(np.tile([1, 2], n_queries), np.ones(n_others, int))
    n_clicks = np.where(position == 1, 6, 2 + qid % 3)
    return sg.ClickLog(
        n_clicks,
        position,
        qid=qid,
        item=np.zeros(len(qid)),
        n_impressions=np.full(len(qid), 10),
    )


@pytest.mark.parametrize(
    "method, needed", [("all_pairs", 15), ("adjacent_chain", 15), ("pivot", 50)]
)
def test_intervals_of_few_queries_are_unknown(method, needed):
    for n_queries, n_others in ((1, 0), (3, 0), (needed - 1, 500)):
        message = f"only {n_queries} queries show documents at several positions.*than {needed} are"
        with pytest.warns(UserWarning, match=message):
            bias = few_queries(n_queries, n_others).position_bias(method, rng=0)
        assert bias.to_frame()[["ci_low", "ci_high"]].isna().all(axis=None)
        assert bias.examination[1] > 0.2
    row = few_queries(needed).position_bias(method, rng=0).to_frame().iloc[1]
    assert row["ci_low"] < row["examination"] < row["ci_high"]
    few_queries(1).position_bias(method, n_resamples=0)  # no interval was requested


def test_a_row_of_a_counted_log_of_random_rankings_is_no_sample():
    log = sg.ClickLog([60, 20], [1, 2], n_impressions=[100, 100])
    with pytest.warns(UserWarning, match="only 2 rows show"):
        bias = log.position_bias("randomized")
    assert bias.examination[1] == pytest.approx(20 / 60)
    assert bias.to_frame()["ci_low"].isna().all()


@pytest.mark.parametrize(
    ("columns", "settings", "error", "message"),
    [
        ({}, {"method": "chain"}, ValueError, "method must be one of"),
        ({}, {"level": 1}, ValueError, "level must be"),
        ({}, {"rng": "a"}, TypeError, "rng"),
        ({}, {"n_resamples": -1}, ValueError, "n_resamples"),
        ({}, {}, ValueError, "Position 1 has no clicks"),
        ({"position": [2, 3]}, {}, ValueError, "Position 1 has no impressions"),
        (
            {"qid": None},
            {},
            ValueError,
            "method='all_pairs' requires qid: pass qid= to ClickLog",
        ),
    ],
    ids=str,
)
def test_invalid_logs_and_settings_raise_one_clear_error(columns, settings, error, message):
    valid = {"clicked": [0, 1], "position": [1, 2], "qid": [0, 0], "item": ["a", "a"]}
    log = sg.ClickLog(**valid | columns)
    with pytest.raises(error, match=message):
        log.position_bias(**settings)


# Grades ------------------------------------------------------------------------------------------


def test_clicks_divided_by_examination_estimate_sums_without_bias():
    rng = np.random.RandomState(0)
    y, qid = rng.randint(0, 3, size=400), np.repeat(np.arange(40), 10)
    log = sg.datasets.make_clicks(y, rng.rand(400), qid, n_sessions=40_000, random_state=0)
    bias = np.full(10, np.nan)
    bias[: len(log.examination)] = log.examination
    new = rng.rand(400)  # the scores of a new ranker
    dcg = sg.DCG(gain="linear", k=5)
    settings = {"qid": log.session}
    estimates = {
        name: dcg(grades, new[log.item], **settings)
        for name, grades in (
            ("raw", log.clicked),
            ("weighted", sg.ClickLog(log.clicked, log.position).grades(bias)),
        )
    }
    attraction = 0.1 + 0.9 * (2.0**y - 1) / 3
    expected = dcg.per_query(attraction, new, qid=qid)
    truth = np.mean([expected[q] for q in log.qid[log.position == 1]])
    assert estimates["weighted"] == pytest.approx(truth, rel=0.03)
    assert estimates["raw"] < 0.6 * truth


def test_weights_are_reciprocal_and_may_be_clipped():
    bias = bias_of(LOG)
    np.testing.assert_allclose(bias.weights([1, 3]), 1 / bias.examination[[0, 2]])
    assert bias.weights([10, 1], clip=2).tolist() == [2, 1]
    assert np.isnan(bias.weights([11])).all()
    grades = sg.ClickLog([0, 1, 0], [1, 3, 99]).grades(bias)
    assert grades.tolist() == [0, 1 / bias.examination[2], 0]


@pytest.mark.parametrize(
    ("position", "settings", "message"),
    [
        (99, {"bias": [1.0]}, "Row 1 has a click at position 99, whose examination probability"),
        (2, {"bias": [1, 0.0]}, "Row 1 has a click at position 2"),
        (2, {"bias": [1, -0.5]}, "bias must contain finite numbers ≥ 0, or nan; got -0.5 in row 1"),
        (1, {"bias": [1.0], "clip": 0.5}, "clip must be a finite number ≥ 1"),
    ],
)
def test_clicks_without_a_weight_are_refused(position, settings, message):
    with pytest.raises(ValueError, match=message):
        sg.ClickLog([0, 1], [1, position]).grades(**settings)
