"""Processor time and peak memory of measuring large tables, by engine and size.

    python benchmarks/scale.py --rows 20 40 --folder /some/disk     # millions; half an hour

Each measurement runs in a separate process with its child processes; their resources are counted
from its start to its end. The start of Python, of a cluster and of a JVM, and imports are left out.
Before the measurement, Dask measures four million rows. The JVM measures all rows twice, so that
most of its code is compiled. The script prints medians over rounds that alternate between all runs.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

COLUMNS = {"y_true": "grade", "y_score": "score", "qid": "query"}
MEASURES = ["ndcng@10", "mu_map"]
ROWS_PER_QUERY = 20
ROWS_PER_FILE = 1_000_000
ENGINES = {
    "memory": "in memory",
    "batches": "batches",
    "polars": "polars",
    "duckdb": "DuckDB",
    "dask": "Dask",
    "spark": "Spark",
}
RUNS = {
    f"{name}, {kind}, {ids} ids": (engine, f"{kind}-{ids}")
    for engine, name in ENGINES.items()
    for kind in ("clustered", "mixed")
    for ids in ("integer", "string")
}
NDCG_IN_SQL = """
WITH ranked AS (
    SELECT query, 2 ** grade - 1 AS gain,
        row_number() OVER (PARTITION BY query ORDER BY score DESC) AS rank,
        row_number() OVER (PARTITION BY query ORDER BY grade DESC) AS ideal_rank
    FROM read_parquet('{folder}/*.parquet')
), sums AS (
    SELECT sum(gain / log2(1 + rank)) FILTER (rank <= 10) AS dcg,
        sum(gain / log2(1 + ideal_rank)) FILTER (ideal_rank <= 10) AS ideal
    FROM ranked GROUP BY query
) SELECT avg(coalesce(dcg / nullif(ideal, 0), 0)) FROM sums
"""


# Data --------------------------------------------------------------------------------------------


def folder_of(args, millions, kind):
    return Path(args.folder) / f"{millions}-{kind}"


def make(args, millions):
    """Write the rows sorted by query and in random order, each with integer and string ids."""
    import pandas as pd

    rng = np.random.default_rng(0)
    n = millions * 1_000_000
    ids = rng.integers(0, 2**62, n // ROWS_PER_QUERY)
    frame = pd.DataFrame(
        {
            "query": np.repeat(ids, ROWS_PER_QUERY),
            "grade": rng.integers(0, 5, n) * (rng.random(n) < 0.3) * 1.0,
            "score": rng.normal(size=n),
        }
    )
    for kind, ids in itertools.product(("clustered", "mixed"), ("integer", "string")):
        folder = folder_of(args, millions, f"{kind}-{ids}")
        if folder.exists():
            continue
        folder.mkdir(parents=True)
        order = np.arange(n) if kind == "clustered" else rng.permutation(n)
        for i, rows in enumerate(np.array_split(order, n // ROWS_PER_FILE)):
            part = frame.iloc[rows]
            if ids == "string":
                part = part.assign(query=part["query"].map("{:016x}".format))
            part.to_parquet(folder / f"{i:04}.parquet", index=False)


# One measurement, in a separate process ----------------------------------------------------------


def run(engine, kind, folder):
    """Measure, and print when the measurement begins and ends."""
    import pandas  # noqa: F401
    import polars  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import skgraded as sg

    partitioning = "clustered" if kind.startswith("clustered") else "shuffle"
    settings = {"measures": MEASURES, "partitioning": partitioning, **COLUMNS}
    if engine == "memory":
        import pandas as pd

        def measure():
            frame = pd.read_parquet(folder, columns=list(COLUMNS.values()))
            return sg.evaluate(
                frame["grade"], frame["score"], qid=frame["query"], measures=MEASURES
            ).mean()

        print_means(measure)
    elif engine == "batches":
        print_means(lambda: sg.evaluate_batches(folder, **settings).mean())
    elif engine == "polars":
        print_means(lambda: {"NDCG@10": ndcg_in_polars(folder)})
    elif engine == "duckdb":
        import duckdb

        query = NDCG_IN_SQL.format(folder=folder)
        print_means(lambda: {"NDCG@10": duckdb.sql(query).fetchall()[0][0]})
    elif engine == "dask":
        import dask.dataframe as dd
        from distributed import Client, LocalCluster

        import skgraded.dask

        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
            ) as cluster,
            Client(cluster),
        ):
            warm_up = dd.read_parquet(first_files(folder))
            skgraded.dask.evaluate(warm_up, **settings)
            ddf = dd.read_parquet(folder)
            print_means(lambda: skgraded.dask.evaluate(ddf, **settings).mean())
    else:
        on_spark(folder, settings)


def ndcg_in_polars(folder):
    import polars as pl

    gain = 2 ** pl.col("grade") - 1
    discount = (pl.int_range(2, pl.len() + 2).head(10)).log(2)
    dcg = (gain.sort_by("score", descending=True).head(10) / discount).sum()
    ideal = (gain.sort(descending=True).head(10) / discount).sum()
    sums = pl.scan_parquet(f"{folder}/*.parquet").group_by("query").agg(dcg=dcg, ideal=ideal)
    values = pl.when(pl.col("ideal") > 0).then(pl.col("dcg") / pl.col("ideal")).otherwise(0)
    return sums.select(values.mean()).collect().item()


def first_files(folder):
    return sorted(map(str, Path(folder).glob("*.parquet")))[:4]


def on_spark(folder, settings):
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    import skgraded.spark

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    df = spark.read.parquet(folder)
    for _ in range(2):
        skgraded.spark.evaluate(df, n_partitions=40, **settings)
    print_means(lambda: skgraded.spark.evaluate(df, n_partitions=40, **settings).mean())
    spark.stop()


def print_means(measure):
    print("begin", flush=True)
    time.sleep(0.5)  # lets the parent process read the resource usage
    print("end", json.dumps(measure()), flush=True)
    time.sleep(0.5)


# All ---------------------------------------------------------------------------------------------


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


def resources(pids):
    """Processor seconds of processes so far, by pid, and the bytes that they use together."""
    seconds, memory = {}, 0
    for pid in pids:
        try:
            after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except OSError:
            continue
        seconds[pid] = (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")
        memory += pages * os.sysconf("SC_PAGE_SIZE")
    return seconds, memory


def measured(engine, kind, folder):
    """Processor seconds, peak bytes, and the means of one measurement."""
    child = subprocess.Popen(
        [sys.executable, __file__, "--run", engine, kind, str(folder)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    seconds: dict = {}
    peak, over = [0], threading.Event()

    def watch():
        while not over.wait(0.05):
            now, memory = resources([child.pid, *offspring(child.pid)])
            seconds.update(now)
            peak[0] = max(peak[0], memory)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for line in child.stdout:
            word, _, rest = line.partition(" ")
            if word.strip() == "begin":
                time.sleep(0.2)
                before, peak[0] = sum(seconds.values()), 0
            elif word == "end":
                time.sleep(0.2)
                return sum(seconds.values()) - before, peak[0], json.loads(rest)
    finally:
        over.set()
        watcher.join()
        child.communicate()
    raise RuntimeError(f"{engine} on {kind} rows failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[20, 40], help="millions")
    parser.add_argument("--folder", default="scale-data", help="where the data are kept")
    parser.add_argument("--only", nargs="+", default=list(RUNS), choices=list(RUNS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        run(*args.run)
        return
    print("| | million rows | processor ns per row | peak MB | mean |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for millions in args.rows:
        make(args, millions)
        results: dict = {name: [] for name in args.only}
        for _ in range(args.rounds):
            for name in args.only:
                engine, kind = RUNS[name]
                *costs, means = measured(engine, kind, folder_of(args, millions, kind))
                results[name].append([*costs, next(iter(means.values()))])
        for name, rounds in results.items():
            seconds, peak, mean = np.median(rounds, axis=0)
            print(
                f"| {name} | {millions} | {1000 * seconds / millions:.0f} | {peak / 1e6:,.0f} | "
                f"{mean:.12f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
