"""Tune an LGBMRanker with Optuna: cross-validation keeps queries whole, and bad trials are pruned.

    python examples/tune_with_optuna.py
    python examples/tune_with_optuna.py --trials 50 --data OHSUMED.txt.gz
    python examples/tune_with_optuna.py --data rank.train --group rank.train.query

Each trial first trains on three quarters of the queries. After each round, a metric from skgraded
is computed on the other queries and determines whether the trial is pruned. A trial that is not
pruned keeps its best number of rounds. Its value is the mean of cross_val_score over folds of whole
queries.

Set direction="maximize", because Optuna minimizes by default. Do not pass measures from skgraded to
Optuna's LightGBMTuner. It ignores that higher values are better, and minimizes every metric except
auc, ndcg, map and average_precision. With μMAP, it returned the worst of its trials.

Without --data, the data is generated. --data accepts a LETOR file (svmlight with qid). An svmlight
file without qid also needs --group, a file with the sizes of the consecutive queries.
"""

import argparse

import lightgbm as lgb
import numpy as np
import optuna
import sklearn
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, cross_val_score

import skgraded as sg
from skgraded.lightgbm import eval_metric

MEASURE = sg.NDCNG(k=10)
FIXED = {"verbose": -1, "num_threads": 1, "seed": 0, "deterministic": True}
MAX_ROUNDS = 150


def load(path, group):
    """Return features, grades and the query of each row."""
    if path is None:
        return sg.datasets.make_ranking(n_queries=120, random_state=0)
    data = sg.datasets.read_letor(path, group=group)
    return data.X, data.y, data.qid


def split(X, y, qid, test_size, seed):
    """Split (X, y, qid) into two parts that share no query."""
    splitter = GroupShuffleSplit(1, test_size=test_size, random_state=seed)
    return [(X[rows], y[rows], qid[rows]) for rows in next(splitter.split(X, y, qid))]


def dataset(X, y, qid, reference=None):
    """Make a Dataset with the rows sorted by query, as LightGBM requires."""
    _, codes = np.unique(qid, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    return lgb.Dataset(
        X[order],
        y[order],
        group=np.bincount(codes),
        reference=reference,
        params={"verbose": -1},
    )


def pruning(trial):
    """Make a LightGBM callback that reports each round to Optuna and prunes bad trials."""

    def report(env):
        value = env.evaluation_result_list[0][2]
        trial.report(value, step=env.iteration)
        if trial.should_prune():
            raise optuna.TrialPruned(f"{value:.4f} at round {env.iteration + 1}")

    return report


def rounds_needed(trial, params, train, valid):
    """Train until the measure on `valid` stops improving or the trial is pruned."""
    train_set = dataset(*train)
    booster = lgb.train(
        params | FIXED | {"objective": "lambdarank", "metric": "None"},
        train_set,
        MAX_ROUNDS,
        valid_sets=[dataset(*valid, reference=train_set)],
        feval=eval_metric(MEASURE),
        callbacks=[pruning(trial), lgb.early_stopping(20, verbose=False)],
    )
    return booster.best_iteration


def cross_validated(params, n_rounds, X, y, qid):
    """Return the mean of the measure over three folds of whole queries."""
    ranker = sg.QueryRanker(lgb.LGBMRanker(n_estimators=n_rounds, **params, **FIXED))
    return cross_val_score(
        ranker,
        X,
        y,
        params={"qid": qid},
        scoring=sg.make_ranking_scorer(MEASURE),
        cv=GroupKFold(3).set_split_request(groups="qid"),
        error_score="raise",
    ).mean()


def tune(X, y, qid, n_trials):
    """Run a study; the best trial has the highest cross-validated value."""
    train, valid = split(X, y, qid, test_size=0.25, seed=0)

    def objective(trial):
        params = {
            "learning_rate": trial.suggest_float("learning_rate", 0.003, 0.3, log=True),
            "num_leaves": trial.suggest_int("num_leaves", 3, 31, log=True),
            "min_child_samples": trial.suggest_int("min_child_samples", 2, 50, log=True),
        }
        n_rounds = rounds_needed(trial, params, train, valid)
        trial.set_user_attr("n_rounds", n_rounds)
        return cross_validated(params, n_rounds, X, y, qid)

    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=0),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=9),
    )
    study.optimize(objective, n_trials=n_trials)
    return study


def print_trials(study):
    """Print one line per trial."""
    print(
        f"\ntrial  {'learning_rate':>13}{'num_leaves':>12}{'min_child_samples':>19}"
        f"{'rounds':>8}{'held out':>10}{f'{MEASURE}, 3 folds':>21}"
    )
    for trial in study.trials:
        params, reported = trial.params, trial.intermediate_values
        # The value of a pruned trial is its last reported value, from a different set of queries.
        pruned = trial.state == optuna.trial.TrialState.PRUNED
        value = "pruned" if pruned else f"{trial.value:.4f}"
        best = " *" if trial.number == study.best_trial.number else ""
        print(
            f"{trial.number:>5}  {params['learning_rate']:>13.4f}{params['num_leaves']:>12}"
            f"{params['min_child_samples']:>19}{len(reported):>8}"
            f"{max(reported.values()):>10.4f}{value:>21}{best}"
        )


def main():
    """Tune, and compare the best trial with the defaults on test queries."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=15, help="number of trials, by default 15")
    parser.add_argument("--data", help="a LETOR file, or an svmlight file with --group")
    parser.add_argument("--group", help="sizes of the consecutive queries of --data")
    args = parser.parse_args()
    if args.group and not args.data:
        parser.error("--group needs --data")
    if args.trials < 1:
        parser.error("--trials must be at least 1")
    sklearn.set_config(enable_metadata_routing=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    rest, (X, y, qid) = split(*load(args.data, args.group), test_size=0.25, seed=1)
    study = tune(*rest, args.trials)
    print_trials(study)

    tuned = study.best_params | {"n_estimators": study.best_trial.user_attrs["n_rounds"]}
    print(f"\non {len(np.unique(qid))} test queries")
    for name, params in {"LightGBM's defaults": {}, "the best trial": tuned}.items():
        ranker = sg.QueryRanker(lgb.LGBMRanker(**params, **FIXED), measure=MEASURE)
        score = ranker.fit(rest[0], rest[1], qid=rest[2]).score(X, y, qid=qid)
        print(f"{name:<20}{score:>8.4f}")


if __name__ == "__main__":
    main()
