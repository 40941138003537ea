"""The prior of EDRC: a number for pairs of unknown order, or a function of both items."""

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
