"""How fast a TREC run is read, beside pandas' own reader of the same file.

    python benchmarks/reading.py                    # 10 million lines, some minutes
    python benchmarks/reading.py --lines 1000000

Each reading has a process of its own, so that its peak of memory is its own; time is the median
over the rounds, in which every reading has its turn.
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

DEPTH = 1000  # documents of a query


def _pandas(folder, **options):
    import pandas as pd

    pd.read_csv(f"{folder}/run", header=None, **options)


def _read_run(folder):
    from skgraded.datasets import read_run

    read_run(f"{folder}/run")


def _command(folder):
    from skgraded.cli import main

    main(["evaluate", f"{folder}/qrels", f"{folder}/run", "--quiet", "--output", f"{folder}/out"])


READINGS = {
    r"pandas.read_csv(sep=r'\s+')": lambda folder: _pandas(folder, sep=r"\s+"),
    r"pandas.read_csv(sep=r'\s+'), ids as text": lambda folder: _pandas(
        folder, sep=r"\s+", dtype={0: str, 2: str, 5: str}, keep_default_na=False
    ),
    "pandas.read_csv(sep=' ')": lambda folder: _pandas(folder, sep=" "),
    "skgraded.datasets.read_run": _read_run,
    "skgraded evaluate, two measures": _command,
}


def _write(folder, n_lines):
    """A run of 1,000 documents a query, out of 8.8 million, and judgments of 20 of them."""
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
    """Seconds and peak megabytes of one reading, without the imports; run in its own process."""
    import pandas  # noqa: F401

    import skgraded.cli  # noqa: F401

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    READINGS[name](folder)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps([seconds, (peak - before) / 1024]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        _measure(*args.measure)
        return
    found = {name: [] for name in READINGS}
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, args.lines)
        megabytes = os.path.getsize(f"{folder}/run") / 2**20
        for _ in range(args.rounds):
            for name in READINGS:
                done = subprocess.run(
                    [sys.executable, __file__, "--measure", name, folder],
                    capture_output=True, text=True, check=True,
                )
                found[name].append(json.loads(done.stdout))
    import pandas as pd

    print(f"- Python {platform.python_version()}, pandas {pd.__version__}, load "
          f"{os.getloadavg()[0]:.1f} at the end")
    print(f"- {args.lines:,} lines, {megabytes:.0f} MB\n")
    print("| reading | seconds | million lines a second | peak memory added, MB |")
    print("| --- | ---: | ---: | ---: |")
    for name, rounds in found.items():
        seconds = statistics.median(seconds for seconds, _ in rounds)
        peak = statistics.median(peak for _, peak in rounds)
        name = name.replace("|", r"\|")
        print(f"| {name} | {seconds:.1f} | {args.lines / seconds / 1e6:.2f} | {peak:,.0f} |")


if __name__ == "__main__":
    main()
