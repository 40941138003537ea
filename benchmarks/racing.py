"""RacingSearchCV against other searches, and the error of its rule.

python benchmarks/racing.py searches [--data generated-1000 …] [--seeds 20] [--folder FOLDER]
python benchmarks/racing.py rule [--repetitions 2000]
python benchmarks/racing.py rankers [--repetitions 100]
python benchmarks/racing.py overhead

`searches` evaluates 40 random LightGBM candidates on all 10 folds, and replays each search from
these per-query values: a race fits the same models, but fewer of them. For data such as
generated-1000-wide, candidates come from wider distributions. FOLDER keeps the values
between runs, and can contain OHSUMED.txt.gz of LETOR 2.0, and rank.train and rank.test of
LightGBM's example with their files .query.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMRanker
from scipy.stats import loguniform, randint
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingRandomSearchCV, ParameterSampler
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
    parser.add_argument("part", choices=["searches", "rule", "rankers", "overhead"])
    parser.add_argument("--data", nargs="+", default=["generated-200", "generated-1000"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--folder", type=Path, default=Path("racing"))
    args = parser.parse_args()
    warnings.simplefilter("ignore", sg.model_selection.TornQueryWarning)
    {"searches": searches, "rule": rule, "rankers": rankers, "overhead": overhead}[args.part](args)


# Searches ----------------------------------------------------------------------------------------


def searches(args):
    args.folder.mkdir(exist_ok=True)
    for name in args.data:
        rows = [row for seed in range(args.seeds) for row in searches_of(args.folder, name, seed)]
        table = pd.DataFrame(rows).groupby("search", sort=False)
        print(f"\n{name}, {args.seeds} seeds\n")
        print("| search | CPU | fits | regret | best survives | survivors |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for search, part in table:
            error = part["regret"].std() / np.sqrt(len(part))
            print(
                f"| {search} | {part['cpu'].mean():.2f} | {part['fits'].median():.2f} "
                f"| {part['regret'].mean():.4f} ± {1.96 * error:.4f} "
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

    rows = [row("full search", winner, np.arange(len(full)), costs.sum(), n_fits)]
    for margin in MARGINS:
        survivors, is_fitted = replayed(values, stored["fold"], margin, seed)
        chosen = survivors[full[survivors].argmax()]
        rows.append(
            row(
                f"racing, margin {margin:g}",
                chosen,
                survivors,
                costs[is_fitted].sum(),
                is_fitted.sum(),
            )
        )
        # Random search with the same number of fits evaluates the first candidates on all folds.
        some = np.arange(max(1, round(is_fitted.sum() / N_FOLDS)))
        rows.append(
            row(
                f"random search, fits of margin {margin:g}",
                full[some].argmax(),
                some,
                costs[some].sum(),
                is_fitted.sum(),
            )
        )
    for resource in ("rounds", "rows") if "halving_rows" in stored else ():
        cpu, chosen = stored[f"halving_{resource}"]
        rows.append(row(f"halving over {resource}", int(chosen), [int(chosen)], cpu, np.nan))
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
    """Per-query values and CPU seconds of all candidates, fresh means, and the halving searches."""
    X, y, X_fresh, y_fresh = data_of(folder, name, seed)
    is_wide = name.endswith("-wide")  # candidates differ in rounds, the resource of halving
    distributions = WIDE if is_wide else DISTRIBUTIONS
    candidates = list(ParameterSampler(distributions, N_CANDIDATES, random_state=seed))
    values, costs, fresh = [], [], []
    for parameters in candidates:
        ranker = sg.QueryRanker(**RANKER.get_params(deep=False)).set_params(**parameters)
        cv = sg.cross_evaluate(ranker, X, y, cv=N_FOLDS, measures="ndcng@10")
        values.append(cv.per_query["NDCNG@10"])
        costs.append(cv.fit_time + cv.score_time)  # one thread: CPU time
        fresh.append(ranker.fit(X, y).score(X_fresh, y_fresh))
    result = {
        "values": np.array(values).T,
        "costs": np.array(costs),
        "fresh": np.array(fresh),
        "fold": cv.fold,
    }
    return (
        result
        if is_wide
        else result
        | {
            "halving_rounds": halved(X, y, candidates, "estimator__n_estimators"),
            "halving_rows": halved(X, y, candidates, "n_samples"),
        }
    )


def halved(X, y, candidates, resource):
    """CPU seconds and the choice of successive halving among the same candidates."""
    lists = [{name: [value] for name, value in parameters.items()} for parameters in candidates]
    limits = {"max_resources": N_ROUNDS, "min_resources": N_ROUNDS // 9}
    if resource == "n_samples":
        limits = {"min_resources": len(X) // 9}
    search = HalvingRandomSearchCV(
        RANKER,
        lists,
        n_candidates=N_CANDIDATES,
        factor=3,
        resource=resource,
        refit=False,
        cv=sg.model_selection.QueryKFold(N_FOLDS, qid="query"),
        random_state=0,
        scoring=sg.make_ranking_scorer("ndcng@10"),
        **limits,
    )
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    cpu = time.process_time() - start
    best = {name: search.best_params_[name] for name in candidates[0]}
    return np.array([cpu, candidates.index(best)])


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


def rule(args):
    """Share of repetitions that drop the best of equal candidates, or the one better by .004."""
    print("| values | queries | candidates | folds | best dropped | fits |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for kind in KINDS:
        for n_queries, n_candidates, n_folds in (
            (100, 20, 10),
            (1000, 20, 10),
            (5000, 20, 10),
            (100, 40, 10),
            (1000, 40, 5),
            (1000, 40, 10),
            (1000, 40, 20),
            (5000, 40, 10),
        ):
            dropped, fits = zip(
                *(
                    dropped_in(kind, n_queries, n_candidates, n_folds, seed)
                    for seed in range(args.repetitions)
                ),
                strict=True,
            )
            print(
                f"| {kind} | {n_queries:,} | {n_candidates} | {n_folds} | {np.mean(dropped):.4f} "
                f"| {np.mean(fits):.2f} |",
                flush=True,
            )


def dropped_in(kind, n_queries, n_candidates, n_folds, seed):
    """Whether candidate 0 is dropped, and the share of fits."""
    rng = np.random.default_rng(seed)
    values = KINDS[kind](rng, n_queries, n_candidates)
    ends = np.round(np.linspace(0, n_queries, n_folds + 1)[1:]).astype(int)
    if kind == "unequal folds":
        ends = np.unique((n_queries * np.linspace(0, 1, n_folds + 1)[1:] ** 2).astype(int))
    race = Race(n_candidates, 0.95, 0.0, rng)
    remaining, n_fits = np.arange(n_candidates), 0
    for i, end in enumerate(ends):
        n_fits += len(remaining)
        look = race.look(values[:end, remaining], (i + 1) / len(ends))
        race.keep(~look.is_dropped)
        remaining = remaining[~look.is_dropped]
    return 0 not in remaining, n_fits / n_candidates / len(ends)


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


# Folds that share training data ------------------------------------------------------------------


def rankers(args):
    """How often a race drops the candidate with the highest mean over training sets."""
    n = 100  # training queries
    X, y, qid = sg.datasets.make_ranking(n * args.repetitions + 2000, 10, random_state=0)
    fresh = qid >= n * args.repetitions
    judgments = sg.Judgments(y[fresh], qid=qid[fresh])
    grid = {"estimator__num_leaves": [2, 3, 5, 8], "estimator__learning_rate": [0.05, 0.1, 0.2]}
    ranker = sg.QueryRanker(
        LGBMRanker(n_estimators=30, max_bin=63, n_jobs=1, verbose=-1, random_state=0)
    )
    means, survivors = [], []
    for seed in range(args.repetitions):
        rows = qid // n == seed
        training = {"X": X[rows], "y": y[rows], "qid": qid[rows]}
        race = sg.model_selection.RacingSearchCV(
            ranker, grid, cv=10, random_state=seed, refit=False
        )
        survivors.append(race.fit(**training).survivors_)
        fitted = [
            clone(ranker).set_params(**parameters).fit(**training)
            for parameters in race.cv_results_["params"]
        ]
        means.append([sg.NDCNG(k=10)(judgments, model.predict(X[fresh])) for model in fitted])
    means = np.array(means)
    best, own = means.mean(axis=0).argmax(), means.argmax(axis=1)
    print(f"{args.repetitions} training sets of {n} queries, {means.shape[1]} candidates")
    print(f"the best for all training sets is dropped: {dropped_share(survivors, best)}")
    print(f"the best for the same training set is dropped: {dropped_share(survivors, own)}")
    print(f"survivors: {np.median(list(map(len, survivors))):g} (median)")


def dropped_share(survivors, best):
    best = np.broadcast_to(best, len(survivors))
    return np.mean([c not in of_race for c, of_race in zip(best, survivors, strict=True)]).round(3)


# Overhead ----------------------------------------------------------------------------------------


def overhead(args):
    """Share of a search's CPU time outside fits, predictions and measures."""
    X, y, qid = sg.datasets.make_ranking(1000, n_features=20, random_state=0)
    ranker = sg.QueryRanker(LGBMRanker(n_estimators=N_ROUNDS, max_bin=63, n_jobs=1, verbose=-1))
    search = sg.model_selection.RacingSearchCV(
        ranker, DISTRIBUTIONS, n_iter=N_CANDIDATES, cv=N_FOLDS, random_state=0, refit=False
    )
    start = time.process_time()
    table = search.fit(X, y, qid=qid).cv_results_
    total = time.process_time() - start
    fits = (table["n_folds"] * (table["mean_fit_time"] + table["mean_score_time"])).sum()
    print(f"{search.n_fits_} fits, {total:.1f} s; outside of them {1 - fits / total:.1%}")


if __name__ == "__main__":
    main()
