"""What one long query costs: every measure, ERR of long ties, EDRC of many items.

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
    parser.add_argument("--pairs", type=int, default=500_000, help="a side")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    print_measures(args.documents, rng)
    print_ties(args.documents, rng)
    print_preferences(args.items, args.pairs, rng)


def seconds(function, rounds=1):
    """Processor time, the shortest of some rounds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def print_measures(n, rng):
    """Time a document of each measure of Judgments, the worst of distinct, some and all tied."""
    columns = {"5 grades": rng.integers(0, 5, n), "all grades distinct": rng.permutation(n) / n}
    judged = [sg.Judgments(grades.astype(float)) for grades in columns.values()]
    scorings = [rng.normal(size=n), rng.integers(0, 1000, n).astype(float), np.zeros(n)]
    print(f"| ns a document of {n:,}, the slowest scores | {' | '.join(columns)} |")
    print("| --- | ---: | ---: |")
    for name, cls in MEASURES.items():
        worst = [
            max(seconds(lambda x=x, y=y: cls()(y, x), 2) for x in scorings)  # noqa: B023
            for y in judged
        ]
        print(f"| {name} | {' | '.join(f'{one / n * 1e9:.0f}' for one in worst)} |")


def print_ties(n, rng):
    """Seconds of ERR where all documents are tied."""
    counts = np.floor(rng.lognormal(0, 1.5, n))
    cases = {
        "grades 0 to 4": (rng.integers(0, 5, n), 4),
        "1 % relevant, grades 1 to 4": (rng.integers(1, 5, n) * (rng.uniform(size=n) < 0.01), 4),
        "half of grade 1 on a scale to 10": (np.arange(n) % 2, 10),
        "as many grades, to 12": (rng.uniform(0, 12, n), 12),
        f"counts up to {counts.max():.0f} as grades": (counts, None),
    }
    print(f"\n| ERR of a tie of {n:,} | s |\n| --- | ---: |")
    for name, (grades, top) in cases.items():
        judged, measure = sg.Judgments(grades.astype(float)), sg.ERR(max_grade=top)
        print(f"| {name} | {seconds(lambda: measure(judged, np.zeros(n))):.2f} |")  # noqa: B023


def print_preferences(n, n_pairs, rng):
    """Seconds of `edrc_score`."""
    def chain():
        order = rng.permutation(n)
        return np.column_stack([order[:-1], order[1:]])

    def any_pairs():
        pairs = np.sort(rng.integers(0, n, (n_pairs, 2)), axis=1)
        return rng.permutation(n)[pairs[pairs[:, 0] < pairs[:, 1]]]

    def clicked_and_skipped():
        half = rng.integers(0, n // 2, (n_pairs, 2))
        return rng.permutation(n)[half + [0, n // 2]]

    scores = dict(enumerate(rng.normal(size=n).tolist()))
    print(f"\n| edrc_score of {n:,} items, {n_pairs:,} pairs a side | s |\n| --- | ---: |")
    for name, true, predicted in [
        ("a chain, scores", chain(), scores),
        ("a chain, a chain", chain(), chain()),
        ("one half before the other, scores", clicked_and_skipped(), scores),
        ("one half before the other, twice", clicked_and_skipped(), clicked_and_skipped()),
        ("any pairs, scores", any_pairs(), scores),
        ("any pairs, any pairs", any_pairs(), any_pairs()),
    ]:
        print(f"| {name} | {seconds(lambda: edrc_score(true, predicted)):.2f} |")  # noqa: B023


if __name__ == "__main__":
    main()
