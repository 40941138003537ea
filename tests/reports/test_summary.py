"""Summaries: merged parts equal the whole, and the numbers equal the Evaluation."""

import pickle
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from small_reports import evaluation

import skgraded as sg

MEASURES = ["ndcng@10", "mu_map", "tauap", "ndcg(undefined=nan)@5", "p@3"]


def make(n_queries=300, weighted=False, seed=0, text=False):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, 12, n_queries))
    y = rng.integers(0, 5, len(qid)) * (rng.random(len(qid)) < 0.3)
    scores = np.round(rng.normal(size=len(qid)), 1)  # many ties
    weights = rng.integers(0, 4, len(qid)) / 3 if weighted else None
    if text:
        qid = np.array([f"query {i}" for i in qid], dtype=object)
    return sg.evaluate(y, scores, qid=qid, measures=MEASURES, sample_weight=weights)


def parts_of(ev, n_parts):
    which = np.random.default_rng(1).integers(0, n_parts, len(ev.query_ids))
    return [sg.Summary.of(ev.take(which == i)) for i in range(n_parts)]


@pytest.mark.parametrize(
    "n_parts, weighted, text",
    [
        (1, True, True),
        (2, False, True),
        (7, True, False),
        (60, False, False),
    ],
)
def test_merged_parts_in_any_order_equal_the_whole(n_parts, weighted, text):
    ev = make(weighted=weighted, text=text)
    whole, parts = sg.Summary.of(ev), parts_of(ev, n_parts)
    assert sg.Summary.merge(parts) == whole == sg.Summary.merge(parts[::-1])
    assert sg.Summary.merge(parts).to_json() == whole.to_json()


def test_labels_are_stored_and_merged_but_ignored_by_equality():
    ev = make()
    first, second = (
        sg.Summary.of(ev.take(rows), label=label)
        for rows, label in [(slice(0, 100), "Monday"), (slice(100, 300), "Tuesday")]
    )
    whole = sg.Summary.merge([first, second])
    assert whole.labels == ["Monday", "Tuesday"]
    assert whole == sg.Summary.of(ev) and sg.Summary.of(ev).labels == []
    for same in (sg.Summary.from_json(whole.to_json()), pickle.loads(pickle.dumps(whole))):
        assert same == whole and same.labels == whole.labels


def segmented(ev):
    segments = {name: sg.Summary.of(ev.take(ev.query_ids % 3 == i)) for i, name in enumerate("cab")}
    return replace(sg.Summary.of(ev), by="part", segments=segments)


def test_segments_are_sorted_merged_and_tabulated():
    ev = make()
    whole, is_first = segmented(ev), ev.query_ids < 150
    merged = sg.Summary.merge([segmented(ev.take(is_first)), segmented(ev.take(~is_first))])
    assert list(merged.segments) == ["a", "b", "c"]
    assert merged == whole and merged.to_json() == whole.to_json()
    frame = whole.summary()
    assert frame["segment"].tolist() == ["a"] * 5 + ["b"] * 5 + ["c"] * 5
    assert frame["mean"].tolist()[:5] == list(whole.segments["a"].mean().values())
    overall, segments = whole.to_frame()[:5], whole.to_frame()[5:].reset_index(drop=True)
    assert segments.equals(frame) and overall["segment"].isna().all()
    assert overall["mean"].tolist() == list(whole.mean().values())


class TestRefusedParts:
    """Parts that would give a wrong mean without a message."""

    def parts(self, **settings):
        grades = [1.0, np.nan, 0.0, 1.0, np.nan, 1.0] * 20
        return [
            sg.Summary.of(
                sg.evaluate(
                    grades,
                    range(120),
                    qid=np.arange(120) // 6 + shift,
                    measures="ap",
                    **other,
                ),
                label=label,
            )
            for label, shift, other in [
                ("Monday", 0, {"unjudged_documents": "drop"}),
                ("Tuesday", 20, {"unjudged_documents": "drop"} | settings),
            ]
        ]

    @pytest.mark.parametrize(
        "function",
        [
            sg.Summary.merge,
            lambda pair: sg.compare_periods(*pair),
            lambda pair: sg.trend(pair),
        ],
    )
    def test_different_rules_or_weights(self, function):
        with pytest.raises(
            ValueError, match="same unjudged_documents, but .* has 'drop', and .* has 'irrelevant'"
        ):
            function(self.parts(unjudged_documents="irrelevant"))
        weights = np.arange(120) + 1.0
        with pytest.raises(ValueError, match="has 'no weights', and .* has 'weights'"):
            function(self.parts(sample_weight=weights))
        function(self.parts())

    def test_equal_weights_have_a_meaning_only_for_merge(self):
        pair = self.parts(sample_weight=np.full(120, 2.0))
        assert sg.compare_periods(*pair)["n_after"].tolist() == [20]
        with pytest.raises(ValueError, match="part 0 has 'no weights', and part 1 has 'weights'"):
            sg.Summary.merge(pair)

    def test_the_share_of_judged_documents_is_kept(self):
        whole = sg.Summary.merge(self.parts())
        assert whole.judged == pytest.approx(4 / 6) and whole.unjudged_documents == "drop"
        assert sg.Summary.from_json(whole.to_json()) == whole
        assert sg.Summary.of(make()).judged == 1

    def test_queries_that_recur_with_other_values_are_accepted_and_listed_once(self):
        days = [
            sg.Summary.of(
                evaluation({"AP": rng.random(200) * [0, *[1] * 199]}, np.arange(200)),
                label=str(day),
            )
            for day, rng in enumerate(map(np.random.default_rng, range(28)))  # query 0 is always 0
        ]
        worst = sg.Summary.merge(days).worst(10)
        assert worst["query_id"].is_unique and len(worst) == 10
        assert worst["AP"].is_monotonic_increasing


@pytest.mark.parametrize("weighted", [False, True])
def test_the_numbers_equal_the_evaluation(weighted):
    ev = make(weighted=weighted)
    summary = sg.Summary.of(ev)
    pd.testing.assert_frame_equal(summary.to_frame(), ev.summary(), rtol=1e-13)
    assert summary.mean() == pytest.approx(ev.mean(), rel=1e-15)
    for name, expected in ev.confidence_interval(0.9).items():
        assert summary.confidence_interval(0.9)[name] == pytest.approx(expected, abs=1e-13)


def test_quantiles_are_accurate():
    rng = np.random.default_rng(0)
    values = {
        "beta": rng.beta(1, 2, 2000),
        "nan": np.where(rng.random(2000) < 0.3, np.nan, rng.random(2000).round(1)),
        "DCG": rng.gamma(3, 8, 2000),
        "signed": rng.normal(0, 10, 2000),
        "huge": 2.0 ** rng.uniform(-20, 1023, 2000),
        "equal": np.full(2000, 6.39),
    }
    ev = evaluation(values, np.arange(2000))
    result, parts = sg.Summary.of(ev), parts_of(ev, 7)
    assert sg.Summary.merge(parts) == result == sg.Summary.merge(parts[::-1])
    assert sg.Summary.from_json(result.to_json()) == result
    for q in np.linspace(0, 1, 41).tolist():
        for name, quantile in result.quantile(q).items():
            expected = np.nanquantile(values[name], q)
            error = 0.001 if abs(expected) < 64 else 4e-5 * abs(expected)
            assert quantile == pytest.approx(expected, rel=1e-15, abs=error)
    summary = sg.Summary.of(evaluation({"AP": [0.0, 0.0, 1.0, 1.0]}))
    assert [summary.quantile(q)["AP"] for q in (0, 0.25, 0.5, 1)] == [0, 0, 0.5, 1]


def test_quantiles_and_worst_leave_out_queries_without_weight_or_value():
    values = {"AP": [0.25, 0.75, 1.0, np.nan]}
    summary = sg.Summary.of(evaluation(values, weights=np.array([1.0, 3.0, 0.0, 2.0])))
    assert summary.mean()["AP"] == (0.25 * 1 + 0.75 * 3) / 4 and summary.quantile(1)["AP"] == 0.75
    summary = sg.Summary.of(evaluation({"AP": [0.0, 0.5]}, undefined={"AP": [True, False]}))
    assert summary.worst()["query_id"].tolist() == ["q1"] and summary.mean()["AP"] == 0.25


def test_the_lowest_queries_equal_the_evaluation():
    ev = make()
    summary = sg.Summary.of(ev)
    for name in ev.per_query:
        expected = ev.worst(20, name)
        expected = expected.sort_values([name, "query_id"], ignore_index=True)
        assert summary.worst(20, name).equals(expected)


@pytest.mark.parametrize("n_defined", [20, 3])
def test_up_to_20_queries_with_a_value_are_all_stored(n_defined):
    undefined = {"AP": np.arange(21) >= n_defined}
    ev = evaluation({"AP": np.linspace(0, 1, 21)}, undefined=undefined)
    assert sg.Summary.of(ev).worst(100).equals(ev.worst(100)) and len(ev.worst(100)) == n_defined


@pytest.mark.parametrize(
    "ids",
    [
        list(range(500, 0, -1)),
        [f"q{i}" for i in range(500, 0, -1)],
        [("de", i) for i in range(500, 0, -1)],
        [i if i % 2 else f"q{i}" for i in range(500, 0, -1)],
        [i if i % 2 else i + 0.5 for i in range(500, 0, -1)],
        [np.datetime64("2020-01-01") + np.timedelta64(i, "D") for i in range(500, 0, -1)],
        [Decimal(i) for i in range(500, 0, -1)],
        [timedelta(i) for i in range(500, 0, -1)],
    ],
    ids=["numbers", "text", "tuples", "mixed", "kinds of numbers", "dates", "decimals", "spans"],
)
def test_queries_with_equal_values_are_listed_in_the_order_of_their_ids(ids):
    ev = evaluation({"AP": np.zeros(500)}, ids)
    summary = sg.Summary.of(ev)
    assert sg.Summary.merge(parts_of(ev, 9)) == summary
    kept = summary.worst(20)["query_id"].tolist()
    assert kept == sorted(ids, key=lambda i: (isinstance(i, str), i))[:20]


def test_the_json_of_a_summary_does_not_grow_with_the_number_of_queries():
    small, large = (len(sg.Summary.of(make(n)).to_json()) for n in (10_000, 40_000))
    assert large < 1.2 * small


def test_a_summary_without_queries():
    nothing = sg.Summary.of(evaluation({"AP": []}))
    summary = sg.Summary.of(evaluation({"AP": [0.5]}))
    assert sg.Summary.merge([nothing, summary, nothing]) == summary
    assert np.isnan(nothing.mean()["AP"]) and np.isnan(nothing.quantile(0.5)["AP"])
    assert nothing.worst().empty
    assert sg.Summary.from_json(nothing.to_json()) == nothing
