"""Gain and discount functions of users, and grades at the top of a scale."""

import numpy as np
import pytest

import skgraded as sg

GRADES, SCORES = [2, 0, 1, 3], [4, 3, 2, 1]


@pytest.mark.parametrize("measure", [sg.NDCG, sg.GAP])
def test_a_query_without_gains_is_undefined(measure):
    judgments = sg.Judgments([1, 0, 2, 0, 0, 0], qid=[1, 1, 2, 2, 3, 3])
    result = measure(gain=lambda grades: np.maximum(grades - 1, 0), undefined=np.nan)
    np.testing.assert_array_equal(result.per_query(judgments, [2, 1] * 3), [np.nan, 1, np.nan])
    assert result.n_undefined(judgments) == 2
    assert measure().n_undefined(judgments) == 1


def test_gains_may_decrease_between_queries():
    judgments = sg.Judgments([0, 4, 0, 1], qid=["a", "a", "b", "b"])
    values = sg.NDCG(gain=lambda grades: 2 * grades).per_query(judgments, [2, 1, 2, 1])
    np.testing.assert_allclose(values, 1 / np.log2(3))


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-300, 1e-250, 1e-200, 1e-17])
def test_only_the_ratios_of_tiny_grades_count(scale):
    grades = np.array([1, 0, 3, 7])
    expected = sg.NDCG(gain="linear")(grades, SCORES)
    assert sg.NDCG()(grades * scale, SCORES) == pytest.approx(expected, rel=1e-12)
    with_others = sg.Judgments(np.append(grades * scale, [1, 2]), group=[4, 2])
    values = sg.NDCG().per_query(with_others, [*SCORES, 2, 1])
    assert values[0] == pytest.approx(expected, rel=1e-12)
    assert values[1] == sg.NDCG()([1, 2], [2, 1])


def test_the_scale_of_discounts_changes_nothing():
    expected = sg.NDCG(discount=lambda ranks: 1 / ranks)(GRADES, SCORES)
    assert expected < 1
    for factor in (0.25, 4):
        scaled = sg.NDCG(discount=lambda ranks, factor=factor: factor / ranks)
        assert scaled(GRADES, SCORES) == pytest.approx(expected, rel=1e-14)
        assert scaled([0, 1], SCORES[:2]) == 1 / 2


@pytest.mark.parametrize("measure", [sg.NDCNG, sg.GeneralizedPrecision, sg.ERR, sg.NERR, sg.RBP])
@pytest.mark.parametrize("top", [0.1, 0.7])  # as 32-bit floats, 0.1 becomes larger and 0.7 smaller
def test_the_top_of_the_scale_may_be_a_32_bit_grade(measure, top):
    grades = np.array([top, 0, 0.05], dtype=np.float32)
    expected = measure(max_grade=top)([top, 0, 0.05], SCORES[:3])
    assert measure(max_grade=top)(grades, SCORES[:3]) == pytest.approx(expected, rel=1e-6)
    assert measure(max_grade=top).n_undefined(grades) == 0
    above = np.nextafter(np.nextafter(grades, np.float32(1)), np.float32(1))
    with pytest.raises(ValueError, match=rf"is {top}, but y_true contains grade {top} in row 0"):
        measure(max_grade=top)(above, SCORES[:3])


def test_a_discount_may_be_0_from_rank_2_on():
    first_alone = sg.NDCG(discount=lambda ranks: (ranks == 1) * 1.0, gain="linear")
    assert first_alone([1, 4], [2, 1]) == 1 / 4
