"""Qrels and runs in the data structures of other tools give the rows of the same columns."""

import math
import re
from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

import skgraded as sg
from skgraded.datasets import join_run, read_qrels, read_run

QRELS = {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}, "q3": {"c": 3}}
RUN = {"q2": {"x": 1.5, "a": 0.5}, "q1": {"b": 7.0, "y": 2.0}}
NOT_RETRIEVED = -math.inf
ROWS = [
    ("q1", "b", 0, 7.0), ("q1", "y", 0, 2.0), ("q1", "a", 2, NOT_RETRIEVED),
    ("q2", "x", 0, 1.5), ("q2", "a", 1, 0.5),
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


def peer(module):
    return pytest.importorskip(
        module, reason=f'{module} is missing: pip install "skgraded[peers]"'
    )


def pandas(columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def arrow(columns):
    return pytest.importorskip("pyarrow").table(columns)


def arrow_batch(columns):
    return arrow(columns).to_batches()[0]


# Documents of a request, and hits of a response, as OpenSearch and Elasticsearch name them
REQUESTS = [
    {"id": query, "request": {"query": {"match": {"title": "ships"}}},
     "ratings": [{"_index": "i", "_id": name, "rating": grade} for name, grade in grades.items()]}
    for query, grades in QRELS.items()
]
HITS = {
    query: [{"_index": "i", "_id": name, "_score": score} for name, score in scores.items()]
    for query, scores in RUN.items()
}
DETAILS = {
    query: {"metric_score": 0.5, "unrated_docs": [],
            "hits": [{"hit": hit, "rating": None} for hit in hits]}
    for query, hits in HITS.items()
}
JUDGMENTS = {
    "name": "judgments", "type": "IMPORT_JUDGMENT",
    "judgmentRatings": [
        {"query": query, "ratings": [
            {"docId": name, "rating": f"{grade:.3f}"} for name, grade in grades.items()
        ]}
        for query, grades in QRELS.items()
    ],
}

QRELS_FORMS = {
    "dicts": QRELS,
    "default dicts": defaultdict(dict, QRELS),
    "tuples": [Qrel(*row) for row in triples(QRELS)],
    "PyTerrier": lambda: pandas(table(QRELS, ["qid", "docno", "label"])),
    "ir_measures": lambda: pandas(table(QRELS, ["query_id", "doc_id", "relevance"])),
    "polars": lambda: polars(table(QRELS, ["q_id", "doc_id", "relevance"])),
    "Arrow": lambda: arrow(table(QRELS, ["query_id", "docno", "grade"])),
    "lists": table(QRELS, ["query_id", "doc_id", "relevance"]),
    "_rank_eval": {"requests": REQUESTS, "metric": {"dcg": {"k": 20}}},
    "requests": REQUESTS,
    "judgments": JUDGMENTS,
}
RUN_FORMS = {
    "dicts": RUN,
    "ordered dicts": OrderedDict(RUN),
    "tuples": [ScoredDoc(*row) for row in triples(RUN)],
    "PyTerrier": lambda: pandas(
        table(RUN, ["qid", "docno", "score"])
        | {"query": ["text of the topic"] * 4, "rank": [0, 1, 0, 1]}
    ),
    "ir_measures": lambda: pandas(table(RUN, ["query_id", "doc_id", "score"])),
    "polars": lambda: polars(table(RUN, ["q_id", "doc_id", "score"])),
    "Arrow batch": lambda: arrow_batch(table(RUN, ["query_id", "docno", "score"])),
    "response": {"metric_score": 0.5, "details": DETAILS, "failures": {}},
    "responses": {
        query: {"took": 3, "hits": {"total": {"value": 2}, "hits": hits}}
        for query, hits in HITS.items()
    },
    "hits": HITS,
}


def make(form):
    return form() if callable(form) else form


@pytest.mark.parametrize("form", QRELS_FORMS)
def test_qrels_of_every_form_with_a_run_of_dicts(form):
    assert rows(join_run(make(QRELS_FORMS[form]), RUN)) == ROWS


@pytest.mark.parametrize("form", RUN_FORMS)
def test_runs_of_every_form_with_qrels_of_dicts(form):
    joined = join_run(QRELS, make(RUN_FORMS[form]))
    assert rows(joined) == ROWS
    assert joined.missing.tolist() == ["q3"] and joined.unjudged.tolist() == []


def test_iterators_are_read_once():
    qrels, run = (Qrel(*row) for row in triples(QRELS)), (ScoredDoc(*row) for row in triples(RUN))
    assert rows(join_run(qrels, run)) == ROWS


def test_ids_in_dicts_may_be_of_any_type():
    qrels = {1: {(1, 2): 1, 7: 0}, ("a", 1): {"b": 2}}
    run = {("a", 1): {"b": 1.0}, 1: {7: 2.0, (1, 2): 1.0}}
    assert rows(join_run(qrels, run)) == [
        (1, 7, 0, 2.0), (1, (1, 2), 1, 1.0), (("a", 1), "b", 2, 1.0),
    ]


def test_what_is_joined_is_not_changed():
    qrels, run = ({query: dict(d) for query, d in form.items()} for form in (QRELS, RUN))
    join_run(qrels, run, ties="trec")
    assert qrels == QRELS and run == RUN


def test_a_query_for_which_a_run_returned_nothing_counts():
    joined = join_run({**QRELS, "q4": {}}, {**RUN, "q3": {}, "q4": {"a": 1.0}})
    assert rows(joined) == [*ROWS, ("q3", "c", 3, NOT_RETRIEVED)]
    assert joined.missing.tolist() == [] and joined.unjudged.tolist() == ["q4"]
    with pytest.raises(ValueError, match="^run: query 'q9' has no judgments in qrels"):
        join_run(QRELS, {**RUN, "q9": {}}, unjudged="raise")


def test_the_name_of_an_id_precedes_that_of_a_text():
    qrels = {"query": ["ships"], "qid": ["1"], "document": ["Text."], "docno": ["d"], "label": [1]}
    run = {"query": ["ships"], "query_id": ["1"], "doc_id": ["d"], "score": [1.0]}
    assert rows(join_run(qrels, run)) == [("1", "d", 1, 1.0)]


def test_a_dict_with_the_names_of_columns_is_a_table():
    frame = pandas(table(QRELS, ["query", "document", "grade"]))
    with pytest.raises(TypeError, match="qrels.query is a dict, which has no row order"):
        join_run(frame.to_dict(), RUN)  # {column: {row: value}}
    assert rows(join_run(frame.to_dict("list"), RUN)) == ROWS


# ----------------------------------------------------------------------------- the tools themselves


@pytest.fixture
def ranx():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Numba's, about its types
        yield peer("ranx")


def test_qrels_and_run_of_ranx(ranx):
    # its dicts are sorted: queries by id, documents by score
    joined = join_run(ranx.Qrels(QRELS), ranx.Run(RUN))
    assert rows(joined) == ROWS and joined.missing.tolist() == ["q3"]
    assert rows(join_run(QRELS, ranx.Run(RUN))) == rows(join_run(ranx.Qrels(QRELS), RUN)) == ROWS
    oracle = join_run(QRELS, ranx.Qrels(QRELS))
    assert sg.NDCG()(oracle.y_true, oracle.y_score, qid=oracle.qid) == 1


def test_qrels_and_run_of_ranx_that_were_made_comparable_or_extended(ranx):
    qrels, run = ranx.Qrels(QRELS), ranx.Run({**RUN, "q9": {"a": 1.0}})
    run.make_comparable(qrels)
    assert rows(join_run(qrels, run)) == [*ROWS, ("q3", "c", 3, NOT_RETRIEVED)]


def test_a_run_of_ranx_that_was_filled_by_document(ranx):
    # its ids have another type in Numba than the ids of a Run that was made of a dict
    run = ranx.Run()
    for query, name, score in [("q1", "b", 1.0), ("q1", "μ \U0001f600", 2.0), ("q2", "aa", 0.5)]:
        run.add_score(query, name, score)
    assert rows(join_run({"q1": {"b": 1}, "q2": {"aa": 2}}, run)) == [
        ("q1", "b", 1, 1.0), ("q1", "μ \U0001f600", 0, 2.0), ("q2", "aa", 2, 0.5),
    ]


def test_measures_of_ranx_on_its_own_objects(ranx):
    rng = np.random.default_rng(0)
    qrels = {f"q{i}": {f"d{j}": int(rng.integers(0, 4)) for j in range(12)} for i in range(30)}
    run = {
        query: {f"d{j}": float(s) for s, j in enumerate(rng.permutation(20)[:15])}
        for query in qrels
    }
    qrels, run = ranx.Qrels(qrels), ranx.Run(run)
    joined = join_run(qrels, run)
    names = {"map": "map", "ndcg_burges@5": "ndcg@5", "recall@3": "recall_3", "mrr": "mrr"}
    theirs = ranx.evaluate(qrels, run, list(names))
    ours = sg.evaluate(joined.y_true, joined.y_score, qid=joined.qid, measures=names.values())
    assert list(ours.mean().values()) == pytest.approx([theirs[name] for name in names], rel=1e-12)


def test_errors_about_objects_of_ranx(ranx):
    with pytest.raises(TypeError, match="qrels is a ranx Run, which contains scores instead"):
        join_run(ranx.Run(RUN), ranx.Qrels(QRELS))
    with pytest.raises(ValueError, match="run is empty"):
        join_run(QRELS, ranx.Run())
    for measure in (sg.evaluate, sg.AP()):
        with pytest.raises(TypeError, match="y_true is a Qrels, .* rows = skgraded.datasets.join"):
            measure(ranx.Qrels(QRELS), ranx.Run(RUN))
    bad = ranx.Qrels({"q1": {"a": 1, "b": 0}})
    bad.set_relevance_level(2)
    with pytest.raises(ValueError, match="≥ 0; got -1 for document 'b' of query 'q1'"):
        join_run(bad, RUN)


def test_tuples_of_ir_measures():
    ir_measures = peer("ir_measures")
    qrels = [ir_measures.Qrel(*row) for row in triples(QRELS)]
    run = (ir_measures.ScoredDoc(*row) for row in triples(RUN))
    assert rows(join_run(qrels, run)) == ROWS
    text = "".join(f"{query} 0 {name} {grade}\n" for query, name, grade in triples(QRELS))
    assert rows(join_run(ir_measures.read_trec_qrels(text), RUN)) == ROWS


def test_tuples_of_ir_datasets(tmp_path):
    formats, util = peer("ir_datasets.formats"), peer("ir_datasets.util")
    path = tmp_path / "qrels"
    path.write_text("".join(f"{query} 0 {name} {grade}\n" for query, name, grade in triples(QRELS)))
    qrels = formats.TrecQrels(util.LocalDownload(path), {})
    assert rows(join_run(qrels.qrels_iter(), RUN)) == ROWS
    run = [formats.GenericScoredDoc(*row) for row in triples(RUN)]
    assert rows(join_run(qrels.qrels_iter(), run)) == ROWS


# --------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "qrels, run",
    [
        ({1: {"a": 1}}, {"1": {"a": 1.0}}),
        ({"1": {"a": 1}}, [ScoredDoc(1, "a", 1.0)]),
        ({"1": {7: 1}}, {"1": {"7": 1.0, "8": 2.0}}),
        ({"query": [1], "document": ["a"], "grade": [1]}, {"1": {"a": 1.0}}),
        ({"query": ["1"], "document": ["7"], "grade": [1]}, lambda: pandas(
            {"qid": ["1"], "docno": np.array([7]), "score": [1.0]}
        )),
    ],
)
def test_ids_that_differ_in_type_alone_are_an_error(qrels, run):
    with pytest.raises(ValueError, match=r"in common.*types (int and str|str and int): convert"):
        join_run(qrels, make(run))


@pytest.mark.parametrize(
    "qrels, problem",
    [
        ({"q1": {"a": -1}}, "≥ 0; got -1 for document 'a' of query 'q1'. Shift all grades so"),
        ({"q1": {"b": 1}, "q2": {"a": math.nan}}, "finite; got nan for document 'a' of query 'q2'"),
        ({"q1": {}}, "qrels is empty: it contains no documents"),
        ({}, "qrels is empty"),
        ([], "qrels is empty"),
        (iter([]), "qrels is empty"),
        ({"q1": {None: 1}}, "qrels.document is missing in row 0"),
        ({"qid": ["q"], "doc": ["a"], "grade": [1]}, "no column 'document'; its columns are "
         "'qid', 'doc', 'grade'. Other accepted names: doc_id, docno."),
        ({"qid": ["q"], "docid": ["a"], "grade": [1]}, "Did you mean 'docid'"),
        ({"qid": ["q"], "docno": ["a"], "label": [1], "relevance": [2]},
         "qrels has several grade columns, 'relevance' and 'label': keep only one of them"),
        ([ScoredDoc("q1", "a", 1.0)],
         "qrels has no column 'grade'; its columns are 'query_id', 'doc_id', 'score'"),
        ([Qrel("q1", "a", 1), Qrel("q1", "a", 2)], "row 1: document 'a' of query 'q1' has grade "
         "2, but it has grade 1 at row 0"),
        ([{"id": "q1", "ratings": [{"_id": "a"}]}], "Item 0 of query 'q1' in qrels must contain "
         "'_id' and 'rating'; got {'_id': 'a'}"),
        ([{"id": 1, "ratings": [{"_id": "a", "rating": 1}, {"_id": "a", "rating": 3}]}],
         "document 'a' of query 1 has grade 3, but it has grade 1 at row 0"),
    ],
)
def test_bad_values_are_named(qrels, problem):
    with pytest.raises(ValueError, match=re.escape(problem)):
        join_run(qrels, RUN)


@pytest.mark.parametrize(
    "run, problem",
    [
        ({"q1": {"a": 1.0}, "q2": None}, "run['q2'] must be a dict that maps documents to numbers"),
        ({"took": 3, "hits": {"hits": []}}, "run['took'] must be a dict"),
        ({"q1": {"a": "row 3"}}, "run must contain numbers; document 'a' of query 'q1' is 'row 3'"),
        ([("q1", "a", 1.0)], "run has no column 'query': pass the result of read_run, a table, a "
         "dict of dicts, a ranx Run, or named tuples such as ScoredDoc from ir_measures; got"),
        ("bm25.run", "got 'bm25.run'"),
        ({ScoredDoc("q1", "a", 1.0)}, "got set"),
        ([ScoredDoc("q1", "a", 1.0), ("q1", "b")], "row 1 has no field 'query_id': ('q1', 'b')"),
        ([{"ratings": []}], "run[0] must be a dict with the keys 'id' and 'ratings'"),
        (lambda: polars(table(RUN, ["qid", "docno", "score"])).lazy(),
         "run must be in memory: convert the LazyFrame"),
    ],
)
def test_what_is_no_run_is_refused(run, problem):
    with pytest.raises(TypeError, match=re.escape(problem)):
        join_run(QRELS, make(run))


def test_hits_without_a_score_are_refused():
    with pytest.raises(ValueError, match="Item 0 of query 'q1' in run must .* '_id' and '_score'"):
        join_run(QRELS, {"q1": [{"_id": "a", "_score": None}]})


def test_qrels_and_a_run_that_are_not_joined_point_to_join_run(tmp_path):
    (tmp_path / "qrels").write_text("q1 0 a 1\n")
    (tmp_path / "run").write_text("q1 Q0 a 1 1 s\n")
    qrels, run = read_qrels(tmp_path / "qrels"), read_run(tmp_path / "run")
    for score in (sg.evaluate, sg.AP(), sg.AP().per_query):
        for sides in ((qrels, run), (QRELS, RUN)):
            with pytest.raises(TypeError, match=r"rows = skgraded.datasets.join_run\(qrels, run\)"):
                score(*sides)
