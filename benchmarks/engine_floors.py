"""Processor time of mixed rows on Spark and Dask, as a ratio to the engine's own shuffle.

    python benchmarks/engine_floors.py spark dask --millions 4 10 --folder /some/disk   # minutes

The floor shuffles the same columns by query and counts the rows of each partition in Python. It
reads the same files, uses the same number of partitions and, on Spark, the same batches. Both runs
alternate in one process with one cluster. The processor time includes all child processes. The
script prints medians over rounds. `small` measures 2,000 partitions of 10 rows on Dask.
"""

import argparse
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from killed_workers import offspring
from scale import COLUMNS, MEASURES, folder_of, make

N_PARTITIONS = 40  # of Spark's shuffles
WARM_UPS = {"spark": 3, "dask": 1, "small": 0}  # until the JVM has compiled most of its code


def processor_seconds():
    """Processor seconds of this process and its descendants so far, including ended processes."""
    ticks = 0
    for pid in [os.getpid(), *offspring(os.getpid())]:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))  # with the children for which the process waited
    return ticks / os.sysconf("SC_CLK_TCK")


# Runs --------------------------------------------------------------------------------------------


def count_batches(batches):
    import pyarrow as pa

    yield pa.RecordBatch.from_pydict({"n": [sum(batch.num_rows for batch in batches)]})


@contextmanager
def spark_runs(folder):
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    import skgraded.spark
    from skgraded.large.spark import _batches_by_rows, _mapped

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    df = spark.read.parquet(str(folder))

    def floor():
        shuffled = df.select(*COLUMNS.values()).repartition(N_PARTITIONS, COLUMNS["qid"])
        with _batches_by_rows(spark):
            _mapped(shuffled, count_batches, "n long").collect()

    yield (
        floor,
        lambda: skgraded.spark.evaluate(
            df, measures=MEASURES, n_partitions=N_PARTITIONS, **COLUMNS
        ),
    )
    spark.stop()


@contextmanager
def dask_runs(folder):
    import dask.dataframe as dd

    import skgraded.dask

    ddf = dd.read_parquet(folder)
    shuffled = ddf[list(COLUMNS.values())].shuffle(on=COLUMNS["qid"], shuffle_method="p2p")
    counts = shuffled.map_partitions(len)
    with dask_cluster():
        yield counts.compute, lambda: skgraded.dask.evaluate(ddf, measures=MEASURES, **COLUMNS)


@contextmanager
def small_runs(folder):
    """2,000 partitions of 10 rows; the floor counts their rows without a shuffle."""
    import dask.dataframe as dd
    import pandas as pd

    import skgraded.dask

    frame = pd.read_parquet(sorted(folder.glob("*.parquet"))[0]).iloc[:20_000]
    ddf = dd.from_pandas(frame, npartitions=2_000, sort=False)
    with dask_cluster():
        yield (
            ddf.map_partitions(len).compute,
            lambda: skgraded.dask.evaluate(ddf, measures=MEASURES, **COLUMNS),
        )


@contextmanager
def dask_cluster():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        Client(cluster),
    ):
        yield


RUNS = {"spark": spark_runs, "dask": dask_runs, "small": small_runs}


# All ---------------------------------------------------------------------------------------------


def measure(engine, folder, n_rows, rounds, limit):
    """Print the medians of both runs; start no new round after `limit` seconds."""
    started = time.monotonic()
    with RUNS[engine](folder) as runs:
        seconds = {run: [] for run in runs}
        for i in range(WARM_UPS[engine] + rounds):
            for run in runs[:: 1 if i % 2 else -1]:
                before = processor_seconds()
                run()
                if i >= WARM_UPS[engine]:
                    seconds[run].append(processor_seconds() - before)
            if time.monotonic() - started > limit:
                break
    floor, ours = (median(seconds[run]) for run in runs)
    ratios = [b / a for a, b in zip(*seconds.values(), strict=True)]
    print(
        f"| {engine} | {folder.name} | {len(seconds[runs[0]])} | {floor / n_rows * 1e9:.0f} | "
        f"{ours / n_rows * 1e9:.0f} | {ours:.1f} | {ours / floor:.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f}) |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("engines", nargs="+", choices=list(RUNS))
    parser.add_argument("--millions", type=int, nargs="+", default=[4])
    parser.add_argument("--ids", nargs="+", default=["integer", "string"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=100, help="seconds per line")
    parser.add_argument("--folder", default="scale-data", help="where the data are kept")
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not args.run:
        print("| engine | rows | rounds | floor, ns per row | ours, ns per row | ours, s | ratio |")
        print("| --- | --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for engine in args.engines:
        for millions in args.millions:
            for ids in args.ids:
                if args.run:
                    folder = folder_of(args, millions, f"mixed-{ids}")
                    n_rows = 20_000 if engine == "small" else millions * 1_000_000
                    measure(engine, folder, n_rows, args.rounds, args.limit)
                else:
                    make(args, millions)
                    subprocess.run(
                        [
                            sys.executable,
                            __file__,
                            "--run",
                            engine,
                            "--millions",
                            str(millions),
                            "--ids",
                            ids,
                            "--rounds",
                            str(args.rounds),
                            "--limit",
                            str(args.limit),
                            "--folder",
                            args.folder,
                        ],
                        check=True,
                    )


if __name__ == "__main__":
    main()
