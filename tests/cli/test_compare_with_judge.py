"""`skgraded compare --judge`: few human judgments, and many judgments of a judge."""

import numpy as np
import pandas as pd
import pytest
from commands import refused, report, run

import skgraded as sg

COMMAND = "compare human a.run b.run -m ndcng@10 -m ap --judge judge"


@pytest.fixture(autouse=True)
def folder(files):
    """Write human qrels for 40 of 300 queries, a judge's qrels for all queries, and two runs."""
    rng = np.random.default_rng(0)
    lines = {"human": [], "judge": [], "a.run": [], "b.run": []}
    human_ids = set(sg.sample_queries([f"q{i}" for i in range(300)], 40, rng=0).tolist())
    for query in [f"q{i}" for i in range(300)]:
        grades = rng.integers(0, 4, 12)
        for i, grade in enumerate(grades):
            judged = np.clip(grade + rng.integers(-1, 2), 0, 3)
            if query in human_ids:
                lines["human"].append(f"{query} 0 d{i} {grade}")
            lines["judge"].append(f"{query} 0 d{i} {judged}")
            for name, noise in (("a.run", 2.0), ("b.run", 3.0)):
                score = grade + noise * rng.normal()
                lines[name].append(f"{query} Q0 d{i} 0 {score:.6f} {name}")
    for name, text in lines.items():
        (files / name).write_text("\n".join(text) + "\n")
    return files


def evaluations(qrels):
    """Evaluate both runs with a qrels file."""
    systems = {}
    for name in ("a.run", "b.run"):
        rows = sg.datasets.join_run(sg.datasets.read_qrels(qrels), sg.datasets.read_run(name))
        systems[name] = sg.evaluate(
            rows.y_true, rows.y_score, qid=rows.qid, measures=["ndcng@10", "ap"]
        )
    return systems


def test_compare_with_a_judge_equals_the_library(capsys):
    expected = sg.compare(evaluations("human"), judge=evaluations("judge"))
    result = report(capsys, COMMAND)
    for i, row in enumerate(expected.to_frame().to_dict("records")):
        compared = result["b.run"]["compared"][i]
        assert compared == {
            name: value for name, value in row.items() if name not in ("system", "n_undefined")
        } | {"n_undefined": None}
    for i, name in enumerate(expected.systems):
        assert result[name]["mean"] == {key: v[i, 0] for key, v in expected.system_means.items()}
        assert (result[name]["n_queries"], result[name]["n_judge"]) == (40, 260)
    run(capsys, f"{COMMAND} --format csv --output out.csv")
    frame = pd.read_csv("out.csv")
    assert frame["worth"].tolist() == pytest.approx(expected.to_frame()["worth"])


def test_the_table_shows_the_weight_the_worth_and_the_numbers_of_queries(capsys):
    out, error = run(capsys, COMMAND)
    assert error == ""  # queries without human judgments are expected
    assert run(capsys, f"{COMMAND} --strict").out == out
    assert "40 human-judged queries and 260 further queries of the judge; 95 % intervals;" in out
    assert "paired t-test" in out and " weight " in out and "worth" in out
    for form in ("markdown", "latex", "html"):
        assert "b.run" in run(capsys, f"{COMMAND} --format {form}").out


def test_notes_name_only_queries_that_are_missing_from_a_run(folder, capsys):
    lines = (folder / "human").read_text().splitlines()
    first = lines[0].split()[0]
    for name in ("a.run", "b.run"):
        rows = (folder / name).read_text().splitlines()
        (folder / name).write_text("".join(f"{row}\n" for row in rows if row.split()[0] != first))
    error = run(capsys, COMMAND).err
    assert f"a.run: 1 of 40 judged queries (the first is {first!r}) are missing" in error
    assert "1 of 300 judged queries" in error and "have no judgments" not in error
    assert report(capsys, f"{COMMAND} -c --quiet")["a.run"]["n_queries"] == 40
    assert "does not contain 1 of the 40 queries of human" in refused(capsys, f"{COMMAND} --strict")
