"""The prior of EDRC: a number for pairs of unknown order, or a function of both items."""

import numpy as np
import pytest

from skgraded.measures.preferences import edrc_score


def test_a_callable_prior_is_called_with_both_items_of_each_pair_of_unknown_order():
    pairs = []

    def prior(v, w):
        pairs.append((v, w))
        return 0.7

    # Item B: the truth prefers A to B, and the prediction prefers X to B. A has rank 1.
    value = edrc_score([("A", "B")], [("X", "B")], prior=prior)
    assert sorted(pairs) == [("A", "B"), ("X", "B")]
    assert value == pytest.approx(2 * (0.7 + 0.7) / 2 - 1)


def test_a_callable_prior_may_return_booleans():
    # The prior agrees with the true 1 ≻ 2 and with the predicted 2 ≻ 3.
    assert edrc_score([(1, 2)], [(2, 3)], prior=lambda v, w: np.bool_(v < w)) == 2 * (1 + 1) / 2 - 1
