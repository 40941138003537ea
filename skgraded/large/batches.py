"""Evaluation of large tables in batches on one machine, with temporary files if necessary."""

import os
import tempfile
from contextlib import closing
from typing import Any

from skgraded._input.atomic_files import check_writable
from skgraded._input.door import suggest_arguments
from skgraded._input.libraries import needs, show_progress
from skgraded.large.jobs import check_job, check_segment_names
from skgraded.measures.parsing import DEFAULT_MEASURES, Measures
from skgraded.reports.summary import Summaries, Summary

# These constants affect speed and memory usage, but never the results.
ROWS = 2**18  # number of rows to read at once; smaller batches may be combined
MIN_QUERIES = 2**16  # minimum number of queries whose values are summed at once
MIN_QUERIES_OF_SEGMENTS = 2**19  # replaces MIN_QUERIES if each segment has its own sums


@suggest_arguments
def evaluate_batches(
    batches: Any,
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
    per_query: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Summary | Summaries:
    """Evaluate a table of any size in batches on one machine.

    Parameters
    ----------
    batches : table, iterable of tables, str, Path, or list of str or Path
        A table may be a pandas or polars frame or any object that supports Arrow's C stream
        (``__arrow_c_stream__``), such as an Arrow table. A pyarrow Dataset or Scanner, a polars
        LazyFrame or a DuckDB relation is read in batches. A path names a Parquet or CSV file
        (``.csv`` or ``.tsv``, also compressed: ``.csv.gz``, ``.bz2`` or ``.xz``) or a folder, or is
        a pattern such as ``"scores/*.parquet"``. Files of a path are read in natural order:
        ``part-2`` before ``part-10``. In CSV files, query ids and segments are text, so ``007`` and
        ``7`` differ. A folder contains either Parquet files (``.parquet`` or ``.pq``) or CSV files;
        files whose names begin with ``.`` or ``_`` are ignored. The keys of a Hive layout, such as
        ``day=2026-11-01/country=de/0.parquet``, are columns that contain text.
    y_true : str
        Name of the column with the grades (≥ 0).
    y_score : str, or list of str
        Name of the column with the system's scores, or a list of names to compare several systems.
    qid : str
        Name of the column with the query ids (numbers, text or dates).
    measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
        The measures to compute.
    sample_weight : str, optional
        Name of the column with weights. The weight of a query is the mean weight of its rows.
    partitioning : {"shuffle", "clustered", "whole"}, default="shuffle"
        How the rows are arranged. "shuffle" allows any order: the rows are first grouped by query,
        which is always correct but slowest. "clustered" requires contiguous rows for each query,
        which may continue in the next batch or partition. "whole" requires that each batch or
        partition contains whole queries. A query that is evaluated in two parts is an error.
    unjudged_documents : {"irrelevant", "drop"}, optional
        How to treat grades that are null or NaN, as in `evaluate`.
    document : str, optional
        Name of the column with document ids. A query that contains a document twice is then an
        error. Without this column, repeated rows are counted.
    duplicates : {"raise", "drop"}, default="raise"
        As in `evaluate`. `Summary.n_duplicates` is the number of rows dropped.
    by : str or list of str, optional
        Name of the column with the segment of each query, such as its country. The result then also
        contains the Summary of each segment. Dates, and intervals as from ``pandas.cut``, become
        text. For a list of names, such as ``["country", "device"]``, each combination that occurs
        is a segment, named by a tuple.
    label : str, optional
        Name of this part of the data, such as its date. Summaries that share a label cannot be
        merged.
    per_query : str or Path, optional
        Path of a Parquet file to which the per-query values are written during the evaluation. Its
        columns are ``query_id``, the columns of `by`, ``system`` (for several systems), the
        measures and, with `sample_weight`, ``weight``. The rows are in any order. After an error,
        the previous file is unchanged.
    progress : bool, default=False
        Whether to show a progress bar; requires tqdm.

    Returns
    -------
    Summary
        Equal to ``Summary.of(skgraded.evaluate(…))`` on all rows, however they are partitioned.
        With `by`, its attribute `segments` maps each segment to a Summary. For several systems, a
        `Summaries`, which `compare` accepts.

    Raises
    ------
    ValueError, TypeError
        If the input is invalid; the message names the batch and the row within it, or the query.
    OSError
        If the temporary file does not fit on the disk.

    Notes
    -----
    With "shuffle", tables with more than 2 million rows are written to a temporary file in
    ``TMPDIR``, which is about as large as the columns are in memory. With "clustered" and "whole",
    the file contains the per-query values if there are more than 200,000 queries.

    Examples
    --------
    >>> import pandas as pd
    >>> import skgraded as sg
    >>> day = pd.DataFrame({"grade": [1, 0, 0, 1], "bm25": [2, 1, 2, 1], "query": list("aabb")})
    >>> sg.evaluate_batches([day[:1], day[1:3], day[3:]], "grade", "bm25", "query", measures="rr")
    Summary(2 queries: RR=0.7500)
    """
    with needs("evaluate_batches", "pyarrow"):
        from skgraded.large import parts
        from skgraded.large.pieces import open_values, regroup_items
        from skgraded.large.sources import name_batches
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
    if per_query is not None:
        check_segment_names(job)
        check_writable(per_query)
    named, n_rows = name_batches(batches, job, ROWS)
    with (
        closing(named),  # closes files and streams immediately after an error
        show_progress(progress, n_rows, unit=" rows", unit_scale=True) as show,
        # The file is created on disk only when data are first written to it.
        tempfile.SpooledTemporaryFile(1, prefix="skgraded-") as file,
        open_values(per_query, job) as write,
    ):
        items = parts.evaluate_parts(named, job, ROWS, show)
        measured = (
            parts.evaluate_items(group, job) for group in regroup_items(items, file, job, n_rows)
        )
        n_summed = MIN_QUERIES if by is None else MIN_QUERIES_OF_SEGMENTS
        groups = map(parts.join_measured, parts.group_by_size(measured, n_summed))
        report = parts.merge_sums(parts.summarize_measured(write(group), job) for group in groups)
        return parts.finish(report, job)
