"""Measures that accept unjudged documents (grade NaN); test_enumeration.py checks their values."""

from math import nan

import numpy as np
import pytest
from queries import random_queries
from registry import REGISTRY, build

import skgraded as sg
from skgraded.measures.base import accepts_unjudged, score_queries

ACCEPTING = [name for name, entry in REGISTRY.items() if accepts_unjudged(entry.cls)]


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
    queries = random_queries(6, n_queries=150, sizes=(1, 6), grades=(nan, nan, 0, 0, 1, 2.5))
    measures = [build(name, REGISTRY[name].settings[-1]) for name in ACCEPTING]
    evaluation = sg.evaluate(queries.y_true, queries.y_score, qid=queries.qid, measures=measures)
    for measure in measures:
        alone = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
        np.testing.assert_array_equal(evaluation.per_query[measure.name], alone)
        parts = [measure(*part) for part in queries.parts]
        np.testing.assert_array_equal(alone, parts)


@pytest.mark.parametrize("measure", [sg.Compat(), sg.Compat(0.999), sg.Bpref(), sg.Success(k=50)])
@pytest.mark.filterwarnings("ignore:More than 1,000 rows are evaluated as one query")
def test_a_long_tied_query_is_exact_and_quick(measure):
    grades = np.arange(20_000) % 97 == 0
    value = measure(grades, np.zeros(len(grades)))
    rng = np.random.default_rng(0)
    drawn = [measure(grades, rng.permutation(len(grades))) for _ in range(300)]
    assert value == pytest.approx(np.mean(drawn), abs=6 * np.std(drawn) / np.sqrt(300) + 1e-12)
