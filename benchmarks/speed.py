"""Time and memory of the measures, compared with other tools on the same generated data.

python benchmarks/speed.py [--queries 10000] [--rounds 11] [--threads 1 2]
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
from neighbors import JUDGED, WITH_QID
from timing import measure_times

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
# Largest ratios to the time of LightGBM's own metric on the same scores, both on one thread: with
# the sort for AVX-512, and with any other sort.
LIMITS = {
    "NDCNG@10": {"distinct": (0.18, 0.2), "tied": (0.2, 0.22)},
    "NDCNG": {"distinct": (0.25, 0.33), "tied": (0.38, 0.45)},
    "MuAP": {"distinct": (0.28, 0.36), "tied": (0.4, 0.45)},
}
LIMITS_WITH_QID = {"NDCNG@10": 0.5, "NDCNG": 0.6, "MuAP": 0.6}
# ns per document on one thread
LIMITS_OF_LAYOUT = {
    "group": 4,
    "qid, rows sorted": 6,
    "qid, rows mixed": 20,
    "qid, pandas str": 25,
}
LIMIT_TO_ARGSORT = 5
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
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


# Reporting ---------------------------------------------------------------------------------------


def run_worker(args, worker):
    """Run this file in a process for a number of threads, or for memory; return its results."""
    threads = str(max(args.threads)) if worker == "memory" else worker
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
    results = {threads: run_worker(args, str(threads)) for threads in args.threads}
    missing = {}
    for result in results.values():
        missing |= result["missing"]
    for name, reason in missing.items():
        print(f"- {name} is missing: {reason}")
    for measure in results[args.threads[0]]["tables"]:
        print_times(measure, {n: result["tables"][measure] for n, result in results.items()})
    print_layout(results)
    print_ratios(results)
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


def starting_with(times, start):
    return next(name for name in times if name.startswith(start))


def print_row(cells):
    print(f"| {' | '.join(cells)} |")


def print_head(cells):
    print()
    print_row(cells)
    print_row(["---"] + ["---:"] * (len(cells) - 1))


def print_times(measure, by_threads):
    """Print the time per document in ns and, in brackets, its ratio to LightGBM's own metric."""
    columns = [(n, kind) for n, kinds in by_threads.items() for kind in kinds]
    print_head([measure] + [f"{kind}, {n} thread{'s' * (n > 1)}" for n, kind in columns])
    names = dict.fromkeys(name for n, kind in columns for name in by_threads[n][kind])
    for name in names:
        cells = [name]
        for n, kind in columns:
            times = by_threads[n][kind]
            cells.append(timing(times, name) if name in times else "")
        print_row(cells)


def timing(times, name):
    share = ratio(times, name, starting_with(times, "LightGBM"))
    return f"{significant(np.median(times[name]))} ({significant(share)})"


def significant(number):
    return f"{number:,.0f}" if number >= 100 else f"{number:#.3g}".rstrip(".")


def print_ratios(results):
    """Print the ratios that have limits."""
    print_head(["ratio", "", "at most"])
    if 1 in results:
        print_ratios_to_lightgbm(results[1]["tables"])
        print_ratios_to_argsort(results[1]["long"])
    for threads, result in results.items():
        for measure, kinds in result["alone"].items():
            for kind, times in kinds.items():
                what = f"{measure}, {kind} scores: {threads} threads / 1 thread, {JUDGED}"
                limit = f"{LIMIT_TO_ONE_THREAD}" if threads == 2 else ""
                print_row([what, f"{ratio(times, 'all threads', 'one thread'):.2f}", limit])


def print_ratios_to_lightgbm(tables):
    for measure, limits in LIMITS.items():
        for kind, by_sort in limits.items():
            times = tables[measure][kind]
            theirs = starting_with(times, "LightGBM")
            limit = by_sort["AVX-512" not in vectors()]
            for ours, at_most in ((JUDGED, limit), (WITH_QID, LIMITS_WITH_QID[measure])):
                what = f"{measure}, {kind} scores: {ours} / {theirs}, 1 thread"
                print_row([what, f"{ratio(times, ours, theirs):.2f}", f"{at_most}"])


def print_ratios_to_argsort(times):
    for ours in times:
        if ours != "np.argsort":
            what = f"{ours} / np.argsort of its scores, one query of 400,000 grades, 1 thread"
            print_row([what, f"{ratio(times, ours, 'np.argsort'):.1f}", f"{LIMIT_TO_ARGSORT}"])


def print_layout(results):
    """Print the time to make Judgments, in ns per document."""
    print_head(["Judgments", *(f"{n} thread{'s' * (n > 1)}" for n in results), "1, at most"])
    for form in next(iter(results.values()))["layout"]:
        cells = [significant(np.median(result["layout"][form])) for result in results.values()]
        print_row([form, *cells, f"{LIMITS_OF_LAYOUT[form]}"])


def print_memory(rows):
    if isinstance(rows, str):
        print(f"\nPeak memory is not measured: {rows}")
        return
    print_head(["peak memory", "input, MB", "added, MB", "ratio", "at most"])
    for name, size, added in rows:
        print_row([name, f"{size / 1e6:.1f}", f"{added / 1e6:.1f}", f"{added / size:.1f}", "3"])


if __name__ == "__main__":
    main()
