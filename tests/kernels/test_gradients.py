"""LambdaRank gradients, compared with their definition."""

import math

import numpy as np
import pytest

import skgraded as sg
from skgraded.boosting.rounds import Objective

CLASSES = [
    (sg.NDCG, {}),
    (sg.NDCG, {"gain": "linear", "discount": "letor"}),
    (sg.NDCNG, {}),
    (sg.NDCNG, {"max_grade": 20}),
    (sg.AP, {}),
    (sg.AP, {"threshold": 2}),
    (sg.MuAP, {}),
    (sg.GAP, {}),
    (sg.GAP, {"gain": "exp2"}),
    (sg.RBP, {}),
    (sg.RBP, {"persistence": 0.5}),
    (sg.DCG, {}),
]
MEASURES = [cls(k=k, **setting) for cls, setting in CLASSES for k in (None, 1, 3, 10)]
MEASURES += [sg.NDCG(k="mean"), sg.NDCNG(k="mean"), sg.RPrecision(), sg.RPrecision(threshold=2)]


GRADES = {
    "few": lambda rng, n: rng.integers(0, 5, n).astype(float),
    # too many levels for one counter per level
    "many": lambda rng, n: np.round(rng.exponential(3, n), 1) * (rng.random(n) < 0.8),
    "real": lambda rng, n: rng.random(n) * 10.0,
}


def swaps_by_hand(measure, ranked):
    """Return the change of the measure for each swap of two documents in ranked order."""
    n = len(ranked)
    a, b = np.triu_indices(n, 1)
    lists = np.tile(ranked, (len(a) + 1, 1))  # the last list is unchanged
    lists[np.arange(len(a)), a], lists[np.arange(len(a)), b] = ranked[b], ranked[a]
    values = measure.per_query(
        lists.ravel(), np.tile(-np.arange(n), len(lists)), group=[n] * len(lists)
    )
    swaps = np.zeros((n, n))
    swaps[a, b] = values[:-1] - values[-1]
    return swaps


def pushes_by_hand(measure, grades, scores, truncation, sigmoid, norm):
    """Compute LambdaRank gradients and hessians for one query without ties, pair by pair."""
    n, order = len(grades), np.argsort(-scores)
    swaps = swaps_by_hand(measure, grades[order])
    first, second, total = np.zeros(n), np.zeros(n), 0.0
    for a in range(min(truncation, n)):
        for b in range(a + 1, n):
            high, low = order[a], order[b]
            if grades[high] < grades[low]:
                high, low = low, high
            apart = scores[high] - scores[low]
            push = abs(swaps[a, b])
            if norm and scores.min() < scores.max():
                push /= 0.01 + abs(apart)
            wrong = 1 / (1 + math.exp(min(700, sigmoid * apart)))
            first[high] -= sigmoid * push * wrong
            first[low] += sigmoid * push * wrong
            second[[high, low]] += sigmoid**2 * push * wrong * (1 - wrong)
            total += 2 * sigmoid * push * wrong
    factor = math.log2(1 + total) / total if norm and total > 0 else 1.0
    return factor * first, factor * second


def check_gradients(measure, grades, sizes, spread=1.0, norm=True):
    rng = np.random.default_rng(2)
    scores, weights = spread * rng.normal(size=len(grades)), rng.random(len(sizes))
    judgments = sg.Judgments(grades, group=sizes, sample_weight=np.repeat(weights, sizes))
    objective = Objective(measure, truncation=20, sigmoid=1.5, norm=norm)
    values = objective.compute_gradients(judgments, scores)
    for end, size, weight in zip(np.cumsum(sizes), sizes, weights, strict=True):
        rows = slice(end - size, end)
        by_hand = pushes_by_hand(objective.measure, grades[rows], scores[rows], 20, 1.5, norm)
        for ours, slow in zip(values, by_hand, strict=True):
            assert ours.dtype == np.float32
            expected, atol = weight * slow, 1e-9 * max(1, np.abs(slow).max())
            np.testing.assert_allclose(ours[rows], expected, 1e-6, atol, err_msg=str(measure))


@pytest.mark.parametrize("kind", GRADES)
def test_gradients_of_all_measures_push_pairs_by_swap_and_probability(kind):
    rng, sizes = np.random.default_rng(0), [1, 2, 5, 9, 17]
    for measure in MEASURES:
        check_gradients(measure, GRADES[kind](rng, sum(sizes)), sizes)


@pytest.mark.parametrize("spread", [0.01, 40.0, 1000.0])  # with 1000, exponentials overflow
@pytest.mark.parametrize("measure", ["ndcg", "ndcng@7", "mu_map", "map@10", "ndcg@mean"])
def test_gradients_for_near_and_distant_scores(measure, spread):
    sizes = [40, 1, 8, 2, 23]
    grades = np.random.default_rng(2).integers(0, 4, sum(sizes)).astype(float)
    for norm in (True, False):
        check_gradients(measure, grades, sizes, spread, norm)


def test_gradients_break_ties_at_random():
    grades = np.repeat([1.0, 0.0], 500)
    result, _ = Objective("ndcg", truncation=10).compute_gradients(
        sg.Judgments(np.tile(grades, 40), group=[1000] * 40), np.zeros(40_000)
    )
    firsts = np.abs(result.reshape(40, 1000)) > 2 * np.median(np.abs(result))
    # ten documents per query, 400 in total; about half of them are in the first half of the rows
    assert 150 < firsts[:, :500].sum() < 250


def test_gradients_are_the_same_on_one_thread_and_several(monkeypatch):
    rng = np.random.default_rng(4)
    judgments = sg.Judgments(rng.integers(0, 5, 200_000), group=[100] * 2000)
    scores = rng.normal(size=200_000)
    result = []
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        result.append(Objective("mu_map").compute_gradients(judgments, scores))
    np.testing.assert_array_equal(*result)
