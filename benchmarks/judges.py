"""Comparisons of judges: coverage of the intervals for κ and α, and the time from files to tables."""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np

import skgraded as sg
from skgraded.stats.agreement import agreement

SIZES = (5, 10, 20, 50, 106)  # numbers of queries
N_GENERATED = 10_000  # queries per population
SHARES = (0.5, 0.25, 0.15, 0.1)  # of the grades 0 to 3
ZEROS = (0.95, 0.03, 0.015, 0.005)


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
    generated = {
        "documents independent": lambda: graded_query(rng, varies=False),
        "judge differs between queries": lambda: graded_query(rng, varies=True),
        "0.5 % noise, 10 documents": lambda: noisy_query(rng, SHARES, 10, 0.005),
        "0.5 % noise, 50 documents": lambda: noisy_query(rng, SHARES, 50, 0.005),
        "2 % noise, 10 documents": lambda: noisy_query(rng, SHARES, 10, 0.02),
        "10 % noise, 10 documents": lambda: noisy_query(rng, SHARES, 10, 0.1),
        "95 % zeros, 0.5 % noise, 1 document": lambda: noisy_query(rng, ZEROS, 1, 0.005),
        "95 % zeros, 0.5 % noise, 10 documents": lambda: noisy_query(rng, ZEROS, 10, 0.005),
        "95 % zeros, 0.5 % noise, 50 documents": lambda: noisy_query(rng, ZEROS, 50, 0.005),
        "95 % zeros, 5 % noise, 50 documents": lambda: noisy_query(rng, ZEROS, 50, 0.05),
        "0.5 % noise on average, 50 documents": (
            lambda: noisy_query(rng, SHARES, 50, rng.beta(0.05, 9.95))
        ),
        "2 % noise on average, 50 documents": (
            lambda: noisy_query(rng, SHARES, 50, rng.beta(0.2, 9.8))
        ),
        "5 % misread queries": lambda: noisy_query(rng, SHARES, 50, float(rng.random() < 0.05)),
        "2 % misread queries, 0.5 % noise": (
            lambda: noisy_query(rng, SHARES, 50, 1.0 if rng.random() < 0.02 else 0.005)
        ),
    }
    tables = {name: [[query() for _ in range(N_GENERATED)]] for name, query in generated.items()}
    if "SKGRADED_DATA" in os.environ:
        tables["17 judges of LLMJudge"] = list(real_tables())
    return {name: [np.array(table) for table in judges] for name, judges in tables.items()}


def graded_query(rng, varies):
    """Table of grades 0 to 3; if `varies`, bias, noise and grades differ between queries."""
    shares = np.array(SHARES)
    bias, noise = 0.0, 0.8
    if varies:
        shares = rng.dirichlet(4 * shares)
        bias, noise = rng.normal(0, 0.5), np.exp(rng.normal(np.log(0.8), 0.4))
    truth = rng.choice(4, rng.integers(20, 181), p=shares)
    return table_of(truth, truth + bias + noise * rng.normal(size=len(truth)))


def noisy_query(rng, shares, n_documents, noise):
    """Table of grades 0 to 3, a share `noise` of which the judge replaces with random grades."""
    truth, random = rng.choice(4, n_documents, p=shares), rng.integers(4, size=n_documents)
    return table_of(truth, np.where(rng.random(n_documents) < noise, random, truth))


def table_of(truth, judge):
    judge = np.clip(np.rint(judge), 0, 3).astype(int)
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


def print_coverage(n_sets):
    """Print how often 95 % intervals contain the value of the population, and their mean width.

    Samples without an interval are left out; their share is printed if it is at least 0.5 %.
    """
    print(
        f"\n| {n_sets:,} samples of queries: coverage (mean width) | | value | "
        f"{' | '.join(f'{n} queries' for n in SIZES)} |"
    )
    print(f"| --- | --- | ---: |{' ---: |' * len(SIZES)}")
    for name, judges in populations().items():
        truths = [agreement(*documents(tables), level=0.95, is_ordinal=True) for tables in judges]
        cells = {"κ": [], "α": []}
        for n in SIZES:
            rng = np.random.default_rng(n)
            results = {"κ": [], "α": []}
            for i in range(n_sets):
                tables, truth = (values[i % len(judges)] for values in (judges, truths))
                sample = tables[rng.integers(len(tables), size=n)]
                found = agreement(*documents(sample), level=0.95, is_ordinal=True)
                for key, interval, value in (
                    ("κ", found.kappa_interval, truth.kappa),
                    ("α", found.alpha_interval, truth.alpha),
                ):
                    width = interval.high - interval.low
                    results[key].append((interval.low <= value <= interval.high, width))
            for key, rows in results.items():
                hits, widths = np.array(rows).T
                unknown = np.isnan(widths)
                text = f"{hits[~unknown].mean():.3f} ({widths[~unknown].mean():.2f})"
                if unknown.mean() >= 0.005:
                    text += f", {100 * unknown.mean():.0f} % none"
                cells[key].append(text)
        for key, texts in cells.items():
            value = np.mean([truth.kappa if key == "κ" else truth.alpha for truth in truths])
            print(f"| {name} | {key} | {value:.3f} | {' | '.join(texts)} |", flush=True)


def print_time(rounds):
    """Print the time from the files of 17 judges to the tables, without imports."""
    if "SKGRADED_DATA" not in os.environ:
        print("SKGRADED_DATA is not set: the time is not measured.")
        return
    seconds = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one judge gives a grade 10
        for _ in range(rounds + 1):  # the first round imports modules
            start = time.perf_counter()
            rows = sg.datasets.join_judgments(read_judges())
            report = sg.compare_judges(rows.y_judges, qid=rows.qid, truth="human")
            report.labels()
            seconds.append(time.perf_counter() - start)
    print(
        f"\n17 judges from files to tables: {np.median(seconds[1:]):.2f} s, median of {rounds} "
        f"rounds; the first, with imports, took {seconds[0]:.2f} s"
    )


if __name__ == "__main__":
    main()
