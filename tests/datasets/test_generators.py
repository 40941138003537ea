"""Generated problems, and rankings that differ from the ideal ranking by random swaps."""

from collections import Counter
from functools import partial
from itertools import combinations

import lightgbm as lgb
import numpy as np
import pytest

import skgraded as sg
from skgraded.datasets import make_ranking, make_swapped_rankings

# Ranking problems ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"n_levels": 2, "random_state": 1},
        {"n_documents": 10, "n_features": 3},
    ],
    ids=str,
)
def test_a_default_ranker_learns_the_problem_imperfectly(parameters):
    X, y, qid = make_ranking(n_queries=100, **{"random_state": 0, **parameters})
    ranker = sg.QueryRanker(lgb.LGBMRanker(verbose=-1, n_jobs=1))
    learned = sg.cross_evaluate(ranker, X, y, qid=qid, measures="ndcng@5", cv=3).mean()["NDCNG@5"]
    constant = sg.NDCNG(k=5)(y, np.zeros(len(y)), qid=qid)
    assert constant + 0.1 < learned < min(constant + 0.35, 0.95)


def test_types_and_shapes():
    X, y, qid = make_ranking(n_queries=30, n_features=4, random_state=0)
    assert X.dtype == np.float64 and np.isfinite(X).all()
    assert np.issubdtype(y.dtype, np.integer) and np.issubdtype(qid.dtype, np.integer)
    assert X.shape == (len(y), 4) and y.shape == qid.shape
    # The rows of a query are contiguous, and every query has rows.
    assert (np.diff(qid) >= 0).all() and np.unique(qid).tolist() == list(range(30))


def test_sizes_vary_around_n_documents():
    for n_documents in (2, 3, 20, 121):
        sizes = np.bincount(make_ranking(2000, n_documents, 1, random_state=0)[2])
        half = n_documents // 2
        assert sizes.min() == n_documents - half and sizes.max() == n_documents + half
        assert abs(sizes.mean() / n_documents - 1) < 0.05
    assert np.bincount(make_ranking(5, 1, random_state=0)[2]).tolist() == [1] * 5


def test_generated_queries_exceed_10000_rows_only_on_request():
    for n_documents in (8_000, 9_999, 10_000):
        sizes = np.bincount(make_ranking(40, n_documents, 1, random_state=0)[2])
        assert n_documents <= sizes.max() <= 10_000
    sizes = np.bincount(make_ranking(3, 12_000, 1, random_state=0)[2])
    assert (np.abs(sizes - 12_000) <= 6_000).all() and len(set(sizes)) == 3


@pytest.mark.parametrize("n_levels", [2, 3, 5, 10, 31])
def test_higher_grades_are_rarer(n_levels):
    y = make_ranking(3000, n_features=2, n_levels=n_levels, random_state=0)[1]
    counts = np.bincount(y)
    assert len(counts) == n_levels and counts[-1] > 0
    assert (np.diff(counts) < 0).all()


# Swapped rankings ---------------------------------------------------------------------------------


def test_by_default_100_rankings_of_100_documents_with_10_levels():
    grades = make_swapped_rankings()
    assert grades.shape == (100, 100) and np.issubdtype(grades.dtype, np.integer)
    assert np.unique(grades).tolist() == list(range(10))
    for uniform in (True, False):  # Without swaps, the order is ideal.
        grades = make_swapped_rankings(n_swaps=0, n_rankings=5, uniform=uniform, random_state=0)
        assert (np.diff(grades) <= 0).all()


def test_sizes_of_uniform_levels_differ_by_at_most_one():
    for n_levels in (2, 10, 20, 50, 100):
        for ranking in make_swapped_rankings(n_levels=n_levels, n_rankings=7, random_state=0):
            assert np.bincount(ranking).tolist() == [100 / n_levels] * n_levels
    for n_documents, n_levels in ((5, 2), (100, 7), (100, 99), (11, 10)):
        counts = np.bincount(make_swapped_rankings(n_documents, n_levels, n_rankings=1)[0])
        assert len(counts) == n_levels and set(counts) == {
            n_documents // n_levels,
            n_documents // n_levels + 1,
        }


def test_a_swap_exchanges_any_two_positions_equally_often():
    grades = make_swapped_rankings(4, 4, n_swaps=1, n_rankings=20_000, random_state=0)
    moved = Counter(tuple(np.flatnonzero(row)) for row in grades != np.arange(4)[::-1])
    assert set(moved) == set(combinations(range(4), 2))
    share = np.array(list(moved.values())) / 20_000
    np.testing.assert_allclose(share, 1 / 6, atol=5 * np.sqrt(1 / 6 * 5 / 6 / 20_000))


def test_swaps_are_applied_one_after_another():
    for n_swaps, order in ((0, [1, 0]), (1, [0, 1]), (2, [1, 0]), (5, [0, 1])):
        assert make_swapped_rankings(2, 2, n_swaps, n_rankings=3).tolist() == [order] * 3


def test_more_swaps_lower_the_value():
    scores, values = np.tile(-np.arange(100), 100), []
    for n_swaps in (0, 5, 20, 50, 99):
        grades = make_swapped_rankings(n_swaps=n_swaps, random_state=0)
        values.append(sg.MuAP()(grades.ravel(), scores, group=[100] * 100))
    assert (np.diff(values) < -0.03).all()


def test_nonuniform_rankings_have_at_least_two_grade_levels():
    for shape in ((2, 2), (3, 2), (2, 10)):
        for seed in range(50):
            grades = make_swapped_rankings(*shape, n_rankings=1, uniform=False, random_state=seed)
            assert len(np.unique(grades)) > 1
    grades = make_swapped_rankings(5, 50, uniform=False, random_state=0)
    assert grades.shape == (100, 5) and 0 <= grades.min() and grades.max() < 50


def test_one_seed_gives_the_same_grades_for_any_number_of_swaps_and_rankings():
    few = make_swapped_rankings(n_swaps=0, n_rankings=1, uniform=False, random_state=3)
    many = make_swapped_rankings(n_swaps=99, n_rankings=4, uniform=False, random_state=3)
    np.testing.assert_array_equal(np.sort(few[0]), np.sort(many[3]))


# Both ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        make_ranking,
        make_swapped_rankings,
        partial(make_swapped_rankings, uniform=False),
    ],
    ids=["ranking", "swapped", "swapped, not uniform"],
)
def test_the_seed_determines_the_data(make):
    def drawn(seed=None):
        data = make(random_state=seed)
        return data if isinstance(data, tuple) else (data,)

    for again in (3, np.random.RandomState(3)):
        for first, second in zip(drawn(3), drawn(again), strict=True):
            np.testing.assert_array_equal(first, second)
    assert not np.array_equal(drawn(3)[0][:50], drawn(4)[0][:50])
    assert not np.array_equal(drawn()[0][:50], drawn()[0][:50])
