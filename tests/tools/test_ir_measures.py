"""Measures as objects of ir_measures and of PyTerrier."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

ir_measures = pytest.importorskip("ir_measures", reason='pip install "skgraded[peers]"')

import skgraded as sg  # noqa: E402
from skgraded import ir_measures as tool  # noqa: E402
from skgraded.measures import MEASURES  # noqa: E402

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1, "d": 3}, "q3": {"a": 1}}
RUN = {"q1": {"c": 3.0, "x": 2.0, "a": 2.0}, "q2": {"a": 2.0, "d": 1.0}, "q9": {"a": 1.0}}


def frames():
    return (
        pd.DataFrame(
            [(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()],
            columns=["query_id", "doc_id", "relevance"],
        ),
        pd.DataFrame(
            [(q, d, s) for q, docs in RUN.items() for d, s in docs.items()],
            columns=["query_id", "doc_id", "score"],
        ),
    )


def expected(measure, run=RUN, **settings):
    settings |= {"missing": "skip", "unjudged_documents": "keep"}
    rows = sg.datasets.join_run(QRELS, run, **settings)
    evaluation = sg.evaluate(
        rows.y_true, rows.y_score, qid=rows.qid, measures=measure, unjudged_documents="irrelevant"
    )
    (values,) = evaluation.per_query.values()
    return dict(zip(evaluation.query_ids.tolist(), values.tolist(), strict=True))


@pytest.mark.parametrize("name", MEASURES)
def test_each_measure_has_the_values_of_the_library(name):
    measure = getattr(tool, name)
    parsed = tool.measure(name)
    assert parsed == measure and repr(measure) == name == str(sg.measure(name))
    result = {
        metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], QRELS, RUN)
    }
    assert result == expected(name) | {"q3": 0.0}  # a query that the run lacks


TEXTS = ["ap(threshold=2)@20", "ndcg(gain='linear')@5", "P_10", "mean_ndcg"]


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_parsed_as_in_the_library(text):
    measure = tool.measure(text)
    assert repr(measure) == str(sg.measure(text))
    assert ir_measures.calc_aggregate([measure], QRELS, RUN)[measure] == pytest.approx(
        sum(expected(text).values()) / 3
    )


def test_parameters_and_cutoffs_make_new_measures():
    assert repr(tool.NDCNG @ 10) == "NDCNG@10"
    assert repr(tool.AP(threshold=2) @ 20) == "AP(threshold=2)@20"
    assert tool.NDCG(gain="linear") @ 5 == tool.measure("ndcg(gain='linear')@5")
    with pytest.raises(ValueError, match="ties must be one of"):
        tool.NDCG(ties="random")
    with pytest.raises(TypeError, match="persistence"):
        tool.NDCG(persistence=0.8)


@pytest.mark.parametrize("kind", ["frames", "tuples", "dicts"])
def test_all_forms_of_qrels_and_runs(kind):
    qrels, run = QRELS, RUN
    if kind == "frames":
        qrels, run = frames()
    elif kind == "tuples":
        qrels = [ir_measures.Qrel(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()]
        run = [ir_measures.ScoredDoc(q, d, s) for q, docs in RUN.items() for d, s in docs.items()]
    result = ir_measures.calc_aggregate([tool.MuAP, ir_measures.AP], qrels, run)
    assert result[tool.MuAP] == pytest.approx(sum(expected("mu_ap").values()) / 3)


@pytest.mark.parametrize(
    "run",
    [
        {},
        {"q1": {}},
        [],
        pd.DataFrame({"query_id": [], "doc_id": [], "score": []}),
    ],
    ids=["dict", "dict of empty dicts", "list", "frame"],
)
def test_all_queries_of_an_empty_run_have_the_value_0(run):
    metrics = list(ir_measures.iter_calc([tool.MuAP], QRELS, run))
    assert sorted(metric.query_id for metric in metrics) == ["q1", "q2", "q3"]
    assert {metric.value for metric in metrics} == {0.0}


def test_the_runtime_provider_of_ir_measures_gives_the_same_values():
    measures = [tool.MuAP, tool.NDCNG @ 10]
    assert ir_measures.runtime.calc_aggregate(measures, QRELS, RUN) == pytest.approx(
        ir_measures.calc_aggregate(measures, QRELS, RUN)
    )


@pytest.mark.parametrize(
    "rows, message",
    [
        ([("q1", "a", 1.0), ("q1", "a", 0.5)], "already contains document 'a'"),
        ([("q1", "a", 1.0), ("q1", "b", np.nan)], "NaN"),
        ([("q1", "a", 1.0), (None, "b", 0.5)], "missing in row 1"),
        ([(1, "a", 1.0)], "no query in common"),
    ],
)
def test_invalid_runs_are_refused(rows, message):
    run = [ir_measures.ScoredDoc(*row) for row in rows]
    for form in (run, pd.DataFrame(run)):
        with pytest.raises(ValueError, match=message):
            ir_measures.calc_aggregate([tool.MuAP], QRELS, form)


def test_documents_with_negative_grades_are_not_judged():
    qrels = {"q": {"a": 1, "b": 1, "c": 1, "d": -1, "e": -2, "f": 0}}
    run = {"q": {"d": 4.0, "e": 3.0, "a": 2.0}}
    ours, theirs = [tool.Bpref, tool.AP], [ir_measures.Bpref, ir_measures.AP]
    with pytest.warns(UserWarning, match="2 of 6 grades are negative"):
        result = ir_measures.calc_aggregate(ours + theirs, qrels, run)
    assert result[tool.Bpref] == pytest.approx(1 / 3) == result[ir_measures.Bpref]
    assert result[tool.AP] == pytest.approx(1 / 3 / 3) == result[ir_measures.AP]


TIED = {
    "q1": {"b": 1.0, "x": 1.0, "c": 1.0, "y": 1.0, "a": 1.0},
    "q2": {"d": 1.0, "x": 1.0, "a": 1.0},
}
DESCENDING = [  # computed by pytrec_eval
    ("AP", "ap"),
    ("AP@2", "map_cut_2"),
    ("AP(rel=2)", "ap(threshold=2)"),
    ("nDCG", "ndcg(gain='linear')"),
    ("nDCG@2", "ndcg_cut_2"),
    ("P@2", "p@2"),
    ("R(rel=2)@2", "recall(threshold=2)@2"),
    ("RR", "rr"),
    ("Rprec", "rprec"),
    ("Bpref(rel=2)", "bpref(threshold=2)"),
    ("Success@1", "success_1"),
]
ASCENDING = [("RR@3", "rr@3"), ("RR(rel=2)@3", "rr(threshold=2)@3"), ("Judged@2", "judged@2")]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of ast, in ir_measures
@pytest.mark.parametrize("name, text", DESCENDING + ASCENDING)
def test_options_that_reproduce_the_order_of_ties_in_ir_measures(name, text):
    metrics = ir_measures.iter_calc([ir_measures.parse_measure(name)], QRELS, TIED)
    values = {metric.query_id: metric.value for metric in metrics if metric.query_id in TIED}
    descends = (name, text) in DESCENDING
    ordinal = dataclasses.replace(sg.measure(text), ties="ordinal")
    by_id = {q: dict(sorted(docs.items(), reverse=descends)) for q, docs in TIED.items()}
    assert expected(ordinal, by_id) == pytest.approx(values)
    assert (expected(text, TIED, ties="trec") == pytest.approx(values)) == descends
    assert expected(text, TIED) != pytest.approx(values)  # the mean over all orders


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of ast, in ir_measures
def test_ir_measures_parses_new_names_and_still_parses_built_in_names():
    assert ir_measures.parse_measure("MuAP@10") == tool.MuAP @ 10
    assert ir_measures.parse_measure("NDCNG(gain='linear')@5") == tool.NDCNG(gain="linear") @ 5
    for name in ("nDCG@10", "NDCG@10", "AP", "RR@5", "P@10", "Judged@10"):
        assert type(ir_measures.parse_measure(name)).__module__.startswith("ir_measures.")


@pytest.mark.parametrize("batch_size", [None, 1])
def test_an_experiment_of_pyterrier(batch_size):
    pt = pytest.importorskip("pyterrier", reason='pip install "skgraded[peers]"')
    names = {"query_id": "qid", "doc_id": "docno"}
    qrels, run = (frame.rename(columns=names) for frame in frames())
    table = pt.Experiment(
        [pt.Transformer.from_df(run)],
        pd.DataFrame({"qid": ["q1", "q2"], "query": "x"}),
        qrels.rename(columns={"relevance": "label"}),
        [tool.MuAP, tool.NDCNG @ 10, "map"],
        names=["system"],
        batch_size=batch_size,
        filter_by_topics=False,
    )
    for measure in (tool.MuAP, tool.NDCNG @ 10):
        assert table[repr(measure)].item() == pytest.approx(
            sum(expected(repr(measure)).values()) / 3
        )
