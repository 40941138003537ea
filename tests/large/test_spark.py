"""Spark frames in local[2]: the Summary is that of all rows in memory."""

import os
import shutil
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from large_tables import COLUMNS, MEASURES, in_memory, mixed, pieces, table, torn_off, whole_pieces

import skgraded as sg

pytest.importorskip("pyspark")
if shutil.which("java") is None:
    pytest.skip("there is no Java, which Spark needs", allow_module_level=True)

# Python of the workers, whose paths are those of this process.
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what pyspark warns of when it is imported is its own
    from pyspark.errors import PythonException
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    import skgraded.spark as engine
    from skgraded.large import spark as module


# pyspark leaves sockets open, and CrossValidator its threads.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="session")
def spark():
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.driver.memory", "1g")
        # a JVM that lives for seconds: little compiled, one thread that collects, nothing verified
        .config(
            "spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
            "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
        )
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        # a file a partition, the largest first
        .config("spark.sql.files.openCostInBytes", str(2**30))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def frame_of(spark, tmp_path):
    """Make a frame of these partitions, a file each."""
    def make(parts):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        for i, part in enumerate(parts):
            part.to_parquet(folder / f"{i}.parquet", index=False)
        return spark.read.parquet(str(folder))

    return make


@pytest.fixture
def measured(frame_of):
    def measure(parts, partitioning="shuffle", measures=MEASURES, **others):
        return engine.evaluate(
            frame_of(parts), measures=measures, partitioning=partitioning, **COLUMNS | others
        )

    return measure


def test_partitions_give_the_summary_of_all_rows(measured):
    numbers, text = table(), table(text=True)
    expected = sg.Summary.of(in_memory(numbers))
    assert measured(pieces(numbers, 4)[1:], "clustered") == expected
    assert measured(pieces(mixed(numbers), 4)[1:], n_partitions=1) == expected
    expected = sg.Summary.of(in_memory(text))
    assert measured(whole_pieces(text, 3), "whole") == expected
    assert measured(pieces(mixed(text), 4)[1:]) == expected


IN_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.fixture
def in_batches_of(spark):
    """Have at most so many rows come to Python at once; less than 1: any number."""
    yield lambda n_rows: spark.conf.set(IN_BATCH, n_rows)
    spark.conf.unset(IN_BATCH)


@pytest.mark.parametrize(
    ("n_rows", "partitioning"),
    [(50, "clustered"), (0, "clustered"), (50, "shuffle"), (-1, "shuffle")],
)
def test_a_partition_comes_in_batches_of_any_size(measured, in_batches_of, n_rows, partitioning):
    frame = table()
    in_batches_of(n_rows)
    assert measured([frame], partitioning) == sg.Summary.of(in_memory(frame))


def test_partitions_without_rows(measured):
    frame = table(2)
    assert measured([frame], n_partitions=8) == sg.Summary.of(in_memory(frame))


def test_each_piece_has_a_partition_of_its_own(spark):
    labels = pa.table({"piece": pa.array(module._labels(spark, 8), pa.int32())})
    pieces = spark.createDataFrame(labels).repartition(8, "piece")
    assert sorted(row.part for row in pieces.select(
        F.spark_partition_id().alias("part")
    ).collect()) == list(range(8))


@pytest.fixture
def measured_by_query(frame_of):
    def measure(parts, partitioning="shuffle"):
        settings = {"measures": MEASURES, "partitioning": partitioning, **COLUMNS}
        return engine.evaluate_per_query(frame_of(parts), **settings)

    return measure


def by_id(frame):
    return frame.sort_values("query_id", ignore_index=True)


@pytest.mark.parametrize("partitioning", ["shuffle", "clustered", "whole"])
def test_values_by_query_are_those_of_the_evaluation(measured_by_query, partitioning):
    frame = table(text=True)
    parts = whole_pieces(frame, 2) if partitioning == "whole" else pieces(frame, 3)[1:]
    values = by_id(measured_by_query(parts, partitioning).toArrow().to_pandas())
    expected = by_id(in_memory(frame).to_frame())
    assert list(values) == list(expected)
    assert values["query_id"].tolist() == expected["query_id"].tolist()
    assert np.array_equal(values.iloc[:, 1:], expected.iloc[:, 1:], equal_nan=True)


@pytest.fixture
def in_new_york(monkeypatch):
    with monkeypatch.context() as moved:
        moved.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(("zone", "n_rows"), [("", 10_000), ("", 0), (", UTC", 10_000)])
def test_times_are_the_same_in_any_zone(
    measured_by_query, in_batches_of, in_new_york, zone, n_rows
):
    """As ids of both the values and the rows at the ends, which workers put together."""
    frame = table(12).astype({"query": f"datetime64[us{zone}]"})
    in_batches_of(n_rows)
    values = measured_by_query(pieces(frame, 3)[1:], "clustered")
    ids = values.select(F.unix_micros(F.col("query_id").cast("timestamp")).alias("id")).collect()
    assert sorted(row.id for row in ids) == list(range(12))


@pytest.mark.parametrize("partitioning", ["clustered", "whole"])
def test_a_torn_query_is_named(measured, measured_by_query, partitioning):
    frame = table(60, text=True)
    query, lost = torn_off(frame)
    rest = frame.drop(index=lost)
    first, second, third = whole_pieces(rest, 3)
    parts = [first, pd.concat([second, frame.loc[lost], third])]
    if partitioning == "whole":
        parts = [first, pd.concat([second, third]), frame.loc[lost]]
    with pytest.raises(ValueError, match=f"Query {query!r} is torn: .*partition"):
        measured(parts, partitioning)
    lazy = measured_by_query(parts, partitioning)
    with pytest.raises(PythonException, match=f"Query {query!r} is torn: .*partition"):
        lazy.collect()


def test_values_and_what_is_at_the_ends_come_of_one_run(spark):
    """Another run has other partitions: of a sample, or put together by what it then finds."""
    rows = spark.range(0, 20_000, numPartitions=4).selectExpr(
        "id % 1000 as query", "cast(hash(id) & 3 as double) as grade", "id * 7 % 1024 as score"
    )
    frame = rows.toArrow().to_pandas()
    expected = sg.evaluate(frame["grade"], frame["score"], qid=frame["query"], measures="rr")
    expected = by_id(expected.to_frame())
    for clustered in (rows.repartition("query"), rows.orderBy("query")):
        lazy = engine.evaluate_per_query(
            clustered, "grade", "score", "query", "rr", partitioning="clustered"
        )
        pd.testing.assert_frame_equal(by_id(lazy.toArrow().to_pandas()), expected)


def test_a_query_that_is_torn_in_the_first_run_only_is_named(spark, tmp_path):
    def moving(batches):
        for batch in batches:
            for part in batch["id"].to_pylist():
                runs = tmp_path / str(part)
                query = part if runs.exists() else 0
                runs.touch()
                yield pa.RecordBatch.from_pydict({"query": [query], "grade": [1], "score": [1]})

    rows = spark.range(0, 2, numPartitions=2)
    rows = module._mapped(rows, moving, "query long, grade long, score long")
    with pytest.raises(ValueError, match="Query 0 is torn: partition 0 and partition 1 hold"):
        engine.evaluate(rows, "grade", "score", "query", "rr", partitioning="whole")


def test_an_error_says_in_which_partition_and_row(measured):
    frame = table()
    frame.loc[117, "grade"] = -1.0
    parts = [frame[:100], frame[100:200], frame[200:]]
    for partitioning in ("clustered", "shuffle"):
        with pytest.raises(ValueError, match=r"In partition [12], .*grades ≥ 0: row 17 is -1"):
            measured(parts, partitioning)


@pytest.mark.parametrize(("as_type", "in_spark"), [
    ("int32", "int"), ("float32", "float"),
    ("datetime64[us]", "timestamp_ntz"), ("datetime64[s]", "timestamp_ntz"),
])
def test_ids_keep_their_type(measured_by_query, as_type, in_spark):
    values = measured_by_query([mixed(table(30)).astype({"query": as_type})])
    assert values.schema["query_id"].dataType.simpleString() == in_spark
    ids = values.select("query_id").toArrow().to_pandas()["query_id"].sort_values()
    assert ids.astype("int64").tolist() == list(range(30)) or as_type.startswith("date")
    assert len(set(ids)) == 30


ONE = table(3)
BAD = {
    "df must be a Spark DataFrame; got DataFrame": lambda measured: engine.evaluate(ONE, **COLUMNS),
    "df must be a Spark DataFrame; got str": lambda measured: engine.with_folds("day", "query"),
    "There is no column 'grades'": lambda measured: measured([ONE], y_true="grades"),
    "n_partitions must be at least 1": lambda measured: measured([ONE], n_partitions=0),
    "takes tied documents in the order of rows": lambda measured: measured(
        [ONE], measures="p(ties='ordinal')"
    ),
    "its gain is a lambda": lambda measured: measured(
        [ONE], measures=sg.NDCG(gain=lambda grade: grade)
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input(measured, message):
    with pytest.raises(Exception, match=message):
        BAD[message](measured)


def test_a_stream_is_refused(spark):
    stream = spark.readStream.format("rate").load().selectExpr("value as query", "0 as grade")
    with pytest.raises(ValueError, match="df is a stream"):
        engine.evaluate_per_query(stream, "grade", "grade", "query")


def test_workers_load_nothing_of_pyspark_ml():
    """Which they would compile anew out of Spark's zip file."""
    code = "import sys, skgraded.large.spark_tasks; sys.exit('pyspark.ml' in sys.modules)"
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code]).returncode == 0


# pyspark.ml --------------------------------------------------------------------------------------

def test_the_evaluator_gives_the_mean(frame_of, tmp_path):
    frame = table()
    columns = {"labelCol": "grade", "predictionCol": "score", "queryCol": "query"}
    evaluator = engine.RankingEvaluator(metricName="mu_map", **columns)
    expected = sg.Summary.of(in_memory(frame, ["mu_map", "ndcg@10"], weighted=False)).mean()
    data = frame_of([frame])
    assert evaluator.evaluate(data) == expected["MuAP"]
    other = evaluator.copy({evaluator.metricName: "ndcg@10"})
    assert other.getMetricName() == "ndcg@10" and evaluator.getMetricName() == "mu_map"
    assert other.evaluate(data) == pytest.approx(expected["NDCG@10"], rel=1e-15)
    assert evaluator.isLargerBetter()
    evaluator.save(str(tmp_path / "evaluator"))
    same = engine.RankingEvaluator.load(str(tmp_path / "evaluator"))
    assert (same.getQueryCol(), same.getMetricName()) == ("query", "mu_map")
    for wrong in ("nonsense", sg.NDCG(gain=np.sqrt)):
        with pytest.raises((TypeError, ValueError), match="nonsense|sqrt"):
            engine.RankingEvaluator(metricName=wrong)


def test_folds_hold_whole_queries(frame_of):
    frame = table(200, text=True)
    data = engine.with_folds(frame_of([frame]), "query", numFolds=3)
    folds = data.select("query", "fold").toArrow().to_pandas()
    assert (folds.groupby("query")["fold"].nunique() == 1).all()
    sizes = folds.drop_duplicates()["fold"].value_counts()
    assert sorted(sizes.index) == [0, 1, 2] and sizes.min() > 40
    other = engine.with_folds(frame_of([frame]), "query", seed=1)
    assert not folds["fold"].equals(other.select("fold").toArrow().to_pandas()["fold"])
    with pytest.raises(ValueError, match="foldCol must not be queryCol; both are 'query'"):
        engine.with_folds(data, "query", foldCol="QUERY")


def test_cross_validator_chooses_by_the_measure_on_whole_queries(spark):
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import SQLTransformer
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    X, y, qid = sg.datasets.make_ranking(n_queries=60, n_features=4, random_state=0)
    rows = pa.table({f"x{i}": X[:, i] for i in range(4)} | {"label": y.astype(float), "query": qid})
    data = engine.with_folds(spark.createDataFrame(rows), "query", 2).cache()
    ranker = SQLTransformer()  # a regression loads hundreds of classes more
    scores = [f"SELECT *, {score} AS prediction FROM __THIS__" for score in ("x0", "-x0")]
    search = CrossValidator(
        estimator=Pipeline(stages=[ranker]),
        evaluator=engine.RankingEvaluator(metricName="ndcng@5"),
        estimatorParamMaps=ParamGridBuilder().addGrid(ranker.statement, scores).build(),
        numFolds=2, foldCol="fold",
    )
    chosen = search.fit(data)
    assert chosen.avgMetrics[0] > chosen.avgMetrics[1] + 0.1
    assert chosen.bestModel.stages[0].getStatement() == scores[0]
