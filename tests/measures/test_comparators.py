"""GAP, ERR, nERR and Q-measure against published values and other implementations."""

import numpy as np
import pandas as pd
import pytest
from peers import peer
from queries import random_queries

import skgraded as sg

QUERIES = random_queries(seed=3, n_queries=40, sizes=(1, 30), grades=(0, 0, 1, 2, 3, 4))


# GAP, ERR and ERR@10 of trec_eval's example run, with 6 decimals, as computed by session_eval.pl,
# the evaluation script of TREC's 2011 Session track by E. Kanoulas, one of GAP's authors. Grades
# above 3 were replaced by 3: the script's GAP has three equally probable thresholds, and its ERR
# has g_max = 3.
SESSION_TRACK = {
    "301": (0.031252, 0.062889, 0.036458),
    "302": (0.417454, 0.933487, 0.933487),
    "303": (0.082258, 0.034088, 0.000000),
}


def trec_example(data_dir):
    folder = data_dir / "trec-eval"
    qrels = pd.read_csv(
        folder / "qrels.rel_level", sep=r"\s+", names=["query", "_", "document", "grade"]
    )
    run = pd.read_csv(
        folder / "results.test",
        sep=r"\s+",
        names=["query", "_", "document", "rank", "score", "name"],
    )
    both = qrels.merge(run, how="outer", on=["query", "document"])
    both = both.sort_values("document", ascending=False, kind="stable")  # trec_eval's tie order
    both["grade"] = both["grade"].fillna(0).clip(0, 3)
    both["score"] = both["score"].fillna(-np.inf)
    return both


@pytest.mark.parametrize(
    ("column", "measure"),
    [
        (0, sg.GAP(ties="ordinal")),
        (1, sg.ERR(ties="ordinal", max_grade=3)),
        (2, sg.ERR(k=10, ties="ordinal", max_grade=3)),
    ],
    ids=str,
)
def test_gap_and_err_equal_the_values_printed_by_the_session_track(data_dir, column, measure):
    rows = trec_example(data_dir)
    judgments = sg.Judgments(rows["grade"], qid=rows["query"].astype(str))
    values = measure.per_query(judgments, rows["score"])
    by_query = dict(zip(judgments.query_ids.tolist(), values, strict=True))
    for query, printed in SESSION_TRACK.items():
        assert by_query[query] == pytest.approx(printed[column], abs=5.1e-7)


def test_err_of_tiny_probabilities_keeps_its_digits():
    # Σ over both orders of two tied documents, R of 2^-60 and 2^-60 / 2^10 or so
    grades = [1, 10]
    low, high = ((2.0**g - 1) / 2.0**60 for g in grades)
    expected = ((low + (1 - low) * high / 2) + (high + (1 - high) * low / 2)) / 2
    assert sg.ERR(max_grade=60)(grades, [1, 1]) == pytest.approx(expected, rel=1e-12)


def test_err_of_grades_whose_powers_of_two_overflow():
    # (2^g - 1) / 2^2000 is 2^-1 and 1
    expected = 1 / 2 + (1 - 1 / 2) * 1 / 2
    assert sg.ERR()([1999, 2000], [2, 1]) == pytest.approx(expected, rel=1e-12)


# NTCIREVAL in the Python version of M. P. Kato ----------------------------------------------------

GRADES = [1, 2, 3, 4]


@pytest.fixture(scope="module")
def ntcireval():
    return peer("pyNTCIREVAL.metrics")


def assert_equal_to(make_metric, measure):
    """Compare with a metric made from each query's numbers of documents per grade.

    Tied documents are in row order; documents that were not retrieved are left out.
    """
    for grades, scores in QUERIES.parts:
        numbers = np.bincount(np.array(grades, dtype=int), minlength=5).tolist()
        if sum(numbers[1:]):
            order = np.argsort(-np.array(scores), kind="stable")
            ranked = [(row, int(grades[row])) for row in order if scores[row] > -np.inf]
            expected = make_metric(numbers).compute(ranked)
            assert measure(grades, scores) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("k", [None, 1, 3, 10])
def test_q_measure_equals_ntcireval(ntcireval, k):
    for beta in (0, 1, 10):
        measure = sg.QMeasure(k=k, beta=beta, ties="ordinal")
        assert_equal_to(
            lambda numbers, beta=beta: ntcireval.QMeasure(numbers, GRADES, beta, k),
            measure,
        )


@pytest.mark.parametrize("k", [1, 3, 10, 100])
def test_nerr_equals_ntcireval(ntcireval, k):
    # Its stop probability is gain / (top gain + 1), which equals the paper's for gains 2^g - 1.
    gains = [2**grade - 1 for grade in GRADES]
    measure = sg.NERR(k=k, max_grade=4, ties="ordinal")
    assert_equal_to(lambda numbers: ntcireval.nERR(numbers, gains, k), measure)
