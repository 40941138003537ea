"""Tune an LGBMRanker with graded measures, stop it early, and find its worst queries.

    python examples/quickstart.py
    python examples/quickstart.py --train OHSUMED.txt.gz
    python examples/quickstart.py --train rank.train --group rank.train.query

Without --train, the data is generated. --train accepts a LETOR file (svmlight with qid). An
svmlight file without qid also needs --group, a file with the sizes of the consecutive queries.
"""

import argparse
import textwrap
import time

import lightgbm as lgb
import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold, GroupShuffleSplit

import skgraded as sg
from skgraded.lightgbm import eval_metric

MEASURES = [sg.NDCNG(k=10), sg.MuAP()]
GRID = {
    "estimator__num_leaves": [7, 31],
    "estimator__learning_rate": [0.03, 0.1],
}


def load(train, group):
    """Return features, grades and the query of each row."""
    if train is None:
        return sg.datasets.make_ranking(n_queries=400, n_documents=40, random_state=0)
    data = sg.datasets.read_letor(train, group=group)
    return data.X, data.y, data.qid


def split(X, y, qid, test_size, seed):
    """Split (X, y, qid) into two parts that share no query."""
    splitter = GroupShuffleSplit(1, test_size=test_size, random_state=seed)
    return [(X[rows], y[rows], qid[rows]) for rows in next(splitter.split(X, y, qid))]


def search(X, y, qid):
    """Tune an LGBMRanker with a grid search; routing passes qid to fit, split and score."""
    ranker = sg.QueryRanker(lgb.LGBMRanker(n_estimators=60, verbose=-1, random_state=0))
    grid_search = GridSearchCV(
        ranker,
        GRID,
        scoring=sg.make_ranking_scorer(MEASURES),
        refit=MEASURES[0].name,
        cv=GroupKFold(3).set_split_request(groups="qid"),
    )
    return grid_search.fit(X, y, qid=qid)


def train_until_it_stops(best, train, valid):
    """Train with the best parameters until 50 rounds bring no improvement on `valid`."""
    train, valid = (in_query_order(*rows) for rows in (train, valid))
    train_set = lgb.Dataset(train[0], train[1], group=train[2])
    valid_set = lgb.Dataset(valid[0], valid[1], group=valid[2], reference=train_set)
    params = {name.removeprefix("estimator__"): value for name, value in best.items()}
    params |= {"objective": "lambdarank", "metric": "None", "verbose": -1, "seed": 0}
    history = {}
    booster = lgb.train(
        params,
        train_set,
        num_boost_round=600,
        valid_sets=[valid_set],
        feval=eval_metric(MEASURES),
        # by default, LightGBM would stop when any of the measures stops improving
        callbacks=[
            lgb.early_stopping(50, first_metric_only=True, verbose=False),
            lgb.record_evaluation(history),
        ],
    )
    return booster, len(history["valid_0"][MEASURES[0].name])


def in_query_order(X, y, qid):
    """Return X and y sorted by query, and the group sizes, as lgb.Dataset requires them."""
    queries, codes = np.unique(qid, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    return X[order], y[order], np.bincount(codes)


def print_table(title, rows):
    """Print the means of the measures over the queries, one line per system."""
    print(f"\n{title:<44}" + "".join(f"{m.name:>10}" for m in MEASURES))
    for name, values in rows.items():
        print(f"{name:<44}" + "".join(f"{values[m.name]:>10.4f}" for m in MEASURES))


def main():
    """Run the three steps and print their results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", help="a LETOR file, or an svmlight file with --group")
    parser.add_argument("--group", help="sizes of the consecutive queries of --train")
    args = parser.parse_args()
    if args.group and not args.train:
        parser.error("--group needs --train")
    sklearn.set_config(enable_metadata_routing=True)

    X, y, qid = load(args.train, args.group)
    rest, test = split(X, y, qid, test_size=0.25, seed=0)
    train, valid = split(*rest, test_size=0.25, seed=1)
    print(
        f"{len(y):,} documents, {len(np.unique(qid)):,} queries, grades {y.min():g} to {y.max():g}"
    )
    n_queries = [len(np.unique(part[2])) for part in (rest, valid, test)]
    print("{} queries for search, {} of them for stopping, {} for testing".format(*n_queries))

    start = time.perf_counter()
    tuned = search(*rest)
    best = tuned.best_index_
    print_table(
        f"grid search, {len(tuned.cv_results_['params'])} candidates, mean of 3 folds",
        {
            "the best: "
            + ", ".join(
                f"{k.removeprefix('estimator__')}={v}" for k, v in tuned.best_params_.items()
            ): {m.name: tuned.cv_results_[f"mean_test_{m.name}"][best] for m in MEASURES},
            "the worst": {m.name: tuned.cv_results_[f"mean_test_{m.name}"].min() for m in MEASURES},
        },
    )
    searched = time.perf_counter()
    booster, n_rounds = train_until_it_stops(tuned.best_params_, train, valid)
    print_table(
        "early stopping, on its validation queries",
        {
            f"best at round {booster.best_iteration}, stopped at {n_rounds}": booster.best_score[
                "valid_0"
            ]
        },
    )
    print(f"\n{searched - start:.1f} s to search, {time.perf_counter() - searched:.1f} s to train")

    X, y, qid = test
    systems = {
        "all scores equal": np.zeros(len(y)),
        "random scores": np.random.default_rng(0).random(len(y)),
        "grid search": tuned.predict(X),
        "early stopping": booster.predict(X),
    }
    reports = {
        name: sg.evaluate(y, score, qid=qid, measures=MEASURES) for name, score in systems.items()
    }
    print_table(
        f"on {len(np.unique(qid))} test queries", {name: ev.mean() for name, ev in reports.items()}
    )
    learned = {name: reports[name] for name in ("grid search", "early stopping")}
    print("\n" + textwrap.fill(sg.compare(learned, rng=0).sentences()[0], 80))
    name = MEASURES[0].name
    n_undefined = reports["early stopping"].n_undefined[name]
    print(f"\nqueries without a relevant document, which count as 0: {n_undefined}")

    defined = ~reports["early stopping"].undefined[name]
    print("\nthe five worst queries with relevant documents, with early stopping")
    print(reports["early stopping"].to_frame()[defined].nsmallest(5, name).to_string(index=False))


if __name__ == "__main__":
    main()
