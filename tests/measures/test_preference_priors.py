"""The prior of EDRC: a number that open pairs earn, or the probability of each preference."""


import numpy as np
import pytest

from skgraded.measures.preferences import edrc_score


def test_a_callable_prior_is_called_with_both_items_of_each_open_pair():
    pairs = []

    def prior(v, w):
        pairs.append((v, w))
        return 0.7

    # B: A is preferred to it, where Ĝ is silent; of X nothing is known. A has rank 1.
    value = edrc_score([("A", "B")], [("X", "B")], prior=prior)
    assert sorted(pairs) == [("A", "B"), ("X", "B")]
    assert value == pytest.approx(2 * (0.7 + 0.7) / 2 - 1)


def test_a_callable_prior_may_return_booleans():
    # 1 ≻ 2 is silently agreed on; 2 ≻ 3, as predicted, is certain
    assert edrc_score([(1, 2)], [(2, 3)], prior=lambda v, w: np.bool_(v < w)) == 2 * (1 + 1) / 2 - 1
