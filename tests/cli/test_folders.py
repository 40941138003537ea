"""The command with folders of Parquet files."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import evaluations, report, run, summary

import skgraded as sg

UNJUDGED = "--unjudged-documents irrelevant"
TWO = "--score-column score --score-column other"


X, y, qid = sg.datasets.make_ranking(n_queries=40, random_state=0)
ROWS = pd.DataFrame(
    {
        "query": qid,
        "grade": np.where(np.arange(len(y)) % 9, y, np.nan),
        "score": X[:, 0],
        "other": X[:, 1],
        "country": np.where(qid % 2, "de", "fr"),
        "weight": 1.0 + qid % 3,
    }
)


@pytest.fixture(autouse=True)
def logs(files):
    """Write ROWS as two files, in any order, and as a Hive layout."""
    (files / "logs").mkdir()
    for i in range(2):
        ROWS[i::2].to_parquet(files / "logs" / f"{i}.parquet")
    ROWS.to_parquet(files / "hive", partition_cols=["country"])


@pytest.mark.parametrize("path", ["logs", "logs/*.parquet", "hive"])
def test_segments_and_weights_are_those_of_evaluate_batches(capsys, path):
    options = f"evaluate {path} {UNJUDGED} --by country"
    settings = {"by": "country", "unjudged_documents": "irrelevant"}
    if path == "logs":
        options, settings = (
            f"{options} --weight-column weight",
            settings | {"sample_weight": "weight"},
        )
    expected = sg.evaluate_batches([ROWS], "grade", "score", "query", **settings)
    assert summary(capsys, options) == expected
    out = run(capsys, f"compare {path} {TWO} --by country {UNJUDGED}").out
    assert "other" in out and "fr" in out


def test_several_columns_of_segments_have_several_columns_in_tables(capsys):
    settings = {"by": ["country", "query"], "unjudged_documents": "irrelevant"}
    expected = sg.evaluate_batches([ROWS], "grade", "score", "query", **settings)
    options = f"evaluate logs {UNJUDGED} --by country --by query"
    assert summary(capsys, options) == expected
    for command in (options, f"{options} --format csv"):
        header = run(capsys, command).out.splitlines()[0]
        assert header.replace(",", " ").split()[:3] == ["country", "query", "measure"]


def test_the_overall_row_of_csv_has_an_empty_segment(files, capsys):
    ROWS.replace({"country": {"de": "nan"}}).to_parquet(files / "logs" / "0.parquet")
    (files / "logs" / "1.parquet").unlink()
    out = run(capsys, f"evaluate logs {UNJUDGED} -m rr --by country --format csv").out
    assert [line.split(",")[0] for line in out.splitlines()] == ["segment", "", "fr", "nan"]


@pytest.mark.parametrize("option", ["--by country", "--weight-column weight"])
def test_segments_and_weighted_tables_leave_out_totals(capsys, option):
    out, notes = run(capsys, f"evaluate logs {UNJUDGED} -m ap -m num_rel {option}")
    assert "Left out: NumRel (total)." in notes and "NumRel" not in out and "AP" in out


def test_the_json_of_a_folder_is_a_summary_and_tables_contain_judged_documents(capsys):
    expected = sg.evaluate(
        "grade", "score", qid="query", measures="ap", unjudged_documents="irrelevant", data=ROWS
    )
    command = f"evaluate logs {UNJUDGED} -m ap"
    assert summary(capsys, command).to_json() == sg.Summary.of(expected).to_json()
    lines = run(capsys, command).out.splitlines()
    assert lines[0].split() == ["run", "n_queries", "AP", "Judged@10"]


@pytest.mark.parametrize("source", [f"logs {UNJUDGED}", "qrels b.run"])
def test_intervals_are_those_of_the_summary(capsys, source):
    command = f"evaluate {source} -m ap"
    is_folder = source != "qrels b.run"
    expected = summary(capsys, command) if is_folder else evaluations(capsys, command)["b.run"]
    out = run(capsys, f"{command} --intervals --format csv").out
    assert out.splitlines()[1].split(",", 1)[1] == expected.summary().to_csv(index=False).split()[1]
    assert "ci_low" in run(capsys, f"{command} --intervals").out.splitlines()[0]
    entry = report(capsys, f"{command} --intervals")
    entry = entry if is_folder else entry["b.run"]
    assert entry["intervals"] == {"AP": list(expected.confidence_interval()["AP"])}


def test_the_json_with_intervals_contains_those_of_all_systems_and_segments(capsys):
    options = f"logs {UNJUDGED} -m ap {TWO} --by country"
    expected = summary(capsys, f"evaluate {options}")
    entry = report(capsys, f"evaluate {options} --intervals")
    assert sg.Summaries.from_json(json.dumps(entry)) == expected
    for name in expected:
        interval = list(expected[name].confidence_interval()["AP"])
        assert entry["intervals"][name] == entry["systems"][name]["intervals"] == {"AP": interval}
        interval = list(expected.segments["de"][name].confidence_interval()["AP"])
        assert entry["segments"][0]["intervals"][name] == {"AP": interval}
    compared = report(capsys, f"compare logs {UNJUDGED} -m ap {TWO} --intervals")
    assert compared["score"]["intervals"] == entry["intervals"]["score"]


def test_summaries_of_two_jobs_can_be_merged(files, capsys):
    days = {"monday": ROWS[ROWS["query"] < 15], "tuesday": ROWS[ROWS["query"] >= 15]}
    for day, part in days.items():
        twice = pd.concat([part, part[:5]]).assign(document=[*range(len(part)), *range(5)])
        (files / day).mkdir()
        twice.to_parquet(files / day / "0.parquet")
    options = f"{UNJUDGED} {TWO} -m ap --document-column document --duplicates drop --summary-label"
    jobs = [summary(capsys, f"evaluate {day} {options} {day}") for day in days]
    merged = sg.Summaries.merge(jobs)
    assert merged.labels == list(days) and merged.n_duplicates == 10
    settings = {"measures": "ap", "unjudged_documents": "irrelevant"}
    expected = sg.evaluate_batches([ROWS], "grade", ["score", "other"], "query", **settings)
    assert merged == expected and sg.compare(merged) == sg.compare(expected)
    with pytest.raises(ValueError, match="'monday'"):
        sg.Summaries.merge([jobs[0], jobs[0]])
