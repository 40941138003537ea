"""Sorting of numbers with equal keys; the tests of measures cover all other numbers."""

import numpy as np
import pytest

import skgraded as sg
from skgraded.judgments import get_layout

N = 100_000  # large enough that a sort with quadratic time would not end
LAST_BITS = 2.0**-52


@pytest.fixture(scope="module")
def places():
    """Return integers in random order; some of them occur twice."""
    rng = np.random.default_rng(0)
    return rng.permutation(N) // rng.choice([1, 2], N, p=[0.9, 0.1])


@pytest.mark.parametrize("k", [None, 10, 1000])
@pytest.mark.filterwarnings("ignore:More than 1,000 rows are evaluated as one query")
def test_a_long_query_of_scores_that_differ_in_their_last_bits_only(places, k):
    grades = np.random.default_rng(1).integers(0, 5, N)
    measure = sg.NDCNG(k=k)
    assert measure(grades, 1 + places * LAST_BITS) == measure(grades, places)


def test_a_long_query_of_grades_that_differ_in_their_last_bits_only(places):
    layout = get_layout(sg.Judgments(1 + places * LAST_BITS))
    grades, codes = np.unique(places, return_inverse=True)
    np.testing.assert_array_equal(layout.codes, codes + 1)  # code 0 belongs to grade 0
    np.testing.assert_array_equal(layout.levels[1:], 1 + grades * LAST_BITS)


CUT_OFFS = (1, 2, 19, 20, 21, 22)  # up to 20, a sample of the scores excludes documents


@pytest.mark.parametrize("n", [127, 128, 129])  # the last index 126 is 0b1111110
def test_a_tie_at_the_cut_off_reaches_to_the_last_row_and_later_documents_do_not_count(n):
    for k in CUT_OFFS:
        scores = np.zeros(n)
        scores[: k - 1], scores[[k - 1, n - 1]] = 2, 1
        grades = np.zeros(n)
        grades[n - 1] = 1
        assert sg.Precision(k=k)(grades, scores) == pytest.approx(1 / 2 / k)
        assert sg.Precision(k=k, ties="ordinal")(grades, scores) == 0
        assert sg.RR(k=k, ties="best")(grades, scores) == 1 / k
        scores = np.random.default_rng(n + k).permutation(n)
        for place, expected in ((k, 1 / k), (k + 1, 0.0)):
            assert sg.RR(k=k)(scores == n - place, scores) == expected


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 31, 32, 33, 64, 129, 700])
def test_short_and_long_queries_are_ranked_as_by_numpy(n):
    rng = np.random.default_rng(n)
    grades, scores = rng.integers(0, 4, n), rng.normal(size=n)
    ranked = grades[np.argsort(-scores)]
    expected = np.sum((2.0**ranked - 1) / np.log2(np.arange(2, n + 2)))
    assert sg.DCG()(grades, scores) == pytest.approx(expected, rel=1e-14)
