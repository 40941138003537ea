"""Evaluation of Dask DataFrames: workers evaluate partitions, and the results are merged."""

from itertools import chain
from typing import Any, TypeAlias, TypeVar

import numpy as np

from skgraded._input.libraries import needs
from skgraded.large.jobs import Job, check_for_workers, check_job
from skgraded.measures.parsing import DEFAULT_MEASURES, Measures
from skgraded.reports.summary import Summaries, Summary

with needs("skgraded.dask", "dask", "pyarrow", extra="dask"):
    import dask.dataframe as dd
    import pandas as pd
    import pyarrow as pa
    from dask import compute, delayed
    from dask.delayed import Delayed

    from skgraded._input.arrow import as_arrow, convert_ids, refuse_unknown
    from skgraded.large import parts, pieces

__all__ = ["evaluate", "evaluate_per_query"]

# A shuffle of n partitions has n² tasks, so small partitions are combined if there are many.
MANY_PARTITIONS = 100
N_SAMPLED = 8  # number of sampled partitions whose rows are counted
ROWS_PER_GROUP = 2**18
PARTITIONS_PER_GROUP = 32  # number of partitions whose per-query values are packed by one task
MERGE_SIZE = 16  # number of Summaries that are merged by each task

T = TypeVar("T")
Dtype: TypeAlias = "np.dtype[Any] | pd.api.extensions.ExtensionDtype"


def evaluate(
    ddf: dd.DataFrame,
    y_true: str,
    y_score: str | list[str],
    qid: str,
    measures: Measures = DEFAULT_MEASURES,
    *,
    sample_weight: str | None = None,
    partitioning: str = "shuffle",
    unjudged_documents: str | None = None,
    document: str | None = None,
    duplicates: str = "raise",
    by: str | list[str] | None = None,
    label: str | None = None,
) -> Summary | Summaries:
    """Evaluate a Dask DataFrame on the workers that store its partitions.

    For details of the parameters, see `evaluate_batches`.

    Parameters
    ----------
    ddf : dask.dataframe.DataFrame
        The rows.
    y_true : str
        Column of grades (≥ 0).
    y_score : str, or list of str
        Column of scores, or a list of columns to compare several systems.
    qid : str
        Column of query ids.
    measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
        The measures to compute.
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

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> import skgraded.dask
    >>> day = pd.DataFrame({"grade": [1, 0, 0, 1], "bm25": [2, 1, 2, 1], "query": list("aabb")})
    >>> ddf = dd.from_pandas(day, npartitions=2)
    >>> skgraded.dask.evaluate(ddf, "grade", "bm25", "query", measures="rr")
    Summary(2 queries: RR=0.7500)
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
    sums = [
        delayed(parts.summarize_measured)(measured, job)
        for measured in _evaluate_partitions(ddf, job)
    ]
    while len(sums) > 1:
        sums = [delayed(parts.merge_sums)(group) for group in _group(sums, MERGE_SIZE)]
    return parts.finish(sums[0].compute(), job)


def evaluate_per_query(
    ddf: dd.DataFrame,
    y_true: str,
    y_score: str,
    qid: str,
    measures: Measures = DEFAULT_MEASURES,
    *,
    sample_weight: str | None = None,
    partitioning: str = "shuffle",
    unjudged_documents: str | None = None,
    document: str | None = None,
    duplicates: str = "raise",
) -> dd.DataFrame:
    """Compute per-query values for a Dask DataFrame lazily.

    Parameters
    ----------
    ddf : dask.dataframe.DataFrame
        The rows.
    y_true : str
    y_score : str
    qid : str
    measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
    sample_weight : str, optional
    partitioning : {"shuffle", "clustered", "whole"}, default="shuffle"
    unjudged_documents : {"irrelevant", "drop"}, optional
    document : str, optional
    duplicates : {"raise", "drop"}, default="raise"
        As in `evaluate`.

    Returns
    -------
    dask.dataframe.DataFrame
        A lazy frame with one row per query. Its columns are ``query_id``, the measures and, with
        `sample_weight`, ``weight``. Computing it checks that no query is split. Ids that are dates
        are converted to timestamps at midnight.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> import skgraded.dask
    >>> day = pd.DataFrame({"grade": [1, 0, 0, 1], "bm25": [2, 1, 2, 1], "query": list("aabb")})
    >>> ddf = dd.from_pandas(day, npartitions=1)
    >>> skgraded.dask.evaluate_per_query(ddf, "grade", "bm25", "query", measures="rr").compute()
      query_id   RR
    0        a  1.0
    1        b  0.5
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
    dtype = _find_dtype(ddf, qid)
    frames = [
        delayed(_tabulate)(measured, job, dtype) for measured in _evaluate_partitions(ddf, job)
    ]
    return dd.from_delayed(frames, meta=_tabulate(None, job, dtype), verify_meta=False)


def _find_dtype(ddf: dd.DataFrame, qid: str) -> Dtype:
    if isinstance(ddf._meta[qid].dtype, pd.CategoricalDtype) and not ddf[qid].cat.known:
        return pd.StringDtype("pyarrow")
    column = convert_ids(as_arrow(ddf._meta, {qid: "qid"})[qid])
    if pa.types.is_date(column.type):  # Dask would convert Python dates to strings
        return np.dtype("datetime64[s]")
    return column.to_pandas().dtype


def _tabulate(measured: parts.Measured | None, job: Job, dtype: Dtype) -> pd.DataFrame:
    """Return per-query values as a DataFrame whose query ids have the given dtype."""
    if measured is None:
        dtypes = {"query_id": dtype} | dict.fromkeys(job.value_columns, float)
        return pd.DataFrame(dict.fromkeys(dtypes, [])).astype(dtypes)
    (evaluation,) = measured.evaluations.values()
    frame = evaluation.to_frame()
    if getattr(dtype, "tz", None) is not None and frame["query_id"].dtype.kind == "M":
        frame["query_id"] = frame["query_id"].dt.tz_localize("UTC")
    return frame.astype({"query_id": dtype})


def _evaluate_partitions(ddf: dd.DataFrame, job: Job) -> list[Delayed]:
    """Return tasks that evaluate all rows in pieces, each of which contains whole queries."""
    if not isinstance(ddf, dd.DataFrame):
        raise TypeError(f"ddf must be a Dask DataFrame; got {type(ddf).__name__}.")
    refuse_unknown(job.columns, list(ddf.columns))
    check_for_workers(job)
    partitions = [
        (f"partition {i}", part) for i, part in enumerate(ddf[list(job.columns)].to_delayed())
    ]
    # Each task packs the rows or per-query values of a few partitions, to be moved between workers.
    is_shuffled = job.partitioning == "shuffle"
    n_combined = _count_combined(partitions) if is_shuffled else 1
    items = [delayed(_evaluate_named)(named, job) for named in _group(partitions, n_combined)]
    groups = _group(items, 1 if is_shuffled else PARTITIONS_PER_GROUP)
    n = len(groups)
    if n == 1:
        return [delayed(_evaluate_lists)(groups[0], job)]
    frames = [delayed(_pack_lists)(group, n) for group in groups]
    contents = dd.from_delayed(frames, meta=_pack_lists([], n), verify_meta=False)
    contents = contents.set_index("piece", divisions=list(range(n + 1)))
    return [delayed(_evaluate_frame)(frame, job) for frame in contents.to_delayed()]


def _group(values: list[T], size: int) -> list[list[T]]:
    return [values[i : i + size] for i in range(0, len(values), size)]


def _count_combined(partitions: list[tuple[str, Delayed]]) -> int:
    """Return how many partitions each task combines: 1 if the partitions are few or large."""
    if len(partitions) < MANY_PARTITIONS:
        return 1
    sample = np.linspace(0, len(partitions) - 1, N_SAMPLED).astype(int)
    n_rows = compute(*(delayed(len)(partitions[i][1]) for i in sample))
    return max(ROWS_PER_GROUP // max(*n_rows, 1), 1)


def _evaluate_named(named: list[tuple[str, pd.DataFrame]], job: Job) -> list[parts.Item]:
    return list(parts.evaluate_parts(named, job))


def _evaluate_lists(lists: list[list[parts.Item]], job: Job) -> parts.Measured | None:
    items = [*chain(*lists)]
    return parts.evaluate_items(items, job) if items else None


def _pack_lists(lists: list[list[parts.Item]], n: int) -> pd.DataFrame:
    """Split rows and values into pieces."""
    packed = pieces.pack_pieces(pieces.split_items([*chain(*lists)], n))
    content = pd.arrays.ArrowExtensionArray(packed["content"])
    return pd.DataFrame({"piece": packed["piece"].to_numpy(), "content": content})


def _evaluate_frame(frame: pd.DataFrame, job: Job) -> parts.Measured | None:
    return pieces.evaluate_contents(pa.array(frame["content"]), job)
