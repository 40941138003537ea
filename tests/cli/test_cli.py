"""The commands evaluate and compare: values, formats, and where the output goes."""

import bz2
import gzip
import io
import lzma
import os
import re
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from commands import FILES, refused, report, run

import skgraded as sg
from skgraded.cli import main

AP_Q1 = (1 / 1 + 2 / 3) / 2
AP_Q2 = (1 / 1 + 1 / 2) / 2


# Qrels and runs ----------------------------------------------------------------------------------


def test_json_is_as_documented(capsys):
    assert report(capsys, "evaluate qrels a.run -m map -m rr") == {
        "a.run": {
            "mean": {"AP": (AP_Q1 + AP_Q2) / 2, "RR": (1 + AP_Q2) / 2},
            "n_queries": 2,
            "n_undefined": {"AP": 0, "RR": 0},
            "judged": {"Judged@10": pytest.approx((2 / 3 + 1 / 2) / 2)},
        }
    }


def test_queries_missing_from_a_run_are_left_out_or_count_as_empty(capsys):
    command = "evaluate qrels a.run -m map --per-query"
    values = {"q1": {"AP": AP_Q1}, "q2": {"AP": AP_Q2}}
    assert report(capsys, command)["a.run"]["per_query"] == values
    counted = report(capsys, f"{command} -c")["a.run"]
    assert counted["per_query"] == values | {"q3": {"AP": 0}}
    assert counted["mean"] == {"AP": pytest.approx((AP_Q1 + AP_Q2) / 3)}
    assert counted["n_undefined"] == {"AP": 0}
    assert report(capsys, "evaluate qrels a.run --strict -c")["a.run"]["n_queries"] == 3


def test_notes_name_queries_that_are_missing_from_either_file(files, capsys):
    assert run(capsys, "evaluate qrels a.run").err == (
        "skgraded: note: a.run: 1 of 3 judged queries (the first is 'q3') are missing from the run "
        "and are left out (use -c to count them).\n"
    )
    assert "and count as empty rankings" in run(capsys, "evaluate qrels a.run -c").err
    for silent in ("a.run --quiet", "b.run", "b.run --strict"):
        assert run(capsys, f"evaluate qrels {silent}").err == ""
    # Queries without judgments are left out, and named in the same note.
    more = "q8 Q0 a 1 1 a.run\n" + FILES["a.run"] + "q9 Q0 a 1 1 a.run\n"
    (files / "more.run").write_text(more.replace("a.run", "more"))
    for option in ([], ["-c"]):
        more = report(capsys, "evaluate qrels more.run --per-query", *option)
        without = report(capsys, "evaluate qrels a.run --per-query", *option)
        assert more["more"] == without["a.run"]
    (line,) = run(capsys, "compare qrels more.run a.run").err.splitlines()
    assert "note: 2 of 2 runs contain other queries than the judgments. The first, more:" in line
    assert "(the first is 'q3')" in line and "(the first is 'q8') have no judgments" in line
    (files / "twin.run").write_text(FILES["a.run"].replace("a.run", "twin"))
    (line,) = run(capsys, "evaluate qrels a.run twin.run").err.splitlines()
    assert "note: 2 runs, such as a.run: 1 of 3 judged queries" in line


def test_warnings_of_readers_become_notes(files, capsys):
    (files / "qrels").write_text(FILES["qrels"].replace("b 0", "b -2"))
    notes = run(capsys, "compare qrels a.run b.run -c --format csv").err.splitlines()
    assert len(notes) == 3 and all(note.startswith("skgraded: note:") for note in notes)
    assert any("qrels: 1 of 6 grades are negative, which means" in n for n in notes)


def test_ties(files, capsys):
    (files / "tied").write_text("q1 Q0 b 1 1 s\nq1 Q0 a 1 1 s\nq1 Q0 zz 2 1 s\n")

    def reciprocal_rank(options=""):
        (value,) = report(capsys, f"evaluate qrels tied -m rr {options}")["s"]["mean"].values()
        return value

    assert reciprocal_rank() == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert reciprocal_rank("--ties average") == reciprocal_rank()
    assert reciprocal_rank("--ties best") == 1
    assert reciprocal_rank("--ties worst") == 1 / 3
    assert reciprocal_rank("--ties ordinal") == 1 / 2
    assert reciprocal_rank("--ties trec") == 1 / 3  # zz, b, a
    assert list(report(capsys, "evaluate qrels tied -m ap --ties trec")["s"]["mean"]) == ["AP"]


def test_runs_are_named_after_their_tag_or_their_file(files, capsys):
    (files / "sub").mkdir()
    for name in ("input.c", "d.run.gz", "a.run"):
        pack = gzip.compress if name.endswith("gz") else bytes
        (files / "sub" / name).write_bytes(pack(FILES["a.run"].encode()))
    out = run(capsys, "evaluate qrels b.run sub/input.c sub/d.run.gz -m map -m rr").out
    lines = [line.split() for line in out.splitlines()]
    row = ["2", f"{(AP_Q1 + AP_Q2) / 2:.4f}", f"{(1 + AP_Q2) / 2:.4f}", "0.5833"]
    assert (
        lines[:4]
        == [  # the best run first
            ["run", "n_queries", "AP", "RR", "Judged@10"],
            ["c", *row],
            ["d", *row],
            ["b.run", "3", *lines[3][2:]],
        ]
    )
    # The means of b.run describe another number of queries.
    assert "their means cannot be compared: use -c" in out
    assert "cannot be compared" not in run(capsys, "evaluate qrels b.run sub/input.c -c").out
    # Runs with the same name are named by their paths.
    assert list(report(capsys, "evaluate qrels a.run sub/a.run")) == ["a.run", "sub/a.run"]
    chosen = report(capsys, "evaluate qrels b.run sub/input.c --system-names BM25,dense")
    assert list(chosen) == ["BM25", "dense"]


@pytest.mark.parametrize("names", ["x", "x,y,z", "x,x", "x,"])
def test_system_names_must_be_distinct_and_complete(capsys, names):
    error = refused(capsys, "evaluate qrels a.run b.run --system-names", names)
    assert f"one distinct name for each of the 2 systems, separated by commas; got {names!r}" in (
        error
    )


def test_columns_of_judged_documents_can_be_left_out(capsys):
    assert "Judged@10" in run(capsys, "evaluate qrels a.run").out
    assert "Judged@10" not in run(capsys, "evaluate qrels a.run --no-judged").out


def test_latex_tables_have_a_caption_a_label_and_digits(capsys):
    options = ["--format", "latex", "--caption", "All runs", "--label", "tab:a", "--digits", "2"]
    for command in ("evaluate", "compare"):
        out = run(capsys, f"{command} qrels a.run b.run -m rr -c --per-query", *options).out
        assert out.count(r"\caption{All runs}") == out.count(r"\label{tab:a}") == 1
        assert "& 0.83 " in out and "& 0.8333" not in out
    assert "--caption changes LaTeX tables" in refused(capsys, "evaluate qrels a.run --caption x")


def test_evaluate_with_a_judge_prints_prediction_powered_means(files, capsys):
    rng = np.random.default_rng(0)
    lines = [f"q{i} Q0 d{j} 1 {rng.random()} s" for i in range(60) for j in range(5)]
    (files / "new.run").write_text("\n".join(lines))
    for name, n_queries in (("human", 20), ("judge", 60)):
        lines = [f"q{i} 0 d{j} {rng.integers(3)}" for i in range(n_queries) for j in range(5)]
        (files / name).write_text("\n".join(lines))
    values = report(capsys, "evaluate human new.run --judge judge -m ap")["s"]
    human, judge = (sg.evaluate_runs(qrels, ["new.run"], "ap")["s"] for qrels in ("human", "judge"))
    powered = sg.prediction_powered(human, judge)
    assert values["mean"] == powered.mean()
    assert values["summary"][0]["ci_low"] == powered.confidence_interval()["AP"].low
    assert "worth" in run(capsys, "evaluate human new.run --judge judge -m ap").out


def test_undefined_queries_are_counted_in_every_format(files, capsys):
    (files / "qrels").write_text(FILES["qrels"].replace("d 1", "d 0"))
    options = "evaluate qrels b.run -m map -m ap(threshold=2)"
    assert "b.run: AP 1, AP(threshold=2) 2." in run(capsys, options).out
    assert report(capsys, options)["b.run"]["n_undefined"] == {"AP": 1, "AP(threshold=2)": 2}
    frame = pd.read_csv(io.StringIO(run(capsys, f"{options} --format csv").out))
    assert frame["n_undefined AP"].tolist() == [1]
    assert frame["n_undefined AP(threshold=2)"].tolist() == [2]
    # A mean over no defined query is null.
    (files / "qrels").write_text("q1 0 a 0\n")
    (files / "b.run").write_text("q1 Q0 a 1 9 t\n")
    values = report(capsys, "evaluate qrels b.run -m ap(undefined=nan) --per-query")["t"]
    assert values["mean"] == values["per_query"]["q1"] == {"AP(undefined=nan)": None}


def test_formats_of_evaluate(capsys):
    options = "evaluate qrels a.run b.run -m map"
    frame = pd.read_csv(io.StringIO(run(capsys, f"{options} --format csv").out))
    assert frame["AP"].tolist()[0] == (AP_Q1 + AP_Q2) / 2
    frame = pd.read_csv(io.StringIO(run(capsys, f"{options} --format csv --per-query").out))
    assert frame["query"].tolist() == ["q1", "q2", "q1", "q2", "q3"]
    assert frame["run"].tolist() == ["a.run"] * 2 + ["b.run"] * 3
    assert frame["AP"].tolist()[:2] == [AP_Q1, AP_Q2]
    markdown = run(capsys, f"{options} --format markdown").out
    assert re.search(r"\| a.run +\| +2 \| 0.7917 \|", markdown)
    latex = run(capsys, f"{options} --format latex").out
    assert r"a.run & 2 & 0.7917 & 0.5833 \\" in latex and "%\n%" not in latex


def test_titles_of_pages(capsys):
    page = run(capsys, "evaluate qrels a.run --format html").out
    assert page.startswith("<!") and "<h1>a.run</h1>" in page and "<title>a.run</title>" in page
    page = run(capsys, "evaluate qrels a.run --format html --title", "B <1>").out
    assert "<h1>B &lt;1&gt;</h1>" in page
    assert "<h1>t.csv: score</h1>" in run(capsys, "evaluate t.csv --format html").out
    page = run(capsys, "evaluate qrels a.run b.run -c --format html").out
    assert "<h1>Comparison of 2 systems</h1>" in page
    page = run(capsys, "compare qrels a.run b.run -c --format html --title C").out
    assert "<h1>C</h1>" in page


# Compare -----------------------------------------------------------------------------------------


def test_compare_prints_the_values_of_the_library(capsys):
    arguments = "compare qrels a.run b.run -c -m map --baseline a.run"
    frame = pd.read_csv(io.StringIO(run(capsys, f"{arguments} --format csv").out))
    values = pd.read_csv(io.StringIO(run(capsys, f"{arguments} --format csv --per-query").out))
    assert values["a.run"].tolist() == [AP_Q1, AP_Q2, 0]
    assert values["b.run"].tolist() == [1 / 2, 1 / 2, 1]
    assert frame["difference"].tolist() == [pytest.approx((2 - AP_Q1 - AP_Q2) / 3)]
    assert frame["p_value"].tolist() == [1]  # all 2^3 sign flips differ by 0.21 or more
    assert frame[["wins", "ties", "losses"]].values.tolist() == [[1, 0, 2]]


def test_formats_of_compare(capsys):
    arguments = "compare qrels a.run b.run -c -m map --test t"
    values = report(capsys, arguments)
    assert values["a.run"]["mean"] == {"AP": pytest.approx((AP_Q1 + AP_Q2) / 3)}
    (row,) = values["b.run"]["compared"]
    assert row["baseline"] == "a.run" and row["measure"] == "AP" and row["p_value"] < 1
    out = run(capsys, f"{arguments} --per-query").out
    assert out.startswith("b.run leads") and "q3" in out
    assert "\n3 queries; 95 % intervals; paired t-test.\n" in out
    assert "| b.run" in run(capsys, f"{arguments} --format markdown").out
    assert r"\toprule" in run(capsys, f"{arguments} --format latex").out
    untested = run(capsys, arguments.removesuffix("t"), "none").out
    assert "p_value" not in untested and "95 % intervals; no test.\n" in untested


def test_sentences_are_wrapped_to_the_width_of_the_terminal(files, capsys, monkeypatch):
    arguments = "compare qrels a.run b.run -c -m map"
    plain = run(capsys, arguments).out
    assert max(map(len, plain.splitlines())) > 150  # a pipe gets one line per sentence
    monkeypatch.setenv("COLUMNS", "60")
    out = run(capsys, arguments).out
    prose = out.partition("* best")[2]
    assert max(map(len, prose.splitlines()[3:])) > 60  # tables keep their columns
    sentences = [line for line in prose.splitlines() if not re.search("  [a-z0-9]", line)]
    assert 50 < max(map(len, sentences)) <= 60
    first, *others = sentences[sentences.index("By AP:") + 1 :]
    assert first.startswith("- ") and all(line.startswith("  ") for line in others)
    assert " ".join(out.split()) == " ".join(plain.split())
    run(capsys, f"{arguments} --output out.txt")
    assert (files / "out.txt").read_text() == plain


def test_many_pairs_are_counted_instead_of_described(files, capsys):
    rows = [  # the first three of six systems rank the relevant documents first
        {
            "query": query,
            "grade": grade,
            **{f"s{i}": float(grade if i < 3 else -grade) + 1e-9 * i for i in range(6)},
        }
        for query in range(40)
        for grade in (0, 1)
    ]
    pd.DataFrame(rows).to_csv(files / "many.csv", index=False)
    many = "compare many.csv -m rr -m ap" + "".join(f" --score-column s{i}" for i in range(6))
    out = run(capsys, many).out
    assert out.count("- 9 of 15 pairs differ significantly.") == 2  # once per measure
    assert "with Holm's correction over 30 tests." in out
    out_of_measure = run(capsys, f"{many} --family measure").out
    assert "with Holm's correction over the 15 tests of each measure." in out_of_measure
    assert "p_adjusted" in out and max(map(len, out.splitlines())) < 120
    assert "For a sentence per pair, use --format html" in out
    out = run(capsys, f"{many} --baseline s3 -m ndcg").out
    assert "By RR:\n- 3 of 5 pairs differ significantly.\n" in out
    out = run(capsys, f"{many} -m ndcg --test none").out  # the table would have 45 rows
    assert "- 15 pairs, not tested." in out and "- 1.0000 " not in out
    assert "  difference" not in out and "for all values, csv or json" in out


def test_the_baseline_may_be_a_path(files, capsys):
    (files / "sub").mkdir()
    (files / "sub" / "c.run").write_text(FILES["b.run"])
    out = run(capsys, "compare qrels b.run sub/c.run --baseline sub/c.run").out
    assert "the baseline c" in out and "  baseline  " not in out


def test_seed_and_resamples_are_passed_to_the_library(files, capsys):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "query": np.arange(120) // 4,
            "grade": rng.integers(0, 3, 120),
            "a": rng.random(120),
            "b": rng.random(120),
        }
    )
    frame.to_csv(files / "t.csv", index=False)
    systems = {
        name: sg.evaluate(frame["grade"], frame[name], qid=frame["query"], measures="ndcg")
        for name in "ab"
    }
    command = "compare t.csv --score-column a --score-column b -m ndcg --resamples 199"
    p_values = []
    for seed in (0, 7):
        (row,) = report(capsys, f"{command} --seed {seed}")["b"]["compared"]
        expected = sg.compare(systems, rng=seed, n_resamples=199).to_frame()
        for name in ("p_value", "ci_low", "ci_high"):
            assert row[name] == expected[name][0]
        p_values.append(row["p_value"])
    assert p_values[0] != p_values[1] and p_values[0] * 200 % 2 == 0
    (row,) = report(capsys, command.replace("--resamples 199", ""))["b"]["compared"]
    assert row["p_value"] == sg.compare(systems, rng=0).to_frame()["p_value"][0]


# Files of BEIR, MS MARCO and MTEB -----------------------------------------------------------------

OTHER_FILES = {
    "beir.tsv": "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t0\nq2\tq2\t1\n",
    "trec.tsv": "q1\t0\ta\t2\nq1\t0\tb\t0\nq2\t0\tq2\t1\n",
    "qrels.json": '{"q1": {"a": 2, "b": 0}, "q2": {"q2": 1}}',
    "run.tsv": "q1\tx\t1\nq1\ta\t2\nq2\tq2\t1\n",
    "scores.tsv": "q1\tx\t0.2\nq1\ta\t0.1\nq2\tq2\t1\n",
    "four.txt": "q1 x 2 9\nq1 a 1 7\nq2 q2 1 5\n",
    "run.json": '{"q1": {"x": 2, "a": 1}, "q2": {"q2": 1}}',
    "mteb.json": '{"mteb_model_meta": {}, "en": {"dev": {"q1": {"a": 1}}, '
    '"test": {"q1": {"x": 2, "a": 1}, "q2": {"q2": 1}}}}',
}


@pytest.fixture
def other_files(files):
    for name, text in OTHER_FILES.items():
        (files / name).write_text(text)
    (files / "packed.tsv.gz").write_bytes(gzip.compress(OTHER_FILES["beir.tsv"].encode()))


@pytest.mark.usefixtures("other_files")
@pytest.mark.parametrize("qrels", ["beir.tsv", "trec.tsv", "qrels.json", "packed.tsv.gz"])
@pytest.mark.parametrize(
    "system",
    [
        "run.tsv",
        "scores.tsv",
        "four.txt",
        "run.json",
        "mteb.json --split en/test",
    ],
)
def test_qrels_and_runs_of_other_formats(capsys, qrels, system):
    for option, of_q2 in (("", 1), ("--drop-identical-ids", 0)):
        command = f"evaluate {qrels} {system} -m map --per-query {option}"
        (values,) = report(capsys, command).values()
        assert values["per_query"] == {"q1": {"AP": 1 / 2}, "q2": {"AP": of_q2}}


@pytest.mark.usefixtures("other_files")
def test_other_commands_read_the_same_formats(capsys):
    run(capsys, "judges beir.tsv trec.tsv --run run.json run.tsv")


def test_ids_in_lines_separated_by_tabs_may_contain_spaces(files, capsys):
    (files / "qrels.tsv").write_text("q 1\t0\tApollo 11\t0\nq 1\t0\tApollo 13\t1\n")
    (files / "run").write_text(
        "q 1\tQ0\tApollo 11\t1\t9.5\tmy bm25\nq 1\tQ0\tApollo 13\t2\t7\tmy bm25\n"
    )
    values = report(capsys, "evaluate qrels.tsv run -m rr --per-query")
    assert values["my bm25"]["per_query"] == {"q 1": {"RR": 1 / 2}}


def test_a_third_column_that_is_neither_a_rank_nor_a_score_is_an_error(files, capsys):
    (files / "whole.tsv").write_text("q1\ta\t27\nq1\tb\t13\n")
    message = refused(capsys, "evaluate qrels whole.tsv")
    assert "whole.tsv: line 1: the third column contains integers" in message
    assert "or write four columns (query document rank score)" in message
    with pytest.raises(ValueError, match=r'whole.tsv: line 1: .* read_run\(path, third="score"\)'):
        sg.evaluate_runs("qrels", ["whole.tsv"])
    run = sg.datasets.read_run("whole.tsv", third="score")
    # a has grade 2 and b grade 0 (see FILES), and a has the higher score.
    assert sg.evaluate_runs("qrels", {"whole": run}, "rr", missing="skip")["whole"].mean() == {
        "RR": 1
    }


@pytest.mark.parametrize("text", ["", "# no results\n"])
def test_an_empty_run_counts_as_empty_rankings_on_request(files, capsys, text):
    (files / "empty").write_text(text)
    for option in ("", "--ties trec", "--drop-identical-ids"):
        values = report(capsys, f"evaluate qrels empty a.run -c -m ap -m ndcg {option}")
        assert values["empty"]["mean"] == {"AP": 0, "NDCG": 0}
        assert values["empty"]["n_queries"] == values["a.run"]["n_queries"]


# LETOR files and tables --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command, name",
    [
        ("evaluate qrels a.run", "qrels"),
        ("evaluate qrels a.run", "a.run"),
    ],
)
@pytest.mark.parametrize(
    "comment", ["# qrels", "#", "# q9 a b", "# q9 0 a 1", "\ufeff#q9 Q0 a 1 1 s"]
)
def test_comments_in_files_change_nothing(files, capsys, command, name, comment):
    expected = run(capsys, command)
    (files / name).write_text(f"{comment}\n\n{FILES[name]}#\n")
    assert run(capsys, command) == expected


def test_a_letor_file_and_scores(files, capsys):
    (files / "s2.txt").write_text("5e-1\n-2\n-inf\n")
    values = report(capsys, "evaluate test.letor scores s2.txt -m rr --per-query")
    assert values["scores"]["per_query"] == {"1": {"RR": 1 / 2}, "7": {"RR": 1}}
    assert values["s2"]["per_query"] == {"1": {"RR": 1}, "7": {"RR": 0}}
    (files / "tied.txt").write_text("1\n1\n1\n")
    values = report(capsys, "evaluate test.letor tied.txt -m rr --ties trec")
    assert values["tied"]["mean"] == {"RR": (1 / 2 + 1) / 2}


CSV = "q,doc,label,bm25,lgbm\n007,a,2,1,0.5\n007,b,0,2,0.25\n7,a,1,-1,inf\n"
COLUMNS = "--query-column q --grade-column label --score-column bm25 --score-column lgbm"
PACKED = {
    "csv": bytes,
    "csv.gz": gzip.compress,
    "csv.bz2": bz2.compress,
    "csv.xz": lzma.compress,
    "tsv": lambda text: text.replace(b",", b"\t"),
    "csv after blank lines": lambda text: b"\r\n \n" + text,
    "csv quoted": lambda text: re.sub(rb"[^,\n]+", rb'"\g<0>"', text),
}


@pytest.mark.parametrize("form", [*PACKED, "parquet"])
def test_tables_of_named_columns(files, capsys, form):
    path = files / f"table.{form.split()[0]}"
    if form == "parquet":
        pd.read_csv(io.StringIO(CSV), dtype={"q": str}).to_parquet(path)
    else:
        path.write_bytes(PACKED[form](CSV.encode()))
    values = report(capsys, f"evaluate {path.name} {COLUMNS} -m rr --per-query")
    assert values["bm25"]["per_query"] == {"007": {"RR": 1 / 2}, "7": {"RR": 1}}
    assert values["lgbm"]["mean"] == {"RR": 1}
    compared = report(capsys, f"compare {path.name} {COLUMNS} -m rr --baseline bm25")
    assert compared["lgbm"]["compared"][0]["difference"] == 1 / 4


def test_parquet_tables_may_have_numbers_as_ids_an_index_and_float32_grades(files, capsys):
    frame = pd.DataFrame({"query": [7, 7, 8], "grade": [0, 1, 2], "score": [2.0, 1.0, 5.0]})
    frame.to_csv(files / "t.csv", index=False)
    values = report(capsys, "evaluate t.csv -m rr --per-query")
    assert values["score"]["per_query"] == {"7": {"RR": 1 / 2}, "8": {"RR": 1}}
    for table in (frame, frame.set_index("query")):
        table.to_parquet(files / "t.parquet")
        assert report(capsys, "evaluate t.parquet -m rr --per-query") == values
    frame["grade"] = np.array([0, 5 / 6, 5 / 6], "f4")
    frame.to_parquet(files / "t.parquet")
    mean = report(capsys, "evaluate t.parquet -m", f"rr(threshold={5 / 6!r})")["score"]["mean"]
    assert list(mean.values()) == [3 / 4]


@pytest.mark.parametrize(
    "scores",
    [
        pd.array([2**60, 2**60 + 1, 2**60 + 2]),
        pd.array([2**63, 2**63 + 1, 2**63 + 2], dtype="UInt64"),
        [Decimal(2**80), Decimal(2**80 + 1), Decimal(2**80 + 2)],
        [Decimal(f"0.1000000000000000000{i}") for i in range(3)],
    ],
    ids=["int64", "uint64", "large decimals", "small decimals"],
)
def test_scores_of_a_table_are_compared_exactly(files, capsys, scores):
    frame = pd.DataFrame({"query": "q", "grade": [0, 1, 0], "score": scores, "other": [1, 2, 3]})
    frame.to_parquet(files / "t.parquet")
    tables = ["t.parquet"]
    if scores[0] >= 1:  # in text, only whole numbers are exact
        frame.to_csv(files / "t.csv", index=False)
        # Arrow reads t.csv. Spaces in other.csv are accepted only by Python.
        (files / "other.csv").write_text((files / "t.csv").read_text() + "r, 1, -inf,1\n")
        tables += ["t.csv", "other.csv"]
    for name in tables:
        values = report(capsys, f"evaluate {name} -m rr --per-query")["score"]["per_query"]
        assert values["q"] == {"RR": 1 / 2}


def test_document_ids_of_a_table_order_ties_and_may_look_like_booleans(files, capsys):
    (files / "t.csv").write_text("query,document,grade,score\n1,a,1,1\n1,b,0,1\n1,c,0,1\n")
    values = report(capsys, "evaluate t.csv --document-column document --ties trec -m rr")
    assert values["score"]["mean"] == {"RR": 1 / 3}  # c, b, a
    # Documents named True and false are not numbers.
    (files / "t.csv").write_text("query,grade,score,document\nq,1,1,True\nq,0,0,false\n")
    assert report(capsys, "evaluate t.csv -m rr")["score"]["mean"] == {"RR": 1}


@pytest.mark.parametrize("form", ["table", "json"])
def test_dates_are_printed_as_dates(capsys, form):
    days = ["2026-01-02T00:00:00.000000000", "2026-01-01T00:00:00.000000000"]
    frame = pd.DataFrame(
        {
            "query": np.array(days, dtype="datetime64[ns]").repeat(2),
            "grade": [1, 0, 0, 1],
            "score": [2, 1, 2, 1],
            "other": [1, 2, 2, 1],
        }
    )
    frame.to_parquet("t.parquet")
    options = f"t.parquet -m rr --per-query --format {form}"
    out = run(capsys, f"evaluate {options}").out
    assert [out.count(day) for day in days] == [1, 1]
    out = run(capsys, f"compare {options} --score-column score --score-column other").out
    n = 2 if form == "json" else 1  # JSON has one object per system
    assert [out.count(day) for day in days] == [n, n]


STARS = {
    "qrels": "u1 0 a 5\nu1 0 b 1\nu2 0 a 3\nu2 0 b 2\n",
    "a.run": "u1 Q0 a 1 2 s\nu1 Q0 b 2 1 s\nu2 Q0 a 1 1 s\nu2 Q0 b 2 2 s\n",
    "test.letor": "5 qid:1 1:1\n1 qid:1 1:2\n3 qid:2 1:1\n2 qid:2 1:2\n",
    "scores": "1\n2\n3\n4\n",
    "t.csv": "query,grade,score\nu1,5,2\nu1,1,1\nu2,3,1\nu2,2,2\n",
}


@pytest.mark.parametrize(
    "words",
    [
        "evaluate qrels a.run b.run",
        "compare qrels a.run b.run",
        "evaluate qrels a.run --format json",
        "evaluate test.letor scores",
        "evaluate t.csv",
    ],
)
def test_grades_that_never_fall_below_1_cause_one_note(files, capsys, words):
    for name, text in (STARS | {"b.run": STARS["a.run"]}).items():
        (files / name).write_text(text)
    out, error = run(capsys, words)
    assert error.count("skgraded: note: All grades are from 1 to 5, so every document counts") == 1
    assert "All grades" not in out and run(capsys, f"{words} --quiet").err == ""


# Parquet files of any size -----------------------------------------------------------------------


@pytest.fixture
def folder(files):
    """Write a table as three Parquet files, and return the table."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "query": np.repeat(np.arange(30), 8),
            "grade": rng.integers(0, 3, 240),
            "score": rng.normal(size=240),
            "other": rng.normal(size=240),
        }
    )
    (files / "scores.parts").mkdir()
    for i in range(3):
        frame[80 * i : 80 * (i + 1)].to_parquet(files / "scores.parts" / f"{i}.parquet")
    return frame


@pytest.mark.parametrize(
    "path, partitioning",
    [
        ("scores.parts", "shuffle"),
        ("scores.parts/*.parquet", "clustered"),
        ("scores.parts", "whole"),
    ],
)
def test_a_folder_or_a_pattern_of_parquet_files(folder, capsys, path, partitioning):
    values = report(capsys, f"evaluate {path} --partitioning {partitioning}")
    expected = sg.evaluate(folder["grade"], folder["score"], qid=folder["query"])
    assert list(values) == ["score"] and values["score"]["n_queries"] == 30
    assert values["score"]["mean"] == pytest.approx(expected.mean(), rel=1e-14)
    assert values["score"]["n_undefined"] == expected.n_undefined


def test_keys_of_a_hive_layout_are_columns(folder, files, capsys):
    sessions = folder.rename(columns={"query": "session"})
    sessions.to_parquet(files / "logs", partition_cols=["session"])
    values = report(capsys, "evaluate logs --query-column session")
    expected = sg.evaluate(folder["grade"], folder["score"], qid=folder["query"])
    assert values["score"]["mean"] == pytest.approx(expected.mean(), rel=1e-14)


@pytest.mark.parametrize("form", ["table", "csv", "markdown", "latex", "html"])
def test_every_format_works_for_a_folder_of_parts(folder, capsys, form):
    columns = "--score-column score --score-column other"
    assert "NDCNG@10" in run(capsys, f"evaluate scores.parts --format {form}").out
    assert "other" in run(capsys, f"evaluate scores.parts --format {form} {columns}").out
    assert "other" in run(capsys, f"compare scores.parts --test t --format {form} {columns}").out


# Output ------------------------------------------------------------------------------------------


def test_output_replaces_a_file(files, capsys):
    expected = run(capsys, "evaluate qrels b.run").out
    (files / "out.txt").write_text("old")
    (files / "also").hardlink_to(files / "out.txt")
    assert run(capsys, "evaluate qrels b.run --output out.txt").out == ""
    assert (files / "out.txt").read_text() == expected
    assert (files / "also").read_text() == "old"  # the file was replaced, not changed
    read, write = os.pipe()
    run(capsys, "evaluate t.csv --output", f"/dev/fd/{write}")
    assert b"NDCNG@10" in os.read(read, 1000)
    os.close(read)
    os.close(write)


def test_output_must_not_be_an_input_file(files, capsys, monkeypatch):
    (files / "link.csv").symlink_to(files / "t.csv")
    (files / "hard.csv").hardlink_to(files / "t.csv")
    for output in ("t.csv", "./t.csv", "link.csv", "hard.csv"):
        error = refused(capsys, "evaluate t.csv --output", output)
        assert f"--output {output} is also an input file" in error
    with open("t.csv") as file:
        monkeypatch.setattr(sys, "stdin", file)
        error = refused(capsys, "evaluate - --score-column score --output t.csv")
    assert "--output t.csv is also an input file" in error
    assert (files / "t.csv").read_text() == FILES["t.csv"]
    (files / "[scores]").mkdir()
    frame = pd.DataFrame({"query": [1, 1], "grade": [0, 1], "score": [2.0, 1.0]})
    frame.to_parquet(files / "[scores]" / "0.parquet")
    for path in ("[scores]", "[[]scores]/*.parquet"):
        error = refused(capsys, f"evaluate {path} --output [scores]/0.parquet")
        assert "also an input file" in error
        run(capsys, f"evaluate {path} --output [scores]/out.txt")


HOSTILE = "q\x1b[31m\u202e\x9b1m"


def test_control_characters_are_escaped(files, capsys, monkeypatch):
    rows = "".join(f"{HOSTILE},{grade},{grade}\n" for grade in (0, 1))
    (files / "t.csv").write_text(f"query,grade,score\n{rows}", encoding="utf-8")

    def printed(form):
        return run(capsys, "evaluate t.csv --per-query -m rr --format", form).out

    for form in ("table", "markdown", "latex", "json"):
        assert not set("\x1b\u202e\x9b") & set(printed(form)), form
        assert "u202e" in printed(form) and "u001b" in printed(form)
    assert "--no=\\u001b\\u202e" in refused(capsys, "evaluate q r", "--no=\x1b\u202e")
    error = refused(capsys, "evaluate", "no\x1b[2Jthing\udc80.csv")
    assert "\\u001b[2J" in error and "\\udc80" in error and "\x1b" not in error
    assert HOSTILE in printed("csv")  # ids are escaped only on a terminal
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for form in ("csv", "html"):
        assert not set("\x1b\u202e\x9b") & set(printed(form)), form


@pytest.mark.skipif(sys.platform != "linux", reason="file names are Unicode")
@pytest.mark.parametrize("form", ["csv", "json"])
def test_names_of_files_that_are_not_utf_8_are_escaped(files, capsys, form):
    (files / "run\udc80").write_text(FILES["b.run"])  # the tag of b.run
    out = run(capsys, "compare qrels b.run run\udc80 -c -m rr --format", form).out
    assert "\\udc80" in out and out.encode()


def test_names_of_runs_are_text_in_markdown(files, capsys):
    name = "<img src=x onerror=alert(1)>"
    (files / name).write_text(FILES["b.run"])  # the tag of b.run
    for command in ("evaluate", "compare"):
        out = run(capsys, f"{command} --format markdown -m rr qrels b.run", name).out
        assert "<" not in out and r"&lt;img src=x onerror=alert(1)&gt;" in out


def test_measures_are_listed_with_other_names_and_descriptions(capsys):
    assert main(["measures"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in sg.measures.MEASURES:
        (line,) = [line for line in lines if line.split(" ")[0] == name]
        assert len(line.split("  ")[-1]) > 20
    assert any(line.startswith("RR ") and "mrr, recip_rank" in line for line in lines)
