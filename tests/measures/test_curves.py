"""Arrays that the curve functions return; the tests of displays check the drawings."""

import numpy as np
import pytest
from queries import random_queries

import skgraded as sg
from skgraded.measures import cutoff_curve, threshold_curve

QUERIES = random_queries(seed=5, n_queries=20, sizes=(1, 9), grades=(0, 0, 1, 2, 4))
y_true, y_score, qid = QUERIES.y_true, QUERIES.y_score, QUERIES.qid


@pytest.mark.parametrize("undefined", [0.0, 1.0])
def test_the_area_under_the_threshold_curve_is_mu_map(undefined):
    t, values = threshold_curve(y_true, y_score, qid=qid, undefined=undefined)
    mu_map = sg.MuAP(undefined=undefined)(y_true, y_score, qid=qid)
    assert np.diff(t, prepend=0) @ values == pytest.approx(mu_map, abs=1e-12)


@pytest.mark.parametrize("undefined", [0.0, 1.0, np.nan])
def test_each_height_of_a_threshold_curve_is_the_weighted_mean_of_ap(undefined):
    weights = np.random.default_rng(0).choice([0.5, 1, 7], 20)
    judgments = sg.Judgments(y_true, qid=qid, sample_weight=weights[qid])
    t, heights = threshold_curve(judgments, y_score, undefined=undefined, relative=False)
    assert t.tolist() == [1, 2, 4]
    expected = [sg.AP(threshold=at, undefined=undefined)(judgments, y_score) for at in t]
    np.testing.assert_allclose(heights, expected, rtol=0, atol=1e-12)
    # On the relative axis, grades are divided by the top grade of their query.
    t, heights = threshold_curve(judgments, y_score, undefined=undefined)
    for at, height in zip(t, heights, strict=True):
        values = [
            sg.AP(undefined=undefined)(np.array(grades) / (max(grades) or 1) >= at, scores)
            for grades, scores in QUERIES.parts
        ]
        known = ~np.isnan(values)
        mean = np.average(np.array(values)[known], weights=judgments.weights[known])
        assert height == pytest.approx(mean, abs=1e-12)


def test_each_value_of_the_curve_equals_the_measure_with_this_cut_off():
    curve = cutoff_curve(
        y_true,
        y_score,
        qid=qid,
        measures=["mu_map", "err"],
        cutoffs=[1, 4],
        ties="worst",
    )
    assert curve.cutoffs.tolist() == [1, 4] and curve.values.shape == (2, 2)
    for row, cls in zip(curve.values, (sg.MuAP, sg.ERR), strict=True):
        for k, value in zip((1, 4), row, strict=True):
            measure = cls(k=k, ties="worst")
            assert value == measure(y_true, y_score, qid=qid)


def test_a_curve_over_the_cut_off_ends_at_100_or_at_the_largest_query():
    for n, last in ((3, 3), (100, 100), (150, 100)):
        result = cutoff_curve(np.arange(n), np.arange(n), measures="ndcg")
        assert result.cutoffs.tolist() == list(range(1, last + 1))


@pytest.mark.parametrize("top", [0.5, 1, 2])
def test_a_curve_over_a_single_threshold(top):
    result = threshold_curve([top, 0], [1, 2], relative=False)
    assert (result.thresholds.tolist(), result.average_precision.tolist()) == ([top], [0.5])


@pytest.mark.parametrize("undefined", [0.0, 1.0, np.nan])
def test_without_a_relevant_document_the_curve_is_the_value_of_undefined_queries(undefined):
    result = threshold_curve([0, 0], [1, 2], undefined=undefined)
    assert result.thresholds.tolist() == [1.0]
    np.testing.assert_array_equal(result.average_precision, [undefined])
