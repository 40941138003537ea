"""Agreement of judges, and prediction-powered means against formulas, simulations and ppi-python."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from skgraded.stats.intervals import compute_t_interval, estimate_mean
from skgraded.stats.judges import (
    compute_kappas,
    count_queries_needed,
    estimate_powered_mean,
    measure_agreement,
    resample_tau,
)


def grades_of_two(n_queries=12, n_levels=4, seed=0):
    """Grades of two judges who agree in part, and queries of different sizes in mixed order."""
    rng = np.random.default_rng(seed)
    query = rng.permutation(np.repeat(np.arange(n_queries), rng.integers(1, 15, n_queries)))
    truth = rng.integers(0, n_levels, len(query)).astype(float)
    judge = np.clip(truth + rng.integers(-1, 3, len(query)), 0, n_levels - 1)
    return truth, judge, query


def result_of(truth, judge, query, level=0.95):
    both = np.concatenate([truth, judge])
    return measure_agreement(truth, judge, query, level, bool((both == np.rint(both)).all()))


def alpha_by_definition(truth, judge, distance):
    """Krippendorff's alpha from all pairs of values, with loops: 1 - observed / expected."""
    values = [*truth, *judge]
    n = len(values)
    observed = sum(2 * distance(x, y, values) for x, y in zip(truth, judge, strict=True)) / n
    expected = sum(
        distance(values[i], values[j], values) for i in range(n) for j in range(n) if i != j
    ) / (n * (n - 1))
    return 1 - observed / expected


def interval_distance(x, y, values):
    return (x - y) ** 2


def ordinal_distance(x, y, values):
    # Krippendorff 2019: (Σ_{g from c to k} n_g - (n_c + n_k) / 2)²
    low, high = min(x, y), max(x, y)
    between = sum(low <= value <= high for value in values)
    return (between - (values.count(low) + values.count(high)) / 2) ** 2 if low < high else 0


# Kappa and alpha ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n_levels", [2, 4, 11])
@pytest.mark.parametrize("seed", range(3))
def test_kappa_equals_scikit_learn(n_levels, seed):
    truth, judge, query = grades_of_two(n_levels=n_levels, seed=seed)
    expected = cohen_kappa_score(truth.astype(int), judge.astype(int))
    assert result_of(truth, judge, query)[0][0] == pytest.approx(expected, abs=1e-14)
    for weights in ("linear", "quadratic"):
        weighted = cohen_kappa_score(truth.astype(int), judge.astype(int), weights=weights)
        result = compute_kappas(truth, judge, weights)
        assert result == pytest.approx((expected, weighted), abs=1e-14)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("distance", [ordinal_distance, interval_distance])
def test_alpha_by_definition(seed, distance):
    truth, judge, query = grades_of_two(n_queries=4, seed=seed)
    if distance is interval_distance:  # grades that are not integers
        judge = judge + np.random.default_rng(seed).normal(size=len(judge))
    (kappa, _), (alpha, _) = result_of(truth, judge, query)
    expected = alpha_by_definition(truth.tolist(), judge.tolist(), distance)
    assert alpha == pytest.approx(expected, abs=1e-13)
    assert np.isnan(kappa) == (distance is interval_distance)


def test_equal_judges_agree_perfectly_in_the_exact_interval_of_queries():
    """The share (1 - kappa) / 2 would be 1/2 for random grades; here, it is 0 of 12 queries."""
    query = np.repeat(np.arange(12), 4)
    low = 1 - 2 * stats.binomtest(0, 2 * 12).proportion_ci(0.95).high
    for grades in (np.tile([0.0, 1, 2, 3], 12), np.tile([0, 0.5, 1.5, 4.5], 12)):
        _, (alpha, interval) = result_of(grades, grades, query)
        assert alpha == 1 and interval == pytest.approx((low, 1))
    assert result_of(query % 3, query % 3, query)[0][1] == pytest.approx((low, 1))


def test_queries_with_the_most_frequent_grade_count_little_for_equal_judges():
    """36 queries have one document with grade 0 (weight .1), and 4 have grade 1 (weight .9)."""
    grades, query = np.repeat([0.0, 1.0], [36, 4]), np.arange(40)
    n = (36 * 0.1 + 4 * 0.9) ** 2 / (36 * 0.1**2 + 4 * 0.9**2)
    high = stats.beta.ppf(0.975, 1, 2 * n)
    (_, of_kappa), (_, of_alpha) = result_of(grades, grades, query)
    assert of_kappa == of_alpha == pytest.approx((1 - 2 * high, 1))


@pytest.mark.parametrize("grade", [0.1, 0.3, 1 / 3, 0.7, 2.5, 1e6 / 3])
def test_alpha_without_the_only_query_that_varies_is_unknown(grade):
    """The sums of equal real grades differ by rounding, so 0/0 must not become a number."""
    truth = np.full(60, grade)
    truth[3] += 0.25
    query = np.repeat(np.arange(6), 10)
    _, (alpha, interval) = measure_agreement(truth, truth, query, 0.95, is_ordinal=False)
    assert alpha == 1 and np.isnan(interval).all()


def test_agreement_of_constant_grades_is_unknown():
    ones, query = np.ones(6), np.arange(6) // 2
    for statistic, interval in result_of(ones, ones, query):
        assert np.isnan([statistic, *interval]).all()
    assert np.isnan(compute_kappas(ones, ones, "quadratic")).all()
    # The grades vary in one query only, so the value without this query is undefined.
    other = np.array([1.0, 1, 1, 1, 1, 2])
    (kappa, _), (_, interval) = result_of(ones, other, query)
    assert kappa == 0 and np.isnan(interval).all()


# Jackknife ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_queries", [2, 3, 12])
@pytest.mark.parametrize("is_ordinal", [True, False])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_intervals_equal_an_explicit_jackknife_over_queries(n_queries, is_ordinal, level):
    truth, judge, query = grades_of_two(n_queries)
    if not is_ordinal:
        judge = judge + 0.5
    whole = result_of(truth, judge, query, level)
    parts = [
        result_of(truth[query != left_out], judge[query != left_out], query[query != left_out])
        for left_out in range(n_queries)
    ]
    for i in (0, 1) if is_ordinal else (1,):  # kappa and alpha, or only alpha
        values, (value, interval) = np.array([part[i][0] for part in parts]), whole[i]
        variance = (n_queries - 1) ** 2 / n_queries * values.var(ddof=1)
        kurtosis, upper = stats.kurtosis(values, fisher=False), (1 + level) / 2
        degrees = min(n_queries - 1, 2 * n_queries / (kurtosis - 1 + 1e-15))
        factor = (stats.norm.ppf(upper) / stats.t.ppf(upper, degrees)) ** 2
        share, n = (1 - value) / 2, (1 - value**2) / variance * factor
        high = stats.beta.ppf(upper, n * share + 1, n * (1 - share))
        low = stats.beta.ppf(1 - upper, n * share, n * (1 - share) + 1)
        expected = 1 - 2 * high, 1 - 2 * low
        assert interval == pytest.approx(expected, abs=1e-9)


# Rankings of systems -----------------------------------------------------------------------------


def test_the_spread_equals_tau_over_resampled_queries():
    rng = np.random.default_rng(0)
    truth = rng.beta(2, 2, (20, 30)) + np.arange(20)[:, None] / 50
    judge = truth + rng.normal(0, 0.6, truth.shape)
    for values in (truth, judge):  # each system has nan for different queries
        values[rng.random(values.shape) < np.arange(20)[:, None] / 30] = np.nan
    result = resample_tau(truth, judge, 4000, np.random.default_rng(0))
    rng, taus = np.random.default_rng(1), []
    for _ in range(1500):
        queries = rng.integers(30, size=30)
        means = (np.nanmean(values[:, queries], axis=1) for values in (truth, judge))
        taus.append(stats.kendalltau(*means).statistic)
    narrower = np.quantile(taus, [0.05, 0.95])
    assert result == pytest.approx(np.quantile(taus, [0.025, 0.975]), abs=0.02)
    assert result[0] < narrower[0] - 0.01 and result[1] > narrower[1] + 0.01


# Prediction-powered means -------------------------------------------------------------------------


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
    estimate = estimate_powered_mean(human, judge, others)
    variance_of_others = (4 + 16 + 9 + 9 + 25 + 1 - 18**2 / 6) / 5
    residual = 5 / 3 - 2 * weight * covariance + weight**2 * 5 / 3
    square = weight**2 * variance_of_others / 6 + residual / 4
    expected = {
        "mean": weight * 18 / 6 + 10 / 4 - weight * 10 / 4,
        "standard_error": np.sqrt(square),
        "weight": weight,
        "n": 4,
        "n_judge": 6,
        "human_mean": 10 / 4,
        "human_error": np.sqrt(5 / 3 / 4),
        "judge_mean": 28 / 10,
        "worth": 4 * (5 / 3 / 4) / square,
    }
    assert {name: getattr(estimate, name) for name in expected} == pytest.approx(
        expected, rel=1e-14
    )


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
        estimate = estimate_powered_mean(human, judge, others)
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
    assert estimate_powered_mean(human, -judge, -others).weight == 0
    assert estimate_powered_mean(human, judge / 100, others / 100).weight == 1
    assert estimate_powered_mean(human, human, np.full(1000, human.mean())).weight == 1
    assert 0 < estimate_powered_mean(human, judge, others).weight < 1


@pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3, 1e-300, 1e9 / 7])
def test_constant_values_have_weight_0_and_no_rounding_noise(constant):
    human, judge, others = values_of(31, 207, 1)
    by_constant_judge = estimate_powered_mean(human, np.full(31, constant), np.full(207, constant))
    assert by_constant_judge.weight == 0 and by_constant_judge.mean == human.mean()
    assert by_constant_judge.worth == 31
    constant_human = estimate_powered_mean(np.full(31, constant), judge, others)
    assert (constant_human.weight, constant_human.standard_error) == (0, 0)
    assert constant_human.mean == pytest.approx(constant, rel=1e-14)
    assert constant_human.worth == 31
    assert np.isnan(constant_human.interval(0.95)).all()
    # The judge's values vary only for the queries that people did not judge.
    varied = estimate_powered_mean(human, np.full(31, constant), others)
    assert varied.mean == pytest.approx(human.mean()) and np.isfinite(varied.standard_error)


def test_intervals_cover_the_mean_with_a_biased_judge():
    n_covered, widths = 0, []
    for seed in range(1000):
        human, judge, others = values_of(20, 500, seed, quality=0.8, bias=0.3)
        interval = estimate_powered_mean(human, judge, others).interval(0.95)
        n_covered += interval.low <= 0 <= interval.high
        alone = compute_t_interval(estimate_mean(human, None), 0.95)
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
    alone, with_judge = count_queries_needed(*values, half_width, level)
    assert half_width_alone(values[0], alone, level) <= half_width
    assert half_width_alone(values[0], alone - 1, level) > half_width
    assert 10 <= with_judge < alone
    assert half_width_with_judge(*values, with_judge, level) <= half_width * (1 + 1e-9)
    assert with_judge == 10 or half_width_with_judge(*values, with_judge - 1, level) > half_width


def test_plans_without_gain_equal_the_plan_without_the_judge():
    human, judge, others = values_of(30, 100, 0)
    useless = -judge, -others
    alone, with_judge = count_queries_needed(human, *useless, 0.3, 0.95)
    assert alone == with_judge
    constant = np.zeros(30), np.zeros(100)
    assert count_queries_needed(human, *constant, 0.3, 0.95) == (alone, alone)
    # Without the judge, people would need all 130 queries, or even more.
    reach = half_width_alone(human, 130, 0.95)
    assert count_queries_needed(human, *useless, reach * (1 + 1e-9), 0.95) == (130, 130)
    assert np.isnan(count_queries_needed(human, judge, others, reach * (1 - 1e-9), 0.95)).all()
    # Fewer than ten queries suffice without the judge.
    alone, with_judge = count_queries_needed(human, judge, others, 5.0, 0.95)
    assert alone == with_judge < 10
