"""Each measure equals its formula over all orders of tied documents: their mean, best, worst."""

from functools import cache

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from queries import GRADES, SCORES, random_queries
from registry import ALL_IDS, ALL_SETTINGS, REGISTRY, build

TOLERANCE = {"rtol": 1e-10, "atol": 1e-13}


@cache
def small_queries():
    """Return 300 queries of 1 to 6 documents, and each of them with all its orders."""
    queries = random_queries(seed=20, n_queries=300, sizes=(1, 6))
    return queries, [with_orders(*part) for part in queries.parts]


def with_orders(grades, scores):
    """Return all orders of the retrieved documents and of all documents, grades and scores."""
    return [oracle.orders(grades, scores, last) for last in (False, True)], grades, scores


def expected_of(name, setting, all_orders):
    """Values of the queries by tie rule, None where there is none."""
    entry = REGISTRY[name]
    values = [
        entry.by_orders(both[entry.unretrieved_last], grades, scores, **setting)
        for both, grades, scores in all_orders
    ]
    return {ties: [of_query[ties] for of_query in values] for ties in entry.tie_rules}


def or_undefined(values, undefined=0.0):
    return np.array([undefined if value is None else value for value in values])


@pytest.mark.parametrize(("name", "setting"), ALL_SETTINGS, ids=ALL_IDS)
def test_equal_to_enumeration_of_all_orders(name, setting):
    queries, all_orders = small_queries()
    for ties, expected in expected_of(name, setting, all_orders).items():
        measure = build(name, setting, ties=ties)
        values = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
        np.testing.assert_allclose(
            values, or_undefined(expected), **TOLERANCE, err_msg=str(measure)
        )


def small_query():
    def of_pools(grades, scores):
        score = st.sampled_from(scores) if scores else st.floats(-1, 1)
        return st.lists(st.tuples(st.sampled_from(grades), score), min_size=1, max_size=5)

    grade_pools, score_pools = list(GRADES.values()), list(SCORES.values())
    pools = st.tuples(st.sampled_from(grade_pools), st.sampled_from(score_pools))
    return pools.flatmap(lambda pair: of_pools(*pair))


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(ALL_SETTINGS), small_query())
def test_equal_to_enumeration_of_all_orders_for_any_query(chosen, rows):
    name, setting = chosen
    grades, scores = (list(column) for column in zip(*rows, strict=True))
    for ties, expected in expected_of(name, setting, [with_orders(grades, scores)]).items():
        value = build(name, setting, ties=ties)(grades, scores)
        np.testing.assert_allclose(value, or_undefined(expected), **TOLERANCE)


@pytest.mark.parametrize("undefined", [0.0, 1.0, float("nan")])
@pytest.mark.parametrize("name", REGISTRY)
def test_undefined_queries_get_the_value_asked_for(name, undefined):
    queries, all_orders = small_queries()
    rng = np.random.default_rng(5)
    weights = rng.uniform(0.5, 2, len(queries))
    ids = list(dict.fromkeys(queries.qid.tolist()))
    row_weights = np.array([weights[ids.index(one)] for one in queries.qid])
    for setting in REGISTRY[name].settings[::8]:
        expected = expected_of(name, setting, all_orders)[REGISTRY[name].tie_rules[0]]
        n_undefined = expected.count(None)
        expected = or_undefined(expected, undefined)

        measure = build(name, setting, undefined=undefined)
        values = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
        np.testing.assert_allclose(values, expected, **TOLERANCE, err_msg=str(measure))
        assert measure.n_undefined(queries.y_true, qid=queries.qid) == n_undefined

        counted = ~np.isnan(expected)
        mean = measure(queries.y_true, queries.y_score, qid=queries.qid)
        np.testing.assert_allclose(mean, expected[counted].mean(), **TOLERANCE)
        weighted = measure(
            queries.y_true, queries.y_score, qid=queries.qid, sample_weight=row_weights
        )
        of_defined = np.average(expected[counted], weights=weights[counted])
        np.testing.assert_allclose(weighted, of_defined, **TOLERANCE)


def test_the_random_queries_hold_the_hard_cases():
    queries, all_orders = small_queries()
    sizes = [len(grades) for _, grades, _ in all_orders]
    retrieved = [of_retrieved for (of_retrieved, _), _, _ in all_orders]
    assert min(sizes) == 1 and max(sizes) == 6
    assert sum(max(grades) == 0 for _, grades, _ in all_orders) >= 10, "undefined queries"
    assert sum(ranked.shape[1] == 0 for ranked in retrieved) >= 3, "nothing retrieved"
    assert sum(len(ranked) >= 24 for ranked in retrieved) >= 20, "many ties"
    assert (np.diff(queries.qid) != 0).mean() > 0.9, "rows are interleaved"
