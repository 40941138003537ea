"""Time of each kernel sum on one thread, compared with a sort and with another checkout.

The sums are fast only if the compiler inlines their small functions. A change in `sums.pyx` can
slow down a sum that it does not touch, so all sums are timed, with few and with many levels.

    python benchmarks/kernels.py                            # ratios to np.sort of the same scores
    python benchmarks/kernels.py --against ../older-clone   # also ratios to that clone's modules
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Numbers of queries, documents per query and levels. The kernel for pairs changes its method at 17
# levels.
SHAPES = {"5 levels": (2_000, 120, 5), "60 levels": (2_000, 120, 60), "long": (1, 300_000, 250_000)}
MEASURES = ("ndcng", "ndcng@10", "mu_map", "rr", "edrc", "tau_ap", "err", "q_measure")
MOST = 1.1  # the ratio to the other checkout above which a row is marked
# Ratios to np.sort above which a row is marked, a third above the last measured ratios.
MOST_TO_SORT = {
    ("mu_map", "5 levels", "distinct"): 4.5,
    ("mu_map", "5 levels", "tied"): 6.0,
    ("mu_map", "60 levels", "distinct"): 8.5,
    ("mu_map", "60 levels", "tied"): 15.0,
    ("mu_map", "long", "distinct"): 2.3,
    ("mu_map", "long", "tied"): 7.5,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--against", type=Path, help="a checkout whose modules are compiled")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work()
    else:
        report(args.rounds, [ROOT, *([args.against.resolve()] if args.against else [])])


def work():
    """Time every case once for each line of standard input."""
    import numpy as np

    import skgraded as sg

    calls = {}
    for shape, (n_queries, n, levels) in SHAPES.items():
        rng = np.random.default_rng(0)
        y = rng.integers(0, levels, n_queries * n)
        scores = rng.normal(size=len(y)) + y / levels
        judgments = sg.Judgments(y, group=[n] * n_queries)
        for ties, values in (("distinct", scores), ("tied", scores.round(1))):
            table = values.reshape(n_queries, n)
            calls["np.sort", shape, ties] = lambda table=table: np.sort(table, axis=1)
            for text in MEASURES:
                measure = sg.measure(text)
                calls[text, shape, ties] = lambda m=measure, j=judgments, v=values: m(j, v)
    for call in calls.values():
        call()
    for _ in sys.stdin:
        seconds = []
        for key, call in calls.items():
            start = time.process_time()
            call()
            n_queries, n, _ = SHAPES[key[1]]
            seconds.append([*key, (time.process_time() - start) / (n_queries * n) * 1e9])
        print(json.dumps(seconds), flush=True)


def report(rounds, folders):
    workers = [
        subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"},
        )
        for folder in folders
    ]
    times = [{} for _ in folders]  # for each folder, {case: nanoseconds in each round}
    for _ in range(rounds):
        for worker, of_folder in zip(workers, times, strict=True):
            print(file=worker.stdin, flush=True)
            for *case, nanoseconds in json.loads(worker.stdout.readline()):
                of_folder.setdefault(tuple(case), []).append(nanoseconds)
    for worker in workers:
        worker.stdin.close()
        worker.wait()
    print("| sum | shape | scores | ns per document | to np.sort | to the other checkout |")
    print("| --- | --- | --- | ---: | ---: | ---: |")
    for case, ours in times[0].items():
        name, shape, ties = case
        to_sort = ratio(ours, times[0]["np.sort", shape, ties])
        cells = [marked(to_sort, MOST_TO_SORT.get(case))]
        cells += [marked(ratio(ours, others[case]), MOST) for others in times[1:]] or [""]
        print(f"| {name} | {shape} | {ties} | {median(ours):#.3g} | {' | '.join(cells)} |")


def ratio(ours, theirs):
    return median([a / b for a, b in zip(ours, theirs, strict=True)])


def median(values):
    return sorted(values)[len(values) // 2]


def marked(value, most):
    return f"{value:.2f}" + (f" ABOVE {most}" if most and value > most else "")


if __name__ == "__main__":
    main()
