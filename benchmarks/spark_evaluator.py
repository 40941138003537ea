"""Values and times of Spark's RankingEvaluator and of skgraded.spark on the same rows.

    python benchmarks/spark_evaluator.py   # a minute or two; needs skgraded[spark] and Java

Both compute average precision over the whole list. Spark's evaluator needs a list of ranked
documents and a list of relevant documents per query, which `groupBy` creates here. Documents with
equal scores are in row order.
"""

import argparse
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from killed_workers import offspring
from scale import resources

ROWS_PER_QUERY = 20


def make(folder, n_queries):
    """Write rows with a score and a constant score, once sorted by descending grade per query."""
    rng = np.random.default_rng(0)
    n = n_queries * ROWS_PER_QUERY
    query = np.repeat(np.arange(n_queries), ROWS_PER_QUERY)
    grade = rng.integers(0, 5, n) * (rng.random(n) < 0.15)
    frame = pd.DataFrame(
        {
            "query": query,
            "grade": grade,
            "score": grade + 2 * rng.normal(size=n),
            "constant": 1.0,
        }
    )
    sorted_rows = frame.sort_values(["query", "grade"], ascending=[True, False])
    for name, rows in (("by grade", sorted_rows), ("in any order", frame.sample(frac=1))):
        (folder / name).mkdir()
        for i, part in enumerate(np.array_split(np.arange(n), 4)):
            file = folder / name / f"{i}.parquet"
            rows.iloc[part].assign(row=part).to_parquet(file, index=False)


def by_spark(df, score):
    """Average precision from Spark's RankingEvaluator."""
    from pyspark.ml.evaluation import RankingEvaluator
    from pyspark.sql import functions as F

    document = F.struct((-F.col(score)).alias("place"), "row", "grade")
    rows = df.groupBy("query").agg(F.sort_array(F.collect_list(document)).alias("rows"))
    lists = rows.select(
        F.transform("rows", lambda row: row["row"].cast("double")).alias("prediction"),
        F.transform(
            F.filter("rows", lambda row: row["grade"] > 0), lambda row: row["row"].cast("double")
        ).alias("label"),
    )
    return RankingEvaluator(metricName="meanAveragePrecision").evaluate(lists)


def by_skgraded(df, score):
    import skgraded.spark

    return skgraded.spark.evaluate(df, "grade", score, "query", "ap", n_partitions=4).mean()["AP"]


def measured(measure):
    """The value, and the processor and wall seconds, after an uncounted first run."""
    measure()
    before, _ = resources([os.getpid(), *offspring(os.getpid())])
    started = time.perf_counter()
    value = measure()
    wall = time.perf_counter() - started
    after, _ = resources([os.getpid(), *offspring(os.getpid())])
    return value, sum(after.values()) - sum(before.get(pid, 0) for pid in after), wall


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--queries", type=int, default=50_000)
    args = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    print("| scores | rows of a query | evaluator | AP | processor s | wall s |")
    print("| --- | --- | --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), args.queries)
        for score in ("score", "constant"):
            for rows in ("by grade", "in any order"):
                df = spark.read.parquet(str(Path(folder) / rows))
                for name, call in (("Spark", by_spark), ("skgraded.spark", by_skgraded)):
                    value, cpu, wall = measured(lambda call=call, df=df, s=score: call(df, s))
                    print(
                        f"| {score} | {rows} | {name} | {value:.4f} | {cpu:.1f} | {wall:.1f} |",
                        flush=True,
                    )
        spark.stop()


if __name__ == "__main__":
    main()
