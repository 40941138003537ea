"""Equivalence and non-inferiority tests, compared with statsmodels and with intervals."""

import numpy as np
import pytest
from small_reports import columns, compared, of_values, systems

import skgraded as sg


@pytest.mark.parametrize("n", [2, 3, 10, 60])
@pytest.mark.parametrize("margin", [1e-6, 0.01, 0.05, 2.0])
def test_p_values_equal_statsmodels(n, margin, statsmodels):
    values = np.random.default_rng(n).beta(2, 2, (2, n))
    values[1] = values[0] + (values[1] - 0.5) / 10
    p, (_, p_low, _), _ = statsmodels.ttost_paired(values[1], values[0], -margin, margin)
    result = compared(*values)
    assert columns(result.equivalence(margin))["p_value"] == pytest.approx([p], abs=1e-12)
    assert columns(result.noninferiority(margin))["p_value"] == pytest.approx([p_low], abs=1e-12)


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "fdr_bh"])
def test_p_values_are_corrected_over_all_rows(correction, statsmodels):
    comparison = sg.compare(systems(["a", "b", "c"], 40), correction=correction, rng=0)
    table = columns(comparison.equivalence(0.04))
    assert len(table["p_value"]) == 6
    expected = statsmodels.multipletests(table["p_value"], method=correction)[1]
    assert table["p_adjusted"] == pytest.approx(expected)
    plain = sg.compare(systems(["a", "b", "c"], 40), correction=None, rng=0).equivalence(0.04)
    assert columns(plain)["p_adjusted"] == columns(plain)["p_value"] == table["p_value"]


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "fdr_bh", None])
@pytest.mark.parametrize("question", ["equivalence", "noninferiority"])
def test_intervals_within_the_margins_are_significant(correction, question):
    n_shown = 0
    for seed in range(6):
        comparison = sg.compare(systems("abcd", 30, seed=seed), correction=correction, rng=0)
        table = getattr(comparison, question)(0.06)
        for row in table.to_frame().to_dict("records"):
            within = row["ci_low"] > -0.06 and (question != "equivalence" or row["ci_high"] < 0.06)
            shown = row["p_adjusted"] <= 0.05
            n_shown += shown
            assert shown or not within
            if correction in (None, "bonferroni"):
                assert shown == within
    assert 0 < n_shown < 6 * 12


def test_the_sentences():
    d = np.tile([0.004, -0.002, 0.003, -0.001], 10)
    result = compared(np.full(40, 0.5), 0.5 + d)
    (same,), (not_worse,) = (
        tests.sentences() for tests in (result.equivalence(0.01), result.noninferiority(0.01))
    )
    assert same.startswith(
        "b is equivalent to a on AP (margin ±0.01): 0.5010 against 0.5000, +0.0010 (90 % interval "
        "0.0003 to 0.0017), p < 0.0001; 40 queries."
    )
    assert not_worse.startswith("b is noninferior to a on AP (margin 0.01): ")
    result = compared(np.full(40, 0.5), 0.48 + 10 * d, np.full(40, 0.5), baseline=None)
    shown, *others = result.equivalence(0.01).sentences()
    assert shown.startswith("c is equivalent to a on AP (margin ±0.01): ")
    assert shown.endswith(" All differences are equal, so the interval has no width.")
    assert others[0].startswith(
        "b is not shown to be equivalent to a on AP (margin ±0.01): 0.4900 against 0.5000"
    )
    assert "with Holm's correction over 3 tests; 40 queries." in others[0]
    assert any(
        sentence.startswith("b is not shown to be noninferior to a on AP (margin 0.01): ")
        for sentence in result.noninferiority(0.01).sentences()
    )


def test_measures_may_have_different_margins():
    comparison = sg.compare(systems(["a", "b"], 40), rng=0)
    both = comparison.equivalence({"ndcng@10": 0.2, sg.MuAP(): 1e-4})
    assert columns(both)["margin"] == [0.2, 1e-4]
    assert columns(both)["p_value"] == [
        columns(comparison.equivalence(0.2))["p_value"][0],
        columns(comparison.equivalence(1e-4))["p_value"][1],
    ]


@pytest.mark.parametrize("values, margin, p", [
    ([0.1, 0.1], 0.2, 2**-2),  # two equal differences prove nothing
    ([0.1] * 8, 0.2, 2**-8),
    ([0.25] * 8, 0.25, 1),  # at the margin, not within it
    ([0.1], 0.2, 1),
    ([0.3, 0.3], 0.2, 1),
    ([np.nan], 0.2, np.nan),
    ([0.0] * 60, 1e-9, 2**-60),
])
def test_equal_differences_and_single_queries(values, margin, p):
    table = columns(compared(np.zeros(len(values)), values).equivalence(margin))
    assert table["p_value"] == pytest.approx([p], nan_ok=True)
    assert compared(np.zeros(len(values)), values).equivalence(margin).sentences()


def test_tables():
    comparison = sg.compare(systems(["a", "b", "c"], 40), baseline="a", rng=0).equivalence(0.04)
    frame = comparison.to_frame()
    assert frame.columns.tolist()[:9] == [
        "system", "measure", "margin", "difference", "ci_low", "ci_high", "p_value", "p_adjusted",
        "n_queries",
    ]
    assert len(comparison.to_markdown().splitlines()) == 2 + 4
    assert comparison.to_latex().count(r"\\") == 1 + 4
    assert repr(comparison).startswith("equivalence(b - a, NDCNG@10: +0.0")


def test_queries_without_a_value_are_left_out_and_queries_undefined_in_both_are_counted():
    with_nan = columns(compared([0, 0, 0, 0.5], [0.1, 0.2, 0.15, np.nan]).equivalence(0.3))
    without = columns(compared([0, 0, 0], [0.1, 0.2, 0.15]).equivalence(0.3))
    assert with_nan["n_queries"] == [3] and with_nan["p_value"] == without["p_value"]
    values = np.random.default_rng(0).beta(2, 2, (2, 8))
    values[:, 5] = 0
    flags = {"AP": np.arange(8) == 5}
    comparison = sg.compare(of_values(*values, undefined=flags)).equivalence(0.2)
    assert columns(comparison)["n_queries"] == [8] and columns(comparison)["n_undefined"] == [1]
    (sentence,) = comparison.sentences()
    assert sentence.endswith("; 8 queries. Undefined for both systems: 1 query.")
