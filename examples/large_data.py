"""Train rankers on Dask or Spark, and evaluate them on the same engine.

    python examples/large_data.py                  # Dask: DaskLGBMRanker and DaskXGBRanker
    python examples/large_data.py --engine spark   # SparkXGBRanker; needs Java

Two local workers train on generated queries. The predictions are evaluated in their partitions,
and the values equal those computed from all rows in memory. Requires skgraded[dask] or
skgraded[spark], and xgboost.
"""

import argparse
import os
import sys

import pandas as pd

import skgraded as sg

MEASURES = ["ndcng@10", "mu_map"]
COLUMNS = {"y_true": "grade", "qid": "query", "measures": MEASURES}


def make(n_queries=400, n_features=10):
    """Return a frame of queries, grades and features, and the names of the features."""
    X, y, qid = sg.datasets.make_ranking(n_queries, n_features=n_features, random_state=0)
    features = [f"x{i}" for i in range(n_features)]
    return pd.DataFrame(X, columns=features).assign(query=qid, grade=y), features


# Dask --------------------------------------------------------------------------------------------


def on_dask(train, test, features):
    """Train and evaluate on a cluster of two workers."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        Client(cluster),
    ):
        return on_this_cluster(train, test, features)


def on_this_cluster(train, test, features):
    """Train both rankers on the current cluster, and evaluate their scores there."""
    import dask.array as da
    import dask.dataframe as dd
    from lightgbm import DaskLGBMRanker
    from xgboost.dask import DaskXGBRanker

    import skgraded.dask

    middle = train["query"].median()
    halves = [train[train["query"] < middle], train[train["query"] >= middle]]  # no common query

    def array(get):
        parts = [get(half).to_numpy() for half in halves]
        return da.concatenate([da.from_array(part, chunks=part.shape) for part in parts])

    X, grade = array(lambda half: half[features]), array(lambda half: half["grade"])
    lightgbm = DaskLGBMRanker(n_estimators=100, learning_rate=0.05, verbose=-1)
    lightgbm.fit(X, grade, group=array(lambda half: half.groupby("query").size()))
    xgboost = DaskXGBRanker(n_estimators=100, learning_rate=0.05, allow_group_split=True)
    xgboost.fit(X, grade, qid=array(lambda half: half["query"]))
    test_X = da.from_array(test[features].to_numpy(), chunks=(300, len(features)))
    scored = test.assign(
        lightgbm=lightgbm.predict(test_X).compute(), xgboost=xgboost.predict(test_X).compute()
    )
    ddf = dd.from_pandas(scored, npartitions=4, sort=False)
    return skgraded.dask.evaluate(
        ddf, y_score=["lightgbm", "xgboost"], partitioning="clustered", **COLUMNS
    ), scored


# Spark -------------------------------------------------------------------------------------------


def on_spark(train, test, features):
    """Train XGBoost's ranker on Spark, and evaluate the frame of its predictions."""
    import pyarrow as pa
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession
    from xgboost.spark import SparkXGBRanker

    import skgraded.spark

    os.environ["PYSPARK_PYTHON"] = sys.executable  # Python of the workers
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = spark.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    assembler = VectorAssembler(inputCols=features, outputCol="features")
    train, test = (
        assembler.transform(spark.createDataFrame(pa.Table.from_pandas(frame)))
        for frame in (train, test)
    )
    ranker = SparkXGBRanker(
        qid_col="query",
        label_col="grade",
        n_estimators=100,
        learning_rate=0.05,
    )
    scored = ranker.fit(train).transform(test)
    summary = skgraded.spark.evaluate(scored, y_score="prediction", **COLUMNS)
    scored = scored.select("grade", "query", "prediction").toArrow().to_pandas()
    spark.stop()
    return summary, scored


def main():
    """Train, evaluate, and check that evaluation in memory gives the same values."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--engine", choices=["dask", "spark"], default="dask")
    args = parser.parse_args()
    frame, features = make()
    train, test = frame[frame["query"] < 300], frame[frame["query"] >= 300]
    measure = on_dask if args.engine == "dask" else on_spark
    evaluated, scored = measure(train, test, features)
    is_dask = args.engine == "dask"
    systems = evaluated.systems if is_dask else {"prediction": evaluated}
    for name, summary in systems.items():
        in_memory = sg.evaluate(
            scored["grade"], scored[name], qid=scored["query"], measures=MEASURES
        )
        print(name, summary)
        print("  equal to all rows in memory:", summary == sg.Summary.of(in_memory))
    if is_dask:
        for sentence in sg.compare(evaluated, baseline="lightgbm").sentences():
            print(sentence)


if __name__ == "__main__":
    main()
