"""How often 95 % intervals contain the mean and tests at 5 % reject, by simulation.

python benchmarks/simulations.py intervals [--sets 2000]
python benchmarks/simulations.py tests --sets 5000
python benchmarks/simulations.py judge [--sets 2000] [--queries 100000]

`intervals` resamples generated per-query values, and values on OHSUMED if the folder SKGRADED_DATA
contains ohsumed/OHSUMED.txt.gz of LETOR 2.0. `tests` compares systems without a difference.

`judge` generates a population of queries once, with grades of people and grades of a judge that are
biased upwards. Each set consists of n queries with both grades and N queries with the judge's
grades alone. The true mean is the mean of the human values over the population.
"""

import argparse
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.metrics import cohen_kappa_score

import skgraded as sg
from skgraded.stats.intervals import compute_t_interval, estimate_mean, mean_interval
from skgraded.stats.judges import estimate_powered_mean
from skgraded.stats.paired_tests import TESTS, p_values

SIZES = (3, 5, 10, 20, 60, 200)  # queries per set
MEASURES = ("ndcng@10", "rr")
N_DOCUMENTS = 30  # per query of the judge's population
GRADE_LIMITS = (0.3, 0.9, 1.6)  # limits of the latent relevance: 58 % of the grades are 0
JUDGE_LIMITS = (0.06, 0.7, 1.45)  # κ is .32, and the judge's grades are .3 too high on average


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["intervals", "tests", "judge"])
    parser.add_argument("--sets", type=int, default=2000)
    parser.add_argument("--queries", type=int, default=100_000, help="of the judge's population")
    args = parser.parse_args()
    if args.part == "intervals":
        print_intervals(args.sets)
    elif args.part == "tests":
        print_tests(args.sets)
    else:
        print_judge(args.sets, args.queries)
        print_sparse(args.sets, args.queries)


# Intervals of one mean ---------------------------------------------------------------------------


def print_intervals(n_sets):
    """Print coverages of t intervals, and of BCa intervals with a tenth of the sets."""
    print(f"| {n_sets:,} sets with t, {n_sets // 10:,} with BCa | {' | '.join(map(str, SIZES))} |")
    print(f"| --- |{' ---: |' * len(SIZES)}")
    for name, values in populations().items():
        for method, n in (("t", n_sets), ("bootstrap", n_sets // 10)):
            rng = np.random.default_rng(0)
            rates = [coverage(values, size, method, n, rng) for size in SIZES]
            print(f"| {name}, {method} | {' | '.join(f'{rate:.3f}' for rate in rates)} |")


def populations(size=200_000):
    """Per-query values and differences with known means, by name."""
    rng = np.random.default_rng(0)
    differs = np.arange(size) % 5 == 0
    values = {
        "Beta(2, 2)": rng.beta(2, 2, size),
        "Beta(½, 2)": rng.beta(0.5, 2, size),
        "differences, 4 of 5 are 0, mean 0.04": np.where(differs, rng.uniform(-0.2, 0.6, size), 0),
    }
    if "SKGRADED_DATA" in os.environ:
        path = Path(os.environ["SKGRADED_DATA"]) / "ohsumed" / "OHSUMED.txt.gz"
        data = sg.datasets.read_letor(path)
        scores = data.X[:, 20].toarray().ravel()
        real = sg.evaluate(data.y, scores, qid=data.qid, measures=["ndcg@10", "rr"]).per_query
        values |= {f"OHSUMED, {name}": real[name] for name in real}
    return values


def coverage(values, size, method, n_sets, rng):
    """Proportion of intervals, from samples with replacement, that contain the mean."""
    mean, hits = values.mean(), 0
    for _ in range(n_sets):
        low, high = mean_interval(rng.choice(values, size), None, 0.95, method, 999, rng)
        hits += low - 1e-12 <= mean <= high + 1e-12
    return hits / n_sets


# Tests without a difference ----------------------------------------------------------------------


def print_tests(n_sets, n_queries=60, n_resamples=9999):
    """Both systems have independent values from Beta(2, 2) for each query."""
    rejected, rng = dict.fromkeys(TESTS, 0), np.random.default_rng(0)
    for _ in range(n_sets):
        values, other = rng.beta(2, 2, (2, n_queries))
        resampling = rng.spawn(1)[0]
        for test in TESTS:
            p = p_values(test, (values - other)[None], n_resamples, resampling)[0]
            rejected[test] += p <= 0.05
    print("| no difference: test at 5 % | rejects | at least | at most |")
    print("| --- | ---: | ---: | ---: |")
    for test, count in rejected.items():
        print(f"| {test} | {100 * count / n_sets:.2f} % | 4 % | 6 % |")


# Prediction-powered means ------------------------------------------------------------------------


class Population(NamedTuple):
    """Per-query values of people and of a judge, keyed by estimated quantity."""

    human: dict[str, np.ndarray]
    judge: dict[str, np.ndarray]
    easiness: np.ndarray
    kappa: float
    bias: float


def generate(n_queries):
    rng = np.random.default_rng(0)
    easiness = rng.normal(size=(n_queries, 1))
    shape = n_queries, N_DOCUMENTS
    relevance = rng.normal(size=shape) + 0.3 * easiness
    grades = np.digitize(relevance, GRADE_LIMITS)
    noise = np.exp(-0.4 * easiness)
    scores = [relevance + noise * rng.normal(scale=s, size=shape) for s in (1.4, 1.2)]
    errors = 0.85 * rng.normal(size=shape) + 0.4 * rng.normal(size=(n_queries, 1))
    judged = np.digitize(relevance + errors, JUDGE_LIMITS)
    kappa = cohen_kappa_score(grades.ravel(), judged.ravel())
    bias = float(np.mean(judged - grades))
    values = (values_of(grade, scores) for grade in (grades, judged))
    return Population(*values, easiness[:, 0], kappa, bias)


def values_of(grades, scores):
    """Per-query values of system A, and differences between the systems B and A."""
    qid = np.repeat(np.arange(len(grades)), N_DOCUMENTS)
    first, second = (
        sg.evaluate(grades.ravel(), values.ravel(), qid=qid, measures=MEASURES).per_query
        for values in scores
    )
    return {**first, **{f"{name}, B - A": second[name] - first[name] for name in first}}


def print_judge(n_sets, n_queries):
    """Print the table for n queries from all or from the easier half."""
    population = generate(n_queries)
    print(
        f"| n; κ = {population.kappa:.2f}, bias {population.bias:+.2f} | quantity | covers "
        "| human alone | judge alone | width | worth / n |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for is_easy, drawn in ((False, "of all"), (True, "of the easier half")):
        for n in (20, 50):
            for quantity, result in simulate(population, n, 2000, n_sets, is_easy).items():
                *rates, width, worth = result
                cells = " | ".join(f"{100 * rate:.1f} %" for rate in rates)
                first = f"{n} {drawn} | {quantity}"
                print(f"| {first} | {cells} | {width:.2f} | {worth:.1f} |", flush=True)


def simulate(population, n, n_judge, n_sets, from_easy):
    """For each quantity, three coverages, and the medians of relative width and worth."""
    rng = np.random.default_rng(1)
    order = np.argsort(-population.easiness)
    pool = order[: len(order) // 2] if from_easy else order
    samples = []
    for _ in range(n_sets):
        judged = rng.choice(pool, n, replace=False)
        others = rng.choice(len(order), n + n_judge, replace=False)
        samples.append((judged, np.setdiff1d(others, judged)[:n_judge]))
    results = {}
    for quantity, human in population.human.items():
        judge = population.judge[quantity]
        rows = np.array([outcome(human, judge, *sample) for sample in samples])
        results[quantity] = *rows[:, :3].mean(axis=0), *np.nanmedian(rows[:, 3:], axis=0)
    return results


def outcome(human, judge, judged, others):
    """Return whether three intervals contain the true mean, the relative width, and the worth."""
    truth = human.mean()
    powered = estimate_powered_mean(human[judged], judge[judged], judge[others])
    alone = estimate_mean(human[judged], None)
    by_judge = estimate_mean(judge[np.concatenate([judged, others])], None)
    without = [compute_t_interval(estimate, 0.95) for estimate in (alone, by_judge)]
    intervals = [powered.interval(0.95), *without]
    widths = [interval.high - interval.low for interval in intervals]
    return [
        *(interval.low <= truth <= interval.high for interval in intervals),
        widths[0] / widths[1] if widths[1] else np.nan,
        powered.worth / len(judged),
    ]


def print_sparse(n_sets, n_queries):
    """Print the coverage for sparse values, with a judge whose values are right in 80 %."""
    print("\n| quantity | n | constant | covers | human alone |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, human in sparse_values(n_queries).items():
        rng = np.random.default_rng(1)
        judge = np.where(rng.random(n_queries) < 0.8, human, rng.permutation(human))
        for n in (5, 10, 20, 50):
            covers = np.full((n_sets, 2), np.nan)
            for i in range(n_sets):
                judged, others = np.split(rng.integers(n_queries, size=n + 1000), [n])
                if np.ptp(human[judged]):
                    covers[i] = outcome(human, judge, judged, others)[:2]
            rates = [np.isnan(covers[:, 0]).mean(), *np.nanmean(covers, axis=0)]
            cells = " | ".join(f"{100 * rate:.1f} %" for rate in rates)
            print(f"| {name} | {n} | {cells} |", flush=True)


def sparse_values(n_queries):
    """Per-query human values that are mostly 0 or skewed, by name; "difference" has the mean 0."""
    rng = np.random.default_rng(0)
    uniform, values = rng.random(n_queries), rng.beta(2, 2, n_queries)
    skewed = np.where(uniform < 0.05, 0.95, -0.05 + 0.02 * rng.normal(size=n_queries))
    return {
        "no zeros": values,
        "80 % zeros": np.where(uniform < 0.2, values, 0),
        "95 % zeros": np.where(uniform < 0.05, values, 0),
        "20 % ones, 80 % zeros": (uniform < 0.2).astype(float),
        "5 % ones, 95 % zeros": (uniform < 0.05).astype(float),
        "difference, 90 % zeros, 5 % each -0.5 and 0.5": (
            0.5 * (uniform < 0.05) - 0.5 * (uniform > 0.95)
        ),
        "difference, 90 % zeros, 8 % -0.25, 2 % 1": (uniform < 0.02) - 0.25 * (uniform > 0.92),
        "difference, 95 % near -0.05, 5 % 0.95": skewed - skewed.mean(),
    }


if __name__ == "__main__":
    main()
