"""The engines that measure large tables, behind the same functions; each starts once."""

import os
import secrets
import shutil
import sys
import warnings

import pytest
from large_tables import COLUMNS, MEASURES

import skgraded as sg


class Engine:
    """An engine: `module` has its functions.

    `frame_of` makes its table from pandas frames, and `read` from a folder of Parquet files.
    """

    def __init__(self, module, frame_of, part, read):
        self.module, self.frame_of, self.part, self.read = module, frame_of, part, read
        self.evaluate = module.evaluate_batches if module is sg else module.evaluate
        self.name = "batches" if module is sg else module.__name__.rpartition(".")[2]

    def measured(self, parts, partitioning="shuffle", measures=MEASURES, **others):
        """The Summary of the parts, or Summaries."""
        settings = {"partitioning": partitioning, "measures": measures, **COLUMNS, **others}
        return self.evaluate(self.frame_of(parts), **settings)

    def measured_files(self, folder, partitioning="shuffle", measures=MEASURES, **others):
        """The Summary of the rows in a folder of Parquet files."""
        settings = {"partitioning": partitioning, "measures": measures, **COLUMNS, **others}
        return self.evaluate(self.read(str(folder)), **settings)

    def per_query(self, parts, partitioning="shuffle", measures=MEASURES, **others):
        """The engine's lazy frame of values."""
        settings = {"partitioning": partitioning, "measures": measures, **COLUMNS, **others}
        return self.module.evaluate_per_query(self.frame_of(parts), **settings)

    def values(self, *args, **others):
        """The rows of the lazy frame, sorted by query."""
        lazy = self.per_query(*args, **others)
        lazy = lazy.toArrow() if hasattr(lazy, "toArrow") else lazy  # of Spark
        frame = lazy.compute() if hasattr(lazy, "compute") else lazy.to_pandas()
        frame = frame.astype(dict.fromkeys(frame.columns[1:], float))  # Ray's are Arrow types
        return frame.sort_values("query_id", ignore_index=True)


@pytest.fixture(scope="session")
def batches():
    return Engine(sg, list, "batch", str)


@pytest.fixture(scope="session")
def cluster():
    """Two workers that are processes; errors of tasks are raised and need not be logged too."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def dask(cluster):
    dd = pytest.importorskip("dask.dataframe")
    import skgraded.dask

    def frame_of(parts):
        return dd.concat([dd.from_pandas(part, npartitions=1, sort=False) for part in parts])

    return Engine(skgraded.dask, frame_of, "partition", dd.read_parquet)


@pytest.fixture(scope="session")
def session():
    """A Spark session in local[2], whose workers have the paths of this process."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("there is no Java, which Spark needs")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of pyspark about itself
        from pyspark.sql import SparkSession

        import skgraded.spark  # noqa: F401
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", "1g")
        # a JVM that lives for seconds: little compiled, one thread that collects
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
    spark.sparkContext.setLogLevel("OFF")
    yield spark
    spark.stop()


@pytest.fixture(scope="session")
def spark(session, tmp_path_factory):
    import skgraded.spark

    def frame_of(parts):
        folder = tmp_path_factory.mktemp("parts")
        for i, part in enumerate(parts):
            part.to_parquet(folder / f"{i}.parquet", index=False)
        return session.read.parquet(str(folder))

    return Engine(skgraded.spark, frame_of, "partition", session.read.parquet)


@pytest.fixture(scope="session")
def ray():
    """Ray with two workers; small tables are shuffled into several partitions."""
    library = pytest.importorskip("ray", reason='needs Ray: pip install "skgraded[peers]"')
    pytest.importorskip("ray.data", reason='needs Ray Data: pip install "skgraded[peers]"')
    from skgraded.large import ray as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROWS_PER_PART", 500)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # otherwise, Ray writes a token to the home folder; a process uses its first token only
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        library.init(
            num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
        )
        library.data.DataContext.get_current().enable_progress_bars = False
        data = library.data
        yield Engine(module, data.from_pandas, "partition", data.read_parquet)
        library.shutdown()


@pytest.fixture(params=["batches", "dask", "spark", "ray"])
def engine(request):
    """Each of the engines in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["batches", "dask", "spark", pytest.param("ray", marks=pytest.mark.nightly)])
def reader(request):
    """Each of the engines that read files; Ray takes seconds per folder."""
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["dask", "spark", "ray"])
def lazy_engine(request):
    """Each of the engines that return values per query."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def small_steps(monkeypatch):
    """Let a small table take the way of a large one."""
    from skgraded.large import batches as module

    monkeypatch.setattr(module, "ROWS", 200)
    monkeypatch.setattr(module, "MAX_ROWS_IN_MEMORY", 900)
