"""Qrels and runs in the data structures of other tools give the rows of the same columns."""

import json
import math
import os
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from peers import peer

import skgraded as sg
from skgraded.datasets import entries, join_run

pytestmark = pytest.mark.filterwarnings("ignore:.*judged queries are missing from the run")
QRELS = {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}, "q3": {"c": 3}}
RUN = {"q2": {"x": 1.5, "a": 0.5}, "q1": {"b": 7.0, "y": 2.0}}
NOT_RETRIEVED = -math.inf
ROWS = [
    ("q1", "b", 0, 7.0),
    ("q1", "y", 0, 2.0),
    ("q1", "a", 2, NOT_RETRIEVED),
    ("q2", "x", 0, 1.5),
    ("q2", "a", 1, 0.5),
]

Qrel = namedtuple("Qrel", "query_id doc_id relevance iteration", defaults=["0"])
ScoredDoc = namedtuple("ScoredDoc", "query_id doc_id score")


def rows(joined):
    names = ("qid", "doc_id", "y_true", "y_score")
    return list(zip(*(joined[name].tolist() for name in names), strict=True))


def triples(by_query):
    return [(query, *pair) for query, numbers in by_query.items() for pair in numbers.items()]


def table(by_query, names):
    return dict(zip(names, map(list, zip(*triples(by_query), strict=True)), strict=True))


QRELS_FORMS = {
    "dicts": QRELS,
    "tuples": [Qrel(*row) for row in triples(QRELS)],
    "iterator": (Qrel(*row) for row in triples(QRELS)),  # is read once
    "PyTerrier": pd.DataFrame(table(QRELS, ["qid", "docno", "label"])),
    "ir_measures": pd.DataFrame(table(QRELS, ["query_id", "doc_id", "relevance"])),
    "BEIR": pd.DataFrame(table(QRELS, ["query-id", "corpus-id", "score"])),
    "Quepid": pd.DataFrame(table(QRELS, ["query", "docid", "rating"])),
    "rows": [dict(zip(["q_id", "doc-id", "rel"], row, strict=True)) for row in triples(QRELS)],
    "lists": table(QRELS, ["q_id", "docno", "grade"]),
}
RUN_FORMS = {
    "dicts": RUN,
    "tuples": [ScoredDoc(*row) for row in triples(RUN)],
    "PyTerrier": pd.DataFrame(
        table(RUN, ["qid", "docno", "score"])
        | {"query": ["text of the topic"] * 4, "rank": [0, 1, 0, 1]}
    ),
    "rows": [
        dict(zip(["query-id", "corpus-id", "score"], row, strict=True)) for row in triples(RUN)
    ],
    "Arrow batch": pa.table(table(RUN, ["query_id", "docno", "score"])).to_batches()[0],
}


@pytest.mark.parametrize("form", QRELS_FORMS)
def test_qrels_of_every_form_with_a_run_of_dicts(form):
    assert rows(join_run(QRELS_FORMS[form], RUN)) == ROWS


@pytest.mark.parametrize("form", RUN_FORMS)
def test_runs_of_every_form_with_qrels_of_dicts(form):
    joined = join_run(QRELS, RUN_FORMS[form])
    assert rows(joined) == ROWS
    assert joined.missing.tolist() == ["q3"] and joined.unjudged.tolist() == []


@pytest.mark.parametrize("make_list", [list, tuple, np.array])
def test_ranked_lists_have_the_scores_of_ranks(make_list):
    run = {"q2": make_list(["x", "a"]), "q1": make_list(["b", "y"]), "q3": []}
    joined = join_run(QRELS, run)
    assert rows(joined) == [
        ("q1", "b", 0, -1.0),
        ("q1", "y", 0, -2.0),
        ("q1", "a", 2, NOT_RETRIEVED),
        ("q2", "x", 0, -1.0),
        ("q2", "a", 1, -2.0),
        ("q3", "c", 3, NOT_RETRIEVED),
    ]


def test_queries_may_have_the_names_of_columns():
    qrels = {"query": {"a": 1}, "responses": {"b": 1}}
    for run in ({"query": ["a"], "responses": ["b"]}, {"query": {"a": -1}, "responses": {"b": -1}}):
        expected = [("query", "a", 1, -1.0), ("responses", "b", 1, -1.0)]
        assert rows(join_run(qrels, run)) == expected


def test_judges_and_runs_have_all_forms():
    quepid = {"query": ["q1", "q1"], "docid": ["a", "b"], "rating": [2, 0]}
    joined = sg.datasets.join_judgments({"human": quepid}, {"bm25": {"q1": ["b", "a"]}})
    assert joined.y_judges["human"].tolist() == [2, 0]
    assert joined.y_scores["bm25"].tolist() == [-2, -1]
    evaluations = sg.evaluate_runs(quepid, {"bm25": {"q1": ["b", "a"]}}, "ap")
    assert evaluations["bm25"].mean()["AP"] == 1 / 2


@pytest.mark.parametrize("few", [0, 1000])
def test_ids_in_dicts_may_be_of_any_type(few, monkeypatch):
    monkeypatch.setattr(entries, "FEW", few)  # 0: pandas looks up the ids
    qrels = {1: {(1, 2): 1, 7: 0}, ("a", 1): {"b": 2}}
    run = {("a", 1): {"b": 1.0}, 1: {7: 2.0, (1, 2): 1.0}}
    assert rows(join_run(qrels, run)) == [
        (1, 7, 0, 2.0),
        (1, (1, 2), 1, 1.0),
        (("a", 1), "b", 2, 1.0),
    ]
    # Ids of different types are different documents.
    assert len(join_run({"q": {"7": 1}}, {"q": {"7": 1.0, 7: 2.0}}).y_true) == 2


def test_a_query_without_retrieved_documents_counts():
    joined = join_run({**QRELS, "q4": {}}, {**RUN, "q3": {}, "q4": {"a": 1.0}})
    assert rows(joined) == [*ROWS, ("q3", "c", 3, NOT_RETRIEVED)]
    assert joined.missing.tolist() == [] and joined.unjudged.tolist() == ["q4"]


def test_columns_of_ids_precede_columns_of_texts():
    qrels = {"query": ["ships"], "qid": ["1"], "document": ["Text."], "docno": ["d"], "label": [1]}
    run = {"query": ["ships"], "query_id": ["1"], "doc_id": ["d"], "score": [1.0]}
    assert rows(join_run(qrels, run)) == [("1", "d", 1, 1.0)]


# Objects of other tools --------------------------------------------------------------------------


def test_qrels_and_run_of_ranx():
    ranx = peer("ranx")
    # The dicts of ranx are sorted: queries by id, documents by score.
    joined = join_run(ranx.Qrels(QRELS), ranx.Run(RUN))
    assert rows(joined) == ROWS and joined.missing.tolist() == ["q3"]
    assert rows(join_run(QRELS, ranx.Run(RUN))) == rows(join_run(ranx.Qrels(QRELS), RUN)) == ROWS
    ideal = join_run(QRELS, ranx.Qrels(QRELS))
    assert sg.NDCG()(ideal.y_true, ideal.y_score, qid=ideal.qid) == 1


READ_COMPILED = f"""
import json
from ranx import Qrels, Run
from skgraded.datasets import join_run

qrels, run = Qrels(), Run()
for row in {triples(QRELS)}:
    qrels.add_score(*row)
for row in {triples(RUN)}:
    run.add_score(*row)
assert type(run.run).__module__.startswith("numba")
joined = join_run(qrels, run)
print(json.dumps([joined[name].tolist() for name in ("qid", "doc_id", "y_true", "y_score")]))
"""


def test_compiled_dicts_of_ranx_are_read():
    peer("ranx")
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", READ_COMPILED],
        capture_output=True,
        text=True,
        env=os.environ | {"NUMBA_DISABLE_JIT": "0"},
    )
    assert process.returncode == 0, process.stderr
    assert list(zip(*json.loads(process.stdout), strict=True)) == ROWS


def test_tuples_of_ir_datasets(tmp_path):
    formats, util = peer("ir_datasets.formats"), peer("ir_datasets.util")
    path = tmp_path / "qrels"
    path.write_text("".join(f"{query} 0 {name} {grade}\n" for query, name, grade in triples(QRELS)))
    qrels = formats.TrecQrels(util.LocalDownload(path), {})
    assert rows(join_run(qrels.qrels_iter(), RUN)) == ROWS
    run = [formats.GenericScoredDoc(*row) for row in triples(RUN)]
    assert rows(join_run(qrels.qrels_iter(), run)) == ROWS
