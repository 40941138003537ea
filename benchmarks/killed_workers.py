"""Kill workers in the middle of an evaluation, which must still return the same bits.

    python benchmarks/killed_workers.py            # a few minutes; add dask or spark for one engine

SIGKILL hits Dask workers while rows are shuffled and while they are measured, Spark's Python
workers, and an executor of a `local-cluster`. The data are a million documents with ties, weights
and text ids; some queries have no relevant document.
"""

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd

import skgraded as sg

COLUMNS = {"y_true": "grade", "y_score": "score", "qid": "query", "sample_weight": "weight"}
MEASURES = ["mu_map", "rr", "p@5"]
N_FILES = 24


def table(n_queries):
    """Rows sorted by query; a third of the queries have no relevant document."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 40, n_queries)
    query = np.repeat(np.arange(n_queries), sizes)
    n = len(query)
    return pd.DataFrame({
        "grade": rng.integers(0, 4, n) * (rng.random(n) < 0.2),
        "score": np.round(rng.normal(size=n), 1),
        "query": np.char.add("query ", query.astype(str)).astype(object),
        "weight": np.repeat(rng.integers(0, 4, n_queries), sizes) / 2,
    })


def write(frame, folder, cuts):
    """Write one file for the rows between each two cuts."""
    folder.mkdir()
    for i, (start, end) in enumerate(zip(cuts[:-1], cuts[1:], strict=True)):
        frame[start:end].to_parquet(folder / f"{i:03}.parquet", index=False)


def in_memory(frame):
    return sg.Summary.of(sg.evaluate(
        frame["grade"], frame["score"], qid=frame["query"], measures=MEASURES,
        sample_weight=frame["weight"],
    ))


def make(folder, n_queries):
    """Write mixed and clustered rows, and return the Summary of all rows."""
    frame = table(n_queries)
    cuts = np.linspace(0, len(frame), N_FILES + 1).astype(int)
    write(frame, folder / "clustered", cuts)
    write(frame.sample(frac=1, random_state=0), folder / "mixed", cuts)
    return in_memory(frame)


def with_kill(what, expected, measure, victims, after):
    """Measure, and kill the first of the processes in `victims` after some seconds."""
    killed = []

    def kill():
        time.sleep(after)
        for pid in victims()[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    thread = threading.Thread(target=kill)
    started = time.perf_counter()
    thread.start()
    summary = measure()
    seconds = time.perf_counter() - started
    thread.join()
    in_time = killed and seconds > after
    print(
        f"{what}: {'killed' if in_time else 'too fast to be killed'} after {after:.1f} of "
        f"{seconds:.1f} s; {'equal' if summary == expected else 'DIFFERENT'}", flush=True,
    )
    return summary == expected


# Dask --------------------------------------------------------------------------------------------

def on_dask(folder, expected):
    """Kill workers at several times of a shuffled and of a clustered measurement."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import skgraded.dask

    good = True
    for kind, partitioning in (("mixed", "shuffle"), ("clustered", "clustered")):
        for share in (0.2, 0.5, 0.8):
            with LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
            ) as cluster, Client(cluster) as client:
                def measure(kind=kind, partitioning=partitioning):
                    ddf = dd.read_parquet(str(folder / kind), split_row_groups=False)
                    return skgraded.dask.evaluate(
                        ddf, measures=MEASURES, partitioning=partitioning, **COLUMNS
                    )

                for _ in range(2):  # new workers are slower
                    started = time.perf_counter()
                    good &= measure() == expected
                    seconds = time.perf_counter() - started
                good &= with_kill(
                    f"Dask, {partitioning}", expected, measure,
                    lambda client=client: list(client.run(os.getpid).values()), share * seconds,
                )
    return good


# Spark -------------------------------------------------------------------------------------------

def on_spark(folder, expected):
    """Kill a Python worker of local[2], and an executor of a local-cluster."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    good = True
    for master, pattern in (
        ("local[2,4]", b"pyspark.daemon"), ("local-cluster[2,1,1024]", b"CoarseGrainedExecutor"),
    ):
        good &= _on_spark_master(folder, expected, master, pattern)
    return good


def _on_spark_master(folder, expected, master, pattern):
    from pyspark.sql import SparkSession

    import skgraded.spark

    spark = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(N_FILES))
        .config("spark.sql.files.openCostInBytes", str(2**30))  # one file per partition
        .config("spark.executor.memory", "1g").config("spark.task.maxFailures", "8")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    good = True
    try:
        for kind, partitioning in (("mixed", "shuffle"), ("clustered", "clustered")):
            def measure(kind=kind, partitioning=partitioning):
                return skgraded.spark.evaluate(
                    spark.read.parquet(str(folder / kind)), measures=MEASURES,
                    partitioning=partitioning, **COLUMNS,
                )

            good &= measure() == expected
            started = time.perf_counter()
            good &= measure() == expected
            seconds = time.perf_counter() - started
            good &= with_kill(
                f"Spark {master}, {partitioning}", expected, measure,
                lambda: [pid for pid in offspring(os.getpid()) if pattern in command_of(pid)][-1:],
                0.5 * seconds,
            )
    finally:
        spark.stop()
    return good


def offspring(pid):
    """All descendants of a process."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                status = (folder / "stat").read_text()
            except OSError:
                continue
            parents[int(folder.name)] = int(status.rpartition(")")[2].split()[1])
    family = [pid]
    for member in family:
        family += [child for child, parent in parents.items() if parent == member]
    return family[1:]


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("engines", nargs="*", default=["dask", "spark"])
    parser.add_argument("--queries", type=int, default=50_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        expected = make(Path(folder), args.queries)
        print(expected)
        runs = {"dask": on_dask, "spark": on_spark}
        if not all([runs[engine](Path(folder), expected) for engine in args.engines]):
            sys.exit(1)


if __name__ == "__main__":
    main()
