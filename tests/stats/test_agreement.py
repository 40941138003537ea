"""Agreement of judges compared with scikit-learn, krippendorff and SciPy, and by definition."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from skgraded.stats.judges import measure_agreement, sklearn_kappas, tau_spread


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
    assert result_of(truth, judge, query).kappa == pytest.approx(expected, abs=1e-14)
    for weights in ("linear", "quadratic"):
        weighted = cohen_kappa_score(truth.astype(int), judge.astype(int), weights=weights)
        result = sklearn_kappas(truth, judge, weights)
        assert result == pytest.approx((expected, weighted), abs=1e-14)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("distance", [ordinal_distance, interval_distance])
def test_alpha_by_definition(seed, distance):
    truth, judge, query = grades_of_two(n_queries=4, seed=seed)
    if distance is interval_distance:  # grades that are not integers
        judge = judge + np.random.default_rng(seed).normal(size=len(judge))
    result = result_of(truth, judge, query)
    expected = alpha_by_definition(truth.tolist(), judge.tolist(), distance)
    assert result.alpha == pytest.approx(expected, abs=1e-13)
    assert np.isnan(result.kappa) == (distance is interval_distance)


def test_equal_judges_agree_perfectly_in_the_exact_interval_of_queries():
    """The share (1 - kappa) / 2 would be 1/2 for random grades; here, it is 0 of 12 queries."""
    query = np.repeat(np.arange(12), 4)
    low = 1 - 2 * stats.binomtest(0, 2 * 12).proportion_ci(0.95).high
    for grades in (np.tile([0.0, 1, 2, 3], 12), np.tile([0, 0.5, 1.5, 4.5], 12)):
        result = result_of(grades, grades, query)
        assert result.alpha == 1 and result.alpha_interval == pytest.approx((low, 1))
    assert result_of(query % 3, query % 3, query).kappa_interval == pytest.approx((low, 1))


def test_queries_with_the_most_frequent_grade_count_little_for_equal_judges():
    """36 queries have one document with grade 0 (weight .1), and 4 have grade 1 (weight .9)."""
    grades, query = np.repeat([0.0, 1.0], [36, 4]), np.arange(40)
    n = (36 * 0.1 + 4 * 0.9) ** 2 / (36 * 0.1**2 + 4 * 0.9**2)
    high = stats.beta.ppf(0.975, 1, 2 * n)
    result = result_of(grades, grades, query)
    assert result.kappa_interval == result.alpha_interval == pytest.approx((1 - 2 * high, 1))


@pytest.mark.parametrize("grade", [0.1, 0.3, 1 / 3, 0.7, 2.5, 1e6 / 3])
def test_alpha_without_the_only_query_that_varies_is_unknown(grade):
    """The sums of equal real grades differ by rounding, so 0/0 must not become a number."""
    truth = np.full(60, grade)
    truth[3] += 0.25
    result = measure_agreement(truth, truth, np.repeat(np.arange(6), 10), 0.95, is_ordinal=False)
    assert result.alpha == 1 and np.isnan(result.alpha_interval).all()


def test_agreement_of_constant_grades_is_unknown():
    ones, query = np.ones(6), np.arange(6) // 2
    result = result_of(ones, ones, query)
    np.testing.assert_array_equal(np.hstack(result), np.full(6, np.nan))
    assert np.isnan(sklearn_kappas(ones, ones, "quadratic")).all()
    # The grades vary in one query only, so the value without this query is undefined.
    other = np.array([1.0, 1, 1, 1, 1, 2])
    result = result_of(ones, other, query)
    assert result.kappa == 0 and np.isnan(result.alpha_interval).all()


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
    for name in ("kappa", "alpha") if is_ordinal else ("alpha",):
        values, value = np.array([getattr(part, name) for part in parts]), getattr(whole, name)
        variance = (n_queries - 1) ** 2 / n_queries * values.var(ddof=1)
        kurtosis, upper = stats.kurtosis(values, fisher=False), (1 + level) / 2
        degrees = min(n_queries - 1, 2 * n_queries / (kurtosis - 1 + 1e-15))
        factor = (stats.norm.ppf(upper) / stats.t.ppf(upper, degrees)) ** 2
        share, n = (1 - value) / 2, (1 - value**2) / variance * factor
        high = stats.beta.ppf(upper, n * share + 1, n * (1 - share))
        low = stats.beta.ppf(1 - upper, n * share, n * (1 - share) + 1)
        expected = 1 - 2 * high, 1 - 2 * low
        assert getattr(whole, f"{name}_interval") == pytest.approx(expected, abs=1e-9)


# Rankings of systems -----------------------------------------------------------------------------


def spread_by_loops(truth, judge, n_resamples=1500):
    rng, taus = np.random.default_rng(1), []
    for _ in range(n_resamples):
        queries = rng.integers(truth.shape[1], size=truth.shape[1])
        means = (np.nanmean(values[:, queries], axis=1) for values in (truth, judge))
        taus.append(stats.kendalltau(*means).statistic)
    return np.quantile(taus, [0.025, 0.975]), np.quantile(taus, [0.05, 0.95])


def test_the_spread_equals_tau_over_resampled_queries():
    rng = np.random.default_rng(0)
    truth = rng.beta(2, 2, (20, 30)) + np.arange(20)[:, None] / 50
    judge = truth + rng.normal(0, 0.6, truth.shape)
    for values in (truth, judge):  # each system has nan for different queries
        values[rng.random(values.shape) < np.arange(20)[:, None] / 30] = np.nan
    result = tau_spread(truth, judge, 4000, np.random.default_rng(0))
    expected, narrower = spread_by_loops(truth, judge)
    assert result == pytest.approx(expected, abs=0.02)
    assert result[0] < narrower[0] - 0.01 and result[1] > narrower[1] + 0.01
