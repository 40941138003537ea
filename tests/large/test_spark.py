"""Spark in local[2]: partitions, batches, types of ids, and evaluators of pyspark.ml."""

import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from large_tables import COLUMNS, MEASURES, in_memory, mixed, pieces, table

import skgraded as sg

# pyspark leaves sockets open, and CrossValidator its threads.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
IN_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.fixture
def in_batches_of(session):
    """Have at most so many rows come to Python at once; less than 1: any number."""
    yield lambda n_rows: session.conf.set(IN_BATCH, n_rows)
    session.conf.unset(IN_BATCH)


def test_a_partition_comes_in_several_batches(spark, in_batches_of):
    frame = table()
    in_batches_of(50)
    assert spark.measured([frame], "clustered") == sg.Summary.of(in_memory(frame))


def test_batches_end_by_their_rows_alone(session, in_batches_of):
    from skgraded.large.spark import _batches_by_rows, _mapped

    def sizes(batches):
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"n": [batch.num_rows]})

    limit = "spark.sql.execution.arrow.maxBytesPerBatch"
    session.sparkContext.setLocalProperty(limit, "1000")
    rows = _mapped(session.range(0, 10_000, numPartitions=1), sizes, "n long")
    with _batches_by_rows(session):
        assert [row.n for row in rows.collect()] == [4000, 4000, 2000]
    assert session.sparkContext.getLocalProperty(limit) == "1000"  # as it was before
    session.sparkContext.setLocalProperty(limit, None)
    in_batches_of(300)
    with _batches_by_rows(session):
        assert max(row.n for row in rows.collect()) == 300


def test_partitions_without_rows(spark):
    frame = table(2)
    assert spark.measured([frame], n_partitions=8) == sg.Summary.of(in_memory(frame))


@pytest.fixture
def in_new_york(monkeypatch):
    with monkeypatch.context() as moved:
        moved.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


def test_times_are_the_same_in_any_zone(spark, in_batches_of, in_new_york):
    """As ids of both the values and the rows at the ends, which workers put together."""
    from pyspark.sql import functions as F

    frame = table(12).astype({"query": "datetime64[us, UTC]"})
    in_batches_of(0)
    values = spark.per_query(pieces(frame, 3)[1:], "clustered")
    ids = values.select(F.unix_micros(F.col("query_id").cast("timestamp")).alias("id")).collect()
    assert sorted(row.id for row in ids) == list(range(12))


def test_values_and_rows_at_the_edges_come_from_one_run(spark, session):
    """Another run has other partitions: of a sample, or put together by what it then finds."""
    rows = session.range(0, 20_000, numPartitions=4).selectExpr(
        "id % 1000 as query", "cast(hash(id) & 3 as double) as grade", "id * 7 % 1024 as score"
    )
    frame = rows.toArrow().to_pandas()
    expected = sg.evaluate(frame["grade"], frame["score"], qid=frame["query"], measures="rr")
    expected = expected.to_frame().sort_values("query_id", ignore_index=True)
    lazy = spark.module.evaluate_per_query(
        rows.repartition("query"), "grade", "score", "query", "rr", partitioning="clustered"
    )
    values = lazy.toArrow().to_pandas().sort_values("query_id", ignore_index=True)
    pd.testing.assert_frame_equal(values, expected)


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_a_query_that_is_split_in_the_first_run_only_is_named(spark, session, tmp_path):
    def moving(batches):
        for batch in batches:
            for part in batch["id"].to_pylist():
                runs = tmp_path / str(part)
                query = part if runs.exists() else 0
                runs.touch()
                yield pa.RecordBatch.from_pydict({"query": [query], "grade": [1], "score": [1]})

    rows = session.range(0, 2, numPartitions=2)
    rows = rows.mapInArrow(moving, "query long, grade long, score long")
    with pytest.raises(ValueError, match="query 0 are not contiguous in partition 0 and part"):
        spark.evaluate(rows, "grade", "score", "query", "rr", partitioning="whole")


@pytest.mark.parametrize(
    ("as_type", "in_spark"), [("int32", "int"), ("datetime64[s]", "timestamp_ntz")]
)
def test_ids_keep_their_type(spark, as_type, in_spark):
    values = spark.per_query([mixed(table(30)).astype({"query": as_type})])
    assert values.schema["query_id"].dataType.simpleString() == in_spark
    ids = values.select("query_id").toArrow().to_pandas()["query_id"].sort_values()
    assert ids.astype("int64").tolist() == list(range(30)) or as_type.startswith("date")
    assert len(set(ids)) == 30


def test_bad_settings(spark):
    with pytest.raises(ValueError, match="n_partitions must be at least 1"):
        spark.measured([table(3)], n_partitions=0)
    with pytest.raises(TypeError, match="df must be a Spark DataFrame; got str"):
        spark.module.with_folds("day", "query")


@pytest.fixture
def small_sorted_files(tmp_path):
    """A folder of files sorted by query, whose sizes differ, and the Summary of all rows."""
    frame = table(60, text=True).sort_values("query", kind="stable")
    cuts = [0, 30, 200, 210, 330, 350, len(frame)]
    for i, (start, end) in enumerate(zip(cuts, cuts[1:], strict=False)):
        frame[start:end].to_parquet(tmp_path / f"part-{i}.parquet", index=False)
    return str(tmp_path), sg.Summary.of(in_memory(frame))


def test_the_error_names_the_setting_that_keeps_sorted_files_apart(
    spark, session, small_sorted_files
):
    folder, expected = small_sorted_files
    name = "spark.sql.files.openCostInBytes"
    large = session.conf.get(name)
    settings = {"partitioning": "clustered", "measures": MEASURES, **COLUMNS}
    try:
        session.conf.unset(name)
        with pytest.raises(ValueError, match=f"not contiguous in .* set {name} to {2**30} before"):
            spark.evaluate(session.read.parquet(folder), **settings)
        session.conf.set(name, 2**30)
        assert spark.evaluate(session.read.parquet(folder), **settings) == expected
    finally:
        session.conf.set(name, large)


@pytest.fixture
def bare_python(tmp_path):
    """A Python with PySpark alone, whatever paths the JVM hands to its workers."""
    import pyspark

    venv.create(tmp_path / "bare", with_pip=False)
    archives = Path(pyspark.__file__).parent.glob("python/lib/*.zip")
    python = tmp_path / "bare" / "bin" / "worker"
    python.write_text(
        f"#!/bin/sh\nPYTHONPATH={':'.join(map(str, archives))} "
        f'exec {tmp_path}/bare/bin/python "$@"\n'
    )
    python.chmod(0o755)
    return str(python)


def test_workers_without_skgraded_are_one_line(
    spark, session, bare_python, monkeypatch, tmp_path, capfd
):
    lines = (
        "^Spark's Python workers cannot run skgraded: .*bare/bin/worker cannot import skgraded, "
        "pyarrow, pandas. Install .*set PYSPARK_PYTHON before the session starts, [^\n]*$"
    )
    monkeypatch.setattr(session.sparkContext, "pythonExec", bare_python)
    monkeypatch.chdir(tmp_path)  # where there is no skgraded to import
    for measure in (spark.measured, spark.per_query):
        with pytest.raises(ImportError, match=lines):
            measure([table(3)])
    assert capfd.readouterr().err == ""


def test_workers_of_a_cluster_without_skgraded_are_one_line(session, bare_python, monkeypatch):
    """This process cannot check them before the job."""
    from skgraded.large import spark_tasks
    from skgraded.large.spark import _mapped, _worker_errors_in_one_line

    monkeypatch.setattr(session.sparkContext, "pythonExec", bare_python)
    rows = _mapped(session.range(2), spark_tasks.values, "id long")
    # the JVM may have been started in the folder of the sources, where skgraded is found
    line = r"^Spark's .* cannot run skgraded: No module named '(skgraded|numpy)'\. Install [^\n]*$"
    with pytest.raises(ImportError, match=line), _worker_errors_in_one_line():
        rows.collect()


def test_a_worker_that_cannot_be_started_is_one_line(spark, session, monkeypatch):
    monkeypatch.setattr(session.sparkContext, "pythonExec", "/nowhere/python")
    with pytest.raises(ImportError, match="/nowhere/python fails to run"):
        spark.measured([table(3)])


def test_a_stream_is_refused(spark, session):
    stream = session.readStream.format("rate").load().selectExpr("value as query", "0 as grade")
    with pytest.raises(ValueError, match="got a stream"):
        spark.module.evaluate_per_query(stream, "grade", "grade", "query")


def test_workers_load_nothing_of_pyspark_ml():
    """Which they would compile anew out of Spark's zip file."""
    code = "import sys, skgraded.large.spark_tasks; sys.exit('pyspark.ml' in sys.modules)"
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code]).returncode == 0


# pyspark.ml --------------------------------------------------------------------------------------

def test_the_evaluator_gives_the_mean(spark, tmp_path):
    frame = table()
    columns = {"labelCol": "grade", "predictionCol": "score", "queryCol": "query"}
    evaluator = spark.module.RankingEvaluator(metricName="mu_map", **columns)
    expected = sg.Summary.of(in_memory(frame, ["mu_map", "ndcg@10"], weighted=False)).mean()
    data = spark.frame_of([frame])
    assert evaluator.evaluate(data) == expected["MuAP"]
    other = evaluator.copy({evaluator.metricName: "ndcg@10"})
    assert other.getMetricName() == "ndcg@10" and evaluator.getMetricName() == "mu_map"
    assert other.evaluate(data) == pytest.approx(expected["NDCG@10"], rel=1e-15)
    assert evaluator.isLargerBetter()
    evaluator.save(str(tmp_path / "evaluator"))
    same = spark.module.RankingEvaluator.load(str(tmp_path / "evaluator"))
    assert (same.getQueryCol(), same.getMetricName()) == ("query", "mu_map")
    for wrong in ("nonsense", sg.NDCG(gain=np.sqrt)):
        with pytest.raises((TypeError, ValueError), match="nonsense|sqrt"):
            spark.module.RankingEvaluator(metricName=wrong)


def test_folds_hold_whole_queries(spark):
    frame = table(200, text=True)
    data = spark.module.with_folds(spark.frame_of([frame]), "query", numFolds=3)
    folds = data.select("query", "fold").toArrow().to_pandas()
    assert (folds.groupby("query")["fold"].nunique() == 1).all()
    sizes = folds.drop_duplicates()["fold"].value_counts()
    assert sorted(sizes.index) == [0, 1, 2] and sizes.min() > 40
    other = spark.module.with_folds(spark.frame_of([frame]), "query", seed=1)
    assert not folds["fold"].equals(other.select("fold").toArrow().to_pandas()["fold"])
    with pytest.raises(ValueError, match="foldCol and queryCol must be different .* are 'query'"):
        spark.module.with_folds(data, "query", foldCol="QUERY")


def test_cross_validator_chooses_by_the_measure_on_whole_queries(spark, session):
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import SQLTransformer
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    X, y, qid = sg.datasets.make_ranking(n_queries=60, n_features=4, random_state=0)
    rows = pa.table({f"x{i}": X[:, i] for i in range(4)} | {"label": y.astype(float), "query": qid})
    data = spark.module.with_folds(session.createDataFrame(rows), "query", 2).cache()
    ranker = SQLTransformer()  # a regression loads hundreds of classes more
    scores = [f"SELECT *, {score} AS prediction FROM __THIS__" for score in ("x0", "-x0")]
    search = CrossValidator(
        estimator=Pipeline(stages=[ranker]),
        evaluator=spark.module.RankingEvaluator(metricName="ndcng@5"),
        estimatorParamMaps=ParamGridBuilder().addGrid(ranker.statement, scores).build(),
        numFolds=2, foldCol="fold",
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
    SparkSession.builder.remote("local[2]")
    .config("spark.sql.shuffle.partitions", "2").config("spark.ui.enabled", "false").getOrCreate()
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

folds = sgs.with_folds(rows, "query", numFolds=2).toPandas()
assert len(folds) == len(frame) and folds["fold"].nunique() == 2
assert (folds.groupby("query")["fold"].nunique() == 1).all()

columns = {"labelCol": "grade", "predictionCol": "score", "queryCol": "query"}
evaluator = sgs.RankingEvaluator(metricName="mu_map", **columns)
mean = in_memory(frame, ["mu_map"], weighted=False).mean()["MuAP"]
assert abs(evaluator.evaluate(rows) - mean) < 1e-12
session.stop()
"""


@pytest.mark.nightly
def test_all_functions_run_on_spark_connect():
    for package in ("pyspark", "grpc", "grpc_status", "google.rpc", "zstandard"):
        pytest.importorskip(package)
    if shutil.which("java") is None:
        pytest.skip("there is no Java, which Spark needs")
    helpers = str(Path(__file__).parents[1] / "helpers")
    result = subprocess.run(
        [sys.executable, "-c", CONNECT], capture_output=True, text=True, timeout=300,
        env=os.environ | {
            "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
            "PYTHONPATH": os.pathsep.join([helpers, *filter(None, sys.path)]),
        },
    )
    assert result.returncode == 0, result.stderr[-3000:]
