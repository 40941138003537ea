"""Processor time of a grid search of LGBMRanker with and without QueryRanker(memory=).

python benchmarks/binning.py [--rows 200000] [--rounds 20 100]
"""

import argparse
import os
import time
from tempfile import TemporaryDirectory
from unittest import mock

import joblib
import lightgbm
import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold

import skgraded as sg

GRID = {"estimator__num_leaves": [15, 31, 63], "estimator__learning_rate": [0.05, 0.1]}
N_FEATURES, QUERY_SIZE, N_FOLDS = 50, 100, 3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, nargs="+", default=[20, 100])
    args = parser.parse_args()
    sklearn.set_config(enable_metadata_routing=True)
    rows = make_rows(args.rows)
    print(
        f"{args.rows:,} × {N_FEATURES}, 6 candidates, {N_FOLDS} folds, lightgbm "
        f"{lightgbm.__version__}; 1 thread, load {os.getloadavg()[0]:.1f}\n"
    )
    print("| rounds | memory | seconds | in Dataset.construct | cached, bytes per value |")
    print("| ---: | --- | ---: | ---: | ---: |")
    for n_rounds in args.rounds:
        with TemporaryDirectory() as folder:
            memory = joblib.Memory(folder, verbose=0)
            scores = []
            for name, cache in (("none", None), ("empty", memory), ("filled", memory)):
                search, seconds, binning = timed_search(rows, n_rounds, cache)
                scores.append(search.cv_results_["mean_test_score"])
                size = sum(item.size for item in memory.store_backend.get_items())
                size /= (N_FOLDS - 1) * rows[0].size  # each row trains in all folds but one
                print(f"| {n_rounds} | {name} | {seconds:.1f} | {binning:.1f} | {size:.2f} |")
        assert (np.ptp(scores, axis=0) == 0).all()
    print("\n" + binning_times(rows))


def make_rows(n):
    """Features, only the first of which is informative, grades 0 to 4 and queries."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, N_FEATURES))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=n)), 0, 4)
    return X, y, np.arange(n) // QUERY_SIZE


def timed_search(rows, n_rounds, memory):
    """The search, its processor seconds, and the part of them in Dataset.construct."""
    X, y, qid = rows
    estimator = lightgbm.LGBMRanker(n_estimators=n_rounds, n_jobs=1, verbose=-1)
    search = GridSearchCV(
        sg.QueryRanker(estimator, memory=memory), GRID, refit=False,
        scoring=sg.make_ranking_scorer("ndcng@10"),
        cv=GroupKFold(N_FOLDS).set_split_request(groups="qid"),
    )
    construct, binning = lightgbm.Dataset.construct, []

    def timed(dataset):
        start = time.process_time()
        construct(dataset)
        binning.append(time.process_time() - start)
        return dataset

    with mock.patch.object(lightgbm.Dataset, "construct", timed):
        start = time.process_time()
        search.fit(X, y, qid=qid)
    return search, time.process_time() - start, sum(binning)


def binning_times(rows):
    """Times to bin all rows, to hash them, and to read them as bins; medians of 5 runs."""
    X, y, _ = rows

    def milliseconds(call):
        times = []
        for _ in range(5):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
        return 1000 * float(np.median(times))

    params = {"num_threads": 1, "verbose": -1}
    dataset = lightgbm.Dataset(X, y, params=params).construct()
    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "bins")
        dataset.save_binary(path)
        binning = milliseconds(lambda: lightgbm.Dataset(X, y, params=params).construct())
        reading = milliseconds(lambda: lightgbm.Dataset(path, y, params=params).construct())
    hashing = milliseconds(lambda: joblib.hash(X))
    return (
        f"all rows: binning {binning:.0f} ms, hashing {hashing:.0f} ms, reading bins "
        f"{reading:.0f} ms"
    )


if __name__ == "__main__":
    main()
