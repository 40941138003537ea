"""Check that an installed skgraded returns values that were computed by hand.

python .ci/smoke.py
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import skgraded as sg
from skgraded.boosting.objective import Objective

TOLERANCE = 1e-12
SOURCE = Path(__file__).resolve().parent.parent
# Query a has the grades 1, 0, 2 in ranked order. Query b has no relevant document.
Y, SCORES, QID = [1, 0, 2, 0], [3, 2, 1, 5], ["a", "a", "a", "b"]
IDEAL = 3 / 1 + 1 / math.log2(3)
EXPECTED = {
    "ndcg": (1 / 1 + 3 / math.log2(4)) / IDEAL,
    "ap": (1 / 1 + 2 / 3) / 2,
    "mu_map": ((1 / 1 + 2 / 3) / 2 + 1 / 3) / 2,
    "p@2": 1 / 2,
    "recall@1": 1 / 2,
    "rr": 1 / 1,
    "err": 1 * (1 / 4) + (1 / 3) * (3 / 4) * (3 / 4),
    "tau_ap": 2 / 2 * (1 / 1 + 0 / 2) - 1,
    "kendall_tau": (1 - 2) / 3,
}


def command(*arguments):
    """Run the command and return what it prints."""
    line = [sys.executable, "-m", "skgraded", *arguments]
    return subprocess.run(line, capture_output=True, check=True, text=True).stdout


def measure_files():
    """Measure a run with the command, as JSON and as a table."""
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = Path(folder, "qrels.txt"), Path(folder, "system.run")
        rows = list(zip(QID, range(len(Y)), Y, SCORES, strict=True))
        qrels.write_text("".join(f"{query} 0 d{i} {grade}\n" for query, i, grade, _ in rows))
        run.write_text("".join(f"{query} Q0 d{i} 1 {score} s\n" for query, i, _, score in rows))
        files = ["evaluate", str(qrels), str(run), "-m", "ndcg", "-m", "mu_map"]
        means = json.loads(command(*files, "--format", "json"))["system.run"]["mean"]
        table = command(*files).splitlines()[1].split()
    expected = [EXPECTED["ndcg"] / 2, EXPECTED["mu_map"] / 2]  # the other query has 0
    assert np.allclose([means["NDCG"], means["MuAP"]], expected, rtol=0, atol=TOLERANCE), means
    assert table == ["system.run", "2", *(f"{value:.4f}" for value in expected)], table


def main():
    inside = Path(sg.__file__).resolve().is_relative_to(SOURCE)
    assert not inside, f"{sg.__file__} is the source, not what was installed"
    for name, expected in EXPECTED.items():
        found = sg.measure(name).per_query(Y, SCORES, qid=QID)
        assert abs(found[0] - expected) < TOLERANCE, (name, found, expected)
        assert found[1] == 0.0, (name, found)
    assert sg.edrc_score([("A", "B"), ("B", "C")], {"A": 3, "B": 2, "C": 1}) == 1.0
    X, y, qid = sg.datasets.make_ranking(n_queries=2_000, n_features=2, random_state=0)
    judgments = sg.Judgments(y, qid=qid)
    threaded = sg.NDCNG(k=10).per_query(judgments, X[:, 0])
    assert (0 <= threaded).all() and (threaded <= 1).all()
    gradients, hessians = Objective("mu_map").gradients(judgments, X[:, 0])
    assert np.isfinite(gradients).all() and (hessians >= 0).all() and gradients.any()
    assert sg.__version__ in command("--version")
    measure_files()
    sg.show_versions()
    print("works:", ", ".join([*EXPECTED, "edrc_score", "objective", "the command"]))


if __name__ == "__main__":
    main()
