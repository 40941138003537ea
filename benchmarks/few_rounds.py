"""Compare models that stopped after few rounds on few held-out queries with longer fits.

A warning would be right if models with a fixed number of rounds, fitted on all training queries,
were better.

python benchmarks/few_rounds.py [--seeds 12]      # SKGRADED_DATA adds OHSUMED
"""

import argparse
import os
from collections import defaultdict
from pathlib import Path

import numpy as np
from lightgbm import LGBMRanker

import skgraded as sg

FEW_ROUNDS, FEW_QUERIES = 10, 100
FIXED = (10, 30, 100)  # rounds
TRAINING, NEW = (60, 150, 400, 800, 1500), 500  # queries
NOTABLE = 0.005  # of NDCG@10


def data_sets():
    """Yield X, y, qid and the number of queries to test on."""
    for n_queries in TRAINING:
        for noise in (0, 3):  # standard deviations of each feature
            X, y, qid = sg.datasets.make_ranking(n_queries + NEW, random_state=n_queries)
            rng = np.random.default_rng(n_queries)
            yield X + noise * X.std(axis=0) * rng.normal(size=X.shape), y, qid, NEW
    if folder := os.environ.get("SKGRADED_DATA"):
        letor = sg.datasets.read_letor(Path(folder) / "ohsumed" / "OHSUMED.txt.gz")
        yield letor.X, letor.y, letor.qid, 40


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    seeds = range(parser.parse_args().seeds)
    rows = defaultdict(list)
    for X, y, qid, n_new in data_sets():
        for seed in seeds:
            for learning_rate in (0.1, 0.3):
                case, deltas = compared(X, y, qid, n_new, seed, learning_rate)
                rows[case].append(deltas)
    print(
        "| rounds kept | held-out queries | fits | gain of 10 rounds | of 30 | of 100 "
        "| 100 rounds better | worse |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for (rounds, queries), deltas in sorted(rows.items()):
        deltas = np.array(deltas)
        last = deltas[:, -1]
        better, worse = 100 * np.mean(last > NOTABLE), 100 * np.mean(last < -NOTABLE)
        means = " | ".join(f"{mean:+.3f}" for mean in deltas.mean(axis=0))
        cells = rounds, queries, len(deltas), means, f"{better:.0f} %", f"{worse:.0f} %"
        print(f"| {' | '.join(map(str, cells))} |")


def compared(X, y, qid, n_new, seed, learning_rate):
    """The kind of the stopped model, and what each fixed number of rounds gains over it."""
    order = np.random.default_rng(seed).permutation(np.unique(qid))
    is_new = np.isin(qid, order[:n_new])

    def booster(n_rounds):
        return LGBMRanker(
            n_estimators=n_rounds, learning_rate=learning_rate, num_leaves=15, verbose=-1, n_jobs=1
        )

    def quality(ranker):
        ranker.fit(X[~is_new], y[~is_new], qid=qid[~is_new])
        return sg.NDCG(k=10)(y[is_new], ranker.predict(X[is_new]), qid=qid[is_new])

    stopped = sg.QueryRanker(
        booster(300), early_stopping=True, n_iter_no_change=30, random_state=seed
    )
    value = quality(stopped)
    n_held_out = round(stopped.validation_fraction * (len(order) - n_new))
    case = (
        f"{'<' if stopped.best_iteration_ < FEW_ROUNDS else '≥'} {FEW_ROUNDS}",
        f"{'<' if n_held_out < FEW_QUERIES else '≥'} {FEW_QUERIES}",
    )
    return case, [quality(sg.QueryRanker(booster(n))) - value for n in FIXED]


if __name__ == "__main__":
    main()
