"""The note of the command about grades that never fall below 1."""

import io

import pytest

from skgraded.cli import main

NOTE = "skgraded: note: All grades are from 1 to 5, so every document counts as relevant."
QRELS = "u1 0 a 5\nu1 0 b 1\nu2 0 a 3\nu2 0 b 2\n"
RUN = "u1 Q0 a 1 2 s\nu1 Q0 b 2 1 s\nu2 Q0 a 1 1 s\nu2 Q0 b 2 2 s\n"
LETOR = "5 qid:1 1:1\n1 qid:1 1:2\n3 qid:2 1:1\n2 qid:2 1:2\n"
TABLE = "query,grade,score\nu1,5,2\nu1,1,1\nu2,3,1\nu2,2,2\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts = {
        "qrels": QRELS, "a.run": RUN, "b.run": RUN, "test.letor": LETOR, "scores": "1\n2\n3\n4\n",
        "table.csv": TABLE, "judged0": QRELS + "u2 0 c 0\n",
        "unjudged.run": RUN + "u1 Q0 z 3 0 s\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)

    def run(words):
        assert main(words.split()) == 0
        return capsys.readouterr()

    return run


@pytest.mark.parametrize("words", [
    "evaluate qrels a.run b.run", "compare qrels a.run b.run", "evaluate test.letor scores",
    "evaluate table.csv", "evaluate qrels a.run --format json",
])
def test_stars_get_one_note(run, words):
    printed = run(words)
    assert printed.err.count(NOTE) == 1 and "y - 1" in printed.err
    assert "All grades" not in printed.out
    assert run(f"{words} --quiet").err == ""


@pytest.mark.parametrize("words", [
    "evaluate judged0 a.run",  # a judged document with grade 0 is not retrieved
    "evaluate qrels unjudged.run",  # an unjudged document has grade 0
])
def test_rows_with_grade_0_get_no_note(run, words):
    assert "All grades" not in run(words).err


def test_standard_input_gets_the_note(run, monkeypatch):
    class Stdin:
        buffer = io.BytesIO(RUN.encode())

    monkeypatch.setattr("sys.stdin", Stdin)
    assert run("evaluate qrels -").err.count(NOTE) == 1
