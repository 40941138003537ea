"""Time of reading a TREC run, compared with the bare readers of pandas and polars.

    python benchmarks/reading.py                    # 10 million lines, some minutes
    python benchmarks/reading.py --lines 1000000

Each reader runs in a separate process, so that its peak memory can be measured. Times are medians
over rounds that alternate between all readers.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

DEPTH = 1000  # documents per query


def _pandas(folder, **options):
    import pandas as pd

    pd.read_csv(f"{folder}/run", header=None, **options)


def _polars(folder):
    import polars as pl

    pl.read_csv(f"{folder}/run", separator=" ", has_header=False, quote_char=None)


def _read_run(folder):
    from skgraded.datasets import read_run

    read_run(f"{folder}/run")


def _command(folder, *options):
    from skgraded.cli import main

    main(
        [
            "evaluate",
            f"{folder}/qrels",
            f"{folder}/run",
            "-m",
            "ndcng@10",
            "--quiet",
            "--output",
            f"{folder}/out",
            *options,
        ]
    )


READINGS = {
    r"pandas.read_csv(sep=r'\s+')": lambda folder: _pandas(folder, sep=r"\s+"),
    r"pandas.read_csv(sep=r'\s+'), ids as text": lambda folder: _pandas(
        folder, sep=r"\s+", dtype={0: str, 2: str, 5: str}, keep_default_na=False
    ),
    "pandas.read_csv(sep=' ')": lambda folder: _pandas(folder, sep=" "),
    "polars.read_csv(separator=' ')": _polars,
    "skgraded.datasets.read_run": _read_run,
    "skgraded evaluate -m ndcng@10": _command,
    "skgraded evaluate -m ndcng@10 --ties trec": lambda folder: _command(folder, "--ties", "trec"),
}


def _write(folder, n_lines):
    """Write a run with 1,000 of 8.8 million documents per query, and judgments of 20 of them."""
    rng = np.random.default_rng(0)
    with open(f"{folder}/run", "w") as run, open(f"{folder}/qrels", "w") as qrels:
        for query in range(100_000, 100_000 + n_lines // DEPTH):
            documents = np.unique(rng.integers(8_800_000, size=DEPTH + 20))
            documents = rng.permutation(documents)[:DEPTH].tolist()
            scores = np.sort(rng.normal(10, 3, len(documents)))[::-1].tolist()
            run.writelines(
                f"{query} Q0 D{document:08d} {rank} {score:.6f} bm25\n"
                for rank, (document, score) in enumerate(zip(documents, scores, strict=True), 1)
            )
            grades = rng.integers(4, size=20).tolist()
            qrels.writelines(
                f"{query} 0 D{document:08d} {grade}\n"
                for document, grade in zip(documents[::50], grades, strict=False)
            )


def _measure(name, folder):
    """Print the processor seconds of a reader, and its peak memory in megabytes.

    Runs in a separate process. Imports count in the peak, but not in the times.
    """
    import pandas  # noqa: F401
    import pyarrow.csv  # noqa: F401
    from sklearn.utils import Bunch  # noqa: F401

    import skgraded.cli
    import skgraded.datasets.arrow_csv
    import skgraded.datasets.trec  # noqa: F401

    start = time.process_time()
    READINGS[name](folder)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(json.dumps([seconds, peak]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        _measure(*args.measure)
        return
    results = {name: [] for name in READINGS}
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, args.lines)
        megabytes = sum(entry.stat().st_size for entry in os.scandir(folder)) / 1e6
        for _ in range(args.rounds):
            for name in READINGS:
                process = subprocess.run(
                    [sys.executable, __file__, "--measure", name, folder],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                results[name].append(json.loads(process.stdout))
    import pandas as pd

    print(
        f"- Python {platform.python_version()}, pandas {pd.__version__}, load "
        f"{os.getloadavg()[0]:.1f} at the end"
    )
    print(f"- {args.lines:,} lines, {megabytes:.0f} MB\n")
    print("| reading | processor seconds | peak memory, MB |\n| --- | ---: | ---: |")
    for name, rounds in results.items():
        seconds, peak = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"| {name} | {seconds:.2f} | {peak:,.0f} |")


if __name__ == "__main__":
    main()
