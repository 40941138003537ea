"""The example scripts run, some of them on smaller data than by default."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from engine_libraries import library
from lightgbm import LGBMRanker
from peers import peer
from scripts import EXAMPLES, PNG, run
from sklearn.linear_model import Ridge

import skgraded as sg


def table_of(output, title):
    """Return the rows of the table under a title: the name and its values."""
    lines = iter(output.splitlines())
    assert any(line.startswith(title) for line in lines), output
    rows = {}
    for line in lines:
        match = re.fullmatch(r"(.*?)\s+([\d.]+)\s+([\d.]+)", line)
        if not match:
            break
        rows[match[1]] = (float(match[2]), float(match[3]))
    return rows


def test_quickstart_finds_rankers_that_are_better_than_chance():
    output = run(
        "quickstart.py",
        GRID={"estimator__num_leaves": [3, 7]},
        load=lambda *paths: sg.datasets.make_ranking(80, 30, random_state=0),
    )
    rows = table_of(output, "on 20 test queries")
    assert list(rows) == ["all scores equal", "random scores", "grid search", "early stopping"]
    np.testing.assert_allclose(rows["all scores equal"], rows["random scores"], atol=0.1)
    for learned in ("grid search", "early stopping"):
        assert np.all(np.subtract(rows[learned], rows["all scores equal"]) > 0.1)
    assert re.search("early stopping .* NDCNG@10: .* over 20 queries", " ".join(output.split()))
    worst = output.split("with early stopping\n")[1].splitlines()
    assert len(worst) == 1 + 5


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        ("quickstart.py", ["--group", "rank.query"], "--group needs --train"),
        ("swapped_rankings.py", ["--runs", "0"], "--runs must be at least 1; got 0"),
        ("tune_with_optuna.py", ["--group", "rank.query"], "--group needs --data"),
        ("tune_with_optuna.py", ["--trials", "0"], "--trials must be at least 1"),
    ],
)
def test_bad_arguments_are_refused(script, arguments, message):
    if script == "tune_with_optuna.py":
        peer("optuna")
    with pytest.raises(SystemExit, match=message):
        run(script, *arguments)


def test_a_page_and_a_figure_of_a_comparison_are_written(tmp_path):
    page, picture = tmp_path / "report.html", tmp_path / "report.png"
    trees = LGBMRanker(n_estimators=20, num_leaves=7, n_jobs=1, verbose=-1, random_state=0)
    output = run(
        "reports.py",
        "--page",
        page,
        "--picture",
        picture,
        rankers=lambda: {
            "one feature": sg.QueryRanker(Ridge(alpha=1e9)),
            "linear": sg.QueryRanker(Ridge()),
            "trees": sg.QueryRanker(trees, early_stopping=5, random_state=0),
        },
    )
    assert re.search(r"(?s)^one feature\n.*^linear\n.*^trees\n", output, re.MULTILINE)
    assert "the worst queries of trees" in output
    assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    assert picture.read_bytes().startswith(PNG)


@pytest.mark.nightly
def test_large_data_are_evaluated_as_in_memory():
    library("distributed")
    reason = "XGBoost 2 needs functions that Dask no longer has"
    pytest.importorskip("xgboost", minversion="3.0", reason=reason)
    command = [sys.executable, "-W", "ignore", str(EXAMPLES / "large_data.py")]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ)
    assert process.returncode == 0, process.stderr
    assert process.stdout.count("equal to all rows in memory: True") == 2
    assert re.search("xgboost (is|and lightgbm do not differ)", process.stdout)
