"""Measures of Dask frames, on the workers where these are: partitions are measured and merged."""

from __future__ import annotations

import pickle
from collections.abc import Iterable

import numpy as np

from skgraded._input.docs import with_parameters
from skgraded._input.needs import needs
from skgraded.large.parts import (
    EDGES,
    PARAMETERS,
    check_job,
    check_partitioning,
    clean,
    frame_of,
    ids_of_part,
    marks_of,
    measure_edges,
    measure_part,
    measure_together,
    nothing,
    query_ids_of,
    refuse_nothing,
    refuse_order_of_rows,
    refuse_other_types,
    refuse_several,
    refuse_torn,
)
from skgraded.large.shuffle import packed, unpacked
from skgraded.measures import Measure
from skgraded.reports.summaries import Summaries
from skgraded.reports.summary import Summary

with needs("skgraded.dask", "dask"):
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd
    import pyarrow as pa
    from dask import delayed
    from dask.utils import get_default_shuffle_method

    from skgraded._input.arrow import as_arrow, buffers, ids, refuse_unknown

__all__ = ["evaluate", "evaluate_per_query"]

AT_ONCE = 16  # results of partitions that are merged in one task
WIDEST = 8  # columns of pieces that go together; what Dask does, it does for each block
NO_PIECE = np.empty(0, dtype=np.int64), pa.array([], pa.large_binary())
NAMES = ["ddf", "y_true", "y_score", "qid", "measures", "sample_weight", "partitioning"]


def evaluate(
    ddf: dd.DataFrame,
    y_true: str,
    y_score: str | list[str],
    qid: str,
    measures: str | Measure | Iterable[str | Measure] = ("ndcng@10", "mu_map"),
    sample_weight: str | None = None,
    partitioning: str = "shuffle",
) -> Summary | Summaries:
    """See below."""
    job = check_job(y_true, y_score, qid, measures, sample_weight, shipped=True)
    parts = _parts(ddf, job)
    measured = _measured(parts, job, check_partitioning(partitioning))
    is_shuffled = partitioning == "shuffle"
    results = [delayed(_summarized)(one, job, is_shuffled) for one in measured]
    while len(results) > 1:
        groups = (results[i : i + AT_ONCE] for i in range(0, len(results), AT_ONCE))
        results = [delayed(_merged)(job, *group) for group in groups]
    found, marks, edges, id_types = results[0].compute()
    refuse_other_types(id_types)
    at_ends = measure_edges(edges, job)

    def ids_of(i):
        if i == len(parts):
            return query_ids_of(at_ends)
        return delayed(ids_of_part)(parts[i], job, f"partition {i}").compute()

    if not is_shuffled:
        refuse_torn([*marks, marks_of(at_ends)], ids_of, _name_of(len(parts)))
    return refuse_nothing(job.merged([found, job.summed(at_ends)]), job)


def _summarized(measured, job, is_shuffled):
    """The Summary of a part, its marks and edges, if rows were not shuffled, and types of ids."""
    found = job.summed(measured.evaluations)
    if is_shuffled:
        return found, [], [], measured.id_types
    return found, [marks_of(measured.evaluations)], [measured.edges], measured.id_types


def _merged(job, *results):
    found, marks, edges, id_types = zip(*results, strict=True)
    return job.merged(found), sum(marks, []), sum(edges, []), frozenset().union(*id_types)


def _name_of(n_parts):
    return lambda i: EDGES if i == n_parts else f"partition {i}"


def evaluate_per_query(
    ddf: dd.DataFrame,
    y_true: str,
    y_score: str,
    qid: str,
    measures: str | Measure | Iterable[str | Measure] = ("ndcng@10", "mu_map"),
    sample_weight: str | None = None,
    partitioning: str = "shuffle",
) -> dd.DataFrame:
    """See below."""
    job = check_job(y_true, y_score, qid, measures, sample_weight, shipped=True)
    refuse_several(job)
    parts = _parts(ddf, job)
    dtype = _dtype_of_ids(ddf, qid)
    measured = _measured(parts, job, check_partitioning(partitioning))
    tabled = [delayed(_tabled)(one, dtype) for one in measured]
    frames = [one[0] for one in tabled]
    if partitioning != "shuffle":
        frames.append(delayed(_rest)(job, dtype, *[one[1:] for one in tabled]))
    return dd.from_delayed(frames, meta=frame_of(nothing(job), dtype), verify_meta=False)


def _dtype_of_ids(ddf, qid):
    if isinstance(ddf._meta[qid].dtype, pd.CategoricalDtype) and not ddf[qid].cat.known:
        return pd.StringDtype("pyarrow")
    column = ids(as_arrow(ddf._meta, [qid])[qid])
    if pa.types.is_date(column.type):  # Dask makes text of Python's dates
        return np.dtype("datetime64[s]")
    return column.to_pandas().dtype


def _tabled(measured, dtype):
    """Values of the queries of a part as a frame; their marks, the part's edges and types."""
    own = query_ids_of(measured.evaluations)
    if isinstance(dtype, pd.StringDtype) and len(own) and not isinstance(own[0], str):
        raise TypeError(
            f"qid is a category of ids such as {own[0]!r}, which Dask takes for text as long as it "
            "does not know the categories: give it ddf[qid].cat.as_known()."
        )
    frame = frame_of(measured.evaluations, dtype)
    return frame, marks_of(measured.evaluations), measured.edges, measured.id_types


def _rest(job, dtype, *parts):
    """The frame of the queries at the edges, once it is known that no query is torn."""
    marks, edges, id_types = zip(*parts, strict=True)
    refuse_other_types(frozenset().union(*id_types))
    at_ends = measure_edges(edges, job)
    all_marks = [*marks, marks_of(at_ends)]
    is_whole = dtype.kind in "iu"  # and so is its own mark
    refuse_torn(
        all_marks, (lambda i: all_marks[i].view(np.int64)) if is_whole else None,
        _name_of(len(marks)),
    )
    return frame_of(at_ends, dtype)


def _parts(ddf, job):
    """The partitions as tasks, with the columns that are needed."""
    if not isinstance(ddf, dd.DataFrame):
        raise TypeError(f"ddf must be a Dask DataFrame; got {type(ddf).__name__}.")
    refuse_unknown(job.columns, list(ddf.columns))
    return ddf[job.columns].to_delayed()


def _measured(parts, job, partitioning):
    """What comes of the partitions, as tasks; with "shuffle" of rows brought together by query."""
    if partitioning == "shuffle":
        refuse_order_of_rows(job)
    n = len(parts)
    if partitioning != "shuffle" or n == 1:
        return [
            delayed(measure_part)(part, job, f"partition {i}", partitioning)
            for i, part in enumerate(parts)
        ]
    exchanged = _by_workers if get_default_shuffle_method() == "p2p" else _by_frames
    return exchanged(parts, job)


def _packed(part, job, place, n):
    """The rows of a partition in pieces: their numbers, and each as bytes."""
    table = clean(part, job, place)
    return NO_PIECE if table is None else packed(table, n)


def _by_workers(parts, job):
    """Measure pieces that workers send to each other, as an array of objects that is rechunked.

    A shuffle of frames goes the same way, but copies what is in the pieces about twice as often.
    """
    n = len(parts)
    rows = [delayed(_row)(part, job, f"partition {i}", n) for i, part in enumerate(parts)]
    pieces = da.concatenate([da.from_delayed(row, (1, n), dtype=object) for row in rows])
    width = min(1 + n // 50, WIDEST)
    (blocks,) = pieces.rechunk({0: n, 1: width}, method="p2p").to_delayed()
    return [delayed(_measured_column)(blocks[i // width], i % width, job) for i in range(n)]


class Piece:
    """Bytes that protocol 5 pickles without a copy; once they are read, no file is held open."""

    def __init__(self, held):
        self.held = pa.py_buffer(held)

    def __reduce_ex__(self, protocol):
        held = pickle.PickleBuffer(self.held) if protocol > 4 else self.held.to_pybytes()
        return _piece_of, (held,)


def _piece_of(held):
    return Piece(bytes(held))


class Pieces(np.ndarray):
    """An array of pieces, or None, with their size, by which Dask limits its buffers.

    Dask lets an array with an `__array_function__` of its own join its like, which keeps the class.
    """

    __array_priority__ = 1

    def __array_function__(self, func, types, args, kwargs):
        return super().__array_function__(func, types, args, kwargs)

    @property
    def nbytes(self):
        return sum(piece.held.size for piece in self.flat if piece is not None)


def _row(part, job, place, n):
    """A 1 × n array: what a partition has of each piece, None where it has nothing."""
    row = np.full((1, n), None).view(Pieces)
    numbers, pieces = _packed(part, job, place, n)
    for number, piece in zip(numbers, buffers(pieces), strict=True):
        row[0, number] = Piece(piece)
    return row


def _measured_column(block, i, job):
    held = [piece.held for piece in block[:, i] if piece is not None]
    return measure_together(unpacked(held), job)


def _by_frames(parts, job):
    """Measure pieces that a shuffle of frames brings together: on disk if there is no cluster."""
    n = len(parts)
    frames = [delayed(_frame)(part, job, f"partition {i}", n) for i, part in enumerate(parts)]
    pieces = dd.from_delayed(frames, meta=_frame_of(*NO_PIECE), verify_meta=False)
    pieces = pieces.set_index("piece", divisions=list(range(n + 1)))
    return [delayed(_measured_frame)(part, job) for part in pieces.to_delayed()]


def _frame(part, job, place, n):
    return _frame_of(*_packed(part, job, place, n))


def _frame_of(numbers, pieces):
    return pd.DataFrame({"piece": numbers, "rows": pd.arrays.ArrowExtensionArray(pieces)})


def _measured_frame(part, job):
    return measure_together(unpacked(buffers(pa.array(part["rows"]))), job)


evaluate.__doc__ = with_parameters(
    """Measure a Dask frame where its partitions are.

    Parameters
    ----------
    ddf : dask.dataframe.DataFrame

    Returns
    -------
    skgraded.Summary
        Equal to ``Summary.of(skgraded.evaluate(…))`` of all rows, in however many partitions; of
        several systems `Summaries`, which `compare` takes.

    Raises
    ------
    ValueError, TypeError
        On bad input; the message says in which partition, and at which row of it. With
        "clustered" and "whole" also if a query is torn, and the message names it.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> import skgraded.dask
    >>> day = pd.DataFrame({"grade": [1, 0, 0, 1], "bm25": [2, 1, 2, 1], "query": list("aabb")})
    >>> ddf = dd.from_pandas(day, npartitions=2)
    >>> skgraded.dask.evaluate(ddf, "grade", "bm25", "query", measures="rr")
    Summary(2 queries: RR=0.7500)
    """,
    NAMES, PARAMETERS,
)

evaluate_per_query.__doc__ = with_parameters(
    """Measure a Dask frame query by query, when the result is asked for.

    Parameters
    ----------
    ddf : dask.dataframe.DataFrame

    Returns
    -------
    dask.dataframe.DataFrame
        Lazy, a row a query: the columns ``query_id``, those of the measures and, with
        `sample_weight`, ``weight``. With "clustered" its last partition holds the queries at the
        ends of the others, and with "whole" none; computing it verifies that no query is torn. Ids
        that are dates come as times at midnight.

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
    """,
    NAMES, PARAMETERS,
)
