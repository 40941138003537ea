"""The command ``preferences``: runs against files of preference judgments."""

import subprocess
import sys
from math import inf

import pytest
from commands import refused, report, run

import skgraded as sg
from skgraded.datasets import read_preferences

TRUTH = "q1 a b\nq1 b c\nq2 a b\nq3 x y\n"
FIRST = "q1 Q0 a 1 3 s\nq1 Q0 c 2 2 s\nq1 Q0 b 3 1 s\nq2 Q0 a 1 5 s\nq9 Q0 a 1 5 s\n"
SECOND = "q1 Q0 c 1 3 t\nq1 Q0 b 2 2 t\nq2 Q0 b 1 5 t\nq3 Q0 z 1 1 t\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "truth.pref").write_text(TRUTH)
    (tmp_path / "a.run").write_text(FIRST)
    (tmp_path / "b.run").write_text(SECOND)
    return tmp_path


ALL = "-m edrc -m pair_accuracy -m kendall_tau"


def test_values_are_those_of_evaluate_preferences(files, capsys):
    truth = read_preferences("truth.pref")
    pairs = list(zip(truth.preferred, truth.other, strict=True))
    scores = {  # judged documents that the run lacks are not retrieved
        "q1": {"c": 3, "b": 2, "a": -inf}, "q2": {"b": 5, "a": -inf},
        "q3": {"z": 1, "x": -inf, "y": -inf},
    }
    for word, items in (("all", None), ("judged", "judged"), ("predicted", "predicted")):
        found = report(capsys, f"preferences truth.pref b.run {ALL} --items {word} --per-query")
        ev = sg.evaluate_preferences(
            pairs, scores, qid=truth.query, items=items,
            measures=["edrc", "pair_accuracy", "kendall_tau"],
        )
        assert found["b.run"]["mean"] == pytest.approx(ev.mean(), abs=1e-15)
        assert found["b.run"]["n_undefined"] == ev.n_undefined
        assert list(found["b.run"]["per_query"]) == ["q1", "q2", "q3"]


def test_a_judged_document_that_the_run_lacks_ranks_last(files, capsys):
    found = report(capsys, "preferences truth.pref a.run -m pair_accuracy --per-query")
    values = found["a.run"]["per_query"]
    assert values["q1"]["PairAccuracy"] == (1 + 1 + 0) / 3  # a ≻ b, a ≻ c, and c above b
    assert values["q2"]["PairAccuracy"] == 1


def test_settings_are_passed_on(files, capsys):
    options = "--discount exp2 --prior 0.3 --items judged"
    found = report(capsys, f"preferences truth.pref b.run {options}")["b.run"]["mean"]
    assert list(found) == ["EDRC(discount='exp2',prior=0.3)"]


def test_queries_that_a_run_lacks_are_left_out_or_count(files, capsys):
    command = "preferences truth.pref a.run -m pair_accuracy"
    assert report(capsys, command)["a.run"]["n_queries"] == 2
    counted = report(capsys, f"{command} -c --per-query")["a.run"]
    assert counted["per_query"]["q3"]["PairAccuracy"] == 0.5
    error = run(capsys, command).err
    assert "1 of 3 judged queries (the first is 'q3') are missing from the run" in error
    assert "1 of 3 queries of the run (the first is 'q9') have no judgments" in error
    assert run(capsys, f"{command} --quiet").err == ""


def test_every_format(files, capsys):
    command = f"preferences truth.pref a.run b.run -c {ALL}"
    for form in ("table", "csv", "markdown", "latex", "html"):
        out = run(capsys, f"{command} --format {form} --per-query").out
        assert all(word in out for word in ("a.run", "b.run", "PairAccuracy")), form


def test_contradictions_are_an_error_or_left_out(files, capsys):
    (files / "votes.pref").write_text(TRUTH + "q2 b a\n" * 2)
    assert "contain a cycle: 'a' ≻ 'b' ≻ 'a'" in refused(capsys, "preferences votes.pref b.run")
    found = run(capsys, "preferences votes.pref b.run --cycles unknown --format json")
    assert found.err.startswith("skgraded: note: Left out contradictory pairs")
    majority = report(capsys, "preferences votes.pref b.run --cycles majority --per-query")
    assert majority["b.run"]["per_query"]["q2"]["EDRC"] == 1


def test_a_note_that_holds_for_several_runs_is_printed_once(files, capsys):
    (files / "votes.pref").write_text(TRUTH + "q2 b a\n")
    (files / "c.run").write_text(SECOND)
    error = run(capsys, "preferences votes.pref b.run c.run --cycles unknown").err
    assert error.count("Left out contradictory pairs") == 1


@pytest.mark.parametrize(("words", "message"), [
    ("truth.pref", "at least one run after the preferences file truth.pref"),
    ("truth.pref a.run -m ndcg", "kendall_tau; got NDCG"),
    ("truth.pref a.run --prior 3", "prior must be a number in"),
    ("truth.pref truth.pref", "a run must have 6 columns"),
    ("a.run a.run", "a file of preferences must have 3 columns"),
    ("truth.pref other.run", "truth.pref and other.run have no query in common"),
    ("- -", "Standard input (-) can be used for only one of the files"),
    ("truth.pref a.run a.run", "got a.run twice"),
    ("truth.pref nothing.run", "nothing.run: No such file"),
    ("truth.pref a.run --output a.run", "--output a.run is"),
    ("truth.pref a.run b.run --format html", "a.run does not contain 1 of the 3"),
])
def test_bad_input_is_one_line(files, capsys, words, message):
    (files / "other.run").write_text("q8 Q0 a 1 1 s\n")
    assert message in refused(capsys, f"preferences {words}")


def test_it_starts_without_scikit_learn(files):
    code = (
        "import sys; from skgraded.cli import main; "
        "main(['preferences', 'truth.pref', 'b.run', '--quiet']); print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")
