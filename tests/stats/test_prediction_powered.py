"""Prediction-powered means against their formulas, simulations and ppi-python."""

import numpy as np
import pytest
from scipy import stats

from skgraded.stats.intervals import estimate_mean, t_interval
from skgraded.stats.judges import powered_mean, queries_needed


def values_of(n, n_judge, seed, quality=0.7, bias=0.2):
    """Values of people and of a judge whose correlation is `quality`, and further values."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n + n_judge)
    judge = quality * truth + np.sqrt(1 - quality**2) * rng.normal(size=n + n_judge) + bias
    return truth[:n], judge[:n], judge[n:]


# Formulas ----------------------------------------------------------------------------------------


def test_a_small_example_by_hand():
    human, judge, others = map(np.array, ([1, 2, 3, 4], [1, 3, 2, 4], [2, 4, 3, 3, 5, 1]))
    covariance = (1.5 * 1.5 - 0.5 * 0.5 - 0.5 * 0.5 + 1.5 * 1.5) / 3
    variance_of_all = (1 + 9 + 4 + 16 + 4 + 16 + 9 + 9 + 25 + 1 - 28**2 / 10) / 9
    weight = covariance / ((1 + 4 / 6) * variance_of_all)
    estimate = powered_mean(human, judge, others)
    assert estimate.weight == pytest.approx(weight, rel=1e-14)
    assert estimate.mean == pytest.approx(weight * 18 / 6 + 10 / 4 - weight * 10 / 4, rel=1e-14)
    variance_of_others = (4 + 16 + 9 + 9 + 25 + 1 - 18**2 / 6) / 5
    residual = 5 / 3 - 2 * weight * covariance + weight**2 * 5 / 3
    assert estimate.standard_error**2 == pytest.approx(
        weight**2 * variance_of_others / 6 + residual / 4, rel=1e-14
    )
    assert (estimate.n, estimate.n_judge) == (4, 6)
    assert estimate.human_mean == 10 / 4
    assert estimate.human_error == pytest.approx(np.sqrt(5 / 3 / 4), rel=1e-14)
    assert estimate.judge_mean == pytest.approx(28 / 10, rel=1e-14)
    assert estimate.worth == pytest.approx(4 * (5 / 3 / 4) / estimate.standard_error**2, rel=1e-14)


@pytest.mark.parametrize(
    "n, n_judge, quality",
    [
        (10, 10, 0.5),
        (20, 400, 0.9),
        (200, 30, 0.99),
        (50, 2000, 0.0),
        (50, 2000, -0.8),
        (12, 2, 1.0),
    ],
)
def test_the_point_estimate_and_the_weight_equal_ppi_python(n, n_judge, quality):
    ppi_py = pytest.importorskip("ppi_py", reason='pip install "skgraded[peers]"')
    for seed in range(5):
        human, judge, others = values_of(n, n_judge, seed, quality)
        estimate = powered_mean(human, judge, others)
        result = ppi_py.ppi_mean_pointestimate(human, judge, others, lam=estimate.weight)
        assert result.shape == (1,) and estimate.mean == pytest.approx(result[0], abs=1e-12)
        if 0 < estimate.weight < 1:  # ppi-python divides the covariance by n
            result = ppi_py.ppi_mean_pointestimate(human, judge, others)
            weight = estimate.weight * (n - 1) / n
            expected = weight * others.mean() + (human - weight * judge).mean()
            assert expected == pytest.approx(result[0], abs=1e-12)


# Special cases -----------------------------------------------------------------------------------


def test_the_weight_is_from_0_to_1():
    human, judge, others = values_of(20, 100, 0)
    assert powered_mean(human, -judge, -others).weight == 0
    assert powered_mean(human, judge / 100, others / 100).weight == 1
    assert powered_mean(human, human, np.full(1000, human.mean())).weight == 1
    assert 0 < powered_mean(human, judge, others).weight < 1


@pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3, 1e-300, 1e9 / 7])
def test_constant_values_have_weight_0_and_no_rounding_noise(constant):
    human, judge, others = values_of(31, 207, 1)
    by_constant_judge = powered_mean(human, np.full(31, constant), np.full(207, constant))
    assert by_constant_judge.weight == 0 and by_constant_judge.mean == human.mean()
    assert by_constant_judge.worth == 31
    constant_human = powered_mean(np.full(31, constant), judge, others)
    assert (constant_human.weight, constant_human.standard_error) == (0, 0)
    assert constant_human.mean == pytest.approx(constant, rel=1e-14)
    assert constant_human.worth == 31
    assert np.isnan(constant_human.interval(0.95)).all()
    # The judge's values vary only for the queries that people did not judge.
    varied = powered_mean(human, np.full(31, constant), others)
    assert varied.mean == pytest.approx(human.mean()) and np.isfinite(varied.standard_error)


def test_intervals_cover_the_mean_with_a_biased_judge():
    n_covered, widths = 0, []
    for seed in range(1000):
        human, judge, others = values_of(20, 500, seed, quality=0.8, bias=0.3)
        interval = powered_mean(human, judge, others).interval(0.95)
        n_covered += interval.low <= 0 <= interval.high
        alone = t_interval(estimate_mean(human, None), 0.95)
        widths.append((interval.high - interval.low) / (alone.high - alone.low))
    assert 925 <= n_covered <= 970  # the standard error is 7
    # √(1 - quality² N / (n + N)) is the ratio with known variances.
    assert np.median(widths) == pytest.approx(np.sqrt(1 - 0.64 * 500 / 520), abs=0.05)


# Plans -------------------------------------------------------------------------------------------


def half_width_alone(human, n, level):
    return stats.t.ppf((1 + level) / 2, n - 1) * np.std(human, ddof=1) / np.sqrt(n)


def half_width_with_judge(human, judge, others, n, level):
    """Return the half-width from the formulas, with the variances of the pilot."""
    n_judge = len(judge) + len(others) - n
    variance = np.var(np.append(judge, others), ddof=1)
    covariance = np.cov(human, judge)[0, 1]
    weight = np.clip(covariance / ((1 + n / n_judge) * variance), 0, 1)
    square = weight**2 * variance / n_judge + np.var(human - weight * judge, ddof=1) / n
    return stats.t.ppf((1 + level) / 2, n - 2) * np.sqrt(square)


@pytest.mark.parametrize("half_width", [0.1, 0.15, 0.25, 0.3])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_plans_are_the_smallest_numbers_that_suffice(half_width, level):
    values = values_of(30, 800, 5, quality=0.85)
    alone, with_judge = queries_needed(*values, half_width, level)
    assert half_width_alone(values[0], alone, level) <= half_width
    assert half_width_alone(values[0], alone - 1, level) > half_width
    assert 10 <= with_judge < alone
    assert half_width_with_judge(*values, with_judge, level) <= half_width * (1 + 1e-9)
    assert with_judge == 10 or half_width_with_judge(*values, with_judge - 1, level) > half_width


def test_plans_without_gain_equal_the_plan_without_the_judge():
    human, judge, others = values_of(30, 100, 0)
    useless = -judge, -others
    alone, with_judge = queries_needed(human, *useless, 0.3, 0.95)
    assert alone == with_judge
    constant = np.zeros(30), np.zeros(100)
    assert queries_needed(human, *constant, 0.3, 0.95) == (alone, alone)
    # Without the judge, people would need all 130 queries, or even more.
    reach = half_width_alone(human, 130, 0.95)
    assert queries_needed(human, *useless, reach * (1 + 1e-9), 0.95) == (130, 130)
    assert np.isnan(queries_needed(human, judge, others, reach * (1 - 1e-9), 0.95)).all()
    # Fewer than ten queries suffice without the judge.
    alone, with_judge = queries_needed(human, judge, others, 5.0, 0.95)
    assert alone == with_judge < 10
