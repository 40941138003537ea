"""The command that compares judges."""

import json

import pandas as pd
import pytest
from commands import run

import skgraded as sg
from skgraded.datasets import join_judgments, read_qrels, read_run

HUMAN = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 0, "d": 1}}
MODEL = {"q1": {"a": 1, "b": 0, "c": 1}, "q2": {"a": 1, "d": 2}}
RUNS = {
    "first.run": {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"d": 2, "a": 1}},
    "second.run": {"q1": {"b": 3, "c": 2, "a": 1}, "q2": {"a": 2, "d": 1}, "q9": {"a": 1}},
}


@pytest.fixture(autouse=True)
def judged_files(files):
    """Write the qrels of two judges, and two runs."""
    for name, qrels in [("human.txt", HUMAN), ("model.txt", MODEL)]:
        (files / name).write_text(
            "".join(
                f"{query} 0 {document} {grade}\n"
                for query, grades in qrels.items()
                for document, grade in grades.items()
            )
        )
    for name, scores in RUNS.items():
        (files / name).write_text(
            "".join(
                f"{query} Q0 {document} 1 {score} s\n"
                for query, documents in scores.items()
                for document, score in documents.items()
            )
        )


def expected(**settings):
    rows = join_judgments(
        {name: read_qrels(name) for name in ("human.txt", "model.txt")},
        {name: read_run(name) for name in RUNS},
    )
    return sg.compare_judges(rows.y_judges, rows.y_scores, qid=rows.qid, rng=0, **settings)


def test_the_command_equals_the_library(capsys):
    words = "judges human.txt model.txt --run first.run second.run -m ap -m rr"
    out = run(capsys, f"{words} --weights linear --format json")[0]
    report = sg.JudgeComparison.from_json(out)
    same = expected(measures=["ap", "rr"], weights="linear")
    pd.testing.assert_frame_equal(report.labels(), same.labels())
    pd.testing.assert_frame_equal(report.leaderboards(), same.leaderboards())
    assert json.loads(out)["kind"] == "JudgeComparison"


@pytest.mark.parametrize("form", ["table", "csv", "markdown", "latex", "html"])
def test_every_format_contains_the_agreement(capsys, form):
    out, _ = run(capsys, f"judges human.txt model.txt --format {form}")
    assert ("0.4" if form == "csv" else "0.4000") in out and "model" in out


def test_the_table_fits_a_terminal_and_ends_with_sentences(capsys):
    out, note = run(capsys, "judges human.txt model.txt --run first.run --run second.run")
    verdict, *_, last = out.strip().split("\n")
    assert verdict.startswith("model.txt agrees with human.txt: α = ")
    assert last == expected().sentences()[-1]
    assert "1 of 3 queries of the runs have no judgments and are left out" in note
