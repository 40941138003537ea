"""Measures equal those of trec_eval, ir_measures and ranx for runs without ties."""

import numpy as np
import pytest
from oracle import is_relevant

import skgraded as sg
from skgraded.datasets import join_run

TREC_EVAL = {
    "map": sg.AP(), "recip_rank": sg.RR(), "P_5": sg.Precision(5), "recall_5": sg.Recall(5),
    "success_5": sg.Success(5), "Rprec": sg.RPrecision(), "bpref": sg.Bpref(),
    "ndcg": sg.NDCG(gain="linear"), "ndcg_cut_5": sg.NDCG(5, gain="linear"),
    "set_P": sg.SetPrecision(), "set_recall": sg.SetRecall(), "set_F": sg.SetF(),
    **{
        f"iprec_at_recall_{level:.2f}": sg.InterpolatedPrecision(level)
        for level in (0.0, 0.1, 0.3, 0.5, 1.0)
    },
}
IR_MEASURES = {
    "AP": sg.AP(), "AP(rel=2)": sg.AP(threshold=2), "RR": sg.RR(), "P@5": sg.Precision(5),
    "R@5": sg.Recall(5), "Success@5": sg.Success(5), "Success(rel=2)@3": sg.Success(3, threshold=2),
    "Rprec": sg.RPrecision(), "Rprec(rel=2)": sg.RPrecision(threshold=2), "Bpref": sg.Bpref(),
    "Bpref(rel=2)": sg.Bpref(threshold=2), "nDCG": sg.NDCG(gain="linear"),
    "nDCG@5": sg.NDCG(5, gain="linear"), "IPrec@0.1": sg.InterpolatedPrecision(0.1),
    "IPrec@1.0": sg.InterpolatedPrecision(1.0), "SetP": sg.SetPrecision(),
    "SetP(rel=2)": sg.SetPrecision(threshold=2), "SetR": sg.SetRecall(), "SetF": sg.SetF(),
    "Judged@5": sg.Judged(5), "Judged@30": sg.Judged(30), "Compat(p=0.95)": sg.Compat(),
    "Compat(p=0.8)": sg.Compat(0.8),
}
RANX = {  # each of its functions takes seconds to compile, so that this has no measure twice
    "hit_rate@5": sg.Success(5), "r-precision": sg.RPrecision(), "f1": sg.SetF(),
    "dcg@5": sg.DCG(5, gain="linear"), "dcg_burges@5": sg.DCG(5),
}
ACCEPT_UNJUDGED = (sg.Bpref, sg.Judged)


@pytest.fixture(scope="module")
def data():
    """Qrels and a run of 60 queries as dicts, and their joined columns."""
    rng = np.random.default_rng(0)
    qrels, run = {}, {}
    for query in range(60):
        documents = [f"d{i}" for i in range(rng.integers(2, 25))]
        grades = rng.choice([0, 0, 1, 2, 3], len(documents))
        grades[0] = 2  # ranx and trec_eval differ on queries without a relevant document
        retrieved = rng.choice(
            documents + [f"unjudged{i}" for i in range(8)],
            rng.integers(1, len(documents) + 8), replace=False,
        )
        scores = rng.permutation(len(retrieved)) + 1.0  # ir_measures gives missing documents 0
        qrels[f"q{query}"] = dict(zip(documents, grades.tolist(), strict=True))
        run[f"q{query}"] = dict(zip(retrieved.tolist(), scores.tolist(), strict=True))
    return qrels, run, joined(qrels, run)


def joined(qrels, run):
    """Grades, with nan for unjudged documents, scores and queries of all documents."""
    rows = [
        (qrels[query].get(document, np.nan), run[query].get(document, -np.inf), query)
        for query in qrels
        for document in qrels[query] | run[query]
    ]
    grades, scores, queries = zip(*rows, strict=True)
    return np.array(grades), np.array(scores), list(queries)


def values_of(measure, data):
    grades, scores, queries = data[2]
    if not isinstance(measure, ACCEPT_UNJUDGED):
        grades = np.nan_to_num(grades)
    return dict(zip(data[0], measure.per_query(grades, scores, qid=queries), strict=True))


def assert_equal(measure, data, expected):
    values = values_of(measure, data)
    assert set(expected) == set(values)
    for query, value in expected.items():
        assert values[query] == pytest.approx(value, rel=1e-9, abs=1e-12), (measure, query)


def test_trec_eval(data):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason='pip install "skgraded[peers]"')
    evaluator = pytrec_eval.RelevanceEvaluator(data[0], pytrec_eval.supported_measures)
    results = evaluator.evaluate(data[1])
    for name, measure in TREC_EVAL.items():
        assert_equal(measure, data, {query: row[name] for query, row in results.items()})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # within ir_measures
def test_ir_measures(data):
    ir_measures = pytest.importorskip("ir_measures", reason='pip install "skgraded[peers]"')
    for text, measure in IR_MEASURES.items():
        rows = ir_measures.iter_calc([ir_measures.parse_measure(text)], data[0], data[1])
        assert_equal(measure, data, {row.query_id: row.value for row in rows})


@pytest.mark.filterwarnings("ignore:unsafe cast")  # numba's, about ranx
def test_ranx(data):
    ranx = pytest.importorskip("ranx", reason='pip install "skgraded[peers]"')
    run = ranx.Run(data[1])
    ranx.evaluate(ranx.Qrels(data[0]), run, list(RANX), make_comparable=True)
    for name, measure in RANX.items():
        assert_equal(measure, data, run.scores[name])


def test_the_random_queries_hold_the_hard_cases(data):
    grades, scores, _ = data[2]
    assert np.isnan(grades).sum() > 100 and np.isinf(scores).sum() > 100
    assert 0 < is_relevant(np.nan_to_num(grades), 2).sum() < is_relevant(grades, None).sum()
    assert len(join_run(*data[:2]).y_true) == len(grades)
