"""Exact sums, compared with Python's fractions, in any order and any parts."""

from fractions import Fraction

import numpy as np
import pytest

from skgraded.stats.intervals import mean_interval, t_interval
from skgraded.stats.rounding import Moments, exact_dot, exact_sum


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
    assert exact_sum(x) == sum(map(Fraction, x.tolist()))
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    assert exact_dot(x, y) == sum(Fraction(a) * Fraction(b) for a, b in pairs)


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
        limits = t_interval(Moments.of(values, weights_or_none), 0.95)
        assert limits == pytest.approx(mean_interval(values, weights_or_none, 0.95, "t"), abs=1e-13)
    # the interval of identical values is their value
    assert t_interval(Moments.of(np.full(3, 0.7)), 0.95) == (0.7, 0.7)
    assert np.isnan(t_interval(Moments.of(np.array([0.7])), 0.95)).all()


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
