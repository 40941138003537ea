"""Queries of extreme sizes, and a full disk, on each engine.

    python benchmarks/faults.py sizes      # 4 million rows; needs skgraded[dask,spark] and Java
    python benchmarks/faults.py disk batches Dask Spark    # as root on Linux; mounts file systems

`sizes` evaluates four tables: usual queries, one query with half of the rows, and a million queries
of 1 to 3 documents, also in 300 segments. `disk` gives each engine a temporary folder on a file
system that is too small for the mixed rows. It prints the error, the files that are left behind,
and whether the next run on a sufficient disk gives the value of all rows in memory.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from killed_workers import offspring

import skgraded as sg

COLUMNS = {"y_true": "grade", "y_score": "score", "qid": "query"}
SETTINGS = {**COLUMNS, "measures": ["ndcng@10", "mu_map"]}
ENGINES = ["batches", "Dask", "Spark"]
N_ROWS, N_FILES = 4_000_000, 16
ON_DISK = "--on-disk"


# Engines -----------------------------------------------------------------------------------------


def started(engine, stack, folder):
    """Start an engine whose temporary files are in a folder; return its evaluation of a path."""
    return {"batches": _batches, "Dask": _dask, "Spark": _spark}[engine](stack, str(folder))


def _batches(stack, folder):
    tempfile.tempdir = folder
    return lambda path, **others: sg.evaluate_batches(path, **SETTINGS, **others)


def _dask(stack, folder):
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import skgraded.dask

    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs="CRITICAL",
        local_directory=folder,
    )
    stack.enter_context(cluster)
    stack.enter_context(Client(cluster))
    return lambda path, **others: skgraded.dask.evaluate(
        dd.read_parquet(str(path), split_row_groups=False), **SETTINGS, **others
    )


def _spark(stack, folder):
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    import skgraded.spark

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.local.dir", folder)
        .config("spark.sql.shuffle.partitions", str(N_FILES))
        .config("spark.sql.files.openCostInBytes", str(2**30))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    stack.callback(spark.stop)
    return lambda path, **others: skgraded.spark.evaluate(
        spark.read.parquet(str(path)), **SETTINGS, **others
    )


# Sizes -------------------------------------------------------------------------------------------


def table(kind, n_rows):
    """Rows sorted by query, with ties."""
    rng = np.random.default_rng(0)
    if "tiny" in kind:
        sizes = rng.integers(1, 4, n_rows // 4)
    else:
        sizes = rng.integers(1, 40, n_rows // (40 if "half" in kind else 20))
    if "half" in kind:
        sizes[len(sizes) // 2] = n_rows // 2
    query = np.repeat(np.arange(len(sizes)), sizes)
    n = len(query)
    return pd.DataFrame(
        {
            "grade": rng.integers(0, 4, n) * (rng.random(n) < 0.2),
            "score": np.round(rng.normal(size=n), 1),
            "query": query,
            "country": query % 300,
        }
    )


def write(frame, folder):
    folder.mkdir()
    cuts = np.linspace(0, len(frame), N_FILES + 1).astype(int)
    for i, (start, end) in enumerate(zip(cuts, cuts[1:], strict=False)):
        frame[start:end].to_parquet(folder / f"{i:03}.parquet", index=False)


def in_memory(frame, by=None):
    whole = sg.evaluate_batches(frame, **SETTINGS, by=by, partitioning="clustered")
    evaluation = sg.evaluate(
        frame["grade"], frame["score"], qid=frame["query"], measures=SETTINGS["measures"]
    )
    assert whole.mean() == sg.Summary.of(evaluation).mean()
    return whole


KINDS = [
    "usual queries",
    "a query with half of the rows",
    "tiny queries",
    "tiny queries, 300 segments",
]


def sizes(engines, n_rows):
    """Print the time, the memory and the equality of each run; a process for each engine."""
    print("| rows | engine | order | s | CPU s | peak GB | Summary |")
    print("| --- | --- | --- | ---: | ---: | ---: | --- |", flush=True)
    with tempfile.TemporaryDirectory() as name:
        for kind in KINDS:
            frame, folder = table(kind, n_rows), Path(name) / kind.replace(" ", "-")
            folder.mkdir()
            write(frame, folder / "clustered")
            write(frame.sample(frac=1, random_state=0), folder / "shuffle")
            by = "country" if "segments" in kind else None
            (folder / "expected.json").write_text(in_memory(frame, by).to_json())
            del frame
            for engine in engines:
                run_here(["size", engine, kind, str(folder)])


def size(engine, kind, folder):
    by = {"by": "country"} if "segments" in kind else {}
    expected = sg.Summary.from_json((Path(folder) / "expected.json").read_text())
    with ExitStack() as stack, tempfile.TemporaryDirectory() as temporary:
        evaluate = started(engine, stack, temporary)
        for partitioning in ("clustered", "shuffle"):
            reset = [f"/proc/{pid}/clear_refs" for pid in (os.getpid(), *offspring(os.getpid()))]
            for path in reset:
                Path(path).write_text("5")  # resets the peak
            begun, cpu = time.perf_counter(), _cpu()
            summary = evaluate(f"{folder}/{partitioning}", partitioning=partitioning, **by)
            seconds, cpu = time.perf_counter() - begun, _cpu() - cpu
            outcome = "==" if summary == expected else "DIFFERENT"
            print(
                f"| {kind} | {engine} | {partitioning} | {seconds:.1f} | {cpu:.1f} | "
                f"{_peak() / 2**20:.2f} | {outcome} |",
                flush=True,
            )


def _peak():
    """The largest resident set of a Python process in kB; Java reserves memory in advance."""
    peaks = [0]
    for pid in (os.getpid(), *offspring(os.getpid())):
        try:
            if "python" not in os.path.realpath(f"/proc/{pid}/exe"):
                continue
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            continue
        peaks += [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    return max(peaks)


def _cpu():
    """CPU time of this process and its descendants, including those that have ended."""
    ticks = 0
    for pid in (os.getpid(), *offspring(os.getpid())):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


# Full disk ---------------------------------------------------------------------------------------


def disks(engines, n_rows):
    with tempfile.TemporaryDirectory() as name:
        frame = table("usual queries", n_rows)
        write(frame.sample(frac=1, random_state=0), Path(name) / "rows")
        (Path(name) / "expected.json").write_text(in_memory(frame).to_json())
        for engine in engines:
            with mounted(Path(name) / "small", 20) as small:
                run_here(["disk-of", engine, str(small), name])
                left = [path for path in small.rglob("*") if path.is_file()]
                print(f"{engine}: {len(left)} files are left", *left[:2], flush=True)
            run_here(["disk-of", engine, str(small), name])


@contextmanager
def mounted(folder, megabytes):
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    subprocess.run(command, check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def disk_of(engine, folder, rows):
    """Evaluate mixed rows with temporary files in a folder; print the outcome."""
    expected = sg.Summary.from_json((Path(rows) / "expected.json").read_text())
    if engine == "batches":
        from skgraded.large import batch_steps

        batch_steps.MAX_ROWS_IN_MEMORY = 2**20
    with ExitStack() as stack:
        evaluate = started(engine, stack, folder)
        try:
            summary = evaluate(f"{rows}/rows", partitioning="shuffle")
        except Exception as error:
            message = " ".join(str(error).split())
            print(f"{engine}: {type(error).__name__}: {message[:600]}", flush=True)
        else:
            print(f"{engine}: {'==' if summary == expected else 'DIFFERENT'}", flush=True)


def run_here(arguments):
    """Run a command of this script in a new process."""
    subprocess.run([sys.executable, __file__, *arguments], stderr=subprocess.DEVNULL, check=False)


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.argv[1:2] == ["size"]:
        return size(*sys.argv[2:])
    if sys.argv[1:2] == ["disk-of"]:
        return disk_of(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("faults", choices=["sizes", "disk"])
    parser.add_argument("engines", nargs="*", default=ENGINES)
    parser.add_argument("--rows", type=int, default=N_ROWS)
    args = parser.parse_args()
    run = {"sizes": partial(sizes), "disk": partial(disks)}[args.faults]
    return run(args.engines, args.rows)


if __name__ == "__main__":
    main()
