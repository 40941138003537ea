"""Comparisons of many systems: time, family-wise error and power.

Family-wise error: 24 equal systems have independent values from Beta(2, 2) for each of 60 queries;
the proportion of sets in which any of the 276 pairs is significantly different. Power: the same,
but system i is better by i times 0.01; the proportion of significantly different pairs.
"""

import argparse
import time

import numpy as np

import skgraded as sg

SYSTEMS, QUERIES = 24, 60


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--power-sets", type=int, default=20)
    arguments = parser.parse_args()
    print_times()
    print_rates(arguments.sets, arguments.power_sets)


def evaluations_of(values):
    """Evaluations with one measure from values of shape (n_systems, n_queries)."""
    ids, undefined = np.arange(values.shape[1]), np.zeros(values.shape[1], dtype=bool)
    return {
        f"s{i:02}": sg.Evaluation(ids, {"AP": row}, {"AP": undefined})
        for i, row in enumerate(values)
    }


def print_times():
    """Print the time of a comparison by numbers of systems and queries."""
    print("| systems | queries | tests | resamples | s |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for n_systems, n_queries in ((2, 60), (24, 60), (20, 1000), (5, 100_000)):
        systems = evaluations_of(np.random.default_rng(0).beta(2, 2, (n_systems, n_queries)))
        times = []
        for _ in range(3):
            start = time.perf_counter()
            comparison = sg.compare(systems, rng=0)
            times.append(time.perf_counter() - start)
        n_tests = len(comparison.rows)
        print(
            f"| {n_systems} | {n_queries:,} | {n_tests} | {comparison.n_resamples:,} | "
            f"{np.median(times):.2f} |"
        )


def print_rates(n_sets, n_power_sets):
    """Print family-wise error and power, with the same sets for each correction."""
    print("\n| 24 systems, 60 queries, 276 pairs | family-wise error | significant pairs |")
    print("| --- | ---: | ---: |")
    for correction in ("holm", "bonferroni"):
        rng = np.random.default_rng(0)
        n_wrong = sum(significant_share(rng, correction, 0.0) > 0 for _ in range(n_sets))
        power = np.mean([significant_share(rng, correction, 0.01) for _ in range(n_power_sets)])
        print(f"| {correction} | {100 * n_wrong / n_sets:.1f} % | {100 * power:.1f} % |")


def significant_share(rng, correction, step):
    """Proportion of significantly different pairs of generated systems."""
    values = rng.beta(2, 2, (SYSTEMS, QUERIES)) + step * np.arange(SYSTEMS)[:, None]
    comparison = sg.compare(evaluations_of(values), correction=correction, rng=rng)
    return np.mean(np.array([row.p_adjusted for row in comparison.rows]) <= 0.05 + 1e-12)


if __name__ == "__main__":
    main()
