"""edrc_score for pairs, scores and queries, compared with its definition."""

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from preference_oracle import edrc, implied, random_cases, random_pairs
from registry import rank_less_1

from skgraded.measures import preference_graphs
from skgraded.measures.preferences import edrc_per_query, edrc_score

# Ackerman and Chen (2011), table 1
TRUE = [("A", "C"), ("A", "D"), ("A", "E"), ("C", "D"), ("B", "D")]
PREDICTED = [("C", "A"), ("C", "B"), ("C", "D"), ("A", "E"), ("B", "E"), ("D", "E")]

DISCOUNTS = {
    "linear": lambda rank: rank,
    "log2": lambda rank: math.log2(1 + rank),
    "exp2": lambda rank: 2.0**rank,
    rank_less_1: rank_less_1,
    np.square: np.square,
}


def _uneven(v, w):
    """Return a probability that v is preferred to w; p(v, w) + p(w, v) is 1."""
    return (v + 1) / (v + w + 2)


# The paper ----------------------------------------------------------------------------------------


def test_the_pairs_of_the_paper_as_printed():
    # C(C) = 0 + 1/2 + 1/2, C(D) = 1/2 + 1/2 + 1 + 1/2, C(E) = 1 + 1/2 + 1/2 + 1/2
    Z = 3 / 2 + 4 / 3 + 4 / 2
    expected = 2 / Z * (1 / 2 + 2.5 / 3 + 2.5 / 2) - 1
    assert expected == pytest.approx(2 / 29)
    assert edrc_score(TRUE, PREDICTED) == pytest.approx(2 / 29, abs=1e-15)
    # The value in the paper assumes that B is preferred to E.
    assert edrc_score([*TRUE, ("B", "E")], PREDICTED) == pytest.approx(5 / 29, abs=1e-15)


# The definition -----------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [0.5, 0.0, 1, 0.7, _uneven])
@pytest.mark.parametrize("discount, function", DISCOUNTS.items())
def test_random_pairs_agree_with_the_definition(discount, function, prior):
    for rng, n, true in random_cases(40):
        predicted = random_pairs(rng, n + 2, int(rng.integers(1, 2 * n)))
        for items in (None, set(rng.permutation(n + 3)[: n // 2 + 1].tolist())):
            got = edrc_score(true, predicted, discount, prior, items)
            assert got == pytest.approx(edrc(true, predicted, function, prior, items), abs=1e-12)


@pytest.mark.parametrize("prior", [0.5, _uneven])
def test_the_size_of_blocks_changes_no_value(prior, monkeypatch):
    def values():
        by_pairs = [edrc_score(*case, prior=prior) for case in cases]
        return by_pairs + [edrc_score(true, scores) for true, _ in cases]

    scores = dict.fromkeys(range(9), 1) | {0: 2, 1: 0}
    cases = [(true, random_pairs(rng, n, n)) for rng, n, true in random_cases(15, max_items=20)]
    whole = values()
    for size in (1, 2, 5):
        monkeypatch.setattr(preference_graphs, "BLOCK", size)
        assert values() == pytest.approx(whole)


def test_scores_are_the_pairs_that_they_imply():
    for rng, n, true in random_cases(100):
        scores = dict(zip(range(1, n + 2), rng.integers(0, 4, n + 1).tolist(), strict=True))
        expected = edrc(true, implied(scores), extra=scores)
        assert edrc_score(true, scores) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("prior", [0.5, 0, 0.3, _uneven])
def test_whole_orders_with_ties_agree_with_the_definition(prior):
    def levels(n_levels, items):
        return dict(zip(items, rng.integers(0, n_levels, len(items)).tolist(), strict=True))

    rng = np.random.default_rng(12)
    for n_levels in [2, 3, 5] * 10:
        true, predicted = levels(n_levels, range(9)), levels(3, range(2, 11))
        pairs, said = list(implied(true)), list(implied(predicted))
        if not pairs or not said:
            continue
        for items in (None, set(rng.permutation(11)[:7].tolist())):
            for prediction, extra in ((said, ()), (predicted, predicted)):
                expected = edrc(pairs, said, prior=prior, items=items, extra=extra)
                got = edrc_score(pairs, prediction, prior=prior, items=items)
                assert got == pytest.approx(expected, abs=1e-12)


# Items --------------------------------------------------------------------------------------------


def test_the_keys_of_a_mapping_are_items():
    for keys in "ABD", "ACE":
        expected = edrc_score(TRUE, PREDICTED, items=list(keys))
        assert edrc_score(TRUE, PREDICTED, items=dict.fromkeys(keys, 1.0)) == expected
    recommended = {"u1": {"X": 3, "Y": 1}, "u2": {"A": 2, "C": 1}, "u3": {}}
    values = edrc_per_query(PAIRS, PREDICTIONS, items=recommended, qid=QID, undefined=math.nan)
    assert values["u1"] == -1 and values["u2"] == 1 and math.isnan(values["u3"])


def test_predicted_items_are_the_retrieved_items():
    for rng, n, true in random_cases(40, seed=3):
        predicted = random_pairs(rng, n + 2, n)
        expected = edrc(true, predicted, items={item for pair in predicted for item in pair})
        assert edrc_score(true, predicted, items="predicted") == pytest.approx(expected, abs=1e-12)
        scores = dict(enumerate(rng.choice([-np.inf, 0, 1, 2], n + 1).tolist()))
        retrieved = {item for item, score in scores.items() if score > -np.inf}
        expected = edrc(true, implied(scores), items=retrieved)
        assert edrc_score(true, scores, items="predicted") == pytest.approx(expected, abs=1e-12)


# Size ---------------------------------------------------------------------------------------------


def test_a_few_preferences_among_30000_scored_items():
    n = 30_000
    scores = dict(enumerate(range(n, 0, -1)))
    true = [(0, 1), (2, 1), (7, 3)]
    # for item 1, the order of all but 2 other items is unknown; for item 3, of all but 1
    C = (2 + (n - 3) / 2) / 2 + (0 + (n - 2) / 2) / 2
    C_opposite_is_0 = C - (1 / 2)  # the prediction contains the reverse of 2 ≻ 1
    expected = 2 * C_opposite_is_0 / (2 * (n - 1) / 2) - 1
    assert edrc_score(true, scores) == pytest.approx(expected, rel=1e-9)


def test_30000_items_in_one_chain_do_not_take_quadratic_time():
    n = 30_000
    chain = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    # Both the scores and the pairs swap every second item with the next item.
    swapped = np.arange(n) ^ 1
    place = np.arange(n)
    agree = place - place % 2
    expected = 2 * (agree / (place + 1))[1:].sum() / (place / (place + 1))[1:].sum() - 1
    by_scores = dict(enumerate((-swapped).tolist()))
    assert edrc_score(chain, by_scores) == pytest.approx(expected, abs=1e-12)
    assert edrc_score(chain, swapped[chain]) == pytest.approx(expected, abs=1e-12)


# Forms --------------------------------------------------------------------------------------------


FORMS = {
    "tuples": list,
    "lists": lambda pairs: [list(pair) for pair in pairs],
    "tuple of tuples": tuple,
    "generator": iter,
    "set": set,
    "array": np.array,
    "read-only array": lambda pairs: np.broadcast_to(np.array(pairs), (len(pairs), 2)),
    "object array": lambda pairs: np.array(pairs, dtype=object),
    "list of arrays": lambda pairs: [np.array(pair) for pair in pairs],
    "pandas": lambda pairs: pd.DataFrame(pairs, columns=["preferred", "other"]),
    "polars": lambda pairs: pl.DataFrame(pairs, schema=["preferred", "other"], orient="row"),
    "pyarrow": lambda pairs: pa.table([*zip(*pairs, strict=True)], names=["preferred", "other"]),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_pairs_in_any_form(form):
    value = edrc_score(form(TRUE), form(PREDICTED))
    assert type(value) is float
    assert value == pytest.approx(2 / 29)
    # all forms contain the same items
    assert edrc_score(form(TRUE), PREDICTED) == pytest.approx(2 / 29)
    assert edrc_score(form(TRUE), dict.fromkeys("ABCDE", 1)) == pytest.approx(0)


# Queries ------------------------------------------------------------------------------------------

QID = ["u2", "u1", "u2", "u3"]
PAIRS = [("A", "B"), ("X", "Y"), ("B", "C"), ("A", "C")]
PREDICTIONS = {
    "u1": [("Y", "X")],
    "u2": {"A": 3, "B": 2, "C": 1},
    "u3": [],
    "nobody": [("C", "A")],
}


def test_queries_are_evaluated_with_their_pairs_only():
    values = edrc_per_query(PAIRS, PREDICTIONS, qid=QID)
    assert values == {"u2": 1.0, "u1": -1.0, "u3": 0.0}
    assert list(values) == ["u2", "u1", "u3"]
    assert all(type(value) is float for value in values.values())
    assert edrc_score(PAIRS, PREDICTIONS, qid=QID) == (1 - 1 + 0) / 3


@pytest.mark.parametrize("prior", [0.2, _uneven])
@pytest.mark.parametrize("items", [None, [0, 1, 2, 3]])
def test_each_query_has_the_same_value_alone(prior, items):
    truths, predictions, qid, rows = {}, {}, [], []
    for query, (rng, n, true) in enumerate(random_cases(12)):
        truths[query], predictions[query] = true, random_pairs(rng, n, n)
        qid += [query] * len(true)
        rows += true
    mixed = np.random.default_rng(2).permutation(len(rows))
    values = edrc_per_query(
        np.array(rows)[mixed], predictions, "log2", prior, items, qid=np.array(qid)[mixed]
    )
    assert sorted(values) == sorted(truths)
    for query, value in values.items():
        alone = edrc_score(truths[query], predictions[query], "log2", prior, items)
        assert value == pytest.approx(alone, abs=1e-12)


def test_items_per_query_may_be_empty():
    for u3 in ["A"], []:
        items = {"u2": ["A", "C"], "u1": ["X", "Y", "Z"], "u3": u3}
        values = edrc_per_query(PAIRS, PREDICTIONS, items=items, qid=QID, undefined=math.nan)
        assert values["u2"] == 1
        assert values["u1"] == 2 * (0 + 0.5) / 2 - 1
        assert math.isnan(values["u3"])


# Undefined ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("undefined", [0.0, 1.0, math.nan])
def test_no_preference_among_the_items_is_undefined(undefined):
    def value(items):
        return edrc_score(TRUE, PREDICTED, items=items, undefined=undefined)

    for items in ["A"], ["A", "B"], ["X", "Y"]:
        np.testing.assert_equal(value(items), undefined)
    assert value(["A", "C"]) == -1


@pytest.mark.parametrize("undefined, mean", [(0.0, (1 + 0) / 2), (1.0, 1.0), (math.nan, 1.0)])
def test_the_mean_with_an_undefined_query(undefined, mean):
    pairs, predictions = [("A", "B"), ("C", "D")], {1: {"A": 1, "B": 0}, 2: {"C": 1, "D": 0}}
    more = {"qid": [1, 2], "undefined": undefined}
    assert edrc_score(pairs, predictions, items=["A", "B"], **more) == mean
    np.testing.assert_equal(edrc_score(pairs, predictions, items=["A"], **more), undefined)


def test_the_error_about_a_cycle_lists_its_pairs():
    pairs = [("A", "B"), ("B", "C"), ("C", "D"), ("D", "B"), ("D", "E")]
    with pytest.raises(ValueError, match="a cycle: .*. Remove one of these pairs") as raised:
        edrc_score([("A", "B")], pairs)
    named = str(raised.value).split("cycle: ")[1].split(". ")[0].replace("'", "").split(" ≻ ")
    assert len(named) == 4 and named[0] == named[-1]
    assert set(itertools.pairwise(named)) <= set(pairs)


def test_a_callable_prior_is_called_with_both_items_of_each_pair_of_unknown_order():
    pairs = []

    def prior(v, w):
        pairs.append((v, w))
        return 0.7

    # Item B: the truth prefers A to B, and the prediction prefers X to B. A has rank 1.
    value = edrc_score([("A", "B")], [("X", "B")], prior=prior)
    assert sorted(pairs) == [("A", "B"), ("X", "B")]
    assert value == pytest.approx(2 * (0.7 + 0.7) / 2 - 1)
