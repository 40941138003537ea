"""Rounding errors and the size of the values change no result; exact sums equal fractions."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from small_reports import compared, drawn, only_row

import skgraded as sg
from skgraded.stats import judges
from skgraded.stats.intervals import compute_t_interval, mean_interval
from skgraded.stats.paired_tests import TESTS
from skgraded.stats.rounding import Moments, dot_exactly, sum_exactly

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
    assert judges.rank_means(means).tolist() == [1.5, 1.5]
    assert np.isnan(judges.tau_b(means, np.array([1.0, 2.0])))


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 2.0**-40, 1000.0, 1e6])
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


@pytest.mark.parametrize("scale", [1e-12, 2.0**-40, 1.0, 2.0**40, 1e6])
def test_values_are_tied_if_they_are_equal_up_to_rounding_relative_to_the_values(scale):
    def outcomes(first, second):
        row = only_row(compared(np.multiply(first, scale), np.multiply(second, scale)))
        return row["wins"], row["ties"], row["losses"]

    # The mean size is (0.75 + 0.5 + 0.25) / 3 = 0.5, and 5e-13 * 0.5 = 2.5e-13.
    assert outcomes([0.75, 0.5, 0.25], [0.75, 0.5, 0.25 + 2e-13]) == (0, 3, 0)
    assert outcomes([0.75, 0.5, 0.25], [0.75, 0.5 - 3e-13, 0.25 + 3e-13]) == (1, 1, 1)
    # Where numbers cancel, a correlation of 0 has the rounding errors of the numbers.
    assert outcomes([0.0, 0.5, -0.5], [1e-16, 0.5, -0.5]) == (0, 3, 0)
    assert outcomes([0.0, 0.0], [1e-16, 2e-16]) == (2, 0, 0)
    # A large value has larger errors, but does not hide the differences between other values.
    assert outcomes([1e6, 1.0, 2.0], [1e6 + 1e-10, 1.001, 1.999]) == (1, 1, 1)


def test_tiny_values_have_the_p_values_of_their_ranks_and_means():
    # Each value of b is larger, and t of the differences is far from 0.
    a = np.random.default_rng(0).random(60)
    b = a + np.random.default_rng(1).uniform(0.02, 0.06, 60)
    for test, expected in {
        "randomization": 2 / 10_000,
        "t": stats.ttest_1samp(b - a, 0).pvalue,
        "wilcoxon": stats.wilcoxon(b - a).pvalue,
    }.items():
        row = only_row(compared(a * 1e-12, b * 1e-12, test=test))
        assert row["p_value"] == pytest.approx(expected, rel=1e-6) and row["wins"] == 60
    tiny = {"a": evaluation(a * 1e-12), "b": evaluation(b * 1e-12)}
    row = only_row(sg.compare(sg.Summaries.of(tiny)))
    assert row["wins"] == 60 and row["p_value"] == pytest.approx(
        stats.ttest_1samp(b - a, 0).pvalue, rel=1e-6
    )
    periods = [sg.Summary.of(ev) for ev in tiny.values()]
    assert sg.compare_periods(*periods)["p_value"][0] == pytest.approx(
        stats.ttest_ind(a, b, equal_var=False).pvalue
    )
    days = [
        sg.Summary.of(evaluation(np.array([mean, mean + 0.2]) * 1e-12), label=str(day))
        for day, mean in enumerate([0.1, 0.11, 0.1, 0.12, 0.11, 5.0])
    ]
    assert sg.trend(days)["is_outside"].tolist() == [False] * 5 + [True]
    assert tiny["b"].minus(tiny["a"]).per_query["DCG"] == pytest.approx((b - a) * 1e-12, rel=1e-3)
    assert judges.rank_means(np.array([2e-13, 1e-13, 3e-13])).tolist() == [2, 1, 3]


def test_many_close_differences_of_different_sizes_keep_their_ranks():
    # Sorted by size, consecutive differences differ by less than 5e-13 * 0.5.
    values = 0.5 + 1e-9 * np.random.default_rng(0).normal(0.01, 1, 20_000)
    row = only_row(compared(np.full(20_000, 0.5), values, test="wilcoxon"))
    assert row["p_value"] == pytest.approx(stats.wilcoxon(values - 0.5).pvalue, rel=0.01)


# Exact sums, compared with Python's fractions -----------------------------------------------------


def normal(n, seed=0):
    return np.random.default_rng(seed).normal(size=n)


def uniform(n, seed=0):
    return np.random.default_rng(seed).random(n)


NUMBERS = {
    "none": np.empty(0),
    "zeros": np.zeros(3),
    "values": uniform(1000),
    "both signs": normal(1000),
    "all sizes": normal(1000) * 10.0 ** np.random.default_rng(1).integers(-300, 300, 1000),
    "the largest and the smallest": np.array([1.7e308, 1.7e308, -1.7e308, 5e-324, -1e-310]),
    "the largest of all": np.full(1000, np.finfo(float).max),
    "the smallest of all": np.full(1000, -5e-324),
    "every power of 2": np.ldexp(1.0, np.arange(-1074, 1024)),
    "every bit": -np.ldexp(2.0**53 - 1, np.arange(-1074, 971)),
    "what rounding loses": np.array([1.0, 1e-20, -1.0]),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_sums_and_sums_of_products_equal_fractions(name):
    x, y = NUMBERS[name], NUMBERS[name][::-1]
    assert sum_exactly(x) == sum(map(Fraction, x.tolist()))
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    assert dot_exactly(x, y) == sum(Fraction(a) * Fraction(b) for a, b in pairs)


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_in_any_order_have_the_moments_of_the_whole(weighted):
    values = uniform(1000)
    weights = uniform(1000, seed=1) if weighted else None
    whole = Moments.of(values, weights)
    even, odd = (Moments.of(values[i::2], weights[i::2] if weighted else None) for i in (0, 1))
    assert even + odd == odd + even == whole
    assert Moments.of(np.empty(0), np.empty(0) if weighted else None) + whole == whole
    assert whole.mean == pytest.approx(np.average(values, weights=weights), rel=1e-15)


@pytest.mark.parametrize("scale", [1.0, 1e-250, 1e250])
@pytest.mark.parametrize("spread", [1.0, 1e-6])
def test_the_interval_equals_the_interval_of_the_values(scale, spread):
    values, weights = 0.5 + spread * normal(500), scale * uniform(500, seed=1)
    for weights_or_none in (None, weights, np.full(500, scale)):
        limits = compute_t_interval(Moments.of(values, weights_or_none), 0.95)
        assert limits == pytest.approx(mean_interval(values, weights_or_none, 0.95, "t"), abs=1e-13)
    # the interval of identical values is their value
    assert compute_t_interval(Moments.of(np.full(3, 0.7)), 0.95) == (0.7, 0.7)
    assert np.isnan(compute_t_interval(Moments.of(np.array([0.7])), 0.95)).all()


def test_the_deviation_is_weighted_and_signs_can_be_reversed():
    values, weights = normal(20), uniform(20, seed=1)
    mean = np.average(values, weights=weights)
    expected = np.sqrt(np.average((values - mean) ** 2, weights=weights) * 20 / 19)
    assert Moments.of(values, weights).deviation() == pytest.approx(expected, rel=1e-13)
    assert Moments.of(values).deviation() == pytest.approx(np.std(values, ddof=1), rel=1e-13)
    assert -Moments.of(values, weights) == Moments.of(-values, weights)


def test_standard_errors_of_huge_values_and_products_that_are_too_large():
    values = normal(9)
    for scale in (1.0, 2.0**1000, 2.0**-1000):  # their squares are not floats
        scaled = Moments.of(scale * values)
        assert scaled.standard_error == scale * Moments.of(values).standard_error
        assert scaled.deviation() == scale * Moments.of(values).deviation()
    assert Moments.of(np.array([0.25, 1.0]), np.array([1e308, 1e308])).mean == (0.25 + 1) / 2
    with pytest.raises(FloatingPointError, match="overflow"):
        Moments.of(np.array([1.0, -3.0]), np.array([1e308, 1e308]))
