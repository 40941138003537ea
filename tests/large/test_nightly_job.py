"""The nightly job of the recipes: its exit codes, on Spark, and after it was killed."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from large_tables import table

import skgraded as sg

pytest.importorskip("matplotlib")
RECIPE = (Path(__file__).parents[2] / "docs" / "recipes" / "nightly_job.md").read_text("utf-8")
SCRIPT, ON_SPARK = re.findall(r"```python\n(.*?)```", RECIPE, re.DOTALL)
N_KILLED = 50 if os.environ.get("SKGRADED_NIGHTLY") else 2


def day_of(i, noise=0.0, share_without=0.0, n_queries=300):
    """Return the rows of a day, whose scores are the grades plus noise in one country."""
    rows = table(n_queries, seed=i).drop(columns=["weight", "other"])
    codes = pd.factorize(rows["query"])[0]
    country = pd.Series(["de", "fr", "us"]).take(codes % 3).to_numpy()
    score = rows["grade"] + (0.1 + np.where(country == "us", noise, 0)) * rows["score"]
    return rows.assign(
        day=f"2026-11-{i:02d}",
        country=country,
        score=score,
        query=[f"{i}-{query}" for query in rows["query"]],
        grade=np.where(codes < share_without * n_queries, 0, rows["grade"]),
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nightly.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "summaries").mkdir()
    return tmp_path / "summaries"


def job_of(*sources):
    """Return the functions of the script."""
    names = {"__name__": "nightly"}
    for source in sources:
        exec(textwrap.dedent(source), names)
    return names


def run_job(days, folder, *more):
    """Run the job for each day; return the exit codes."""
    main = job_of(SCRIPT, *more)["main"]
    return [main(day, folder) for day in days]


def start_job(day):
    command = [sys.executable, "-W", "ignore", "nightly.py", day, "summaries"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def write_log(frames):
    pd.concat(frames).to_parquet("log", partition_cols=["day"])
    return [frame["day"].iloc[0] for frame in frames]


def test_the_exit_code_states_the_outcome(folder, capsys):
    frames = [*map(day_of, range(1, 5)), day_of(5, noise=20.0), day_of(6, share_without=0.4)]
    days = write_log([*frames, day_of(7, n_queries=30)])
    assert run_job(days[:5], folder) == [0, 0, 0, 0, 1]
    (folder / f"{days[4]}.json").unlink()
    assert run_job([days[5]], folder) == [3]
    printed = capsys.readouterr().out
    assert "undefined_after" in printed and re.search(r"\n +us +NDCNG", printed)
    (folder / f"{days[5]}.json").unlink()
    assert run_job([days[6], days[1]], folder) == [3, 0]  # the second day is corrected
    stored = [sg.Summary.from_json(path) for path in sorted(folder.glob("*.json"))]
    assert [summary.labels for summary in stored] == [[day] for day in (*days[:4], days[6])]
    assert list(stored[0].segments) == ["de", "fr", "us"]
    assert "us" in (folder / "page.html").read_text(encoding="utf-8")
    assert (folder / "trend.png").stat().st_size > 10_000
    failed = start_job("2026-12-01")  # there are no rows
    assert "FileNotFoundError" in failed.communicate()[1].decode() and failed.returncode == 2


def test_a_killed_job_can_be_run_again(folder):
    """The job is killed at random moments: after some seconds, or when it writes a file."""
    days = write_log([day_of(i) for i in range(1, 5)])
    run_job(days, folder)
    expected = (folder / "table.csv").read_text()
    start = time.monotonic()
    start_job(days[3]).communicate()
    duration, rng = time.monotonic() - start, np.random.default_rng()
    for i in range(N_KILLED):
        (folder / f"{days[3]}.json").unlink(missing_ok=True)
        before, end = set(os.listdir(folder)), time.monotonic() + rng.uniform(0, duration)
        job = start_job(days[3])
        while time.monotonic() < end or (i % 2 and set(os.listdir(folder)) == before):
            if job.poll() is not None:
                break
        job.send_signal(signal.SIGKILL)
        job.communicate()
        for path in folder.glob("*.json"):
            sg.Summary.from_json(path)  # is complete
        assert run_job(days[3:], folder) == [0]
        assert (folder / "table.csv").read_text() == expected
    merged = sg.Summary.merge(map(sg.Summary.from_json, sorted(folder.glob("*.json"))))
    assert merged.labels == days and merged.to_csv() == expected


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Spark's sockets
def test_the_job_on_spark_gives_the_same_summaries(spark, folder):
    frames = [day_of(1), day_of(2), day_of(3, noise=20.0)]
    spark.frame_of(frames).createOrReplaceTempView("search_log")
    days = write_log(frames)
    assert run_job(days, folder, ON_SPARK) == [0, 0, 1]
    for day in days:
        stored = sg.Summary.from_json(folder / f"{day}.json")
        assert stored == job_of(SCRIPT)["evaluate_day"](day)
