"""Paired tests: p-values compared with SciPy, with loops and by hand."""

import itertools
import time

import numpy as np
import pytest
import scipy
from scipy import stats
from small_reports import PAIR, compared, only_row

from skgraded.stats.paired_tests import TESTS, choose_n_resamples, p_values, summarize_pair


@pytest.mark.parametrize("n", [2, 3, 12, 13])
@pytest.mark.parametrize("decimals", [None, 1])
def test_the_p_value_of_few_queries_equals_the_exact_test_of_scipy(n, decimals):
    rng = np.random.default_rng(n)
    for _ in range(4):
        a, b = rng.random((2, n)) if decimals is None else rng.random((2, n)).round(decimals)
        expected = stats.permutation_test(
            (b - a,),
            lambda d, axis: d.sum(axis=axis),
            permutation_type="samples",
            n_resamples=np.inf,
            vectorized=True,
        ).pvalue
        # SciPy's tolerance is relative to the sum, which may be close to 0
        if abs((b - a).sum()) > 1e-9:
            assert only_row(compared(a, b))["p_value"] == pytest.approx(expected, rel=1e-12)


def test_all_sign_flips_are_enumerated_if_n_resamples_allows():
    a, b = np.zeros(7), np.arange(1, 8) / 10
    for n_resamples, expected in ((128, 2 / 2**7), (1000, 2 / 2**7)):
        assert only_row(compared(a, b, n_resamples=n_resamples))["p_value"] == expected
    assert only_row(compared(a, b, n_resamples=127))["p_value"] >= 2 / 128


@pytest.mark.parametrize("scale", [1e-6, 1, 1000])
def test_sums_of_flips_that_are_equal_up_to_rounding_are_equal_at_any_scale(scale):
    # The sum 0.1 + 0.2 - 0.3 is 0, so sums of 0 must count for both sides.
    d = np.array([0.1, 0.2, -0.3]) * scale
    sums = [np.dot(signs, [1, 2, 3]) for signs in itertools.product([-1, 1], repeat=3)]
    n_reached = min(np.sum(np.array(sums) >= 0), np.sum(np.array(sums) <= 0))
    p = only_row(compared(np.zeros(3), d, n_resamples=199))["p_value"]
    assert p == min(1, 2 * n_reached / 8)
    d = np.array([0.1, 0.2, 0.3, 0.4]) * scale  # only 2 of the 16 outcomes are as extreme
    assert only_row(compared(np.zeros(4), d, n_resamples=199))["p_value"] == 2 / 16


@pytest.mark.parametrize("ties", [False, True])
def test_p_values_of_t_and_wilcoxon_equal_scipy(ties):
    a, b = (np.round(values, 1) for values in PAIR) if ties else PAIR
    d = np.round(b - a, 12)
    assert (d == 0).any() == ties
    t, wilcoxon = (only_row(compared(a, b, test=test))["p_value"] for test in ("t", "wilcoxon"))
    assert t == pytest.approx(stats.ttest_1samp(d, 0).pvalue, rel=1e-9)
    assert t == pytest.approx(stats.ttest_rel(b, a).pvalue, rel=1e-9)
    method = {"method": "approx"} if ties else {}
    assert wilcoxon == pytest.approx(stats.wilcoxon(d, **method).pvalue, rel=1e-12)


def test_the_p_value_of_wilcoxon_by_hand():
    # The negative difference has rank 4. Among the 2^6 sets of ranks, 7 have a sum of at most 4: ∅,
    # {1}, {2}, {3}, {4}, {1, 2} and {1, 3}.
    d = np.array([[0.1, 0.2, 0.3, -0.4, 0.5, 0.6]])
    assert p_values("wilcoxon", d, 0, 0) == pytest.approx(2 * 7 / 2**6, rel=1e-14)


def wilcoxon_by_enumeration(d):
    """Return the p-value of all sign flips of the ranks of the differences other than 0."""
    ranks = stats.rankdata(np.abs(d[d != 0]))
    sums = np.array([np.dot(s, ranks) for s in itertools.product([0, 1], repeat=len(ranks))])
    above = ranks[d[d != 0] > 0].sum()
    return min(1, 2 * min(np.mean(sums <= above), np.mean(sums >= above)))


def test_the_p_value_of_wilcoxon_is_exact_for_few_queries_with_ties_and_zeros():
    rng = np.random.default_rng(0)
    rows = [rng.integers(-3, 4, n) / 4 for n in range(2, 11) for _ in range(8)]
    for d in filter(np.any, rows):
        (p,) = p_values("wilcoxon", d[None], 0, 0)
        assert p == pytest.approx(wilcoxon_by_enumeration(d), rel=1e-12), d
        if np.lib.NumpyVersion(scipy.__version__) >= "1.15.0" and len(d) < 8:
            assert p == pytest.approx(stats.wilcoxon(d).pvalue, rel=1e-12), d


@pytest.mark.parametrize("n, method", [(13, "exact"), (50, "exact"), (51, "approx")])
def test_the_p_value_of_wilcoxon_of_distinct_differences_equals_scipy(n, method):
    d = np.random.default_rng(n).normal(0.1, 1, n)
    expected = stats.wilcoxon(d, method=method).pvalue
    assert p_values("wilcoxon", d[None], 0, 0) == pytest.approx(expected, rel=1e-12)
    d[0] = d[1]  # from 14 queries on, ties lead to the approximation
    expected = wilcoxon_by_enumeration(d) if n <= 13 else stats.wilcoxon(d, method="approx").pvalue
    assert p_values("wilcoxon", d[None], 0, 0) == pytest.approx(expected, rel=1e-12)


def test_wilcoxon_of_13_queries_with_ties_takes_milliseconds():
    rows, seconds = np.repeat([[0.25, -0.5, 0.75, 0]], [5, 4, 3, 1], axis=1), []
    for _ in range(3):
        start = time.perf_counter()
        p_values("wilcoxon", rows, 0, 0)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.02


def test_bootstrap_resamples_as_extreme_as_the_data_count_despite_rounding_errors():
    # The mean of 0.1, 0.2 and -0.3 is 0 up to rounding, so every resample is as extreme.
    assert p_values("bootstrap", np.array([[0.1, 0.2, -0.3]]), 199, 0) == 1


def test_the_p_value_of_the_bootstrap_equals_a_loop():
    d = np.array([0.4, -0.1, 0.2, 0.3, 0.1, -0.2, 0.25])
    drawn = np.random.default_rng(3).integers(0, 7, (500, 7))
    n_extreme = 0
    for rows in drawn:
        sample = d[rows] - d.mean()
        if np.ptp(sample) == 0 or abs(sample.mean()) / sample.std() >= d.mean() / d.std():
            n_extreme += 1
    result = p_values("bootstrap", d[None], 500, np.random.default_rng(3))
    assert result == (1 + n_extreme) / (1 + 500)
    assert 10 < n_extreme < 490


@pytest.mark.parametrize("test", TESTS)
def test_tests_are_two_sided(test):
    a, b = PAIR
    there, back = (only_row(compared(*two, test=test)) for two in ((a, b), (b, a)))
    assert back == back | {
        "difference": -there["difference"],
        "effect_size": -there["effect_size"],
        "wins": there["losses"],
        "losses": there["wins"],
        "p_value": pytest.approx(there["p_value"], rel=1e-9),
    }


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_p_value_decreases_if_the_system_that_the_test_favors_improves(test, sign):
    # The mean of these differences is positive; most of them are negative.
    d = sign * np.concatenate([-1 - 0.01 * np.arange(27), [10, 11, 12.5]])
    favored = np.sign((TESTS[test].statistic or np.mean)(d))
    improved = d + favored * np.linspace(0, 5, 51)[:, None]
    p = p_values(test, improved, 999, 0)
    assert p.max() < p[0] + 0.05
    assert p.min() < 0.05


@pytest.mark.parametrize("test", TESTS)
def test_the_smallest_p_value_is_that_of_positive_differences(test):
    smallest, is_limited = TESTS[test].smallest_p(6, 199)
    p = p_values(test, np.arange(1e9, 1e9 + 6)[None], 199, 0)
    assert smallest <= p
    assert is_limited or p == pytest.approx(smallest, abs=1e-9)


@pytest.mark.parametrize("test", [name for name, entry in TESTS.items() if entry.accepts_clusters])
def test_queries_of_a_cluster_count_as_one_unit(test):
    d = np.random.default_rng(0).normal(0.3, 1, 20)
    expected = p_values(test, d[None], 999, 0)
    repeated, cluster = np.repeat(d, 3)[None], np.repeat(np.arange(20), 3)
    assert p_values(test, repeated, 999, 0, cluster=cluster) == pytest.approx(expected, rel=1e-9)
    assert p_values(test, repeated, 999, 0) < 0.7 * expected


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("n", [1, 2, 30])
def test_equal_systems_have_a_p_value_of_1(test, n):
    a = np.random.default_rng(0).random(n)
    # 0.1 + 0.2 - 0.3 is a rounding error, not a difference
    row = only_row(compared(a + 0.3, a + 0.1 + 0.2, test=test))
    assert row == row | {
        "p_value": 1,
        "p_adjusted": 1,
        "wins": 0,
        "ties": n,
        "losses": 0,
        "difference": pytest.approx(0, abs=1e-15),
        "effect_size": pytest.approx(np.nan if n == 1 else 0, abs=0, nan_ok=True),
    }


@pytest.mark.parametrize("test", TESTS)
def test_one_query_and_equal_differences_have_large_p_values(test):
    row = only_row(compared([0], [1], test=test))
    assert row["p_value"] == 1
    assert np.isnan([row["ci_low"], row["ci_high"], row["effect_size"]]).all()
    # if all differences are equal, the limits of the interval are this value
    row = only_row(compared([0.25, 0.5, 0], [0.5, 0.75, 0.25], test=test))
    assert (row["ci_low"], row["difference"], row["ci_high"]) == (0.25, 0.25, 0.25)
    assert np.isnan(row["effect_size"])
    # t would be infinite, but equal differences prove no more than their signs
    expected = stats.wilcoxon([0.25, 0.25, 0.25]).pvalue if test == "wilcoxon" else 2 / 2**3
    assert row["p_value"] == expected
    # all differences are 0.1, up to rounding
    row = only_row(compared([0.3, 0.6, 0.7], [0.4, 0.7, 0.8], test=test))
    assert row["p_value"] == pytest.approx(expected, abs=1e-12)
    assert np.isnan(row["effect_size"])


@pytest.mark.parametrize(
    "n_tests, level, correction, expected",
    [
        (1, 0.95, "holm", 9999),
        (25, 0.95, "holm", 9999),
        (26, 0.95, "bonferroni", 26 * 400 - 1),
        (276, 0.95, None, 9999),
        (2, 0.999, "fdr_bh", 39_999),
        (10**6, 0.95, "holm", 9_999_999),
    ],
)
def test_the_number_of_resamples_depends_on_the_number_of_tests(
    n_tests, level, correction, expected
):
    assert choose_n_resamples(n_tests, level, correction) == expected


def test_a_sample_contains_outcomes_the_mean_and_the_deviation():
    undefined = np.array([False, False, False, True, False])
    sample = summarize_pair(np.array([1, 0.25, 1, 0.5, 0.5]), np.full(5, 0.5), undefined)
    assert (sample.mean, sample.baseline_mean, sample.n_undefined) == (3.25 / 5, 0.5, 1)
    assert (sample.wins, sample.ties, sample.losses) == (2, 2, 1)
    assert sample.estimate.mean == pytest.approx((0.5 - 0.25 + 0.5) / 5)
    squares = 2 * 0.35**2 + 0.4**2 + 2 * 0.15**2
    assert sample.deviation == pytest.approx((squares / 4) ** 0.5)
    # The weighted mean is (0.2 + 3 * 0.6) / 4 = 0.5.
    values, weights = np.array([0.2, 0.6, np.nan, 9]), np.array([1.0, 3.0, 1.0, 0.0])
    weighted = summarize_pair(values, np.zeros(4), undefined[:4], weights)
    variance = (1 * 0.3**2 + 3 * 0.1**2) / 4 * 2 / (2 - 1)
    assert weighted.estimate.mean == pytest.approx(0.5)
    assert weighted.deviation == pytest.approx(variance**0.5)
