"""Evaluation of Ray Datasets: tasks evaluate blocks, and the results are merged."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Unpack

from skgraded._input.needs import needs
from skgraded.large import jobs
from skgraded.large.jobs import DEFAULT_MEASURES, Job, Measures, QuerySettings, Settings
from skgraded.reports.summary import Summary
from skgraded.reports.system_summaries import Summaries

with needs("skgraded.ray", "ray", "pyarrow", "pandas", extra="ray"):
    import ray
    import ray.data
    from ray.exceptions import RayTaskError

    from skgraded._input.arrow import refuse_unknown
    from skgraded.large import parts
    from skgraded.large.merging import merge_in_tree
    from skgraded.large.shuffle import packed, unpacked

__all__ = ["evaluate", "evaluate_per_query"]

ROWS_PER_PART = 2**18  # target number of rows; the overhead of tasks is too high for fewer rows

NOTES = """
Notes
-----
A partition is a block of the dataset. Ray may divide a large file into several blocks, so "whole"
can fail for files that contain whole queries. Use "clustered" for such files.
"""


@jobs.entry_point(Settings, jobs.RETURNS + jobs.RAISES + NOTES)
def evaluate(
    dataset: ray.data.Dataset, y_true: str, y_score: str | list[str], qid: str,
    measures: Measures = DEFAULT_MEASURES, **settings: Unpack[Settings],
) -> Summary | Summaries:
    """Evaluate a Ray Dataset on the workers that store its blocks.

    Parameters
    ----------
    dataset : ray.data.Dataset

    Examples
    --------
    >>> import pandas as pd
    >>> import ray
    >>> import skgraded.ray
    >>> day = pd.DataFrame({"grade": [1, 0, 0, 1], "bm25": [2, 1, 2, 1], "query": list("aabb")})
    >>> dataset = ray.data.from_pandas([day[:3], day[3:]])
    >>> skgraded.ray.evaluate(dataset, "grade", "bm25", "query", measures="rr")
    Summary(2 queries: RR=0.7500)
    """
    job = jobs.check_job(y_true, y_score, qid, measures, **settings, in_order=False)
    with _original_errors():
        measured = _measured(dataset, job)
        result = ray.get(merge_in_tree(measured, job, _submit))
        return result.finished(job, lambda i: ray.get(measured[i]).query_ids)


@jobs.entry_point(QuerySettings, jobs.RAISES + NOTES)
def evaluate_per_query(
    dataset: ray.data.Dataset, y_true: str, y_score: str, qid: str,
    measures: Measures = DEFAULT_MEASURES, **settings: Unpack[QuerySettings],
) -> ray.data.Dataset:
    """Compute per-query values for a Ray Dataset.

    Parameters
    ----------
    dataset : ray.data.Dataset

    Returns
    -------
    ray.data.MaterializedDataset
        A dataset with one row per query, in any order. Its columns are ``query_id``, the measures
        and, with `sample_weight`, ``weight``.

    Examples
    --------
    >>> import pandas as pd
    >>> import ray
    >>> import skgraded.ray
    >>> day = pd.DataFrame({"grade": [1, 0, 0, 1], "bm25": [2, 1, 2, 1], "query": list("aabb")})
    >>> dataset = ray.data.from_pandas([day[:3], day[3:]])
    >>> values = skgraded.ray.evaluate_per_query(dataset, "grade", "bm25", "query", measures="rr")
    >>> values.to_pandas().sort_values("query_id", ignore_index=True)
      query_id   RR
    0        a  1.0
    1        b  0.5
    """
    job = jobs.check_job(y_true, y_score, qid, measures, **settings, per_query=True, in_order=False)
    with _original_errors():
        measured = _measured(dataset, job)
        result = ray.get(merge_in_tree(measured, job, _submit, with_sums=False))
        edges = result.measure_edges(job, lambda i: ray.get(measured[i]).query_ids)
        tables = [_submit(parts.table_of_values, part) for part in [*measured, edges]]
        return ray.data.from_arrow_refs(tables)


def _measured(dataset: ray.data.Dataset, job: Job) -> list[Any]:
    """Return references to the results, one per block or, with "shuffle", per shuffled part."""
    if not isinstance(dataset, ray.data.Dataset):
        raise TypeError(f"dataset must be a Ray Dataset; got {type(dataset).__name__}.")
    refuse_unknown(job.columns, dataset.columns(fetch_if_missing=False) or job.columns)
    if job.partitioning != "whole":
        jobs.refuse_order_of_rows(job)
    computed = dataset.select_columns(job.columns).iter_internal_ref_bundles()
    bundles = (bundle for bundle in computed if bundle.num_rows())  # empty blocks lack columns
    if job.partitioning == "shuffle":
        measured = _shuffled(list(bundles), job)
    else:
        blocks = (block for bundle in bundles for block in bundle.block_refs)
        measured = [  # in the order in which Ray completes the blocks
            _submit(parts.measure_part, block, job, f"partition {i}")
            for i, block in enumerate(blocks)
        ]
    return measured or [_submit(parts.measure_together, None, job)]


def _shuffled(bundles: list[Any], job: Job) -> list[Any]:
    """Return references to the results, one per shuffled part."""
    blocks = [block for bundle in bundles for block in bundle.block_refs]
    n_rows = sum(bundle.num_rows() for bundle in bundles)
    n = min(max(n_rows // ROWS_PER_PART, 2), len(blocks))
    if n < 2:
        return [_submit(parts.measure_part, block, job, "partition 0") for block in blocks]
    pieces = [
        _run.options(num_returns=n).remote(_cut, block, job, f"partition {i}", n)
        for i, block in enumerate(blocks)
    ]
    return [_submit(_measured_pieces, job, *part) for part in zip(*pieces, strict=True)]


def _cut(block: Any, job: Job, place: str, n: int) -> list[Any]:
    """Validate a block and split it into n pieces; empty pieces are None."""
    numbers, pieces = packed(parts.clean(block, job, place), n)
    buffers = {i: piece.as_buffer() for i, piece in zip(numbers, pieces, strict=True)}
    return [buffers.get(i) for i in range(n)]


def _measured_pieces(job: Job, *pieces: Any) -> parts.Measured:
    table = unpacked(piece for piece in pieces if piece is not None)
    return parts.measure_together(table, job)


# Tasks -------------------------------------------------------------------------------------------

@ray.remote
def _run(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


_submit = _run.remote  # starts a task and returns a reference to its result


@contextmanager
def _original_errors() -> Iterator[None]:
    """Re-raise the ValueError or TypeError of a task without Ray's traceback."""
    try:
        yield
    except RayTaskError as error:
        if isinstance(error.cause, (ValueError, TypeError)):
            raise error.cause from None
        raise
