"""Qrels and runs in the data structures of other tools give the rows of the same columns."""

import json
import math
import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from peers import peer
from scipy import sparse

import skgraded as sg
from skgraded.cli import main
from skgraded.datasets import entries, join_run
from skgraded.datasets.data_structures import CONTAINERS, DOCUMENTS

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


def by_query(convert, source):
    return {query: convert(documents) for query, documents in source.items()}


def as_rows(source, *names):
    return [dict(zip(names, row, strict=True)) for row in triples(source)]


def as_ratings(source, **names):
    return [
        {names["query"]: query, names["ratings"]: as_rows({0: documents}, 0, *names["row"])}
        for query, documents in source.items()
    ]


class Items:
    """An object that is not a mapping."""

    def __init__(self, source):
        self.items = source.items


RELEVANT = by_query(lambda documents: [name for name in documents if documents[name] > 0], QRELS)
TEXTS = by_query(
    lambda documents: {name: f"{grade}.000" for name, grade in documents.items()}, QRELS
)
MATRIX = np.array([[2, 0, 0], [1, 0, 0], [0, 0, 3]])  # queries q1, q2 and q3; documents a, b and c
# Examples of qrels and of runs for each entry of the two tables of containers
EXAMPLES = {
    "judged queries such as [{'id': q, 'ratings': […]}]": (
        as_ratings(QRELS, query="id", ratings="ratings", row=("_id", "rating")),
        {"requests": as_ratings(QRELS, query="id", ratings="ratings", row=("_id", "rating"))},
        as_ratings(TEXTS, query="query", ratings="judgmentRatings", row=("docId", "rating")),
        {
            "judgmentRatings": as_ratings(
                TEXTS, query="query_id", ratings="ratings", row=("docId", "rating")
            )
        },
    ),
    "a table": (
        pd.DataFrame(table(QRELS, ["qid", "docno", "label"])),  # PyTerrier
        pd.DataFrame(table(QRELS, ["query_id", "doc_id", "relevance"])),  # ir_measures
        pd.DataFrame(table(QRELS, ["query-id", "corpus-id", "score"])),  # BEIR
        pd.DataFrame(table(QRELS, ["query", "docid", "rating"])).astype("category"),
        table(QRELS, ["User ID", "item-id", "GRADE"]),
        pa.table(table(QRELS, ["QueryId", "pid", "Rel"])),
    ),
    "a Qrels or Run of ranx": (),  # see the tests of ranx
    "a dict of queries": (QRELS, Items(QRELS)),
    "a list of dicts or named tuples": (
        as_rows(QRELS, "q_id", "Passage ID", "rel"),
        as_rows(QRELS, "query", "_id", "rating"),
        [Qrel(*row) for row in triples(QRELS)],
    ),
    "a tuple (sparse matrix, query ids, document ids)": (
        (sparse.csr_array(MATRIX), list(QRELS), list("abc")),
        (sparse.coo_matrix(MATRIX), np.array(list(QRELS)), pd.Series(list("abc"))),
    ),
    "a dict": (by_query(dict, QRELS),),
    "an object with items()": (by_query(pd.Series, QRELS), by_query(Items, QRELS)),
    "a set of ids (only in qrels, because it has no order)": (by_query(set, RELEVANT),),
    "a list of dicts": (by_query(lambda each: as_rows({0: each}, 0, "docId", "grade"), QRELS),),
    "a list of pairs (id, number)": (
        by_query(lambda documents: list(documents.items()), QRELS),
        by_query(lambda documents: list(map(list, documents.items())), QRELS),
    ),
    "a list of ids": (RELEVANT, by_query(tuple, RELEVANT), by_query(np.array, RELEVANT)),
}
RUN_EXAMPLES = {
    "a table": (
        pd.DataFrame(table(RUN, ["qid", "docno", "score"])).assign(query="text", rank=[0, 1, 0, 1]),
        pa.table(table(RUN, ["query_id", "docno", "score"])).to_batches()[0],
        table(RUN, ["user_id", "Corpus_Id", "_score"]),
    ),
    "a Qrels or Run of ranx": (),
    "a dict of queries": (RUN, Items(RUN)),
    "a list of dicts or named tuples": (
        as_rows(RUN, "query-id", "corpus-id", "score"),
        [ScoredDoc(*row) for row in triples(RUN)],
    ),
    "a dict": (by_query(dict, RUN),),
    "an object with items()": (by_query(pd.Series, RUN), by_query(Items, RUN)),
    "a list of dicts": (by_query(lambda each: as_rows({0: each}, 0, "_id", "_score"), RUN),),
    "a list of pairs (id, number)": (
        by_query(lambda documents: list(documents.items()), RUN),
        by_query(lambda documents: list(map(list, documents.items())), RUN),
    ),
    "a list of ids": (
        by_query(list, RUN),
        by_query(tuple, RUN),
        by_query(lambda each: np.array([*each]), RUN),
    ),
}


def join(qrels, run):
    joined = join_run(qrels, run, missing="count")
    return sg.AP()(joined.y_true, joined.y_score, qid=joined.qid)


def judge(qrels, run):
    joined = sg.datasets.join_judgments({"human": qrels}, {"bm25": run})
    grades = np.nan_to_num(joined.y_judges["human"])
    return sg.AP()(grades, joined.y_scores["bm25"], qid=joined.qid)


def evaluate(qrels, run):
    (evaluation,) = sg.evaluate_runs(qrels, run, "ap").values()
    (named,) = sg.evaluate_runs(qrels, {"bm25": run}, "ap").values()
    (listed,) = sg.evaluate_runs(qrels, [run], "ap").values()
    assert evaluation == named == listed
    return evaluation.mean()["AP"]


def write_json(qrels, run):
    for path, content in (("qrels.json", qrels), ("run.json", run)):
        Path(path).write_text(json.dumps(content))


def read(qrels, run):
    write_json(qrels, run)
    return join(sg.datasets.read_qrels("qrels.json"), sg.datasets.read_run("run.json"))


def command(qrels, run):
    write_json(qrels, run)
    arguments = "evaluate qrels.json run.json -c -m ap --quiet --format json --output out.json"
    assert main(arguments.split()) == 0
    return json.loads(Path("out.json").read_text())["run"]["mean"]["AP"]


PAIRS = [(qrels, RUN) for examples in EXAMPLES.values() for qrels in examples]
PAIRS += [(QRELS, run) for examples in RUN_EXAMPLES.values() for run in examples]
# Other containers have no JSON.
OF_JSON = [
    pair for pair in PAIRS if repr(json.loads(json.dumps(pair, default=str))) == repr([*pair])
]
CASES = [(function, *pair) for function in (join, judge, evaluate) for pair in PAIRS]
CASES += [(function, *pair) for function in (read, command) for pair in OF_JSON]


def test_every_container_has_an_example():
    containers = [*CONTAINERS, *DOCUMENTS]
    for side, examples in (("qrels", EXAMPLES), ("run", RUN_EXAMPLES)):
        names = {container.name for container in containers if side in container.sides}
        assert names == examples.keys()


@pytest.mark.parametrize("case", range(len(CASES)))
def test_every_function_reads_every_container(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, qrels, run = CASES[case]
    # q1: b and y, both irrelevant; q2: x and a; the run lacks q3.
    assert function(qrels, run) == pytest.approx((0 + 1 / 2 + 0) / 3)


def test_rows_have_the_grades_scores_and_order_of_the_containers():
    for qrels in (QRELS, iter([Qrel(*row) for row in triples(QRELS)]), *EXAMPLES["a table"]):
        assert rows(join_run(qrels, RUN)) == ROWS
    for run in (RUN, *RUN_EXAMPLES["a table"], *RUN_EXAMPLES["a list of pairs (id, number)"]):
        joined = join_run(QRELS, run)
        assert rows(joined) == ROWS
        assert joined.missing.tolist() == ["q3"] and joined.unjudged.tolist() == []


MISSING = {"q1": {"a": 2, "b": None}, "q2": {"c": None}}


@pytest.mark.parametrize(
    "qrels",
    [
        MISSING,
        by_query(lambda documents: list(documents.items()), MISSING),
        by_query(lambda each: as_rows({0: each}, 0, "docId", "grade"), MISSING),
        {
            "q1": [{"id": "a", "grade": "2"}, {"id": "b", "grade": ""}],
            "q2": [{"id": "c", "grade": " "}],
        },
        as_ratings(MISSING, query="id", ratings="ratings", row=("_id", "rating")),
        as_rows(MISSING, "query", "document", "grade"),
        [Qrel(*row) for row in triples(MISSING)],
        table(MISSING, ["query", "document", "grade"]),
        pd.DataFrame(table(MISSING, ["query", "document", "grade"])),
        pd.DataFrame(table(MISSING, ["query", "document", "grade"])).astype({"grade": "Int64"}),
        pd.DataFrame(
            {"query": ["q1", "q1", "q2"], "docid": ["a", "b", None], "rel": ["2", "", ""]}
        ),
        pa.table(table(MISSING, ["query", "document", "grade"])),
        (sparse.csr_array([[2, math.nan, math.nan]]), ["q1"], ["a", "b", "c"]),
    ],
)
def test_a_missing_grade_leaves_the_row_out_with_one_warning(qrels):
    with pytest.warns(
        UserWarning, match="^qrels: 2 of 3 rows contain no grade.* row 1 .*'b' of"
    ) as w:
        joined = join_run(
            qrels, {"q1": {"a": 1, "b": 2}}, unjudged_documents="keep", missing="skip"
        )
    assert len(w) == 1 and joined.missing.tolist() == []
    assert joined.doc_id.tolist() == ["a", "b"]
    np.testing.assert_array_equal(joined.y_true, [2, math.nan])


def test_an_exact_name_precedes_other_spellings():
    qrels = {"Query": ["x"], "query": ["q"], "document": ["a"], "Document": ["y"], "grade": [1]}
    run = {"id": ["x"], "qid": ["q"], "Doc-Id": ["a"], "score": [1.0], "SCORE": [2.0]}
    assert rows(join_run(qrels, run)) == [("q", "a", 1, 1.0)]


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
    judged = sg.datasets.join_judgments({"human": QRELS}, {"bm25": run})
    assert sorted(judged.y_scores["bm25"]) == sorted(joined.y_score)


def test_queries_may_have_the_names_of_columns():
    qrels = {"query": {"a": 1}, "responses": {"b": 1}}
    for run in ({"query": ["a"], "responses": ["b"]}, {"query": {"a": -1}, "responses": {"b": -1}}):
        expected = [("query", "a", 1, -1.0), ("responses", "b", 1, -1.0)]
        assert rows(join_run(qrels, run)) == expected


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
