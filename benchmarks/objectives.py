"""Time of objectives made from measures, and their effect on the quality of rankers.

python benchmarks/objectives.py [--queries 3000] [--rounds 30] [--repeats 4] [--data FOLDER]
python benchmarks/objectives.py --parts times

Times are processor times of a boosting round on one thread, minus the time of a round of least
squares on the same rows. The effect is the difference between two LightGBM rankers in repeated
cross-validation, paired by query, with a 95 % interval (t).
"""

import argparse
import os
import time
from pathlib import Path

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from lightgbm import LGBMRanker, LGBMRegressor
from sklearn.model_selection import GroupKFold

import skgraded as sg
from skgraded.datasets import make_ranking, read_letor
from skgraded.lightgbm import objective
from skgraded.xgboost import objective as objective_of_xgboost

# Times -------------------------------------------------------------------------------------------


def lightgbm_round(loss, X, y, sizes):
    """A function that trains one round of LightGBM."""
    params = {"objective": loss, "metric": "None", "num_threads": 1, "verbose": -1, "num_leaves": 7}
    booster = lgb.Booster(
        params | ({"objective": "none"} if callable(loss) else {}),
        lgb.Dataset(X, y, group=sizes, params={"verbose": -1}),
    )
    return lambda: booster.update(fobj=loss if callable(loss) else None)


def xgboost_round(loss, X, y, sizes):
    """A function that trains one round of XGBoost."""
    data = xgb.DMatrix(X, y, group=sizes)
    params = {
        "nthread": 1,
        "max_depth": 3,
        "disable_default_eval_metric": 1,
        "verbosity": 0,
        "lambdarank_pair_method": "topk",
        "lambdarank_num_pair_per_sample": 30,
    }
    booster = xgb.Booster(params | ({} if callable(loss) else {"objective": loss}), [data])
    rounds = iter(range(10**9))
    return lambda: booster.update(data, next(rounds), fobj=loss if callable(loss) else None)


BUILT_IN = "the library's `lambdarank`, `rank:ndcg`"


def times_in_turn(calls, n, rounds):
    """{name: processor time of each round in ns per document}, after three uncounted rounds."""
    times = {name: [] for name in calls}
    rng = np.random.default_rng(0)
    for i in range(rounds + 3):
        for name in rng.permutation(list(calls)):
            start = time.process_time()
            calls[name]()
            if i >= 3:
                times[name].append((time.process_time() - start) / n * 1e9)
    return times


def print_times(n_queries, rounds):
    """Print ns per document and, in brackets, the ratio to the library's own objective."""
    X, y, qid = make_ranking(n_queries, n_documents=120, n_features=4, random_state=0)
    real = np.exp(y + np.random.default_rng(0).normal(size=len(y)))
    sizes = np.bincount(qid)
    columns = {}
    for library, make, door, theirs, regression in (
        ("LightGBM", lightgbm_round, objective, "lambdarank", "regression"),
        ("XGBoost", xgboost_round, objective_of_xgboost, "rank:ndcg", "reg:squarederror"),
    ):
        calls = {
            "least squares": make(regression, X, y, sizes),
            BUILT_IN: make(theirs, X, y, sizes),
        }
        for text in ("ndcg", "ndcg@10", "ndcng", "mu_map", "mu_map@10", "map"):
            calls[sg.measure(text).name] = make(door(text), X, y, sizes)
        for text in ("ndcng", "mu_map"):
            calls[f"{sg.measure(text).name}, all grades distinct"] = make(
                door(text), X, real, sizes
            )
        times = times_in_turn(calls, len(y), rounds)
        base = times.pop("least squares")
        columns[library] = {name: np.subtract(values, base) for name, values in times.items()}
    print(f"| | {' | '.join(columns)} |\n| --- | ---: | ---: |")
    for name in columns["LightGBM"]:
        cells = [
            f"{np.median(added[name]):.1f} ({np.median(added[name] / np.median(added[BUILT_IN])):.2f})"
            for added in columns.values()
        ]
        print(f"| {name} | {' | '.join(cells)} |")


# An objective, and the measure of its effect: the objective's cut-off is a separate choice.
PAIRS = [("ndcg", "ndcg@10"), ("ndcng", "ndcng@10"), ("mu_map", "mu_map")]


# Effects -----------------------------------------------------------------------------------------


def conflict(n_queries=300, seed=0):
    """Queries in which one feature predicts relevance, and another predicts excellence."""
    X, _, qid = make_ranking(n_queries, random_state=seed)
    noise = np.random.default_rng(seed).normal(size=(2, len(qid)))
    relevant = X[:, 0] + noise[0] > 0.3
    excellent = X[:, 1] - 0.7 * X[:, 0] + noise[1] > 1.0
    return X, relevant + 3.0 * (relevant & excellent), qid


def prices(n_queries=300, seed=0):
    """Grades that are real numbers, on a different scale for each query."""
    X, y, qid = make_ranking(n_queries, random_state=seed)
    rng = np.random.default_rng(seed)
    scale = np.exp(rng.normal(size=n_queries))[qid]
    return X, scale * np.exp(0.6 * y + 0.4 * rng.normal(size=len(y))), qid


def ranker(loss=None):
    """A small LightGBM ranker; without an objective, lambdarank with grades as gains."""
    cls = LGBMRegressor if loss == "regression" else LGBMRanker
    model = cls(
        objective=loss,
        n_estimators=100,
        learning_rate=0.05,
        num_leaves=15,
        n_jobs=1,
        verbose=-1,
        random_state=0,
    )
    return sg.QueryRanker(model, grades="gain" if loss is None else "level")


def values_of(model, data, measure, repeats):
    """Per-query values, averaged over repeated cross-validations with shuffled rows.

    LightGBM ranks documents with equal scores (in the first round, all documents) by row. The row
    order in a file therefore helps or hurts lambdarank.
    """
    X, y, qid = data
    all_values = []
    for seed in range(repeats):
        rows = np.random.default_rng(seed).permutation(len(y))
        evaluation = sg.cross_evaluate(
            model,
            X[rows],
            y[rows],
            qid=qid[rows],
            measures=[measure],
            cv=GroupKFold(5, shuffle=True, random_state=seed),
        )
        values = evaluation.per_query[sg.measure(measure).name]
        all_values.append(values[np.argsort(evaluation.query_ids)])
    return np.mean(all_values, axis=0)


def print_difference(name, data, measure, first, second, repeats):
    """Print the difference between two rankers."""
    values = [values_of(model, data, measure, repeats) for model in (first, second)]
    difference = values[0] - values[1]
    half = 1.97 * difference.std(ddof=1) / np.sqrt(len(difference))
    print(
        f"| {name} | {sg.measure(measure).name} | {values[0].mean():.4f} | {values[1].mean():.4f} "
        f"| {difference.mean():+.4f} ± {half:.4f} |",
        flush=True,
    )


def print_differences(repeats, folder):
    """Print the table."""
    sets = {}
    if folder:
        data = read_letor(Path(folder, "ohsumed", "OHSUMED.txt.gz"))
        sets["OHSUMED"] = data.X.toarray(), data.y, data.qid
        example = Path(folder, "lightgbm-lambdarank")
        data = read_letor(example / "rank.train", group=example / "rank.train.query")
        sets["LightGBM's example"] = data.X.toarray(), data.y, data.qid
    sets["generated"] = make_ranking(300, random_state=0)
    sets["relevant ≠ excellent"] = conflict()
    print("| data | objective | compared with | measure | objective | compared | difference |")
    print("| --- | --- | --- | --- | ---: | ---: | ---: |")
    for name, data in sets.items():
        for text, measure in PAIRS:
            print_difference(
                f"{name} | `{text}` | lambdarank",
                data,
                measure,
                ranker(objective(text)),
                ranker("lambdarank"),
                repeats,
            )
    for text, measure in PAIRS[1:]:
        for loss, words in (("regression", "least squares"), (None, "lambdarank on gains")):
            print_difference(
                f"real grades | `{text}` | {words}",
                prices(),
                measure,
                ranker(objective(text)),
                ranker(loss),
                repeats,
            )


def main():
    """Print the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=3000, help="of 120 documents on average")
    parser.add_argument("--rounds", type=int, default=30, help="timed boosting rounds")
    parser.add_argument("--repeats", type=int, default=4, help="repeats of a 5-fold CV")
    parser.add_argument("--data", help="folder that contains ohsumed and lightgbm-lambdarank")
    parser.add_argument("--parts", nargs="+", default=["times", "differences"])
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    if "times" in args.parts:
        print_times(args.queries, args.rounds)
    if "differences" in args.parts:
        print_differences(args.repeats, args.data)


if __name__ == "__main__":
    main()
