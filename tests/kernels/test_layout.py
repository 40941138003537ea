"""Grades by level, and the sums over an ideal order: what the edges of the tables hold."""

import numpy as np
import pytest

import skgraded as sg


@pytest.mark.parametrize("top", [62, 63, 64, 65])  # whole grades below 64 are coded by a table
def test_whole_grades_about_the_end_of_their_table(top):
    judgments = sg.Judgments([0, 1, top, 2, top, 0])
    assert judgments.codes.tolist() == [0, 1, 3, 2, 3, 0]
    assert judgments.levels.tolist() == [0, 1, 2, top]
    assert judgments.counts.tolist() == [2, 1, 1, 2]


def one_more(grades):
    return grades + 1


def test_the_grade_0_gains_in_the_ideal_order_too():
    scores = [3, 2, 1]
    ideal = 2 / 1 + 1 / np.log2(3) + 1 / 2
    expected = (1 / 1 + 2 / np.log2(3) + 1 / 2) / ideal
    assert sg.NDCG(gain=one_more)([0, 1, 0], scores) == pytest.approx(expected, rel=1e-15)
    at_2 = (1 / 1 + 2 / np.log2(3)) / (2 / 1 + 1 / np.log2(3))
    assert sg.NDCG(2, gain=one_more)([0, 1, 0], scores) == pytest.approx(at_2, rel=1e-15)
    mean = (1 / 2 + at_2 + expected) / 3
    assert sg.NDCG("mean", gain=one_more)([0, 1, 0], scores) == pytest.approx(mean, rel=1e-15)


@pytest.mark.parametrize("n", [16, 17, 18])  # grades > 0; up to 16 have a counter each
def test_as_many_levels_as_there_are_counters_and_more(n):
    grades = np.arange(n + 1)
    # From the worst on: at rank p the grade p - 1, the highest so far. Of the thresholds 1..n the
    # t-th has n - t + 1 relevant documents, at the ranks t + 1..n + 1.
    expected = np.mean([
        sum((p - t) / p for p in range(t + 1, n + 2)) / (n - t + 1) for t in range(1, n + 1)
    ])
    assert sg.MuAP()(grades, -grades) == pytest.approx(expected, rel=1e-14)
    doubled = np.repeat(grades, 2)
    assert sg.MuAP()(doubled, doubled) == pytest.approx(1, rel=1e-14)
