"""The engines that evaluate large tables, behind a common interface; each starts once."""

import os
import sys
import warnings
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from engine_libraries import library, pyspark_and_java
from large_tables import COLUMNS, MEASURES

import skgraded as sg

pytest.register_assert_rewrite("engine_contract", "file_contract")


class Engine:
    """An engine: the module that contains its functions, and how it reads tables.

    `frame_of` creates a table with one part per pandas frame; `read` reads a folder of Parquet
    files. `part` is the noun that error messages use for a part.
    """

    def __init__(self, module, frame_of, part, read):
        self.module, self.frame_of, self.part, self.read = module, frame_of, part, read
        self.evaluate = module.evaluate_batches if module is sg else module.evaluate
        self.name = "batches" if module is sg else module.__name__.rpartition(".")[2]

    def measured(self, parts, *partitioning, **others):
        """Return the Summary or Summaries of the parts, or of the rows in a folder of files."""
        rows = self.read(str(parts)) if isinstance(parts, Path) else self.frame_of(parts)
        return self.evaluate(rows, **_settings(*partitioning, **others))

    def per_query(self, parts, *partitioning, **others):
        """Return the lazy frame of per-query values."""
        settings = _settings(*partitioning, **others)
        return self.module.evaluate_per_query(self.frame_of(parts), **settings)

    def values(self, *args, **others):
        """Return the per-query values as a pandas frame, sorted by query."""
        lazy = self.per_query(*args, **others)
        lazy = lazy.toArrow() if hasattr(lazy, "toArrow") else lazy  # Spark
        frame = lazy.compute() if hasattr(lazy, "compute") else lazy.to_pandas()
        return frame.sort_values("query_id", ignore_index=True)


def _settings(partitioning="shuffle", measures=MEASURES, **others):
    return {"partitioning": partitioning, "measures": measures, **COLUMNS, **others}


@pytest.fixture(scope="session")
def batches():
    return Engine(sg, list, "batch", str)


@pytest.fixture(scope="session")
def cluster():
    """Two workers with one thread each: processes in nightly tests, otherwise in this process.

    Each process would import all libraries anew. Tasks raise their errors, which therefore need
    not be logged.
    """
    distributed = library("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=bool(os.environ.get("SKGRADED_NIGHTLY")),
            dashboard_address=":0",
            silence_logs="CRITICAL",
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def dask(cluster):
    dd = library("dask.dataframe")
    import skgraded.dask

    def frame_of(parts):
        return dd.concat([dd.from_pandas(part, npartitions=1, sort=False) for part in parts])

    return Engine(skgraded.dask, frame_of, "partition", dd.read_parquet)


@pytest.fixture(scope="session")
def session():
    """A Spark session whose Python worker has the import paths of this process.

    A single worker suffices, because each worker imports skgraded anew.
    """
    pyspark_and_java()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of pyspark about itself
        from pyspark.sql import SparkSession

        import skgraded.spark  # noqa: F401
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", "1g")
        # A JVM that runs for seconds should compile little and collect garbage in one thread.
        .config(
            "spark.driver.extraJavaOptions",
            "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
            "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
        )
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        # One partition per file, the largest file first.
        .config("spark.sql.files.openCostInBytes", str(2**30))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    yield spark
    spark.stop()


@pytest.fixture(scope="session")
def spark(session, tmp_path_factory):
    from pyspark.sql.pandas.types import from_arrow_schema

    import skgraded.spark

    def frame_of(parts):
        folder = tmp_path_factory.mktemp("parts")
        for i, part in enumerate(parts):
            part.to_parquet(folder / f"{i}.parquet", index=False)
        longest = max(range(len(parts)), key=lambda i: len(parts[i]))
        # Without a schema, Spark would start a job to infer it.
        schema = from_arrow_schema(
            pq.read_schema(folder / f"{longest}.parquet"), prefer_timestamp_ntz=True
        )
        return session.read.schema(schema).parquet(str(folder))

    return Engine(skgraded.spark, frame_of, "partition", session.read.parquet)


@pytest.fixture
def small_steps(monkeypatch):
    """Process a small table in the same number of steps as a large table."""
    from skgraded.large import batches, pieces

    monkeypatch.setattr(batches, "ROWS", 200)
    monkeypatch.setattr(pieces, "MAX_ROWS_IN_MEMORY", 900)
    monkeypatch.setattr(pieces, "MAX_QUERIES_IN_MEMORY", 30)
