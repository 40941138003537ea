"""The examples run as a reader would run them."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure
from scripts import EXAMPLES, PNG, needs_optuna, run


def table_of(output, title):
    """Rows of the table under a title: name to its values."""
    lines = iter(output.splitlines())
    assert any(line.startswith(title) for line in lines), output
    rows = {}
    for line in lines:
        match = re.fullmatch(r"(.*?)\s+([\d.]+)\s+([\d.]+)", line)
        if not match:
            break
        rows[match[1]] = (float(match[2]), float(match[3]))
    return rows


def test_quickstart_finds_something_on_generated_data():
    output = run("quickstart.py")
    rows = table_of(output, "on 100 test queries")
    assert list(rows) == ["all scores equal", "random scores", "grid search", "early stopping"]
    np.testing.assert_allclose(rows["all scores equal"], rows["random scores"], atol=0.05)
    for learned in ("grid search", "early stopping"):
        assert np.all(np.subtract(rows[learned], rows["all scores equal"]) > 0.1)
    worst = output.split("with early stopping\n")[1].splitlines()
    assert len(worst) == 1 + 5


def test_quickstart_takes_files_with_group_sizes(data_dir):
    folder = data_dir / "lightgbm-lambdarank"
    output = run(
        "quickstart.py", "--train", folder / "rank.train", "--group", folder / "rank.train.query"
    )
    assert "3,005 documents, 201 queries, grades 0 to 4" in output
    rows = table_of(output, "on 51 test queries")
    assert rows["grid search"] > rows["all scores equal"]


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
        needs_optuna()
    with pytest.raises(SystemExit, match=message):
        run(script, *arguments)


def test_reports_are_written(tmp_path):
    page, picture = tmp_path / "report.html", tmp_path / "report.png"
    output = run("reports.py", "--page", page, "--picture", picture)
    assert "trees is significantly better than one feature on NDCNG@10" in output
    assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    assert picture.read_bytes().startswith(PNG)


def test_a_figure_is_saved_whole_or_not_at_all(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    from saving import save

    path = tmp_path / "figure.png"
    for width in (1, 2):
        save(Figure(figsize=(width, 1)), path, dpi=50)
        assert int.from_bytes(path.read_bytes()[16:20], "big") == width * 50
    kept = path.read_bytes()
    with pytest.raises(TypeError, match="no_such_parameter"):
        save(Figure(), path, dpi=50, no_such_parameter=1)
    assert path.read_bytes() == kept and os.listdir(tmp_path) == ["figure.png"]


@pytest.mark.nightly  # test_dask runs what it does on its own cluster
def test_large_data_is_measured_as_in_memory():
    pytest.importorskip("distributed")
    reason = "XGBoost 2 asks Dask for what it has no more"
    pytest.importorskip("xgboost", minversion="3.0", reason=reason)
    command = [sys.executable, "-W", "ignore", str(EXAMPLES / "large_data.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("equal to all rows in memory: True") == 2
    assert re.search("(xgboost|lightgbm) is (not )?significantly better", done.stdout)
