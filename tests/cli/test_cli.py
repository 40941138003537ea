"""The commands evaluate and compare: values, formats, and where the output goes."""

import gzip
import io
import json
import re
import sys

import pandas as pd
import pytest
from commands import FILES, evaluations, refused, report, run

import skgraded as sg
from skgraded.cli._formats import WRITERS

FORMATS = list(WRITERS["evaluate"])

AP_Q1 = (1 / 1 + 2 / 3) / 2
AP_Q2 = (1 / 1 + 1 / 2) / 2


# Qrels and runs ----------------------------------------------------------------------------------


def test_json_contains_the_report_of_each_run(capsys):
    entries = report(capsys, "evaluate qrels a.run b.run -m map -m rr")
    assert entries["a.run"]["mean"] == {"AP": (AP_Q1 + AP_Q2) / 2, "RR": (1 + AP_Q2) / 2}
    expected = sg.evaluate_runs("qrels", ["b.run"], ["map", "rr"])
    assert evaluations(capsys, "evaluate qrels b.run -m map -m rr --per-query") == expected
    assert entries["b.run"] == expected["b.run"].to_dict()


def test_one_note_counts_the_queries_that_are_missing_from_either_file(files, capsys):
    # Queries without judgments are left out, and counted in the same note.
    more = "q8 Q0 a 1 1 a.run\n" + FILES["a.run"] + "q9 Q0 a 1 1 a.run\n"
    (files / "more.run").write_text(more.replace("a.run", "more"))
    missing = "1 of 3 judged queries are missing from the run (the first is 'q3') and"
    unjudged = "2 of 4 queries of the run have no judgments (the first is 'q8') and are left out"
    for options, note in [
        ("a.run", f"a.run: {missing} are left out (-c counts them)."),
        ("a.run -c", f"a.run: {missing} count as empty rankings."),
        ("more.run -c", f"more: {missing} count as empty rankings; {unjudged}."),
        (
            "a.run more.run -c",
            f"a.run: {missing} count as empty rankings. more: {missing} count as empty rankings; {unjudged}.",
        ),
    ]:
        assert run(capsys, f"evaluate qrels {options}").err == f"skgraded: note: {note}\n"
    for silent in ("a.run --quiet", "b.run", "b.run --strict"):
        assert run(capsys, f"evaluate qrels {silent}").err == ""
    for option in ([], ["-c"]):
        systems = evaluations(capsys, "evaluate qrels more.run a.run", *option)
        assert systems["more"].to_json() == systems["a.run"].to_json()


def test_runs_are_named_after_their_tag_or_their_file_and_sorted(files, capsys):
    (files / "sub").mkdir()
    for name in ("input.c", "d.run.gz", "a.run"):
        pack = gzip.compress if name.endswith("gz") else bytes
        (files / "sub" / name).write_bytes(pack(FILES["a.run"].encode()))
    out = run(capsys, "evaluate qrels b.run sub/input.c sub/d.run.gz -m map -m rr").out
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["run", "n_queries", "AP", "RR", "Judged@10"]
    row = ["2", f"{(AP_Q1 + AP_Q2) / 2:.4f}", f"{(1 + AP_Q2) / 2:.4f}", "0.5833"]
    assert lines[1:3] == [["c", *row], ["d", *row]] and lines[3][:2] == ["b.run", "3"]
    # The mean of b.run contains a different number of queries.
    note = "The runs contain different queries (see n_queries), so their means cannot be compared"
    assert note in out
    assert note not in run(capsys, "evaluate qrels b.run sub/input.c -m map -m rr -c").out
    assert f"% {note}" in run(capsys, "evaluate qrels b.run sub/input.c --format latex").out
    # Runs with the same name are named by their paths.
    assert list(report(capsys, "evaluate qrels a.run sub/a.run")) == ["a.run", "sub/a.run"]
    chosen = "evaluate qrels b.run sub/input.c --system-names BM25,dense"
    assert list(report(capsys, chosen)) == ["BM25", "dense"]


def test_undefined_queries_are_counted(files, capsys):
    (files / "qrels").write_text(FILES["qrels"].replace("d 1", "d 0"))
    options = "evaluate qrels b.run -m map -m ap(threshold=2)"
    assert "b.run: AP 1, AP(threshold=2) 2." in run(capsys, options).out
    text = run(capsys, "evaluate qrels b.run a.run -m map -m rr -c").out
    assert text.endswith("parameter undefined): each system: AP 1, RR 1.\n")
    assert report(capsys, options)["b.run"]["n_undefined"] == {"AP": 1, "AP(threshold=2)": 2}
    frame = pd.read_csv(io.StringIO(run(capsys, f"{options} --format csv").out))
    assert frame.iloc[0, -2:].to_dict() == {"n_undefined AP": 1, "n_undefined AP(threshold=2)": 2}
    # Without a defined query, the mean is null.
    (files / "qrels").write_text(re.sub(r"\d\n", "0\n", FILES["qrels"]))
    entry = report(capsys, "evaluate qrels b.run -m ap(undefined=nan)")["b.run"]
    assert entry["mean"] == {"AP(undefined=nan)": None}


def test_formats_of_evaluate(capsys):
    options = "evaluate qrels a.run b.run -m map"
    frame = pd.read_csv(io.StringIO(run(capsys, f"{options} --format csv --per-query").out))
    assert frame["query"].tolist() == ["q1", "q2", "q1", "q2", "q3"]
    assert frame["run"].tolist() == ["a.run"] * 2 + ["b.run"] * 3
    assert frame["AP"].tolist()[:2] == [AP_Q1, AP_Q2]
    latex = run(capsys, f"{options} --format latex --caption All --digits 2").out
    assert r"a.run & 2 & 0.79 & 0.58 \\" in latex and r"\caption{All}" in latex
    page = run(capsys, "evaluate qrels a.run --format html --title B<1>").out
    assert "<h1>B&lt;1&gt;</h1>" in page


GAP = "Judged@10 is 1.0000 for b.run but 0.3889 for a.run: judgments favor the systems"


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_contains_the_share_of_judged_documents_and_a_note(capsys, form):
    for command in ("evaluate", "compare"):
        result = run(capsys, f"{command} qrels a.run b.run -c -m rr --format {form}")
        assert result.err.count(GAP) == 1
        # The CSV of compare has the columns of to_frame.
        assert ("Judged@10" in result.out) == ((command, form) != ("compare", "csv"))
    assert "Judged@10" not in run(capsys, f"evaluate qrels b.run -m rr --format {form}").out


# Compare -----------------------------------------------------------------------------------------


TABLE = pd.DataFrame(
    {"query": list("ppqq"), "grade": [1, 0, 1, 0], "x": [2, 1, 1, 2], "y": [1, 2, 1, 2]}
)


@pytest.mark.parametrize(
    ("options", "settings"),
    [("", {"rng": 0}), ("--seed 7 --resamples 199", {"rng": 7, "n_resamples": 199})],
)
def test_the_json_of_compare_is_a_comparison_with_an_entry_per_run(capsys, options, settings):
    TABLE.to_csv("t.csv", index=False)
    columns = f"--score-column x --score-column y -m rr {options}"
    out = run(capsys, f"compare t.csv {columns} --format json").out
    systems = sg.evaluate("grade", ["x", "y"], qid="query", measures="rr", data=TABLE)
    assert sg.Comparison.from_json(out).to_json() == sg.compare(systems, **settings).to_json()
    counts = {"n_queries": 2, "n_defined": {"RR": 2}, "n_undefined": {"RR": 0}}
    entry = {"mean": {"RR": (1 + 1 / 2) / 2}} | counts
    assert json.loads(out)["x"] == entry


def test_formats_of_compare(capsys):
    arguments = "compare qrels a.run b.run -c -m map --test t"
    out = run(capsys, f"{arguments} --per-query").out
    assert out.startswith("b.run leads") and "q3" in out
    assert "\n3 queries; 95 % intervals; paired t-test.\n" in out
    values = pd.read_csv(io.StringIO(run(capsys, f"{arguments} --format csv --per-query").out))
    assert values[["a.run", "b.run"]].values.tolist() == [[AP_Q1, 1 / 2], [AP_Q2, 1 / 2], [0, 1]]


def test_the_baseline_may_be_a_path_or_a_name(files, capsys):
    (files / "sub").mkdir()
    (files / "sub" / "c.run").write_text(FILES["b.run"])
    for name in ("sub/c.run", "c.run", "c"):
        out = run(capsys, f"compare qrels b.run sub/c.run --baseline {name}").out
        assert "the baseline c" in out and "  baseline  " not in out


# Output ------------------------------------------------------------------------------------------


def test_output_replaces_a_file(files, capsys):
    expected = run(capsys, "evaluate qrels b.run").out
    (files / "out.txt").write_text("old")
    assert run(capsys, "evaluate qrels b.run --output out.txt").out == ""
    assert (files / "out.txt").read_text() == expected


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
    assert HOSTILE in printed("csv")  # ids are escaped only on a terminal
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for form in ("csv", "html"):
        assert not set("\x1b\u202e\x9b") & set(printed(form)), form
