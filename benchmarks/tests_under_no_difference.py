"""How often the tests of compare reject if there is no difference.

Both systems have independent values from Beta(2, 2) for each of 60 queries, so a test at 5 % should
reject in 5 % of the sets of queries. The standard error of a rate over 5,000 sets is 0.3 %.
"""

import argparse
import time

import numpy as np

from skgraded.stats.paired_tests import TESTS, p_values


def rejection_rates(n_sets, n_queries, n_resamples, seed=0):
    """{test: proportion of the sets with p ≤ 0.05}, for the same sets."""
    rejected = dict.fromkeys(TESTS, 0)
    rng = np.random.default_rng(seed)
    for _ in range(n_sets):
        values, other = rng.beta(2, 2, (2, n_queries))
        resampling = rng.spawn(1)[0]
        for test in TESTS:
            rejected[test] += (
                p_values(test, (values - other)[None], n_resamples, resampling)[0] <= 0.05
            )
    return {test: count / n_sets for test, count in rejected.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=5000)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--resamples", type=int, default=9999)
    arguments = parser.parse_args()
    start = time.perf_counter()
    rates = rejection_rates(arguments.sets, arguments.queries, arguments.resamples)
    print("| no difference: test at 5 % | rejects | at least | at most |")
    print("| --- | ---: | ---: | ---: |")
    for test, rate in rates.items():
        print(f"| {test} | {100 * rate:.2f} % | 4 % | 6 % |")
    print(
        f"\n{arguments.sets:,} sets of {arguments.queries} queries, "
        f"{time.perf_counter() - start:.0f} s"
    )


if __name__ == "__main__":
    main()
