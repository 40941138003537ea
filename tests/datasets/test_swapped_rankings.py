"""`make_swapped_rankings`: rankings that are a known number of swaps away from the ideal."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

import skgraded as sg
from skgraded.datasets import make_swapped_rankings


def mean_of(measure, grades):
    """Mean of a measure over rankings given as grades in ranked order."""
    n_rankings, n_documents = grades.shape
    scores = np.tile(-np.arange(n_documents), n_rankings)
    return measure(grades.ravel(), scores, group=[n_documents] * n_rankings)


def test_by_default_100_rankings_of_100_documents_with_10_levels():
    grades = make_swapped_rankings()
    assert grades.shape == (100, 100) and np.issubdtype(grades.dtype, np.integer)
    assert np.unique(grades).tolist() == list(range(10))


@pytest.mark.parametrize("n_levels", [2, 10, 20, 50, 100])
def test_uniform_levels_have_equally_many_documents_in_each_ranking(n_levels):
    grades = make_swapped_rankings(n_levels=n_levels, n_rankings=7, random_state=0)
    for ranking in grades:
        assert np.bincount(ranking).tolist() == [100 / n_levels] * n_levels


@pytest.mark.parametrize(("n_documents", "n_levels"), [(5, 2), (100, 7), (100, 99), (11, 10)])
def test_uniform_levels_differ_by_one_document_where_they_cannot_be_equal(n_documents, n_levels):
    counts = np.bincount(make_swapped_rankings(n_documents, n_levels, n_rankings=1)[0])
    assert len(counts) == n_levels
    assert set(counts) == {n_documents // n_levels, n_documents // n_levels + 1}


@pytest.mark.parametrize("uniform", [True, False])
def test_no_swap_leaves_the_ideal_order(uniform):
    grades = make_swapped_rankings(n_swaps=0, n_rankings=5, uniform=uniform, random_state=0)
    assert (np.diff(grades) <= 0).all()
    for measure in (sg.AP(), sg.MuAP(), sg.NDCG(k="mean"), sg.NDCNG(k="mean")):
        assert mean_of(measure, grades) == pytest.approx(1)


def test_a_swap_exchanges_two_distinct_positions():
    grades = make_swapped_rankings(6, 6, n_swaps=1, n_rankings=500, random_state=0)
    for ranking in grades:
        moved = np.flatnonzero(ranking != np.arange(6)[::-1])
        assert len(moved) == 2
        assert ranking[moved].tolist() == (5 - moved[::-1]).tolist()


def test_every_pair_of_positions_is_swapped_equally_often():
    grades = make_swapped_rankings(4, 4, n_swaps=1, n_rankings=60_000, random_state=0)
    moved = Counter(tuple(np.flatnonzero(row)) for row in grades != np.arange(4)[::-1])
    assert set(moved) == set(combinations(range(4), 2))
    share = np.array(list(moved.values())) / 60_000
    np.testing.assert_allclose(share, 1 / 6, atol=5 * np.sqrt(1 / 6 * 5 / 6 / 60_000))


@pytest.mark.parametrize(("n_swaps", "order"), [(0, [1, 0]), (1, [0, 1]), (2, [1, 0]), (5, [0, 1])])
def test_swaps_follow_one_another(n_swaps, order):
    assert make_swapped_rankings(2, 2, n_swaps, n_rankings=3).tolist() == [order] * 3


def test_rankings_are_swapped_each_for_itself():
    grades = make_swapped_rankings(n_levels=100, n_swaps=3, n_rankings=200, random_state=0)
    assert len(np.unique(grades, axis=0)) == 200
    first_moved = np.argmax(grades != np.arange(100)[::-1], axis=1)
    assert len(set(first_moved)) > 20


def test_more_swaps_are_worse():
    values = [
        mean_of(sg.MuAP(), make_swapped_rankings(n_swaps=n_swaps, random_state=0))
        for n_swaps in (0, 5, 20, 50, 99)
    ]
    assert (np.diff(values) < -0.03).all()


def test_many_swaps_are_a_random_order():
    grades = make_swapped_rankings(50, 5, n_swaps=500, n_rankings=4000, random_state=0)
    np.testing.assert_allclose(grades.mean(axis=0), 2, atol=5 * np.sqrt(2 / 4000))


def test_rankings_that_are_not_uniform_share_the_grades_of_one_draw():
    grades = make_swapped_rankings(n_levels=20, uniform=False, n_rankings=30, random_state=0)
    counts = np.array([np.bincount(ranking, minlength=20) for ranking in grades])
    assert counts.shape == (30, 20)
    assert (counts == counts[0]).all() and len(set(counts[0])) > 3


def test_calls_that_are_not_uniform_draw_anew():
    counts = [
        np.bincount(
            make_swapped_rankings(n_levels=20, uniform=False, random_state=seed)[0], minlength=20
        )
        for seed in range(200)
    ]
    assert len(np.unique(counts, axis=0)) == 200
    assert np.any(np.equal(counts, 0))  # unused levels
    # Every distribution equally likely: the share of a level has the mean 1/20.
    np.testing.assert_allclose(np.mean(counts, axis=0), 100 / 20, atol=5 * 5 / np.sqrt(200))


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 10)])
def test_at_least_two_levels_are_in_use(shape):
    for seed in range(50):
        grades = make_swapped_rankings(*shape, n_rankings=1, uniform=False, random_state=seed)
        assert len(np.unique(grades)) > 1


def test_more_levels_than_documents_are_fine_where_levels_may_be_unused():
    grades = make_swapped_rankings(5, 50, uniform=False, random_state=0)
    assert grades.shape == (100, 5) and 0 <= grades.min() and grades.max() < 50


def test_one_seed_gives_the_same_grades_for_any_number_of_swaps_and_rankings():
    few = make_swapped_rankings(n_swaps=0, n_rankings=1, uniform=False, random_state=3)
    many = make_swapped_rankings(n_swaps=99, n_rankings=4, uniform=False, random_state=3)
    np.testing.assert_array_equal(np.sort(few[0]), np.sort(many[3]))


@pytest.mark.parametrize("uniform", [True, False])
def test_the_seed_determines_the_rankings(uniform):
    one = make_swapped_rankings(uniform=uniform, random_state=3)
    np.testing.assert_array_equal(one, make_swapped_rankings(uniform=uniform, random_state=3))
    state = np.random.RandomState(3)
    np.testing.assert_array_equal(one, make_swapped_rankings(uniform=uniform, random_state=state))
    assert not np.array_equal(one, make_swapped_rankings(uniform=uniform, random_state=4))
    assert not np.array_equal(one, make_swapped_rankings(uniform=uniform))


@pytest.mark.parametrize("name", ["n_documents", "n_levels", "n_swaps", "n_rankings"])
@pytest.mark.parametrize("value", [-1, 2.5, np.nan, "3", None, True])
def test_bad_numbers_name_the_argument_and_the_value(name, value):
    with pytest.raises(ValueError, match=rf"{name} must be .*; got {value!r}"):
        make_swapped_rankings(**{name: value})


@pytest.mark.parametrize(("name", "value"), [("n_documents", 1), ("n_levels", 1)])
def test_one_document_or_one_level_is_not_a_ranking(name, value):
    with pytest.raises(ValueError, match=f"{name} must be at least 2; got 1"):
        make_swapped_rankings(**{name: value})


def test_uniform_levels_need_a_document_each():
    with pytest.raises(ValueError, match="n_levels must be at most n_documents = 5 .*; got 10"):
        make_swapped_rankings(5)


@pytest.mark.parametrize("value", ["no", None, 1])
def test_uniform_is_yes_or_no(value):
    with pytest.raises(TypeError, match=f"uniform must be True or False; got {value!r}"):
        make_swapped_rankings(uniform=value)


def test_bad_random_state():
    with pytest.raises(ValueError, match="'seed'"):
        make_swapped_rankings(random_state="seed")
