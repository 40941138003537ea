"""Kill writers of files at random moments: the file must be the old or the new one, complete.

    python benchmarks/killed_writers.py             # 200 kills per writer, minutes; not on Windows

Each writer writes two reports in alternation to the same file. SIGKILL comes after a random number
of writes, up to 5 ms after the start of a write. Kills *within a write* left a temporary
file behind.
"""

import argparse
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

import skgraded as sg
from skgraded.cli import main as command

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from saving import save  # noqa: E402

N_QUERIES = 1000
FORK = multiprocessing.get_context("fork")
tqdm.monitor_interval = 0  # a fork while tqdm's thread holds its lock would wait forever


def _writers(folder):
    """Functions (number of a report, path) that write one of two reports, by name."""
    rng = np.random.default_rng(0)
    grade, score = rng.integers(0, 3, 5 * N_QUERIES), rng.random((2, 5 * N_QUERIES))
    query = np.repeat(np.arange(N_QUERIES), 5)
    reports = [sg.evaluate(grade, scores, qid=query, measures=["ndcg", "rr"]) for scores in score]
    figures = [Figure() for _ in score]
    for figure, scores in zip(figures, score, strict=True):
        figure.subplots().plot(scores[:100])
    for number, scores in enumerate(score):
        rows = zip(query.tolist(), grade.tolist(), scores.tolist(), strict=True)
        (folder / f"{number}.csv").write_text(
            "query,grade,score\n" + "".join(f"{q},{g},{s}\n" for q, g, s in rows)
        )

    def by_command(number, path):
        assert (
            command(
                ["evaluate", str(folder / f"{number}.csv"), "--per-query", "--output", str(path)]
            )
            == 0
        )

    return {
        "to_html": lambda number, path: reports[number].to_html(path),
        "to_csv": lambda number, path: reports[number].to_csv(path),
        "to_json": lambda number, path: reports[number].to_json(path),
        "skgraded --output": by_command,
        "a figure of an example": lambda number, path: save(figures[number], path),
    }


def _write_on(write, path, ready):
    ready.set()
    number = 0
    while True:
        number = 1 - number
        write(number, path)


def _killed(write, path, rng):
    """Kill a writer soon after the start of its first, second or third write."""
    ready = FORK.Event()
    process = FORK.Process(target=_write_on, args=(write, path, ready))
    process.start()
    ready.wait()
    for _ in range(rng.randint(1, 3)):
        while _temporary_files(path):
            pass
        while not _temporary_files(path):
            pass
    time.sleep(rng.uniform(0, 0.005))
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def _temporary_files(path):
    return [name for name in os.listdir(path.parent) if name.startswith(".")]


def _rounds(name, write, folder, kills):
    """Numbers of incomplete files, and of kills within a write."""
    rng, path = random.Random(name), folder / "report.png"
    complete = []
    for number in (0, 1):
        # Writers may start threads, and a fork of a process with threads may wait forever.
        process = FORK.Process(target=write, args=(number, path))
        process.start()
        process.join()
        complete.append(path.read_bytes())
    n_incomplete = n_within = 0
    for _ in range(kills):
        _killed(write, path, rng)
        n_incomplete += path.read_bytes() not in complete
        names = _temporary_files(path)
        n_within += bool(names)
        for file in map(folder.joinpath, names):
            shutil.rmtree(file) if file.is_dir() else file.unlink()
    return n_incomplete, n_within


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    args = parser.parse_args()
    n_faults = 0
    print("| writer | kills | within a write | incomplete files |")
    print("| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for name, write in _writers(Path(folder)).items():
            n_incomplete, n_within = _rounds(name, write, Path(folder), args.kills)
            print(f"| {name} | {args.kills} | {n_within} | {n_incomplete} |")
            n_faults += n_incomplete
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main())
