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
LACKS = "1 of 3 judged queries are missing from the run"


def lines(run, tag):
    return "".join(
        f"{query} Q0 {document} 1 {score} {tag}\n"
        for query, documents in run.items()
        for document, score in documents.items()
    )


def test_files_dicts_frames_and_bunches_have_equal_values(tmp_path):
    qrels, bm25, dense = (tmp_path / name for name in ("qrels", "input.bm25", "dense.json"))
    qrels.write_text("q1 0 a 1\nq1 0 b 0\nq2 0 c 1\nq3 0 d 1\n")
    bm25.write_text(lines(BM25, "x"))
    dense.write_text(json.dumps(DENSE))
    with pytest.warns(UserWarning, match=f"dense: {LACKS}"):
        expected = sg.evaluate_runs(QRELS, {"bm25": BM25, "dense": DENSE}, "rr")
    assert expected["bm25"].mean() == {"RR": (1 / 2 + 1 + 1 / 2) / 3}
    assert expected["dense"].mean() == {"RR": (1 + 0 + 0) / 3}
    frame = pd.DataFrame(
        [(q, d, s) for q, documents in DENSE.items() for d, s in documents.items()],
        columns=["query", "document", "score"],
    )
    with pytest.warns(UserWarning, match=f"dense: {LACKS}"):
        mixed = sg.evaluate_runs(str(qrels), {"bm25": read_run(bm25), "dense": frame}, "rr")
    assert mixed == expected
    # The tag "x" names the first run; a JSON file has no tag.
    with pytest.warns(UserWarning, match=f"dense: {LACKS}"):
        read = sg.evaluate_runs(qrels, [bm25, dense], "rr")
    assert read == {"x": expected["bm25"], "dense": expected["dense"]}


def test_values_are_those_of_join_run_and_evaluate():
    options = {"ties": "trec", "identical_ids": "drop"}
    rows = join_run(QRELS, BM25, unjudged_documents="keep", **options)
    for rule in ("irrelevant", "drop"):
        runs = sg.evaluate_runs(QRELS, {"a": BM25}, unjudged_documents=rule, **options)
        expected = sg.evaluate(rows.y_true, rows.y_score, qid=rows.qid, unjudged_documents=rule)
        assert runs == {"a": expected}


def test_queries_that_a_run_lacks_are_left_out_for_all_runs_with_a_warning():
    with pytest.warns(UserWarning, match="1 of 3 are missing from at least one run"):
        skipped = sg.evaluate_runs(QRELS, {"bm25": BM25, "dense": DENSE}, "rr", missing="skip")
    assert [ev.query_ids.tolist() for ev in skipped.values()] == [["q1", "q2"]] * 2
    assert skipped["bm25"].mean() == {"RR": (1 / 2 + 1) / 2}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sg.evaluate_runs(QRELS, {"a": DENSE, "b": DENSE}, "rr", missing="skip")


def test_one_warning_says_what_names_mean_in_trec_eval():
    qrels, run = {"q1": {"a": 2, "b": 0}}, {"q1": {"b": 3, "a": 2}}
    with pytest.warns(UserWarning) as caught:
        sg.evaluate_runs(qrels, {"a": run, "b": run}, ["ndcg", "ndcg@5", "ap@5", "map"])
    assert [str(warning.message) for warning in caught] == [
        "NDCG uses the gain 2^r - 1; for trec_eval's NDCG, pass ndcg(gain='linear') or ndcg_cut_5. "
        "AP@k divides by min(R, k); for trec_eval's divisor R, pass map_cut_5."
    ]
    assert caught[0].filename == __file__
    sg.evaluate_runs(qrels, {"a": run}, ["mean_ndcg", "ndcg_cut_5", "map_cut_5"])
    sg.evaluate_runs(qrels, {"a": run}, "ndcg", names="trec_eval")


def test_one_warning_counts_missing_queries_and_names_the_runs():
    qrels = {f"q{i}": {"a": 1} for i in range(100)}
    typo = {"q0": {"a": 1}} | {f"Q{i}": {"a": 1} for i in range(1, 100)}
    short = {f"q{i}": {"a": 1} for i in range(99)}
    with pytest.warns(UserWarning) as caught:
        runs = sg.evaluate_runs(qrels, {"good": qrels, "short": short, "typo": typo}, "ap")
    assert [evaluation.mean()["AP"] for evaluation in runs.values()] == [1, 99 / 100, 1 / 100]
    assert runs["short"].n_unanswered == 1
    assert [str(warning.message) for warning in caught] == [
        "typo: 99 of 100 judged queries are missing from the run (the first is 'q1') and count as "
        "empty rankings; 99 of 100 queries of the run have no judgments (the first is 'Q1') and "
        "are left out. short: 1 of 100 judged queries are missing from the run (the first is 'q99') "
        "and count as empty rankings."
    ]
    assert caught[0].filename == __file__


EMPTY = {"empty.run": "# nothing\n", "none.run": "", "empty.json": "{}", "lists.json": '{"q1": {}}'}
NO_ROWS = pd.DataFrame({"query": [], "document": [], "score": []})


@pytest.mark.parametrize("run", [{}, {"q1": {}, "q2": {}}, [], NO_ROWS, *EMPTY], ids=str)
def test_a_run_without_documents_counts_as_0_with_a_warning(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    for name, text in EMPTY.items():
        (tmp_path / name).write_text(text)
    with pytest.warns(UserWarning, match="bad: 3 of 3 judged queries are missing from the run"):
        runs = sg.evaluate_runs(QRELS, {"good": BM25, "bad": run}, "rr")
    assert runs["bad"].per_query["RR"].tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match=r"(runs\['bad'\]|empty|lists|none).* is empty"):
        sg.evaluate_runs(QRELS, {"good": BM25, "bad": run}, "rr", missing="skip")


GRADED = {"q1": {"a": 1, "b": 2, "c": 0, "d": 3}}
TIED = {"q1": {"a": 3, "c": 2, "b": 2, "d": 1}}  # trec_eval's order: a c b d


@pytest.mark.parametrize(
    ("measure", "settings", "name", "value"),
    [
        ("ap", {}, "AP", (1 + (2 / 2 + 2 / 3) / 2 + 3 / 4) / 3),
        ("ap", {"threshold": 2}, "AP(threshold=2)", ((1 / 2 + 1 / 3) / 2 + 2 / 4) / 2),
        ("ap(threshold=3)", {"threshold": 2}, "AP(threshold=3)", 1 / 4),
        (sg.AP(), {"threshold": 2.0, "ties": "trec"}, "AP(threshold=2)", (1 / 3 + 2 / 4) / 2),
        ("ndcng", {"threshold": 2}, "NDCNG", None),
        ("map", {"names": "trec_eval"}, "AP", (1 + 2 / 3 + 3 / 4) / 3),
        ("P.2", {"names": "trec_eval", "threshold": 2}, "Precision(threshold=2)@2", 0 / 2),
        ("ap@2", {"names": "trec_eval"}, "AP(divisor='relevant')@2", 1 / 3),
    ],
)
def test_names_and_thresholds_of_trec_eval(measure, settings, name, value):
    evaluation = sg.evaluate_runs(GRADED, {"a": TIED}, [measure], **settings)["a"]
    default = sg.evaluate_runs(GRADED, {"a": TIED}, "ndcng")["a"].mean()
    assert evaluation.mean() == (default if value is None else {name: pytest.approx(value)})


def test_official_measures_have_the_values_and_the_ties_of_trec_eval():
    means = sg.evaluate_runs(GRADED, {"a": TIED}, "official", threshold=2)["a"].mean()
    assert list(means.values())[:7] == pytest.approx(
        [4, 2, 2, (1 / 3 + 2 / 4) / 2, 0 / 2, 0, 1 / 3]  # num_ret num_rel … map Rprec bpref RR
    )
    assert len(means) == 7 + 11 + 9 and means["Precision(threshold=2)@5"] == 2 / 5
    assert "official" not in str(means)


@pytest.mark.parametrize(
    ("runs", "error", "message"),
    [
        ("nowhere.run", OSError, "nowhere.run"),
        ({}, TypeError, "runs must not be empty; got an empty dict"),
        ([], TypeError, "runs must not be empty; got an empty list"),
        ({1: BM25}, TypeError, "names in runs must be strings; got 1"),
        (
            {"a": BM25, "b": {"q1": {"b": math.nan}}},
            ValueError,
            r"runs\['b'\] must .* document 'b' of query 'q1'",
        ),
        ({"a": BM25, "b": {"p": {"b": 1}}}, ValueError, r"runs\['b'\] have no query in common"),
        (["nowhere.run"], OSError, "nowhere.run"),
    ],
)
def test_invalid_runs_are_refused(runs, error, message):
    with pytest.raises(error, match=message):
        sg.evaluate_runs(QRELS, runs)


# Runs without a name ------------------------------------------------------------------------------

JUDGED = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "c": 1}}
ONE = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "c": 1.0}}
ROWS = [
    {"query": query, "document": document, "score": score}
    for query, documents in ONE.items()
    for document, score in documents.items()
]
RANKED = {query: list(documents) for query, documents in ONE.items()}


@pytest.mark.parametrize(
    "runs, names",
    [
        (ONE, ["run"]),
        (RANKED, ["run"]),
        (ROWS, ["run"]),
        (pd.DataFrame(ROWS), ["run"]),
        (pd.DataFrame(ROWS).to_dict("list"), ["run"]),
        ([ONE, RANKED], ["run1", "run2"]),
        ([pd.DataFrame(ROWS), ROWS], ["run1", "run2"]),
        ({"bm25": ONE}, ["bm25"]),
        ({"a": RANKED, "b": ROWS, "c": pd.DataFrame(ROWS)}, ["a", "b", "c"]),
    ],
)
def test_runs_without_a_name_are_numbered(runs, names):
    evaluations = sg.evaluate_runs(JUDGED, runs, "rr")
    assert list(evaluations) == names
    for evaluation in evaluations.values():
        assert evaluation.per_query["RR"].tolist() == [1, 1 / 2]


def test_a_path_is_named_by_its_tag_or_stem(tmp_path):
    path = tmp_path / "input.mine.run"
    path.write_text(lines(ONE, "tag"))
    assert list(sg.evaluate_runs(JUDGED, path, "rr")) == ["tag"]
    assert list(sg.evaluate_runs(JUDGED, [str(path), ONE], "rr")) == ["tag", "run2"]


def test_grades_from_1_are_reported_once_for_all_runs():
    qrels = {"q1": {"a": 1, "b": 2}, "q2": {"a": 3, "c": 1}}
    run = {"q1": {"a": 1, "b": 2}, "q2": {"a": 1, "c": 2}}
    with pytest.warns(UserWarning, match="All grades are from 1 to 3") as caught:
        sg.evaluate_runs(qrels, {"x": run, "y": run}, "ap")
    assert len(caught) == 1
