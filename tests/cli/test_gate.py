"""The exit code of compare as a gate: is a run worse than the baseline?"""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import skgraded as sg
from skgraded.cli import main

NOISES = {"old": 0.0, "again": 0.0, "same": 0.05, "bad": 5.0}


@pytest.fixture(autouse=True)
def runs(files):
    """Write runs: "again" equals "old", "same" differs little, and "bad" is much worse."""
    rng = np.random.default_rng(3)
    grades = rng.integers(0, 4, 600)  # 40 queries with 15 documents each
    scores = grades + rng.normal(0, 1, 600)
    judged = [f"q{i // 15} 0 d{i % 15} {grade}\n" for i, grade in enumerate(grades)]
    (files / "judged").write_text("".join(judged))
    for name, noise in NOISES.items():
        noisy = scores + noise * rng.normal(size=600)
        run = [f"q{i // 15} Q0 d{i % 15} 1 {score} {name}\n" for i, score in enumerate(noisy)]
        (files / name).write_text("".join(run))


@pytest.mark.parametrize(
    "arguments, code, outcomes",
    [
        ("old same --max-loss 0.05", 0, ["not worse"]),
        ("old same --max-loss 0.05 --require-not-worse", 0, ["not worse"]),
        ("old same --max-loss 0", 0, ["undecided"]),
        ("old same --require-not-worse", 1, ["undecided"]),
        ("old same bad --max-loss 0.05", 1, ["not worse", "worse"]),
        ("old bad --max-loss 0.9", 0, ["not worse"]),
        ("old same --baseline same --max-loss 0.05", 0, ["not worse"]),
        ("old bad", 0, []),
        ("old again --require-not-worse", 0, ["not worse"]),
    ],
)
def test_the_exit_code_is_1_if_a_run_is_worse(capsys, arguments, code, outcomes):
    assert main(["compare", "judged", *arguments.split(), "-m", "ndcng@10"]) == code
    lines = [line for line in capsys.readouterr().err.splitlines() if "largest loss" in line]
    assert [line.split(": ")[2].split(";")[0] for line in lines] == outcomes


def test_a_line_contains_the_largest_loss_and_the_queries_that_would_decide(capsys):
    main(["compare", "judged", "old", "same", "-m", "ndcng@10", "--max-loss", "0"])
    evaluations = sg.evaluate_runs("judged", ["old", "same"], "ndcng@10")
    (row,) = sg.compare(evaluations, baseline="old").outcomes().to_dict("records")
    line = capsys.readouterr().err.splitlines()[-1]
    loss = f"{-row['low']:.4f}"
    assert line.startswith(
        f"skgraded: same on NDCNG@10: undecided; largest loss that is not excluded: {loss}; queries "
    )
    n = int(line.rpartition(" ")[2].replace(",", ""))
    d = evaluations["same"].minus(evaluations["old"]).per_query["NDCNG@10"]
    reaches = [stats.t.ppf(0.95, m - 1) * d.std(ddof=1) / np.sqrt(m) for m in (n - 1, n)]
    assert reaches[0] > abs(d.mean()) >= reaches[1]


def test_folders_have_a_gate(files, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"query": np.repeat(np.arange(50), 10), "grade": rng.integers(0, 3, 500)})
    frame["old"] = frame["grade"] + rng.normal(0, 0.5, 500)
    frame["new"] = frame["old"] + rng.normal(0, 5, 500)
    (files / "folder").mkdir()
    frame.to_parquet(files / "folder" / "part.parquet")
    columns = ["--score-column", "old", "--score-column", "new", "-m", "ndcng@10"]
    assert main(["compare", "folder", *columns, "--max-loss", "0.02"]) == 1
    assert "new on NDCNG@10: worse" in capsys.readouterr().err
