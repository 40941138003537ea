"""The command with unjudged documents."""

import pandas as pd
import pytest
from commands import report, run

# q1: c, x, a; q2: y, d, z; x, y and z are unjudged
QRELS = "q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 0\nq2 0 d 1\n"
NEW = "".join(
    f"{query} Q0 {document} 1 {score} {{0}}\n"
    for query, document, score in [
        ("q1", "c", 3),
        ("q1", "x", 2),
        ("q1", "a", 1),
        ("q2", "y", 3),
        ("q2", "d", 2),
        ("q2", "z", 1),
    ]
)
POOLED = NEW.replace("x", "b").replace("y", "a").replace("q2 Q0 z 1 1 {0}\n", "")
GAP = "Judged@10 is 1.0000 for pooled but 0.5000 for new: judgments favor the systems"
TABLE = "query,grade,score\nq1,1,3\nq1,{0},2\nq1,2,1\nq2,{0},3\nq2,1,2\n"
NDCG = "ndcg(gain='linear')"


@pytest.fixture(autouse=True)
def judged_files(files):
    for name, text in [("qrels", QRELS), ("new", NEW), ("pooled", POOLED)]:
        (files / name).write_text(text.format(name))


def test_unjudged_documents_are_irrelevant_or_dropped(capsys):
    command = "evaluate qrels new -m rr -m p@3 -m judged@3"
    irrelevant = {"RR": (1 + 1 / 2) / 2, "Precision@3": (2 / 3 + 1 / 3) / 2, "Judged@3": 1 / 2}
    assert report(capsys, command)["new"]["mean"] == pytest.approx(irrelevant)
    option = f"{command} --unjudged-documents"
    assert report(capsys, f"{option} irrelevant")["new"]["mean"] == pytest.approx(irrelevant)
    dropped = irrelevant | {"RR": (1 + 1) / 2}
    assert report(capsys, f"{option} drop")["new"]["mean"] == pytest.approx(dropped)


@pytest.mark.parametrize("form", ["table", "csv", "markdown", "latex", "json", "html"])
def test_every_format_contains_the_share_and_a_note(capsys, form):
    result = run(capsys, f"evaluate qrels new pooled -m rr --format {form}")
    assert "Judged@10" in result.out and result.err.count(GAP) == 1
    result = run(capsys, f"compare qrels new pooled -m rr --format {form}")
    assert ("Judged@10" in result.out) == (form != "csv")  # CSV has the columns of to_frame
    assert result.err.count(GAP) == 1
    complete = run(capsys, f"evaluate qrels new -m rr --format {form}")
    assert "Judged@10" in complete.out and complete.err == ""


def test_without_unjudged_documents_nothing_is_added(capsys):
    result = run(capsys, "evaluate qrels pooled -m rr")
    assert result.out.split()[:3] == ["run", "n_queries", "RR"] and result.err == ""
    assert "judged" not in run(capsys, "evaluate qrels pooled --format json").out


@pytest.mark.parametrize("form", ["csv", "quoted csv", "parquet", "folder"])
def test_tables_with_unjudged_documents(files, capsys, form):
    text = TABLE.format("").replace("q2,,", "q2,NaN,")
    (files / "t.csv").write_text(text.replace("q1", '"q1"') if form == "quoted csv" else text)
    path = {"parquet": "t.parquet", "folder": "parts"}.get(form, "t.csv")
    (files / "parts").mkdir()
    pd.read_csv("t.csv").to_parquet("parts/0.parquet" if form == "folder" else "t.parquet")
    command = f"evaluate {path} -m rr -m judged@3"
    for rule, rr in (("irrelevant", (1 + 1 / 2) / 2), ("drop", 1)):
        values = report(capsys, f"{command} --unjudged-documents {rule}")["score"]
        assert values["mean"] == pytest.approx({"RR": rr, "Judged@3": (2 / 3 + 1 / 2) / 2})
        if form != "folder":
            values = report(capsys, f"evaluate {path} -m rr --unjudged-documents {rule}")["score"]
            assert values["judged"] == {"Judged@10": pytest.approx(7 / 12)}


def test_letor_files_contain_judged_documents_only(capsys):
    command = "evaluate test.letor scores -m rr -m judged@3"
    plain = run(capsys, command).out
    for rule in ("irrelevant", "drop"):
        assert run(capsys, f"{command} --unjudged-documents {rule}").out == plain
