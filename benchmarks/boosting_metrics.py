"""Time of our XGBoost and CatBoost metrics, and of XGBoost's metric on the same scores.

Prints nanoseconds per document: medians over the rounds, with the ratio to XGBoost's metric.

python benchmarks/boosting_metrics.py [--queries 31531] [--rounds 7] [--threads 1]
"""

import argparse
import os

import numpy as np
from neighbors import FAMILIES, Call, make_data, xgboost_call
from timing import time_in_turn

from skgraded.catboost import eval_metric
from skgraded.xgboost import custom_metric


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=31_531, help="of 120 documents on average")
    parser.add_argument("--rounds", type=int, default=7, help="each call is timed once per round")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)  # skgraded reads it at each call

    data = make_data(args.queries)
    print("| | XGBoost's own | skgraded.xgboost | skgraded.catboost |")
    print("| --- | ---: | ---: | ---: |")
    for family in FAMILIES:
        calls = [
            xgboost_call(family.xgboost, data, args.threads, args.rounds),
            our_xgboost_call(family.ours, data, args.rounds),
            our_catboost_call(family.ours, data, args.rounds),
        ]
        theirs, *ours = time_in_turn(calls).values()
        cells = [f"{np.median(theirs):.1f}"]
        for times in ours:
            cells.append(f"{np.median(times):.1f} ({np.median(np.divide(times, theirs)):.2f})")
        print(f"| {family.ours} | {' | '.join(cells)} |", flush=True)


def our_xgboost_call(measure, data, rounds):
    """The metric as XGBoost calls it, including access to labels and groups."""
    import xgboost as xgb

    matrix = xgb.DMatrix(np.zeros((data.n, 1)), data.y, group=data.sizes)
    metric, scores = custom_metric(measure), data.scores.astype(np.float32)
    return Call("skgraded.xgboost", lambda: metric(scores, matrix), data.n, rounds)


def our_catboost_call(measure, data, rounds):
    """The metric as CatBoost calls it for the evaluation set."""
    metric, target = eval_metric(measure, [0], data.qid), data.y.astype(np.float32)
    return Call(
        "skgraded.catboost", lambda: metric.evaluate((data.scores,), target, None), data.n, rounds
    )


if __name__ == "__main__":
    main()
