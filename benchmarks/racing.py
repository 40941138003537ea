"""Cost and regret of RacingSearchCV and of other searches over LightGBM rankers.

python benchmarks/racing.py [--data generated-150 ohsumed …] [--candidates 20] [--rounds 100]
    [--searches GridSearchCV …] [--output results.csv]       # searches by the start of their names
python benchmarks/racing.py --draw results.csv picture.png   # prints the tables of README.md

All searches get the same folds; all except Optuna and FLAML get the same candidates. The cost is
processor time until the search has chosen a candidate, without the last fit on all rows. The regret
is the loss of NDCNG@10 on held-out queries against the candidate of the search that drops nothing.
SKGRADED_DATA is a folder with ohsumed/OHSUMED.txt.gz of LETOR 2.0, LightGBM's example in
lightgbm-lambdarank/, and trec-news-2018/. FLAML is left out if it is not installed.
"""

import argparse
import os
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import lightgbm as lgb
import numpy as np
import optuna
import pandas as pd
from lightgbm import LGBMRanker
from scipy.stats import loguniform, randint
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    ParameterSampler,
)

import skgraded as sg
from skgraded.lightgbm import eval_metric
from skgraded.model_selection import RacingSearchCV

DISTRIBUTIONS = {
    "estimator__num_leaves": randint(2, 64),
    "estimator__learning_rate": loguniform(0.005, 0.5),
    "estimator__min_child_samples": randint(1, 100),
    "estimator__colsample_bytree": [0.4, 0.7, 1.0],
    "estimator__reg_lambda": loguniform(1e-3, 100),
}
PATIENCE = 20
BOOSTER = {"n_jobs": 1, "verbose": -1, "random_state": 0}
SCORER = sg.make_ranking_scorer("ndcng@10")
GENERATED = {  # further arguments of make_ranking
    "generated": {},
    "binary": {"n_levels": 2},
    "long": {"n_documents": 60},
}
N_NEW = 1000  # held-out queries of generated data
REFERENCE = "racing, inf"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tables = ["generated-80", "generated-150", "generated-250", "generated-400"]
    tables += ["binary-200", "long-60"]
    if "SKGRADED_DATA" in os.environ:
        tables += ["ohsumed", "lightgbm", "trec-news"]
    parser.add_argument("--data", nargs="+", default=tables)
    parser.add_argument("--candidates", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--searches", nargs="+", default=[""])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("racing.csv"))
    parser.add_argument("--draw", type=Path, nargs=2)
    args = parser.parse_args()
    if args.draw:
        frame = pd.read_csv(args.draw[0])
        write_tables(frame)
        if "GridSearchCV, fixed rounds" in set(frame["search"]):
            draw(frame, args.draw[1])
        return
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rows = []
    for name in args.data:
        data = Data(name, args.seed)
        sampler = ParameterSampler(DISTRIBUTIONS, args.candidates, random_state=args.seed)
        candidates, reference = [*sampler], None
        for search, choose in SEARCHES.items():
            if search == REFERENCE or any(map(search.startswith, args.searches)):
                start = time.process_time()
                parameters, settings = choose(args, data, candidates)
                seconds = time.process_time() - start
                values = np.full(data.n_new, np.nan)
                if parameters is not None:
                    values = data.test(ranker_of(**settings).set_params(**parameters))
                reference = values if search == REFERENCE else reference
                losses = (reference - values)[np.isfinite(reference)]
                row = {
                    "table": name,
                    "candidates": args.candidates,
                    "search": search,
                    "seconds": round(seconds, 2),
                    "loss": round(losses.mean(), 5),
                    "error": round(losses.std() / np.sqrt(len(losses)), 5),
                }
                print(*row.values(), sep=" | ", flush=True)
                rows.append(row)
                pd.DataFrame(rows).to_csv(args.output, index=False)


def ranker_of(n_rounds, **settings):
    booster = LGBMRanker(n_estimators=n_rounds, **BOOSTER)
    return sg.QueryRanker(booster, qid="query", n_iter_no_change=PATIENCE, **settings)


# Searches: return parameters and settings of the ranker ------------------------------------------


def lists_of(candidates):
    return [{name: [value] for name, value in each.items()} for each in candidates]


def race(n_standard_errors):
    def choose(args, data, candidates):
        search = RacingSearchCV(
            ranker_of(args.rounds, early_stopping=True),
            lists_of(candidates),
            cv=data.folds,
            n_standard_errors=n_standard_errors,
            refit=False,
            random_state=args.seed,
        ).fit(data.X, data.y)
        return search.best_params_, {"n_rounds": search.best_rounds_}

    return choose


def grid(early_stopping):
    """GridSearchCV, whose early stopping holds out queries of each fold's training queries."""

    def choose(args, data, candidates):
        settings = {"n_rounds": args.rounds, "early_stopping": early_stopping, "random_state": 0}
        search = GridSearchCV(
            ranker_of(**settings),
            lists_of(candidates),
            cv=data.folds,
            scoring=SCORER,
            refit=False,
        ).fit(data.X, data.y)
        return search.best_params_, settings

    return choose


def halve(args, data, candidates):
    search = HalvingGridSearchCV(
        ranker_of(args.rounds),
        lists_of(candidates),
        resource="estimator__n_estimators",
        min_resources=max(1, args.rounds // 9),
        max_resources=args.rounds,
        cv=data.folds,
        scoring=SCORER,
        refit=False,
    ).fit(data.X, data.y)
    parameters = dict(search.best_params_)
    return parameters, {"n_rounds": parameters.pop("estimator__n_estimators")}


def tune(args, data, candidates):
    """Optuna's TPE sampler and MedianPruner on the means of lgb.cv after each round."""
    metric, train = eval_metric("ndcng@10"), lgb.Dataset(data.features, data.y, group=data.sizes)
    stop = lgb.early_stopping(PATIENCE, verbose=False)

    def objective(trial):
        parameters = {
            "num_leaves": trial.suggest_int("num_leaves", 2, 63),
            "learning_rate": trial.suggest_float("learning_rate", 0.005, 0.5, log=True),
            "min_child_samples": trial.suggest_int("min_child_samples", 1, 99),
            "colsample_bytree": trial.suggest_categorical("colsample_bytree", [0.4, 0.7, 1.0]),
            "reg_lambda": trial.suggest_float("reg_lambda", 1e-3, 100, log=True),
        }

        def prune(env):
            trial.report(env.evaluation_result_list[0][2], env.iteration)
            if trial.should_prune():
                raise optuna.TrialPruned

        settings = {"objective": "lambdarank", "metric": "None", "feature_pre_filter": False}
        means = lgb.cv(
            settings | parameters | BOOSTER,
            train,
            args.rounds,
            folds=data.folds,
            feval=metric,
            callbacks=[prune, stop],
        )["valid NDCNG@10-mean"]
        trial.set_user_attr("rounds", len(means))
        return means[-1]

    sampler = optuna.samplers.TPESampler(seed=args.seed)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=5)
    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
    study.optimize(objective, n_trials=len(candidates))
    best = study.best_trial
    return with_prefix(best.params), {"n_rounds": best.user_attrs["rounds"]}


def tune_cheapest_first(args, data, candidates):
    """FLAML with twice the configurations, because it begins with few rounds and leaves."""
    from flaml import AutoML

    automl = AutoML()
    automl.fit(
        X_train=data.features,
        y_train=data.y,
        groups=data.qid,
        task="rank",
        metric="ndcg@10",
        estimator_list=["lgbm"],
        eval_method="cv",
        split_type=GroupKFold(5),
        n_splits=5,
        max_iter=2 * len(candidates),
        time_budget=-1,
        retrain_full=False,
        n_jobs=1,
        seed=args.seed,
        verbose=0,
    )
    parameters = automl.best_config
    if parameters is None:  # scikit-learn's NDCG refuses queries with one document
        return None, {}
    parameters["max_bin"] = 2 ** int(parameters.pop("log_max_bin")) - 1
    return with_prefix(parameters), {"n_rounds": parameters.pop("n_estimators")}


def with_prefix(parameters):
    return {f"estimator__{name}": value for name, value in parameters.items()}


SEARCHES = {f"racing, {n:g}": race(n) for n in (np.inf, 2, 1, 0.5)} | {
    "GridSearchCV, fixed rounds": grid(False),
    "GridSearchCV, early stopping": grid(True),
    "HalvingGridSearchCV": halve,
    "Optuna": tune,
}
if find_spec("flaml"):
    SEARCHES["FLAML"] = tune_cheapest_first


# Data --------------------------------------------------------------------------------------------


class Data:
    """The queries of a search, its folds, and held-out queries."""

    def __init__(self, name, seed):
        kind, _, n_queries = name.partition("-")
        if kind in GENERATED:
            n = int(n_queries)
            settings = {"n_features": 20, "random_state": seed, **GENERATED[kind]}
            X, y, qid = sg.datasets.make_ranking(n + N_NEW, **settings)
            is_new = qid >= n
        else:
            X, y, qid = read(Path(os.environ["SKGRADED_DATA"]), name)
            ids, qid = np.unique(qid, return_inverse=True)
            order = np.argsort(qid, kind="stable")
            X, y, qid = X[order], y[order], qid[order]
            is_new = np.random.default_rng(seed).permutation(len(ids))[qid] >= 2 * len(ids) // 3
        frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])]).assign(query=qid)
        self.X, self.y, self.qid = frame[~is_new], y[~is_new], qid[~is_new]
        self.X_new, self.y_new = frame[is_new], y[is_new]
        self.n_new = self.X_new["query"].nunique()
        self.features = self.X.drop(columns="query").to_numpy()
        self.sizes = np.unique(self.qid, return_counts=True)[1]
        self.folds = list(GroupKFold(5).split(self.X, self.y, self.qid))

    def test(self, ranker):
        """Fit on the queries of the search, and return the values of the held-out queries."""
        scores = ranker.fit(self.X, self.y).predict(self.X_new)
        return sg.NDCNG(k=10).per_query(self.y_new, scores, qid=self.X_new["query"])


def read(folder, name):
    if name == "ohsumed":
        data = sg.datasets.read_letor(folder / "ohsumed/OHSUMED.txt.gz")
        return data.X.toarray(), data.y, data.qid
    parts = []
    for part in ("train", "test"):
        if name == "lightgbm":
            path = folder / f"lightgbm-lambdarank/rank.{part}"
            parts.append(sg.datasets.read_letor(path, 300, group=f"{path}.query"))
        else:
            parts.append(
                sg.datasets.read_letor(folder / f"trec-news-2018/trec_news_2018.{part}", 5)
            )
    qid = np.concatenate([[f"{i}-{q}" for q in part.qid] for i, part in enumerate(parts)])
    X = np.vstack([part.X.toarray() for part in parts])
    return X, np.concatenate([part.y for part in parts]), qid


# Tables and picture ------------------------------------------------------------------------------


def pivot(frame, column):
    """Values by table and search, in the order of the results."""
    values = frame.pivot(index="table", columns="search", values=column)
    return values.loc[frame["table"].unique(), frame["search"].unique()]


def relative_costs(frame):
    """Geometric mean of each search's time, divided by the time of the most thorough search."""
    seconds = pivot(frame, "seconds")
    most = "GridSearchCV, fixed rounds" if "GridSearchCV, fixed rounds" in seconds else REFERENCE
    return np.exp(np.log(seconds.div(seconds[most], axis=0)).mean())


def write_tables(frame):
    seconds, losses, errors = (pivot(frame, name) for name in ("seconds", "loss", "error"))
    costs = relative_costs(frame)
    print("| search | cost | loss, mean ± error | worse | better |", end=" ")
    print(*losses.index, sep=" | ", end=" |\n")
    print("| --- |" + " ---: |" * (4 + len(losses)))
    for name in losses:
        loss, error = losses[name], errors[name]
        cells = [
            "failed" if np.isnan(x) else f"{s:.0f} ({x:.4f})"
            for s, x in zip(seconds[name], loss, strict=True)
        ]
        mean = f"{loss.mean():.4f} ± {loss.sem():.4f}"
        n_worse, n_better = ((sign * loss > 2 * error).sum() for sign in (1, -1))
        print(f"| {name} | {costs[name]:.2f} | {mean} | {n_worse} | {n_better} |", end=" ")
        print(*cells, sep=" | ", end=" |\n")


def draw(frame, picture):
    """Draw the mean cost and the mean loss of each search."""
    import matplotlib.pyplot as plt

    losses, cost = pivot(frame, "loss"), relative_costs(frame)
    _, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.axhline(0, color="0.5", linewidth=0.8)
    for name in losses:
        is_ours, point = name.startswith("racing"), (cost[name], losses[name].mean())
        color = "C0" if is_ours else "C1"
        axes.errorbar(*point, losses[name].sem(), color=color, marker="o", capsize=3)
        text = name.removeprefix("racing, ")
        offset = (4, -11) if is_ours or name == "FLAML" else (6, 4)  # texts must not overlap
        axes.annotate(text, point, offset, textcoords="offset points", fontsize=8, color=color)
    axes.plot([], [], "oC0", label="RacingSearchCV, with n_standard_errors")
    axes.plot([], [], "oC1", label="other searches")
    axes.legend(loc="lower left")
    ticks = [0.2, 0.3, 0.5, 0.7, 1]
    axes.set(
        xscale="log",
        xlim=(0.8 * cost.min(), 2 * cost.max()),
        xlabel="processor time / that of GridSearchCV with fixed rounds",
        ylabel="loss of NDCNG@10 on held-out queries",
    )
    axes.set_xticks(ticks, ticks)
    axes.minorticks_off()
    plt.savefig(picture, dpi=100)


if __name__ == "__main__":
    main()
