"""RacingSearchCV against the full and a random search, and the error of its rule.

python benchmarks/racing.py searches [--data generated-1000 …] [--seeds 20] [--folder FOLDER]
python benchmarks/racing.py rule [--repetitions 2000]

`searches` evaluates 40 random LightGBM candidates on all 10 folds, and replays each search from
these per-query values: a race fits the same models, but fewer of them. For data such as
generated-1000-wide, candidates come from wider distributions. FOLDER keeps the values
between runs, and can contain OHSUMED.txt.gz of LETOR 2.0, and rank.train and rank.test of
LightGBM's example with their files .query.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMRanker
from scipy.stats import loguniform, randint
from sklearn.model_selection import ParameterSampler
from sklearn.utils import check_random_state

import skgraded as sg
from skgraded.stats.racing import Race

N_CANDIDATES, N_FOLDS, N_ROUNDS = 40, 10, 50
MARGINS = (0.0, 0.005, 0.01)
DISTRIBUTIONS = {
    "estimator__num_leaves": [3, 7, 15, 31, 63],
    "estimator__learning_rate": loguniform(0.01, 0.3),
    "estimator__min_child_samples": randint(5, 100),
    "estimator__colsample_bytree": [0.4, 0.7, 1.0],
    "estimator__reg_lambda": loguniform(1e-3, 100),
}
WIDE = DISTRIBUTIONS | {
    "estimator__num_leaves": randint(2, 128),
    "estimator__learning_rate": loguniform(0.01, 0.5),
    "estimator__n_estimators": randint(10, 201),
    "estimator__min_child_samples": randint(1, 100),
}
RANKER = sg.QueryRanker(
    LGBMRanker(n_estimators=N_ROUNDS, max_bin=63, n_jobs=1, verbose=-1, random_state=0), qid="query"
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["searches", "rule"])
    parser.add_argument("--data", nargs="+", default=["generated-200", "generated-1000"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--folder", type=Path, default=Path("racing"))
    args = parser.parse_args()
    warnings.simplefilter("ignore", sg.model_selection.TornQueryWarning)
    {"searches": searches, "rule": rule}[args.part](args)


# Searches ----------------------------------------------------------------------------------------


def searches(args):
    args.folder.mkdir(exist_ok=True)
    print("| data, seeds | search | CPU | fits | regret | best survives | survivors |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for name in args.data:
        rows = [row for seed in range(args.seeds) for row in searches_of(args.folder, name, seed)]
        for search, part in pd.DataFrame(rows).groupby("search", sort=False):
            error = part["regret"].std() / np.sqrt(len(part))
            print(
                f"| {name}, {args.seeds} | {search} | {part['cpu'].mean():.2f} "
                f"| {part['fits'].median():.2f} | {part['regret'].mean():.4f} ± {1.96 * error:.4f} "
                f"| {part['best_survives'].mean():.2f} | {part['survivors'].median():g} |",
                flush=True,
            )


def searches_of(folder, name, seed):
    """One row per search, for one seed: costs relative to the full search, and regret."""
    path = folder / f"{name}-{seed}.npz"
    if not path.exists():
        np.savez(path, **measured(folder, name, seed))
    stored = np.load(path)
    values, costs, fresh = stored["values"], stored["costs"], stored["fresh"]
    full = values.mean(axis=0)
    winner, n_fits = int(full.argmax()), costs.size

    def row(search, chosen, survivors, cpu, fits):
        return {
            "search": search,
            "cpu": cpu / costs.sum(),
            "fits": fits / n_fits,
            "regret": fresh[winner] - fresh[chosen],
            "best_survives": winner in survivors,
            "survivors": len(survivors),
        }

    rows = []
    for margin in MARGINS:
        survivors, is_fitted = replayed(values, stored["fold"], margin, seed)
        chosen = survivors[full[survivors].argmax()]
        cpu, fits = costs[is_fitted].sum(), is_fitted.sum()
        rows.append(row(f"racing, margin {margin:g}", chosen, survivors, cpu, fits))
        if margin == 0.005:
            # Random search with the same number of fits evaluates the first candidates.
            some = np.arange(max(1, round(fits / N_FOLDS)))
            search, cpu = "random search, the same fits", costs[some].sum()
            rows.append(row(search, full[some].argmax(), some, cpu, fits))
    return rows


def replayed(values, fold, margin, seed, level=0.95):
    """Survivors, and the mask of fits on (candidate, fold), as in RacingSearchCV."""
    rng = check_random_state(seed)
    order = rng.permutation(N_FOLDS)
    race = Race(values.shape[1], level, margin, np.random.default_rng(rng.randint(2**31)))
    remaining = np.arange(values.shape[1])
    is_fitted = np.zeros((values.shape[1], N_FOLDS), dtype=bool)
    for number in range(N_FOLDS):
        is_fitted[remaining, order[number]] = True
        seen = np.isin(fold, order[: number + 1])
        look = race.look(values[seen][:, remaining], (number + 1) / N_FOLDS)
        race.keep(~look.is_dropped)
        remaining = remaining[~look.is_dropped]
    return remaining, is_fitted


def measured(folder, name, seed):
    """Per-query values and CPU seconds of all candidates, and means on new queries."""
    X, y, X_fresh, y_fresh = data_of(folder, name, seed)
    distributions = WIDE if name.endswith("-wide") else DISTRIBUTIONS
    candidates = list(ParameterSampler(distributions, N_CANDIDATES, random_state=seed))
    values, costs, fresh = [], [], []
    for parameters in candidates:
        ranker = sg.QueryRanker(**RANKER.get_params(deep=False)).set_params(**parameters)
        cv = sg.cross_evaluate(ranker, X, y, cv=N_FOLDS, measures="ndcng@10")
        values.append(cv.per_query["NDCNG@10"])
        costs.append(cv.fit_time + cv.score_time)  # one thread: CPU time
        fresh.append(ranker.fit(X, y).score(X_fresh, y_fresh))
    return {
        "values": np.array(values).T,
        "costs": np.array(costs),
        "fresh": np.array(fresh),
        "fold": cv.fold,
    }


def data_of(folder, name, seed):
    """Features with a column of queries, and grades: for the search, and fresh."""
    if name.startswith("generated"):
        n = int(name.split("-")[1])
        X, y, qid = sg.datasets.make_ranking(n + 1000, n_features=20, random_state=seed)
        is_fresh = qid >= n
    else:
        X, y, qid = read(folder, name)
        ids, codes = np.unique(qid, return_inverse=True)
        shuffled = np.random.default_rng(seed).permutation(len(ids))
        is_fresh = shuffled[codes] >= len(ids) // 2
        qid = codes
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])]).assign(query=qid)
    return frame[~is_fresh], y[~is_fresh], frame[is_fresh], y[is_fresh]


def read(folder, name):
    if name == "ohsumed":
        data = sg.datasets.read_letor(folder / "OHSUMED.txt.gz")
        return data.X.toarray(), data.y, data.qid
    parts = [
        sg.datasets.read_letor(folder / f"rank.{part}", 300, group=folder / f"rank.{part}.query")
        for part in ("train", "test")
    ]
    qid = np.concatenate([[f"{i}-{q}" for q in part.qid] for i, part in enumerate(parts)])
    X = np.vstack([part.X.toarray() for part in parts])
    return X, np.concatenate([part.y for part in parts]), qid


# Error of the rule -------------------------------------------------------------------------------


SIZES = {
    "100, 20": (100, 20, 10),
    "1,000, 20": (1000, 20, 10),
    "5,000, 20": (5000, 20, 10),
    "100, 40": (100, 40, 10),
    "1,000, 40": (1000, 40, 10),
    "5,000, 40": (5000, 40, 10),
    "1,000, 40, 5": (1000, 40, 5),
    "1,000, 40, 20": (1000, 40, 20),
}


def rule(args):
    """Share of repetitions that drop the best of equal candidates, or the one better by .004."""
    print(f"| values: queries, candidates, folds | {' | '.join(SIZES)} |")
    print(f"| --- |{' ---: |' * len(SIZES)}")
    for kind in KINDS:
        cells = [
            np.mean([is_best_dropped(kind, *size, seed) for seed in range(args.repetitions)])
            for size in SIZES.values()
        ]
        print(f"| {kind} | {' | '.join(f'{share:.3f}' for share in cells)} |", flush=True)


def is_best_dropped(kind, n_queries, n_candidates, n_folds, seed):
    rng = np.random.default_rng(seed)
    values = KINDS[kind](rng, n_queries, n_candidates)
    ends = np.round(np.linspace(0, n_queries, n_folds + 1)[1:]).astype(int)
    if kind == "unequal folds":
        ends = np.unique((n_queries * np.linspace(0, 1, n_folds + 1)[1:] ** 2).astype(int))
    race = Race(n_candidates, 0.95, 0.0, rng)
    remaining = np.arange(n_candidates)
    for i, end in enumerate(ends):
        look = race.look(values[:end, remaining], (i + 1) / len(ends))
        race.keep(~look.is_dropped)
        remaining = remaining[~look.is_dropped]
    return 0 not in remaining


def normal(rng, n, c):
    return rng.normal(0.5, 0.25, (n, 1)) + rng.normal(0, 0.1, (n, c))


def correlated(rng, n, c):
    """Four groups of nearly equal candidates."""
    groups = rng.normal(0, 0.1, (n, 4))[:, np.arange(c) % 4]
    return rng.normal(0.5, 0.25, (n, 1)) + groups + rng.normal(0, 0.01, (n, c))


def zero_inflated(rng, n, c):
    """Nine of ten values equal those of the other candidates."""
    return rng.random((n, 1)) + (rng.random((n, c)) < 0.1) * rng.normal(0, 0.3, (n, c))


def skewed(rng, n, c):
    """Reciprocal ranks."""
    return 1 / rng.geometric(0.3, (n, c))


def better(rng, n, c):
    """Candidate 0 is better by .004."""
    return normal(rng, n, c) + 0.004 * (np.arange(c) == 0)


KINDS = {
    "normal": normal,
    "correlated": correlated,
    "zero-inflated": zero_inflated,
    "skewed": skewed,
    "unequal folds": normal,
    "one better by .004": better,
}


if __name__ == "__main__":
    main()
