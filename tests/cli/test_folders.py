"""The command with folders of Parquet files, and with Summaries of many days."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import refused, report, run

import skgraded as sg

UNJUDGED = "--unjudged-documents irrelevant"


@pytest.fixture(scope="module")
def rows():
    X, y, qid = sg.datasets.make_ranking(n_queries=40, random_state=0)
    frame = pd.DataFrame(
        {
            "query": qid,
            "grade": y.astype(float),
            "score": X[:, 0],
            "other": X[:, 1],
            "country": np.where(qid % 2, "de", "fr"),
            "weight": 1.0 + qid % 3,
        }
    )
    frame.loc[::9, "grade"] = np.nan
    return frame


@pytest.fixture(autouse=True)
def logs(files, rows):
    (files / "logs").mkdir()
    for i in range(2):
        rows[i::2].to_parquet(files / "logs" / f"{i}.parquet")


def test_segments_and_weights_are_those_of_evaluate_batches(capsys, rows):
    options = f"evaluate logs {UNJUDGED} --by country --weight-column weight"
    expected = sg.evaluate_batches(
        [rows],
        "grade",
        "score",
        "query",
        ["ndcng@10", "mu_map"],
        by="country",
        sample_weight="weight",
        unjudged_documents="irrelevant",
    )
    assert sg.Summary.from_json(run(capsys, f"{options} --format json").out) == expected
    lines = [line.split() for line in run(capsys, options).out.splitlines()[1:]]
    assert [line[0] for line in lines] == ["NDCNG@10", "MuAP", *["de"] * 2, *["fr"] * 2]
    for form in ("csv", "markdown", "latex", "html"):
        assert "de" in run(capsys, options, "--format", form).out


def test_systems_are_compared_within_segments(capsys):
    columns = "--score-column score --score-column other"
    out = run(capsys, f"compare logs {UNJUDGED} {columns} --by country -m ap").out
    assert "in de: " in out and "in fr: " in out


def test_per_query_values_and_judged_documents_of_a_folder(capsys, rows):
    values = report(capsys, f"evaluate logs {UNJUDGED} -m ap --per-query")["score"]
    expected = sg.evaluate(
        rows["grade"],
        rows["score"],
        qid=rows["query"],
        measures="ap",
        unjudged_documents="irrelevant",
    )
    assert values["mean"] == pytest.approx(expected.mean())
    assert len(values["per_query"]) == 40
    summarized = report(capsys, f"evaluate logs {UNJUDGED} -m ap")["score"]
    summary = sg.Summary.from_json(json.dumps(summarized["summary"]))
    assert summary == sg.Summary.of(expected) and summary.mean() == summarized["mean"]
    judged = summarized["judged"]
    assert judged == pytest.approx(values["judged"]) and list(judged) == ["Judged@10"]
    weighted = run(capsys, f"evaluate logs {UNJUDGED} --per-query --weight-column weight").out
    assert weighted != run(capsys, f"evaluate logs {UNJUDGED} --per-query").out


@pytest.mark.parametrize("source", ["logs " + UNJUDGED, "qrels b.run"])
def test_intervals_are_those_of_the_summary(capsys, source):
    row = report(capsys, f"evaluate {source} -m ap --intervals").popitem()[1]["summary"][0]
    assert row["ci_low"] <= row["mean"] <= row["ci_high"] and row["method"] == "t"
    assert "ci_low" in run(capsys, f"evaluate {source} --intervals").out.splitlines()[0]
    assert run(capsys, f"evaluate {source} --intervals --format csv").out.startswith("run,measure")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("evaluate qrels a.run --by x", "--by requires a folder or a pattern of Parquet files"),
        ("evaluate t.csv --weight-column x", "--weight-column requires a folder"),
        ("evaluate logs --by country --per-query", "--by with --per-query is not available"),
        ("evaluate logs --weight-column nowhere", "There is no column 'nowhere'"),
        ("evaluate logs --per-query --score-column nowhere", "There is no column 'nowhere'"),
        ("evaluate logs/0.parquet", "must be finite; got nan for row 0: use --unjudged-documents"),
        ("evaluate logs", "set --unjudged-documents to 'irrelevant'"),
    ],
)
def test_invalid_options_and_files_are_named(capsys, command, message):
    assert message in refused(capsys, command)
