"""Values in the papers and in scikit-learn, and grades near the limits of floats."""

from math import log2, nan

import numpy as np
import pytest

import skgraded as sg

# Scheel, Lommatzsch, Albayrak 2011, tables 1 and 2: the grades from the first rank to the last.
GRADES = np.array([1, 0, 3, 3, 2, 0, 1, 4])
SCORES = -np.arange(8)


def test_average_precision_equals_table_1():
    result = {t: sg.AP(threshold=t)(GRADES, SCORES) for t in range(6)}
    printed = {5: 0, 4: 0.125, 3: 0.403, 2: 0.483, 1: 0.780, 0: 1}
    assert {t: round(value, 3) for t, value in result.items()} == printed
    assert result[3] == pytest.approx((1 / 3 + 2 / 4 + 3 / 8) / 3)
    at_1 = (1 / 1 + 2 / 3 + 3 / 4 + 4 / 5 + 5 / 7 + 6 / 8) / 6
    assert result[1] == sg.AP()(GRADES, SCORES) == pytest.approx(at_1)
    mu_ap = sg.MuAP()(GRADES, SCORES)
    assert mu_ap == pytest.approx(sum(result[t] for t in (1, 2, 3, 4)) / 4, rel=1e-14)
    assert mu_ap == pytest.approx(0.447817, abs=1e-6)


@pytest.mark.parametrize(
    ("measure", "grades", "printed", "mean"),
    [
        (sg.NDCG, GRADES, [0.07, 0.05, 0.20, 0.31, 0.35, 0.35, 0.36, 0.55], 0.28),
        (sg.NDCG, 2 * GRADES, [0.01, 0.01, 0.11, 0.19, 0.20, 0.20, 0.20, 0.44], 0.17),
        (sg.NDCNG, GRADES, [0.19, 0.13, 0.30, 0.42, 0.49, 0.47, 0.50, 0.65], 0.39),
        (sg.NDCNG, 2 * GRADES, [0.19, 0.13, 0.30, 0.42, 0.49, 0.47, 0.50, 0.65], 0.39),
    ],
    ids=["gain equals rel", "gain equals 2 rel", "normalized gain", "normalized, doubled"],
)
def test_ndcg_and_ndcng_equal_table_2(measure, grades, printed, mean):
    values = [measure(k=k)(grades, SCORES) for k in range(1, 9)]
    assert np.round(values, 2).tolist() == printed
    assert round(measure(k="mean")(grades, SCORES), 2) == mean
    assert measure(k="mean")(grades, SCORES) == pytest.approx(sum(values) / 8, rel=1e-14)


def test_only_equal_scores_are_tied():
    # Wheels are tested only with this file and the tests of kernels, on other processors too.
    assert sg.RR()([1, 0], [-0.0, 0.0]) == sg.RR()([1, 0], [0.0, -0.0]) == 3 / 4
    for low, high in ((-5e-324, -0.0), (0.0, 5e-324), (1.0, 1 + 2.0**-52), (1.0, 1 + 1e-8)):
        assert sg.RR()([1, 0], [low, high]) == 1 / 2
        assert sg.RR()([1, 0], [high, low]) == 1


def test_the_mean_is_nan_if_no_query_with_positive_weight_is_defined():
    measure, arguments = sg.NDCG(undefined=nan), {"qid": [1, 2], "sample_weight": [1, 0]}
    assert np.isnan(measure([0, 0], [1, 2])) and np.isnan(measure([0, 1], [1, 2], **arguments))
    assert measure([1, 0], [1, 2], **arguments) == 1


@pytest.mark.parametrize("top", [1024, 5000, 1e6, 1e15])
def test_exponential_gains_of_large_grades(top):
    # 2^top overflows, but the ratio of 2^(top-1) to it is 1/2.
    dcg = 1 / 2 / log2(2) + 1 / log2(3)
    ideal = 1 / log2(2) + 1 / 2 / log2(3)
    assert sg.NDCG()([top - 1, top], [2, 1]) == pytest.approx(dcg / ideal, rel=1e-9)
