"""Corrections for multiple tests and levels of intervals, by hand and compared with SciPy."""

import numpy as np
import pytest
from scipy import stats
from small_reports import compared, only_row

from skgraded.stats.corrections import CORRECTIONS, adjust, find_level_of_each


@pytest.mark.parametrize(
    "correction, expected",
    [
        # The smallest of m p-values is multiplied by m, the next by m - 1, and so on; no corrected
        # p-value is below an earlier one.
        ("holm", [4 * 0.01, 3 * 0.02, 2 * 0.04, max(2 * 0.04, 1 * 0.05)]),
        ("bonferroni", [4 * 0.01, 4 * 0.02, 4 * 0.04, 4 * 0.05]),
        # The k-th smallest p-value is multiplied by m / k; no corrected p-value is above a later p-value.
        ("fdr_bh", [4 / 1 * 0.01, 4 / 2 * 0.02, min(4 / 3 * 0.04, 0.05), 4 / 4 * 0.05]),
        (None, [0.01, 0.02, 0.04, 0.05]),
    ],
)
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
def test_four_tests_by_hand_in_any_order(correction, expected, order):
    p = np.array([0.01, 0.02, 0.04, 0.05])[order]
    assert adjust(p, correction) == pytest.approx(np.array(expected)[order], rel=1e-14)


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_corrected_p_values_are_at_most_1_and_rows_without_a_test_do_not_count(correction):
    assert (
        adjust(np.array([0.6, 0.9]), correction).tolist()
        == {
            "holm": [1, 1],
            "bonferroni": [1, 1],
            "fdr_bh": [0.9, 0.9],
        }[correction]
    )
    assert adjust(np.array([0.3]), correction).tolist() == [0.3]
    p = np.array([np.nan, 0.01, 0.04, np.nan])
    np.testing.assert_array_equal(adjust(p, correction)[1:3], adjust(p[1:3], correction))
    assert np.isnan(adjust(p, correction)[[0, 3]]).all()


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_corrections_of_many_tests_equal_scipy_and_the_definition(n):
    p = np.random.default_rng(n).random(n).round(2) ** 3  # some are equal
    expected = stats.false_discovery_control(p, method="bh")
    assert adjust(p, "fdr_bh") == pytest.approx(expected, rel=1e-14)
    # Holm (1979): the largest (m - |smaller p-values|) p' over all p' that are at most p
    holm = [max((n - np.sum(p < x)) * x for x in p if x <= y) for y in p]
    assert adjust(p, "holm") == pytest.approx(np.minimum(holm, 1), rel=1e-14)


@pytest.mark.parametrize(
    "correction, expected",
    [
        (None, 0.95),
        ("holm", 1 - 0.05 / 4),
        ("bonferroni", 1 - 0.05 / 4),
        ("fdr_bh", 1 - 0.05 * 2 / 4),  # two of four tests are significant
    ],
)
def test_the_level_of_each_interval(correction, expected):
    adjusted = np.array([0.05, 0.9, np.nan, 0.01, 0.0501])
    assert find_level_of_each(adjusted, 0.95, correction) == pytest.approx(expected, rel=1e-14)
    assert find_level_of_each(np.array([np.nan]), 0.9, correction) == 0.9
    assert find_level_of_each(np.array([0.2, 0.3]), 0.9, "fdr_bh") == pytest.approx(1 - 0.1 / 2)


def test_an_interval_is_widened_to_0_if_the_test_is_not_significant():
    d = [0.3, 0.31, 0.32, 0.33, 0.34]
    t, flips = (only_row(compared(np.zeros(5), d, test=test)) for test in ("t", "randomization"))
    assert flips["p_value"] == 2 / 2**5 > 0.05
    assert 0.29 < t["ci_low"] < t["ci_high"] == flips["ci_high"]
    assert flips["ci_low"] == 0
    back = only_row(compared(d, np.zeros(5)))
    assert (back["ci_low"], back["ci_high"]) == (-flips["ci_high"], 0)
