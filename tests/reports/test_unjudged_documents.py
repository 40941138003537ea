"""evaluate and join_run with unjudged documents."""

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from queries import random_queries
from registry import FEW, rebuilt
from small_reports import assert_same_report

import skgraded as sg
from skgraded.datasets import join_run
from skgraded.measures.base import accepts_unjudged

MEASURES = [rebuilt(measure, undefined=nan) for measure in FEW]
OTHERS = [measure for measure in MEASURES if not accepts_unjudged(measure)]


QUERIES = random_queries(seed=21, n_queries=60, sizes=(1, 12), grades=(nan, nan, 0, 0, 1, 2))


def evaluate(rows=slice(None), **settings):
    return sg.evaluate(
        QUERIES.y_true[rows], QUERIES.y_score[rows], qid=QUERIES.qid[rows], **settings
    )


def by_query(evaluation, name):
    ids = evaluation.query_ids.tolist()
    return dict(zip(ids, evaluation.per_query[name].tolist(), strict=True))


def test_irrelevant_is_grade_0():
    assert np.isnan(QUERIES.y_true).sum() > 100
    evaluation = evaluate(measures=OTHERS, unjudged_documents="irrelevant")
    filled = sg.evaluate(
        np.nan_to_num(QUERIES.y_true), QUERIES.y_score, qid=QUERIES.qid, measures=OTHERS
    )
    for name, values in filled.per_query.items():
        np.testing.assert_array_equal(evaluation.per_query[name], values, err_msg=name)
        np.testing.assert_array_equal(evaluation.undefined[name], filled.undefined[name])


def test_drop_omits_rows_but_keeps_every_query():
    evaluation = evaluate(measures=OTHERS, unjudged_documents="drop")
    kept = evaluate(~np.isnan(QUERIES.y_true), measures=OTHERS)
    assert len(kept.query_ids) < len(evaluation.query_ids) == 60
    nothing_judged = set(evaluation.query_ids.tolist()) - set(kept.query_ids.tolist())
    for measure in OTHERS:
        values, expected = by_query(evaluation, measure.name), by_query(kept, measure.name)
        assert {query: values[query] for query in expected} == pytest.approx(
            expected, rel=1e-14, nan_ok=True
        ), measure
        for query in nothing_judged:
            assert values[query] == 0 or np.isnan(values[query]), measure


@pytest.mark.parametrize("rule", ["irrelevant", "drop"])
def test_measures_that_accept_nan_receive_all_rows(rule):
    measures = ["judged@5", "bpref", "rbp_residual@5", "edrc"]
    expected = evaluate(measures=measures)
    evaluation = evaluate(measures=["ndcng@10", *measures, "ap"], unjudged_documents=rule)
    assert list(evaluation.per_query) == [
        "NDCNG@10",
        "Judged@5",
        "Bpref",
        "RBPResidual@5",
        "EDRC",
        "AP",
    ]
    for name, values in expected.per_query.items():
        np.testing.assert_array_equal(evaluation.per_query[name], values)


def test_grades_above_0_with_irrelevant_unjudged_documents_do_not_warn(recwarn):
    grades, scores = [nan, 1, 2, nan, 1, 3], [6, 5, 4, 3, 2, 1]
    settings = {"qid": [0, 0, 0, 1, 1, 1], "measures": "ap"}
    sg.evaluate(grades, scores, unjudged_documents="irrelevant", **settings)
    sg.evaluate([nan, nan], [2, 1], qid=[0, 1], measures="judged@1")
    assert not recwarn
    with pytest.warns(UserWarning, match="All grades are from 1 to 3"):
        sg.evaluate(grades, scores, unjudged_documents="drop", **settings)


def test_weights_are_means_over_all_rows():
    weights = 1.0 + QUERIES.qid % 3
    evaluation = evaluate(measures="ap", sample_weight=weights, unjudged_documents="drop")
    assert evaluation.weights.tolist() == [1.0 + query % 3 for query in evaluation.query_ids]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"x": (0, 4), "a": (2, 3), "y": (0, 2), "b": (0, 1), "c": (1, -inf)}),
        ({"unjudged_documents": "drop"}, {"a": (2, 3), "b": (0, 1), "c": (1, -inf)}),
    ],
)
def test_join_run_fills_or_drops_unjudged_documents(settings, expected):
    run = {"q": {"x": 4.0, "a": 3.0, "y": 2.0, "b": 1.0}}
    rows = join_run({"q": {"a": 2, "b": 0, "c": 1}}, run, **settings)
    pairs = zip(rows.y_true.tolist(), rows.y_score.tolist(), strict=True)
    assert dict(zip(rows.doc_id, pairs, strict=True)) == expected


class TestJudgedShares:
    """Evaluations of rows with unjudged documents record which share is judged."""

    SETTINGS = {"measures": ["ndcg@5", "ap"], "unjudged_documents": "drop"}  # noqa: RUF012

    def test_the_cut_off_is_taken_from_the_first_measure_or_is_10(self):
        for measures, name in (
            ("ndcg@5", "Judged@5"),
            ("bpref", "Judged@10"),
            ("ndcg@mean", "Judged@10"),
            (["ap", "ndcg@5"], "Judged@10"),
            ("judged@3", "Judged@3"),
        ):
            evaluation = evaluate(measures=measures, unjudged_documents="irrelevant")
            expected = sg.measure(name).per_query(QUERIES.y_true, QUERIES.y_score, qid=QUERIES.qid)
            assert list(evaluation.judged) == [name] and 0 < expected.mean() < 1
            np.testing.assert_array_equal(evaluation.judged[name], expected)

    def test_reports_omit_judged_shares_if_every_document_is_judged(self):
        filled = np.nan_to_num(QUERIES.y_true)
        evaluation = sg.evaluate(filled, QUERIES.y_score, qid=QUERIES.qid, **self.SETTINGS)
        assert evaluation.judged is None
        assert sg.compare({"a": evaluation, "b": evaluation}, rng=0).judged is None

    def test_concat_equals_the_evaluation_of_all_rows(self):
        halves = [evaluate(QUERIES.qid % 2 == i, **self.SETTINGS) for i in (0, 1)]
        joined, whole = sg.Evaluation.concat(halves), evaluate(**self.SETTINGS)
        order = np.argsort(joined.query_ids), np.argsort(whole.query_ids)
        assert_same_report(joined.take(order[0]), whole.take(order[1]))
        # Every document of a part is judged.
        judged = sg.evaluate([1, 0], [2, 1], group=[2], **self.SETTINGS)
        judged = replace(judged, query_ids=["new"])
        shares = sg.Evaluation.concat([judged, whole]).judged["Judged@5"]
        assert shares.tolist() == [1, *whole.judged["Judged@5"]]
        # Shares with different cut-offs are not concatenated.
        other = evaluate(QUERIES.qid % 2 == 1, **self.SETTINGS | {"measures": MIXED})
        assert sg.Evaluation.concat([halves[0], other]).judged is None


MIXED = ["ap", "ndcg@5"]


class TestCompare:
    """Two systems; one of them retrieves unjudged documents."""

    POOLED = [2, 0, 1, 0] * 12  # noqa: RUF012
    NEW = [2, nan, nan, 0] * 12  # noqa: RUF012

    def systems(self, new=NEW):
        rng = np.random.default_rng(0)
        settings = {"group": [4] * 12, "measures": "ndcg@2", "unjudged_documents": "irrelevant"}
        return {
            name: sg.evaluate(grades, rng.random(48), **settings)
            for name, grades in {"new": new, "pooled": self.POOLED}.items()
        }

    def test_a_large_difference_of_judged_shares_is_reported(self):
        systems = self.systems()
        share = systems["new"].judged["Judged@2"].mean()
        assert 0 < share < 0.9 and systems["pooled"].judged is None
        gap = (
            f"Judged@2 is 1.0000 for pooled but {share:.4f} for new: judgments favor the systems "
            "whose documents were selected for judging."
        )
        with pytest.warns(UserWarning, match="Judged@"):
            comparison = sg.compare(systems, rng=0)
        assert comparison.sentences()[-1] == gap
        board = comparison.leaderboard()
        assert board.verdict.endswith(f". {gap}")
        assert {
            name: shares for name, shares in zip(board.letters, board.more["Judged@2"], strict=True)
        } == {
            "new": share,
            "pooled": 1,
        }

    def test_a_small_difference_of_shares_is_not_reported(self, recwarn):
        new = [*self.POOLED[:46], nan, nan]
        comparison = sg.compare(self.systems(new=new), rng=0)
        assert not recwarn and 0.9 < comparison.judged["Judged@2"][0] < 1


class TestUnanswered:
    """Queries for which a system retrieved nothing."""

    Y = [1, 0, 2] * 4  # noqa: RUF012

    def evaluation(self, n_unanswered, **settings):
        scores = [3, -inf, 1] * (4 - n_unanswered) + [-inf] * 3 * n_unanswered
        return sg.evaluate(self.Y, scores, measures="ap", **{"group": [3] * 4} | settings)

    def test_the_number_is_kept_for_rows_in_any_order_and_for_parts(self):
        assert [self.evaluation(n).n_unanswered for n in range(5)] == [0, 1, 2, 3, 4]
        assert self.evaluation(0).unanswered is None
        mixed = sg.evaluate(self.Y, [2, -inf] * 6, group=None, qid=[0, 1] * 6, measures="ap")
        assert mixed.unanswered.tolist() == [False, True]
        whole = self.evaluation(3)
        assert whole.take(np.array([0, 3])).unanswered.tolist() == [False, True]
        other = self.evaluation(0, group=None, qid=np.repeat(list("abcd"), 3))
        assert sg.Evaluation.concat([other, whole]).unanswered.tolist() == [False] * 5 + [True] * 3

    @pytest.mark.parametrize("settings", [{}, {"test": "t"}])
    def test_compare_warns_if_they_are_more_than_half(self, settings, recwarn):
        half = sg.compare({"a": self.evaluation(0), "b": self.evaluation(2)}, **settings)
        assert not recwarn and half.n_unanswered == [0, 2]
        message = "b retrieved nothing for 3 of 4 queries, so its values describe missing results"
        with pytest.warns(UserWarning, match=message) as caught:
            comparison = sg.compare({"a": self.evaluation(0), "b": self.evaluation(3)}, **settings)
        assert caught[0].filename == __file__
        assert message in comparison.sentences()[-1]
