"""prediction_powered, compare with a judge, plan_judgments and sample_queries."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from small_reports import evaluation

import skgraded as sg
from skgraded.reports.comparison_view import ComparisonView
from skgraded.stats.intervals import t_interval, t_reach
from skgraded.stats.power import detectable_effect
from skgraded.stats.prediction_powered import powered_mean

MEASURES = ("AP", "RR")


def correlated(n, seed, quality, bias):
    """Values of people and of a judge, between 0 and 1."""
    rng = np.random.default_rng(seed)
    human = rng.beta(2, 2, n)
    judge = quality * human + (1 - quality) * rng.beta(2, 2, n)
    return human, np.clip(judge + bias, 0, 1)


def sides(n=40, n_judge=200, names=("a", "b", "c"), seed=0, quality=0.7, bias=0.1, lift=0.1):
    """Evaluations of people for n random queries, and of a judge for all, keyed by system."""
    n_all = n + n_judge
    ids = [f"q{i}" for i in range(n_all)]
    drawn = np.sort(np.random.default_rng(seed).choice(n_all, n, replace=False))
    human, judge = {}, {}
    for i, name in enumerate(names):
        columns = {
            measure: correlated(n_all, [seed, i, j], quality, bias)
            for j, measure in enumerate(MEASURES)
        }
        human[name] = evaluation(
            {measure: values[drawn] + lift * i for measure, (values, _) in columns.items()},
            [ids[k] for k in drawn],
        )
        judge[name] = evaluation(
            {measure: other + lift * i for measure, (_, other) in columns.items()}, ids
        )
    return human, judge


HUMAN, JUDGE = sides()


def shuffled(part, seed=1):
    """The same Evaluation with its queries and measures in another order."""
    order = np.random.default_rng(seed).permutation(len(part.query_ids))
    return evaluation(
        {name: values[order] for name, values in reversed(part.per_query.items())},
        [part.query_ids[i] for i in order],
    )


def split(human, judge, measure):
    """Values of people, of the judge for the same queries, and of the judge for the others."""
    position = {query: i for i, query in enumerate(judge.query_ids)}
    rows = [position[query] for query in human.query_ids]
    values = judge.per_query[measure]
    return human.per_query[measure], values[rows], np.delete(values, rows)


# Means -------------------------------------------------------------------------------------------


def test_the_summary_contains_the_powered_means():
    powered = sg.prediction_powered(HUMAN["a"], JUDGE["a"], level=0.9)
    frame = powered.summary()
    assert list(frame) == [
        "measure",
        "mean",
        "ci_low",
        "ci_high",
        "n_human",
        "n_judge",
        "weight",
        "human_mean",
        "judge_mean",
        "worth",
    ]
    assert frame.equals(powered.to_frame())
    assert list(powered.mean()) == list(MEASURES) == frame["measure"].tolist()
    for row in frame.to_dict("records"):
        expected = powered_mean(*split(HUMAN["a"], JUDGE["a"], row["measure"]))
        assert 0 < row["weight"] == expected.weight < 1
        assert row["mean"] == powered.mean()[row["measure"]] == expected.mean
        interval = powered.confidence_interval()[row["measure"]]
        assert (row["ci_low"], row["ci_high"]) == interval == t_interval(expected, 0.9)
        assert (row["n_human"], row["n_judge"]) == (40, 200)
        assert row["human_mean"] == expected.human_mean
        assert row["judge_mean"] == expected.judge_mean and row["worth"] == expected.worth
    assert powered.confidence_interval().level == 0.9
    assert powered.confidence_interval(0.99).level == 0.99
    wider, narrower = powered.confidence_interval(0.99)["AP"], powered.confidence_interval()["AP"]
    assert wider.low < narrower.low < narrower.high < wider.high


@pytest.mark.filterwarnings("ignore:human has only")
@pytest.mark.parametrize("name", ["RR", "RR@10", "RR(threshold=2)@10", "RPrecision"])
@pytest.mark.parametrize("n", [12, 50, 51])
def test_sentences_state_that_intervals_for_rr_are_too_narrow_with_few_queries(n, name):
    human, judge = sides(n=n, names=("a",))
    parts = [
        evaluation({"AP": part.per_query["AP"], name: part.per_query["RR"]}, part.query_ids)
        for part in (human["a"], judge["a"])
    ]
    others, of_rr = sg.prediction_powered(*parts).sentences()
    assert "too narrow" not in others
    assert ("too narrow" in of_rr) == (name.startswith("RR") and n <= 50)


def test_sentences_and_texts():
    powered = sg.prediction_powered(HUMAN["a"], JUDGE["a"])
    sentence, _ = powered.sentences()
    row = powered.summary().iloc[0]
    assert sentence.startswith(f"AP is {row['mean']:.4f} (95 % interval {row['ci_low']:.4f} to ")
    assert "): 40 human-judged queries and 200 queries of the judge are as informative " in sentence
    assert sentence.endswith(f" as {round(row['worth'])} human-judged queries alone.")
    assert repr(powered) == (
        f"PredictionPowered(40 + 200 queries: AP={row['mean']:.4f}, RR={powered.mean()['RR']:.4f})"
    )
    assert "| AP" in powered.to_markdown() and r"\toprule" in powered.to_latex()


def test_equal_weights_give_the_unweighted_means():
    weighted = replace(HUMAN["a"], weights=np.full(40, 0.3))
    first = sg.prediction_powered(weighted, replace(JUDGE["a"], weights=np.full(240, 7.0)))
    assert first.mean() == sg.prediction_powered(HUMAN["a"], JUDGE["a"]).mean()


# Warnings ----------------------------------------------------------------------------------------

A, J = HUMAN["a"], JUDGE["a"]


@pytest.mark.parametrize(
    "call",
    [
        lambda part: sg.prediction_powered(part, J),
        lambda part: sg.plan_judgments(part, J, 0.1),
        lambda part: sg.compare(
            {"a": part, "b": HUMAN["b"].take(np.arange(19))}, judge={"a": J, "b": JUDGE["b"]}
        ),
    ],
)
def test_fewer_than_20_queries_warn_at_the_caller(call):
    with pytest.warns(UserWarning, match="has only 19 queries. With fewer than 20") as record:
        call(A.take(np.arange(19)))
    assert [warning.filename for warning in record] == [__file__]


def constant(part, values):
    return evaluation({"AP": np.resize(values, len(part.query_ids))}, part.query_ids)


@pytest.mark.parametrize("values, number", [([0.0], "1 distinct value"), ([0, 1], "2 distinct v")])
def test_few_distinct_human_values_warn_at_the_caller(values, number):
    human, judge = constant(A, values), evaluation({"AP": J.per_query["AP"]}, J.query_ids)
    zeros = constant(A, [0.0]), constant(J, [0.0])
    for name, call in {
        "values of AP": lambda: sg.prediction_powered(human, judge),
        "differences between a and b on AP": lambda: sg.compare(
            {"a": human, "b": zeros[0]},
            judge={"a": judge, "b": zeros[1]},
            baseline="b",
        ),
    }.items():
        with pytest.warns(UserWarning, match=f"^The human-judged {name} .* {number}") as record:
            report = call()
        assert [warning.filename for warning in record] == [__file__]
        low, high = report.to_frame().loc[0, ["ci_low", "ci_high"]]
        assert np.isnan([low, high]).all() if len(values) == 1 else low < high
        is_unknown = "standard error is 0, so the interval is unknown" in report.sentences()[0]
        assert is_unknown == (len(values) == 1)
        assert type(report).from_json(report.to_json()).to_json() == report.to_json()


# Comparisons -------------------------------------------------------------------------------------


def test_a_comparison_estimates_the_differences_in_the_same_way():
    comparison = sg.compare(HUMAN, judge=JUDGE, correction=None)
    assert comparison.test == "t" and (comparison.n_queries, comparison.n_judge) == (40, 200)
    frame = comparison.to_frame()
    assert list(frame) == [
        "system",
        "measure",
        "mean",
        "difference",
        "ci_low",
        "ci_high",
        "p_value",
        "p_adjusted",
        "n_queries",
        "wins",
        "ties",
        "losses",
        "n_undefined",
        "effect_size",
        "min_detectable",
        "baseline",
        "baseline_mean",
        "ci_method",
        "weight",
        "worth",
    ]
    assert len(frame) == 3 * 2
    for row in frame.to_dict("records"):
        assert row["mean"] - row["baseline_mean"] == row["difference"]
        values, others = (
            split(HUMAN[row[name]], JUDGE[row[name]], row["measure"])
            for name in ("system", "baseline")
        )
        expected = powered_mean(*(a - b for a, b in zip(values, others, strict=True)))
        weight = expected.weight
        human, judge, rest = values
        assert row["mean"] == pytest.approx(weight * rest.mean() + (human - weight * judge).mean())
        assert row["difference"] == pytest.approx(expected.mean, abs=1e-12)
        assert row["weight"] == pytest.approx(weight, abs=1e-9)
        assert row["worth"] == pytest.approx(expected.worth, rel=1e-9)
        reach = stats.t.ppf(0.975, 38) * expected.standard_error
        t = expected.mean / expected.standard_error
        assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), 38), rel=1e-6)
        if row["p_value"] <= 0.05:
            assert (row["ci_low"], row["ci_high"]) == pytest.approx(
                (expected.mean - reach, expected.mean + reach), abs=1e-9
            )
        assert row["effect_size"] == pytest.approx(t / np.sqrt(40), rel=1e-6)
        # 80 % power needs the effect that a t-test of 39 values detects.
        detectable = detectable_effect(39, t_reach(39, 0.95)) * np.sqrt(39)
        assert row["min_detectable"] == pytest.approx(detectable * expected.standard_error)
        assert row["n_queries"] == 40 and np.isnan(row["n_undefined"])
        wins = (values[0] > others[0]).sum()
        assert (row["wins"], row["losses"], row["ties"]) == (wins, 40 - wins, 0)


def test_systems_queries_and_measures_may_be_in_another_order():
    expected = sg.compare(HUMAN, judge=JUDGE, baseline="b").to_frame()
    judge = {name: shuffled(JUDGE[name], i) for i, name in enumerate("cab")}
    table = sg.compare(HUMAN, judge=judge, baseline="b").to_frame()
    assert list(table["system"]) == ["a", "a", "c", "c"] == list(expected["system"])
    numbers = expected.select_dtypes("number").columns
    assert np.allclose(table[numbers], expected[numbers], rtol=0, atol=1e-9, equal_nan=True)


EQUAL = "ignore:The human-judged differences between"


@pytest.mark.filterwarnings(EQUAL)
def test_equal_systems_have_no_difference():
    human, judge = {"a": A, "b": A}, {"a": J, "b": J}
    for row in sg.compare(human, judge=judge).to_frame().to_dict("records"):
        assert row["difference"] == 0 and np.isnan([row["ci_low"], row["ci_high"]]).all()
        assert (row["p_value"], row["weight"], row["worth"]) == (1, 0, 40)
        assert (row["ties"], row["effect_size"]) == (40, 0) and np.isnan(row["min_detectable"])
    # Rounding errors below the limit for ties change nothing.
    noise = 1e-16 * np.random.default_rng(0).normal(size=40)
    noisy = evaluation({k: v + noise for k, v in A.per_query.items()}, A.query_ids)
    for row in sg.compare(human | {"b": noisy}, judge=judge).to_frame().to_dict("records"):
        assert (row["p_value"], row["ties"], row["effect_size"]) == (1, 40, 0)


@pytest.mark.filterwarnings(EQUAL)
def test_equal_differences_have_the_p_value_of_a_sign_test():
    higher = evaluation({name: values + 0.1 for name, values in A.per_query.items()}, A.query_ids)
    human, judge = {"a": A, "b": higher}, {"a": J, "b": JUDGE["b"]}
    for row in sg.compare(human, judge=judge, correction=None).to_frame().to_dict("records"):
        assert row["p_value"] == 2**-39 and row["weight"] == 0 and row["worth"] == 40
        assert np.isnan([row["ci_low"], row["ci_high"]]).all()
        assert np.isnan(row["effect_size"]) and np.isnan(row["min_detectable"])


def with_judged(part, share):
    n = len(part.query_ids)
    return replace(part, judged={"Judged@10": np.full(n, share)})


def test_different_shares_of_documents_judged_by_people_cause_a_warning():
    human = {"a": with_judged(A, 1.0), "b": with_judged(HUMAN["b"], 0.5)}
    judge = {"a": J, "b": JUDGE["b"]}
    for settings in ({"judge": judge}, {"rng": 0}):
        with pytest.warns(UserWarning, match="Judged@10 is 1.0000 for a but 0.5000") as record:
            comparison = sg.compare(human, **settings)
        assert [warning.filename for warning in record] == [__file__]
        assert comparison.judged["Judged@10"].tolist() == [1.0, 0.5]
        assert "Judged@10" in str(comparison.leaderboard())


def test_systems_that_cannot_be_compared_do_not_warn_about_their_shares(recwarn):
    human = {"a": with_judged(A, 1.0), "b": with_judged(JUDGE["b"], 0.5)}
    for settings in ({"judge": {"a": J, "b": JUDGE["b"]}}, {"rng": 0}):
        with pytest.raises(ValueError, match="quer"):
            sg.compare(human, **settings)
    assert not recwarn


def test_a_leaderboard_shows_the_combined_means():
    comparison = sg.compare(HUMAN, judge=JUDGE)
    board = comparison.leaderboard()
    frame = board.to_frame().set_index("system")
    for name in HUMAN:
        powered = sg.prediction_powered(HUMAN[name], JUDGE[name])
        assert frame.loc[name].to_dict() == powered.mean()
        row = board.cells[board.systems.index(name)]
        assert [cell.interval for cell in row] == list(powered.confidence_interval().values())
    assert board.systems == ["c", "b", "a"]  # each system is better by .1
    assert "The judge's weight is estimated for each mean and each difference" in str(board)
    assert "judge" not in sg.compare(HUMAN, rng=0).leaderboard().note


@pytest.mark.parametrize("seed, is_contradicted", [(0, False), (129, True)])
def test_a_verdict_names_a_system_that_is_better_despite_a_lower_mean(seed, is_contradicted):
    """The weights differ: high for the means, which share the queries, and low for differences."""
    rng = np.random.default_rng(seed)
    drawn, ids = rng.choice(330, 30, replace=False), list(range(330))
    easiness = 0.8 * rng.beta(2, 2, 330)
    human, judge = {}, {}
    for i, name in enumerate("ab"):
        values = easiness + 0.05 * i + 0.08 * rng.normal(size=330)
        human[name] = evaluation({"AP": values[drawn]}, drawn.tolist())
        judge[name] = evaluation({"AP": 0.6 * values + 0.12 * rng.normal(size=330)}, ids)
    comparison = sg.compare(human, judge=judge)
    (row,), board = ComparisonView(comparison).rows, comparison.leaderboard()
    assert board.verdict.startswith(f"{board.systems[0]} leads on AP (")
    assert (row.winner not in (None, board.systems[0])) == is_contradicted
    assert board.verdict.endswith(f"significantly worse than {row.winner}.") == is_contradicted


def test_the_page_the_sentences_and_the_tables_describe_the_judge():
    comparison = sg.compare(HUMAN, judge=JUDGE)
    page = comparison.to_html()
    assert "40 human-judged queries and 200 further queries of the judge; paired t-test" in page
    assert "Weight of judge" in page and "Worth" in page
    assert "Weight of judge" not in sg.compare(HUMAN, rng=0).to_html()
    ranked_rows = ComparisonView(comparison).ranked_rows
    for row, sentence in zip(ranked_rows, comparison.sentences(), strict=False):
        assert "over 40 queries" in sentence
        assert "40 human-judged queries are as informative as" in sentence, row
    assert "weight" in comparison.to_markdown()


# Plans and samples -------------------------------------------------------------------------------


def test_a_plan_has_one_row_per_measure():
    plan = sg.plan_judgments(A, J, 0.05)
    assert list(plan) == [
        "measure",
        "half_width",
        "n_human_alone",
        "n_human_with_judge",
        "n_queries",
    ]
    assert plan["measure"].tolist() == list(MEASURES) and set(plan["n_queries"]) == {240}
    assert set(plan["half_width"]) == {0.05}
    assert (plan["n_human_with_judge"] <= plan["n_human_alone"]).all()


def test_each_subset_is_equally_likely():
    counts = {}
    rng = np.random.default_rng(0)
    for _ in range(6000):
        subset = tuple(sg.sample_queries(["d", "a", "c", "b"], 2, rng).tolist())
        counts[subset] = counts.get(subset, 0) + 1
    # Subsets keep the order of the ids.
    assert set(counts) == {("d", "a"), ("d", "c"), ("d", "b"), ("a", "c"), ("a", "b"), ("c", "b")}
    assert stats.chisquare(list(counts.values())).pvalue > 0.001


def test_samples_are_reproducible_and_distinct():
    qid = np.repeat(np.arange(500, 700), 3)
    sample = sg.sample_queries(qid, 50, rng=3)
    assert sample.dtype == qid.dtype and len(set(sample.tolist())) == 50
    assert set(sample.tolist()) <= set(range(500, 700))
    assert sample.tolist() == sg.sample_queries(qid, 50, rng=3).tolist()
    assert sample.tolist() == sg.sample_queries(np.arange(500, 700), 50, rng=3).tolist()
    assert sample.tolist() != sg.sample_queries(qid, 50, rng=4).tolist()
    generator = np.random.default_rng(3)
    assert sample.tolist() == sg.sample_queries(qid, 50, rng=generator).tolist()
    assert sample.tolist() != sg.sample_queries(qid, 50, rng=generator).tolist()
    assert sg.sample_queries(qid, 200).tolist() == list(range(500, 700))
    assert sg.sample_queries(J.query_ids, 1, rng=0)[0] in set(J.query_ids)
