"""Each measure equals its definition over all orders of tied documents: their mean, best, worst."""

from functools import cache
from math import nan

import numpy as np
import pytest
from queries import random_queries
from registry import REGISTRY, build, by_definition

import skgraded as sg
from skgraded.measures.base import accepts_unjudged

TOLERANCE = {"rtol": 1e-10, "atol": 1e-13}

every_entry = pytest.mark.parametrize("name", REGISTRY)


@cache
def small_queries(n_queries=150, grades=None):
    """Return queries of 1 to 5 documents."""
    return random_queries(seed=73, n_queries=n_queries, sizes=(1, 5), grades=grades)


def expected_of(name, setting, parts):
    """Return the values of the queries by tie rule; None if a query has no value."""
    values = [
        # powers of tiny grades need many digits
        by_definition(name, setting, *part, 400 if any(0 < g < 1e-10 for g in part[0]) else 50)
        for part in parts
    ]
    return {ties: [of_query[ties] for of_query in values] for ties in REGISTRY[name].tie_rules}


def or_undefined(values, undefined=0.0):
    return np.array([undefined if value is None else value for value in values])


def check_values(measure, values, expected, queries):
    """Compare per-query values; the error shows the grades and scores of each wrong query."""
    is_wrong = ~np.isclose(values, expected, **TOLERANCE, equal_nan=True)
    lines = [f"{measure} has a wrong value for {is_wrong.sum()} of {len(queries)} queries:"]
    for i in np.flatnonzero(is_wrong):
        grades, scores = queries[i]
        lines.append(f"grades {grades}, scores {scores}: {values[i]} instead of {expected[i]}")
    if is_wrong.any():
        pytest.fail("\n".join(lines))


def test_an_error_shows_the_grades_and_scores_of_the_query():
    queries = [([0, 1], [1.0, 2.0]), ([2, 0], [0.5, 0.5])]
    text = r"1 of 2 queries:\ngrades \[2, 0\], scores \[0.5, 0.5\]: 1.0 instead of 0.75"
    with pytest.raises(pytest.fail.Exception, match=text):
        check_values(sg.AP(), np.array([1.0, 1.0]), np.array([1.0, (1 + 1 / 2) / 2]), queries)


UNJUDGED = (nan, nan, 0, 0, 1, 2.5)
ACCEPTING = [name for name, entry in REGISTRY.items() if accepts_unjudged(entry.cls)]
STEP = 7  # each setting is tested with every seventh query


@pytest.mark.parametrize(
    "name, grades",
    [*((name, None) for name in REGISTRY), *((name, UNJUDGED) for name in ACCEPTING)],
)
def test_values_equal_the_definition_over_all_orders(name, grades):
    queries = small_queries(grades=grades)
    for place, setting in enumerate(REGISTRY[name].settings):
        chosen = slice(place % STEP, None, STEP)
        parts = queries.parts[chosen]
        expected = expected_of(name, setting, parts)
        for ties, values in expected.items():
            measure = build(name, setting, ties=ties)
            per_query = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
            check_values(measure, per_query[chosen], or_undefined(values), parts)


@every_entry
def test_undefined_queries_have_the_value_of_undefined(name):
    queries = small_queries(n_queries=40)
    weights = np.random.default_rng(5).uniform(0.5, 2, len(queries))
    ids = list(dict.fromkeys(queries.qid.tolist()))
    row_weights = np.array([weights[ids.index(query)] for query in queries.qid])
    rows = {"y_true": queries.y_true, "y_score": queries.y_score, "qid": queries.qid}
    for setting in REGISTRY[name].settings[::8]:
        values_or_none = expected_of(name, setting, queries.parts)[REGISTRY[name].tie_rules[0]]
        for undefined in (0.0, 1.0, nan):
            measure = build(name, setting, undefined=undefined)
            expected = or_undefined(values_or_none, undefined)
            check_values(measure, measure.per_query(**rows), expected, queries.parts)
            n_undefined = measure.n_undefined(queries.y_true, qid=queries.qid)
            is_defined = undefined == 0 and REGISTRY[name].undefined_on_request
            assert n_undefined == (0 if is_defined else values_or_none.count(None))
            assert n_undefined or is_defined or REGISTRY[name].always_defined

            counted = ~np.isnan(expected)
            np.testing.assert_allclose(measure(**rows), expected[counted].mean(), **TOLERANCE)
            of_defined = np.average(expected[counted], weights=weights[counted])
            weighted = measure(**rows, sample_weight=row_weights)
            np.testing.assert_allclose(weighted, of_defined, **TOLERANCE)
