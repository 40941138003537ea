"""The note of the command about grades that never fall below 1."""

import io

import pytest
from commands import run

NOTE = "skgraded: note: All grades are from 1 to 5, so every document counts as relevant."
STARS = {
    "qrels": "u1 0 a 5\nu1 0 b 1\nu2 0 a 3\nu2 0 b 2\n",
    "test.letor": "5 qid:1 1:1\n1 qid:1 1:2\n3 qid:2 1:1\n2 qid:2 1:2\n",
    "scores": "1\n2\n3\n4\n",
    "t.csv": "query,grade,score\nu1,5,2\nu1,1,1\nu2,3,1\nu2,2,2\n",
} | dict.fromkeys(
    ("a.run", "b.run"), "u1 Q0 a 1 2 s\nu1 Q0 b 2 1 s\nu2 Q0 a 1 1 s\nu2 Q0 b 2 2 s\n"
)


@pytest.fixture(autouse=True)
def stars(files):
    for name, text in STARS.items():
        (files / name).write_text(text)


@pytest.mark.parametrize("words", [
    "evaluate qrels a.run b.run", "compare qrels a.run b.run", "evaluate test.letor scores",
    "evaluate t.csv", "evaluate qrels a.run --format json",
])
def test_grades_from_1_to_5_cause_one_note(capsys, words):
    out, error = run(capsys, words)
    assert error.count(NOTE) == 1 and "y - 1" in error and "All grades" not in out
    assert run(capsys, f"{words} --quiet").err == ""


def test_standard_input_is_checked_too(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(STARS["a.run"].encode())))
    assert run(capsys, "evaluate qrels -").err.count(NOTE) == 1


@pytest.mark.parametrize("name, more", [
    ("qrels", "u2 0 c 0\n"),  # a judged document with grade 0 is not retrieved
    ("a.run", "u1 Q0 z 3 0 s\n"),  # an unjudged document has grade 0
])
def test_a_row_with_grade_0_causes_no_note(files, capsys, name, more):
    (files / name).write_text(STARS[name] + more)
    assert "All grades" not in run(capsys, "evaluate qrels a.run").err
