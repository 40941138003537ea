"""The recipe for a nightly job, on Spark."""

import re
import runpy
from pathlib import Path

import pandas as pd
import pytest
from large_tables import table

import skgraded as sg
from skgraded.reports.summary import without_segments

RECIPE = Path(__file__).parents[2] / "docs" / "recipes" / "nightly_job.md"

# pyspark leaves sockets open.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def day_of(i, noise=0.0):
    """The rows of a day, whose scores are the grades with noise."""
    rows = table(300, seed=i).drop(columns=["weight", "other"])
    codes = pd.factorize(rows["query"])[0]
    score = rows["grade"] + noise * rows["score"] + 0.1 * rows["score"]
    return rows.assign(
        day=f"2026-11-{i:02d}", country=pd.Series(["de", "fr", "us"]).take(codes % 3).to_numpy(),
        query=[f"{i}-{query}" for query in rows["query"]], score=score,
    )


def test_the_job_writes_the_page_and_the_chart_and_reports_a_fall(spark, session, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    (tmp_path / "nightly.py").write_text(
        re.search("```python\n(.*?)```", RECIPE.read_text(encoding="utf-8"), re.DOTALL)[1],
        encoding="utf-8",
    )
    job = runpy.run_path(str(tmp_path / "nightly.py"))["main"]
    folder = tmp_path / "summaries"
    folder.mkdir()
    frames = [day_of(1), day_of(2), day_of(3), day_of(4, noise=20.0)]
    spark.frame_of(frames).createOrReplaceTempView("search_log")
    days = [frame["day"].iloc[0] for frame in frames]
    assert [job(day, folder) for day in days] == [0, 0, 0, 1]
    assert "NDCNG@10 fell by more than 0.01" in capsys.readouterr().out
    assert job(days[1], folder) == 0  # a corrected day replaces its file
    stored = [sg.Summary.from_json(path) for path in sorted(folder.glob("*.json"))]
    assert [summary.labels for summary in stored] == [[day] for day in days]
    first = frames[0]
    expected = sg.evaluate("grade", "score", qid="query", data=first, measures=["ndcng@10", "rr"])
    assert without_segments(stored[0]) == sg.Summary.of(expected)
    assert list(stored[0].segments) == ["de", "fr", "us"]
    assert "us" in (folder / "page.html").read_text(encoding="utf-8")
    assert (folder / "trend.png").stat().st_size > 10_000
