"""evaluate and join_run with documents that nobody judged."""

from math import inf, nan

import numpy as np
import pandas as pd
import pytest
from queries import random_queries
from registry import FEW, rebuilt

import skgraded as sg
from skgraded.datasets import join_run

MEASURES = [rebuilt(measure, undefined=nan) for measure in FEW]
OTHERS = [measure for measure in MEASURES if not measure.accepts_unjudged]


@pytest.fixture(scope="module")
def queries():
    queries = random_queries(seed=21, n_queries=60, sizes=(1, 12), grades=(nan, nan, 0, 0, 1, 2))
    assert np.isnan(queries.y_true).sum() > 100
    return queries


def evaluate(queries, rows=None, **settings):
    rows = slice(None) if rows is None else rows
    return sg.evaluate(
        queries.y_true[rows], queries.y_score[rows], qid=queries.qid[rows], **settings
    )


def by_query(evaluation, name):
    ids = evaluation.query_ids.tolist()
    return dict(zip(ids, evaluation.per_query[name].tolist(), strict=True))


def test_irrelevant_is_grade_0(queries):
    evaluation = evaluate(queries, measures=OTHERS, unjudged_documents="irrelevant")
    filled = sg.evaluate(
        np.nan_to_num(queries.y_true), queries.y_score, qid=queries.qid, measures=OTHERS
    )
    for name, values in filled.per_query.items():
        np.testing.assert_array_equal(evaluation.per_query[name], values, err_msg=name)
        np.testing.assert_array_equal(evaluation.undefined[name], filled.undefined[name])


def test_drop_leaves_the_rows_out_and_keeps_every_query(queries):
    evaluation = evaluate(queries, measures=OTHERS, unjudged_documents="drop")
    kept = evaluate(queries, ~np.isnan(queries.y_true), measures=OTHERS)
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
def test_measures_that_accept_nan_receive_all_rows(queries, rule):
    measures = ["judged@5", "bpref", "rbp_residual@5", "edrc"]
    expected = evaluate(queries, measures=measures)
    evaluation = evaluate(
        queries, measures=["ndcng@10", *measures, "ap"], unjudged_documents=rule
    )
    assert list(evaluation.per_query) == [
        "NDCNG@10", "Judged@5", "Bpref", "RBPResidual@5", "EDRC", "AP"
    ]
    for name, values in expected.per_query.items():
        np.testing.assert_array_equal(evaluation.per_query[name], values)


def test_without_a_rule_the_error_names_the_choices(queries):
    with pytest.raises(ValueError, match=(
        "y_true must not be NaN: row .*unjudged_documents='irrelevant' .*'drop' .*"
        "accept NaN: Bpref, EDRC, Judged, RBPResidual"
    )):
        evaluate(queries)
    with pytest.raises(ValueError, match="unjudged_documents must be .*'keep'"):
        evaluate(queries, unjudged_documents="keep")


def test_rows_of_errors_are_those_of_the_input():
    with pytest.raises(ValueError, match=r"max_grade is 2, but y_true has 3 in row 3"):
        sg.evaluate(
            [nan, 0, nan, 3], [4, 3, 2, 1], qid=[0, 0, 1, 1], measures="NERR(max_grade=2)",
            unjudged_documents="drop",
        )


def test_grades_above_0_and_unjudged_documents_are_no_stars(recwarn):
    grades, settings = [nan, 1, nan, 3], {"qid": [0, 0, 1, 1], "measures": "ap"}
    sg.evaluate(grades, [4, 3, 2, 1], unjudged_documents="irrelevant", **settings)
    assert not recwarn
    with pytest.warns(UserWarning, match="All grades are from 1 to 3"):
        sg.evaluate(grades, [4, 3, 2, 1], unjudged_documents="drop", **settings)


def test_weights_are_means_over_all_rows(queries):
    weights = 1.0 + queries.qid % 3
    evaluation = evaluate(
        queries, measures="ap", sample_weight=weights, unjudged_documents="drop"
    )
    assert evaluation.weights.tolist() == [1.0 + query % 3 for query in evaluation.query_ids]


def test_columns_of_a_frame_and_judgments(queries):
    frame = pd.DataFrame({
        "grade": queries.y_true, "a": queries.y_score, "b": -queries.y_score, "query": queries.qid
    })
    settings = {"measures": ["mu_map", "judged@3"], "unjudged_documents": "drop"}
    systems = sg.evaluate("grade", ["a", "b"], qid="query", data=frame, **settings)
    truth = sg.Judgments(queries.y_true, qid=queries.qid)
    for name, sign in (("a", 1), ("b", -1)):
        expected = sg.evaluate(truth, sign * queries.y_score, **settings)
        for measure, values in expected.per_query.items():
            np.testing.assert_array_equal(systems[name].per_query[measure], values)


class TestJoinRun:
    QRELS = {"q": {"a": 2, "b": 0, "c": 1}}  # noqa: RUF012
    RUN = {"q": {"x": 4.0, "a": 3.0, "y": 2.0, "b": 1.0}}  # noqa: RUF012

    def rows(self, **settings):
        joined = join_run(self.QRELS, self.RUN, **settings)
        columns = (joined.doc_id, joined.y_true, joined.y_score)
        return {document: (grade, score) for document, grade, score in zip(*columns, strict=True)}

    def test_irrelevant_is_the_default(self):
        expected = {"x": (0, 4), "a": (2, 3), "y": (0, 2), "b": (0, 1), "c": (1, -inf)}
        assert self.rows() == self.rows(unjudged_documents="irrelevant") == expected

    def test_drop_makes_a_condensed_list(self):
        rows = self.rows(unjudged_documents="drop")
        assert rows == {"a": (2, 3), "b": (0, 1), "c": (1, -inf)}

    def test_keep_gives_nan(self):
        rows = self.rows(unjudged_documents="keep")
        assert [name for name, (grade, _) in rows.items() if np.isnan(grade)] == ["x", "y"]

    def test_keep_and_evaluate_agree_with_the_other_two(self):
        kept = join_run(self.QRELS, self.RUN, unjudged_documents="keep")
        for rule in ("irrelevant", "drop"):
            joined = join_run(self.QRELS, self.RUN, unjudged_documents=rule)
            values = sg.evaluate(kept.y_true, kept.y_score, qid=kept.qid, unjudged_documents=rule)
            expected = sg.evaluate(joined.y_true, joined.y_score, qid=joined.qid)
            assert values.mean() == expected.mean()

    def test_an_unknown_rule_is_refused(self):
        with pytest.raises(ValueError, match="unjudged_documents must be"):
            join_run(self.QRELS, self.RUN, unjudged_documents="skip")
