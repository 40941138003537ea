"""The command with documents that nobody judged."""

import numpy as np
import pandas as pd
import pytest
from commands import refused, report, run

import skgraded as sg
from skgraded.datasets import join_run, read_qrels, read_run

# q1: c, x, a; q2: y, d, z; x, y and z are unjudged
QRELS = "q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 0\nq2 0 d 1\n"
NEW = "".join(f"{query} Q0 {document} 1 {score} s\n" for query, document, score in [
    ("q1", "c", 3), ("q1", "x", 2), ("q1", "a", 1), ("q2", "y", 3), ("q2", "d", 2), ("q2", "z", 1),
])
POOLED = NEW.replace("x", "b").replace("y", "a").replace("q2 Q0 z 1 1 s\n", "")
GAP = "Judged@10 is 1.000 for pooled but 0.500 for new: judgments favour the systems"
TABLE = "query,grade,score\nq1,1,3\nq1,{0},2\nq1,2,1\nq2,{0},3\nq2,1,2\n"
NDCG = "ndcg(gain='linear')"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in [("qrels", QRELS), ("new", NEW), ("pooled", POOLED)]:
        (tmp_path / name).write_text(text)
    return tmp_path


def test_unjudged_documents_are_irrelevant_or_dropped(files, capsys):
    command = "evaluate qrels new -m rr -m p@3 -m judged@3"
    irrelevant = {"RR": (1 + 1 / 2) / 2, "Precision@3": (2 / 3 + 1 / 3) / 2, "Judged@3": 1 / 2}
    assert report(capsys, command)["new"]["mean"] == pytest.approx(irrelevant)
    option = f"{command} --unjudged-documents"
    assert report(capsys, f"{option} irrelevant")["new"]["mean"] == pytest.approx(irrelevant)
    dropped = irrelevant | {"RR": (1 + 1) / 2}
    assert report(capsys, f"{option} drop")["new"]["mean"] == pytest.approx(dropped)
    assert "invalid choice: 'keep'" in refused(capsys, f"{option} keep")


@pytest.mark.parametrize("rule", ["irrelevant", "drop"])
def test_the_values_are_those_of_the_library(files, capsys, rule):
    settings = {"measures": ["ndcg@10", "mu_map", "bpref", "judged@2", "edrc"]}
    rows = join_run(read_qrels("qrels"), read_run("new"), unjudged_documents="keep")
    expected = sg.evaluate(
        rows.y_true, rows.y_score, qid=rows.qid, unjudged_documents=rule, **settings
    )
    command = "evaluate qrels new --unjudged-documents " + rule
    words = [word for name in settings["measures"] for word in ("-m", name)]
    assert report(capsys, command, *words)["new"]["mean"] == expected.mean()
    if rule == "irrelevant":
        assert report(capsys, "evaluate qrels new", *words)["new"]["mean"] == expected.mean()


def test_the_default_is_trec_eval_s_also_for_bpref(tmp_path, capsys):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason='pip install "skgraded[peers]"')
    rng = np.random.default_rng(0)
    documents = [f"d{i:02}" for i in range(40)]
    qrels = {f"q{q}": dict(zip(documents, rng.integers(0, 3, 25).tolist(), strict=False))
             for q in range(30)}
    ranked = {query: dict(zip(rng.permutation(documents)[:30].tolist(), range(30), strict=True))
              for query in qrels}
    for name, table, line in [
        ("qrels", qrels, "{} 0 {} {}\n"), ("run", ranked, "{} Q0 {} 1 {} s\n")
    ]:
        (tmp_path / name).write_text("".join(
            line.format(query, document, number)
            for query, row in table.items() for document, number in row.items()
        ))
    results = pytrec_eval.RelevanceEvaluator(qrels, {"bpref", "ndcg_cut", "map"}).evaluate(ranked)
    words = ["evaluate", str(tmp_path / "qrels"), str(tmp_path / "run"), "--per-query"]
    names = {"bpref": "Bpref", "ndcg_cut_10": "NDCG(gain='linear')@10", "map": "AP"}
    words += [word for name in [*names, "judged@10"] for word in ("-m", name)]
    found = report(capsys, "", *words)["run"]["per_query"]
    assert set(found) == set(results)
    for query, values in results.items():
        for theirs, ours in names.items():
            assert found[query][ours] == pytest.approx(values[theirs], abs=1e-12)
        first = sorted(ranked[query], key=ranked[query].get)[:-11:-1]
        judged = np.mean([document in qrels[query] for document in first])
        assert found[query]["Judged@10"] == pytest.approx(judged)


@pytest.mark.parametrize("form", ["table", "csv", "markdown", "latex", "json", "html"])
def test_every_format_has_the_share_and_a_note(files, capsys, form):
    found = run(capsys, f"evaluate qrels new pooled -m rr --format {form}")
    assert "Judged@10" in found.out and found.err.count(GAP) == 1
    found = run(capsys, f"compare qrels new pooled -m rr --format {form}")
    assert ("Judged@10" in found.out) == (form != "csv")  # whose columns are those of to_frame
    assert found.err.count(GAP) == 1
    one = run(capsys, f"evaluate qrels new -m rr --format {form}")
    assert "Judged@10" in one.out and one.err == ""


def test_without_unjudged_documents_nothing_is_added(files, capsys):
    found = run(capsys, "evaluate qrels pooled -m rr")
    assert found.out.split()[:3] == ["run", "n_queries", "RR"] and found.err == ""
    assert "judged" not in run(capsys, "evaluate qrels pooled --format json").out


def test_a_measured_share_is_one_column(files, capsys):
    out = run(capsys, "evaluate qrels new -m judged@10 -m rr").out
    assert out.splitlines()[0].split() == ["run", "n_queries", "Judged@10", "RR"]


def test_compare_uses_the_option(files, capsys):
    command = "compare qrels new pooled -m rr --test t --format csv"
    for rule, mean in (("irrelevant", 3 / 4), ("drop", 1)):
        (files / "out.csv").write_text(
            run(capsys, f"{command} --unjudged-documents {rule}").out
        )
        assert pd.read_csv("out.csv")["baseline_mean"].tolist() == [mean]


@pytest.mark.parametrize("written", ["", "nan", "NaN"])
@pytest.mark.parametrize("form", ["csv", "parquet", "quoted"])
def test_tables_with_unjudged_documents(files, capsys, written, form):
    path = f"t.{form.replace('quoted', 'csv')}"
    text = TABLE.format(written).replace("q1", '"q1"' if form == "quoted" else "q1")
    (files / "t.csv").write_text(text)
    if form == "parquet":
        pd.read_csv("t.csv").to_parquet(path)
    command = f"evaluate {path} -m rr -m judged@3"
    assert "grade" in refused(capsys, command)
    for rule, rr in (("irrelevant", (1 + 1 / 2) / 2), ("drop", 1)):
        found = report(capsys, f"{command} --unjudged-documents {rule}")["score"]
        assert found["mean"] == pytest.approx({"RR": rr, "Judged@3": (2 / 3 + 1 / 2) / 2})


def test_csv_files_with_empty_and_nan_grades(files, capsys):
    (files / "t.csv").write_text(TABLE.format("").replace("q2,,", "q2,NaN,"))
    found = report(capsys, "evaluate t.csv -m rr --unjudged-documents drop")["score"]
    assert found["mean"] == {"RR": 1} and found["judged"] == {"Judged@10": pytest.approx(7 / 12)}
    # Scores may not be empty.
    (files / "t.csv").write_text(TABLE.format("").replace("q2,1,2", "q2,1,"))
    error = refused(capsys, "evaluate t.csv -m rr --unjudged-documents drop")
    assert "t.csv: line 6: score must be a number" in error


def test_folders_of_parquet_files(files, capsys):
    (files / "folder").mkdir()
    (files / "t.csv").write_text(TABLE.format(""))
    pd.read_csv("t.csv").to_parquet("folder/part.parquet")
    command = "evaluate folder -m rr -m judged@3"
    assert "set unjudged_documents to" in refused(capsys, command)
    found = report(capsys, f"{command} --unjudged-documents drop")["score"]
    assert found["mean"] == pytest.approx({"RR": 1, "Judged@3": (2 / 3 + 1 / 2) / 2})


def test_letor_files_contain_judged_documents_only(files, capsys):
    (files / "t.letor").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    (files / "s.txt").write_text("1\n2\n")
    plain = run(capsys, "evaluate t.letor s.txt -m rr -m judged@3").out
    for rule in ("irrelevant", "drop"):
        command = f"evaluate t.letor s.txt -m rr -m judged@3 --unjudged-documents {rule}"
        assert run(capsys, command).out == plain
    (files / "t.letor").write_text("nan qid:1 1:1\n0 qid:1 1:2\n")
    assert "line 1" in refused(capsys, "evaluate t.letor s.txt --unjudged-documents drop")
