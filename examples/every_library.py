r"""Tune LightGBM, XGBoost, CatBoost and a regressor, each with one call, and compare them.

    python examples/every_library.py
    python examples/every_library.py --train rank.train --group rank.train.query \
        --test rank.test --test-group rank.test.query

A grid search maximizes the cross-validated NDCNG@10 of each ranker, which is then evaluated on the
test queries. The boosters also stop early on queries that are held out from each training set.
Requires xgboost and catboost. Without --train, the data is generated.
"""

import argparse
import time

import numpy as np
import sklearn
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from quickstart import load, split
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, GroupKFold
from xgboost import XGBRanker

import skgraded as sg

MEASURES = [sg.NDCNG(k=10), sg.MuAP()]
RATES = {"estimator__learning_rate": [0.1, 0.3]}


def rankers():
    """Return each ranker and its parameter grid."""
    stopped = {"early_stopping": 3, "n_iter_no_change": 10, "random_state": 0}
    lightgbm = LGBMRanker(n_estimators=400, n_jobs=1, verbose=-1, random_state=0)
    xgboost = XGBRanker(n_estimators=400, n_jobs=1, random_state=0)
    catboost = CatBoostRanker(
        iterations=400, thread_count=1, verbose=False, random_seed=0, allow_writing_files=False
    )
    regressor = HistGradientBoostingRegressor(random_state=0)
    return {
        "LGBMRanker": (
            sg.QueryRanker(lightgbm, **stopped),
            RATES | {"estimator__num_leaves": [7, 31]},
        ),
        "XGBRanker": (sg.QueryRanker(xgboost, **stopped), RATES | {"estimator__max_depth": [3, 6]}),
        "CatBoostRanker": (
            sg.QueryRanker(catboost, **stopped),
            RATES | {"estimator__depth": [4, 6]},
        ),
        "HistGradientBoostingRegressor": (
            sg.QueryRanker(regressor),
            RATES | {"estimator__max_leaf_nodes": [7, 31]},
        ),
    }


def tuned(ranker, grid, X, y, qid):
    """Search the parameter grid of a ranker."""
    search = GridSearchCV(
        ranker,
        grid,
        scoring=sg.make_ranking_scorer(MEASURES),
        refit=MEASURES[0].name,
        cv=GroupKFold(3).set_split_request(groups="qid"),
        error_score="raise",
    )
    return search.fit(X, y, qid=qid)


def main():
    """Tune each ranker, and print a line with its results on the test queries."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", help="a LETOR file, or an svmlight file with --group")
    parser.add_argument("--group", help="sizes of the consecutive queries of --train")
    parser.add_argument("--test", help="like --train; by default a quarter of the training queries")
    parser.add_argument("--test-group", help="sizes of the consecutive queries of --test")
    args = parser.parse_args()
    sklearn.set_config(enable_metadata_routing=True)

    if args.test:
        train, test = load(args.train, args.group), load(args.test, args.test_group)
    else:
        train, test = split(*load(args.train, args.group), test_size=0.25, seed=0)
    X, y, qid = test
    print(f"{len(np.unique(train[2]))} queries to tune on, {len(np.unique(qid))} to test on\n")
    header = "".join(f"{measure.name:>10}" for measure in MEASURES)
    print(f"{'':30}{header}{'seconds':>10}  chosen")
    judgments = sg.Judgments(y, qid=qid)
    for name, (ranker, grid) in rankers().items():
        if name.startswith("Hist") and not isinstance(train[0], np.ndarray):
            train, X = (train[0].toarray(), *train[1:]), X.toarray()  # requires a dense X
        start = time.perf_counter()
        search = tuned(ranker, grid, *train)
        seconds = time.perf_counter() - start
        scores = search.predict(X)
        values = "".join(f"{measure(judgments, scores):10.4f}" for measure in MEASURES)
        chosen = {k.removeprefix("estimator__"): v for k, v in search.best_params_.items()}
        rounds = getattr(search.best_estimator_, "best_iteration_", None)
        chosen |= {} if rounds is None else {"rounds": rounds}
        shown = ", ".join(f"{key}={value}" for key, value in chosen.items())
        print(f"{name:30}{values}{seconds:10.1f}  {shown}")


if __name__ == "__main__":
    main()
