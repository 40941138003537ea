"""Cost and regret of RacingSearchCV and of other searches over LightGBM rankers.

python benchmarks/racing.py [--data generated-150 ohsumed …] [--candidates 20] [--rounds 300]
                            [--patience 40] [--seed 0] [--folder FOLDER]

All searches get the same candidates and folds. The cost is processor time until the search has
chosen a candidate, without the last fit on all rows. The regret is the loss on held-out queries
against the candidate of the search that drops nothing. FOLDER contains OHSUMED.txt.gz of LETOR 2.0,
and rank.train and rank.test of LightGBM's example with their files .query.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
from lightgbm import LGBMRanker
from scipy.stats import loguniform, randint
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, ParameterSampler

import skgraded as sg
from skgraded.model_selection import QueryKFold, RacingSearchCV

DISTRIBUTIONS = {
    "estimator__num_leaves": randint(2, 64),
    "estimator__learning_rate": loguniform(0.005, 0.5),
    "estimator__min_child_samples": randint(1, 100),
    "estimator__colsample_bytree": [0.4, 0.7, 1.0],
    "estimator__reg_lambda": loguniform(1e-3, 100),
}
SCORER, FOLDS = sg.make_ranking_scorer("ndcng@10"), QueryKFold(5, qid="query")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["generated-150", "generated-400"])
    parser.add_argument("--candidates", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--patience", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("racing"))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    print("| data | search | processor seconds | loss on held-out queries |")
    print("| --- | --- | ---: | ---: |")
    for name in args.data:
        X, y, X_fresh, y_fresh = data_of(args.folder, name, args.seed)
        sampler = ParameterSampler(DISTRIBUTIONS, args.candidates, random_state=args.seed)
        best = None
        for search, choose in SEARCHES.items():
            start = time.process_time()
            parameters, n_rounds = choose(args, X, y, [*sampler])
            seconds = time.process_time() - start
            ranker = ranker_of(args, n_rounds).set_params(**parameters).fit(X, y)
            value = ranker.score(X_fresh, y_fresh)
            best = value if best is None else best
            print(f"| {name} | {search} | {seconds:.0f} | {best - value:.4f} |", flush=True)


def ranker_of(args, n_rounds, **settings):
    booster = LGBMRanker(n_estimators=n_rounds, n_jobs=1, verbose=-1, random_state=0)
    settings = {"n_iter_no_change": args.patience, "random_state": args.seed} | settings
    return sg.QueryRanker(booster, qid="query", **settings)


# Searches: return the parameters and the number of rounds ----------------------------------------


def lists_of(candidates):
    return [{name: [value] for name, value in each.items()} for each in candidates]


def race(n_standard_errors):
    def choose(args, X, y, candidates):
        search = RacingSearchCV(
            ranker_of(args, args.rounds, early_stopping=True),
            lists_of(candidates),
            cv=FOLDS,
            n_standard_errors=n_standard_errors,
            refit=False,
            random_state=args.seed,
        ).fit(X, y)
        return search.best_params_, search.best_rounds_

    return choose


def grid(args, X, y, candidates, **settings):
    search = GridSearchCV(
        ranker_of(args, args.rounds, **settings),
        lists_of(candidates),
        cv=FOLDS,
        scoring=SCORER,
        refit=False,
    ).fit(X, y)
    return search.best_params_, args.rounds


def grid_with_stopping(args, X, y, candidates):
    """GridSearchCV whose fits search the number of rounds in five folds of their own."""
    parameters, _ = grid(args, X, y, candidates, early_stopping=5)
    ranker = ranker_of(args, args.rounds, early_stopping=5).set_params(**parameters)
    return parameters, ranker.fit(X, y).best_iteration_


def halve(args, X, y, candidates):
    search = HalvingGridSearchCV(
        ranker_of(args, args.rounds),
        lists_of(candidates),
        resource="estimator__n_estimators",
        min_resources=max(1, args.rounds // 9),
        max_resources=args.rounds,
        cv=FOLDS,
        scoring=SCORER,
        refit=False,
    ).fit(X, y)
    parameters = dict(search.best_params_)
    return parameters, parameters.pop("estimator__n_estimators")


def tune(args, X, y, candidates):
    """Optuna's TPE and MedianPruner, pruning the joint rounds of five folds."""
    from optuna_integration import LightGBMPruningCallback

    def objective(trial):
        parameters = {
            "estimator__num_leaves": trial.suggest_int("num_leaves", 2, 63),
            "estimator__learning_rate": trial.suggest_float("rate", 0.005, 0.5, log=True),
            "estimator__min_child_samples": trial.suggest_int("min_child", 1, 99),
            "estimator__colsample_bytree": trial.suggest_categorical("columns", [0.4, 0.7, 1.0]),
            "estimator__reg_lambda": trial.suggest_float("lambda", 1e-3, 100, log=True),
        }
        trial.set_user_attr("parameters", parameters)
        ranker = ranker_of(args, args.rounds, early_stopping=5).set_params(**parameters)
        prune = LightGBMPruningCallback(trial, "NDCNG@10", valid_name="validation")
        ranker.fit(X, y, callbacks=[prune])
        trial.set_user_attr("rounds", ranker.best_iteration_)
        return ranker.best_score_

    sampler = optuna.samplers.TPESampler(seed=args.seed)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=5)
    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
    study.optimize(objective, n_trials=len(candidates))
    return study.best_trial.user_attrs["parameters"], study.best_trial.user_attrs["rounds"]


SEARCHES = {f"racing, {n:g} standard errors": race(n) for n in (np.inf, 2, 1, 0.5)} | {
    "GridSearchCV, fixed rounds": grid,
    "GridSearchCV, early_stopping=5": grid_with_stopping,
    "HalvingGridSearchCV, n_estimators": halve,
    "Optuna, TPE and MedianPruner": tune,
}


# Data --------------------------------------------------------------------------------------------


def data_of(folder, name, seed):
    """Features with a column of queries, and grades: for the search, and held out."""
    if name.startswith("generated"):
        n = int(name.split("-")[1])
        X, y, qid = sg.datasets.make_ranking(n + 1000, n_features=20, random_state=seed)
        is_fresh = qid >= n
    else:
        X, y, qid = read(folder, name)
        ids, codes = np.unique(qid, return_inverse=True)
        shuffled = np.random.default_rng(seed).permutation(len(ids))
        is_fresh = shuffled[codes] >= 2 * len(ids) // 3
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


if __name__ == "__main__":
    main()
