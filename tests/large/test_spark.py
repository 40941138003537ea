"""Spark: partitions, batches, types of ids, workers, and pyspark.ml."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from engine_contract import LazyEngineContract
from engine_libraries import pyspark_and_java
from file_contract import FileContract
from large_tables import in_memory, mixed, pieces, table

import skgraded as sg

# pyspark does not close its sockets, and CrossValidator does not end its threads.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
MAX_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.fixture
def engine(spark):
    return spark


class TestContract(LazyEngineContract):
    """The tests of all engines."""


@pytest.mark.nightly
class TestFiles(FileContract):
    """The tests of files and of queries of extreme sizes."""


# Partitions and batches --------------------------------------------------------------------------


@pytest.fixture
def in_batches_of(session):
    """Set the maximum number of rows in each batch that Spark sends to Python; 0 is no limit."""
    yield lambda n_rows: session.conf.set(MAX_ROWS, n_rows)
    session.conf.unset(MAX_ROWS)


def test_a_partition_in_several_batches(spark, in_batches_of):
    frame = table()
    in_batches_of(50)
    assert spark.measured([frame], "clustered") == sg.Summary.of(in_memory(frame))


def test_partitions_without_rows(spark):
    frame = table(2)
    assert spark.measured([frame], n_partitions=3) == sg.Summary.of(in_memory(frame))


@pytest.fixture
def in_new_york(monkeypatch):
    with monkeypatch.context() as moved:
        moved.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


def test_times_are_the_same_in_any_zone(spark, in_batches_of, in_new_york):
    """The ids of values and of rows at the edges of partitions have the same type."""
    from pyspark.sql import functions as F

    frame = table(12).astype({"query": "datetime64[us, UTC]"})
    in_batches_of(0)
    values = spark.per_query(pieces(frame, 3)[1:], "clustered")
    ids = values.select(F.unix_micros(F.col("query_id").cast("timestamp")).alias("id")).collect()
    assert sorted(row.id for row in ids) == list(range(12))


@pytest.mark.parametrize(
    ("as_type", "in_spark"), [("int32", "int"), ("datetime64[s]", "timestamp_ntz")]
)
def test_ids_keep_their_type(spark, as_type, in_spark):
    values = spark.per_query([mixed(table(30)).astype({"query": as_type})])
    assert values.schema["query_id"].dataType.simpleString() == in_spark
    ids = values.select("query_id").toArrow().to_pandas()["query_id"].sort_values()
    assert ids.astype("int64").tolist() == list(range(30)) or as_type.startswith("date")
    assert len(set(ids)) == 30


def test_bad_arguments(spark, session):
    with pytest.raises(ValueError, match="n_partitions must be at least 1"):
        spark.measured([table(3)], n_partitions=0)
    with pytest.raises(TypeError, match="df must be a Spark DataFrame; got str"):
        spark.module.evaluate("day", "grade", "grade", "query")
    stream = session.readStream.format("rate").load().selectExpr("value as query", "0 as grade")
    with pytest.raises(ValueError, match="got a streaming DataFrame"):
        spark.module.evaluate_per_query(stream, "grade", "grade", "query")


# pyspark.ml --------------------------------------------------------------------------------------


def test_the_evaluator_computes_the_mean(spark, tmp_path):
    frame = table()
    columns = {"labelCol": "grade", "predictionCol": "score", "queryCol": "query"}
    evaluator = spark.module.RankingEvaluator(metricName="mu_map", **columns)
    expected = sg.Summary.of(in_memory(frame, ["mu_map"], weighted=False)).mean()
    data = spark.frame_of([frame])
    assert evaluator.evaluate(data) == expected["MuAP"]
    other = evaluator.copy({evaluator.metricName: "ndcg@10"})
    assert other.getMetricName() == "ndcg@10" and evaluator.getMetricName() == "mu_map"
    assert evaluator.isLargerBetter()
    evaluator.save(str(tmp_path / "evaluator"))
    same = spark.module.RankingEvaluator.load(str(tmp_path / "evaluator"))
    assert (same.getQueryCol(), same.getMetricName()) == ("query", "mu_map")
    for wrong in ("nonsense", sg.NDCG(gain=np.sqrt)):
        with pytest.raises((TypeError, ValueError), match="nonsense|sqrt"):
            spark.module.RankingEvaluator(metricName=wrong)


@pytest.mark.nightly
def test_cross_validator_selects_by_the_measure_on_whole_queries(spark, session):
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import SQLTransformer
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
    from pyspark.sql import functions as F

    X, y, qid = sg.datasets.make_ranking(n_queries=60, n_features=4, random_state=0)
    rows = pa.table({f"x{i}": X[:, i] for i in range(4)} | {"label": y.astype(float), "query": qid})
    fold = F.pmod(F.xxhash64("query"), F.lit(2)).cast("int")
    data = session.createDataFrame(rows).withColumn("fold", fold).cache()
    ranker = SQLTransformer()  # a regression would load hundreds of other classes
    scores = [f"SELECT *, {score} AS prediction FROM __THIS__" for score in ("x0", "-x0")]
    search = CrossValidator(
        estimator=Pipeline(stages=[ranker]),
        evaluator=spark.module.RankingEvaluator(metricName="ndcng@5"),
        estimatorParamMaps=ParamGridBuilder().addGrid(ranker.statement, scores).build(),
        numFolds=2,
        foldCol="fold",
    )
    chosen = search.fit(data)
    assert chosen.avgMetrics[0] > chosen.avgMetrics[1] + 0.1
    assert chosen.bestModel.stages[0].getStatement() == scores[0]


# Spark Connect -----------------------------------------------------------------------------------

CONNECT = """
import sys, warnings
warnings.simplefilter("ignore")  # warnings of pyspark about itself
from pyspark.sql import SparkSession
from large_tables import COLUMNS, MEASURES, in_memory, table
import skgraded as sg
import skgraded.spark as sgs

frame = table(40, text=True)
frame["country"] = frame["query"].str[-1]
session = (
    SparkSession.builder.remote("local[1]")
    .config("spark.sql.shuffle.partitions", "2").config("spark.ui.enabled", "false")
    .config("spark.sql.codegen.wholeStage", "false")
    .config("spark.sql.codegen.factoryMode", "NO_CODEGEN").getOrCreate()
)
assert "connect" in type(session).__module__
rows = session.createDataFrame(frame)
evaluation = in_memory(frame)

summary = sgs.evaluate(rows, measures=MEASURES, by="country", **COLUMNS)
country = frame["country"] == "7"
assert summary.segments["7"] == sg.Summary.of(in_memory(frame[country]))
assert sg.Summary.merge(summary.segments.values()) == sg.Summary.of(evaluation)

values = sgs.evaluate_per_query(rows, measures=MEASURES, **COLUMNS).toPandas()
by_query = dict(zip(values["query_id"], values["MuAP"], strict=True))
assert by_query == dict(zip(evaluation.query_ids, evaluation.per_query["MuAP"], strict=True))

columns = {"labelCol": "grade", "predictionCol": "score", "queryCol": "query"}
evaluator = sgs.RankingEvaluator(metricName="mu_map", **columns)
mean = in_memory(frame, ["mu_map"], weighted=False).mean()["MuAP"]
assert abs(evaluator.evaluate(rows) - mean) < 1e-12
session.stop()
"""


@pytest.mark.nightly
def test_all_functions_run_on_spark_connect():
    pyspark_and_java()
    for package in ("grpc", "grpc_status", "google.rpc", "zstandard"):
        pytest.importorskip(package, reason='needs Spark Connect: pip install "skgraded[peers]"')
    helpers = str(Path(__file__).parents[1] / "helpers")
    result = subprocess.run(
        [sys.executable, "-c", CONNECT],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ
        | {
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "PYTHONPATH": os.pathsep.join([helpers, *filter(None, sys.path)]),
        },
    )
    assert result.returncode == 0, result.stderr[-3000:]
