"""Kill workers in the middle of an evaluation, which must still return the same bits.

    python benchmarks/killed_workers.py            # a few minutes; add dask or spark for one

SIGKILL hits Dask workers while rows are shuffled and while they are measured, Spark's Python
workers, and an executor of a `local-cluster`. The data are a million documents with
ties, weights and text ids; some queries have no relevant document. The order of mixed rows is
random, so that a repeated task has its rows in another order.
"""

import argparse
import json
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
RUNS = [("mixed", "shuffle"), ("clustered", "clustered")]  # folder and partitioning
N_FILES = 24


def table(n_queries):
    """Rows sorted by query; a third of the queries have no relevant document."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 40, n_queries)
    query = np.repeat(np.arange(n_queries), sizes)
    n = len(query)
    return pd.DataFrame(
        {
            "grade": rng.integers(0, 4, n) * (rng.random(n) < 0.2),
            "score": np.round(rng.normal(size=n), 1),
            "query": np.char.add("query ", query.astype(str)).astype(object),
            "weight": np.repeat(rng.integers(0, 4, n_queries), sizes) / 2,
        }
    )


def write(frame, folder, cuts):
    """Write one file for the rows between each two cuts."""
    folder.mkdir()
    for i, (start, end) in enumerate(zip(cuts[:-1], cuts[1:], strict=True)):
        frame[start:end].to_parquet(folder / f"{i:03}.parquet", index=False)


def in_memory(frame):
    return sg.Summary.of(
        sg.evaluate(
            frame["grade"],
            frame["score"],
            qid=frame["query"],
            measures=MEASURES,
            sample_weight=frame["weight"],
        )
    )


def make(folder, n_queries):
    """Write mixed and clustered rows, and return the Summary of all rows."""
    frame = table(n_queries)
    cuts = np.linspace(0, len(frame), N_FILES + 1).astype(int)
    write(frame, folder / "clustered", cuts)
    write(frame.sample(frac=1, random_state=0), folder / "mixed", cuts)
    return in_memory(frame)


def reordered(rows):
    """Rows in an order that differs each time."""
    return rows.sample(frac=1)


def with_kills(what, expected, measure, victims, lost, shares=(0.5,)):
    """Kill a process at some shares of the usual time; print a row of the table for each kill.

    `victims` returns the processes that run tasks, and `lost` what is known to be lost since then.
    """
    good = True
    for _ in range(2):  # new workers are slower
        started = time.perf_counter()
        good &= measure() == expected
        seconds = time.perf_counter() - started
    for share in shares:
        killed = []
        thread = threading.Thread(target=_kill, args=(victims, share * seconds, killed))
        started = time.perf_counter()
        thread.start()
        summary = measure()
        took = time.perf_counter() - started
        thread.join()
        loss = lost() if killed and killed[0] - started < took else "nothing: too fast"
        outcome = "==" if summary == expected else "DIFFERENT"
        print(f"| {what} | {share * seconds:.1f} | {took:.1f} | {loss} | {outcome} |", flush=True)
        good &= summary == expected
    return good


def _kill(victims, after, killed):
    """Kill the first process that runs a task after some seconds; wait for one for a second."""
    time.sleep(after)
    for _ in range(100):
        for pid in victims()[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.append(time.perf_counter())
            return
        time.sleep(0.01)


# Dask --------------------------------------------------------------------------------------------


def on_dask(folder, expected):
    """Kill workers at several times of a shuffled and of a clustered measurement."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import skgraded.dask

    good = True
    for kind, partitioning in RUNS:

        def measure(kind=kind, partitioning=partitioning):
            ddf = dd.read_parquet(str(folder / kind), split_row_groups=False)
            if kind == "mixed":
                ddf = ddf.map_partitions(reordered)
            return skgraded.dask.evaluate(
                ddf, measures=MEASURES, partitioning=partitioning, **COLUMNS
            )

        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
            ) as cluster,
            Client(cluster) as client,
        ):

            def lost(client=client):
                actions = [event for _, event in client.get_events("all")]
                removed = [event for event in actions if event["action"] == "remove-worker"][-1]
                running, kept = removed["processing-tasks"], removed["lost-computed-tasks"]
                return f"{len(running)} tasks, results of {len(kept)}"

            good &= with_kills(
                f"Dask, {partitioning}",
                expected,
                measure,
                lambda client=client: list(client.run(os.getpid).values()),
                lost,
                (0.2, 0.5, 0.8),
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
        ("local[2,4]", b"pyspark.daemon"),
        ("local-cluster[2,1,1024]", b"CoarseGrainedExecutor"),
    ):
        with tempfile.TemporaryDirectory() as events:
            good &= _on_spark_master(folder, expected, master, pattern, events)
    return good


def _on_spark_master(folder, expected, master, pattern, events):
    from pyspark.sql import SparkSession

    import skgraded.spark

    spark = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(N_FILES))
        .config("spark.sql.files.openCostInBytes", str(2**30))  # one file per partition
        .config("spark.executor.memory", "1g")
        .config("spark.task.maxFailures", "8")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", f"file://{events}")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.rolling.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    good = True
    try:
        for kind, partitioning in RUNS:

            def measure(kind=kind, partitioning=partitioning):
                df = spark.read.parquet(str(folder / kind))
                if kind == "mixed":
                    df = df.mapInArrow(_reordered_batches, df.schema)
                return skgraded.spark.evaluate(
                    df, measures=MEASURES, partitioning=partitioning, **COLUMNS
                )

            before = sum(_lost_tasks(events).values())
            good &= with_kills(
                f"Spark {master}, {partitioning}",
                expected,
                measure,
                lambda: [
                    pid
                    for pid in offspring(os.getpid())
                    if pattern in command_of(pid) and (b"daemon" not in pattern or is_running(pid))
                ][-1:],
                lambda before=before: f"{sum(_lost_tasks(events).values()) - before} tasks",
            )
    finally:
        spark.stop()
    return good


def _reordered_batches(batches):
    for batch in batches:
        yield batch.take(np.random.default_rng().permutation(batch.num_rows))


def _lost_tasks(events):
    """Number of failed tasks by reason, from Spark's event log."""
    reasons = []
    for path in Path(events).iterdir():
        for line in path.read_text().splitlines():
            if line.startswith('{"Event":"SparkListenerTaskEnd"') and line.endswith("}"):
                reasons.append(json.loads(line)["Task End Reason"]["Reason"])
    return {reason: reasons.count(reason) for reason in set(reasons) - {"Success"}}


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


def is_running(pid):
    """Whether the first thread of a process is running rather than waiting."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "R"
    except OSError:
        return False


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
        print("| killed process of | killed after s | took s | lost | Summary |")
        print("| --- | ---: | ---: | --- | --- |")
        runs = {"dask": on_dask, "spark": on_spark}
        if not all([runs[engine](Path(folder), expected) for engine in args.engines]):
            sys.exit(1)


if __name__ == "__main__":
    main()
