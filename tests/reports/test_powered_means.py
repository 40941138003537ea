"""prediction_powered, also of differences, plan_judgments and sample_queries."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from small_reports import evaluation

import skgraded as sg
from skgraded.stats.intervals import t_interval
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
    with pytest.warns(UserWarning, match=f"^The human-judged values of AP .* {number}") as record:
        report = sg.prediction_powered(human, judge)
    assert [warning.filename for warning in record] == [__file__]
    low, high = report.to_frame().loc[0, ["ci_low", "ci_high"]]
    assert np.isnan([low, high]).all() if len(values) == 1 else low < high


# Differences -------------------------------------------------------------------------------------


def squared(part):
    """An Evaluation of a worse system on the same queries."""
    return evaluation({k: v**2 for k, v in part.per_query.items()}, part.query_ids)


def test_differences_are_estimated_in_the_same_way():
    worse, of_judge = squared(A), squared(J)
    powered = sg.prediction_powered(A.minus(worse), J.minus(of_judge), level=0.9)
    for name in MEASURES:
        pairs = zip(split(A, J, name), split(worse, of_judge, name), strict=True)
        expected = powered_mean(*(a - b for a, b in pairs))
        assert powered.mean()[name] == pytest.approx(expected.mean, abs=1e-12)
        reach = stats.t.ppf(0.95, 38) * expected.standard_error
        assert powered.confidence_interval()[name] == pytest.approx(
            (expected.mean - reach, expected.mean + reach), abs=1e-9
        )


def test_differences_of_queries_in_other_orders_are_the_same():
    expected = sg.prediction_powered(A.minus(squared(A)), J.minus(squared(J))).summary()
    human, judge = A.minus(shuffled(squared(A))), shuffled(J).minus(shuffled(squared(J), 2))
    result = sg.prediction_powered(human, judge).summary()
    numbers = expected.select_dtypes("number").columns
    assert np.allclose(result[numbers], expected[numbers], rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore:The human-judged values")
def test_equal_systems_have_no_difference():
    # Rounding errors change nothing.
    noise = 1e-16 * np.random.default_rng(0).normal(size=40)
    noisy = evaluation({k: v + noise for k, v in A.per_query.items()}, A.query_ids)
    for human in (A, noisy):
        for row in sg.prediction_powered(human.minus(A), J.minus(J)).summary().to_dict("records"):
            assert (row["mean"], row["weight"], row["worth"]) == (0, 0, 40)
            assert np.isnan([row["ci_low"], row["ci_high"]]).all()


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
