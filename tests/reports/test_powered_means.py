"""prediction_powered, also of differences, plan_judgments and sample_queries."""

import re
from itertools import permutations

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
    """Values from people, and from the judge for the same queries and for the other queries."""
    position = {query: i for i, query in enumerate(judge.query_ids)}
    rows = [position[query] for query in human.query_ids]
    values = judge.per_query[measure]
    return human.per_query[measure], values[rows], np.delete(values, rows)


# Means -------------------------------------------------------------------------------------------


def test_the_summary_contains_the_powered_means():
    powered = sg.prediction_powered(A, J, level=0.9)
    frame = powered.summary()
    assert frame.equals(powered.to_frame())
    for name, row in zip(MEASURES, frame.to_dict("records"), strict=True):
        expected = powered_mean(*split(A, J, name))
        low, high = expected.interval(0.9)
        assert powered.mean()[name] == expected.mean and 0 < expected.weight < 1
        assert powered.confidence_interval()[name] == (low, high)
        assert powered.confidence_interval(0.99)[name] == expected.interval(0.99)
        assert row == {
            "measure": name,
            "mean": expected.mean,
            "ci_low": low,
            "ci_high": high,
            "n_human": 40,
            "n_judge": 200,
            "weight": expected.weight,
            "human_mean": expected.human_mean,
            "judge_mean": expected.judge_mean,
            "worth": expected.worth,
        }


def test_queries_and_measures_may_be_in_another_order():
    expected = sg.prediction_powered(A.minus(squared(A)), J.minus(squared(J))).summary()
    human, judge = A.minus(shuffled(squared(A))), shuffled(J).minus(shuffled(squared(J), 2))
    result = sg.prediction_powered(human, judge).summary()
    assert_frame_equal(result, expected, rtol=0, atol=1e-9)


# Warnings ----------------------------------------------------------------------------------------


def constant(part, values):
    return evaluation({"AP": np.resize(values, len(part.query_ids))}, part.query_ids)


@pytest.mark.parametrize(
    "human, message",
    [
        (
            A.take(np.arange(19)),
            "^human has 19 queries and as few as 19 distinct values.* 20 human",
        ),
        (constant(A, [0.0]), "^human has 40 queries and as few as 1 distinct values.* 5 distinct"),
        (constant(A, [0, 1]), "^human has 40 queries and as few as 2 distinct values"),
    ],
)
def test_few_queries_or_values_warn_at_the_caller(human, message):
    judge = sg.Evaluation(J.query_ids, {name: J.per_query[name] for name in human.per_query})
    with pytest.warns(UserWarning, match=message) as record:
        interval = sg.prediction_powered(human, judge).confidence_interval()["AP"]
    assert [warning.filename for warning in record] == [__file__]
    is_constant = np.ptp(human.per_query["AP"]) == 0
    assert np.isnan(interval).all() if is_constant else interval.low < interval.high


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
    assert set(counts) == {("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")}
    assert stats.chisquare(list(counts.values())).pvalue > 0.001


def test_samples_are_reproducible_and_distinct():
    qid = np.repeat(np.arange(500, 700), 3)
    sample = sg.sample_queries(qid, 50, rng=3)
    assert sample.dtype == qid.dtype and len(set(sample.tolist())) == 50
    assert sample.tolist() == sg.sample_queries(np.arange(500, 700), 50, rng=3).tolist()
    assert sg.sample_queries(qid, 200).tolist() == list(range(500, 700))


@pytest.mark.parametrize(
    "ids",  # in sorted order
    [[1, 2, 3], ["a", "b", "c"], [1, 1.5, 2, "a", "b"], ["c", ("a", 2), ("a", "b"), ("b", 1)]],
)
def test_the_order_of_the_rows_changes_no_sample(ids):
    drawn = np.sort(np.random.default_rng(5).choice(len(ids), 2, replace=False))
    for rows in permutations(ids):
        assert sg.sample_queries(rows, 2, rng=5).tolist() == [ids[i] for i in drawn]
