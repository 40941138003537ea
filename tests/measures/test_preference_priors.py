"""The prior of EDRC: a number that open pairs earn, or the probability of each preference."""


import numpy as np
import pytest
from preference_oracle import implied

from skgraded.measures.preferences import edrc_score


def test_a_callable_prior_is_called_with_both_items_of_each_open_pair():
    asked = []

    def prior(v, w):
        asked.append((v, w))
        return 0.7

    # B: A is preferred to it, where Ĝ is silent; of X nothing is known. A has rank 1.
    value = edrc_score([("A", "B")], [("X", "B")], prior=prior)
    assert sorted(asked) == [("A", "B"), ("X", "B")]
    assert value == pytest.approx(2 * (0.7 + 0.7) / 2 - 1)


def test_a_callable_prior_may_return_booleans():
    # 1 ≻ 2 is silently agreed on; 2 ≻ 3, as predicted, is certain
    assert edrc_score([(1, 2)], [(2, 3)], prior=lambda v, w: np.bool_(v < w)) == 2 * (1 + 1) / 2 - 1


def test_a_prediction_of_an_open_pair_is_scored_against_a_callable_prior():
    def prior(v, w):
        return {("X", "B"): 0.7, ("B", "X"): 0.3}.get((v, w), 0.5)

    # W(B) = {A, X}: A is agreed on, X ≻ B is open in the truth
    for scores, agreement in (
        ({"A": 3, "B": 1, "X": 2}, 0.7),
        ({"A": 3, "B": 2, "X": 1}, 0.3),
        ({"A": 3, "B": 1, "X": 1}, 0.7 * 0.7 + 0.3 * 0.3),
    ):
        value = edrc_score([("A", "B")], scores, prior=prior)
        assert value == pytest.approx(2 * (1 + agreement) / 2 - 1)
        assert edrc_score([("A", "B")], list(implied(scores)), prior=prior) == pytest.approx(value)
        assert edrc_score([("A", "B")], scores, prior=lambda v, w: 0.5) == 2 * 1.5 / 2 - 1
