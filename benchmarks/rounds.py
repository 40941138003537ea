"""Ways to choose the number of boosting rounds: fixed, held-out queries, cross-validation.

python benchmarks/rounds.py [--data generated-200 …] [--libraries LightGBM …] [--seeds 20]

SKGRADED_DATA is a folder with ohsumed/OHSUMED.txt.gz of LETOR 2.0, and
lightgbm-lambdarank/rank.train of LightGBM's example.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from scipy.stats import t
from sklearn.ensemble import HistGradientBoostingRegressor
from xgboost import XGBRanker

import skgraded as sg

MOST = 300  # rounds
FIXED = (10, 20, 30, 50, 70, 100, 150, 200, 300)
USUAL = 100
N_NEW = 500  # test queries of generated data
WAYS = {
    "held out 10 %": {"early_stopping": True},
    "held out 10 %, refit": {"early_stopping": True, "refit": True},
    "held out 30 %, refit": {"early_stopping": True, "refit": True, "validation_fraction": 0.3},
    "early_stopping=5": {"early_stopping": 5},
}
ONE_THREAD = {"n_jobs": 1, "learning_rate": 0.1}
LIBRARIES = {
    "LightGBM": lambda n: LGBMRanker(n_estimators=n, num_leaves=7, verbose=-1, **ONE_THREAD),
    "XGBoost": lambda n: XGBRanker(n_estimators=n, max_depth=3, **ONE_THREAD),
    "CatBoost": lambda n: CatBoostRanker(
        iterations=n,
        depth=3,
        learning_rate=0.1,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    ),
    "HistGradientBoosting": lambda n: HistGradientBoostingRegressor(max_iter=n, max_leaf_nodes=7),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = ["generated-50", "generated-200", "generated-1000", "generated-2000"]
    if "SKGRADED_DATA" in os.environ:
        default += ["ohsumed", "lightgbm"]
    parser.add_argument("--data", nargs="+", default=default)
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES))
    parser.add_argument("--seeds", type=int, default=20)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message="early_stopping=True chooses")
    print(f"| data | library | best fixed | NDCNG@10 | {USUAL} rounds |", " | ".join(WAYS), "|")
    print("| --- | --- | ---: | ---: | ---: |", " | ".join(["---:"] * len(WAYS)), "|")
    for name in args.data:
        for library in args.libraries:
            results = [values_of(name, library, seed) for seed in range(args.seeds)]
            print(row(name, library, results), flush=True)


def row(name, library, results):
    """Differences to the best fixed number of rounds with 95 % intervals, and CPU ratios."""
    fixed = np.array([values for values, _, _ in results])
    best = fixed.mean(axis=0).argmax()
    usual = fixed[:, FIXED.index(USUAL)]
    ways = np.array([values for _, values, _ in results]).T
    seconds = np.array([times for _, _, times in results])
    ratios = seconds[:, 1:].sum(axis=0) / seconds[:, 0].sum()
    cells = [difference(usual - fixed[:, best])]
    for values, ratio in zip(ways, ratios, strict=True):
        cells.append(f"{difference(values - fixed[:, best])} ({ratio:.1f})")
    return (
        f"| {name} | {library} | {FIXED[best]} | {fixed[:, best].mean():.4f} | "
        f"{' | '.join(cells)} |"
    )


def difference(values):
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():+.4f} ± {half:.4f}"


def values_of(name, library, seed):
    """NDCNG@10 on new queries for fixed rounds and for each way, and seconds of CPU."""
    X, y, qid, n_new = data_of(name, seed)
    ids = np.unique(qid)
    is_new = np.isin(qid, np.random.default_rng(seed).permutation(ids)[:n_new])
    training = {"X": X[~is_new], "y": y[~is_new], "qid": qid[~is_new]}
    new = X[is_new], y[is_new], qid[is_new]
    start = time.process_time()
    sg.QueryRanker(LIBRARIES[library](USUAL)).fit(**training)
    seconds = [time.process_time() - start]
    longest = sg.QueryRanker(LIBRARIES[library](MOST)).fit(**training).estimator_
    judgments, measure = sg.Judgments(new[1], qid=new[2]), sg.NDCNG(k=10)
    fixed = [measure(judgments, scores) for scores in staged(library, longest, new[0])]
    values = []
    for settings in WAYS.values():
        ranker = sg.QueryRanker(LIBRARIES[library](MOST), random_state=seed, **settings)
        start = time.process_time()
        ranker.fit(**training)
        seconds.append(time.process_time() - start)
        values.append(measure(judgments, ranker.predict(new[0])))
    return fixed, values, seconds


def staged(library, model, X):
    """Scores after each of the fixed numbers of rounds."""
    if library == "HistGradientBoosting":
        scores = list(model.staged_predict(X))
        return [scores[n - 1] for n in FIXED]
    names = {"LightGBM": "num_iteration", "XGBoost": "iteration_range", "CatBoost": "ntree_end"}
    ends = [(0, n) if library == "XGBoost" else n for n in FIXED]
    return [model.predict(X, **{names[library]: end}) for end in ends]


def data_of(name, seed):
    if name.startswith("generated"):
        n_queries = int(name.split("-")[1])
        X, y, qid = sg.datasets.make_ranking(n_queries + N_NEW, random_state=seed)
        return X, y, qid, N_NEW
    folder = Path(os.environ["SKGRADED_DATA"])
    if name == "ohsumed":
        data = sg.datasets.read_letor(folder / "ohsumed" / "OHSUMED.txt.gz")
        return data.X.toarray(), data.y, data.qid, 21
    example = folder / "lightgbm-lambdarank"
    data = sg.datasets.read_letor(example / "rank.train", 300, group=example / "rank.train.query")
    return data.X.toarray(), data.y, data.qid, 50


if __name__ == "__main__":
    main()
