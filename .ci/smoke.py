"""Whether an installed skgraded works: by name, values that were worked out by hand.

python .ci/smoke.py
"""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np

import skgraded as sg
from skgraded.boosting.objective import Objective

TOLERANCE = 1e-12
SOURCE = Path(__file__).resolve().parent.parent
# Ranked grades 1 0 2 of a query, and one that has nothing relevant.
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
    command = [sys.executable, "-m", "skgraded", "--version"]
    said = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    assert sg.__version__ in said, said
    sg.show_versions()
    print("works:", ", ".join([*EXPECTED, "edrc_score", "objective", "the command"]))


if __name__ == "__main__":
    main()
