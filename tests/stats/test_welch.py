"""Welch's test and interval compared with SciPy, and Fisher's test of shares."""

import numpy as np
import pytest
from scipy import stats

from skgraded.stats.exact_sums import Moments
from skgraded.stats.welch import GroupMean, gap_of, share_p_value, welch_interval, welch_p_value


def group(values):
    return GroupMean.of_moments(Moments.of(np.asarray(values, dtype=float)))


@pytest.mark.parametrize("sizes", [(2, 2), (3, 9), (40, 5), (200, 300)])
@pytest.mark.parametrize("factor", [0.2, 1, 30])  # ratio of the standard deviations
def test_p_values_and_intervals_equal_scipy(sizes, factor):
    rng = np.random.default_rng(sum(sizes))
    x, y = rng.normal(0.3, 1, sizes[0]), factor * rng.normal(size=sizes[1])
    expected = stats.ttest_ind(x, y, equal_var=False)
    first, second = group(x), group(y)
    assert welch_p_value(first, second) == pytest.approx(expected.pvalue, rel=1e-10)
    assert gap_of(first, second) == pytest.approx(x.mean() - y.mean())
    for level in (0.5, 0.95):
        interval = welch_interval(first, second, level)
        assert interval == pytest.approx(expected.confidence_interval(level), rel=1e-10)


def test_groups_with_identical_values():
    # 2 of the C(5, 2) = 10 assignments of the values to the groups are as extreme
    assert welch_p_value(group([0.1] * 2), group([0.3] * 3)) == 2 / 10
    assert welch_p_value(group([0.1] * 2), group([0.1] * 3)) == 1
    assert welch_interval(group([0.1] * 2), group([0.3] * 3), 0.95) == pytest.approx((-0.2, -0.2))
    # A sign test of two identical values has the p-value 2 / 2².
    assert welch_p_value(group([0.1] * 2), group([5, 5.001] * 50)) == 2 / 2**2
    assert np.isnan(welch_p_value(group([0.1]), group([0.2, 0.3])))
    assert np.isnan(welch_interval(group([0.1]), group([0.2, 0.3]), 0.95)).all()


@pytest.mark.parametrize("counts, sizes", [((1, 9), (10, 10)), ((0, 3), (7, 5)), ((2, 2), (4, 4))])
def test_shares_are_compared_with_fishers_exact_test(counts, sizes):
    table = [counts, [n - count for count, n in zip(counts, sizes, strict=True)]]
    expected = stats.fisher_exact(table).pvalue
    assert share_p_value(counts, sizes) == pytest.approx(expected, rel=1e-12)
    # Of the C(4, 2) = 6 ways to choose two of four, 2 are as extreme as both from one half.
    assert share_p_value((2, 0), (2, 2)) == pytest.approx(2 / 6)
