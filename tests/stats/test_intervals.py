"""Confidence intervals of means over queries, compared with SciPy."""

import itertools

import numpy as np
import pytest
from scipy import stats
from small_reports import evaluation


def weighted_mean(values, weights, axis=-1):
    return (values * weights).sum(axis) / weights.sum(axis)


def interval(values, weights=None, level=0.95, **kwargs):
    return evaluation({"AP": values}, weights=weights).confidence_interval(level, **kwargs)["AP"]


VALUES = {
    "spread": np.random.default_rng(1).beta(2, 2, 60),
    "few": np.random.default_rng(2).beta(2, 2, 3),
    "skewed": np.random.default_rng(3).random(200) ** 8,
    "of few kinds": np.random.default_rng(4).choice([0, 1 / 3, 1 / 2, 1], 100),
    "correlations": np.random.default_rng(5).uniform(-1, 1, 50),
    "more than a batch holds": np.random.default_rng(6).beta(2, 2, 3000),
}


def by_scipy(data, statistic, seed, **kwargs):
    # SciPy 1.15 renamed random_state to rng.
    return stats.bootstrap(
        data, statistic, random_state=np.random.default_rng(seed), vectorized=True, **kwargs
    ).confidence_interval


@pytest.mark.parametrize(
    "name, level, seed",
    [
        *((name, 0.95, 0) for name in VALUES),
        ("spread", 0.8, 7),
    ],
)
def test_the_bootstrap_interval_equals_scipy(name, level, seed):
    values = VALUES[name]
    expected = by_scipy((values,), np.mean, seed, confidence_level=level, batch=100)
    limits = interval(values, level=level, method="bootstrap", rng=seed)
    np.testing.assert_allclose(limits, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ["spread", "skewed", "of few kinds", "correlations"])
def test_the_bootstrap_interval_of_weighted_queries_equals_scipy_over_pairs(name):
    values = VALUES[name]
    weights = np.random.default_rng(8).uniform(0, 3, len(values))
    expected = by_scipy(
        (values, weights), weighted_mean, 0, paired=True, n_resamples=999, batch=100
    )
    limits = interval(values, weights, method="bootstrap", n_resamples=999, rng=0)
    np.testing.assert_allclose(limits, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_t_interval_equals_scipy(name, level):
    expected = stats.ttest_1samp(VALUES[name], 0).confidence_interval(level)
    limits = interval(VALUES[name], level=level, method="t")
    np.testing.assert_allclose(limits, expected, rtol=1e-12)


@pytest.mark.parametrize("method", ["bootstrap", "t"])
class TestBothMethods:
    def test_one_query_has_unknown_limits(self, method):
        np.testing.assert_array_equal(interval([0.3], method=method), (np.nan, np.nan))
        np.testing.assert_array_equal(interval([np.nan] * 3, method=method), (np.nan, np.nan))

    def test_nan_and_weight_0_are_left_out(self, method):
        values, weights = VALUES["spread"].copy(), np.ones(60)
        values[3], weights[5] = np.nan, 0
        kept = np.delete(values, [3, 5])
        limits = interval(values, weights, method=method, rng=0)
        np.testing.assert_allclose(limits, interval(kept, method=method, rng=0), rtol=1e-13)

    def test_the_scale_of_weights_changes_nothing(self, method):
        values = VALUES["spread"]
        weights = np.random.default_rng(9).random(60)
        expected = interval(values, weights, method=method, rng=0)
        for factor in (2.0**-900, 2.0**1023):  # their sum is too large for a float
            assert interval(values, weights * factor, method=method, rng=0) == expected


def test_a_seed_gives_a_measure_the_same_interval_whatever_the_other_measures():
    values, settings = VALUES["few"], {"method": "bootstrap", "n_resamples": 100}
    both = evaluation({"RR": values**2, "AP": values}, range(3))
    assert both.confidence_interval(rng=3, **settings)["AP"] == interval(values, rng=3, **settings)
    generator = np.random.default_rng(3)
    first, second = (interval(values, rng=generator, **settings) for _ in range(2))
    assert first == interval(values, rng=3, **settings) != second


def test_intervals_are_students_by_default():
    limits = evaluation({"AP": [0.0, 0.5, 1.0]}).confidence_interval(0.9)
    assert limits["AP"] == interval(np.array([0.0, 0.5, 1.0]), level=0.9, method="t")
    assert type(limits["AP"].low) is float


@pytest.mark.parametrize("method", ["bootstrap", "t"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_interval_of_identical_values_is_their_mean(method, weighted):
    for value, n in itertools.product((0.1, 1 / 3, 0.7, 0.9999999999999999), (2, 3, 7, 50)):
        weights = 0.1 + np.arange(n) % 3 if weighted else None
        ev = evaluation({"AP": np.full(n, value)}, weights=weights)
        assert ev.confidence_interval(method=method, rng=0)["AP"] == (value, value)
        assert ev.mean()["AP"] == value
