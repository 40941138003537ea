"""GAP, ERR, nERR, RBP, Q-measure and AUC against published values and other implementations."""

import numpy as np
import pandas as pd
import pytest
from catboost.utils import eval_metric
from queries import random_queries
from sklearn.metrics import roc_auc_score

import skgraded as sg


def peer(module):
    """Import what others wrote; the test is skipped where it is not installed."""
    return pytest.importorskip(
        module, reason=f'{module} is missing: pip install "skgraded[peers]"'
    )


@pytest.fixture(scope="module")
def queries():
    return random_queries(seed=3, n_queries=40, sizes=(1, 30), grades=(0, 0, 1, 2, 3, 4))


def test_gap_of_infer_net():
    # the example in the tests of Infer.NET's learners, Metrics.GradedAveragePrecision
    expected = (3 / 1 + (1 + 1) / 2 + (2 + 1 + 2) / 3 + (2 + 1 + 2 + 2) / 4) / (3 + 1 + 2 + 2)
    assert sg.GAP()([3, 1, 2, 2], [4, 3, 2, 1]) == pytest.approx(expected, rel=1e-14)


# What the lines for GAP and ERR of session_eval.pl give, the evaluation script of TREC's 2011
# Session track by E. Kanoulas, one of GAP's authors, run alone and printed to 6 decimals, for
# trec_eval's example run with the grades above 3 taken for 3: its GAP has three equally probable
# thresholds, its ERR has g_max = 3.
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
        folder / "results.test", sep=r"\s+",
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
def test_gap_and_err_of_the_session_track(data_dir, column, measure):
    rows = trec_example(data_dir)
    judgments = sg.Judgments(rows["grade"], qid=rows["query"].astype(str))
    values = measure.per_query(judgments, rows["score"])
    found = dict(zip(judgments.query_ids.tolist(), values, strict=True))
    for query, printed in SESSION_TRACK.items():
        assert found[query] == pytest.approx(printed[column], abs=5.1e-7)


@pytest.mark.parametrize("gain", ["linear", "exp2"])
def test_gap_is_the_papers_expectation_over_thresholds(queries, gain):
    # Robertson et al.: Σ_t P(t) · (sum of precision at relevant ranks) / Σ_t P(t) · R_t
    probability = {"linear": np.ones(4), "exp2": 2.0 ** np.arange(4)}[gain]
    for grades, scores in queries.parts:
        ranked = np.array(grades)[np.argsort(-np.array(scores), kind="stable")]
        sums = numbers = 0.0
        for t, p in zip(range(1, 5), probability, strict=True):
            relevant = ranked >= t
            precision = np.cumsum(relevant) / np.arange(1, len(ranked) + 1)
            sums += p * precision[relevant].sum()
            numbers += p * relevant.sum()
        if numbers and np.isfinite(scores).all():
            value = sg.GAP(ties="ordinal", gain=gain)(grades, scores)
            assert value == pytest.approx(sums / numbers, rel=1e-12)


@pytest.mark.parametrize("k", [None, 1, 5])
def test_err_is_catboosts(k):
    rng = np.random.default_rng(0)
    for n in (1, 2, 20):
        grades = rng.integers(0, 5, n)
        grades[0] = 4
        scores = rng.permutation(n)
        stops = (2.0**grades - 1) / 2**4
        name = "ERR" if k is None else f"ERR:top={k}"
        (expected,) = eval_metric(stops.tolist(), scores.tolist(), name, group_id=[0] * n)
        assert sg.ERR(k=k)(grades, scores) == pytest.approx(expected, abs=1e-7)  # of float32


def test_gap_refuses_a_gain_of_irrelevant_documents():
    def one_more(grades):
        return grades + 1

    with pytest.raises(ValueError, match=r"gain must return 0 for grade 0.*got array\(\[1\.\]\)"):
        sg.GAP(gain=one_more)([2, 1, 1], [3, 2, 1])


# ERR, RBP: ties and ends of the range ----------------------------------------------------------

def test_err_of_a_constant_score_and_a_constant_grade():
    n, stop = 100_000, 3 / 4
    ranks = np.arange(1, 200)
    expected = (stop * (1 - stop) ** (ranks - 1) / ranks).sum()
    assert sg.ERR()(np.full(n, 2), np.ones(n)) == pytest.approx(expected, rel=1e-12)


def test_err_of_tiny_probabilities_keeps_its_digits():
    # Σ over both orders of two tied documents, R of 2^-60 and 2^-60 / 2^10 or so
    grades = [1, 10]
    low, high = ((2.0**g - 1) / 2.0**60 for g in grades)
    expected = ((low + (1 - low) * high / 2) + (high + (1 - high) * low / 2)) / 2
    assert sg.ERR(max_grade=60)(grades, [1, 1]) == pytest.approx(expected, rel=1e-12)


def test_err_of_grades_far_above_what_a_power_of_two_holds():
    # (2^g - 1) / 2^2000 is 2^-1 and 1
    expected = 1 / 2 + (1 - 1 / 2) * 1 / 2
    assert sg.ERR()([1999, 2000], [2, 1]) == pytest.approx(expected, rel=1e-12)


# nERR and Q-measure of NTCIREVAL, in the Python version of M. P. Kato ----------------------------

GRADES = [1, 2, 3, 4]


def queries_by_ntcireval(queries, make_metric):
    """Grades and scores of each query, and its value by the metric made of its numbers of grades.

    Documents are the retrieved ones, those of equal scores in the order of rows.
    """
    for grades, scores in queries.parts:
        numbers = np.bincount(np.array(grades, dtype=int), minlength=5).tolist()
        if sum(numbers[1:]):
            order = np.argsort(-np.array(scores), kind="stable")
            ranked = [(row, int(grades[row])) for row in order if scores[row] > -np.inf]
            yield grades, scores, make_metric(numbers).compute(ranked)


@pytest.mark.parametrize("k", [None, 1, 3, 10])
@pytest.mark.parametrize("beta", [0, 1, 10])
def test_q_measure_of_ntcireval(queries, k, beta):
    metrics = peer("pyNTCIREVAL.metrics")
    ours = sg.QMeasure(k=k, beta=beta, ties="ordinal")
    for grades, scores, expected in queries_by_ntcireval(
        queries, lambda numbers: metrics.QMeasure(numbers, GRADES, beta, k)
    ):
        assert ours(grades, scores) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("k", [1, 3, 10, 100])
def test_nerr_of_ntcireval(queries, k):
    metrics = peer("pyNTCIREVAL.metrics")
    # It stops with the probability gain / (top gain + 1): for gains 2^g - 1 that of the paper.
    gains = [2**grade - 1 for grade in GRADES]
    ours = sg.NERR(k=k, max_grade=4, ties="ordinal")
    for grades, scores, expected in queries_by_ntcireval(
        queries, lambda numbers: metrics.nERR(numbers, gains, k)
    ):
        assert ours(grades, scores) == pytest.approx(expected, rel=1e-12)


# Names of trec_eval, with its own code in pytrec_eval -------------------------------------------

def test_measures_by_their_names_in_trec_eval_have_its_values_under_ties():
    pytrec_eval = peer("pytrec_eval")
    rng = np.random.default_rng(4)
    qrels, run = {}, {}
    for query in map(str, range(60)):
        judged, retrieved = (rng.permutation(30)[: rng.integers(1, 25)] for _ in range(2))
        qrels[query] = {f"d{j}": int(rng.integers(0, 4)) for j in judged}
        run[query] = {f"d{j}": float(rng.integers(4)) for j in retrieved}
    names = ["map", "recip_rank", "P_5", "P_10", "recall_5", "recall_10", "ndcg_cut_5",
             "ndcg_cut_10", "ndcg_cut_100"]
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {*names, "ndcg"}).evaluate(run)
    rows = sg.datasets.join_run(qrels, run, ties="trec")
    ours = sg.evaluate(
        rows.y_true, rows.y_score, qid=rows.qid, measures=[*names, "ndcg(gain='linear')"]
    )
    assert ours.query_ids.tolist() == list(theirs) == list(qrels)
    for name, values in zip([*names, "ndcg"], ours.per_query.values(), strict=True):
        expected = [theirs[query][name] for query in qrels]
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("kind, measure", [("Ranking", sg.PairAccuracy()), ("Classic", sg.AUC())])
def test_pair_accuracy_and_auc_are_catboosts(kind, measure):
    queries = random_queries(9, 60, sizes=(8, 40), grades=(0, 0, 1, 2, 3, 4), scores=(0, 1, 2, 3.5))
    order = np.argsort(queries.qid, kind="stable")
    grades, scores, qid = queries.y_true[order], queries.y_score[order], queries.qid[order]
    if kind == "Classic":
        grades = (grades > 0).astype(float)  # CatBoost accepts no other grades here
    assert measure.n_undefined(grades, qid=qid) == 0
    (expected,) = eval_metric(grades, scores, f"QueryAUC:type={kind}", group_id=qid)
    assert measure(grades, scores, qid=qid) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("threshold", [None, 1, 2, 4])
def test_auc_is_scikit_learns_for_each_query(threshold):
    scores = (-np.inf, -np.inf, -1.0, 0.0, 0.5, 2.0)
    queries = random_queries(8, 80, sizes=(2, 40), grades=(0, 0, 1, 2, 3, 4), scores=scores)
    values = sg.AUC(threshold, undefined=np.nan).per_query(
        queries.y_true, queries.y_score, qid=queries.qid
    )
    for value, (grades, part) in zip(values, queries.parts, strict=True):
        relevant = np.array(grades) >= (threshold or 1)
        if relevant.all() or not relevant.any():
            assert np.isnan(value)
        else:
            last = np.maximum(part, -10)  # scikit-learn refuses -inf
            assert value == pytest.approx(roc_auc_score(relevant, last), abs=1e-14)
    assert (~np.isnan(values)).sum() > 50
