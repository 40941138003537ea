"""Each measure equals its formula over all orders of tied documents: their mean, best, worst."""

from functools import cache
from math import nan

import numpy as np
import pytest
from oracle import orders, over_ties
from queries import random_queries
from registry import REGISTRY, build

from skgraded.measures.base import accepts_unjudged

TOLERANCE = {"rtol": 1e-10, "atol": 1e-13}

every_entry = pytest.mark.parametrize("name", REGISTRY)


@cache
def small_queries(n_queries=150, grades=None):
    """Return queries of 1 to 6 documents, and each of them with all its orders."""
    queries = random_queries(seed=73, n_queries=n_queries, sizes=(1, 6), grades=grades)
    return queries, [with_orders(*part) for part in queries.parts]


def with_orders(grades, scores):
    """Return all orders of the retrieved documents and of all documents, grades and scores."""
    return [orders(grades, scores, last) for last in (False, True)], grades, scores


def expected_of(name, setting, all_orders):
    """Return the values of the queries by tie rule; None if a query has no value."""
    entry = REGISTRY[name]
    values = [
        entry.by_orders(both[entry.unretrieved_last], np.array(grades), scores, **setting)
        for both, grades, scores in all_orders
    ]
    return {ties: [of_query[ties] for of_query in values] for ties in entry.tie_rules}


def or_undefined(values, undefined=0.0):
    return np.array([undefined if value is None else value for value in values])


UNJUDGED = (nan, nan, 0, 0, 1, 2.5)
ACCEPTING = [name for name, entry in REGISTRY.items() if accepts_unjudged(entry.cls)]


@pytest.mark.parametrize(
    "name, grades",
    [*((name, None) for name in REGISTRY), *((name, UNJUDGED) for name in ACCEPTING)],
)
def test_values_equal_the_enumeration_of_all_orders(name, grades):
    queries, all_orders = small_queries(grades=grades)
    for setting in REGISTRY[name].settings:
        for ties, expected in expected_of(name, setting, all_orders).items():
            measure = build(name, setting, ties=ties)
            values = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
            np.testing.assert_allclose(
                values, or_undefined(expected), **TOLERANCE, err_msg=str(measure)
            )


@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if entry.of_orders])
def test_the_expectations_in_closed_form_agree_with_enumeration(name):
    entry, parts = REGISTRY[name], random_queries(seed=1, n_queries=30, sizes=(1, 6)).parts
    all_orders = [orders(*part, entry.unretrieved_last) for part in parts]
    for setting in entry.settings:
        for part, ranked in zip(parts, all_orders, strict=True):
            closed = entry.on_average(*part, **setting)
            expected = over_ties(entry.of_orders(ranked, part[0], **setting), entry.tie_rules[0])
            if expected is not None:
                expected = pytest.approx(expected, rel=1e-9)
            assert closed == expected, (setting, part)


@every_entry
def test_undefined_queries_have_the_value_of_undefined(name):
    queries, all_orders = small_queries(n_queries=60)
    weights = np.random.default_rng(5).uniform(0.5, 2, len(queries))
    ids = list(dict.fromkeys(queries.qid.tolist()))
    row_weights = np.array([weights[ids.index(query)] for query in queries.qid])
    rows = {"y_true": queries.y_true, "y_score": queries.y_score, "qid": queries.qid}
    for setting in REGISTRY[name].settings[::8]:
        values_or_none = expected_of(name, setting, all_orders)[REGISTRY[name].tie_rules[0]]
        for undefined in (0.0, 1.0, nan):
            measure = build(name, setting, undefined=undefined)
            expected = or_undefined(values_or_none, undefined)
            np.testing.assert_allclose(
                measure.per_query(**rows), expected, **TOLERANCE, err_msg=str(measure)
            )
            n_undefined = measure.n_undefined(queries.y_true, qid=queries.qid)
            is_defined = undefined == 0 and REGISTRY[name].undefined_on_request
            assert n_undefined == (0 if is_defined else values_or_none.count(None))
            assert n_undefined or is_defined or REGISTRY[name].always_defined

            counted = ~np.isnan(expected)
            np.testing.assert_allclose(measure(**rows), expected[counted].mean(), **TOLERANCE)
            of_defined = np.average(expected[counted], weights=weights[counted])
            weighted = measure(**rows, sample_weight=row_weights)
            np.testing.assert_allclose(weighted, of_defined, **TOLERANCE)


def test_the_random_queries_contain_difficult_cases():
    queries, all_orders = small_queries()
    sizes = [len(grades) for _, grades, _ in all_orders]
    retrieved = [of_retrieved for (of_retrieved, _), _, _ in all_orders]
    assert min(sizes) == 1 and max(sizes) == 6
    assert sum(max(grades) == 0 for _, grades, _ in all_orders) >= 10, "undefined queries"
    assert sum(ranked.shape[1] == 0 for ranked in retrieved) >= 3, "nothing retrieved"
    assert sum(len(ranked) >= 24 for ranked in retrieved) >= 20, "many ties"
    assert (np.diff(queries.qid) != 0).mean() > 0.9, "rows are interleaved"
