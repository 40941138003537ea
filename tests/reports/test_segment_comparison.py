"""compare(by=…): systems within segments, and their differences between segments."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from small_reports import HOSTILE, drawn, ids_of, of_values, systems, taken

import skgraded as sg

TESTS = ("randomization", "t", "wilcoxon", "bootstrap")
IDS = [f"q{i}" for i in range(60)]
BY = np.array(["head", "tail", "tail"] * 20)


@pytest.fixture(scope="module")
def three():
    return systems(["a", "b", "c"], 60)


@pytest.mark.parametrize("test", TESTS)
def test_a_segment_is_compared_as_its_queries_alone(three, test):
    settings = {"baseline": "a", "correction": None, **drawn(test, n_resamples=500)}
    table = sg.compare(three, by=BY, **settings).to_frame()
    for segment in ("head", "tail"):
        rows = table[table["segment"] == segment].drop(columns="segment").reset_index(drop=True)
        alone = {name: taken(ev, BY == segment) for name, ev in three.items()}
        pd.testing.assert_frame_equal(rows, sg.compare(alone, **settings).to_frame(), rtol=1e-12)


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "fdr_bh"])
def test_tests_are_corrected_over_all_segments(three, correction, statsmodels):
    comparison = sg.compare(three, by=BY, test="t", correction=correction)
    assert len(comparison.to_frame()) == 3 * 2 * 2
    for table in (comparison.to_frame(), comparison.between_segments()):
        expected = statsmodels.multipletests(table["p_value"], method=correction)[1]
        assert table["p_adjusted"].tolist() == pytest.approx(expected.tolist())


def test_between_segments_equals_welchs_test(three):
    comparison = sg.compare(three, by=BY, baseline="b", correction="bonferroni", rng=0)
    frame = comparison.between_segments()
    assert frame["segment"].tolist() == ["tail"] * 4
    assert frame["other_segment"].tolist() == ["head"] * 4
    for row in frame.to_dict("records"):
        a, b = (three[row[name]].per_query[row["measure"]] for name in ("baseline", "system"))
        tail, head = (b - a)[BY == "tail"], (b - a)[BY == "head"]
        expected = stats.ttest_ind(tail, head, equal_var=False)
        assert row["p_value"] == pytest.approx(expected.pvalue)
        assert row["difference"] == pytest.approx(tail.mean())
        assert row["other_difference"] == pytest.approx(head.mean())
        assert row["interaction"] == pytest.approx(tail.mean() - head.mean())
        low, high = expected.confidence_interval(1 - 0.05 / 4)
        if row["p_adjusted"] > 0.05:
            low, high = min(low, 0), max(high, 0)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high))
        assert (row["n_queries"], row["other_n_queries"]) == (40, 20)


def test_a_difference_that_varies_between_segments_is_detected():
    rng = np.random.default_rng(0)
    values = rng.beta(2, 2, 60)
    better = values + np.where(BY == "head", 0.1, 0) + rng.normal(0, 0.02, 60)
    comparison = sg.compare(of_values(values, better), by=BY)
    texts = comparison.sentences()
    assert texts[0].startswith("b is significantly better than a on AP in head: ")
    assert texts[1].startswith("a is not significantly better than b on AP in tail: ")
    assert texts[2].startswith(
        "The lead of b over a on AP is significantly larger in head than in tail: "
    )
    head, tail = comparison.leaderboard().verdict.split(". ")
    assert re.fullmatch(r"b leads on AP in head \(.*\); significantly better than a", head)
    assert re.fullmatch(r"a leads on AP in tail \(.*\); not significantly better than b\.", tail)
    assert "with Holm's correction over 2 tests" in texts[0] and "Holm" not in texts[2]


@pytest.mark.parametrize("head, tail, p", [
    ([0.1, 0.1], [0.0, 0.0], 2 / 6),  # 2 of the 6 assignments to segments are as extreme
    ([0.1, 0.1], [0.1, 0.1, 0.1], 1),
    ([0.1] * 2, [0.0] * 5, 2 / 21),
    ([0.1, 0.1], [-0.01, 0.01] * 50, 2 ** -1),  # two values prove little, even next to 100 others
    ([0.1], [0.0, 0.1], np.nan),
    ([0.1], [0.2], np.nan),
    ([np.nan, 0.1], [0.2, 0.4], np.nan),
])
def test_few_or_equal_differences_between_segments_are_not_significant(head, tail, p):
    differences = np.array([*head, *tail])
    both = of_values(np.zeros(len(differences)), differences)
    comparison = sg.compare(both, by=["head"] * len(head) + ["tail"] * len(tail))
    assert comparison.between_segments()["p_value"].tolist() == pytest.approx([p], nan_ok=True)
    texts = comparison.sentences()[-1]
    relation = "larger (not tested)" if p != p else "not significantly larger"
    assert texts.startswith(f"The lead of b over a on AP is {relation} in ")


def test_the_sentence_on_a_segment_of_few_queries_states_that_no_outcome_is_significant():
    values = np.random.default_rng(0).beta(2, 2, (2, 30))
    texts = sg.compare(of_values(*values), by=["few"] * 5 + ["many"] * 25, rng=0).sentences()
    assert "No outcome could have been significant: with 5 queries that differ, the " in texts[0]
    assert "With 25 queries, the smallest difference detectable at 80 % power is" in texts[1]


@pytest.mark.parametrize("by", [BY.tolist(), pd.Series(BY, IDS)[::-1]])
def test_segments_have_the_same_forms_as_for_summary(three, by):
    result = sg.compare(three, by=by, test="t")
    pd.testing.assert_frame_equal(result.to_frame(), sg.compare(three, by=BY, test="t").to_frame())
    assert result.segments == ["head", "tail"]
    means = three["a"].summary(by=by).set_index(["segment", "measure"])["mean"]
    for row in result.to_frame().query("baseline == 'a'").to_dict("records"):
        assert row["baseline_mean"] == pytest.approx(means[row["segment"], row["measure"]])


def test_tables_and_pages_name_the_segments(three):
    comparison = sg.compare(three, by=BY, baseline="a", rng=0)
    frame = comparison.to_frame()
    assert frame.columns.tolist()[:3] == ["segment", "system", "measure"]
    assert frame["segment"].tolist() == ["head", "tail"] * 4
    assert comparison.to_markdown().splitlines()[0].startswith("| segment   | system   | measure")
    assert "segment & system & measure & mean &" in comparison.to_latex()
    board = comparison.leaderboard()
    assert board.measures == [
        "NDCNG@10 in head", "NDCNG@10 in tail", "MuAP in head", "MuAP in tail"
    ]
    page = comparison.to_html(title="By length")
    assert "60 queries in 2 segments" in page and "<h1>By length" in page
    for sentence in comparison.sentences():
        assert sentence.replace("'", "&#39;") in page
    assert "<td>tail</td>" in comparison._repr_html_()
    assert repr(comparison) == (
        "Comparison(60 queries in 2 segments: a, b, c by NDCNG@10, MuAP)"
    )
    assert comparison.differences("b", "a", "MuAP", "head") == pytest.approx(
        (three["b"].per_query["MuAP"] - three["a"].per_query["MuAP"])[BY == "head"]
    )


def test_hostile_segments_and_names_do_not_break_reports():
    both = systems(HOSTILE[:2], 24, measures=("AP",), query_ids=range(24))
    comparison = sg.compare(both, by=np.repeat(ids_of(HOSTILE), 2), rng=0)
    assert len(comparison.sentences()) == 12 + 12 * 11 / 2
    assert "<script>window.broken" not in comparison.to_html().replace(" ", "")
    assert comparison.to_markdown() and comparison.to_latex() and str(comparison.leaderboard())
    again = sg.Comparison.from_json(comparison.to_json())
    assert again.segments == comparison.segments


def test_many_segments_are_allowed_and_equal_texts_are_distinguished(three):
    comparison = sg.compare(three, by=[1] * 30 + ["1"] * 30, rng=0)
    assert comparison.leaderboard().measures[:2] == ["NDCNG@10 in 1", "NDCNG@10 in '1'"]
    both = systems(["a", "b"], 101)
    assert len(sg.compare(both, by=[i // 2 for i in range(101)], test="t").segments) == 51


def test_the_scale_of_weights_changes_nothing_between_segments():
    by = ["head"] * 7 + ["tail"] * 5
    weights = np.arange(12) % 3 + 1.0
    tables = [
        sg.compare(systems(["a", "b"], 12, weights=scaled), by=by, test=None).between_segments()
        for scaled in (weights, 8 * weights, np.ones(12))
    ]
    pd.testing.assert_frame_equal(tables[0], tables[1])
    assert (tables[0]["interaction"] != tables[2]["interaction"]).all()
    plain = sg.compare(systems(["a", "b"], 12), by=by, test=None).between_segments()
    pd.testing.assert_frame_equal(tables[2], plain, rtol=1e-12)


def test_weighted_queries_give_means_and_intervals_without_tests():
    weighted = systems(["a", "b"], 60, weights=np.arange(60) % 4 / 2)
    comparison = sg.compare(weighted, by=BY, test=None)
    for row in comparison.to_frame().to_dict("records"):
        expected = weighted["b"].summary(by=BY).set_index(["segment", "measure"])["mean"]
        assert row["mean"] == pytest.approx(expected[row["segment"], row["measure"]])
    between = comparison.between_segments()
    assert np.isnan(comparison.to_frame()["p_value"]).all() and between["p_value"].isna().all()
    assert (between["ci_low"] < between["interaction"]).all()
    row = between.iloc[0]
    d = comparison.to_frame()["difference"]
    assert (row["difference"], row["other_difference"]) == pytest.approx((d[1], d[0]))
    assert "not tested" in comparison.sentences()[-1]


TWO = systems(["a", "b"], 60)


@pytest.mark.parametrize("evaluations, by, error, message", [
    (TWO, BY[:-1], ValueError, "'by' contains 59 segments, but there are 60 queries"),
    (sg.Summaries.of(TWO), BY, TypeError, "by must be the name of the column of segments"),
    (systems(["a", "b"], 101), range(101), ValueError,
     "'by' contains 101 segments, such as 0 and 1, but at most 100"),
    (of_values([], []), [], ValueError, "'by' defines no segments, because there are no queries"),
])
def test_bad_segments_are_refused(evaluations, by, error, message):
    with pytest.raises(error, match=message):
        sg.compare(evaluations, by=by, test="t")
