"""Dropping of candidates in a race over queries."""

import numpy as np
import pytest

from skgraded.stats.racing import FEWEST_QUERIES, Race


def race(values, n_folds=5, level=0.95, margin=0.0, seed=0):
    """Return the survivors of a race over equal folds, and the last look."""
    remaining = np.arange(values.shape[1])
    state = Race(len(remaining), level, margin, np.random.default_rng(seed))
    for fold in range(1, n_folds + 1):
        seen = slice(0, fold * len(values) // n_folds)
        look = state.look(values[seen][:, remaining], fold / n_folds)
        state.keep(~look.is_dropped)
        remaining = remaining[~look.is_dropped]
    return remaining, look


def equal_candidates(n_queries, n_candidates, rng):
    return rng.normal(0.5, 0.3, (n_queries, 1)) + rng.normal(0, 0.1, (n_queries, n_candidates))


def test_the_best_of_equal_candidates_is_dropped_at_most_as_often_as_the_level_allows():
    n, n_dropped = 200, 0
    for seed in range(n):
        values = equal_candidates(150, 8, np.random.default_rng(seed))
        remaining, _ = race(values, seed=seed)
        n_dropped += 0 not in remaining
    # Expected are at most 10 of 200; 18 or more have a probability below 1 %.
    assert 0 < n_dropped < 18


def test_clearly_worse_candidates_are_dropped_and_the_leader_is_not():
    values = equal_candidates(300, 6, np.random.default_rng(1))
    values[:, 3:] -= 0.2
    remaining, look = race(values)
    assert remaining.tolist() == [0, 1, 2]
    assert look.difference.max() == 0
    assert not look.is_dropped.any()


def test_a_margin_drops_candidates_that_can_only_be_slightly_better():
    values = equal_candidates(500, 6, np.random.default_rng(0))
    assert len(race(values)[0]) > len(race(values, margin=0.05)[0]) == 1


def test_equal_values_stay_in_the_race():
    values = np.repeat(equal_candidates(100, 1, np.random.default_rng(0)), 3, axis=1)
    remaining, look = race(values)
    assert remaining.tolist() == [0, 1, 2]
    assert look.half_width.tolist() == [0, 0, 0]


def test_nothing_is_dropped_after_a_few_queries():
    values = np.array([[1.0, 0.0]] * (FEWEST_QUERIES - 1))
    state = Race(2, 0.95, 0.0, np.random.default_rng(0))
    look = state.look(values, 0.5)
    assert not look.is_dropped.any()


def test_one_small_difference_does_not_drop_a_candidate():
    values = equal_candidates(300, 4, np.random.default_rng(0))
    values[:, 3] = values[:, 2]
    values[7, 3] -= 1e-6  # the only query in which candidates 2 and 3 differ
    values[:, 2:] += 1
    look = Race(4, 0.95, 0.0, np.random.default_rng(0)).look(values, 1.0)
    assert look.difference[3] == pytest.approx(-1e-6 / 300)
    assert look.is_dropped.tolist() == [True, True, False, False]
