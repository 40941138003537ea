"""Outcomes against a baseline."""

import numpy as np
import pytest
from scipy import stats
from small_reports import of_values, systems

import skgraded as sg


def outcome_rows(comparison, max_loss=0.0):
    return comparison.outcomes(max_loss).to_dict("records")


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_limits_are_one_sided_t_limits_with_bonferronis_correction(level):
    evaluations = systems("abc", 40)
    for part, test in [(evaluations, None), (evaluations, "randomization")]:
        comparison = sg.compare(part, baseline="a", level=level, test=test, correction=None, rng=0)
        rows = outcome_rows(comparison)
        assert [(row["system"], row["measure"]) for row in rows] == [
            (name, measure) for name in "bc" for measure in ("NDCNG@10", "MuAP")
        ]
        for row in rows:
            values = [evaluations[name].per_query[row["measure"]] for name in (row["system"], "a")]
            d = values[0] - values[1]
            reach = stats.t.ppf(1 - (1 - level) / 4, 39) * d.std(ddof=1) / np.sqrt(40)
            assert row["difference"] == pytest.approx(d.mean())
            assert (row["low"], row["high"]) == pytest.approx((d.mean() - reach, d.mean() + reach))
    summaries = sg.Summaries.of(evaluations)
    sums = sg.compare(summaries, baseline="a", level=level).outcomes()
    assert sums.round(12).equals(comparison.outcomes().round(12))


def test_the_outcome_follows_from_the_limits():
    d = np.random.default_rng(0).normal(0, 0.1, 100)
    d -= d.mean()
    reach = stats.t.ppf(0.95, 99) * d.std(ddof=1) / 10
    cases = {"worse": -0.02 - 1.01 * reach, "undecided": -0.02, "not worse": -0.02 + 1.01 * reach}
    for outcome, shift in cases.items():
        comparison = sg.compare(of_values(np.full(100, 0.5), 0.5 + d + shift), baseline="a", rng=0)
        assert outcome_rows(comparison, 0.02)[0]["outcome"] == outcome


@pytest.mark.parametrize(
    "values, baseline_values, max_loss, outcome, limit",
    [
        # Equal differences need enough queries for a sign test: 2^-4 > 0.05 ≥ 2^-5.
        ([0.4] * 5, [0.5] * 5, 0, "undecided", np.nan),
        ([0.4] * 6, [0.5] * 6, 0, "worse", -0.1),
        ([0.5] * 2, [0.5] * 2, 0, "not worse", 0),
        # There are too few values.
        ([0.9], [0.5], 0.5, "undecided", np.nan),
        ([np.nan, 0.9], [0.5, np.nan], 0.5, "undecided", np.nan),
    ],
)
def test_outcomes_of_equal_differences(values, baseline_values, max_loss, outcome, limit):
    comparison = sg.compare(of_values(baseline_values, values), baseline="a", test="t")
    (row,) = outcome_rows(comparison, max_loss)
    assert row["outcome"] == outcome
    assert [row["low"], row["high"]] == pytest.approx([limit] * 2, nan_ok=True)


def test_segments_have_their_own_outcomes():
    evaluations = of_values(np.linspace(0, 1, 20), np.linspace(0, 1, 20) - np.repeat([0, 0.1], 10))
    by = np.repeat(["x", "y"], 10)
    frame = sg.compare(evaluations, baseline="a", by=by, rng=0).outcomes()
    assert list(frame) == ["segment", "system", "measure", "difference", "low", "high", "outcome"]
    assert frame[["segment", "outcome"]].values.tolist() == [["x", "not worse"], ["y", "worse"]]
