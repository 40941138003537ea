"""Evaluation of Spark DataFrames on the executors, and an Evaluator for pyspark.ml."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

from skgraded._input.door import check_whole_number
from skgraded._input.libraries import needs
from skgraded.large.jobs import Job, check_for_workers, check_job
from skgraded.measures import measure as as_measure
from skgraded.measures.parsing import DEFAULT_MEASURES, Measures
from skgraded.reports.summary import Summaries, Summary

with needs("skgraded.spark", "pyspark", "pyarrow", extra="spark"):
    import pyarrow as pa
    from pyspark import keyword_only
    from pyspark.ml.evaluation import Evaluator
    from pyspark.ml.param import Param, Params, TypeConverters
    from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol
    from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
    from pyspark.sql import DataFrame, SparkSession, functions as F
    from pyspark.sql.types import DoubleType, StructField, StructType

    from skgraded._input.arrow import refuse_unknown
    from skgraded.large import parts, spark_tasks as tasks
    from skgraded.large.pieces import read_piece

__all__ = ["RankingEvaluator", "evaluate", "evaluate_per_query"]

# Spark assigns pieces to partitions by hash; several pieces per partition balance the load.
PIECES_PER_PARTITION = 4
LIMIT_IN_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"


# Measuring ---------------------------------------------------------------------------------------


def evaluate(
    df: DataFrame,
    y_true: str,
    y_score: str | list[str],
    qid: str,
    measures: Measures = DEFAULT_MEASURES,
    *,
    n_partitions: int | None = None,
    sample_weight: str | None = None,
    partitioning: str = "shuffle",
    unjudged_documents: str | None = None,
    document: str | None = None,
    duplicates: str = "raise",
    by: str | list[str] | None = None,
    label: str | None = None,
) -> Summary | Summaries:
    """Evaluate a Spark DataFrame on the executors.

    For details of the parameters, see `evaluate_batches`.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The rows.
    y_true : str
        Column of grades (≥ 0).
    y_score : str, or list of str
        Column of scores, or a list of columns to compare several systems.
    qid : str
        Column of query ids.
    measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
        The measures to compute.
    n_partitions : int, optional
        Number of partitions of the shuffled rows; by default ``spark.sql.shuffle.partitions``. Each
        partition must fit in the memory of one Python worker. Only used with "shuffle".
    sample_weight : str, optional
        Column of row weights.
    partitioning : {"shuffle", "clustered", "whole"}, default="shuffle"
        How the rows are arranged: in any order, contiguous for each query, or with whole queries in
        each partition.
    unjudged_documents : {"irrelevant", "drop"}, optional
        How to treat grades that are null or NaN.
    document : str, optional
        Column of document ids.
    duplicates : {"raise", "drop"}, default="raise"
        "drop" counts equal rows with the same query and document once.
    by : str or list of str, optional
        Column with the segment of each query, or several columns.
    label : str, optional
        Name of this part of the data, such as its date.

    Returns
    -------
    Summary
        As from `evaluate_batches`; for several systems, a `Summaries`.

    Raises
    ------
    ValueError, TypeError
        As in `evaluate_batches`; the message names the partition and the row, or the query.
    """
    job = check_job(
        y_true,
        y_score,
        qid,
        measures,
        sample_weight=sample_weight,
        partitioning=partitioning,
        unjudged_documents=unjudged_documents,
        document=document,
        duplicates=duplicates,
        by=by,
        label=label,
    )
    pieces = _repartition(df, job, n_partitions, keeps_number=False)
    rows = _map_batches(pieces, partial(tasks.sum_pieces, job=job), tasks.SUMS)
    with _lift_limit_in_bytes(df.sparkSession):
        sums = [read_piece(pa.py_buffer(row.sums)) for row in rows.collect()]
    return parts.finish(parts.merge_sums(sums), job)


def evaluate_per_query(
    df: DataFrame,
    y_true: str,
    y_score: str,
    qid: str,
    measures: Measures = DEFAULT_MEASURES,
    *,
    n_partitions: int | None = None,
    sample_weight: str | None = None,
    partitioning: str = "shuffle",
    unjudged_documents: str | None = None,
    document: str | None = None,
    duplicates: str = "raise",
) -> DataFrame:
    """Compute per-query values for a Spark DataFrame lazily.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The rows.
    y_true : str
    y_score : str
    qid : str
    measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
        As in `evaluate`.
    n_partitions : int, optional
        Number of partitions of the result; by default ``spark.sql.shuffle.partitions``. With
        "shuffle", also the number of partitions of the shuffled rows, as in `evaluate`.
    sample_weight : str, optional
    partitioning : {"shuffle", "clustered", "whole"}, default="shuffle"
    unjudged_documents : {"irrelevant", "drop"}, optional
    document : str, optional
    duplicates : {"raise", "drop"}, default="raise"
        As in `evaluate`.

    Returns
    -------
    pyspark.sql.DataFrame
        A lazy frame with one row per query. Its columns are ``query_id``, the measures and, with
        `sample_weight`, ``weight``. Invalid input raises an error when the frame is computed; the
        message is at the end of Spark's error.
    """
    job = check_job(
        y_true,
        y_score,
        qid,
        measures,
        sample_weight=sample_weight,
        partitioning=partitioning,
        unjudged_documents=unjudged_documents,
        document=document,
        duplicates=duplicates,
        per_query=True,
    )
    pieces = _repartition(df, job, n_partitions, keeps_number=True)
    schema = StructType(
        [
            StructField("query_id", df.schema[qid].dataType, nullable=False),
            *(StructField(name, DoubleType()) for name in job.value_columns),
        ]
    )
    null_id = F.lit(None).cast(df.schema[qid].dataType).alias("id")
    # Collecting an empty range does not start a Spark job.
    no_ids = df.sparkSession.range(0).select(null_id).toArrow()
    id_type = no_ids.schema.types[0]
    return _map_batches(pieces, partial(tasks.tabulate_pieces, job=job, id_type=id_type), schema)


def _repartition(
    df: DataFrame, job: Job, n_partitions: int | None, keeps_number: bool
) -> DataFrame:
    """Split all partitions into pieces, and repartition these so that no query is split.

    If the partitioning is "shuffle", the pieces contain rows; otherwise, they contain per-query
    values and the rows of queries that may continue in other partitions. A single execution of the
    plan returns values and rows, because a second one may partition the rows differently.
    """
    if not isinstance(df, DataFrame):
        raise TypeError(f"df must be a Spark DataFrame; got {type(df).__name__}.")
    if df.isStreaming:
        raise ValueError("df must be a static DataFrame; got a streaming DataFrame.")
    refuse_unknown(job.columns, df.columns)
    check_for_workers(job)
    if n_partitions is None:
        n_partitions = int(str(df.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    n = check_whole_number(n_partitions, "n_partitions", 1)
    # Columns are renamed to their positions, because mapInArrow rejects names that contain a dot.
    frame = df.select(
        *(
            F.col("`" + name.replace("`", "``") + "`").alias(str(i))
            for i, name in enumerate(job.columns)
        )
    )
    function = partial(tasks.pack_partition, job=job, n_pieces=n * PIECES_PER_PARTITION)
    pieces = _map_batches(frame, function, tasks.PIECES)
    if keeps_number or job.partitioning == "shuffle":
        # Spark's adaptive execution may combine partitions unless their number is passed.
        return pieces.repartition(n, F.col("piece"))
    return pieces.repartition(F.col("piece"))


@contextmanager
def _lift_limit_in_bytes(spark: SparkSession) -> Iterator[None]:
    """For jobs started by this thread, limit the rows per Arrow batch, but not the bytes.

    To limit the bytes of a batch, Spark 4 would recompute its size after each row, which takes
    twice as long as the rest of the transfer to Python.
    """
    context = getattr(spark, "sparkContext", None)
    if context is None:  # Spark Connect has no sparkContext
        yield
        return
    before = context.getLocalProperty(LIMIT_IN_BYTES)
    context.setLocalProperty(LIMIT_IN_BYTES, str(2**31 - 1))
    try:
        yield
    finally:
        context.setLocalProperty(LIMIT_IN_BYTES, before)


def _map_batches(
    frame: DataFrame, function: Callable[..., Iterator[Any]], schema: StructType | str
) -> DataFrame:
    """Apply a function to the Arrow batches of each partition."""
    with warnings.catch_warnings():
        # PySpark warns about pandas 3, but mapInArrow does not use pandas.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        return frame.mapInArrow(function, schema)


# pyspark.ml --------------------------------------------------------------------------------------


def _check_text(value: object) -> str:
    """Convert a measure to a string; raise an error if it cannot be parsed back into a measure."""
    as_measure(str(value))  # raises an error if the measure contains a function
    return str(value)


class RankingEvaluator(
    Evaluator, HasLabelCol, HasPredictionCol, DefaultParamsReadable[Any], DefaultParamsWritable
):
    """Evaluator for CrossValidator and TrainValidationSplit from ``pyspark.ml``.

    These two classes split rows without regard to queries. To keep queries whole, compute a column
    of folds from a hash of the query ids and pass its name to CrossValidator as `foldCol`.

    Parameters
    ----------
    labelCol : str, default="label"
        The column of grades ≥ 0.
    predictionCol : str, default="prediction"
        The column of scores.
    queryCol : str, default="query"
        The column of query ids.
    metricName : str, default="ndcg@10"
        The measure as text.

    Examples
    --------
    >>> from skgraded.spark import RankingEvaluator
    >>> evaluator = RankingEvaluator(labelCol="grade", queryCol="session", metricName="mu_map")
    >>> evaluator.getMetricName(), evaluator.isLargerBetter()
    ('mu_map', True)
    """

    queryCol = Param(Params._dummy(), "queryCol", "column of query ids", TypeConverters.toString)
    metricName = Param(Params._dummy(), "metricName", "measure, as text", _check_text)
    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(
        self,
        *,
        labelCol: str = "label",
        predictionCol: str = "prediction",
        queryCol: str = "query",
        metricName: str = "ndcg@10",
    ):
        super().__init__()
        self._setDefault(queryCol="query", metricName="ndcg@10")
        self._set(**self._input_kwargs)

    def setParams(self, **params: str) -> Self:
        """Set parameters by name."""
        return self._set(**params)

    def getQueryCol(self) -> str:
        """Return the column of query ids."""
        return self.getOrDefault(self.queryCol)

    def getMetricName(self) -> str:
        """Return the name of the measure."""
        return self.getOrDefault(self.metricName)

    def _evaluate(self, dataset: DataFrame) -> float:
        columns = self.getLabelCol(), self.getPredictionCol(), self.getQueryCol()
        summary: Any = evaluate(dataset, *columns, self.getMetricName())
        return next(iter(summary.mean().values()))
