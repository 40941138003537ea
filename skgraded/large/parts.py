"""Validation and evaluation of a large table in parts.

All engines share this code. A part is a batch, a file, or a partition of a DataFrame. Error
messages state the part and the row within the part.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from skgraded._input import arrow
from skgraded._input.door import (
    add_place,
    check_given_scores,
    check_scores,
    check_weights,
    column,
    make_argument_error,
    make_object_array,
    read_grades,
    refuse_bad_grades,
    to_plain_list,
)
from skgraded._input.libraries import Advance, show_nothing
from skgraded._input.queries import query_codes
from skgraded._input.segments import as_segment
from skgraded._input.tables import convert_library_errors
from skgraded.judgments import Judgments, get_layout
from skgraded.large.jobs import Job
from skgraded.measures.base import accepts_negative, accepts_unjudged
from skgraded.reports.evaluating import evaluate_judgments, find_constants, keep_distinct_documents
from skgraded.reports.evaluation import Evaluation, replace_fields, take_queries
from skgraded.reports.summary import Summaries, Summary, add_label, merge_in_order

# Columns of validated tables and of Measured; segment columns are called "by 'name'".
GRADE, QUERY, WEIGHT, DOCUMENT, SCORE = "grade", "qid", "weight", "document", "score"
SEGMENT, PLACE, N_DROPPED = "by {!r}", "place", "n_dropped"
ID = re.compile("qid|document|by ")  # id columns; their types must not differ between parts

FOR_MISSING = {  # advice on missing values, keyed by argument
    "qid": "fill in the missing ids",
    "y_score": "use the score -inf for documents that were not retrieved",
    "sample_weight": "fill in the missing weights",
    "y_true": "set unjudged_documents to 'irrelevant' (grade 0) or 'drop' (exclude the rows)",
    "by": "fill in the missing segments",
    "document": "fill in the missing document ids",
}


class Measured(NamedTuple):
    """Per-query values of a part."""

    evaluations: dict[str, Evaluation]  # keyed by system
    columns: dict[str, np.ndarray]  # part, segment and number of dropped duplicates for each query
    types: dict[str, str]  # types of the ids and segments, keyed by column

    @property
    def query_ids(self) -> np.ndarray:
        """The query ids, which are the same for all systems."""
        return next(iter(self.evaluations.values())).query_ids

    @property
    def num_rows(self) -> int:
        """The number of queries, named as in Arrow tables."""
        return len(self.columns[PLACE])

    def take(self, queries: np.ndarray | slice) -> Self:
        """Return the values of the queries at the positions `queries`."""
        evaluations = {name: take_queries(part, queries) for name, part in self.evaluations.items()}
        columns = {name: values[queries] for name, values in self.columns.items()}
        return type(self)(evaluations, columns, self.types)


Item: TypeAlias = "pa.Table | Measured"  # validated rows, or values of queries
Merged: TypeAlias = Summary | Summaries
T = TypeVar("T")


def group_by_size(
    items: Iterable[T], n: float, size_of: Callable[[T], int] = attrgetter("num_rows")
) -> Iterator[list[T]]:
    """Yield lists of items whose sizes sum to at least `n`, except for the last list."""
    group: list[T] = []
    size = 0
    for item in items:
        group.append(item)
        size += size_of(item)
        if size >= n:
            yield group
            group, size = [], 0
    if group:
        yield group


# Validation --------------------------------------------------------------------------------------


@contextmanager
def place_part_errors(place: str) -> Iterator[None]:
    """Add the name of the part to error messages, including those of table libraries."""
    try:
        with convert_library_errors("the table"):
            yield
    except (ValueError, TypeError) as error:
        raise add_place(error, f"In {place}, where rows are numbered from 0") from None


def check_rows(part: Any, job: Job, place: str) -> pa.Table | None:
    """Return the validated columns of a part, or None if there are no rows."""
    with place_part_errors(place):
        table = arrow.as_arrow(part, job.columns)
        if not table.num_rows:
            return None
        try:
            return _check_columns(table, job)
        except (ValueError, TypeError):
            _refuse_missing_values(table, job)
            raise


def _check_columns(table: pa.Table, job: Job) -> pa.Table:
    """Return the validated columns with standard column names."""
    grades, dtype = read_grades(arrow.convert_numbers(table[job.y_true]), "y_true")
    is_of_order = all(map(accepts_negative, job.measures))
    refuse_bad_grades(
        grades, "y_true", allow_nan=_allows_missing_grades(job), allow_negative=is_of_order
    )
    columns = {GRADE: grades.astype(dtype, copy=False)} | {
        SEGMENT.format(name) if argument == "by" else argument: arrow.convert_ids(
            table[name], argument
        )
        for argument, name in job.arguments
        if argument in ("qid", "by", "document")
    }
    for i, name in enumerate(job.y_score):
        argument = "y_score" if job.is_single else f"y_score {name!r}"
        columns[f"{SCORE} {i}"] = check_given_scores(arrow.convert_numbers(table[name]), argument)
    if job.sample_weight is not None:
        weights = column(arrow.convert_numbers(table[job.sample_weight]), "sample_weight")
        if weights.any():  # all weights of a part may be 0
            weights = check_weights(weights, len(weights), "y_true")
        columns[WEIGHT] = weights
    return pa.table(columns)


def _allows_missing_grades(job: Job) -> bool:
    return job.unjudged_documents is not None or all(map(accepts_unjudged, job.measures))


def _refuse_missing_values(table: pa.Table, job: Job) -> None:
    """Raise a ValueError that names the column, row and query of the first missing value."""
    for argument, name in job.arguments:
        is_missing = arrow.mark_missing(table[name])
        if is_missing.any() and not (argument == "y_true" and _allows_missing_grades(job)):
            row = int(is_missing.argmax())
            value = "null" if table[name][row].as_py() is None else "NaN"
            query = "" if argument == "qid" else f", query {table[job.qid][row].as_py()!r}"
            raise make_argument_error(
                f"column {name!r} ({argument}) contains {value} in row {row}{query}: "
                f"{FOR_MISSING[argument]}.",
                "unjudged_documents",
            )


def join_rows(tables: list[pa.Table]) -> pa.Table:
    """Concatenate validated tables, whose column types may differ."""
    if len(tables) == 1:
        return tables[0]
    _refuse_other_types(map(list_id_types, tables))
    for position, name in enumerate(tables[0].column_names):
        columns = [table[name] for table in tables]
        if len({column.type for column in columns}) > 1:
            tables = [
                table.set_column(position, name, column)
                for table, column in zip(tables, _align_types(columns, name), strict=True)
            ]
    return pa.concat_tables(tables, promote_options="permissive")


def _align_types(columns: list[pa.ChunkedArray], name: str) -> list[Any]:
    """If possible, convert columns to types that Arrow can concatenate without loss."""
    if name == GRADE:
        return [[read_grades(column.to_numpy(), name)[0]] for column in columns]
    if name.startswith(SCORE):  # Arrow would concatenate integers and floats as float64
        for kind in (pa.int64(), pa.float64()):
            with suppress(pa.ArrowInvalid):  # raised if a number would change
                return [column.cast(kind) for column in columns]
        types = sorted({str(column.type) for column in columns})
        raise ValueError(
            f"y_score must have the same type in all batches or partitions; got {' and '.join(types)} "
            "with numbers that no common type can represent."
        )
    return columns


def list_id_types(table: pa.Table) -> dict[str, str]:
    """Return the types of the ids and segments of a validated table, keyed by column."""
    return {field.name: str(field.type) for field in table.schema if ID.match(field.name)}


def _refuse_other_types(types: Iterable[dict[str, str]]) -> None:
    """Raise a TypeError if id types differ, because 1 and "1" would be different queries."""
    known = list(types)
    for name in known[0]:
        names = sorted({of_part[name] for of_part in known})
        if len(names) > 1:
            raise TypeError(
                f"{name} must have the same type in all batches or partitions; got "
                f"{' and '.join(names)}."
            )


# Measuring ---------------------------------------------------------------------------------------


def evaluate_parts(
    parts: Iterable[tuple[str, Any]],
    job: Job,
    n_rows: int = 0,
    show: Advance = show_nothing,
) -> Iterator[Item]:
    """Validate (name, part) pairs, evaluate queries, and yield their values and the remaining rows.

    The remaining rows have not been evaluated, because their queries may continue in other parts.
    If the partitioning is "shuffle", these are all rows. If it is "clustered", parts are first
    combined into larger parts of at least `n_rows` rows; the rows of the first and the last query
    of each larger part remain. `show` receives the size of each part in rows.
    """
    checked = (
        (place, table)
        for place, part in parts
        if (table := check_rows(part, job, place)) is not None
    )
    n_combined = n_rows if job.partitioning == "clustered" else 0
    for group in group_by_size(checked, n_combined, lambda pair: pair[1].num_rows):
        first, last = group[0][0], group[-1][0]
        place = first if first == last else f"{first} to {last}"
        table = join_rows([table for _, table in group])
        show(table.num_rows)
        if job.partitioning == "shuffle":
            yield table
        elif job.partitioning == "whole":
            yield evaluate_queries(table, job, place)
        else:
            with place_part_errors(place):
                end = arrow.count_equal(table[QUERY], 1)
                start = max(end, table.num_rows - arrow.count_equal(table[QUERY], -1))
            # The rows are copied, because a slice would keep the whole table in memory.
            yield arrow.copy_rows(table, np.r_[:end, start : table.num_rows])
            if start > end:
                yield evaluate_queries(table.slice(end, start - end), job, place)


def evaluate_queries(table: pa.Table, job: Job, place: str) -> Measured:
    """Evaluate validated rows, which must contain whole queries."""
    weights = table[WEIGHT].to_numpy() if WEIGHT in table.column_names else None
    has_weight = weights is None or weights.any()
    scores = {
        name: check_scores(arrow.convert_numbers(table[f"{SCORE} {i}"]), table.num_rows)
        for i, name in enumerate(job.y_score)
    }
    with place_part_errors(place):
        judgments = Judgments(
            table[GRADE].to_numpy(),
            qid=arrow.as_given(table[QUERY]),
            sample_weight=weights if has_weight else None,
        )
        columns = {PLACE: np.array([place], dtype=object).repeat(judgments.n_queries)}
        for name in job.segment_columns:
            column = SEGMENT.format(name)
            codes, distinct = query_codes(arrow.as_given(table[column]), name="by")
            segments = make_object_array(list(map(as_segment, to_plain_list(distinct))))
            segment = find_constants(judgments, codes, segments, f"Column {name!r} (by)")
            columns[column] = segments[segment]
    if job.partitioning == "clustered" and get_layout(judgments).order is not None:
        codes = get_layout(judgments).query_of_row
        n_runs = np.bincount(codes[np.flatnonzero(np.diff(codes, prepend=-1))])
        raise _split_error(to_plain_list(judgments.query_ids[n_runs > 1])[0], place)
    if job.document is not None:
        documents = arrow.as_given(table[DOCUMENT])
        kept = keep_distinct_documents(judgments, documents, scores, weights, job.duplicates)
        if kept is not None:
            distinct = arrow.copy_rows(table, kept)
            measured = evaluate_queries(distinct, replace(job, document=None), place)
            codes = get_layout(judgments).query_of_row
            measured.columns[N_DROPPED] = np.bincount(codes) - np.bincount(codes[kept])
            return measured
        columns[N_DROPPED] = np.zeros(judgments.n_queries, dtype=np.intp)
    with place_part_errors(place):
        evaluations = {
            name: evaluate_judgments(
                list(job.measures), judgments, of_system, job.unjudged_documents
            )
            for name, of_system in scores.items()
        }
    if not has_weight:
        no_weights = np.zeros(judgments.n_queries)
        evaluations = {
            name: replace_fields(evaluation, weights=no_weights)
            for name, evaluation in evaluations.items()
        }
    return Measured(evaluations, columns, list_id_types(table))


def _split_error(query: object, *places: str) -> ValueError:
    return make_argument_error(
        f"The rows of query {query!r} are not contiguous in {' and '.join(places)}. Use "
        "partitioning='shuffle', or group the rows of each query together. If they are the same "
        "rows twice, such as a file delivered twice, 'shuffle' counts them twice: also pass "
        "document= and duplicates='drop'.",
        "partitioning",
        "document",
        "duplicates",
    )


def evaluate_items(items: list[Item], job: Job) -> Measured:
    """Evaluate all rows in `items`; join their values with the values already in `items`.

    The items come from `evaluate_parts`, and must contain all rows and values of their queries. If
    a query was evaluated in two parts, raise a ValueError that names it.
    """
    tables = [item for item in items if not isinstance(item, Measured)]
    measured = [item for item in items if isinstance(item, Measured)]
    if tables:
        is_clustered = job.partitioning == "clustered"
        place = (
            "the first and last queries of the partitions" if is_clustered else "the shuffled rows"
        )
        in_any_order = replace(job, partitioning="shuffle")
        measured.append(evaluate_queries(join_rows(tables), in_any_order, place))
    return join_measured(measured)


def join_measured(parts: list[Measured]) -> Measured:
    """Concatenate the values of several parts; raise a ValueError if two parts share a query."""
    if len(parts) == 1:
        return parts[0]
    _refuse_other_types(part.types for part in parts)
    columns = {
        name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns
    }
    try:
        evaluations = {
            name: Evaluation.concat([part.evaluations[name] for part in parts])
            for name in parts[0].evaluations
        }
    except ValueError:  # raised if a query occurs twice
        codes, queries = query_codes(np.concatenate([part.query_ids for part in parts]))
        split = int(np.argmax(np.bincount(codes) > 1))
        places = columns[PLACE][codes == split][:2]
        raise _split_error(to_plain_list(queries)[split], *places) from None
    return Measured(evaluations, columns, parts[0].types)


def tabulate_measured(measured: Measured, job: Job, ids: pa.Array | None = None) -> pa.Table:
    """Return a table with one row per system and query; `ids`, if passed, replaces the query ids."""
    columns = {"query_id": pa.array(measured.query_ids) if ids is None else ids}
    for name in job.segment_columns:
        columns[name] = pa.array(measured.columns[SEGMENT.format(name)])
    tables = []
    for name, evaluation in measured.evaluations.items():
        system = {} if job.is_single else {"system": pa.repeat(name, measured.num_rows)}
        weight = {} if evaluation.weights is None else {"weight": evaluation.weights}
        tables.append(pa.table({**columns, **system, **evaluation.per_query, **weight}))
    return pa.concat_tables(tables)


# Sums --------------------------------------------------------------------------------------------


def summarize_measured(measured: Measured | None, job: Job) -> Merged | None:
    """Return the Summary (for several systems, the Summaries) of all queries and segments."""
    if measured is None:
        return None
    report: Any = _summarize(measured, job)
    if job.by is None:
        return report
    codes, names = _join_segments(
        [measured.columns[SEGMENT.format(c)] for c in job.segment_columns]
    )
    ordered = measured.take(np.argsort(codes, kind="stable"))
    ends = np.cumsum(np.bincount(codes)).tolist()
    segments = {
        name if isinstance(job.by, list) else name[0]: _summarize(ordered.take(slice(*ends)), job)
        for name, *ends in zip(names, [0, *ends[:-1]], ends, strict=True)
    }
    return replace(report, by=job.by, segments=segments)


def _join_segments(columns: list[np.ndarray]) -> tuple[np.ndarray, list[tuple[Any, ...]]]:
    """Return the code of each query's segment, and the segments as tuples."""
    coded = [query_codes(column, name="by") for column in columns]
    shape = [len(names) for _, names in coded]
    joined = np.ravel_multi_index([codes for codes, _ in coded], shape)
    distinct, codes = np.unique(joined, return_inverse=True)
    positions = np.unravel_index(distinct, shape)
    names = [to_plain_list(names[at]) for at, (_, names) in zip(positions, coded, strict=True)]
    return codes, list(zip(*names, strict=True))


def _summarize(measured: Measured, job: Job) -> Merged:
    n_dropped = int(measured.columns.get(N_DROPPED, np.zeros(0)).sum())
    evaluations = measured.evaluations
    report: Any = Summary.of(*evaluations.values()) if job.is_single else Summaries.of(evaluations)
    return replace(report, n_duplicates=n_dropped)


def merge_sums(sums: Iterable[Merged | None]) -> Merged | None:
    """Merge results of `summarize_measured` for disjoint queries; return None if all are None."""
    known = (report for report in sums if report is not None)
    first = next(known, None)
    return None if first is None else merge_in_order(chain([first], known))


def finish(report: Merged | None, job: Job) -> Merged:
    """Label `report`; raise a ValueError unless at least one query has a positive weight."""
    if report is None:
        raise ValueError("y_true is empty: pass at least one row.")
    summary = report if isinstance(report, Summary) else next(iter(report.systems.values()))
    if job.sample_weight is not None and any(
        not tally.moments.n and not (tally.n_undefined and np.isnan(measure.undefined))
        for measure, tally in zip(job.measures, summary.tallies.values(), strict=True)
    ):  # every query with a positive weight is counted in `n` or in `n_undefined`
        raise ValueError("sample_weight is 0 in all rows: at least one weight must be positive.")
    return add_label(report, job.label)
