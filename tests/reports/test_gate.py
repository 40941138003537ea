"""Ranks in leaderboards, and outcomes against a baseline."""

import numpy as np
import pytest
from scipy import stats
from small_reports import evaluation, of_values, systems

import skgraded as sg


def outcome_rows(comparison, max_loss=0.0):
    return comparison.outcomes(max_loss).to_dict("records")


# Outcomes ----------------------------------------------------------------------------------------


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


def test_equal_differences_need_enough_queries_for_a_sign_test():
    for n, outcome in [(5, "undecided"), (6, "worse")]:  # 2^-4 > 0.05 ≥ 2^-5
        comparison = sg.compare(of_values([0.5] * n, [0.4] * n), baseline="a", test="t")
        (row,) = outcome_rows(comparison)
        assert row["outcome"] == outcome
        assert np.isnan(row["low"]) == (outcome == "undecided")
    same = sg.compare(of_values([0.5] * 2, [0.5] * 2), baseline="a", test="t")
    assert outcome_rows(same)[0] | {"difference": 0.0} == {
        "system": "b", "measure": "AP", "difference": 0.0, "low": 0.0, "high": 0.0,
        "outcome": "not worse",
    }  # fmt: skip


def test_too_few_values_are_undecided():
    nan = np.nan
    one = sg.compare(of_values([0.5], [0.9]), baseline="a", test="t")
    none = sg.compare(of_values([0.5, nan], [nan, 0.9]), baseline="a", test="t")
    for comparison in (one, none):
        (row,) = outcome_rows(comparison, 0.5)
        assert row["outcome"] == "undecided" and np.isnan(row["low"])


def test_segments_have_their_own_outcomes():
    evaluations = of_values(np.linspace(0, 1, 20), np.linspace(0, 1, 20) - np.repeat([0, 0.1], 10))
    by = np.repeat(["x", "y"], 10)
    frame = sg.compare(evaluations, baseline="a", by=by, rng=0).outcomes()
    assert list(frame) == ["segment", "system", "measure", "difference", "low", "high", "outcome"]
    assert frame[["segment", "outcome"]].values.tolist() == [["x", "not worse"], ["y", "worse"]]


def test_errors_of_outcomes():
    evaluations = systems("ab", 20)
    with pytest.raises(ValueError, match="outcomes requires a baseline"):
        sg.compare(evaluations, rng=0).outcomes()
    comparison = sg.compare(evaluations, baseline="a", rng=0)
    for value in (-0.1, np.nan, np.inf, "0.1"):
        with pytest.raises(ValueError, match="max_loss must be a finite number ≥ 0; got"):
            comparison.outcomes(value)
    weighted = systems("ab", 20, weights=np.arange(1.0, 21))
    for part in (weighted, sg.Summaries.of(weighted)):
        with pytest.raises(ValueError, match="weight"):
            sg.compare(part, baseline="a", test=None).outcomes()


# Ranks -------------------------------------------------------------------------------------------


def test_ranks_count_the_significantly_better_and_worse_systems():
    base = np.random.default_rng(0).uniform(0.2, 0.5, 40)
    noise = np.random.default_rng(1).normal(0, 0.01, (4, 40))
    evaluations = of_values(base + 0.2 + noise[0], base + 0.199 + noise[1], base + noise[2],
                            base - 0.2 + noise[3])  # fmt: skip
    board = sg.compare(evaluations, test="t").leaderboard()
    frame = board.to_frame()
    assert list(frame) == ["system", "measure", "mean", "rank_low", "rank_high"]
    ranks = {"a": (1, 2), "b": (1, 2), "c": (3, 3), "d": (4, 4)}
    assert {row.system: (row.rank_low, row.rank_high) for row in frame.itertuples()} == ranks
    assert frame.equals(sg.compare(evaluations, test="t").summary())
    assert "1–2" in str(board) and "1–2" in board.to_markdown()
    assert "1--2" in board.to_latex()
    assert ">1–2</span></td>" in sg.compare(evaluations, test="t").to_html()


@pytest.mark.parametrize("settings", [{"baseline": "a"}, {"test": None}])
def test_ranks_are_unknown_with_a_baseline_and_without_a_test(settings):
    evaluations = of_values([0.1, 0.2, 0.3], [0.2, 0.2, 0.4])
    board = sg.compare(evaluations, **{"test": "t"} | settings).leaderboard()
    assert board.to_frame()[["rank_low", "rank_high"]].isna().all(axis=None)
    assert "rank" not in str(board)


def test_the_frame_of_a_leaderboard_names_segments_and_measures():
    values = np.linspace(0.2, 0.5, 20)
    evaluations = {
        name: evaluation({"AP": values, "RR": values + i / 10}) for i, name in enumerate("ab")
    }
    frame = sg.compare(evaluations, by=np.repeat(["x", "y"], 10), rng=0).summary()
    keys = frame[["segment", "system", "measure"]].values.tolist()
    assert keys[:4] == [["x", "a", "AP"], ["x", "b", "AP"], ["y", "a", "AP"], ["y", "b", "AP"]]
    assert len(keys) == 8 and keys[4][2] == "RR"
