"""Time and memory of the measures, compared with other tools on the same generated data.

python benchmarks/speed.py [--queries 10000] [--rounds 11] [--threads 2]
"""

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys

import numpy as np
from memory import measure_memory
from neighbors import JUDGED
from timing import KINDS, measure_times

PACKAGES = (
    "skgraded",
    "numpy",
    "scikit-learn",
    "lightgbm",
    "xgboost",
    "xgboost-cpu",
    "ranx",
    "pytrec_eval",
    "pytrec_eval-terrier",
)
# ns per document on one thread
LIMITS_OF_LAYOUT = {
    "group": 4,
    "qid, rows sorted": 6,
    "qid, rows mixed": 20,
    "qid, pandas str": 25,
}
LIMIT_TO_ONE_THREAD = 0.55


def main():
    args = parse_arguments()
    if args.worker == "memory":
        print(json.dumps(measure_memory(args.queries)))
    elif args.worker:
        print(json.dumps(measure_times(args.queries, args.rounds, int(args.worker))))
    else:
        report(args)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10_000, help="of 120 documents on average")
    parser.add_argument("--rounds", type=int, default=11, help="each call is timed once per round")
    parser.add_argument("--threads", type=int, default=2, help="compared with one thread")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


# Reporting ---------------------------------------------------------------------------------------


def run_worker(args, worker):
    """Run this file in a process for a number of threads, or for memory; return its results."""
    threads = str(args.threads) if worker == "memory" else worker
    environment = os.environ | {"OMP_NUM_THREADS": threads, "NUMBA_NUM_THREADS": threads}
    if worker == "memory":
        # glibc: freed memory goes back to the system, so that every allocation is counted
        environment["MALLOC_MMAP_THRESHOLD_"] = "65536"
    command = [sys.executable, __file__, "--worker", worker]
    command += ["--queries", str(args.queries), "--rounds", str(args.rounds)]
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(result.stdout.splitlines()[-1])


def report(args):
    """Print all tables in Markdown."""
    print_setting()
    alone, together = run_worker(args, "1"), run_worker(args, str(args.threads))
    for name, reason in alone["missing"].items():
        print(f"- {name} is missing: {reason}")
    print_times(alone["tables"])
    print_threads(together["alone"], args.threads)
    print_layout(alone["layout"], together["layout"], args.threads)
    print_memory(run_worker(args, "memory"))


def print_setting():
    versions = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    print(f"- {', '.join(versions)}")
    busy = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    print(f"- {processor()}, {os.cpu_count()} processors{busy}; {vectors()}")


def vectors():
    """The longest vectors that NumPy detects."""
    extensions = np.show_config(mode="dicts")["SIMD Extensions"]
    features = {*extensions.get("baseline", ()), *extensions.get("found", ())}
    longest = "neither AVX2 nor AVX-512"
    for name, known in (("AVX2", {"AVX2", "X86_V3"}), ("AVX-512", {"AVX512_SKX", "X86_V4"})):
        if features & known:
            longest = name
    return longest


def processor():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(": ")[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration, IndexError):
        return platform.processor() or platform.machine()


def ratio(times, name, other):
    """Median over the rounds of the time of `name` divided by the time of `other`."""
    pairs = zip(times[name], times[other], strict=False)  # slow calls have fewer rounds
    return float(np.median([ours / theirs for ours, theirs in pairs]))


def print_row(cells):
    print(f"| {' | '.join(cells)} |")


def print_head(cells):
    print()
    print_row(cells)
    print_row(["---"] + ["---:"] * (len(cells) - 1))


def print_times(tables):
    """Print the time per document in ns and, in brackets, its ratio to LightGBM's own metric."""
    columns = {f"{measure}, {kind}": tables[measure][kind] for measure in tables for kind in KINDS}
    print_head(["", *columns])
    for name in dict.fromkeys(name for times in columns.values() for name in times):
        print_row([name, *(timing(times, name) for times in columns.values())])


def timing(times, name):
    if name not in times:
        return ""
    return f"{significant(np.median(times[name]))} ({significant(ratio(times, name, 'LightGBM'))})"


def significant(number):
    return f"{number:,.0f}" if number >= 100 else f"{number:#.3g}".rstrip(".")


def print_threads(tables, threads):
    """Print the time with all threads divided by the time with one thread."""
    print_head([f"{JUDGED}: {threads} threads / 1 thread", *KINDS, "at most"])
    for measure, by_kind in tables.items():
        ratios = [ratio(by_kind[kind], "all threads", "one thread") for kind in KINDS]
        limit = f"{LIMIT_TO_ONE_THREAD}" if threads == 2 else ""
        print_row([measure, *(f"{number:.2f}" for number in ratios), limit])


def print_layout(alone, together, threads):
    """Print the time to make Judgments, in ns per document."""
    print_head(["Judgments", "1 thread", f"{threads} threads", "1, at most"])
    for form in alone:
        cells = [significant(np.median(times[form])) for times in (alone, together)]
        print_row([form, *cells, f"{LIMITS_OF_LAYOUT[form]}"])


def print_memory(rows):
    if isinstance(rows, str):
        print(f"\nPeak memory is not measured: {rows}")
        return
    print_head(["peak memory", "input, MB", "added, MB", "ratio, at most 3"])
    for name, size, added in rows:
        print_row([name, f"{size / 1e6:.1f}", f"{added / 1e6:.1f}", f"{added / size:.1f}"])


if __name__ == "__main__":
    main()
