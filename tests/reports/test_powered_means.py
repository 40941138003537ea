"""prediction_powered, also of differences, plan_judgments and sample_queries."""

import re
from dataclasses import replace

import numpy as np
import pytest
from pandas.testing import assert_frame_equal
from scipy import stats
from small_reports import evaluation

import skgraded as sg
from skgraded.stats.prediction_powered import powered_mean

MEASURES = ("AP", "RR")


N, N_ALL = 40, 240


def sides():
    """Evaluations of people for 40 random queries, and of a biased judge for 240 queries."""
    rng = np.random.default_rng(0)
    ids = np.array([f"q{i}" for i in range(N_ALL)], dtype=object)
    drawn = np.sort(rng.choice(N_ALL, N, replace=False))
    human = {measure: rng.beta(2, 2, N_ALL) for measure in MEASURES}
    judge = {
        measure: np.clip(0.5 * values + 0.5 * rng.beta(2, 2, N_ALL) + 0.1, 0, 1)
        for measure, values in human.items()
    }
    people = {measure: values[drawn] for measure, values in human.items()}
    return evaluation(people, ids[drawn]), evaluation(judge, ids)


A, J = sides()


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
    powered = sg.prediction_powered(A, J, level=0.9)
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
        expected = powered_mean(*split(A, J, row["measure"]))
        assert 0 < row["weight"] == expected.weight < 1
        assert row["mean"] == powered.mean()[row["measure"]] == expected.mean
        interval = powered.confidence_interval()[row["measure"]]
        assert (row["ci_low"], row["ci_high"]) == interval == expected.interval(0.9)
        assert (row["n_human"], row["n_judge"]) == (40, 200)
        assert row["human_mean"] == expected.human_mean
        assert row["judge_mean"] == expected.judge_mean and row["worth"] == expected.worth
    assert powered.confidence_interval().level == 0.9
    assert powered.confidence_interval(0.99).level == 0.99
    assert repr(powered) == (
        f"PredictionPowered(40 + 200 queries: AP={frame['mean'][0]:.4f}, RR={frame['mean'][1]:.4f})"
    )
    wider, narrower = powered.confidence_interval(0.99)["AP"], powered.confidence_interval()["AP"]
    assert wider.low < narrower.low < narrower.high < wider.high


def test_queries_and_measures_may_be_in_another_order():
    expected = sg.prediction_powered(A, J).summary()
    assert_frame_equal(sg.prediction_powered(A, shuffled(J)).summary(), expected)


def test_equal_weights_give_the_unweighted_means():
    weighted = replace(A, weights=np.full(40, 0.3))
    first = sg.prediction_powered(weighted, replace(J, weights=np.full(240, 7.0)))
    assert first.mean() == sg.prediction_powered(A, J).mean()


# Warnings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda part: sg.prediction_powered(part, J),
        lambda part: sg.plan_judgments(part, J, 0.1),
    ],
)
def test_fewer_than_20_queries_warn_at_the_caller(call):
    with pytest.warns(UserWarning, match="has 19 queries and as few as 19 dist.*than 20") as record:
        call(A.take(np.arange(19)))
    assert [warning.filename for warning in record] == [__file__]


def constant(part, values):
    return evaluation({"AP": np.resize(values, len(part.query_ids))}, part.query_ids)


@pytest.mark.parametrize("values", [[0.0], [0, 1]])
def test_few_distinct_human_values_warn_at_the_caller(values):
    human, judge = constant(A, values), evaluation({"AP": J.per_query["AP"]}, J.query_ids)
    message = f"^human has 40 queries and as few as {len(values)} distinct values.* 5 distinct"
    with pytest.warns(UserWarning, match=message) as record:
        interval = sg.prediction_powered(human, judge).confidence_interval()["AP"]
    assert [warning.filename for warning in record] == [__file__]
    assert np.isnan(interval).all() if len(values) == 1 else interval.low < interval.high


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


@pytest.mark.filterwarnings("ignore:human has 40 queries and as few as")
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


def test_a_plan_never_contains_more_queries_than_there_are():
    rr = [0.3, 0.5, 0.4, 0.45, 0.55]
    human = evaluation({"AP": [0, 1] * 20, "RR": rr * 8}, range(40))
    judge = evaluation({"AP": [0, 1] * 50, "RR": rr * 20}, range(100))
    # With s² = 1/4 · 40/39, AP would need 397 queries: t · s / √397 < 0.05.
    with pytest.warns(UserWarning) as record:  # the first warns of few distinct values
        plan = sg.plan_judgments(human, judge, 0.05)
    message = "half_width=0.05 is out of reach for AP: .* people judged all 100 queries"
    assert re.match(message, str(record[-1].message)) and record[-1].filename == __file__
    assert plan["n_human_alone"].isna().tolist() == [True, False]
    assert plan["n_human_with_judge"].isna().tolist() == [True, False]
    assert plan["n_human_with_judge"][1] <= plan["n_human_alone"][1] <= 100


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
