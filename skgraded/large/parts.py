"""A part of a large table: its columns made clean, its queries measured, its ids compared.

What all engines share. A part is a table as it lies on one of many workers, or comes from one of
many batches. Its errors name the part, and count rows inside it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skgraded._input.columns import (
    check_weights,
    column,
    grade_column,
    grades_as_given,
    one_of,
    refuse_nan_scores,
)
from skgraded._input.queries import query_codes
from skgraded._input.words import plain_list
from skgraded.judgments import Judgments
from skgraded.measures import Measure, as_measures
from skgraded.reports.evaluation import Evaluation, evaluation_of, values_by_query
from skgraded.reports.summaries import Summaries
from skgraded.reports.summary import Summary

if TYPE_CHECKING:
    import pandas

PARTITIONINGS = ("shuffle", "clustered", "whole")
check_partitioning: Callable[[Any], str] = one_of("partitioning", PARTITIONINGS)
EDGES = "the first and last queries of the partitions"
GRADE, QUERY, WEIGHT, SCORE = "grade", "query", "weight", "score"  # columns of a clean table

PARAMETERS = """
y_true, qid : str
    Names of the columns of grades ≥ 0, and of the query of each row: a number, text or a date.
y_score : str, or list of str
    Name of the column of the system's scores; of several, which are compared, a list.
measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
sample_weight : str, optional
    The column of weights; a query's weight is the mean over its rows.
partitioning : {"shuffle", "clustered", "whole"}, default="shuffle"
    How rows lie. "shuffle": anyhow; they are brought together by query first, which is always
    right and what costs most. "clustered": the rows of a query follow each other, and may go on in
    the next part. "whole": no query is in two parts. The last two are verified.
"""


@dataclass(frozen=True)
class Job:
    """What is to be measured, and in which columns; it goes to every worker."""

    y_true: str
    y_score: tuple[str, ...]
    qid: str
    measures: tuple[Measure, ...]
    sample_weight: str | None
    is_one: bool  # whether one system was asked for by its name, and not a list of them

    @property
    def columns(self) -> list[str]:
        """Names of all columns, each once."""
        names = [self.y_true, *self.y_score, self.qid, self.sample_weight]
        return list(dict.fromkeys(name for name in names if name is not None))

    def summed(self, evaluations: dict[str, Evaluation]) -> Summary | Summaries:
        """The Summary of one system, or the Summaries of several."""
        if self.is_one:
            return Summary.of(evaluations[self.y_score[0]])
        return Summaries.of(evaluations)

    def merged(self, parts: Iterable[Any]) -> Summary | Summaries:
        """What `summed` gives of all parts together."""
        return Summary.merge(parts) if self.is_one else Summaries.merge(parts)


def check_job(
    y_true: str,
    y_score: Any,
    qid: str,
    measures: str | Measure | Iterable[str | Measure],
    sample_weight: str | None = None,
    shipped: bool = False,
) -> Job:
    """Check what the caller asks for; `shipped` if it goes to other processes."""
    is_one = not isinstance(y_score, (list, tuple))
    scores = (y_score,) if is_one else tuple(y_score)
    names = [("y_true", y_true), *(("y_score", name) for name in scores), ("qid", qid)]
    if sample_weight is not None:
        names.append(("sample_weight", sample_weight))
    for argument, name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"{argument} must be the name of a column; got {type(name).__name__}."
            )
    if not is_one and (len(scores) < 2 or len(set(scores)) < len(scores)):
        raise ValueError(
            f"y_score must be the name of a column, or a list of two or more; got {y_score!r}."
        )
    job = Job(y_true, scores, qid, tuple(as_measures(measures)), sample_weight, is_one)
    if shipped:
        pickle.dumps(job)  # a measure with a lambda says so here
    return job


def refuse_several(job: Job) -> None:
    """Refuse a list of systems where values by query are asked for."""
    if not job.is_one:
        raise TypeError(f"y_score must be the name of one column; got {list(job.y_score)!r}.")


def refuse_order_of_rows(job: Job) -> None:
    """Refuse measures that depend on the order of rows, which engines do not keep."""
    for measure in job.measures:
        if getattr(measure, "ties", None) == "ordinal":
            raise ValueError(
                f"{measure} takes tied documents in the order of rows, which the engine does not "
                "keep: use another ties=, or partitions of whole queries and partitioning='whole'."
            )


@contextmanager
def errors_in(place):
    """Say of errors in which part they are."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"In {place}, where rows count from 0: {error}") from None


# A clean table -----------------------------------------------------------------------------------

def clean(part: Any, job: Job, place: str) -> Any:
    """The columns of a part, checked, as an Arrow table of few types under our own names."""
    from skgraded._input import arrow

    with errors_in(place):
        given = arrow.as_arrow(part, job.columns)
        if not given.num_rows:
            return None
        columns = {QUERY: arrow.ids(given[job.qid], "qid")}
        columns[GRADE] = _checked_grades(arrow.numbers(given[job.y_true]), job.measures)
        for i, name in enumerate(job.y_score):
            scores = arrow.numbers(given[name])
            called = "y_score" if job.is_one else f"y_score {name!r}"
            refuse_nan_scores(column(scores, called), called)
            columns[f"{SCORE} {i}"] = arrow.scores(given[name], scores)
        if job.sample_weight is not None:
            weights = column(arrow.numbers(given[job.sample_weight]), "sample_weight")
            if weights.any():  # a part of no weight may stand beside others
                weights = check_weights(weights, len(weights), "y_true")
            columns[WEIGHT] = weights
        return arrow.pa.table(columns)


def _checked_grades(values, measures):
    """Grades as they were given, which are right for the measures too."""
    grades = grades_as_given(values, "y_true", allow_nan=True)
    highest = grades.max()  # NaN if one is unknown
    for measure in measures:
        if np.isnan(highest) or highest > (getattr(measure, "max_grade", None) or highest):
            measure.n_undefined(Judgments(grades))  # raises unless it takes unknown grades
    return grades


def evaluate_table(
    table: Any, job: Job, place: str, in_runs: bool = False
) -> dict[str, Evaluation]:
    """Evaluations by system of a clean table of whole queries; in runs: whose rows are together."""
    from skgraded._input import arrow

    weights = table[WEIGHT].to_numpy() if WEIGHT in table.column_names else None
    has_weight = weights is None or weights.any()
    query_ids, group = arrow.runs(table[QUERY]) if in_runs else (None, None)
    if in_runs:
        _refuse_two_runs(query_ids, place)
    with errors_in(place):
        judgments = Judgments(
            table[GRADE].to_numpy(), qid=None if in_runs else arrow.as_given(table[QUERY]),
            group=group, sample_weight=weights if has_weight else None,
        )
        found = [
            values_by_query(list(job.measures), judgments, arrow.numbers(table[f"{SCORE} {i}"]))
            for i in range(len(job.y_score))
        ]
    if in_runs:
        found = [one | {"query_ids": query_ids} for one in found]
    if not has_weight:
        found = [one | {"weights": np.zeros(judgments.n_queries)} for one in found]
    return {name: evaluation_of(**one) for name, one in zip(job.y_score, found, strict=True)}


def _refuse_two_runs(ids, place):
    """Refuse ids of runs of which two are the same."""
    from skgraded._input import arrow

    marks = np.sort(arrow.marks(ids))
    if not (marks[1:] == marks[:-1]).any():
        return
    codes, queries = query_codes(ids)
    twice = np.flatnonzero(np.bincount(codes) > 1)
    if len(twice):  # else two ids share their mark
        raise torn(plain_list(queries[twice[:1]])[0], place)


def torn(query: Any, *places: str) -> ValueError:
    """A ValueError about a query whose rows lie apart."""
    one_part = len(places) == 1 and places[0] != EDGES
    where = f"{' and '.join(places)} {'holds' if one_part else 'hold'}"
    shown = str(query) if isinstance(query, np.generic) else repr(query)
    which = "A query" if query is None else f"Query {shown}"
    return ValueError(
        f"{which} is torn: {where} rows of it apart from each other. Use "
        "partitioning='shuffle', or bring the rows of each query together."
    )


def without_edges(table: Any, place: str, in_order: bool) -> tuple[Any, Any]:
    """A table without its first and its last query, None if there are no more, and these.

    Of rows in order, those of a query follow each other. What is at the edges is copied: a slice
    would hold the whole table, and be sent with all of it.
    """
    from skgraded._input import arrow

    queries = table[QUERY]
    end, start = arrow.first_of_last(queries)
    if end < start and not in_order:
        at_edges = arrow.is_one_of(queries, queries[0], queries[-1])
        return table.filter(arrow.compute.invert(at_edges)), table.filter(at_edges)
    if end < start and queries[0] == queries[-1]:
        raise torn(queries[0].as_py(), place)
    inside = table.slice(end, start - end) if end < start else None
    after = np.arange(max(end, start), table.num_rows)
    return inside, table.take(np.concatenate([np.arange(end), after]))


def query_ids_of(evaluations: Mapping[str, Evaluation]) -> np.ndarray:
    """The ids of the queries, which all systems share."""
    return next(iter(evaluations.values())).query_ids


def marks_of(evaluations: Mapping[str, Evaluation]) -> np.ndarray:
    """64 bits of each query."""
    from skgraded._input import arrow

    return arrow.marks(query_ids_of(evaluations))


class Measured(NamedTuple):
    """What comes of a part: values of its queries, and the rows of those that may go on in others.

    Where a query may go on in the next part, the first and the last one are left over.
    """

    evaluations: dict[str, Evaluation]
    edges: Any = None
    id_types: frozenset[str] = frozenset()


def measure_part(
    part: Any, job: Job, place: str, partitioning: str, in_order: bool = True
) -> Measured:
    """Measure a part as it comes, or what is inside it if its ends are clustered with others."""
    table, edges = clean(part, job, place), None
    id_types = id_types_of(table)
    in_runs = in_order and partitioning == "clustered"
    if partitioning == "clustered" and table is not None:
        table, edges = without_edges(table, place, in_order)
    if table is None or not table.num_rows:
        return Measured(nothing(job), edges, id_types)
    return Measured(evaluate_table(table, job, place, in_runs), edges, id_types)


def measure_together(table: Any, job: Job) -> Measured:
    """Measure a clean table of rows that were brought together by query, None if there is none."""
    if table is None or not table.num_rows:
        return Measured(nothing(job))
    together = evaluate_table(table, job, "the rows that were brought together")
    return Measured(together, id_types=id_types_of(table))


def id_types_of(*tables: Any) -> frozenset[str]:
    """The types of the ids of clean tables, None among them."""
    return frozenset(str(table.schema.field(QUERY).type) for table in tables if table is not None)


def refuse_other_types(id_types: Iterable[str]) -> None:
    """Raise a TypeError if ids are of several types, of which equal ones may look different."""
    kinds = sorted(id_types)
    if len(kinds) > 1:
        raise TypeError(
            f"qid is of the types {' and '.join(kinds)} in different partitions. Give it the same "
            "type in all."
        )


def measure_edges(edges: Iterable[Any], job: Job, in_order: bool = True) -> dict[str, Evaluation]:
    """Measure what all parts have left over; in order: that of the rows."""
    table = joined(edges)
    return nothing(job) if table is None else evaluate_table(table, job, EDGES, in_order)


def nothing(job: Job) -> dict[str, Evaluation]:
    """Evaluations by system of no query."""
    names = [measure.name for measure in job.measures]
    evaluation = Evaluation(
        np.empty(0, dtype=object),
        {name: np.empty(0) for name in names},
        {name: np.empty(0, dtype=bool) for name in names},
        weights=None if job.sample_weight is None else np.empty(0),
    )
    return dict.fromkeys(job.y_score, evaluation)


def frame_of(evaluations: Mapping[str, Evaluation], dtype: Any) -> pandas.DataFrame:
    """Values by query of one system as a frame, whose ids are of a type of pandas."""
    (evaluation,) = evaluations.values()
    frame = evaluation.to_frame()
    if getattr(dtype, "tz", None) is not None and frame["query_id"].dtype.kind == "M":
        frame["query_id"] = frame["query_id"].dt.tz_localize("UTC")
    return frame.astype({"query_id": dtype})


def ids_of_part(part: Any, job: Job, place: str) -> np.ndarray:
    """The ids in a part."""
    from skgraded._input import arrow

    given = arrow.as_given(clean(part, job, place)[QUERY])
    return query_codes(given)[1]


# All parts ---------------------------------------------------------------------------------------

def gathered(parts: Iterable[tuple[Any, Any]], n_rows: int) -> Iterator[tuple[list, list]]:
    """Places and tables, as many together as have `n_rows` rows; in the end what is left."""
    places: list = []
    tables: list = []
    n = 0
    for place, table in parts:
        places.append(place)
        tables.append(table)
        n += table.num_rows
        if n >= n_rows:
            yield places, tables
            places, tables, n = [], [], 0
    if tables:
        yield places, tables


def joined(tables: Iterable[Any]) -> Any:
    """One clean table of several, None among them, whose numbers may be of different kinds."""
    from skgraded._input import arrow

    tables = [table for table in tables if table is not None]
    if len(tables) < 2:
        return tables[0] if tables else None
    if len({str(table.schema.field(GRADE).type) for table in tables}) > 1:
        tables = [_with_wide_grades(table) for table in tables]
    try:
        return arrow.pa.concat_tables(tables, promote_options="permissive")
    except (arrow.pa.ArrowInvalid, arrow.pa.ArrowTypeError) as error:
        raise TypeError(
            f"A column has other types in other parts, which do not go together: {error}"
        ) from None


def _with_wide_grades(table):
    """A clean table whose grades are floats of 64 bits if they were of fewer."""
    grades = table[GRADE].to_numpy()
    if grades.dtype.kind != "f" or grades.dtype == np.float64:
        return table
    position = table.column_names.index(GRADE)
    return table.set_column(position, GRADE, [grade_column(grades, GRADE)])


def refuse_torn(
    marks: Sequence[np.ndarray],
    ids_of: Callable[[int], np.ndarray] | None,
    name_of: Callable[[int], str],
) -> None:
    """Raise a ValueError that names a query of which two parts hold rows.

    `marks` are those of each part, `ids_of` gives the ids of a part by its number, maybe by making
    it anew, or is None if these are gone, and `name_of` what messages call it.
    """
    together = np.concatenate([np.empty(0, dtype=np.uint64), *marks])
    together.sort()
    for mark in together[1:][together[1:] == together[:-1]]:
        places = [i for i, own in enumerate(marks) if (own == mark).any()]
        if len(places) < 2:  # two ids of one part share their mark
            continue
        if ids_of is None:
            raise torn(None, *map(name_of, places[:2]))
        _refuse_shared({place: _with_mark(ids_of(place), mark) for place in places}, name_of)


def _with_mark(ids, mark):
    from skgraded._input import arrow

    return plain_list(ids[arrow.marks(ids) == mark])


def _refuse_shared(ids_in, name_of):
    """Raise a ValueError about an id that is in two places; several only share their mark."""
    place_of: dict = {}
    for place, ids in ids_in.items():
        for query in ids:
            if query in place_of:
                raise torn(query, name_of(place_of[query]), name_of(place))
            place_of[query] = place
    if len(place_of) < 2:  # the parts that were made anew hold other rows
        raise torn(next(iter(place_of), None), *map(name_of, list(ids_in)[:2]))


def refuse_nothing(found: Any, job: Job) -> Any:
    """What was found itself; a ValueError if there is no query, or none of any weight."""
    summary = found if job.is_one else next(iter(found.systems.values()))
    if not summary.n_queries:
        raise ValueError("y_true is empty: there is nothing to measure.")
    if job.sample_weight is not None and any(
        not tally.moments.n and not (tally.n_undefined and np.isnan(measure.undefined))
        for measure, tally in zip(job.measures, summary.tallies.values(), strict=True)
    ):  # a query that had weight would be counted, undefined or not
        raise ValueError("sample_weight is 0 in all rows: give at least one query a weight.")
    return found
