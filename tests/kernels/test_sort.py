"""Numbers that the sort's keys cannot tell apart; what else it does is seen in every measure."""

import numpy as np
import pytest

import skgraded as sg

N = 100_000  # so many that a sort which began again at every tie would not end
LAST_BITS = 2.0**-52


@pytest.fixture(scope="module")
def places():
    """Whole numbers in no order, a tenth of them equal to another."""
    rng = np.random.default_rng(0)
    return rng.permutation(N) // rng.choice([1, 2], N, p=[0.9, 0.1])


@pytest.mark.parametrize("k", [None, 10, 1000])
def test_a_long_query_of_scores_that_differ_in_their_last_bits_only(places, k):
    grades = np.random.default_rng(1).integers(0, 5, N)
    measure = sg.NDCNG(k=k)
    assert measure(grades, 1 + places * LAST_BITS) == measure(grades, places)


def test_a_long_query_of_grades_that_differ_in_their_last_bits_only(places):
    judgments = sg.Judgments(1 + places * LAST_BITS)
    grades, codes = np.unique(places, return_inverse=True)
    np.testing.assert_array_equal(judgments.codes, codes + 1)  # 0 is of the grade 0
    np.testing.assert_array_equal(judgments.levels[1:], 1 + grades * LAST_BITS)


@pytest.mark.parametrize("n", [127, 128, 129])  # of 127 the last position has all low bits but one
@pytest.mark.parametrize("k", [1, 2, 31, 32, 33, 34])  # from 33 on they are found in another way
def test_a_tie_at_the_cut_off_reaches_to_the_last_row(n, k):
    scores = np.zeros(n)
    scores[: k - 1], scores[[k - 1, n - 1]] = 2, 1
    grades = np.zeros(n)
    grades[n - 1] = 1
    assert sg.Precision(k=k)(grades, scores) == pytest.approx(1 / 2 / k)
    assert sg.Precision(k=k, ties="ordinal")(grades, scores) == 0
    assert sg.RR(k=k, ties="best")(grades, scores) == 1 / k


@pytest.mark.parametrize("n", [127, 128, 129])
@pytest.mark.parametrize("k", [1, 2, 31, 32, 33, 34])
def test_the_document_after_the_cut_off_does_not_count(n, k):
    scores = np.random.default_rng(n + k).permutation(n)
    grades = np.zeros(n)
    for place, expected in ((k, 1 / k), (k + 1, 0.0)):
        grades[:] = scores == n - place
        assert sg.RR(k=k)(grades, scores) == expected
