"""The command ``preferences``: runs against files of preference judgments."""

from math import inf

import pytest
from commands import FILES, report, run

import skgraded as sg
from skgraded.datasets import read_preferences

FIRST = "q1 Q0 a 1 3 {0}\nq1 Q0 c 2 2 {0}\nq1 Q0 b 3 1 {0}\nq2 Q0 a 1 5 {0}\nq9 Q0 a 1 5 {0}\n"
SECOND = "q1 Q0 c 1 3 {0}\nq1 Q0 b 2 2 {0}\nq2 Q0 b 1 5 {0}\nq3 Q0 z 1 1 {0}\n"
ALL = "-m edrc -m pair_accuracy -m kendall_tau"


@pytest.fixture(autouse=True)
def runs(files):
    for name, text in {"a.run": FIRST, "b.run": SECOND, "c.run": SECOND}.items():
        (files / name).write_text(text.format(name))  # with the name of the file as the tag


def test_values_equal_evaluate_preferences(capsys):
    truth = read_preferences("truth.pref")
    pairs = list(zip(truth.preferred, truth.other, strict=True))
    scores = {  # judged documents that are missing from the run are not retrieved
        "q1": {"c": 3, "b": 2, "a": -inf}, "q2": {"b": 5, "a": -inf},
        "q3": {"z": 1, "x": -inf, "y": -inf},
    }
    for word, items in (("all", None), ("judged", "judged"), ("predicted", "predicted")):
        values = report(capsys, f"preferences truth.pref b.run {ALL} --items {word} --per-query")
        ev = sg.evaluate_preferences(
            pairs, scores, qid=truth.query, items=items,
            measures=["edrc", "pair_accuracy", "kendall_tau"],
        )
        assert values["b.run"]["mean"] == pytest.approx(ev.mean(), abs=1e-15)
        assert values["b.run"]["n_undefined"] == ev.n_undefined
        assert list(values["b.run"]["per_query"]) == ["q1", "q2", "q3"]
    options = "--discount exp2 --prior 0.3 --items judged"
    values = report(capsys, f"preferences truth.pref b.run {options}")
    assert list(values["b.run"]["mean"]) == ["EDRC(discount='exp2',prior=0.3)"]


def test_queries_missing_from_a_run_are_left_out_or_count(capsys):
    command = "preferences truth.pref a.run -m pair_accuracy"
    values = report(capsys, f"{command} --per-query")["a.run"]["per_query"]
    assert values == {  # c is above b; in q2, the missing document b ranks below a
        "q1": {"PairAccuracy": (1 + 1 + 0) / 3}, "q2": {"PairAccuracy": 1},
    }
    counted = report(capsys, f"{command} -c --per-query")["a.run"]
    assert counted["per_query"]["q3"]["PairAccuracy"] == 0.5
    error = run(capsys, command).err
    assert "1 of 3 judged queries (the first is 'q3') are missing from the run" in error
    assert "1 of 3 queries of the run (the first is 'q9') have no judgments" in error
    assert run(capsys, f"{command} --quiet").err == ""


def test_contradictory_pairs_are_left_out_with_one_note_or_decided_by_majority(files, capsys):
    (files / "votes.pref").write_text(FILES["truth.pref"] + "q2 b a\n" * 2)
    error = run(capsys, "preferences votes.pref b.run c.run --cycles unknown").err
    assert error.startswith("skgraded: note: Left out contradictory pairs")
    assert error.count("Left out contradictory pairs") == 1
    majority = report(capsys, "preferences votes.pref b.run --cycles majority --per-query")
    assert majority["b.run"]["per_query"]["q2"]["EDRC"] == 1
    stated = report(capsys, "preferences votes.pref b.run --cycles ignore --per-query")
    assert stated["b.run"]["per_query"]["q2"] == {"PairAccuracy": 2 / 3, "KendallTau": 1 / 3}
