"""required_queries beside statsmodels, and by simulation of what it promises."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

import skgraded as sg


@pytest.mark.parametrize("effect", [0.08, 0.2, 0.5, 1, 3])
@pytest.mark.parametrize("power, level", [(0.8, 0.95), (0.5, 0.9), (0.95, 0.9998)])
def test_the_number_of_queries_is_that_of_statsmodels(effect, power, level):
    found = sg.required_queries(effect, power=power, level=level)

    def power_of(n):
        return TTestPower().power(effect, n, (1 - level) / 2, alternative="larger")

    assert power_of(found) >= power - 1e-9
    assert found == 2 or power_of(found - 1) < power


def test_the_sign_of_the_effect_does_not_matter():
    assert sg.required_queries(-0.5) == sg.required_queries(0.5)


def test_so_many_queries_show_it_as_often_as_promised():
    n = sg.required_queries(0.4, power=0.7)
    differences = np.random.default_rng(0).normal(0.4, 1, (4000, n))
    rate = np.mean(stats.ttest_1samp(differences, 0, axis=1).pvalue <= 0.05)
    assert 0.7 - 0.03 < rate < 0.72 + 0.03


@pytest.mark.parametrize("arguments, message", [
    ({"effect_size": 0}, "effect_size is 0, which 10,000,000 queries do not show"),
    ({"effect_size": 1e-9}, "effect_size is 1e-09, which"),
    ({"effect_size": float("nan")}, "effect_size must"),
    ({"effect_size": 1, "power": 1}, "power must be a finite number > 0 and < 1; got 1"),
    ({"effect_size": 1, "level": 0}, "level must be a finite number > 0 and < 1; got 0"),
])
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        sg.required_queries(**arguments)
