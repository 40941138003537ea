"""Confidence intervals: their time, also compared with the measures, and their coverage.

The part "weights" also shows how often Welch's test rejects a true hypothesis if queries have
unequal weights, which is why compare_periods refuses them.
"""

import argparse
import gc
import os
import time
from pathlib import Path

import numpy as np
from memory import added_peak

import skgraded as sg
from skgraded.model_selection.scorer import means_of
from skgraded.stats.intervals import estimate_mean, mean_interval
from skgraded.stats.welch import GroupMean, welch_p_value

MEASURES = ["ndcng@10", "mu_map", "rr"]


def main():
    args = parse_arguments()
    if "time" in args.parts:
        print_times(args.rounds)
    if "whole" in args.parts:
        print_whole(args.queries, args.rounds)
    if "coverage" in args.parts:
        print_coverage(args.sets)
    if "weights" in args.parts:
        print_weights(args.sets)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=["time", "whole", "coverage", "weights"])
    parser.add_argument("--queries", type=int, default=1_000_000, help="of 20 documents each")
    parser.add_argument("--sets", type=int, default=2000, help="of queries, for coverage")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def seconds(call):
    gc.collect()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def print_times(rounds):
    """Print time and added peak memory of an interval by number of queries."""
    print("\n| queries | bootstrap, s | weighted, s | added memory, MB | t, ms |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for n in (1000, 10_000, 100_000):
        values = np.random.default_rng(0).beta(2, 2, n)
        weights = np.random.default_rng(1).random(n)

        def interval(method, weights=None, values=values):
            return mean_interval(values, weights, 0.95, method, rng=0)

        interval("bootstrap" if n == 1000 else "t")  # imports
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
    """Print the time of a report with intervals, and of its measures alone."""
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
    print(f"\n| {n_queries:,} queries of 20 documents: {', '.join(MEASURES)} | s | report / row |")
    print("| --- | ---: | ---: |")
    names = ("the measures alone (at most 1.5)", "all in one sort", "evaluate, default intervals")
    for name, call_times in zip(names, times.T, strict=True):
        ratio = np.median(times[:, 2] / call_times)
        print(f"| {name} | {np.median(call_times):.2f} | {ratio:.2f} |")


def populations(size=200_000):
    """Per-query values and differences with known means, by name."""
    rng = np.random.default_rng(0)
    differs = np.arange(size) % 5 == 0
    even = np.linspace(-0.5, 0.5, size // 5).repeat(5)  # the nonzero differences have mean 0
    values = {
        "Beta(2, 2)": rng.beta(2, 2, size),
        "Beta(½, 2)": rng.beta(0.5, 2, size),
        "differences, 4 of 5 are 0, mean 0": np.where(differs, even, 0.0),
        "differences, 4 of 5 are 0, mean 0.04": np.where(differs, rng.uniform(-0.2, 0.6, size), 0),
    }
    if "SKGRADED_DATA" in os.environ:
        path = Path(os.environ["SKGRADED_DATA"]) / "ohsumed" / "OHSUMED.txt.gz"
        values |= ohsumed_values(sg.datasets.read_letor(path))
    return values


def ohsumed_values(data):
    """Per-query values of a system on OHSUMED, and differences from another system."""
    first, second = (
        sg.evaluate(
            data.y,
            data.X[:, feature].toarray().ravel(),
            qid=data.qid,
            measures=["ndcg@10", "rr", "p@5"],
        ).per_query
        for feature in (20, 10)
    )
    values = {f"OHSUMED, {name}": first[name] for name in first}
    return values | {
        f"OHSUMED, differences of {name}": first[name] - second[name] for name in first
    }


def print_coverage(n_sets):
    """Print how often 95 % intervals contain the mean: t, and BCa with a tenth of the sets."""
    sizes = (3, 5, 10, 20, 60, 200)
    print(
        f"\n| {n_sets:,} sets with t, {n_sets // 10:,} with BCa: queries | "
        f"{' | '.join(map(str, sizes))} |"
    )
    print(f"| --- |{' ---: |' * len(sizes)}")
    for name, values in populations().items():
        for method, n in (("t", n_sets), ("bootstrap", n_sets // 10)):
            rng = np.random.default_rng(0)
            rates = [coverage(values, size, method, n, rng) for size in sizes]
            print(f"| {name}, {method} | {' | '.join(f'{rate:.3f}' for rate in rates)} |")


def coverage(values, size, method, n_sets, rng):
    """Proportion of intervals, from samples with replacement, that contain the mean."""
    mean, hits = values.mean(), 0
    for _ in range(n_sets):
        low, high = mean_interval(rng.choice(values, size), None, 0.95, method, 999, rng)
        hits += low - 1e-12 <= mean <= high + 1e-12
    return hits / n_sets


def print_weights(n_sets, n=200):
    """Print coverage and rejection rates for weights that do not depend on the values."""
    print(
        f"\n| {n_sets:,} sets of {n} queries: weights | effective queries | t intervals contain "
        "the mean | Welch's test at 5 % rejects |"
    )
    print("| --- | ---: | ---: | ---: |")
    rng = np.random.default_rng(0)
    weights_of = {"equal": lambda: np.ones(n)}
    weights_of |= {f"Pareto, α = {a}": lambda a=a: rng.pareto(a, n) + 1 for a in (2, 1.5, 1)}
    weights_of |= {f"lognormal, σ = {s}": lambda s=s: rng.lognormal(0, s, n) for s in (1, 2, 3)}
    for name, weights in weights_of.items():
        n_effective, hits, n_rejected = [], 0, 0
        for _ in range(n_sets):
            (values, w), (others, v) = ((rng.beta(0.5, 0.5, n), weights()) for _ in range(2))
            low, high = mean_interval(values, w, 0.95, "t")
            hits += low <= 0.5 <= high
            estimates = estimate_mean(values, w), estimate_mean(others, v)
            groups = map(GroupMean.of_moments, estimates)
            n_rejected += welch_p_value(*groups) <= 0.05
            n_effective.append(w.sum() ** 2 / (w**2).sum())
        print(
            f"| {name} | {np.median(n_effective):.0f} | {hits / n_sets:.3f} | "
            f"{n_rejected / n_sets:.3f} |"
        )


if __name__ == "__main__":
    main()
