"""Time of one long query: every measure, ERR with long ties, EDRC with many items.

python benchmarks/long_queries.py [--documents 1000000] [--items 100000] [--pairs 500000]
"""

import argparse
import time

import numpy as np

import skgraded as sg
from skgraded.measures import edrc_score
from skgraded.measures.base import MEASURES


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=500_000, help="per side")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    print_measures(args.documents, rng)
    print_ties(args.documents, rng)
    print_preferences(args.items, args.pairs, rng)


def seconds(function, rounds=1):
    """The shortest processor time of some rounds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def print_measures(n, rng):
    """Print the time per document of each measure, for the slowest of three sets of scores."""
    columns = {"5 grades": rng.integers(0, 5, n), "all grades distinct": rng.permutation(n) / n}
    judgments = [sg.Judgments(grades.astype(float)) for grades in columns.values()]
    # no ties, some ties, only ties
    score_sets = [rng.normal(size=n), rng.integers(0, 1000, n).astype(float), np.zeros(n)]
    print(f"| ns per document, {n:,} documents, slowest scores | {' | '.join(columns)} |")
    print("| --- | ---: | ---: |")
    for name, cls in MEASURES.items():
        slowest = [
            max(seconds(lambda x=x, y=y: cls()(y, x), 2) for x in score_sets)  # noqa: B023
            for y in judgments
        ]
        print(f"| {name} | {' | '.join(f'{time / n * 1e9:.0f}' for time in slowest)} |")


def print_ties(n, rng):
    """Print the time of ERR if all documents are tied."""
    counts = np.floor(rng.lognormal(0, 1.5, n))
    cases = {
        "grades 0 to 4": (rng.integers(0, 5, n), 4),
        "1 % relevant, grades 1 to 4": (rng.integers(1, 5, n) * (rng.uniform(size=n) < 0.01), 4),
        "half of the documents with grade 1, scale to 10": (np.arange(n) % 2, 10),
        "all grades distinct, scale to 12": (rng.uniform(0, 12, n), 12),
        f"counts up to {counts.max():.0f} as grades": (counts, None),
    }
    print(f"\n| ERR, {n:,} tied documents | s |\n| --- | ---: |")
    for name, (grades, top) in cases.items():
        truth, measure = sg.Judgments(grades.astype(float)), sg.ERR(max_grade=top)
        print(f"| {name} | {seconds(lambda: measure(truth, np.zeros(n))):.2f} |")  # noqa: B023


def print_preferences(n, n_pairs, rng):
    """Print the time of `edrc_score`."""

    def chain():
        order = rng.permutation(n)
        return np.column_stack([order[:-1], order[1:]])

    def random_pairs():
        pairs = np.sort(rng.integers(0, n, (n_pairs, 2)), axis=1)
        return rng.permutation(n)[pairs[pairs[:, 0] < pairs[:, 1]]]

    def clicked_and_skipped():
        half = rng.integers(0, n // 2, (n_pairs, 2))
        return rng.permutation(n)[half + [0, n // 2]]

    scores = dict(enumerate(rng.normal(size=n).tolist()))
    print(f"\n| edrc_score, {n:,} items, {n_pairs:,} pairs per side | s |\n| --- | ---: |")
    for name, true, predicted in [
        ("a chain, scores", chain(), scores),
        ("a chain, a chain", chain(), chain()),
        ("one half before the other, scores", clicked_and_skipped(), scores),
        ("one half before the other, twice", clicked_and_skipped(), clicked_and_skipped()),
        ("random pairs, scores", random_pairs(), scores),
        ("random pairs, random pairs", random_pairs(), random_pairs()),
    ]:
        print(f"| {name} | {seconds(lambda: edrc_score(true, predicted)):.2f} |")  # noqa: B023


if __name__ == "__main__":
    main()
