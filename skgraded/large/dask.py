"""Evaluation of Dask DataFrames: workers evaluate partitions, and the results are merged."""

from collections.abc import Callable
from functools import partial
from operator import getitem
from typing import Any

import numpy as np

from skgraded._input.docstrings import documented
from skgraded._input.needs import needs
from skgraded.large.jobs import (
    DEFAULT_MEASURES,
    PARAMETERS,
    RAISES,
    RETURNS,
    Job,
    Measures,
    check_job,
    refuse_order_of_rows,
)
from skgraded.reports.summary import Summary
from skgraded.reports.system_summaries import Summaries

with needs("skgraded.dask", "dask", "pyarrow", extra="dask"):
    import dask.dataframe as dd
    import pandas as pd
    import pyarrow as pa
    from dask import compute, delayed

    from skgraded._input.arrow import as_arrow, buffers, ids, refuse_unknown
    from skgraded.large import parts
    from skgraded.large.merging import Result, merge_in_tree
    from skgraded.large.shuffle import packed, unpacked

__all__ = ["evaluate", "evaluate_per_query"]

# A shuffle of n partitions has n² tasks, so many small partitions are combined to groups.
MANY_PARTITIONS = 100
N_SAMPLED = 8  # number of partitions whose rows are counted
ROWS_PER_GROUP = 2**18


@documented(PARAMETERS + RETURNS + RAISES)
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
    by: str | None = None,
    label: str | None = None,
) -> Summary | Summaries:
    """Evaluate a Dask DataFrame on the workers that store its partitions.

    Parameters
    ----------
    ddf : dask.dataframe.DataFrame

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
    measured = _measured(ddf, job, combines=True)
    try:
        result = merge_in_tree(measured, job, _delayed).compute()
    except (pa.ArrowException, OSError) as error:
        raise ValueError(
            f"A partition cannot be read: {' '.join(str(error).split())} If the rows are in files, "
            "evaluate_batches names the file that cannot be read; with errors='skip', it leaves "
            "the file out."
        ) from error
    return result.finished(job, lambda i: measured[i].query_ids.compute())


@documented(PARAMETERS)
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

    Returns
    -------
    dask.dataframe.DataFrame
        A lazy frame with one row per query. Its columns are ``query_id``, the measures and, with
        `sample_weight`, ``weight``. With "clustered" and "whole", the frame has an additional last
        partition, and computing it checks that no query is split. With "clustered", it contains
        the first and last queries of the other partitions; with "whole", it is empty. Ids that are
        dates are converted to timestamps at midnight.

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
    measured = _measured(ddf, job)
    dtype = _dtype_of_ids(ddf, qid)
    frames = [delayed(_values)(part, dtype) for part in measured]
    if job.partitioning != "shuffle":
        result = merge_in_tree(measured, job, _delayed, with_sums=False)
        shared = delayed(Result.shared_marks)(result)
        ids_of = [delayed(parts.ids_with)(part, shared) for part in measured]
        edges = delayed(Result.measure_edges)(result, job, delayed(partial)(getitem, ids_of))
        frames.append(delayed(_values)(edges, dtype))
    meta = _values(parts.measure_together(None, job), dtype)
    return dd.from_delayed(frames, meta=meta, verify_meta=False)


def _delayed(function: Callable[..., Any], *args: Any) -> Any:
    return delayed(function)(*args)


def _dtype_of_ids(ddf: Any, qid: str) -> Any:
    if isinstance(ddf._meta[qid].dtype, pd.CategoricalDtype) and not ddf[qid].cat.known:
        return pd.StringDtype("pyarrow")
    column = ids(as_arrow(ddf._meta, [qid])[qid])
    if pa.types.is_date(column.type):  # Dask would convert Python dates to strings
        return np.dtype("datetime64[s]")
    return column.to_pandas().dtype


def _values(measured: parts.Measured, dtype: Any) -> pd.DataFrame:
    """Return the per-query values of a partition as a frame whose ids have the given dtype."""
    query_ids = measured.query_ids
    if isinstance(dtype, pd.StringDtype) and len(query_ids) and not isinstance(query_ids[0], str):
        raise TypeError(
            f"qid is a categorical column with ids such as {query_ids[0]!r}, but Dask treats "
            "unknown categories as text: replace the column with ddf[qid].cat.as_known()."
        )
    (evaluation,) = measured.evaluations.values()
    frame = evaluation.to_frame()
    if getattr(dtype, "tz", None) is not None and frame["query_id"].dtype.kind == "M":
        frame["query_id"] = frame["query_id"].dt.tz_localize("UTC")
    return frame.astype({"query_id": dtype})


def _measured(ddf: Any, job: Job, combines: bool = False) -> list[Any]:
    """Return tasks that evaluate the partitions or, for "shuffle", the shuffled rows.

    If `combines`, many small partitions are combined, which computes the sizes of a few of them.
    """
    if not isinstance(ddf, dd.DataFrame):
        raise TypeError(f"ddf must be a Dask DataFrame; got {type(ddf).__name__}.")
    refuse_unknown(job.columns, list(ddf.columns))
    places = {f"partition {i}": part for i, part in enumerate(ddf[job.columns].to_delayed())}
    if job.partitioning == "shuffle":
        refuse_order_of_rows(job)
    if job.partitioning != "shuffle" or len(places) == 1:
        return [delayed(parts.measure_part)(part, job, place) for place, part in places.items()]
    groups = _groups(places) if combines else [{place: part} for place, part in places.items()]
    n = len(groups)
    frames = [delayed(_packed)(group, job, n) for group in groups]
    pieces = dd.from_delayed(frames, meta=_frame_of(*packed(None, n)), verify_meta=False)
    pieces = pieces.set_index("piece", divisions=list(range(n + 1)))
    return [delayed(_measured_pieces)(part, job) for part in pieces.to_delayed()]


def _groups(places: dict[str, Any]) -> list[dict[str, Any]]:
    """Group adjacent partitions if they are many and small; a few partitions are measured."""
    partitions, size = list(places.items()), 1
    if len(partitions) >= MANY_PARTITIONS:
        sample = np.linspace(0, len(partitions) - 1, N_SAMPLED).astype(int)
        n_rows = compute(*(delayed(len)(partitions[i][1]) for i in sample))
        size = max(ROWS_PER_GROUP // max(*n_rows, 1), 1)
    return [dict(partitions[i : i + size]) for i in range(0, len(partitions), size)]


def _packed(group: dict[str, Any], job: Job, n: int) -> pd.DataFrame:
    """Validate partitions and split them into pieces; a single task for both saves memory."""
    rows = parts.joined([parts.clean(part, job, place) for place, part in group.items()])
    return _frame_of(*packed(rows, n))


def _frame_of(numbers: np.ndarray, pieces: Any) -> pd.DataFrame:
    return pd.DataFrame({"piece": numbers, "rows": pd.arrays.ArrowExtensionArray(pieces)})


def _measured_pieces(frame: Any, job: Job) -> parts.Measured:
    return parts.measure_together(unpacked(buffers(pa.array(frame["rows"]))), job)
