"""The command: what it prints, and how it refuses bad files."""

import bz2
import gzip
import io
import lzma
import math
import os
import re
import sys
import tracemalloc
from argparse import Namespace

import numpy as np
import pandas as pd
import pytest
from commands import refused, refused_in_one_line, report, run, shell
from doubles import doubles

import skgraded as sg
from skgraded import cli
from skgraded.cli import main
from skgraded.cli._files import evaluate_files
from skgraded.datasets.tables import Names, read_columns

QRELS = "q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 0\nq2 0 d 1\nq3 0 e 1\n"
# q1: c, x, a; q2: d and y tied; q3 lacks
RUN = "q1 Q0 c 1 3 s\nq1 Q0 x 2 2 s\nq1 Q0 a 3 1 s\nq2 Q0 d 1 5 s\nq2 Q0 y 2 5 s\n"
OTHER = "q1 Q0 a 1 9 t\nq2 Q0 a 1 5 t\nq2 Q0 d 2 4 t\nq3 Q0 e 1 1 t\n"
TABLE = "query,grade,score\nq,0,2\nq,1,1\n"
AP_Q1 = (1 / 1 + 2 / 3) / 2
AP_Q2 = (1 / 1 + 1 / 2) / 2


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write the files into a folder and go there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "a.run").write_text(RUN)
    (tmp_path / "b.run").write_text(OTHER)
    return tmp_path


# -------------------------------------------------------------------------- qrels and runs


def test_json_is_as_documented(files, capsys):
    assert report(capsys, "evaluate qrels a.run -m map -m rr") == {
        "a.run": {
            "mean": {"AP": (AP_Q1 + AP_Q2) / 2, "RR": (1 + AP_Q2) / 2},
            "n_queries": 2,
            "n_undefined": {"AP": 0, "RR": 0},
            "judged": {"Judged@10": pytest.approx((2 / 3 + 1 / 2) / 2)},
        }
    }


def test_queries_that_a_run_lacks_are_left_out_or_count_as_nothing_retrieved(files, capsys):
    command = "evaluate qrels a.run -m map --per-query"
    assert report(capsys, command)["a.run"]["per_query"] == {
        "q1": {"AP": AP_Q1}, "q2": {"AP": AP_Q2},
    }
    found = report(capsys, f"{command} -c")["a.run"]
    assert found["per_query"] == {"q1": {"AP": AP_Q1}, "q2": {"AP": AP_Q2}, "q3": {"AP": 0}}
    assert found["mean"] == {"AP": pytest.approx((AP_Q1 + AP_Q2) / 3)}
    assert found["n_undefined"] == {"AP": 0}


def test_what_either_side_lacks_is_said_unless_quiet(files, capsys):
    assert run(capsys, "evaluate qrels a.run").err == (
        "skgraded: note: a.run: 1 of 3 judged queries (the first is 'q3') are missing from the run "
        "and are left out (use -c to count them).\n"
    )
    assert "and count as empty rankings" in run(capsys, "evaluate qrels a.run -c").err
    assert run(capsys, "evaluate qrels a.run --quiet").err == ""
    assert run(capsys, "evaluate qrels b.run").err == ""


def test_queries_without_judgments_are_left_out_in_the_same_note(files, capsys):
    (files / "more.run").write_text("q8 Q0 a 1 1 s\n" + RUN + "q9 Q0 a 1 1 s\n")
    for option in ([], ["-c"]):
        more = report(capsys, "evaluate qrels more.run --per-query", *option)
        without = report(capsys, "evaluate qrels a.run --per-query", *option)
        assert more["more.run"] == without["a.run"]
    (line,) = run(capsys, "compare qrels a.run more.run").err.splitlines()[1:]
    assert "(the first is 'q3')" in line and "(the first is 'q8') have no judgments" in line


def test_strict_refuses_what_would_be_left_out(files, capsys):
    (files / "more.run").write_text(OTHER + "\nq9 Q0 a 1 1 s\n")
    number = OTHER.count("\n") + 2
    for command in ("evaluate qrels more.run", "compare qrels b.run more.run"):
        error = refused(capsys, f"{command} --strict")
        assert f"more.run: line {number}: query 'q9' has no judgments in qrels" in error
    error = refused(capsys, "evaluate qrels a.run --strict")
    assert "a.run does not contain 1 of the 3 queries of qrels (the first is 'q3')" in error
    counted = report(capsys, "evaluate qrels a.run --strict -c")["a.run"]
    assert counted["n_queries"] == 3
    assert run(capsys, "evaluate qrels b.run --strict").err == ""


def test_warnings_of_the_reader_are_notes_and_not_errors(files, capsys):
    (files / "qrels").write_text(QRELS.replace("b 0", "b -2"))
    found = run(capsys, "compare qrels a.run b.run -c --format csv")
    notes = found.err.splitlines()
    assert len(notes) == 3 and all(note.startswith("skgraded: note:") for note in notes)
    assert "note: qrels: 1 of 6 grades are negative and were replaced by 0" in found.err
    (files / "bad").write_text("x")
    assert "bad: line 1" in refused(capsys, "evaluate qrels bad")


def test_the_same_as_the_library_on_merged_rows(files, capsys):
    """Unjudged documents have grade 0, those that were not retrieved score -inf."""
    rng = np.random.default_rng(0)
    pairs = [(f"q{q}", f"d{d}") for q in range(20) for d in range(30)]
    judged = {pair: int(rng.integers(-1, 4)) for pair in pairs if rng.random() < 0.5}
    scores = {pair: round(rng.normal(), 1) for pair in pairs if rng.random() < 0.5}
    lines = [f"{q} 0 {d} {grade}\n" for (q, d), grade in judged.items()]
    (files / "qrels").write_text("".join(rng.permutation(lines)))
    lines = [f"{q} Q0 {d} 0 {score} s\n" for (q, d), score in scores.items()]
    (files / "run").write_text("".join(rng.permutation(lines)))
    rows = sorted(set(judged) | set(scores))
    y_true = [max(judged.get(pair, 0), 0) for pair in rows]
    y_score = [scores.get(pair, -math.inf) for pair in rows]
    measures = ["ndcng@10", "mu_map", "ndcg@mean", "recall(threshold=2)@5", "kendalltau"]
    command = " -m ".join(["evaluate qrels run --per-query", *measures])
    found = report(capsys, command)["run"]["per_query"]
    for measure in map(sg.measure, measures):
        expected = measure.per_query(y_true, y_score, qid=[q for q, _ in rows])
        ours = [found[q][measure.name] for q in sorted(found)]
        np.testing.assert_allclose(ours, expected, rtol=1e-12)


def test_ties(files, capsys):
    (files / "tied").write_text("q1 Q0 b 1 1 s\nq1 Q0 a 1 1 s\nq1 Q0 zz 2 1 s\n")

    def reciprocal_rank(options=""):
        (found,) = report(capsys, f"evaluate qrels tied -m rr {options}")["tied"]["mean"].values()
        return found

    assert reciprocal_rank() == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert reciprocal_rank("--ties average") == reciprocal_rank()
    assert reciprocal_rank("--ties best") == 1
    assert reciprocal_rank("--ties worst") == 1 / 3
    assert reciprocal_rank("--ties ordinal") == 1 / 2
    assert reciprocal_rank("--ties trec") == 1 / 3  # zz, b, a


def test_ties_by_trec_keep_the_order_of_scores_and_the_name_of_the_measure(files, capsys):
    (files / "tied").write_text(
        "q1 Q0 a 1 inf s\nq1 Q0 z 2 5 s\nq1 Q0 c 3 5.0 s\nq1 Q0 y 4 -inf s\n"
    )
    found = report(capsys, "evaluate qrels tied -m ap --ties trec")["tied"]
    assert found["mean"] == {"AP": (1 / 1 + 2 / 3) / 2}
    (files / "tied").write_text("".join(f"q{q} Q0 {d} 1 -inf s\n" for q in "123" for d in "ab"))
    assert run(capsys, "evaluate qrels tied --ties trec").err == ""


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_queries_of_a_parquet_table_may_be_dates(files, unit):
    days = np.array(["2024-02-29", "2024-02-29", "2024-03-01"], dtype=f"M8[{unit}]")
    frame = pd.DataFrame({"query": days, "grade": [0, 1, 2], "score": [2.0, 1.0, 5.0]})
    frame.to_parquet("t.parquet")
    args = Namespace(
        files=["t.parquet"], measures=["rr"], ties=None, query=None, document=None, grade=None,
        scores=None, progress=False, unjudged_documents=None, judge=None,
    )
    evaluation = evaluate_files(args, print)["score"]
    np.testing.assert_array_equal(evaluation.query_ids, days[[0, 2]])
    assert evaluation.query_ids.dtype.kind == "M"
    assert evaluation.per_query["RR"].tolist() == [1 / 2, 1]


@pytest.mark.parametrize("form", ["table", "csv", "json", "markdown", "latex"])
def test_dates_are_printed_as_dates(files, capsys, form):
    days = ["2026-01-02T00:00:00.000000000", "2026-01-01T00:00:00.000000000"]
    frame = pd.DataFrame({
        "query": np.array(days, dtype="datetime64[ns]").repeat(2), "grade": [1, 0, 0, 1],
        "score": [2, 1, 2, 1], "other": [1, 2, 2, 1],
    })
    frame.to_parquet("t.parquet")
    options = f"t.parquet -m rr --per-query --format {form}"
    out = run(capsys, f"evaluate {options}").out
    assert [out.count(day) for day in days] == [1, 1]
    out = run(capsys, f"compare {options} --score-column score --score-column other").out
    n = 2 if form == "json" else 1  # there once a system
    assert [out.count(day) for day in days] == [n, n]


def test_queries_that_differ_are_named_as_dates_too():
    days = np.array(["2024-02-29", "2024-03-01"], dtype="M8[ns]")
    evaluations = {
        name: sg.evaluate([1] * n, [1] * n, qid=days[:n], measures="ap")
        for name, n in (("one", 1), ("two", 2))
    }
    with pytest.raises(ValueError, match="one does not contain 1 of the 2 .* of two .*2024-03-01"):
        cli._refuse_differing_queries(evaluations)


def test_several_runs_are_rows_under_the_names_of_their_files(files, capsys):
    (files / "sub").mkdir()
    (files / "sub" / "c.run").write_text(RUN)
    out = run(capsys, "evaluate qrels b.run sub/c.run -m map -m rr").out
    table, _, below = out.partition("\n\n")
    lines = [line.split() for line in table.splitlines()]
    assert lines[0] == ["run", "n_queries", "AP", "RR", "Judged@10"]
    assert lines[2][:2] == ["b.run", "3"] and lines[1] == [  # the best run first
        "c.run", "2", f"{(AP_Q1 + AP_Q2) / 2:.4f}", f"{(1 + AP_Q2) / 2:.4f}", "0.5833",
    ]
    assert below == ""
    assert len({len(line) for line in table.splitlines()}) == 1
    # Those that share a name are told apart by their folders.
    (files / "sub" / "b.run").write_text(RUN)
    assert list(report(capsys, "evaluate qrels b.run sub/b.run")) == ["b.run", "sub/b.run"]
    assert "only once; got b.run twice" in refused(capsys, "evaluate qrels b.run b.run")


def test_undefined_queries_are_counted_in_every_format(files, capsys):
    (files / "qrels").write_text(QRELS.replace("d 1", "d 0"))
    options = "evaluate qrels b.run -m map -m ap(threshold=2)"
    assert "b.run: AP 1, AP(threshold=2) 2." in run(capsys, options).out
    found = report(capsys, options)["b.run"]
    assert found["n_undefined"] == {"AP": 1, "AP(threshold=2)": 2}
    frame = pd.read_csv(io.StringIO(run(capsys, f"{options} --format csv").out))
    assert frame["n_undefined AP"].tolist() == [1]
    assert frame["n_undefined AP(threshold=2)"].tolist() == [2]
    # A mean of nothing is null.
    (files / "qrels").write_text("q1 0 a 0\n")
    (files / "b.run").write_text(OTHER.splitlines()[0])
    found = report(capsys, "evaluate qrels b.run -m ap(undefined=nan) --per-query")
    assert found["b.run"]["mean"] == {"AP(undefined=nan)": None}
    assert found["b.run"]["per_query"] == {"q1": {"AP(undefined=nan)": None}}


def test_formats(files, capsys):
    options = "evaluate qrels a.run b.run -m map"
    frame = pd.read_csv(io.StringIO(run(capsys, f"{options} --format csv").out))
    assert frame["AP"].tolist()[0] == (AP_Q1 + AP_Q2) / 2
    values = run(capsys, f"{options} --format csv --per-query").out
    frame = pd.read_csv(io.StringIO(values))
    assert frame["query"].tolist() == ["q1", "q2", "q1", "q2", "q3"]
    assert frame["run"].tolist() == ["a.run"] * 2 + ["b.run"] * 3
    assert frame["AP"].tolist()[:2] == [AP_Q1, AP_Q2]
    markdown = run(capsys, f"{options} --format markdown").out
    assert re.search(r"\| a.run +\| +2 \| 0.7917 \|", markdown)
    latex = run(capsys, f"{options} --format latex").out
    assert r"a.run & 2 & 0.7917 & 0.5833 \\" in latex and "%\n%" not in latex
    page = run(capsys, "evaluate qrels a.run -m map --format html").out
    assert page.startswith("<!") and "0.792" in page
    page = run(capsys, f"{options} -c --format html").out
    assert "a.run" in page and "b.run" in page
    assert "use -c" in refused(capsys, f"{options} --format html")


def test_output_goes_to_a_file(files, capsys):
    expected = run(capsys, "evaluate qrels b.run").out
    (files / "found.txt").write_text("old")
    (files / "also").hardlink_to(files / "found.txt")
    assert run(capsys, "evaluate qrels b.run --output found.txt").out == ""
    assert (files / "found.txt").read_text() == expected
    assert (files / "also").read_text() == "old"  # not written into, but replaced
    assert "No such file" in refused(capsys, "evaluate qrels b.run --output no/such")


# --------------------------------------------------------------------------------- compare


def test_compare_is_the_library_s(files, capsys):
    arguments = "compare qrels a.run b.run -c -m map --baseline a.run"
    frame = pd.read_csv(io.StringIO(run(capsys, f"{arguments} --format csv").out))
    values = run(capsys, f"{arguments} --format csv --per-query").out
    values = pd.read_csv(io.StringIO(values))
    assert values["a.run"].tolist() == [AP_Q1, AP_Q2, 0]
    assert values["b.run"].tolist() == [1 / 2, 1 / 2, 1]
    assert frame["difference"].tolist() == [pytest.approx((2 - AP_Q1 - AP_Q2) / 3)]
    assert frame["p_value"].tolist() == [1]  # of 2^3 sign flips, 0.21 and more to either side
    assert frame[["wins", "ties", "losses"]].values.tolist() == [[1, 0, 2]]


def test_compare_in_other_formats(files, capsys):
    arguments = "compare qrels a.run b.run -c -m map --test t"
    found = report(capsys, arguments)
    assert found["a.run"]["mean"] == {"AP": pytest.approx((AP_Q1 + AP_Q2) / 3)}
    (row,) = found["b.run"]["compared"]
    assert row["baseline"] == "a.run" and row["measure"] == "AP" and row["p_value"] < 1
    out = run(capsys, f"{arguments} --per-query").out
    assert out.startswith(
        "b.run leads by AP; not significantly better than a.run. Judged@10 is 1.000 for b.run but "
        "0.389 for a.run: "
    )
    assert "\n3 queries; 95 % intervals; paired t-test.\n" in out
    assert "q3" in out and "- b.run and a.run do not differ significantly by AP: 0.6" in out
    assert "| b.run" in run(capsys, f"{arguments} --format markdown").out
    assert r"\toprule" in run(capsys, f"{arguments} --format latex").out
    assert "a.run" in run(capsys, f"{arguments} --format html").out
    untested = run(capsys, arguments.removesuffix("t"), "none").out
    assert "p_value" not in untested and "95 % intervals; no test.\n" in untested


def test_sentences_are_wrapped_to_the_width_of_the_terminal(files, capsys, monkeypatch):
    arguments = "compare qrels a.run b.run -c -m map"
    plain = run(capsys, arguments).out
    assert max(map(len, plain.splitlines())) > 150  # a pipe gets one line per sentence
    monkeypatch.setenv("COLUMNS", "60")
    out = run(capsys, arguments).out
    board, _, prose = out.partition("* best")
    assert max(map(len, prose.splitlines()[3:])) > 60  # tables keep their columns
    sentences = prose[prose.index("3 queries; ") :].splitlines()
    assert 50 < max(map(len, sentences)) <= 60
    first, *others = sentences[sentences.index("By AP:") + 1 :]
    assert first.startswith("- ") and all(line.startswith("  ") for line in others)
    assert " ".join(out.split()) == " ".join(plain.split())
    assert run(capsys, f"{arguments} --output found.txt").out == ""
    assert (files / "found.txt").read_text() == plain


def test_a_page_is_named_after_the_run_or_the_title(files, capsys):
    page = run(capsys, "evaluate qrels a.run --format html").out
    assert "<h1>a.run</h1>" in page and "<title>a.run</title>" in page
    page = run(capsys, "evaluate qrels a.run --format html --title", "B <1>").out
    assert "<h1>B &lt;1&gt;</h1>" in page
    (files / "t.csv").write_text(TABLE)
    assert "<h1>t.csv: score</h1>" in run(capsys, "evaluate t.csv --format html").out
    page = run(capsys, "evaluate qrels a.run b.run -c --format html").out
    assert "<h1>Comparison of 2 systems</h1>" in page
    page = run(capsys, "compare qrels a.run b.run -c --format html --title C").out
    assert "<h1>C</h1>" in page
    assert "--title sets the title of the HTML page: add --format html" in refused(
        capsys, "evaluate qrels a.run --title C"
    )


@pytest.fixture
def many(files):
    """Six systems in columns of a table: the first three put the relevant documents first."""
    rows = [
        {"query": query, "grade": grade, **{
            f"s{i}": float(grade if i < 3 else -grade) + 1e-9 * i for i in range(6)
        }}
        for query in range(40) for grade in (0, 1)
    ]
    pd.DataFrame(rows).to_csv(files / "many.csv", index=False)
    return "compare many.csv -m rr -m ap" + "".join(f" --score-column s{i}" for i in range(6))


def test_many_pairs_are_lists_of_who_beats_whom(many, capsys):
    out = run(capsys, many).out
    for measure in ("RR", "AP"):
        below = out.split(f"By {measure}:\n")[1].splitlines()
        assert below[0] == "- 9 of 15 pairs differ significantly."
        assert below[1:4] == [f"- s{i} is better than s3, s4, s5." for i in range(3)]
        assert not below[4].startswith("-")
    assert "p_adjusted" in out and max(map(len, out.splitlines())) < 120
    assert "For a sentence per pair, use --format html" in out
    out = run(capsys, f"{many} --baseline s3 -m ndcg").out
    below = out.split("By RR:\n")[1].splitlines()
    assert below[:4] == [
        "- 3 of 5 pairs differ significantly.", *(f"- s{i} is better than s3." for i in range(3))
    ]


def test_the_table_of_very_many_pairs_is_left_to_files(many, capsys):
    out = run(capsys, f"{many} -m ndcg").out  # 45 rows
    assert "p_adjusted" not in out and "for all values, csv or json" in out
    assert "p_adjusted" in run(capsys, f"{many} -m ndcg --format csv").out
    assert "- 15 pairs, not tested." in run(capsys, f"{many} --test none").out


def test_the_baseline_may_be_given_as_a_path(files, capsys):
    (files / "sub").mkdir()
    (files / "sub" / "c.run").write_text(OTHER)
    out = run(capsys, "compare qrels b.run sub/c.run --baseline sub/c.run").out
    assert "the baseline c.run" in out and "  baseline  " not in out
    error = refused(capsys, "compare qrels b.run sub/c.run --baseline c.rum")
    assert "Did you mean 'c.run'" in error


def test_compare_needs_the_same_queries_and_two_runs(files, capsys):
    error = refused(capsys, "compare qrels a.run b.run")
    assert "a.run does not contain 1 of the 3 judged queries of b.run (the first is 'q3')" in error
    assert "compare requires at least two runs" in refused(capsys, "compare qrels b.run")


# ------------------------------------------------------------------------------- LETOR files

LETOR = "# two queries\n2 qid:1 1:0.5 #docid = a\n0 qid:1 1:0.1 #docid = b\n\n1 qid:7 #docid = a\n"


def test_a_letor_file_and_scores(files, capsys):
    (files / "test.letor").write_text(LETOR)
    (files / "s1.txt").write_text("1\n2\n3")
    (files / "s2.txt").write_text("5e-1\n-2\n-inf\n")
    found = report(capsys, "evaluate test.letor s1.txt s2.txt -m rr --per-query")
    assert found["s1.txt"]["per_query"] == {"1": {"RR": 1 / 2}, "7": {"RR": 1}}
    assert found["s2.txt"]["per_query"] == {"1": {"RR": 1}, "7": {"RR": 0}}
    (files / "tied.txt").write_text("1\n1\n1\n")
    trec = report(capsys, "evaluate test.letor tied.txt -m rr --ties trec")
    assert trec["tied.txt"]["mean"] == {"RR": (1 / 2 + 1) / 2}
    (files / "test.letor").write_text("1 qid:1 1:1\n" * 3)
    assert "--ties trec requires all document" in refused(
        capsys, "evaluate test.letor tied.txt --ties trec"
    )


@pytest.mark.parametrize(
    "letor, scores, problem",
    [
        (LETOR, "1\n2\n", "scores: line 3: .*; got 2 scores for the 3 rows of test.letor"),
        (LETOR, "1\n2\n3\n4\n", "scores: line 4: expected one score per row; got 4 scores for"),
        (LETOR, "1\n\n3\n", "scores: line 2: each line must contain one number, the score; got ''"),
        (LETOR, "1\nnan\n3\n", "scores: line 2: each line must contain one number, .*; got 'nan'"),
        (LETOR, "1\n1_0\n3\n", "scores: line 2: each line must contain one number, .*; got '1_0'"),
        (LETOR, "1\n2 3\n3\n", "scores: line 2: .*got '2 3'"),
        (LETOR, "", "scores: the file contains no scores"),
        (LETOR.replace("1 qid:7", "-1 qid:7"), "1\n2\n3\n", "test.letor: line 5: the grade -1 is"),
        (LETOR.replace("1:0.1", "1:x"), "1\n2\n3\n", "test.letor: line 3: a feature must have"),
    ],
)
def test_bad_letor_files_and_scores(files, capsys, letor, scores, problem):
    (files / "test.letor").write_text(letor)
    (files / "scores").write_text(scores)
    assert re.search(problem, refused(capsys, "evaluate test.letor scores"))


# ----------------------------------------------------------------------------------- tables

CSV = "q,doc,label,bm25,lgbm\n007,a,2,1,0.5\n007,b,0,2,0.25\n7,a,1,-1,inf\n"
COLUMNS = "--query-column q --grade-column label --score-column bm25 --score-column lgbm"


@pytest.mark.parametrize("form", ["csv", "csv.gz", "tsv", "quoted", "parquet"])
def test_tables_of_named_columns(files, capsys, form):
    path = files / f"table.{form}"
    frame = pd.read_csv(io.StringIO(CSV), dtype={"q": str})
    match form:
        case "csv":
            path.write_text(CSV)
        case "csv.gz":
            path.write_bytes(gzip.compress(CSV.encode()))
        case "tsv":
            path.write_text(CSV.replace(",", "\t"))
        case "quoted":
            frame.to_csv(path, index=False, quoting=1)
        case "parquet":
            frame.to_parquet(path)
    found = report(capsys, f"evaluate {path.name} {COLUMNS} -m rr --per-query")
    assert found["bm25"]["per_query"] == {"007": {"RR": 1 / 2}, "7": {"RR": 1}}
    assert found["lgbm"]["mean"] == {"RR": 1}
    compared = report(capsys, f"compare {path.name} {COLUMNS} -m rr --baseline bm25")
    assert compared["lgbm"]["compared"][0]["difference"] == 1 / 4


def test_a_threshold_is_one_of_grades_of_few_bits(files, capsys):
    frame = pd.DataFrame({"query": [1, 1], "grade": np.array([0, 5 / 6], "f4"), "score": [2, 1]})
    frame.to_parquet(files / "t.parquet")
    found = report(capsys, "evaluate t.parquet -m", f"rr(threshold={5 / 6!r})")
    assert list(found["score"]["mean"].values()) == [1 / 2]


def test_tables_have_names_by_default_and_parquet_keeps_types(files, capsys):
    frame = pd.DataFrame({"query": [7, 7, 8], "grade": [0, 1, 2], "score": [2.0, 1.0, 5.0]})
    frame.to_parquet(files / "t.parquet")
    frame.to_csv(files / "t.csv", index=False)
    found = report(capsys, "evaluate t.parquet -m rr --per-query")
    assert found == report(capsys, "evaluate t.csv -m rr --per-query")
    assert found["score"]["per_query"] == {"7": {"RR": 1 / 2}, "8": {"RR": 1}}
    frame.set_index("query").to_parquet(files / "t.parquet")
    assert found == report(capsys, "evaluate t.parquet -m rr --per-query")


def test_documents_of_a_table(files, capsys):
    (files / "t.csv").write_text("query,document,grade,score\n1,a,1,1\n1,b,0,1\n1,c,0,1\n")
    found = report(capsys, "evaluate t.csv --document-column document --ties trec -m rr")
    assert found["score"]["mean"] == {"RR": 1 / 3}  # ties as trec_eval orders them
    # They may be called true beside numbers of 0 and 1.
    (files / "t.csv").write_text("query,grade,score,document\nq,1,1,True\nq,0,0,false\n")
    assert report(capsys, "evaluate t.csv -m rr")["score"]["mean"] == {"RR": 1}


@pytest.mark.parametrize(
    "old, new, problem",
    [
        ("label", "grade", "line 1: there is no column 'label'; the columns are 'q', 'doc'"),
        ("b,0,2", "b,0,x", "line 3: bm25 must be a number; got 'x'"),
        ("b,0,2", "b,0,", "line 3: bm25 must be a number; got ''"),
        ("b,0,2", "b,0,nan", "line 3: bm25 must be a number; got 'nan'"),
        ("b,0,2", "b,,2", "line 3: label must be a number; got ''"),
        ("b,0,2", "b,-1,2", "line 3: grades must be finite and ≥ 0; label is -1. Shift"),
        ("b,0,2", "b,0,2,3", "line 3: the row has 6 columns, but the first line has 5"),
        ("b,0,2", 'b,0,"2",3', "line 3: the row has 6 columns, but the first line has 5"),
        ("b,0,2,0.25", "b,0,2", "line 3: the row has 4 columns, but the first line has 5"),
        ("007,b", ",b", r"line 3: the query \(q\) is missing"),
        ("007,b", "007,a", "line 3: query '007' already contains document 'a' at line 2"),
        ("007,b", '"a\n",b', "line 5: .*'oh'"),
        ("\n007,a,2", "\n\n007,a,oh", "line 3: label must be a number; got 'oh'"),
        (CSV, f"\ufeff{CSV}7,b,oh,1,1\n", "line 5: label must be a number; got 'oh'"),
    ],
)
def test_bad_lines_of_tables_are_named(files, capsys, old, new, problem):
    text = CSV.replace(old, new, 1)
    if old == "007,b" and "'oh'" in problem:
        text = text.replace("7,a,1", "7,a,oh")
    (files / "t.csv").write_text(text)
    error = refused(capsys, f"evaluate t.csv {COLUMNS} --document-column doc")
    assert re.match(f"skgraded: t.csv: {problem}", error)


def scores_of(path):
    return read_columns(path, Names("query", "grade", ["score"])).scores["score"].tolist()


@pytest.mark.parametrize("quote", ["", '"'])
def test_scores_of_a_table_are_the_numbers_that_were_written(tmp_path, quote):
    values = doubles(24_000)
    lines = [f"{quote}q{quote},1,{quote}{value!r}{quote}\n" for value in values]
    (tmp_path / "t.csv").write_text("query,grade,score\n" + "".join(lines))
    assert scores_of(tmp_path / "t.csv") == values


def test_numbers_of_a_table_are_read_as_python_reads_them(files, capsys):
    words = ["1e400", "-1e400", "Infinity", "+1", " 2 ", ".5", "5.", "1e-400", "00012"]
    lines = [f"q,1,{word}\n" for word in words]
    (files / "t.csv").write_text("query,grade,score\n" + "".join(lines))
    assert scores_of(files / "t.csv") == [float(word) for word in words]
    for word in ("True", "FALSE", "0x10", "1_0", "1d5", "１", "nan(1)", "1 2"):
        (files / "t.csv").write_text(f"query,grade,score\nq,1,{word}\nq,0,{word}\n")
        assert refused(capsys, "evaluate t.csv").startswith(
            f"skgraded: t.csv: line 2: score must be a number; got {word!r}"
        )


@pytest.mark.parametrize(
    "text",
    [
        'query,document,grade,score\n"a,b","x ""y""",1,2\n"a,b","line\nfeed",0,1\n',
        'query,document,grade,score\r\n"a,b","x ""y""",1,2\r\n\r\n"a,b","line\nfeed",0,1',
        '\ufeffquery,document,grade,score\n"a,b","x ""y""",1,2\n  \n"a,b","line\nfeed",0,1\n',
        '\ufeff"query",document,grade,score\n"a,b","x ""y""",1,2\n"a,b","line\nfeed",0,1\n',
    ],
)
def test_quoted_cells_blank_lines_and_a_bom(tmp_path, text):
    (tmp_path / "t.csv").write_bytes(text.encode())
    table = read_columns(tmp_path / "t.csv", Names("query", "grade", ["score"], "document"))
    assert table.query.tolist() == ["a,b"] * 2
    assert table.document.tolist() == ['x "y"', "line\nfeed"]
    assert table.grade.tolist() == [1, 0] and table.scores["score"].tolist() == [2, 1]


def test_the_seed_is_that_of_the_test_and_the_bootstrap(files, capsys):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({
        "query": np.arange(120) // 4, "grade": rng.integers(0, 3, 120), "a": rng.random(120),
        "b": rng.random(120),
    })
    frame.to_csv(files / "t.csv", index=False)
    systems = {
        name: sg.evaluate(frame["grade"], frame[name], qid=frame["query"], measures="ndcg")
        for name in "ab"
    }
    command = "compare t.csv --score-column a --score-column b -m ndcg"
    for seed in (0, 7):
        (found,) = report(capsys, f"{command} --seed {seed}")["b"]["compared"]
        expected = sg.compare(systems, rng=seed).to_frame()
        for name in ("p_value", "ci_low", "ci_high"):
            assert found[name] == expected[name][0]
    assert found["p_value"] != sg.compare(systems, rng=0).to_frame()["p_value"][0]
    (found,) = report(capsys, f"{command} --resamples 199")["b"]["compared"]
    assert found["p_value"] == sg.compare(systems, rng=0, n_resamples=199).to_frame()["p_value"][0]
    assert found["p_value"] * 200 % 2 == 0


def test_an_output_over_an_input_is_refused(files, capsys, monkeypatch):
    (files / "t.csv").write_text(TABLE)
    (files / "link.csv").symlink_to(files / "t.csv")
    (files / "hard.csv").hardlink_to(files / "t.csv")
    for output in ("t.csv", "./t.csv", "link.csv", "hard.csv"):
        said = refused(capsys, "evaluate t.csv --output", output)
        assert f"--output {output} is also an input file" in said
    with open("t.csv") as file:
        monkeypatch.setattr(sys, "stdin", file)
        said = refused(capsys, "evaluate - --score-column score --output t.csv")
    assert "--output t.csv is also an input file" in said and (files / "t.csv").read_text() == TABLE
    read, write = os.pipe()
    run(capsys, "evaluate t.csv --output", f"/dev/fd/{write}")
    assert b"NDCNG@10" in os.read(read, 1000)
    os.close(read)
    os.close(write)


@pytest.mark.parametrize("path", ["[scores]", "[[]scores]/*.parquet"])
def test_an_output_over_a_file_of_a_folder_is_refused(files, capsys, path):
    (files / "[scores]").mkdir()
    frame = pd.DataFrame({"query": [1, 1], "grade": [0, 1], "score": [2.0, 1.0]})
    frame.to_parquet(files / "[scores]" / "0.parquet")
    assert "also an input file" in refused(capsys, f"evaluate {path} --output [scores]/0.parquet")
    run(capsys, f"evaluate {path} --output [scores]/found.txt")


def test_ties_of_trec_eval_with_another_gain_are_noted(files, capsys):
    command = "evaluate qrels a.run b.run --ties trec -m ndcg -c"
    assert [line for line in run(capsys, command).err.splitlines() if "gain" in line] == [
        "skgraded: note: NDCG uses the gain 2^r - 1; the ndcg of trec_eval is ndcg(gain='linear')."
    ]
    note = run(capsys, "evaluate qrels b.run --ties trec -m ndcg@10").err
    assert note.endswith("NDCG@10 uses the gain 2^r - 1; the ndcg of trec_eval is "
                         "ndcg(gain='linear')@10.\n")
    assert "gain" in run(capsys, f"{command} -m ndcg@5".replace("evaluate", "compare")).err
    for silent in ("--ties trec -m ndcg_cut_10", "--ties trec -m ndcng@10", "--ties worst -m ndcg",
                   "--ties trec -m ndcg --quiet"):
        assert run(capsys, f"evaluate qrels b.run {silent}").err == ""


def test_names_of_trec_eval_are_measures(files, capsys):
    mean = report(capsys, "evaluate qrels b.run -m P_5 -m recall_5 -m ndcg_cut_5 -m recip_rank")
    assert list(mean["b.run"]["mean"]) == [
        "Precision@5", "Recall@5", "NDCG(gain='linear')@5", "RR",
    ]
    said = refused(capsys, "evaluate qrels b.run -m map_cut_20")
    assert "map_cut_20 divides by the number R of relevant documents" in said
    assert "Did you mean" not in refused(capsys, "evaluate qrels b.run -m num_q")


def test_a_column_of_a_table_gets_the_nearest_as_a_suggestion(files, capsys):
    (files / "t.csv").write_text("query,grade,score,country\nq,0,2,DE\n")
    said = refused(capsys, "evaluate t.csv --score-column scoer")
    assert "there is no column 'scoer'" in said and "Did you mean 'score'?" in said
    (files / "t.csv").write_text("query,grade,country\nq,0,DE\n")
    assert "Did you mean" not in refused(capsys, "evaluate t.csv --score-column scoer")


def test_measures_are_listed_with_a_line_each_and_the_names_of_trec_eval(capsys):
    assert main(["measures"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in sg.measures.MEASURES:
        (line,) = [one for one in lines if one.split(" ")[0] == name]
        assert len(line.split("  ")[-1]) > 20
    assert any(line.startswith("RR ") and "mrr, recip_rank" in line for line in lines)


def test_options_that_are_no_such_numbers_are_named(capsys):
    for option, least, value in (
        ("--seed", 0, "-1"), ("--seed", 0, "x"), ("--resamples", 100, "99")
    ):
        said = refused(capsys, "compare a b c", option, value)
        assert f"argument {option}: must be an integer ≥ {least}; got {value}" in said


HOSTILE = "q\x1b[31m\u202e\x9b1m"


def test_what_a_terminal_would_obey_is_shown(files, capsys, monkeypatch):
    rows = "".join(f"{HOSTILE},{grade},{grade}\n" for grade in (0, 1))
    (files / "t.csv").write_text(f"query,grade,score\n{rows}", encoding="utf-8")

    def printed(form):
        return run(capsys, "evaluate t.csv --per-query -m rr --format", form).out

    for form in ("table", "markdown", "latex", "json"):
        assert not set("\x1b\u202e\x9b") & set(printed(form)), form
        assert "u202e" in printed(form) and "u001b" in printed(form)
    # So do errors.
    assert "--no=\\u001b\\u202e" in refused(capsys, "evaluate q r", "--no=\x1b\u202e")
    said = refused(capsys, "evaluate", "no\x1b[2Jthing\udc80.csv")
    assert "\\u001b[2J" in said and "\\udc80" in said and "\x1b" not in said
    assert HOSTILE in printed("csv")  # ids as they are, but for a terminal
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for form in ("csv", "html"):
        assert not set("\x1b\u202e\x9b") & set(printed(form)), form


@pytest.mark.parametrize("packed, pack", [("bz2", bz2.compress), ("xz", lzma.compress)])
def test_packed_files_are_read(files, capsys, packed, pack):
    (files / f"t.csv.{packed}").write_bytes(pack(TABLE.encode()))
    found = report(capsys, f"evaluate t.csv.{packed} -m recip_rank")
    assert found["score"]["mean"] == {"RR": 0.5}
    (files / f"cut.csv.{packed}").write_bytes(pack(TABLE.encode())[:-9])
    assert "data are damaged or truncated" in refused(capsys, f"evaluate cut.csv.{packed}")
    (files / "t.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    said = refused(capsys, "evaluate t.csv.zst")
    assert "t.csv.zst: line 1: the file is compressed with Zstandard" in said


def test_a_line_without_end_is_refused_in_bounded_memory(files, capsys):
    (files / "bomb.gz").write_bytes(gzip.compress(b"x" * (1 << 20), 1) * 256)
    (files / "run").write_text("q Q0 d 1 1 s\n")
    tracemalloc.start()
    said = refused(capsys, "evaluate bomb.gz run")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "bomb.gz: line 1: a line must not be larger than 16,777,216 bytes" in said
    assert peak < 100e6


def test_a_table_whose_lines_end_in_cr_alone_is_read_or_refused_without_a_traceback(files, capsys):
    (files / "t.csv").write_text(TABLE.replace("\n", "\r"))
    code = main(["evaluate", "t.csv", "-m", "rr"])
    said = capsys.readouterr()
    assert code == 0 and "0.5" in said.out or code == 2 and said.err.count("\n") == 1


@pytest.mark.parametrize("line, message", [
    ("SKGRADED evaluate - --score-column score <&-", "standard input is closed"),
    ("SKGRADED evaluate t.csv >&-", "standard output is closed"),
])
def test_closed_streams_are_named(files, line, message):
    (files / "t.csv").write_text("query,grade,score\nq,1,2\n")
    assert message in refused_in_one_line(shell(line))


def test_bad_tables(files, capsys):
    def said(options="", kind="csv"):
        return refused(capsys, f"evaluate t.{kind} {options}")

    (files / "t.csv").write_text("")
    assert "t.csv: line 1: the file is empty" in said()
    (files / "t.csv").write_text("query,grade,score\n")
    assert "t.csv: line 2: the table contains no rows" in said()
    (files / "t.csv").write_text("query,grade,score,score\nq,1,2,3\n")
    assert "t.csv: line 1: there are 2 columns named 'score'" in said()
    (files / "t.csv").write_text('query,grade,score,note\n"q",1,2,x\n"q",0,1\n')
    assert "t.csv: line 3: the row has 3 columns, but the first line has 4" in said()
    (files / "t.csv").write_bytes(b"\x00\xff\x01")
    assert "t.csv: line 1: the file is neither UTF-8 text" in said()
    (files / "t.csv").write_bytes(b"query,grade,score\n1,1,1\n\xff,1,1\n")
    assert "UTF-8" in said()
    (files / "t.parquet").write_bytes(b"PAR1 and nothing else")
    assert "t.parquet: the Parquet file cannot be read" in said(kind="parquet")
    frame = pd.DataFrame({"query": [1, 1], "grade": [1.0, -1.0], "score": [1.0, np.nan]})
    frame.to_parquet(files / "t.parquet")
    assert "t.parquet: column 'grade' must contain only grades ≥ 0; got -1" in said(kind="parquet")
    frame.abs().to_parquet(files / "t.parquet")
    assert "column 'score' contains a missing value or NaN in row 1" in said(kind="parquet")
    assert "no column 'x'" in said("--score-column x", "parquet")
    named = pd.DataFrame({"query": [1, 2, 1], "grade": 1, "score": 1, "document": ["a", "a", "a"]})
    named.to_parquet(files / "t.parquet")
    twice = "t.parquet: row 2: the query contains this document twice"
    assert twice in said("--document-column document", "parquet")
    assert "To add systems, use --score-column" in said("b.run", "parquet")


# ---------------------------------------------------------------------------------- bad files


@pytest.mark.parametrize(
    "text, problem",
    [
        (OTHER.replace("q2 Q0 a 1 5 t", "q2 Q0 a 1 5"), "bad: line 2: a line of a run must have 6"),
        (OTHER + "q1 Q0 a 1 2 t", "line 5: query 'q1' already contains document 'a' at line 1"),
        ("\nx Q0 a 1 2 t", "qrels and bad have no query in common: for example, qrels contains"),
    ],
)
def test_bad_runs(files, capsys, text, problem):
    (files / "bad").write_text(text)
    assert re.search(problem, refused(capsys, "evaluate qrels bad"))


def test_files_that_cannot_be_read(files, capsys):
    packed = gzip.compress(("".join(f"q1 Q0 {i} 1 {i} s\n" for i in range(99))).encode())
    (files / "cut.gz").write_bytes(packed[:-20])
    for command in ("evaluate qrels cut.gz", "evaluate cut.gz b.run"):
        error = refused(capsys, command)
        assert re.match(r"skgraded: cut.gz: line \d+: the gzip data are damaged", error)
    assert refused(capsys, "evaluate qrels none") == "skgraded: none: No such file or directory\n"
    assert "No such file" in refused(capsys, "evaluate none b.run")
    assert f"{files}: Is a directory" in refused(capsys, "evaluate qrels", str(files))
    assert f"{files}: Is a directory" in refused(capsys, "evaluate", str(files), "b.run")


def test_bad_arguments(files, capsys):
    error = refused(capsys, "evaluate qrels b.run -m ndcgn")
    assert "Unknown measure 'ndcgn'. Did you mean NDCG?" in error
    assert "AP twice" in refused(capsys, "evaluate qrels b.run -m map -m ap")
    assert "at least one run after the qrels" in refused(capsys, "evaluate qrels")
    assert "only one of the files" in refused(capsys, "evaluate - -")
    assert "invalid choice: 'yaml'" in refused(capsys, "evaluate qrels b.run --format yaml")
    assert "--help" in refused(capsys, "evaluate")
    assert "--help" in refused(capsys, "")


# --------------------------------------------------------------------------- the real command


def test_the_real_command_refuses_in_one_line(files):
    said = refused_in_one_line(shell("echo q1 Q0 a 1 x t | gzip | SKGRADED evaluate qrels -"))
    assert said == "skgraded: <stdin>: line 1: the score must be a number; got 'x'.\n"


def test_a_reader_that_has_seen_enough_is_no_error(files):
    rows = [f"{q} 0 d 1\n" for q in range(8_000)]
    (files / "qrels").write_text("".join(rows))
    (files / "run").write_text("".join(row.replace(" 1\n", " 1 1 s\n") for row in rows))
    line = "SKGRADED evaluate qrels run --per-query --format csv"
    done = shell(f"{line} | head -n 1; echo ${{PIPESTATUS[0]}}")
    assert done.stdout.splitlines() == ["run,query,NDCNG@10,MuAP", "0"] and done.stderr == ""


# Parquet files of any size -----------------------------------------------------------------------

@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of three files of one table, and the table."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "query": np.repeat(np.arange(30), 8), "grade": rng.integers(0, 3, 240),
        "score": rng.normal(size=240), "other": rng.normal(size=240),
    })
    (tmp_path / "scores").mkdir()
    for i in range(3):
        frame[80 * i : 80 * (i + 1)].to_parquet(tmp_path / "scores" / f"{i}.parquet")
    return frame


@pytest.mark.parametrize("path, partitioning", [
    ("scores", "shuffle"), ("scores/*.parquet", "clustered"), ("scores", "whole"),
])
def test_a_folder_or_a_pattern_of_parquet_files(folder, capsys, path, partitioning):
    found = report(capsys, f"evaluate {path} --partitioning {partitioning}")
    expected = sg.evaluate(folder["grade"], folder["score"], qid=folder["query"])
    assert list(found) == ["score"] and found["score"]["n_queries"] == 30
    assert found["score"]["mean"] == pytest.approx(expected.mean(), rel=1e-14)
    assert found["score"]["n_undefined"] == expected.n_undefined


@pytest.mark.parametrize("form", ["table", "csv", "markdown", "latex", "html"])
def test_a_folder_in_every_format(folder, capsys, form):
    columns = "--score-column score --score-column other"
    one = run(capsys, f"evaluate scores --format {form}").out
    both = run(capsys, f"evaluate scores --format {form} {columns}").out
    compared = run(capsys, f"compare scores --test t --format {form} {columns}").out
    assert "NDCNG@10" in one and "other" in both and "other" in compared


def test_systems_of_a_folder_are_compared(folder, capsys):
    columns = "--score-column score --score-column other"
    found = report(capsys, f"compare scores {columns} -m ndcng@10 --baseline score")
    expected = sg.compare({
        name: sg.evaluate(
            folder["grade"], folder[name], qid=folder["query"], measures="ndcng@10"
        )
        for name in ("score", "other")
    }, baseline="score", test="t", rng=0).to_frame()
    (compared,) = found["other"]["compared"]
    for name in ("difference", "p_value", "wins"):
        assert compared[name] == pytest.approx(expected[name].item(), rel=1e-9)


def test_a_folder_is_refused_in_one_line(folder, capsys):
    for words, message in {
        "evaluate nothing/*.parquet": "no Parquet or CSV file found",
        "evaluate scores --grade-column grades": "There is no column 'grades'",
        "evaluate scores --per-query": "--per-query is not available for folders",
        "evaluate scores --ties trec": "--ties trec is not available for folders",
        f"evaluate scores{' --score-column score' * 2}": "got --score-column score twice",
        "compare scores --score-column score --score-column other --test wilcoxon": "use test='t'",
        "compare scores --test t": "requires at least two --score-column options",
    }.items():
        assert message in refused(capsys, words), words
