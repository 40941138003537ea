"""Check that all engines return equal Summaries (==) for any row order and number of threads.

    python benchmarks/same_bits.py            # a few minutes; needs skgraded[dask,spark], Java

A million documents with ties, weights, text ids and 20 segments; some queries have no relevant
document, some have weight 0. Each engine and number of threads runs in a separate process, with
OMP_NUM_THREADS. Dask uses this number of threads per worker, Spark this number of workers.
"""

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from killed_workers import COLUMNS, MEASURES, N_FILES, in_memory, table, write

import skgraded as sg

N_COUNTRIES = 20
# the partitioning for each arrangement of the rows
PARTITIONING = {"whole queries": "whole", "split queries": "clustered", "mixed": "shuffle"}


def by_country(frame):
    """Return the Summary of all rows with the Summary of each country."""
    segments = {name: in_memory(rows) for name, rows in frame.groupby("country")}
    return replace(in_memory(frame), by="country", segments=segments)


def make(folder, n_queries):
    """Write the rows in three arrangements, and return the Summary of all rows."""
    frame = table(n_queries)
    countries = pd.factorize(frame["query"])[0] % N_COUNTRIES
    frame["country"] = [f"country {i}" for i in countries]
    cuts = np.linspace(0, len(frame), N_FILES + 1).astype(int)
    heads = np.flatnonzero(frame["query"] != frame["query"].shift())
    between = np.append(heads[np.searchsorted(heads, cuts[:-1])], len(frame))
    write(frame, folder / "whole queries", between)
    write(frame, folder / "split queries", cuts)
    write(frame.sample(frac=1, random_state=0), folder / "mixed", cuts)
    n_split = sum(frame["query"][cut] == frame["query"][cut - 1] for cut in cuts[1:-1])
    expected = by_country(frame)
    counts = ", ".join(f"{name} {n}" for name, n in expected.n_undefined.items())
    print(
        f"{len(frame):,} rows, {expected.n_queries:,} queries; undefined: {counts}; "
        f"{n_split} of {N_FILES - 1} cuts are inside a query",
        flush=True,
    )
    return expected


# One engine with a number of threads, in a separate process ---------------------------------------


def by_memory(threads, measured):
    def measure(folder, partitioning):
        files = sorted(folder.iterdir())
        return by_country(pd.concat(map(pd.read_parquet, files), ignore_index=True))

    measured(measure)


def by_batches(threads, measured):
    measured(
        lambda folder, partitioning: sg.evaluate_batches(
            folder, measures=MEASURES, partitioning=partitioning, by="country", **COLUMNS
        )
    )


def by_dask(threads, measured):
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import skgraded.dask

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=threads, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        Client(cluster),
    ):
        measured(
            lambda folder, partitioning: skgraded.dask.evaluate(
                dd.read_parquet(str(folder), split_row_groups=False),
                measures=MEASURES,
                partitioning=partitioning,
                **COLUMNS,
                by="country",
            )
        )


def by_spark(threads, measured):
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    import skgraded.spark

    spark = (
        SparkSession.builder.master(f"local[{threads}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.files.openCostInBytes", str(2**30))  # one file per partition
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    measured(
        lambda folder, partitioning: skgraded.spark.evaluate(
            spark.read.parquet(str(folder)),
            measures=MEASURES,
            partitioning=partitioning,
            n_partitions=N_FILES,
            **COLUMNS,
            by="country",
        )
    )
    spark.stop()


ENGINES = {
    "in memory": by_memory,
    "evaluate_batches": by_batches,
    "Dask": by_dask,
    "Spark": by_spark,
}


def run(engine, threads, folder):
    """Measure the rows in each arrangement, and write the Summaries to files."""

    def measured(measure):
        for kind, partitioning in PARTITIONING.items():
            summary = measure(folder / kind, partitioning)
            (folder / f"{kind}.pickle").write_bytes(pickle.dumps(summary))

    ENGINES[engine](threads, measured)


# All ---------------------------------------------------------------------------------------------


def compared(engine, threads, folder, expected):
    """{arrangement of the rows: whether the Summary equals the expected Summary}."""
    result = subprocess.run(
        [sys.executable, __file__, "--run", engine, str(threads), str(folder)],
        env=os.environ
        | {
            "OMP_NUM_THREADS": str(threads),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        },
        capture_output=True,
        text=True,
    )
    if result.returncode:
        raise RuntimeError(f"{engine} on {threads} threads failed:\n{result.stderr}")
    is_equal = {}
    for kind in PARTITIONING:
        file = folder / f"{kind}.pickle"
        is_equal[kind] = pickle.loads(file.read_bytes()) == expected
        file.unlink()
    return is_equal


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 8])
    parser.add_argument("--queries", type=int, default=50_000)
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        engine, threads, folder = args.run
        run(engine, int(threads), Path(folder))
        return
    is_good = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        expected = make(folder, args.queries)
        print("| | threads | " + " | ".join(PARTITIONING) + " |")
        print("| --- | ---: | " + " | ".join("---" for _ in PARTITIONING) + " |")
        for engine in args.engines:
            for threads in args.threads:
                is_equal = compared(engine, threads, folder, expected)
                is_good &= all(is_equal.values())
                cells = " | ".join("==" if equal else "DIFFERENT" for equal in is_equal.values())
                print(f"| {engine} | {threads} | {cells} |", flush=True)
    sys.exit(not is_good)


if __name__ == "__main__":
    main()
