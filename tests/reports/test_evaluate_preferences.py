"""evaluate_preferences: the definitions, undefined queries and weights, and every report."""

import math

import numpy as np
import pytest
from preference_oracle import edrc, implied, known_pairs, random_cases, random_pairs

import skgraded as sg

ALL = ["edrc", "pair_accuracy", "kendall_tau"]
# Ann prefers a to b and b to c, Bob prefers c to a.
PAIRS = [("a", "b"), ("b", "c"), ("c", "a")]
USERS = ["ann", "ann", "bob"]
GOOD = {"ann": {"a": 3, "b": 2, "c": 1}, "bob": {"a": 1, "c": 2}}
MIXED = {"ann": {"a": 3, "b": 1, "c": 2}, "bob": {"a": 2, "c": 1}}


def random_users(n_users, seed=0):
    """True pairs, their users, and predictions as pairs and as scores."""
    pairs, users, predicted, scores = [], [], {}, {}
    for user, (rng, n, true) in enumerate(random_cases(n_users, seed)):
        pairs += true
        users += [user] * len(true)
        predicted[user] = random_pairs(rng, n + 1, n)
        scores[user] = dict(enumerate(rng.choice([-np.inf, 0, 1, 2], n + 1).tolist()))
    return pairs, users, predicted, scores


# Values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("items", [None, "judged", "predicted", range(4)])
@pytest.mark.parametrize("form", ["pairs", "scores"])
def test_values_equal_the_definitions_for_each_user(form, items):
    pairs, users, predicted, scores = random_users(60)
    predictions = predicted if form == "pairs" else scores
    ev = sg.evaluate_preferences(pairs, predictions, qid=users, measures=ALL, items=items)
    n_undefined = 0
    for i, user in enumerate(dict.fromkeys(users)):
        true = [pair for pair, of_pair in zip(pairs, users, strict=True) if of_pair == user]
        said, chosen = predictions[user], items
        if form == "scores":
            retrieved = {item for item, score in said.items() if score > -math.inf}
            scored, said = set(said), implied(said)
        else:
            retrieved = scored = {item for pair in said for item in pair}
        judged = {item for pair in true for item in pair}
        if items is None or isinstance(items, str):
            chosen = {None: judged | scored, "judged": judged, "predicted": retrieved}[items]
        n, right, wrong = known_pairs(true, said, chosen)
        assert ev.undefined["EDRC"][i] == ev.undefined["PairAccuracy"][i] == (n == 0)
        n_undefined += n == 0
        expected = [0.0, 0.0, 0.0]
        if n:
            expected = [
                edrc(true, said, items=chosen),
                (right + (n - right - wrong) / 2) / n,
                (right - wrong) / n,
            ]
        values = [ev.per_query[name][i] for name in ("EDRC", "PairAccuracy", "KendallTau")]
        assert values == pytest.approx(expected, abs=1e-12)
    assert (n_undefined > 0) == (items in ("predicted", range(4)))


# Undefined queries and weights -------------------------------------------------------------------


@pytest.mark.parametrize("undefined", [0.0, 1.0, math.nan])
def test_a_user_without_a_known_pair_is_undefined(undefined):
    measures = [cls(undefined=undefined) for cls in (sg.EDRC, sg.PairAccuracy, sg.KendallTau)]
    ev = sg.evaluate_preferences(PAIRS, GOOD, qid=USERS, measures=measures, items=["a", "b"])
    for measure in measures:
        np.testing.assert_array_equal(ev.per_query[measure.name], [1, undefined])
        assert ev.undefined[measure.name].tolist() == [False, True]
        mean = 1.0 if math.isnan(undefined) else (1 + undefined) / 2
        assert ev.mean()[measure.name] == mean and ev.n_undefined[measure.name] == 1


def test_a_user_whose_preferences_all_contradict_each_other_is_undefined():
    pairs, users = [*PAIRS, ("a", "c")], [*USERS, "bob"]
    with pytest.warns(UserWarning, match="Left out contradictory pairs") as caught:
        ev = sg.evaluate_preferences(pairs, GOOD, qid=users, measures=ALL, cycles="unknown")
    assert caught[0].filename == __file__
    assert ev.n_undefined == {"EDRC": 1, "PairAccuracy": 1, "KendallTau": 1}


def test_the_weight_of_a_user_is_the_mean_over_the_pairs():
    ev = sg.evaluate_preferences(
        PAIRS, MIXED, qid=USERS, measures="pair_accuracy", sample_weight=[1, 3, 6]
    )
    assert ev.weights.tolist() == [(1 + 3) / 2, 6]
    assert ev.mean()["PairAccuracy"] == pytest.approx((2 * 2 / 3 + 6 * 0) / (2 + 6))
