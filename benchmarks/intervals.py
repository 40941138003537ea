"""Confidence intervals: what they cost, beside the measures too, and how often they are right."""

import argparse
import gc
import time

import numpy as np
from memory import added_peak

import skgraded as sg
from skgraded.model_selection.scorer import means_of
from skgraded.reports.intervals import mean_interval

MEASURES = ["ndcng@10", "mu_map", "rr"]


def main():
    args = parse_arguments()
    if "time" in args.parts:
        print_times(args.rounds)
    if "whole" in args.parts:
        print_whole(args.queries, args.rounds)
    if "coverage" in args.parts:
        print_coverage(args.sets)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", default=["time", "whole", "coverage"])
    parser.add_argument("--queries", type=int, default=1_000_000, help="of 20 documents each")
    parser.add_argument("--sets", type=int, default=2000, help="of 60 queries each")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def seconds(call):
    gc.collect()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def print_times(rounds):
    """Print time and added peak memory of one interval by number of queries."""
    print("\n| queries | bootstrap, s | weighted, s | added memory, MB | t, ms |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for n in (1000, 10_000, 100_000):
        values = np.random.default_rng(0).beta(2, 2, n)
        weights = np.random.default_rng(1).random(n)

        def interval(method, weights=None, values=values):
            return mean_interval(values, weights, 0.95, method, rng=0)

        interval("bootstrap" if n == 1000 else "t")  # what is imported
        memory = added_peak(lambda: interval("bootstrap")) / 1e6  # noqa: B023
        plain, weighted, t = (
            np.median([seconds(call) for _ in range(rounds)])
            for call in (
                lambda: interval("bootstrap"),  # noqa: B023
                lambda: interval("bootstrap", weights),  # noqa: B023
                lambda: interval("t"),  # noqa: B023
            )
        )
        print(f"| {n:,} | {plain:.2f} | {weighted:.2f} | {memory:.1f} | {t * 1e3:.2f} |")


def print_whole(n_queries, rounds):
    """Print what a report with intervals takes, and what its measures take alone."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(n_queries), 20)
    y_true = rng.integers(0, 5, len(qid))
    y_score = y_true + 2 * rng.normal(size=len(qid))
    measures = [sg.measure(text) for text in MEASURES]

    def alone():
        judgments = sg.Judgments(y_true, qid=qid)
        for measure in measures:
            measure(judgments, y_score)

    def in_one_sort():
        means_of(measures, sg.Judgments(y_true, qid=qid), y_score)

    def report():
        sg.evaluate(y_true, y_score, qid=qid, measures=measures).confidence_interval()

    calls = (alone, in_one_sort, report)
    for call in calls:
        call()  # imports
    times = np.array([[seconds(call) for call in calls] for _ in range(rounds)])
    print(f"\n| {n_queries:,} queries of 20 documents: {', '.join(MEASURES)} | s | report / it |")
    print("| --- | ---: | ---: |")
    named = ("the measures alone (at most 1.5)", "all in one sort", "evaluate, default intervals")
    for name, of_call in zip(named, times.T, strict=True):
        ratio = np.median(times[:, 2] / of_call)
        print(f"| {name} | {np.median(of_call):.2f} | {ratio:.2f} |")


def print_coverage(n_sets):
    """Print how many 95 % intervals of 60 values from Beta(2, 2) hold its mean, 1/2."""
    print(f"\n| {n_sets} sets of 60 queries, Beta(2, 2) | 95 % intervals that hold the mean |")
    print("| --- | ---: |")
    for weighted in (False, True):
        for method in ("bootstrap", "t"):
            rng = np.random.default_rng(0)
            hits = 0
            for _ in range(n_sets):
                values = rng.beta(2, 2, 60)
                weights = rng.uniform(0.5, 1.5, 60) if weighted else None
                low, high = mean_interval(values, weights, 0.95, method, rng=rng)
                hits += low <= 0.5 <= high
            named = f"{method}, weights from 0.5 to 1.5" if weighted else method
            print(f"| {named} | {hits / n_sets:.1%} |")


if __name__ == "__main__":
    main()
