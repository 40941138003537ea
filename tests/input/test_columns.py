"""Columns of numbers are never rounded silently."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor
from sklearn.linear_model import Ridge

import skgraded as sg

pytestmark = pytest.mark.filterwarnings("ignore:early_stopping=True chooses:UserWarning")

BIG = 2**53


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_float32_and_float16_grades_equal_the_decimal_threshold(kind):
    for threshold in (0.1, 0.7, 5 / 6, 1 / 3, 12.34, 1000.25):
        grades = np.array([threshold, 0, threshold / 2], dtype=kind)
        for written in (threshold, kind(threshold)):
            measure = sg.AP(threshold=written)
            assert measure(grades, [2, 3, 1]) == measure(sg.Judgments(grades), [2, 3, 1]) == 1 / 2
            assert sg.NDCNG(max_grade=written)(grades, [3, 2, 1]) > 0


def test_float32_grades_give_the_values_of_their_decimals():
    grades = np.array([0.1, 0.7, 0.3, 0.0])
    for measure in (sg.MuAP(), sg.NDCG(gain="linear"), sg.NDCNG(), sg.ERR(max_grade=0.7)):
        expected = measure(grades, [1, 2, 3, 4])
        assert measure(grades.astype(np.float32), [1, 2, 3, 4]) == expected


@pytest.mark.parametrize("read", ["cross_evaluate", "score", "from_estimator", "early stopping"])
def test_every_function_reads_float32_grades_as_decimals(read):
    X, y, qid = sg.datasets.make_ranking(n_queries=20, random_state=0)
    measure = sg.AP(threshold=5 / 6)

    def values(grades):
        if read == "cross_evaluate":
            ranker = sg.QueryRanker(Ridge())
            return sg.cross_evaluate(ranker, X, grades, qid=qid, measures=measure).mean()
        if read == "score":
            ranker = sg.QueryRanker(Ridge(), measure=measure).fit(X, grades, qid=qid)
            return {"score": ranker.score(X, grades, qid=qid)}
        if read == "from_estimator":
            axes = pytest.importorskip("matplotlib.figure").Figure().subplots()
            return dict(
                enumerate(
                    sg.ThresholdCurveDisplay.from_estimator(
                        Ridge().fit(X, y), X, grades, qid=qid, ax=axes
                    ).mu_ap
                )
            )
        booster = LGBMRegressor(n_estimators=3, n_jobs=1, verbose=-1)
        ranker = sg.QueryRanker(booster, early_stopping=True, measure=measure, random_state=0)
        history = ranker.fit(X, grades, qid=qid).evals_result_["validation"]
        return dict(enumerate(history[measure.name]))

    result, expected = values((y * 5 / 24).astype(np.float32)), values(y * 5 / 24)
    assert result == pytest.approx(expected, rel=1e-7)
    assert max(result.values()) > 0


@pytest.mark.parametrize(
    "scores",
    [
        np.array([BIG, BIG + 1, BIG + 2]),
        np.array([-BIG - 2, -BIG - 1, -BIG]),
        np.array([2**64 - 3, 2**64 - 2, 2**64 - 1], dtype=np.uint64),
        [BIG, BIG + 1, BIG + 2],
        pd.Series([BIG, BIG + 1, BIG + 2]),
        pd.Series(np.array([1, 2, 3]) + 1_700_000_000_000_000_000),  # times in nanoseconds
    ],
    ids=str,
)
def test_scores_that_float64_would_round_are_ranked_exactly(scores):
    assert sg.RR()([0, 1, 0], scores) == 1 / 2
    assert sg.RR()([0, 0, 1], scores) == 1
    assert sg.RR()([1, 0, 0], scores) == 1 / 3
