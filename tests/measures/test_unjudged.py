"""Measures that accept unjudged documents (grade NaN); test_enumeration.py checks their values."""

from math import nan

import numpy as np
import pytest
from queries import random_queries
from registry import REGISTRY, build

import skgraded as sg
from skgraded.measures.base import accepts_unjudged, score_queries

ACCEPTING = [name for name, entry in REGISTRY.items() if accepts_unjudged(entry.cls)]


def unjudged_queries(seed):
    return random_queries(seed, n_queries=150, sizes=(1, 6), grades=(nan, nan, 0, 0, 1, 2.5))


@pytest.mark.parametrize("name", REGISTRY)
def test_other_measures_reject_unjudged_documents(name):
    measure = build(name, REGISTRY[name].settings[0])
    grades, scores, qid = [1, 0, nan, 2], [1, 2, 3, 4], [0, 1, 0, 1]
    if name in ACCEPTING:
        assert np.isfinite(measure(grades, scores, qid=qid))
        return
    judgments = sg.Judgments(grades, qid=qid)
    for call in (
        lambda: measure(grades, scores, qid=qid),
        lambda: measure.n_undefined(judgments),
        lambda: score_queries([sg.EDRC(), measure], judgments, scores),
    ):
        with pytest.raises(ValueError, match="y_true must not contain NaN; got nan for row 2"):
            call()


def test_values_with_unjudged_documents_do_not_depend_on_other_queries_or_measures():
    queries = unjudged_queries(seed=6)
    measures = [build(name, REGISTRY[name].settings[-1]) for name in ACCEPTING]
    evaluation = sg.evaluate(queries.y_true, queries.y_score, qid=queries.qid, measures=measures)
    for measure in measures:
        alone = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
        np.testing.assert_array_equal(evaluation.per_query[measure.name], alone)
        parts = [measure(*part) for part in queries.parts]
        np.testing.assert_array_equal(alone, parts)


class TestRBPResidual:
    def test_bounds_rbp_for_any_grades_of_the_unjudged_documents(self):
        rng = np.random.default_rng(0)
        queries = unjudged_queries(seed=7)
        unjudged = np.isnan(queries.y_true)
        settings = {"k": None, "persistence": 0.8}
        rows = queries.y_score, queries.qid
        residual = sg.RBPResidual(**settings).per_query(queries.y_true, rows[0], qid=rows[1])
        rbp = sg.RBP(**settings, max_grade=2.5)
        low = rbp.per_query(np.where(unjudged, 0, queries.y_true), rows[0], qid=rows[1])
        high = rbp.per_query(np.where(unjudged, 2.5, queries.y_true), rows[0], qid=rows[1])
        assert (high <= low + residual + 1e-12).all()
        grades = np.where(unjudged, rng.uniform(0, 2.5, len(unjudged)), queries.y_true)
        between = rbp.per_query(grades, rows[0], qid=rows[1])
        assert (low <= between + 1e-12).all() and (between <= high + 1e-12).all()

    @pytest.mark.filterwarnings("ignore:More than 1,000 rows are evaluated as one query")
    def test_the_residual_of_a_long_judged_list_is_not_negative(self):
        grades = np.zeros(10_000)
        for persistence in (0.3, 0.8, 0.95, 0.999):
            value = sg.RBPResidual(persistence=persistence)(grades, -np.arange(10_000))
            assert value == pytest.approx(persistence**10_000, abs=1e-12) and value >= 0


@pytest.mark.parametrize("measure", [sg.Compat(), sg.Compat(0.999), sg.Bpref(), sg.Success(k=50)])
@pytest.mark.filterwarnings("ignore:More than 1,000 rows are evaluated as one query")
def test_a_long_tied_query_is_exact_and_quick(measure):
    grades = np.arange(20_000) % 97 == 0
    value = measure(grades, np.zeros(len(grades)))
    rng = np.random.default_rng(0)
    drawn = [measure(grades, rng.permutation(len(grades))) for _ in range(300)]
    assert value == pytest.approx(np.mean(drawn), abs=6 * np.std(drawn) / np.sqrt(300) + 1e-12)
