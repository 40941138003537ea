"""evaluate_runs: many runs, from files or memory, over the same queries."""

import json
import math
import warnings

import pandas as pd
import pytest

import skgraded as sg
from skgraded.datasets import join_run, read_run

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}, "q3": {"d": 1}}
BM25 = {"q1": {"b": 3, "a": 2}, "q2": {"c": 5}, "q3": {"x": 2, "d": 1}}
DENSE = {"q1": {"a": 2}, "q2": {"x": 3}}  # lacks q3


def contents(evaluations):
    return {name: json.loads(evaluation.to_json()) for name, evaluation in evaluations.items()}


def lines(run, tag):
    return "".join(
        f"{query} Q0 {document} 1 {score} {tag}\n"
        for query, documents in run.items()
        for document, score in documents.items()
    )


@pytest.fixture
def paths(tmp_path):
    (tmp_path / "qrels").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 c 1\nq3 0 d 1\n")
    (tmp_path / "input.bm25").write_text(lines(BM25, "x"))
    (tmp_path / "dense.json").write_text(json.dumps(DENSE))
    return [tmp_path / "qrels", tmp_path / "input.bm25", tmp_path / "dense.json"]


def test_files_dicts_frames_and_bunches_have_equal_values(paths):
    qrels, bm25, dense = paths
    expected = sg.evaluate_runs(QRELS, {"bm25": BM25, "dense": DENSE}, "rr")
    assert expected["bm25"].mean() == {"RR": (1 / 2 + 1 + 1 / 2) / 3}
    assert expected["dense"].mean() == {"RR": (1 + 0 + 0) / 3}
    frame = pd.DataFrame(
        [(q, d, s) for q, documents in DENSE.items() for d, s in documents.items()],
        columns=["query", "document", "score"],
    )
    mixed = sg.evaluate_runs(str(qrels), {"bm25": read_run(bm25), "dense": frame}, "rr")
    assert contents(mixed) == contents(expected)
    # The tag "x" names the first run; a JSON file has no tag.
    read = sg.evaluate_runs(qrels, [bm25, dense], "rr")
    assert contents(read) == contents({"x": expected["bm25"], "dense": expected["dense"]})


def test_values_are_those_of_join_run_and_evaluate():
    options = {"ties": "trec", "identical_ids": "drop"}
    rows = join_run(QRELS, BM25, unjudged_documents="keep", **options)
    for rule in ("irrelevant", "drop"):
        runs = sg.evaluate_runs(QRELS, {"a": BM25}, unjudged_documents=rule, **options)
        expected = sg.evaluate(rows.y_true, rows.y_score, qid=rows.qid, unjudged_documents=rule)
        assert contents(runs) == contents({"a": expected})


def test_queries_that_a_run_lacks_are_left_out_for_all_runs_with_a_warning():
    with pytest.warns(UserWarning, match=r"1 of 3 are missing from .*'dense' contains only 2"):
        skipped = sg.evaluate_runs(QRELS, {"bm25": BM25, "dense": DENSE}, "rr", missing="skip")
    assert [ev.query_ids.tolist() for ev in skipped.values()] == [["q1", "q2"]] * 2
    assert skipped["bm25"].mean() == {"RR": (1 / 2 + 1) / 2}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sg.evaluate_runs(QRELS, {"a": DENSE, "b": DENSE}, "rr", missing="skip")
    with pytest.raises(ValueError, match="no judged query in common"):
        sg.evaluate_runs(QRELS, {"a": {"q1": {"a": 1}}, "b": {"q2": {"c": 1}}}, missing="skip")


def test_one_warning_says_that_ndcg_has_another_gain_in_trec_eval():
    qrels = {"q1": {"a": 2, "b": 0}}
    with pytest.warns(UserWarning, match=r"NDCG uses 2\^r - 1 here") as caught:
        sg.evaluate_runs(qrels, {"a": BM25, "b": BM25}, ["ndcg", "ndcg@5"])
    assert len(caught) == 1 and caught[0].filename == __file__


def test_queries_for_which_nothing_is_retrieved_are_counted():
    runs = sg.evaluate_runs(QRELS, {"dense": DENSE}, "ndcng(undefined=nan)")
    assert runs["dense"].n_unanswered == 1
    assert not math.isnan(runs["dense"].mean()["NDCNG(undefined=nan)"])


def test_an_empty_file_counts_as_empty_rankings(tmp_path):
    (tmp_path / "empty.run").write_text("# nothing\n")
    runs = sg.evaluate_runs(QRELS, [tmp_path / "empty.run"], "rr")
    assert runs["empty"].per_query["RR"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("runs", "error", "message"),
    [
        ("bm25.run", TypeError, "a mapping of names to runs, or a list of paths; got 'str'"),
        ([BM25], TypeError, "a list of paths; got"),
        ({}, ValueError, "runs is empty"),
        ({1: BM25}, TypeError, "names in runs must be strings; got 1"),
        (["a", "a"], ValueError, "runs contains 'a' twice"),
        ({"a": {"q1": {"b": math.nan}}}, ValueError, "document 'b' of query 'q1'"),
        (["nowhere.run"], OSError, "nowhere.run"),
    ],
)
def test_invalid_runs_are_refused(runs, error, message):
    with pytest.raises(error, match=message):
        sg.evaluate_runs(QRELS, runs)


@pytest.mark.parametrize(
    "argument",
    [
        "missing",
        "unjudged",
        "unjudged_documents",
        "identical_ids",
        "ties",
    ],
)
def test_unknown_choices_are_refused(argument):
    with pytest.raises(ValueError, match=f"{argument} must be"):
        sg.evaluate_runs(QRELS, {"a": BM25}, **{argument: "maybe"})
