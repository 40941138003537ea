"""Validation and evaluation of a large table in chunks.

All engines share this code. A chunk is a batch, a file, or a partition of a frame. Error messages
state the chunk and the row within the chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from skgraded._input import arrow, arrow_strings
from skgraded._input.arrow_strings import refuse_damaged
from skgraded._input.door import (
    check_scores,
    check_weights,
    column,
    grade_column,
    refuse_bad_grades,
    round_to_type,
)
from skgraded._input.queries import query_codes
from skgraded._input.segments import as_segment
from skgraded._input.words import plain, plain_list
from skgraded.judgments import Judgments, layout_of
from skgraded.large.jobs import Job
from skgraded.measures.base import accepts_unjudged
from skgraded.measures.grades import too_high
from skgraded.reports.evaluating import distinct_documents, evaluate_judgments
from skgraded.reports.evaluation import Evaluation, joined_evaluations
from skgraded.reports.summary import Summary, labeled, merged_in_order
from skgraded.reports.system_summaries import Summaries

EDGES = "the first and last queries of the partitions"
SHUFFLED_ROWS = "the shuffled rows"
# Columns of validated tables.
GRADE, QUERY, WEIGHT, SEGMENT, DOCUMENT, SCORE = (
    "grade",
    "query",
    "weight",
    "segment",
    "document",
    "score",
)
IDS = {"qid": QUERY, "by": SEGMENT, "document": DOCUMENT}  # keyed by argument

# With segments, results are summed for at least this number of queries at once; this affects speed
# and memory usage, but never the results.
MIN_QUERIES = 2**16
QUERIES_PER_SEGMENT = 100

FOR_MISSING = {  # advice on missing values, keyed by argument
    "qid": "fill in the missing ids",
    "y_score": "use the score -inf for documents that were not retrieved",
    "sample_weight": "fill in the missing weights",
    "y_true": "set unjudged_documents to 'irrelevant' (grade 0) or 'drop' (exclude the rows)",
    "by": "fill in the missing segments",
    "document": "fill in the missing document ids",
}


@contextmanager
def errors_in(place: str) -> Iterator[None]:
    """Add the name of the chunk to error messages."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"In {place}, where rows are numbered from 0: {error}") from None


# Validation ------------------------------------------------------------------------------------


def clean(part: Any, job: Job, place: str) -> Any:
    """Return the validated columns of a chunk as an Arrow table, or None if there are no rows."""
    with errors_in(place):
        table = arrow.as_arrow(part, job.columns)
        if not table.num_rows:
            return None
        for argument, name in job.arguments:
            refuse_damaged(table[name], argument if job.is_single else f"{argument} {name!r}")
        try:
            return _checked(table, job)
        except (ValueError, TypeError):
            _refuse_missing(table, job)
            raise


def _checked(table: Any, job: Job) -> Any:
    """Return the validated columns as an Arrow table with standard column names."""
    grades, dtype = grade_column(arrow.numbers(table[job.y_true]), "y_true")
    refuse_bad_grades(grades, "y_true", allow_nan=_may_lack_grades(job))
    _refuse_high_grades(grades, dtype, job)
    columns = {GRADE: grades.astype(dtype, copy=False)} | {
        IDS[argument]: arrow.ids(table[name], argument)
        for argument, name in job.arguments
        if argument in IDS
    }
    for i, name in enumerate(job.y_score):
        columns[f"{SCORE} {i}"] = arrow.scores(
            table[name], "y_score" if job.is_single else f"y_score {name!r}"
        )
    if job.sample_weight is not None:
        weights = column(arrow.numbers(table[job.sample_weight]), "sample_weight")
        if weights.any():  # all weights of a chunk may be 0
            weights = check_weights(weights, len(weights), "y_true")
        columns[WEIGHT] = weights
    return arrow.pa.table(columns)


def _may_lack_grades(job: Job) -> bool:
    return job.unjudged_documents is not None or all(map(accepts_unjudged, job.measures))


def _refuse_missing(table: Any, job: Job) -> None:
    """Raise a ValueError that names the column, row and query of the first missing value."""
    for argument, name in job.arguments:
        is_missing = arrow.missing(table[name])
        if is_missing.any() and not (argument == "y_true" and _may_lack_grades(job)):
            row = int(is_missing.argmax())
            value = "null" if table[name][row].as_py() is None else "NaN"
            query = "" if argument == "qid" else f", query {table[job.qid][row].as_py()!r}"
            raise ValueError(
                f"column {name!r} ({argument}) contains {value} in row {row}{query}: "
                f"{FOR_MISSING[argument]}."
            )


def _refuse_high_grades(grades: np.ndarray, dtype: Any, job: Job) -> None:
    """Raise a ValueError for the first grade above the `max_grade` of a measure."""
    for measure in job.measures:
        limit = getattr(measure, "max_grade", None)
        if limit is None:
            continue
        limit = round_to_type(limit, dtype)
        if np.fmax.reduce(grades) > limit:
            raise too_high(measure, grades, limit)


def joined(tables: Iterable[Any]) -> Any:
    """Concatenate validated tables, whose column types may differ; return None if all are None."""
    tables = [table for table in tables if table is not None]
    refuse_other_types(frozenset().union(*map(types_of, tables)))
    if len(tables) < 2:
        return tables[0] if tables else None
    for position, name in enumerate(tables[0].column_names):
        columns = [table[name] for table in tables]
        if len({column.type for column in columns}) > 1:
            tables = [
                table.set_column(position, name, column)
                for table, column in zip(tables, _aligned(columns, name), strict=True)
            ]
    try:
        return arrow.pa.concat_tables(tables, promote_options="permissive")
    except (arrow.pa.ArrowInvalid, arrow.pa.ArrowTypeError) as error:
        raise TypeError(
            f"Columns must have compatible types in all batches or partitions: {error}"
        ) from None


def _aligned(columns: list[Any], name: str) -> list[Any]:
    """Convert columns of different types to types that Arrow joins without loss, if possible."""
    if name in IDS.values():
        return list(map(arrow.plain, columns))
    if name == GRADE:
        return [[grade_column(column.to_numpy(), name)[0]] for column in columns]
    if name.startswith(SCORE):  # Arrow would convert integers to float64
        with suppress(arrow.pa.ArrowInvalid):  # not all scores are whole numbers
            return [column.cast(arrow.pa.int64()) for column in columns]
    return columns


def refuse_other_types(types: Iterable[tuple[str, str]]) -> None:
    """Raise a TypeError if types of ids differ, because equal ids could have different keys."""
    for argument in IDS:
        names = sorted(name for known, name in types if known == argument)
        if len(names) > 1:
            raise TypeError(
                f"{argument} must have the same type in all partitions; got {' and '.join(names)}."
            )


def gathered(parts: Iterable[tuple[Any, Any]], n_rows: int) -> Iterator[Iterator[tuple[Any, ...]]]:
    """Yield groups (places, tables) with at least `n_rows` rows; the last group may be smaller."""
    group: list[Any] = []
    n = 0
    for place, table in parts:
        group.append((place, table))
        n += table.num_rows
        if n >= n_rows:
            yield zip(*group, strict=True)
            group, n = [], 0
    if group:
        yield zip(*group, strict=True)


# Measuring ---------------------------------------------------------------------------------------


def no_queries(job: Job) -> dict[str, Evaluation]:
    """Return a dict that maps each system to an Evaluation without queries."""
    names = [measure.name for measure in job.measures]
    evaluation = Evaluation(
        np.empty(0, dtype=object),
        dict.fromkeys(names, np.empty(0)),
        dict.fromkeys(names, np.empty(0, dtype=bool)),
        weights=None if job.sample_weight is None else np.empty(0),
        unjudged_documents=job.unjudged_documents,
    )
    return dict.fromkeys(job.y_score, evaluation)


def split_error(query: Any, *places: Any) -> ValueError:
    """Return the error for a query whose rows are not contiguous; an unknown query is None."""
    places = tuple(dict.fromkeys(places))
    shown = str(query) if isinstance(query, np.generic) else repr(query)
    which = "a query" if query is None else f"query {shown}"
    return ValueError(
        f"The rows of {which} are not contiguous in {' and '.join(places)}. Use "
        "partitioning='shuffle', or group the rows of each query together. If they are the same "
        "rows twice, such as a file delivered twice, 'shuffle' counts them twice: also pass "
        "document= and duplicates='drop'."
    )


def without_edges(table: Any, place: str, in_order: bool) -> tuple[Any, Any]:
    """Split a table into the inner queries and the edges (the first and last queries).

    If `in_order`, the rows of each query must be contiguous. The edges are copied, because a
    slice keeps the whole table in memory and is serialized together with the whole table.
    """
    queries = table[QUERY]
    end, start = arrow.first_of_last(queries)
    if end < start:
        first, last = (arrow.plain(queries.slice(row, 1)) for row in (0, table.num_rows - 1))
        if not in_order:
            equal, queries = arrow.compute.equal, arrow.plain(queries)
            at_edges = arrow.compute.or_(equal(queries, first[0]), equal(queries, last[0]))
            is_edge = at_edges.to_numpy()
            return tuple(arrow.take(table, np.flatnonzero(rows)) for rows in (~is_edge, is_edge))
        if first == last:
            raise split_error(arrow.as_given(first)[0], place)
    inside = table.slice(end, max(start - end, 0))
    after = np.arange(max(end, start), table.num_rows)
    return inside, arrow.take(table, np.concatenate([np.arange(end), after]))


class Segments(NamedTuple):
    """The segment of each query."""

    names: list[Any]
    codes: np.ndarray  # position of each query's segment in `names`

    @classmethod
    def of(cls, table: Any, job: Job, judgments: Judgments) -> Segments:
        """Read the segment of each query; raise a ValueError if a query is in two segments."""
        row_codes, distinct = query_codes(arrow.as_given(table[SEGMENT]), name="by")
        names = list(map(as_segment, plain_list(distinct)))
        query_of_row = layout_of(judgments).query_of_row
        codes = np.empty(judgments.n_queries, dtype=np.intp)
        codes[query_of_row] = row_codes
        differs = codes[query_of_row] != row_codes
        if differs.any():
            row = int(differs.argmax())
            query = query_of_row[row]
            first, second = names[row_codes[row]], names[codes[query]]
            raise ValueError(
                f"Column {job.by!r} (by) contains the segments {first!r} and {second!r} for query "
                f"{plain(judgments.query_ids[query])!r}: each query must have a single segment."
            )
        return cls(names, codes)

    def queries(self) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield the name of each segment and the positions of its queries."""
        order = np.argsort(self.codes, kind="stable")
        codes, starts = np.unique(self.codes[order], return_index=True)
        for code, queries in zip(codes, np.split(order, starts[1:]), strict=bool(len(order))):
            yield self.names[code], queries


class Measured(NamedTuple):
    """Per-query values of a chunk, and the rows of queries that may continue in other chunks."""

    evaluations: dict[str, Evaluation]
    segments: Segments | None  # None without `by`
    place: str | None  # None if the queries cannot be split
    edges: Any
    types: frozenset[tuple[str, str]]  # see `types_of`
    n_dropped: np.ndarray | None = None  # number of dropped duplicates per query, if any

    @property
    def query_ids(self) -> np.ndarray:
        """The query ids, which are the same for all systems."""
        return next(iter(self.evaluations.values())).query_ids

    @property
    def marks(self) -> np.ndarray:
        """The 64-bit key of each query id, used to detect split queries."""
        return arrow_strings.marks(self.query_ids)

    def take(self, queries: Any) -> Measured:
        """Return the results of the queries at the given positions, without edges."""
        taken = {name: evaluation.take(queries) for name, evaluation in self.evaluations.items()}
        segments = self.segments and self.segments._replace(codes=self.segments.codes[queries])
        n_dropped = None if self.n_dropped is None else self.n_dropped[queries]
        return Measured(taken, segments, self.place, None, self.types, n_dropped)

    def sums(self, job: Job) -> Any:
        """Return the Summary or, for several systems, the Summaries of all queries."""
        single = self.evaluations[job.y_score[0]]
        report: Any = Summary.of(single) if job.is_single else Summaries.of(self.evaluations)
        if self.n_dropped is not None:
            report = replace(report, n_duplicates=int(self.n_dropped.sum()))
        if self.segments is None:
            return report
        return replace(
            report,
            by=job.by,
            segments={
                segment: self.take(queries)._replace(segments=None).sums(job)
                for segment, queries in self.segments.queries()
            },
        )


def ids_with(measured: Measured, marks: np.ndarray) -> np.ndarray:
    """Return the query ids whose 64-bit key is one of `marks`."""
    return measured.query_ids[np.isin(measured.marks, marks) if len(marks) else []]


def table_of_values(measured: Measured, id_type: Any = None) -> Any:
    """Return the per-query values of one system as an Arrow table with one row per query."""
    (evaluation,) = measured.evaluations.values()
    ids = arrow.pa.array(evaluation.query_ids.tolist(), id_type)
    weight = {} if evaluation.weights is None else {"weight": evaluation.weights}
    return arrow.pa.table({"query_id": ids, **evaluation.per_query, **weight})


def summed(results: Iterable[Measured], job: Job) -> Summary | Summaries:
    """Sum the results of chunks: a Summary of one system, or Summaries of several systems."""
    if job.by is not None:
        results = _gathered_segments(results)
    return merged_in_order(measured.sums(job) for measured in results)


def _gathered_segments(results: Iterable[Any]) -> Iterator[Measured]:
    """Concatenate results before they are summed, because each sum of a segment is slow."""
    group: list[Any] = []
    n = 0  # number of queries in the group
    names: dict[Any, int] = {}  # maps the segments of all results to their codes
    for measured in results:
        codes = [names.setdefault(name, len(names)) for name in measured.segments.names]
        group.append((measured, np.array(codes, dtype=np.intp)[measured.segments.codes]))
        n += len(measured.segments.codes)
        if n >= max(MIN_QUERIES, len(names) * QUERIES_PER_SEGMENT):
            yield _concatenated(group, list(names))
            group, n = [], 0
    if group:
        yield _concatenated(group, list(names))


def _concatenated(group: list[tuple[Any, np.ndarray]], names: list[Any]) -> Measured:
    """Concatenate pairs (result of a chunk, code of the segment of each query)."""
    results = [(measured, codes) for measured, codes in group if len(codes)] or group[:1]
    evaluations = {
        system: joined_evaluations([measured.evaluations[system] for measured, _ in results])
        for system in results[0][0].evaluations
    }
    segments = Segments(names, np.concatenate([codes for _, codes in results]))
    n_dropped = np.concatenate(
        [
            np.zeros(len(codes), dtype=int) if measured.n_dropped is None else measured.n_dropped
            for measured, codes in results
        ]
    )
    return Measured(evaluations, segments, None, None, frozenset(), n_dropped)


def measure_part(part: Any, job: Job, place: str) -> Measured:
    """Evaluate the queries of a chunk; for "clustered", all except the first and last queries."""
    table, edges = clean(part, job, place), None
    if job.partitioning == "clustered" and table is not None:
        table, edges = without_edges(table, place, job.in_order)
    return measure_together(table, job, place, edges)


def measure_together(table: Any, job: Job, place: str | None = None, edges: Any = None) -> Measured:
    """Evaluate a validated table, or None if there are no rows.

    If `place` is None, the table must contain whole queries.
    """
    if table is None or not table.num_rows:
        none = None if job.by is None else Segments([], np.empty(0, dtype=np.intp))
        return Measured(no_queries(job), none, place, edges, types_of(table))
    weights = table[WEIGHT].to_numpy() if WEIGHT in table.column_names else None
    has_weight = weights is None or weights.any()
    with errors_in(place or SHUFFLED_ROWS):
        judgments = Judgments(
            table[GRADE].to_numpy(),
            qid=arrow.as_given(table[QUERY]),
            sample_weight=weights if has_weight else None,
        )
        segments = None if job.by is None else Segments.of(table, job, judgments)
    n = table.num_rows
    scores = [
        check_scores(arrow.numbers(table[f"{SCORE} {i}"]), n) for i in range(len(job.y_score))
    ]
    # A partition of Spark may contain several files, in any order.
    if job.partitioning == "clustered" and job.in_order:
        _refuse_interrupted(judgments, place)
    if job.document is not None:
        systems = dict(zip(job.y_score, scores, strict=True))
        documents = arrow.as_given(table[DOCUMENT])
        rows = distinct_documents(judgments, documents, systems, weights, job.duplicates)
        if rows is not None:
            codes = layout_of(judgments).query_of_row
            measured = measure_together(
                arrow.take(table, rows), replace(job, document=None), place, edges
            )
            n_dropped = np.bincount(codes) - np.bincount(codes[rows])
            return measured._replace(n_dropped=n_dropped)
    with errors_in(place or SHUFFLED_ROWS):
        evaluations = [
            evaluate_judgments(list(job.measures), judgments, of_system, job.unjudged_documents)
            for of_system in scores
        ]
    if not has_weight:
        no_weights = np.zeros(judgments.n_queries)
        evaluations = [replace(evaluation, weights=no_weights) for evaluation in evaluations]
    by_system = dict(zip(job.y_score, evaluations, strict=True))
    return Measured(by_system, segments, place, edges, types_of(table))


def _refuse_interrupted(judgments: Judgments, place: str | None) -> None:
    """Raise a ValueError that names a query unless the rows of each query are contiguous."""
    if layout_of(judgments).order is not None:
        codes = layout_of(judgments).query_of_row
        n_runs = np.bincount(codes[np.flatnonzero(np.diff(codes, prepend=-1))])
        raise split_error(plain_list(judgments.query_ids[n_runs > 1])[0], place)


def types_of(table: Any) -> frozenset[tuple[str, str]]:
    """Return pairs (argument, type) for the ids and segments of a validated table or None."""
    if table is None:
        return frozenset()
    return frozenset(
        (argument, str(arrow.standard_type(table.schema.field(name).type)))
        for argument, name in IDS.items()
        if name in table.column_names
    )


def finished(sums: Any, job: Job) -> Summary | Summaries:
    """Return the sums with their label; raise a ValueError if no query has a positive weight."""
    summary = sums if job.is_single else next(iter(sums.systems.values()))
    if not summary.n_queries:
        raise ValueError("y_true is empty: pass at least one row.")
    if job.sample_weight is not None and any(
        not tally.moments.n and not (tally.n_undefined and np.isnan(measure.undefined))
        for measure, tally in zip(job.measures, summary.tallies.values(), strict=True)
    ):  # every query with a positive weight is counted in `n` or in `n_undefined`
        raise ValueError("sample_weight is 0 in all rows: at least one weight must be positive.")
    return labeled(sums, job.label)
