"""Which candidates of a search are hopeless, and which may be the best."""

import numpy as np
import pytest

from skgraded.stats.racing import CHECKPOINTS, compare_with_leader, is_hopeless


def compare(values, level=0.95, margin=0.0, seed=0):
    return compare_with_leader(values, level, margin, np.random.default_rng(seed))


def equal_candidates(n_queries, n_candidates, rng):
    return rng.normal(0.5, 0.3, (n_queries, 1)) + rng.normal(0, 0.1, (n_queries, n_candidates))


def test_checkpoints_grow_by_the_root_of_2():
    assert CHECKPOINTS[:9] == (5, 7, 10, 14, 20, 28, 40, 57, 80)


def test_a_candidate_is_hopeless_if_neither_its_gain_nor_its_error_reaches_the_leader():
    curve = [0.25, 0.5, 0.375, 0.75, 0.625]  # the best of 2 and of 5 rounds: .5 and .75
    reach = 0.75 + (0.75 - 0.5) + 2 * 0.125
    for leader, expected in ((reach, False), (np.nextafter(reach, 2), True)):
        assert is_hopeless(curve, 0.125, 2, leader) is expected
    assert not is_hopeless(curve, 0.0, np.inf, 9.0)  # an infinite number of errors
    assert not is_hopeless(curve, np.nan, 1, 9.0)  # one query


def test_the_best_of_equal_candidates_is_ruled_out_at_most_as_often_as_the_level_allows():
    n, n_ruled_out = 200, 0
    for seed in range(n):
        values = equal_candidates(150, 8, np.random.default_rng(seed))
        n_ruled_out += not compare(values, seed=seed)[2][0]
    # Expected are at most 10 of 200; 18 or more have a probability below 1 %.
    assert 0 < n_ruled_out < 18


def test_clearly_worse_candidates_are_ruled_out_and_the_leader_is_not():
    values = equal_candidates(300, 6, np.random.default_rng(1))
    values[:, 3:] -= 0.2
    difference, _, survives = compare(values)
    assert survives.tolist() == [True] * 3 + [False] * 3
    assert difference.max() == 0


def test_a_margin_rules_out_candidates_that_can_only_be_slightly_better():
    values = equal_candidates(500, 6, np.random.default_rng(0))
    assert compare(values)[2].sum() > compare(values, margin=0.05)[2].sum() == 1


def test_equal_values_survive():
    values = np.repeat(equal_candidates(100, 1, np.random.default_rng(0)), 3, axis=1)
    _, half_width, survives = compare(values)
    assert survives.all()
    assert half_width.tolist() == [0, 0, 0]


def test_one_small_difference_does_not_rule_out_a_candidate():
    values = equal_candidates(300, 4, np.random.default_rng(0))
    values[:, 3] = values[:, 2]
    values[7, 3] -= 1e-6  # the only query in which candidates 2 and 3 differ
    values[:, 2:] += 1
    difference, _, survives = compare(values)
    assert difference[3] == pytest.approx(-1e-6 / 300)
    assert survives.tolist() == [False, False, True, True]
