"""Time and memory of the measures beside those of the neighbours, on the same generated data.

python benchmarks/speed.py [--queries 10000] [--rounds 11] [--threads 1 2]
"""

import argparse
import gc
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time

import numpy as np

SLOW_QUERIES = 200  # for what takes microseconds a document
SLOW_ROUNDS = 3
KINDS = ("distinct", "tied")  # of scores; tied ones are rounded to one decimal
PACKAGES = (
    "skgraded", "numpy", "scikit-learn", "lightgbm", "xgboost", "xgboost-cpu", "ranx",
    "pytrec_eval", "pytrec_eval-terrier",
)
JUDGED = "skgraded, measure of Judgments"
IN_LIGHTGBM = "skgraded, LightGBM metric"
# At most so many times LightGBM's own metric on the same scores, both on one thread
LIMITS = {
    "NDCNG@10": {"distinct": 0.33, "tied": 0.4},
    "NDCNG": {"distinct": 0.75, "tied": 0.95},
    "MuAP": {"distinct": 0.8, "tied": 1.1},
}


def main():
    args = parse_arguments()
    if args.worker == "memory":
        from memory import measure_memory

        print(json.dumps(measure_memory(args.queries)))
    elif args.worker:
        print(json.dumps(measure_times(args.queries, args.rounds, int(args.worker))))
    else:
        report(args)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10_000, help="of 120 documents on average")
    parser.add_argument("--rounds", type=int, default=11, help="every call is timed once a round")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


# Measuring, in a process of its own for each number of threads -----------------------------------

def measure_times(n_queries, rounds, threads):
    """{"tables": {measure: {kind of scores: {name: ns a document in each round}}}, …}."""
    from calls import FAMILIES, lightgbm_sets, make_data

    result = {"tables": {}, "missing": {}, "long": {}, "alone": {}}
    if threads > 1:
        # at first, while no neighbour's threads wait in a loop for their next work
        for kind in KINDS:
            data = make_data(n_queries, tied=kind == "tied")
            for family in FAMILIES:
                times = time_in_turn(calls_with_threads(family.ours, data, rounds))
                result["alone"].setdefault(family.ours.name, {})[kind] = times
    for kind in KINDS:
        data = make_data(n_queries, tied=kind == "tied")
        sets = lightgbm_sets(data)
        for family in FAMILIES:
            calls = family_calls(family, data, sets, threads, rounds, result["missing"])
            table = result["tables"].setdefault(family.ours.name, {})
            table[kind] = time_in_turn(calls)
    if threads == 1:
        result["long"] = time_in_turn(long_query_calls(rounds))
    return result


def family_calls(family, data, sets, threads, rounds, missing):
    """All that compute a family's measure; names and errors of those that cannot to `missing`."""
    import calls as c

    chosen = c.our_calls(family.ours, data, sets[1], rounds)
    chosen.append(c.lightgbm_call(family, data, sets, threads, rounds))
    few = data.head(SLOW_QUERIES)
    neighbours = {
        "XGBoost": lambda: c.xgboost_calls(family.xgboost, data, threads, rounds),
        "ranx": lambda: c.ranx_calls(family.ranx, few, threads, SLOW_ROUNDS),
    }
    if threads == 1:
        neighbours["scikit-learn"] = lambda: c.sklearn_calls(family.sklearn, few, SLOW_ROUNDS)
        neighbours["pytrec_eval"] = lambda: c.pytrec_eval_calls(
            family.pytrec_eval, few, SLOW_ROUNDS
        )
    for name, make in neighbours.items():
        if name not in missing:
            try:
                chosen += make()
            except Exception as error:  # whatever a neighbour stumbles over, the others go on
                missing[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    return chosen


def calls_with_threads(measure, data, rounds):
    """Ours with all the threads of this process and with one."""
    import calls as c

    import skgraded as sg

    judgments = sg.Judgments(data.y, group=data.sizes)

    def run():
        return measure(judgments, data.scores)

    return [
        c.Call("all threads", run, data.n, rounds),
        c.Call("one thread", c.on_one_thread(run), data.n, rounds),
    ]


def long_query_calls(rounds):
    """μAP of one query of 400,000 documents with a grade each, beside a sort of its scores."""
    import calls as c

    import skgraded as sg

    long = c.make_long_query()
    judgments = sg.Judgments(long.y)
    return [
        c.Call("np.argsort", lambda: np.argsort(long.scores), long.n, rounds),
        c.Call("MuAP", lambda: sg.MuAP()(long.y, long.scores), long.n, rounds),
        c.Call("MuAP of Judgments", lambda: sg.MuAP()(judgments, long.scores), long.n, rounds),
    ]


def time_in_turn(calls):
    """{name: ns a document in each round}, after a first call that does not count.

    In a round every call has its turn, in random order, so that what another leaves in the
    processor's caches, and whatever else runs on the machine, meets all alike.
    """
    rng = np.random.default_rng(0)
    for call in calls:
        call.run()
    times = {call.name: [] for call in calls}
    gc.disable()
    for i in range(max(call.rounds for call in calls)):
        for call in rng.permutation(calls):
            if i < call.rounds:
                start = time.perf_counter()
                call.run()
                times[call.name].append((time.perf_counter() - start) / call.n * 1e9)
    gc.enable()
    return times


# Reporting ---------------------------------------------------------------------------------------

def run_worker(args, worker):
    """Run this file for one number of threads, or for the memory, and read what it measured."""
    threads = str(max(args.threads)) if worker == "memory" else worker
    environment = os.environ | {"OMP_NUM_THREADS": threads, "NUMBA_NUM_THREADS": threads}
    if worker == "memory":
        # glibc: what is freed goes back to the system, so that no call reuses it unseen
        environment["MALLOC_MMAP_THRESHOLD_"] = "65536"
    command = [sys.executable, __file__, "--worker", worker]
    command += ["--queries", str(args.queries), "--rounds", str(args.rounds)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def report(args):
    """Print all tables, in Markdown."""
    print_setting()
    results = {threads: run_worker(args, str(threads)) for threads in args.threads}
    missing = {}
    for result in results.values():
        missing |= result["missing"]
    for name, reason in missing.items():
        print(f"- {name} is missing: {reason}")
    for measure in results[args.threads[0]]["tables"]:
        print_times(measure, {n: result["tables"][measure] for n, result in results.items()})
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
    print(f"- {processor()}, {os.cpu_count()} processors{busy}")


def processor():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(": ")[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration, IndexError):
        return platform.processor() or platform.machine()


def ratio(times, name, other):
    """Median over the rounds of how many times longer `name` takes than `other`."""
    pairs = zip(times[name], times[other], strict=False)  # slow calls have fewer rounds
    return float(np.median([one / two for one, two in pairs]))


def starting_with(times, start):
    return next(name for name in times if name.startswith(start))


def print_row(cells):
    print(f"| {' | '.join(cells)} |")


def print_head(cells):
    print()
    print_row(cells)
    print_row(["---"] + ["---:"] * (len(cells) - 1))


def print_times(measure, by_threads):
    """Time a document in ns and, in brackets, its ratio to LightGBM's own metric."""
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
    """Print the ratios that are promised."""
    print_head(["ratio", "", "at most"])
    if 1 in results:
        print_ratios_to_lightgbm(results[1]["tables"])
        print_ratios_to_argsort(results[1]["long"])
    for threads, result in results.items():
        for measure, kinds in result["alone"].items():
            for kind, times in kinds.items():
                what = f"{measure}, {kind} scores: {threads} threads / 1 thread, {JUDGED}"
                limit = "0.6" if threads == 2 else ""
                print_row([what, f"{ratio(times, 'all threads', 'one thread'):.2f}", limit])


def print_ratios_to_lightgbm(tables):
    for measure, limits in LIMITS.items():
        for kind, limit in limits.items():
            times = tables[measure][kind]
            theirs = starting_with(times, "LightGBM")
            for ours in (JUDGED, IN_LIGHTGBM):
                what = f"{measure}, {kind} scores: {ours} / {theirs}, 1 thread"
                print_row([what, f"{ratio(times, ours, theirs):.2f}", f"{limit}"])


def print_ratios_to_argsort(times):
    for ours in times:
        if ours != "np.argsort":
            what = f"{ours} / np.argsort of its scores, one query of 400,000 grades, 1 thread"
            print_row([what, f"{ratio(times, ours, 'np.argsort'):.1f}", "20"])


def print_memory(rows):
    if isinstance(rows, str):
        print(f"\nPeak memory is not measured: {rows}")
        return
    print_head(["peak memory", "input, MB", "added, MB", "ratio", "at most"])
    for name, size, added in rows:
        print_row([name, f"{size / 1e6:.1f}", f"{added / 1e6:.1f}", f"{added / size:.1f}", "3"])


if __name__ == "__main__":
    main()
