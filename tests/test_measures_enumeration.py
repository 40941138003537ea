"""Each measure equals its formula over all orders of tied documents: their mean, best, worst."""

from functools import cache

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from queries import GRADES, SCORES, random_queries
from registry import ALL_IDS, ALL_SETTINGS, REGISTRY, TIES, build

TOLERANCE = {"rtol": 1e-10, "atol": 1e-13}


@cache
def small_queries():
    """Return 300 queries of 1 to 6 documents, and all orders of each."""
    queries = random_queries(seed=20, n_queries=300, sizes=(1, 6))
    return queries, [(oracle.orders(*part), part[0]) for part in queries.parts]


def expected_of(name, setting, ties, all_orders):
    formula = REGISTRY[name].of_orders
    values = [oracle.over_ties(formula(o, grades, **setting), ties) for o, grades in all_orders]
    return np.array([0.0 if value is None else value for value in values])


@pytest.mark.parametrize(("name", "setting"), ALL_SETTINGS, ids=ALL_IDS)
def test_equal_to_enumeration_of_all_orders(name, setting):
    queries, all_orders = small_queries()
    for ties in TIES:
        measure = build(name, setting, ties=ties)
        values = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
        expected = expected_of(name, setting, ties, all_orders)
        np.testing.assert_allclose(values, expected, **TOLERANCE, err_msg=str(measure))


def small_query():
    def of_pools(grades, scores):
        score = st.sampled_from(scores) if scores else st.floats(-1, 1)
        return st.lists(st.tuples(st.sampled_from(grades), score), min_size=1, max_size=5)

    grade_pools, score_pools = list(GRADES.values()), list(SCORES.values())
    pools = st.tuples(st.sampled_from(grade_pools), st.sampled_from(score_pools))
    return pools.flatmap(lambda pair: of_pools(*pair))


@settings(max_examples=600, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(ALL_SETTINGS), st.sampled_from(TIES), small_query())
def test_equal_to_enumeration_of_all_orders_for_any_query(chosen, ties, rows):
    name, setting = chosen
    grades, scores = (list(column) for column in zip(*rows, strict=True))
    value = build(name, setting, ties=ties)(grades, scores)
    [expected] = expected_of(name, setting, ties, [(oracle.orders(grades, scores), grades)])
    np.testing.assert_allclose(value, expected, **TOLERANCE)


@pytest.mark.parametrize("undefined", [0.0, 1.0, float("nan")])
@pytest.mark.parametrize("name", REGISTRY)
def test_undefined_queries_get_the_value_asked_for(name, undefined):
    queries, all_orders = small_queries()
    rng = np.random.default_rng(5)
    weights = rng.uniform(0.5, 2, len(queries))
    ids = list(dict.fromkeys(queries.qid.tolist()))
    row_weights = np.array([weights[ids.index(one)] for one in queries.qid])
    for setting in REGISTRY[name].settings[::4]:
        formula = REGISTRY[name].of_orders
        expected = [oracle.over_ties(formula(o, g, **setting), "average") for o, g in all_orders]
        n_undefined = expected.count(None)
        expected = np.array([undefined if value is None else value for value in expected])

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
    sizes = [len(grades) for _, grades in all_orders]
    assert min(sizes) == 1 and max(sizes) == 6
    assert sum(max(grades) == 0 for _, grades in all_orders) >= 10, "undefined queries"
    assert sum(ranked.shape[1] == 0 for ranked, _ in all_orders) >= 3, "nothing retrieved"
    assert sum(len(ranked) >= 24 for ranked, _ in all_orders) >= 20, "many ties"
    assert (np.diff(queries.qid) != 0).mean() > 0.9, "rows are interleaved"
