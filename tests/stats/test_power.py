"""required_queries and min_detectable, compared with an integral and with simulations."""

import numpy as np
import pytest
from scipy import integrate, stats
from small_reports import compared

import skgraded as sg
from skgraded.stats.intervals import compute_t_reach
from skgraded.stats.paired_tests import TESTS, p_values
from skgraded.stats.power import find_detectable_effect


def power_of(n, effect, level):
    """Integrate P(t > critical t) over the sample variance s² (n - 1) ~ χ² of n normal values."""
    degrees, shift = n - 1, effect * np.sqrt(n)
    critical = stats.t.ppf((1 + level) / 2, degrees)
    spread = stats.chi(degrees, scale=1 / np.sqrt(degrees))
    low, high = spread.ppf([1e-14, 1 - 1e-14])
    return integrate.quad(
        lambda s: spread.pdf(s) * stats.norm.sf(critical * s - shift), low, high, epsabs=1e-12
    )[0]


@pytest.mark.parametrize("effect", [0.08, 0.2, 0.5, 1, 3])
@pytest.mark.parametrize("power, level", [(0.8, 0.95), (0.5, 0.9), (0.95, 0.9998)])
def test_the_number_of_queries_is_the_smallest_with_this_power(effect, power, level):
    result = sg.required_queries(effect, power=power, level=level)
    assert result == sg.required_queries(-effect, power=power, level=level)
    assert power_of(result, effect, level) >= power - 1e-9
    assert result == 2 or power_of(result - 1, effect, level) < power


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"effect_size": 0}, "effect_size is too small to detect with 10,000,000 queries; got 0"),
        ({"effect_size": 1e-9}, "with 10,000,000 queries; got 1e-09"),
        ({"effect_size": float("nan")}, "effect_size must"),
        ({"effect_size": 1, "power": 1}, "power must be a finite number > 0 and < 1; got 1"),
        ({"effect_size": 1, "level": 0}, "level must be a finite number > 0 and < 1; got 0"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        sg.required_queries(**arguments)


# What a comparison could have shown --------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 10, 60, 1000, 100_000])
@pytest.mark.parametrize("level", [0.9, 0.95, 1 - 0.05 / 276])
def test_the_smallest_effect_has_a_power_of_80_percent(n, level):
    assert power_of(
        n, find_detectable_effect(n, compute_t_reach(n, level)), level
    ) == pytest.approx(0.8, 1e-5)


@pytest.mark.parametrize("correction, m", [(None, 1), ("holm", 3), ("bonferroni", 3)])
def test_the_smallest_difference_is_at_the_corrected_level(correction, m):
    values = np.random.default_rng(0).beta(2, 2, (4, 40))
    table = compared(*values, test="t", correction=correction).to_frame()
    for row, other in zip(table.to_dict("records"), values[1:], strict=True):
        effect = find_detectable_effect(40, stats.t.ppf(1 - 0.025 / m, 39))
        deviation = np.std(other - values[0], ddof=1)
        assert row["min_detectable"] == pytest.approx(effect * deviation)


@pytest.mark.parametrize("test", TESTS)
def test_tests_detect_the_smallest_difference_in_80_percent_of_cases(test):
    size = find_detectable_effect(30, compute_t_reach(30, 0.95))
    size /= np.sqrt(TESTS[test].efficiency)
    differences = np.random.default_rng(1).normal(size, 1, (400, 30))
    rate = np.mean(p_values(test, differences, 999, 0) <= 0.05)
    assert abs(rate - 0.8) < 3.5 * np.sqrt(0.8 * 0.2 / 400)


@pytest.mark.parametrize(
    "values, settings",
    [
        ([0.1, 0.2, -0.3, 0.2, 0.1], {}),  # no outcome of 5 queries could be significant
        ([0.1], {"test": "t"}),
        ([0.1, 0.1], {"test": "t"}),
        ([0.0, 0.0, 0.0], {"test": "t"}),
        ([0.1, 0.2, -0.3, 0.2, 0.1, 0.1, 0.1], {"test": None}),
        ([0.1, np.nan], {"test": "t"}),
        ([0.1, 0.2, -0.3, 0.2, 0.1, 0.1, 0.1], {"n_resamples": 100, "level": 0.999}),
    ],
)
def test_without_a_possible_significance_there_is_no_detectable_difference(values, settings):
    comparison = compared(np.zeros(len(values)), values, **settings)
    assert np.isnan(comparison.to_frame()["min_detectable"][0])
