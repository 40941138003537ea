"""Rounding errors and the size of the values change no result of a test."""

import numpy as np
import pytest
from small_reports import drawn

import skgraded as sg
from skgraded.stats import agreement
from skgraded.stats.paired_tests import TESTS

# many differences are equal or 0
FIRST, SECOND = np.random.default_rng(0).integers(0, 9, (2, 30)) / 8


def evaluation(values):
    return sg.Evaluation(np.arange(len(values)), {"DCG": values}, {"DCG": values != values})


def systems(scale, noise=4e-16):
    """The values FIRST and SECOND times a scale, with rounding errors."""
    errors = noise * np.random.default_rng(1).integers(-1, 2, 30)
    return {"a": evaluation(FIRST * scale), "b": evaluation(SECOND * scale * (1 + errors))}


@pytest.mark.parametrize("grade, gain", [(1000, "linear"), (8, "exp2"), (30, "exp2")])
def test_orders_of_equal_grades_are_tied(grade, gain):
    y, qid = np.full(1000, grade), np.repeat(np.arange(100), 10)
    rng = np.random.default_rng(0)
    scores = {"a": rng.normal(size=1000), "b": rng.integers(0, 3, 1000)}
    evs = sg.evaluate(y, scores, qid=qid, measures=sg.DCG(gain=gain))
    compared = [sg.compare(evs, **drawn(test, n_resamples=100)) for test in TESTS]
    for comparison in [*compared, sg.compare(sg.Summaries.of(evs))]:
        (row,) = comparison.to_frame().itertuples()
        assert (row.wins, row.ties, row.losses, row.p_value) == (0, 100, 0, 1.0)
        assert (row.difference, row.ci_low, row.ci_high, row.effect_size) == (0, 0, 0, 0)
        assert str(comparison.leaderboard()).count("*") == 3  # both systems and the legend
    changes = sg.compare_periods(*map(sg.Summary.of, evs.values()))
    columns = ["difference", "ci_low", "ci_high", "p_value"]
    assert changes[columns].values.tolist() == [[0, 0, 0, 1]]
    days = [sg.Summary.of(evs[name], label=str(i)) for i, name in enumerate("aababb")]
    assert not sg.trend(days)["is_outside"].any()
    means = np.array([next(iter(ev.mean().values())) for ev in evs.values()])
    assert agreement.mean_ranks(means).tolist() == [1.5, 1.5]
    assert np.isnan(agreement.tau_b(means, np.array([1.0, 2.0])))


@pytest.mark.parametrize("scale", [1000.0, 1e6])
@pytest.mark.parametrize("test", TESTS)
def test_p_values_do_not_depend_on_the_scale(test, scale):
    (expected,), (row,) = (
        sg.compare(evs, **drawn(test, n_resamples=199)).to_frame().itertuples()
        for evs in (systems(1.0, 0.0), systems(scale))
    )
    assert (row.wins, row.ties, row.losses) == (expected.wins, expected.ties, expected.losses)
    assert row.p_value == pytest.approx(expected.p_value, rel=1e-9)
    assert row.effect_size == pytest.approx(expected.effect_size, rel=1e-9)
    for name in ("difference", "ci_low", "ci_high", "min_detectable"):
        assert getattr(row, name) / scale == pytest.approx(getattr(expected, name), rel=1e-9)


@pytest.mark.parametrize("test", ["t", "bootstrap", "randomization"])
def test_equal_differences_of_large_values_have_the_p_value_of_all_flips(test):
    values = 2.0 ** np.arange(12, 20)  # 4,096 to 524,288, next to which 0.1 has rounding errors
    evs = {"a": evaluation(values), "b": evaluation(values + 0.1)}
    assert np.ptp(evs["b"].per_query["DCG"] - values) > 1e-11
    (row,) = sg.compare(evs, **drawn(test)).to_frame().itertuples()
    assert row.p_value == 2 * 2.0**-8 and row.ci_low == row.ci_high
