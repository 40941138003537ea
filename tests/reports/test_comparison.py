"""compare: pairs of queries, corrections over the table, intervals, and sentences."""

import html
import io
import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from small_reports import PAIR, columns, compared, ids_of, only_row, systems

import skgraded as sg
from skgraded.stats.corrections import adjust, is_significant
from skgraded.stats.paired_tests import TESTS, PairedTest
from skgraded.writing.tables import list_rows


def evaluation(values, ids=None, weights=None):
    """Return an Evaluation of values of AP, or of other measures by name."""
    values = values if isinstance(values, dict) else {"AP": values}
    ids = np.arange(len(next(iter(values.values())))) if ids is None else ids
    return sg.Evaluation(ids, values, weights=weights)


# Three systems and three measures, with tied and undefined values.
_, y, qid = sg.datasets.make_ranking(n_queries=50, random_state=0)
y[np.isin(qid, [3, 17])] = 0
NOISE = np.random.default_rng(1).normal(size=(3, len(y)))
TABLE = {
    name: sg.evaluate(
        y, y + scale * NOISE[i], qid=qid, measures=["ap(undefined=nan)", "ndcng@5", "rr"]
    )
    for i, (name, scale) in enumerate([("rough", 3), ("fair", 2.5), ("good", 1)])
}


# Tests and corrections ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "level, p, expected",
    [
        (0.95, 0.05, "b is significantly better than a"),
        (0.95, 0.0500001, "b is not significantly better than a"),
        (0.9, 0.1, "b is significantly better than a"),
        (0.9, 0.1000001, "b is not significantly better than a"),
        (0.95, 0.00004, ", p < 0.0001;"),
        (0.95, 0.00006, ", p = 0.0001;"),
        (0.95, 0.0426, ", p = 0.0426;"),
    ],
)
def test_a_sentence_reports_p_and_whether_it_is_significant(level, p, expected):
    comparison = compared(*PAIR, level=level, test="t")
    flag = np.array([is_significant(p, level)])
    rows = {"p_adjusted": np.array([p]), "is_significant": flag, "has_winner": flag}
    comparison = replace(comparison, rows=comparison.rows | rows)
    assert expected in comparison.sentences()[0]


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "fdr_bh", None])
@pytest.mark.parametrize("by", [None, ["x", "y"] * 25])
def test_tests_are_corrected_over_the_whole_table(correction, by):
    frame = sg.compare(TABLE, test="t", correction=correction, by=by).to_frame()
    assert len(frame) == 3 * 3 * (1 if by is None else 2)
    assert (frame["p_adjusted"] != frame["p_value"]).any() == (correction is not None)
    np.testing.assert_array_equal(frame["p_adjusted"], adjust(frame["p_value"], correction))


@pytest.mark.parametrize("test", ["randomization", "bootstrap"])
def test_a_seed_gives_the_same_p(test):
    seeds = (4, 4, np.random.default_rng(4), np.random.default_rng(4))
    first, *others = (only_row(compared(*PAIR, test=test, rng=seed)) for seed in seeds)
    assert others == [first] * 3
    others = {only_row(compared(*PAIR, test=test, rng=seed))["p_value"] for seed in range(5)}
    assert len(others) > 1
    assert 0 < only_row(compared(*PAIR, test=test, rng=None))["p_value"] < 1


def test_a_better_system_among_24_is_significant():
    rng = np.random.default_rng(0)
    values = rng.beta(2, 2, (24, 60))
    values[1] = values[0] + rng.uniform(0.01, 0.02, 60)
    systems = {f"s{i:02}": evaluation(row) for i, row in enumerate(values)}
    comparison = sg.compare(systems, rng=0)
    assert len(columns(comparison)["p_value"]) == 24 * 23 / 2 == 276
    assert comparison.n_resamples == 20 * 276 / 0.05 - 1
    assert columns(comparison)["p_value"][0] == 2 / 110_400
    assert columns(comparison)["p_adjusted"][0] == pytest.approx(276 * 2 / 110_400)


def test_the_smallest_possible_resampled_p_value_is_shown_as_a_bound():
    comparison = compared(np.zeros(30), np.linspace(0.1, 0.2, 30), n_resamples=199)
    assert only_row(comparison)["p_value"] == 2 / 200
    assert "p ≤ 0.0100;" in comparison.sentences()[0]
    assert "≤ 0.0100" in comparison.to_markdown() and r"$\leq$ 0.0100" in comparison.to_latex()
    exact = compared(np.zeros(7), np.linspace(0.1, 0.2, 7), n_resamples=199)
    assert only_row(exact)["p_value"] == 2 / 2**7
    assert "p = 0.0156;" in exact.sentences()[0] and "≤" not in exact.to_markdown()


@pytest.mark.parametrize("correction, level", [("holm", 0.9), ("fdr_bh", 0.95)])
def test_intervals_have_the_level_of_the_correction(correction, level):
    """Intervals have Bonferroni's level, or for fdr_bh the level of Benjamini and Yekutieli."""
    frame = sg.compare(TABLE, test="t", correction=correction, level=level).to_frame()
    n_significant = (frame["p_adjusted"] <= 1 - level).sum()
    assert 1 < n_significant < 9
    share = (n_significant if correction == "fdr_bh" else 1) / 9
    for row in frame.to_dict("records"):
        values = [TABLE[row[name]].per_query[row["measure"]] for name in ("system", "baseline")]
        d = np.subtract(*values)
        interval = stats.ttest_1samp(d[~np.isnan(d)], 0).confidence_interval
        low, high = interval(1 - (1 - level) * share)
        if row["p_adjusted"] > 1 - level:
            low, high = min(low, 0), max(high, 0)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high))


def test_ties_of_queries_undefined_in_both_are_counted():
    y = [1, 0, 0, 0, 1, 0, 1, 0]
    group = [2, 2, 2, 2]
    systems = {
        "a": sg.evaluate(y, [1, 2, 1, 2, 1, 2, 2, 1], group=group, measures=["rr", "p@1"]),
        "b": sg.evaluate(y, [2, 1, 2, 1, 2, 1, 2, 1], group=group, measures=["rr", "p@1"]),
    }
    comparison = sg.compare(systems)
    table = columns(comparison)
    assert table["ties"] == [2, 2] and table["wins"] == [2, 2]
    assert table["n_undefined"] == [1, 0]  # precision is defined without relevant documents
    rr, precision = comparison.sentences()
    assert rr.endswith(" Undefined for both systems: 1 query.")
    assert "Undefined" not in precision
    assert "n_undefined" in comparison.to_markdown()
    assert "n_undefined" not in compared([0, 1], [1, 0]).to_markdown()


def test_tests_pair_queries_across_folds_and_name_systems_with_different_folds():
    from sklearn.linear_model import Ridge

    X, y, qid = sg.datasets.make_ranking(n_queries=12, random_state=0)
    folds = [(np.flatnonzero(qid % 3 != i), np.flatnonzero(qid % 3 == i)) for i in range(3)]
    settings = {"qid": qid, "measures": "ap"}
    first, renumbered = (
        sg.cross_evaluate(Ridge(), X, y, cv=cv, **settings) for cv in (folds, folds[::-1])
    )
    second = sg.cross_evaluate(Ridge(), X, y, cv=4, **settings)
    assert columns(sg.compare({"one": first, "renumbered": renumbered}))["ties"] == [12]
    with pytest.warns(UserWarning, match="^'other' was cross-evaluated on different folds than"):
        comparison = sg.compare({"one": first, "other": second}, test="t")
    d = second.per_query["AP"] - first.per_query["AP"]
    assert only_row(comparison)["n_queries"] == 12
    assert only_row(comparison)["p_value"] == pytest.approx(stats.ttest_1samp(d, 0).pvalue)


# Families ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "fdr_bh"])
@pytest.mark.parametrize("by", [None, ["x", "y"] * 60])
def test_a_family_of_each_measure_equals_a_comparison_by_this_measure_alone(correction, by):
    settings = {"correction": correction, "by": by, "rng": 0}
    evaluations = systems("abc", 120, ("AP", "RR"))
    alone = {
        measure: sg.compare(
            {name: evaluation(ev.per_query[measure]) for name, ev in evaluations.items()},
            **settings,
        )
        for measure in ("AP", "RR")
    }
    comparison = sg.compare(evaluations, family="measure", **settings)
    for measure, expected in alone.items():
        both = comparison.to_frame()
        both = both[both["measure"] == measure].reset_index(drop=True)
        pd.testing.assert_frame_equal(both, expected.to_frame().assign(measure=measure))
        texts = [
            text.replace(" tests of each measure", " tests")
            for text in comparison.sentences()
            if f" on {measure} " in text.replace(":", " ")
        ]
        assert texts == [text.replace(" on AP", f" on {measure}") for text in expected.sentences()]


def test_the_family_is_named():
    evaluations = systems("abc", 60, ("AP", "RR"))
    comparison = sg.compare(evaluations, test="t", family="measure")
    assert sg.compare(evaluations, test="t").family == "all"
    family = "with Holm's correction over 3 tests of each measure"
    assert f"{family}; " in comparison.sentences()[0]
    lead = f"60 queries; paired t-test {family}."
    assert f"All pairs. {lead}" in html.unescape(comparison.to_html())


# Pairing -----------------------------------------------------------------------------------------


def test_queries_are_paired_by_ids_of_any_kind_in_any_order():
    expected = sg.compare(TABLE, test="wilcoxon").to_frame()
    orders = [np.arange(50), *(np.random.default_rng(seed).permutation(50) for seed in (1, 2))]
    mixed = {name: ev.take(order) for (name, ev), order in zip(TABLE.items(), orders, strict=True)}
    result = sg.compare(mixed, test="wilcoxon")
    assert result.to_frame().equals(expected)
    assert result.query_ids.tolist() == TABLE["rough"].query_ids.tolist()
    for i, ev in enumerate(TABLE.values()):
        np.testing.assert_array_equal(result.per_query["RR"][i], ev.per_query["RR"])
    ids = ids_of([("q", 1), ("q", 2), "q3", 4, 5.5])
    values = np.arange(5)
    result = sg.compare({"a": evaluation(values, ids), "b": evaluation(values[::-1], ids[::-1])})
    assert only_row(result)["ties"] == 5


def test_the_columns_describe_the_values():
    comparison = sg.compare(TABLE, baseline="fair", test="t", correction=None)
    frame = comparison.to_frame()
    assert frame.columns.tolist()[:10] == [
        "system",
        "measure",
        "mean",
        "difference",
        "ci_low",
        "ci_high",
        "p_value",
        "p_adjusted",
        "n_queries",
        "n_defined",
    ]
    measures = ["AP(undefined=nan)", "NDCNG@5", "RR"]
    assert comparison.systems == ["rough", "fair", "good"]
    assert comparison.measures == measures
    assert [*zip(frame["system"], frame["measure"], strict=True)] == [
        *itertools.product(["rough", "good"], measures)
    ]
    assert set(frame["baseline"]) == {"fair"}
    for row in frame.to_dict("records"):
        a, b = (TABLE[name].per_query[row["measure"]] for name in ("fair", row["system"]))
        d = (b - a)[~np.isnan(a)]
        assert row == row | {
            "mean": TABLE[row["system"]].mean()[row["measure"]],
            "baseline_mean": TABLE["fair"].mean()[row["measure"]],
            "difference": pytest.approx(d.mean(), abs=1e-12),
            "ci_method": "t",
            "n_queries": 50,
            "n_defined": len(d),
            "wins": np.sum(d > 1e-12),
            "ties": np.sum(abs(d) <= 1e-12),
            "losses": np.sum(d < -1e-12),
            "effect_size": pytest.approx(d.mean() / d.std(ddof=1), rel=1e-9),
        }
        assert len(d) == (48 if "nan" in row["measure"] else 50)
        assert row["ci_low"] < row["difference"] < row["ci_high"]
    assert (frame["ties"] > 0).any()
    pairs = sg.compare(TABLE, test=None).to_frame()  # without a baseline, the rows are all pairs
    assert [*zip(pairs["system"], pairs["baseline"], strict=True)][::3] == [
        ("fair", "rough"),
        ("good", "rough"),
        ("good", "fair"),
    ]


@pytest.mark.parametrize("weights", [[0.5, 0, 0.25], [0, 3, 4], [0.25, 0.5, 0.5]])
def test_tests_of_queries_with_unequal_weights_are_refused_at_any_scale(weights):
    systems = {name: evaluation([0.5, 1, 0.25], weights=weights) for name in "ab"}
    lightest, heaviest = min(filter(None, weights)), max(weights)
    message = f"but the weights range from {lightest} to {heaviest}. Pass test"
    with pytest.raises(ValueError, match=message):
        sg.compare(systems)
    assert columns(sg.compare(systems, test=None))["p_value"]


def test_weights_that_differ_by_rounding_are_equal():
    weights = np.array([0.1, (0.1 + 0.1 + 0.1) / 3, 0.1])  # the mean is 0.10000000000000002
    systems = {
        name: evaluation(values, weights=weights)
        for name, values in {"a": [0.5, 1, 0.25], "b": [0.25, 0.25, 0]}.items()
    }
    summaries = sg.Summaries.of(systems)
    expected = stats.ttest_1samp([0.25, 0.75, 0.25], 0).pvalue
    for result in (sg.compare(systems, test="t"), sg.compare(summaries)):
        assert only_row(result)["p_value"] == pytest.approx(expected)


@pytest.mark.parametrize("summarize", [dict, sg.Summaries.of])
def test_n_queries_counts_all_queries_and_n_defined_those_with_both_values(summarize):
    nan, weights = np.nan, [1, 1, 1, 1, 0]
    values = {
        "a": {"AP": [0.5, 0.25, 0, 0, 1], "RR": [0.5, nan, 0.25, 0.75, 1]},
        "b": {"AP": [1, 0.5, 0, 1, 1], "RR": [1, 1, nan, 0.5, 1]},
    }
    undefined = {"AP": np.array([0, 0, 1, 0, 0], dtype=bool)}  # with undefined=0.0
    evaluations = {
        name: sg.Evaluation(range(5), of_system, undefined, weights=weights)
        for name, of_system in values.items()
    }
    comparison = sg.compare(summarize(evaluations), test="t")
    table = columns(comparison)
    assert table["n_queries"] == [5, 5] and table["n_defined"] == [4, 2]
    assert table["mean"] == pytest.approx([(1 + 0.5 + 0 + 1) / 4, (1 + 0.5) / 2])
    assert table["baseline_mean"] == pytest.approx([(0.5 + 0.25) / 4, (0.5 + 0.75) / 2])
    d = [1 - 0.5, 0.5 - 0.75]  # of RR
    assert table["p_value"][1] == pytest.approx(stats.ttest_1samp(d, 0).pvalue)
    assert table["ci_high"][1] == pytest.approx(
        stats.t.interval(1 - 0.05 / 2, 2 - 1, np.mean(d), stats.sem(d))[1]
    )
    assert "over 2 queries." in comparison.sentences()[1]
    assert " Undefined or without weight: 3 queries, left out." in comparison.sentences()[1]
    assert comparison.to_dict()["rows"]["n_defined"] == [4, 2]
    for names in (comparison.to_markdown().splitlines()[0].split("|"), comparison.to_frame()):
        names = [name.strip() for name in names]
        assert names[names.index("n_queries") + 1] == "n_defined"


@pytest.mark.parametrize("test", [*TESTS, None])
def test_without_a_defined_query_all_numbers_are_nan(test):
    both = {
        name: evaluation({"AP(undefined=nan)": [np.nan, np.nan], "AP": values})
        for name, values in (("a", [0, 1]), ("b", [0.5, 0.75]))
    }
    result = sg.compare(both, test=test)
    none, some = result.to_frame().to_dict("records")
    assert none["n_queries"] == 2 and none["n_defined"] == 0
    assert np.isnan([none[name] for name in ("mean", "difference", "p_value", "p_adjusted")]).all()
    systems = "a is not tested against b"
    assert result.sentences()[0] == f"{systems} on AP(undefined=nan): too few queries with a value."
    # a pair without a value is not tested, so there is only one test
    assert test is None or some["p_adjusted"] == some["p_value"]


def test_weights_count_in_means_and_intervals_at_any_scale():
    weights = np.array([4, 1, 1, 0, 2, 2])
    a, b = [0.5, 0, 0.25, 1, 0.5, 0.75], [1, 0.5, 0, 0, 0.25, 1]
    rows = [
        only_row(
            sg.compare(
                {
                    "a": evaluation(a, weights=weights * scale),
                    "b": evaluation(b, weights=weights * scale),
                },
                test=None,
            )
        )
        for scale in (1, 1e-50, 1e50)
    ]
    row = rows[0]
    assert row["difference"] == pytest.approx(
        (4 * 0.5 + 1 * 0.5 - 1 * 0.25 - 2 * 0.25 + 2 * 0.25) / 10
    )
    assert row["n_queries"] == 6 and row["n_defined"] == 5
    assert np.isnan([row["p_value"], row["p_adjusted"]]).all()
    plain = only_row(compared(a[:3] + a[4:], b[:3] + b[4:], test=None))
    assert row["ci_low"] != plain["ci_low"]
    assert (row["wins"], row["losses"]) == (plain["wins"], plain["losses"])
    for name in ("mean", "difference", "ci_low", "ci_high", "effect_size"):
        assert [other[name] for other in rows] == pytest.approx([row[name]] * 3, rel=1e-12)


def test_the_scale_of_weights_changes_nothing_and_a_weight_of_0_is_removal():
    a, b = PAIR
    few = only_row(compared(a[5:], b[5:]))
    for scale in (1, 0.1, 7):
        weights = np.where(np.arange(40) < 5, 0, scale)
        systems = {"a": evaluation(a, weights=weights), "b": evaluation(b, weights=weights)}
        row = only_row(sg.compare(systems, baseline="a", rng=0))
        assert {name: type(cell) for name, cell in row.items()} == {
            name: type(cell) for name, cell in few.items()
        }
        for name, cell in (few | {"n_queries": 40}).items():
            expected = cell if isinstance(cell, str) else pytest.approx(cell, rel=1e-12)
            assert row[name] == expected


# Sentences ---------------------------------------------------------------------------------------


def test_a_sentence_contains_the_means_the_interval_the_p_value_and_the_wins():
    a = np.tile([0.25, 0.5, 0.75, 0.5], 5)
    b = a + np.tile([0.25, 0.25, -0.125, 0], 5)
    comparison = compared(a, b, test="t")
    row = only_row(comparison)
    assert row["p_value"] < 0.05
    assert comparison.sentences() == [
        f"b is significantly better than a on AP: 0.5938 against 0.5000, +0.0938 (95 % interval "
        f"{row['ci_low']:.4f} to {row['ci_high']:.4f}), p = {row['p_value']:.4f}; 10 wins, "
        "5 losses, 5 ties over 20 queries."
    ]
    assert repr(comparison) == "Comparison(20 queries: a, b by AP)"
    (turned,) = compared(b, a, test="t").sentences()
    assert turned == comparison.sentences()[0].replace("b is", "a is").replace("than a", "than b")
    untested = "b is not tested against a on AP: 0.5938 against 0.5000, +0.0938 (95 % interval"
    assert compared(a, b, test=None).sentences()[0].startswith(untested)
    assert compared([0.5], [0.5], test="t").sentences()[0] == (
        "a is not significantly better than b on AP: 0.5000 against 0.5000, 0.0000, p = 1.0000; "
        "0 wins, 0 losses, 1 tie over 1 query."
    )


def test_a_sentence_reports_that_ranks_and_mean_disagree():
    d = np.append(np.linspace(0.01, 0.05, 27), [-1, -0.9, -0.8])
    assert d.mean() < 0 and stats.wilcoxon(d).pvalue < 0.05
    (sentence,) = compared(np.ones(30), 1 + d, test="wilcoxon").sentences()
    assert sentence.startswith(
        "a differs significantly from b on AP: 1.0000 against 0.9370, +0.0630 (95 % interval"
    )
    assert sentence.endswith("3 wins, 27 losses, 0 ties over 30 queries.")
    board = compared(np.ones(30), 1 + d, test="wilcoxon", baseline=None).leaderboard()
    assert board.verdict == "a leads on AP (1.0000); not significantly better than b."
    assert board.rows["mark"].tolist() == ["", ""]


def test_the_sentences_of_a_table_name_the_correction():
    for row, sentence in sg.compare(TABLE, baseline="rough", rng=0)._describe_rows():
        is_better = (
            "is significantly better" if row["p_adjusted"] <= 0.05 else "is not significantly"
        )
        assert row["difference"] > 0 and sentence.startswith(f"{row['system']} {is_better}")
        assert f" than {row['baseline']} on {row['measure']}: " in sentence
        assert "with Holm's correction over 6 tests;" in sentence
        assert (": 2 queries, left out." in sentence) == (row["measure"] == "AP(undefined=nan)")
    sentences = sg.compare(TABLE, baseline="rough", correction=None, rng=0).sentences()
    assert "with no correction over 6 tests;" in sentences[0]


def test_a_new_test_is_one_entry(monkeypatch):
    def sign_test(rows, *_):
        return [stats.binomtest(int((row > 0).sum()), len(row)).pvalue for row in rows]

    entry = PairedTest(
        "sign test", sign_test, lambda n, _: (2.0 ** (1 - n), False), None, 2 / math.pi
    )
    monkeypatch.setitem(TESTS, "sign", entry)
    d = np.append(np.linspace(0.1, 0.2, 9), -0.1)
    comparison = compared(np.zeros(10), d, test="sign")
    assert only_row(comparison)["p_value"] == pytest.approx(2 * (1 + 10) / 2**10)
    (sentence,) = comparison.sentences()
    assert (
        sentence.startswith("b is significantly better than a on AP: ") and "p = 0.0215" in sentence
    )
    assert "; sign test.</p>" in comparison.to_html()
    (sentence,) = compared(np.zeros(4), d[:4], test="sign").sentences()
    assert sentence.endswith("With 4 queries, no difference is detectable at 80 % power.")


# Keeping -----------------------------------------------------------------------------------------


def test_csv_contains_the_frame_and_markdown_and_latex_one_row_per_test():
    result = sg.compare(TABLE, baseline="rough", rng=0)
    again = pd.read_csv(io.StringIO(result.to_csv()))
    pd.testing.assert_frame_equal(again, result.to_frame(), check_dtype=False, rtol=1e-15)
    head, _, *rows = result.to_markdown().splitlines()
    for name in ("difference", "p_adjusted", "n_undefined", "baseline_mean"):
        assert f" {name} " in head
    latex = result.to_latex()
    assert latex.count(r"\\") == 1 + 6 and r"p\_adjusted" in latex
    ranked_rows, order = list_rows(result._rank_rows()), list(result.leaderboard().letters)
    ranks = [
        (result.measures.index(row["measure"]), order.index(row["system"])) for row in ranked_rows
    ]
    assert ranks == sorted(ranks)  # the best system first
    for row, line in zip(ranked_rows, rows, strict=True):
        assert [cell.strip() for cell in line.strip("|").split("|")][:4] == [
            row["system"],
            row["measure"],
            f"{row['mean']:.4f}",
            f"{row['difference']:.4f}",
        ]
        assert f"{row['difference']:.4f}" in latex
    every = sg.compare(TABLE, test=None).to_markdown().splitlines()
    assert "baseline " in every[0] and "p_value" not in every[0]
    assert len(every) == 2 + 9


def test_dates_are_shown_as_dates_and_restored_from_json():
    days = np.array(["2026-01-02", "2026-01-01"], dtype="datetime64[ns]")
    first = evaluation([1, 0], days, [1, 2])
    back = evaluation([0.5, 1], days[::-1], [2, 1])
    comparison = sg.compare({"a": first, "b": back}, test=None)
    assert comparison.per_query["AP"].tolist() == [[0, 1], [0.5, 1]]  # the ids are sorted
    ids = sg.Comparison.from_json(comparison.to_json()).query_ids
    np.testing.assert_array_equal(ids, days[::-1])
