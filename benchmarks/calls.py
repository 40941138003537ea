"""Time of one small call: a measure of one query, as in the loops of notebooks.

python benchmarks/calls.py
"""

import time
from importlib.util import find_spec

import numpy as np
from neighbors import Call, Data, ranx_calls
from sklearn.metrics import ndcg_score
from timing import time_in_turn

import skgraded as sg

ROUNDS = 15
SECONDS = 0.02  # approximate duration of the repetitions of a call in one round
BARE = "bare NumPy function"


def main():
    columns = [times_of(calls(n)) for n in (20, 1_000)]
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
    functions = {
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
    }
    if find_spec("ranx"):
        call = ranx_calls("ndcg_burges@10", Data(y, scores, np.array([n])), 1, ROUNDS)[-1]
        functions[call.name] = call.run
    return functions


def bare_ndcg(y, scores, k):
    """NDCG with gain 2^y - 1, without checks and without a tie rule."""
    discounts = 1 / np.log2(np.arange(2, k + 2))
    dcg = (np.exp2(y[np.argsort(-scores)[:k]]) - 1) @ discounts
    return dcg / ((np.exp2(np.sort(y)[::-1][:k]) - 1) @ discounts)


def times_of(functions):
    """{name: µs}, medians over rounds; each round calls all functions in random order."""
    repeated = [repeated_call(name, function) for name, function in functions.items()]
    return {name: np.median(ns) / 1e3 for name, ns in time_in_turn(repeated).items()}


def repeated_call(name, function):
    """A call that repeats the function for about `SECONDS`."""
    function()
    start = time.perf_counter()
    function()
    n = max(1, int(SECONDS / (time.perf_counter() - start)))

    def run():
        for _ in range(n):
            function()

    return Call(name, run, n, ROUNDS)


if __name__ == "__main__":
    main()
