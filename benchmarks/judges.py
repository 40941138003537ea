"""Comparisons of judges: coverage of the intervals for κ and α, and the time from files to page."""

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import skgraded as sg
from skgraded.stats.agreement import GradePairs, agreement

SIZES = (10, 25, 50, 100)  # numbers of queries
N_RESAMPLES = 999


def main():
    args = parse_arguments()
    if "coverage" in args.parts:
        print_coverage(args.sets)
    if "time" in args.parts:
        print_time(args.rounds)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", default=["coverage", "time"])
    parser.add_argument("--sets", type=int, default=2000, help="samples of queries, for coverage")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def populations():
    """Numbers of documents per query and pair of grades (query, truth, judge), by name."""
    rng = np.random.default_rng(0)
    tables = {
        "documents independent": [[generated_query(rng, varies=False) for _ in range(5000)]],
        "judge differs between queries": [[generated_query(rng, varies=True) for _ in range(5000)]],
    }
    if "SKGRADED_DATA" in os.environ:
        tables["17 judges of LLMJudge"] = list(real_tables())
    return {name: [np.array(table) for table in judges] for name, judges in tables.items()}


def generated_query(rng, varies):
    """Table of grades 0 to 3; if `varies`, bias, noise and grades differ between queries."""
    shares = np.array([0.5, 0.25, 0.15, 0.1])
    bias, noise = 0.0, 0.8
    if varies:
        shares = rng.dirichlet(4 * shares)
        bias, noise = rng.normal(0, 0.5), np.exp(rng.normal(np.log(0.8), 0.4))
    truth = rng.choice(4, rng.integers(20, 181), p=shares)
    judge = np.clip(np.rint(truth + bias + noise * rng.normal(size=len(truth))), 0, 3).astype(int)
    return np.bincount(4 * truth + judge, minlength=16).reshape(4, 4)


def read_judges():
    """Qrels of LLMJudge by judge; the human judge is first."""
    folder = Path(os.environ["SKGRADED_DATA"]) / "llm-judges"
    paths = [folder / "human.txt.gz", *sorted(folder.glob("*.txt.gz"))]
    return {path.name.removesuffix(".txt.gz"): sg.datasets.read_qrels(path) for path in paths}


def real_tables():
    """Yield the table of each machine judge."""
    rows = sg.datasets.join_judgments(read_judges())
    query = np.unique(rows.qid.astype(str), return_inverse=True)[1]
    truth, *judges = rows.y_judges.values()
    for judge in judges:
        tables = np.zeros((query.max() + 1, 11, 11), dtype=int)  # one judge gives a grade 10
        np.add.at(tables, (query, truth.astype(int), judge.astype(int)), 1)
        yield tables


def documents(tables):
    """Grades by the truth and by the judge, and the query, of each document in the tables."""
    query, truth, judge = np.nonzero(tables)
    counts = tables[query, truth, judge]
    return [np.repeat(values, counts) for values in (truth.astype(float), judge * 1.0, query)]


def intervals(tables, rng):
    """Intervals of κ and α, with the jackknife and with the percentile bootstrap."""
    rows = documents(tables)
    result = agreement(*rows, level=0.95, is_ordinal=True)
    pairs = GradePairs(*rows)
    of_query = pairs.total - np.concatenate(list(pairs.without_each()))
    n = len(tables)
    resampled = rng.multinomial(n, np.full(n, 1 / n), N_RESAMPLES) @ of_query
    return {
        ("κ", "jackknife"): result.kappa_interval,
        ("κ", "bootstrap"): np.nanquantile(pairs.kappa(resampled), [0.025, 0.975]),
        ("α", "jackknife"): result.alpha_interval,
        ("α", "bootstrap"): np.nanquantile(pairs.alpha(resampled), [0.025, 0.975]),
    }


def print_coverage(n_sets):
    """Print how often 95 % intervals contain the value of the population, and their mean width."""
    print(f"\n| {n_sets:,} samples of queries: coverage (mean width) | | | "
          f"{' | '.join(f'{n} queries' for n in SIZES)} |")
    print(f"| --- | --- | --- |{' ---: |' * len(SIZES)}")
    for name, judges in populations().items():
        truths = [agreement(*documents(tables), level=0.95, is_ordinal=True) for tables in judges]
        cells: dict = {}
        for n in SIZES:
            rng = np.random.default_rng(n)
            hits: dict = {}
            for i in range(n_sets):
                tables, truth = (values[i % len(judges)] for values in (judges, truths))
                sample = tables[rng.integers(len(tables), size=n)]
                for key, (low, high) in intervals(sample, rng).items():
                    value = truth.kappa if key[0] == "κ" else truth.alpha
                    hits.setdefault(key, []).append((low <= value <= high, high - low))
            for key, found in hits.items():
                rate, width = np.mean(found, axis=0)
                cells.setdefault(key, []).append(f"{rate:.3f} ({width:.2f})")
        for key, texts in cells.items():
            print(f"| {name} | {' | '.join(key)} | {' | '.join(texts)} |", flush=True)


def print_time(rounds):
    """Print the time from the files of 17 judges to the page, without imports."""
    if "SKGRADED_DATA" not in os.environ:
        print("SKGRADED_DATA is not set: the time is not measured.")
        return
    seconds = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one judge gives a grade 10
        for _ in range(rounds + 1):  # the first round imports modules
            start = time.perf_counter()
            rows = sg.datasets.join_judgments(read_judges())
            report = sg.compare_judges(rows.y_judges, qid=rows.qid, truth="human")
            report.to_html(Path(folder) / "judges.html")
            seconds.append(time.perf_counter() - start)
    print(f"\n17 judges from files to page: {np.median(seconds[1:]):.2f} s, median of {rounds} "
          f"rounds; the first, with imports, took {seconds[0]:.2f} s")


if __name__ == "__main__":
    main()
