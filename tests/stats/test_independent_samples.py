"""Welch's test and interval compared with SciPy, and Fisher's test of shares."""

import numpy as np
import pytest
from scipy import stats
from small_reports import evaluation

import skgraded as sg
from skgraded.stats.independent_samples import MeanGap, bound_share_errors, compute_share_p_value
from skgraded.stats.rounding import Moments


def gap_between(*samples):
    return MeanGap.of(*(Moments.of(np.asarray(values, dtype=float)) for values in samples))


@pytest.mark.parametrize("sizes", [(2, 2), (3, 9), (40, 5), (200, 300)])
@pytest.mark.parametrize("factor", [0.2, 1, 30])  # ratio of the standard deviations
def test_p_values_and_intervals_equal_scipy(sizes, factor):
    rng = np.random.default_rng(sum(sizes))
    x, y = rng.normal(0.3, 1, sizes[0]), factor * rng.normal(size=sizes[1])
    expected = stats.ttest_ind(x, y, equal_var=False)
    gap = gap_between(x, y)
    assert gap.p_value == pytest.approx(expected.pvalue, rel=1e-10)
    assert gap.difference == pytest.approx(x.mean() - y.mean())
    for level in (0.5, 0.95):
        interval = gap.interval(level)
        assert interval == pytest.approx(expected.confidence_interval(level), rel=1e-10)
    huge = gap_between(2.0**600 * x, 2.0**600 * y)  # squares of the errors are not floats
    assert (huge.p_value, huge.error) == (gap.p_value, 2.0**600 * gap.error)


def test_groups_with_identical_values():
    # 2 of the C(5, 2) = 10 assignments of the values to the groups are as extreme
    assert gap_between([0.1] * 2, [0.3] * 3).p_value == 2 / 10
    assert gap_between([0.1] * 2, [0.1] * 3).p_value == 1
    assert gap_between([0.1] * 2, [0.3] * 3).interval(0.95) == pytest.approx((-0.2, -0.2))
    # A sign test of two identical values has the p-value 2 / 2².
    assert gap_between([0.1] * 2, [5, 5.001] * 50).p_value == 2 / 2**2
    assert np.isnan(gap_between([0.1], [0.2, 0.3]).p_value)
    assert np.isnan(gap_between([0.1], [0.2, 0.3]).interval(0.95)).all()


@pytest.mark.parametrize("counts, sizes", [((1, 9), (10, 10)), ((0, 3), (7, 5)), ((2, 2), (4, 4))])
def test_shares_are_compared_with_fishers_exact_test(counts, sizes):
    table = [counts, [n - count for count, n in zip(counts, sizes, strict=True)]]
    expected = stats.fisher_exact(table).pvalue
    assert compute_share_p_value(counts, sizes) == pytest.approx(expected, rel=1e-12)
    # Among the C(4, 2) = 6 choices of two values, 2 are as extreme as two values from one group.
    assert compute_share_p_value((2, 0), (2, 2)) == pytest.approx(2 / 6)


# Control limits ----------------------------------------------------------------------------------


def test_a_mean_on_its_control_limits_is_inside():
    days = [
        sg.Summary.of(evaluation({"AP": [0.5] * 3}, np.arange(3) + 3 * day), label=str(day))
        for day in range(8)
    ]
    frame = sg.trend(days)
    assert frame[["mean", "lower", "upper"]].values[-1].tolist() == [0.5, 0.5, 0.5]
    assert not frame["is_outside"].any()


def test_the_error_of_a_share_solves_its_quadratic_equation():
    counts, sizes = np.array([1, 0, 3]), np.array([4, 5, 10])
    errors = bound_share_errors(counts, sizes)
    for d, n, q in zip(errors, sizes, [0, 1 / 4, 1 / 9], strict=True):
        assert n * d**2 == pytest.approx(3**2 * (q * (1 - q) + d), rel=1e-12)
