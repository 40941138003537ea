"""Time of one small call: a measure of one query, as in the loops of notebooks.

python benchmarks/calls.py
"""

import random
import statistics
import time
import warnings

import numpy as np
from sklearn.metrics import ndcg_score

import skgraded as sg

ROUNDS = 15
SECONDS = 0.02  # approximate duration of the repetitions of a call in one round
BARE = "bare NumPy function"


def main():
    columns = [times_in_turn(calls(n)) for n in (20, 1_000)]
    print("| µs per call (ratio to the bare function) | 20 documents | 1,000 documents |")
    print("| --- | ---: | ---: |")
    for name in columns[0]:
        cells = [f"{times[name]:,.1f} ({times[name] / times[BARE]:.3g})" for times in columns]
        print(f"| {name} |", " | ".join(cells), "|")


def calls(n):
    """{name: function} for one query of n documents, grades 0 to 4, scores without ties."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n).astype(float)
    scores = 0.5 * y + rng.normal(size=n)
    qid = np.zeros(n, int)
    judgments = sg.Judgments(y, qid=qid)
    measure, mu_ap = sg.NDCNG(k=10), sg.MuAP()
    return {
        BARE: lambda: bare_ndcg(y, scores, 10),
        "NDCNG(k=10) of Judgments": lambda: measure(judgments, scores),
        "NDCNG(k=10) with qid": lambda: measure(y, scores, qid=qid),
        "NDCNG(k=10) of one query, no qid": lambda: measure(y, scores),
        "evaluate with NDCNG(k=10), Judgments": lambda: sg.evaluate(
            judgments, scores, measures=measure
        ),
        "MuAP() of Judgments": lambda: mu_ap(judgments, scores),
        "MuAP() with qid": lambda: mu_ap(y, scores, qid=qid),
        "scikit-learn ndcg_score": lambda: ndcg_score(y[None], scores[None], k=10),
        **ranx_calls(y, scores),
    }


def bare_ndcg(y, scores, k):
    """NDCG with gain 2^y - 1, without checks and without a tie rule."""
    discounts = 1 / np.log2(np.arange(2, k + 2))
    dcg = (np.exp2(y[np.argsort(-scores)[:k]]) - 1) @ discounts
    return dcg / ((np.exp2(np.sort(y)[::-1][:k]) - 1) @ discounts)


def ranx_calls(y, scores):
    """The call of ranx, including building its dicts; empty if ranx is not installed."""
    warnings.filterwarnings("ignore", module="ranx")  # Numba warns about types
    try:
        import ranx
    except ImportError as error:
        print(f"left out: {error}")
        return {}
    names = [f"d{i}" for i in range(len(y))]
    grades, ranked = y.astype(int).tolist(), scores.tolist()

    def run():
        qrels = ranx.Qrels({"q": dict(zip(names, grades, strict=True))})
        ranking = ranx.Run({"q": dict(zip(names, ranked, strict=True))})
        return ranx.evaluate(qrels, ranking, "ndcg_burges@10", save_results_in_run=False)

    return {"ranx ndcg_burges@10, dicts built": run}


def times_in_turn(functions):
    """{name: µs}, medians over rounds; each round calls all functions in random order."""
    repetitions = {name: max(1, int(SECONDS / warm_time(f))) for name, f in functions.items()}
    times = {name: [] for name in functions}
    rng = random.Random(0)
    for _ in range(ROUNDS):
        for name in rng.sample(list(functions), len(functions)):
            times[name].append(mean_time(functions[name], repetitions[name]) * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}


def warm_time(function):
    """Seconds of a call after a first call."""
    function()
    return mean_time(function, 3)


def mean_time(function, repetitions):
    start = time.perf_counter()
    for _ in range(repetitions):
        function()
    return (time.perf_counter() - start) / repetitions


if __name__ == "__main__":
    main()
