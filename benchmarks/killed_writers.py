"""Kill what writes a file at random moments: the file is the one before or the next, whole.

    python benchmarks/killed_writers.py             # 200 kills a writer, minutes; not on Windows

Each writer writes two reports by turns over one file. SIGKILL comes after a random number of
writes, up to 5 ms after one has begun; *within a write* are kills after which what was being
written lay beside.
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
tqdm.monitor_interval = 0  # a fork while its thread holds its lock would wait for ever


def _writers(folder):
    """By name what writes the one or the other report to a path."""
    rng = np.random.default_rng(0)
    grade, score = rng.integers(0, 3, 5 * N_QUERIES), rng.random((2, 5 * N_QUERIES))
    query = np.repeat(np.arange(N_QUERIES), 5)
    reports = [sg.evaluate(grade, one, qid=query, measures=["ndcg", "rr"]) for one in score]
    figures = [Figure() for _ in score]
    for figure, one in zip(figures, score, strict=True):
        figure.subplots().plot(one[:100])
    for number, one in enumerate(score):
        rows = zip(query.tolist(), grade.tolist(), one.tolist(), strict=True)
        (folder / f"{number}.csv").write_text(
            "query,grade,score\n" + "".join(f"{q},{g},{s}\n" for q, g, s in rows)
        )

    def by_command(number, path):
        assert command([
            "evaluate", str(folder / f"{number}.csv"), "--per-query", "--output", str(path)
        ]) == 0

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
    """Kill a writer soon after it has begun to write for the first, second or third time."""
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    process = context.Process(target=_write_on, args=(write, path, ready))
    process.start()
    ready.wait()
    for _ in range(rng.randint(1, 3)):
        while _beside(path):
            pass
        while not _beside(path):
            pass
    time.sleep(rng.uniform(0, 0.005))
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def _beside(path):
    return [one for one in os.listdir(path.parent) if one.startswith(".")]


def _rounds(name, write, folder, kills):
    """How many files were not whole, and how many kills came within a write."""
    rng, path = random.Random(name), folder / "report.png"
    whole = []
    for number in (0, 1):
        write(number, path)
        whole.append(path.read_bytes())
    torn = within = 0
    for _ in range(kills):
        _killed(write, path, rng)
        torn += path.read_bytes() not in whole
        beside = _beside(path)
        within += bool(beside)
        for one in map(folder.joinpath, beside):
            shutil.rmtree(one) if one.is_dir() else one.unlink()
    return torn, within


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    args = parser.parse_args()
    torn = 0
    print("| writer | kills | within a write | files not whole |")
    print("| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for name, write in _writers(Path(folder)).items():
            found, within = _rounds(name, write, Path(folder), args.kills)
            print(f"| {name} | {args.kills} | {within} | {found} |")
            torn += found
    return 1 if torn else 0


if __name__ == "__main__":
    sys.exit(main())
