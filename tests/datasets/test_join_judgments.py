"""join_judgments: judgments of several judges, and runs, in aligned columns."""

import math
from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_reports import HOSTILE

import skgraded as sg
from skgraded.datasets import join_judgments, read_qrels, read_run

HUMAN = {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}}
MODEL = {"q2": {"a": 3, "c": 1}, "q3": {"d": 2}, "q1": {"b": 1}}
RUN = {"q2": {"x": 1.5, "a": 0.5}, "q1": {"b": 7.0}, "q9": {"a": 1.0}}
JUDGES = {"human": HUMAN, "model": MODEL}
ROWS = [  # query, document, human, model, run
    ("q1", "a", 2, None, -math.inf), ("q1", "b", 0, 1, 7.0), ("q2", "a", 1, 3, 0.5),
    ("q2", "c", None, 1, -math.inf), ("q2", "x", None, None, 1.5),
    ("q3", "d", None, 2, -math.inf),
]
Qrel = namedtuple("Qrel", "query_id doc_id relevance")
ScoredDoc = namedtuple("ScoredDoc", "query_id doc_id score")


def rows(joined):
    """One tuple per row: query, document, grades (None if there is none) and scores."""
    grades = [
        [None if math.isnan(grade) else grade for grade in values.tolist()]
        for values in joined.y_judges.values()
    ]
    scores = [values.tolist() for values in joined.y_scores.values()]
    columns = [joined.qid.tolist(), joined.doc_id.tolist(), *grades, *scores]
    return list(zip(*columns, strict=True))


def triples(by_query):
    return [(query, *pair) for query, numbers in by_query.items() for pair in numbers.items()]


def columns(by_query, names):
    return dict(zip(names, map(list, zip(*triples(by_query), strict=True)), strict=True))


def write(path, by_query, line):
    path.write_text("".join(line.format(*triple) for triple in triples(by_query)))
    return path


@pytest.fixture(params=["dicts", "columns", "pandas", "polars", "arrow", "tuples", "files", "hits"])
def make(request, tmp_path):
    """``make(by_query, number)`` returns qrels (number "grade") or a run ("score") in one form."""
    def make(by_query, number):
        table = columns(by_query, ["query", "document", number])
        if request.param == "files" and number == "grade":
            return read_qrels(write(tmp_path / "qrels", by_query, "{} 0 {} {}\n"))
        if request.param == "files":
            return read_run(write(tmp_path / "run", by_query, "{} Q0 {} 1 {} name\n"))
        if request.param == "tuples":
            return [(Qrel if number == "grade" else ScoredDoc)(*row) for row in triples(by_query)]
        if request.param == "hits" and number == "grade":
            return [
                {"id": query, "ratings": [
                    {"_id": name, "rating": grade} for name, grade in grades.items()
                ]} for query, grades in by_query.items()
            ]
        if request.param == "hits":
            return {
                query: [{"_id": name, "_score": score} for name, score in scores.items()]
                for query, scores in by_query.items()
            }
        makers = {
            "dicts": lambda: by_query, "columns": lambda: table,
            "pandas": lambda: pytest.importorskip("pandas").DataFrame(table),
            "polars": lambda: pytest.importorskip("polars").DataFrame(table),
            "arrow": lambda: pytest.importorskip("pyarrow").table(table),
        }
        return makers[request.param]()

    return make


def test_rows_of_every_form(make):
    judges = {name: make(qrels, "grade") for name, qrels in JUDGES.items()}
    assert rows(join_judgments(judges, {"run": make(RUN, "score")})) == ROWS
    # The forms may differ between judges.
    assert rows(join_judgments({**judges, "model": MODEL}, {"run": RUN})) == ROWS


def test_qrels_and_run_of_ranx():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Numba's, about its types
        ranx = pytest.importorskip(
            "ranx", reason='ranx is missing: pip install "skgraded[peers]"'
        )
    judges = {name: ranx.Qrels(qrels) for name, qrels in JUDGES.items()}
    assert sorted(rows(join_judgments(judges, {"run": ranx.Run(RUN)})), key=str) == sorted(
        rows(join_judgments(JUDGES, {"run": RUN})), key=str
    )


def test_types_of_the_columns():
    joined = join_judgments(JUDGES, {"run": RUN})
    assert list(joined) == ["y_judges", "y_scores", "qid", "doc_id"]
    for values in (*joined.y_judges.values(), *joined.y_scores.values()):
        assert values.dtype == np.float64
    assert joined.doc_id.dtype == object
    assert join_judgments(JUDGES).y_scores == {}
    assert list(join_judgments({"only": HUMAN}).y_judges) == ["only"]


IDS = st.sampled_from(["q1", "q2", "q3"]), st.sampled_from("abcd")
QRELS = st.dictionaries(st.tuples(*IDS), st.integers(0, 3), min_size=1)


@settings(max_examples=60, deadline=None)
@given(QRELS, QRELS, QRELS)
def test_rows_by_dictionaries(first, second, run):
    sources = {"first": first, "second": second, "run": run}
    nested: dict = {name: {} for name in sources}
    for name, numbers in sources.items():
        for (query, document), number in numbers.items():
            nested[name].setdefault(query, {})[document] = number
    judges = {"first": nested["first"], "second": nested["second"]}
    if any(not set(nested[name]) & set(nested["first"]) for name in ("second", "run")):
        with pytest.raises(ValueError, match="have no query in common"):
            join_judgments(judges, {"run": nested["run"]})
        return
    judged = {query for query, _ in first} | {query for query, _ in second}
    expected = [
        (*pair, first.get(pair), second.get(pair), run.get(pair, -math.inf))
        for pair in dict.fromkeys([*first, *second, *run]) if pair[0] in judged
    ]
    joined = join_judgments(judges, {"run": nested["run"]})
    assert sorted(rows(joined), key=str) == sorted(expected, key=str)
    # The rows of a query are contiguous; queries are in order of first appearance.
    queries = joined.qid.tolist()
    changes = [q for i, q in enumerate(queries) if not i or queries[i - 1] != q]
    order = dict.fromkeys(q for name in nested for q in nested[name])
    assert changes == [query for query in order if query in judged]


def test_one_column_equals_that_of_join_run():
    run = {query: scores for query, scores in RUN.items() if query != "q9"}
    pair = sg.datasets.join_run(HUMAN, run, unjudged_documents="keep", missing="count")
    joined = join_judgments({"human": HUMAN}, {"run": run})
    keys = dict(zip(zip(pair.qid, pair.doc_id, strict=True), pair.y_score, strict=True))
    found = zip(joined.qid, joined.doc_id, strict=True)
    assert dict(zip(found, joined.y_scores["run"], strict=True)) == keys
    settings = {"measures": "ap", "unjudged_documents": "irrelevant"}
    expected = sg.evaluate(pair.y_true, pair.y_score, qid=pair.qid, **settings)
    found = sg.evaluate(
        joined.y_judges["human"], joined.y_scores["run"], qid=joined.qid, **settings
    )
    assert found.mean()["AP"] == expected.mean()["AP"]


def test_a_query_that_a_run_lacks_has_nothing_retrieved():
    joined = join_judgments(JUDGES, {"a": {"q1": {"a": 1.0}}, "b": {"q1": {"b": 1}, "q2": {}}})
    of_other_queries = joined.qid != "q1"
    assert (joined.y_scores["a"][of_other_queries] == -math.inf).all()
    assert (joined.y_scores["b"][of_other_queries] == -math.inf).all()


def test_repeated_judgments_and_zeros():
    repeated = {"query": ["q1", "q1"], "document": ["a", "a"], "grade": [2, 2]}
    joined = join_judgments({"one": repeated, "two": {"q1": {"a": 0}}})
    assert rows(joined) == [("q1", "a", 2, 0)]


def test_hostile_names_and_ids():
    ids = [name for name in HOSTILE if isinstance(name, str)]
    judges = {name: {name: {other: 1 for other in ids} for name in ids} for name in ids[:3]}
    joined = join_judgments(judges, {name: {ids[0]: {ids[1]: 2.0}} for name in ids})
    assert list(joined.y_judges) == ids[:3] and list(joined.y_scores) == ids
    assert joined.qid.tolist() == [name for name in ids for _ in ids]
    assert joined.doc_id.tolist() == ids * len(ids)


def test_ids_may_be_of_any_type():
    judges = {
        "human": {1: {(1, 2): 1, 7: 0}, ("a", 1): {"b": 2}}, "model": {("a", 1): {"b": 1}},
    }
    assert rows(join_judgments(judges)) == [
        (1, (1, 2), 1, None), (1, 7, 0, None), (("a", 1), "b", 2, 1),
    ]
    joined = join_judgments({"a": {1: {"d": 1}}, "b": {np.int64(1): {"d": 2}}})
    assert rows(joined) == [(1, "d", 1, 2)]


@pytest.mark.parametrize("qrels, runs, message", [
    ({"human": HUMAN, "model": {"q7": {"a": 1}}}, None,
     r"^qrels\['human'\] and qrels\['model'\] have no query in common: for example, "
     r"qrels\['human'\] contains 'q1', and qrels\['model'\] contains 'q7'\.$"),
    ({"human": {1: {"a": 1}}, "model": {"1": {"a": 1}}}, None,
     "have no query in common: .* The ids have the types int and str: convert them"),
    ({"human": {"1": {7: 1}}, "model": {"1": {"7": 1}}}, None,
     "have no document in common: .* The ids have the types int and str: convert them"),
    (JUDGES, {"bm25": {"q8": {"a": 1}}},
     r"^qrels\['human'\] and runs\['bm25'\] have no query in common"),
    (JUDGES, {"bm25": {1: {"a": 1}}}, r"qrels\['human'\] and runs\['bm25'\] have no query"),
    ({"human": HUMAN, "model": {"q1": {"a": -1}}}, None, r"^qrels\['model'\]: .*-1"),
    ({"human": HUMAN, "model": {"q1": {"a": math.nan}}}, None, r"^qrels\['model'\]: .*nan"),
    (JUDGES, {"bm25": {"q1": {"a": math.nan}}}, r"^runs\['bm25'\]: .*nan"),
    ({"human": {"query": ["q1"] * 2, "document": ["a"] * 2, "grade": [1, 2]}}, None,
     r"^qrels\['human'\]: .*grade 2, but it has grade 1"),
    (JUDGES, {"bm25": {"query": ["q1"] * 2, "document": ["a"] * 2, "score": [1, 2]}},
     r"^runs\['bm25'\]: .*already contains document 'a'"),
    ({}, None, "^qrels is empty: pass the judgments of at least one judge"),
    ({"human": {}}, None, r"^qrels\['human'\]: qrels is empty"),
])
def test_bad_values_are_one_error(qrels, runs, message):
    with pytest.raises(ValueError, match=message):
        join_judgments(qrels, runs)


@pytest.mark.parametrize("qrels, runs, message", [
    ([HUMAN, MODEL], None, "^Argument qrels must be a mapping with names as keys, .* got list"),
    ({1: HUMAN}, None, r"^The names in qrels must be strings; got 1\.$"),
    (HUMAN, None, r"^qrels\['q1'\]: qrels has no column 'query'; .*'a', 'b'"),
    (JUDGES, [RUN], "^Argument runs must be a mapping with names as keys, .* got list"),
    ({"human": None}, None, r"^qrels\['human'\]: .*got NoneType"),
    ({"human": "qrels.txt"}, None, r"^qrels\['human'\]: .*got 'qrels.txt'"),
])
def test_wrong_types_are_one_error(qrels, runs, message):
    with pytest.raises((TypeError, ValueError), match=message):
        join_judgments(qrels, runs)


def test_input_stays_as_it_was():
    judges = {name: {q: dict(d) for q, d in qrels.items()} for name, qrels in JUDGES.items()}
    runs = {"run": {query: dict(d) for query, d in RUN.items()}}
    join_judgments(judges, runs)
    assert judges == JUDGES and runs == {"run": RUN}


def test_real_judges_have_a_row_per_document(data_dir):
    folder = data_dir / "llm-judges"
    human = read_qrels(folder / "human.txt.gz")
    joined = join_judgments({"human": human, "Olz": read_qrels(folder / "Olz-exp.txt.gz")})
    assert len(joined.qid) == 4423 and len(set(joined.qid)) == 25
    assert not np.isnan(np.stack(list(joined.y_judges.values()))).any()
