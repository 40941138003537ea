"""Early stopping in QueryRanker compared with all 600 rounds: quality on new queries, and time.

python benchmarks/early_stopping.py [--seeds 10] [--libraries LightGBM XGBoost CatBoost]

The difference is a mean with its standard error over the seeds. The time is the processor time of
the stopped fits divided by the time of the full fits; a check adds its time to a round.
"""

import argparse
import time
import warnings

import numpy as np
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from xgboost import XGBRanker

import skgraded as sg
from skgraded.datasets import make_ranking

ROUNDS = 600
TRAINING, NEW = 200, 500  # queries
MEASURE = sg.NDCNG(k=10)
LIBRARIES = {
    "LightGBM": lambda: LGBMRanker(n_estimators=ROUNDS, verbose=-1, n_jobs=1),
    "XGBoost": lambda: XGBRanker(n_estimators=ROUNDS, n_jobs=1),
    "CatBoost": lambda: CatBoostRanker(
        iterations=ROUNDS, thread_count=1, verbose=False, allow_writing_files=False, random_seed=0
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES), choices=LIBRARIES)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message="early_stopping=True chooses")
    print(
        "| ranker | all 600 rounds | stopped | difference | rounds used | time | per round "
        "| per check |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in args.libraries:
        print(row_of(name, args.seeds), flush=True)


def row_of(name, n_seeds):
    """One line of the table."""
    runs = [run(LIBRARIES[name], seed) for seed in range(n_seeds)]
    full, stopped, rounds, full_time, stopped_time, checks = map(np.array, zip(*runs, strict=True))
    gain = stopped - full
    error = gain.std(ddof=1) / np.sqrt(n_seeds)
    return (
        f"| {name} | {full.mean():.4f} | {stopped.mean():.4f} | {gain.mean():+.4f} ± {error:.4f} "
        f"| {np.median(rounds):.0f} | {stopped_time.sum() / full_time.sum():.2f} "
        f"| {np.mean(full_time) / ROUNDS * 1000:.2f} ms | {np.median(checks):.2f} ms |"
    )


def run(make_estimator, seed):
    """Quality of the full and the stopped fit, rounds used, both times, and time per check."""
    X, y, qid = make_ranking(TRAINING + NEW, random_state=seed)
    old, held_out = qid < TRAINING, qid < TRAINING // 10

    def fit(rows, **parameters):
        ranker = sg.QueryRanker(make_estimator(), random_state=seed, **parameters)
        start = time.process_time()
        ranker.fit(X[rows], y[rows], qid=qid[rows])
        return ranker, time.process_time() - start

    def quality(ranker):
        return MEASURE(y[~old], ranker.predict(X[~old]), qid=qid[~old])

    full, full_time = fit(old)
    stopped, stopped_time = fit(old, early_stopping=True)
    _, checked_time = fit(old, early_stopping=True, n_iter_no_change=ROUNDS)
    _, unchecked_time = fit(old & ~held_out)  # the same number of training rows
    return (
        quality(full),
        quality(stopped),
        stopped.best_iteration_,
        full_time,
        stopped_time,
        1000 * (checked_time - unchecked_time) / ROUNDS,
    )


if __name__ == "__main__":
    main()
