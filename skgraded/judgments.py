"""The Judgments class, which stores validated grades for repeated evaluations."""

from collections.abc import Callable, Hashable
from copy import copy
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input import door
from skgraded._input.messages import warn_user
from skgraded._input.queries import QueryIds, average_weights, group_by_query, read_group_sizes
from skgraded._input.tables import UNLABELLED, Labels, check_row_labels
from skgraded._kernels.layout import lay_out, starts_of
from skgraded._kernels.threads import run_chunks

T = TypeVar("T")
LONGEST_LIST = 1000  # maximum number of rows without qid; more rows cause a warning
MOST_REMEMBERED = 32  # maximum number of cached plans; a plan may contain one number per row


class Truth(NamedTuple):
    """Checked arrays from which Judgments are made."""

    grades: np.ndarray  # (n,) of float64
    grade_type: Any  # float16, float32 or float64
    query_ids: np.ndarray  # (n_queries,): unique ids in order of first appearance
    order: np.ndarray | None  # row positions sorted by query; None if the rows are sorted
    starts: np.ndarray  # (n_queries + 1,): start of each query in the sorted rows
    sample_weight: np.ndarray | None = None  # (n,)
    labels: Labels = ()  # the row labels of pandas objects


def read_truth(
    y_true: ArrayLike,
    qid: QueryIds | None,
    group: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> Truth:
    """Validate the user's grades, queries and weights, and convert them to arrays."""
    arguments = {"y_true": y_true, "qid": qid, "sample_weight": sample_weight}
    has_labels = any(type(values) not in UNLABELLED for values in arguments.values())
    labels = check_row_labels(arguments) if has_labels else ()
    grades, grade_type = door.read_grades(y_true, "y_true")
    n = len(grades)
    if qid is not None and group is not None:
        raise ValueError("Pass the queries as either qid or group, not both.")
    if qid is not None:
        query_ids, order, starts = group_by_query(qid, n)
    else:
        sizes = np.array([n], dtype=np.intp) if group is None else read_group_sizes(group, n)
        query_ids, order, starts = np.arange(len(sizes)), None, starts_of(sizes)
    if sample_weight is not None:
        sample_weight = door.check_weights(sample_weight, n, "y_true", len(query_ids))
    return Truth(grades, grade_type, query_ids, order, starts, sample_weight, labels)


class Judgments:
    """Relevance grades grouped by query, validated once and reused in many evaluations.

    Every measure accepts a Judgments object in place of ``y_true``.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Grades, any real numbers ≥ 0; 0 = irrelevant. NaN: the grade is unknown. With negative
        numbers, only the order matters. Measures that cannot use NaN or negative numbers raise an
        error.
    qid : array-like of shape (n,), optional
        Query ids of the rows: any hashable values, in any order.
    group : array-like of shape (n_queries,), optional
        Sizes of consecutive queries, as in LightGBM. Without `qid` and `group`, there is one query.
    sample_weight : array-like of shape (n,), optional
        Weights ≥ 0 of the rows. The weight of a query is the mean weight of its rows, as in
        LightGBM.

    Attributes
    ----------
    query_ids : ndarray of shape (n_queries,)
        Query ids in order of first appearance, which is the order of all per-query values. With
        `group`, the ids are 0, 1, ….
    sizes : ndarray of shape (n_queries,)
        Number of rows per query.
    weights : ndarray of shape (n_queries,) or None
        Weights of the queries, or None without `sample_weight`.
    n_rows, n_queries : int
        Numbers of rows and queries.

    Raises
    ------
    ValueError, TypeError
        If the input is invalid.

    Warns
    -----
    UserWarning
        If two arguments are pandas Series with the same row labels in a different order.

    Examples
    --------
    >>> import skgraded as sg
    >>> judgments = sg.Judgments([2, 0, 1, 0, 1], qid=["b", "b", "b", "a", "a"])
    >>> judgments.query_ids, judgments.sizes
    (array(['b', 'a'], dtype=object), array([3, 2]))
    >>> sg.RR()(judgments, [0.3, 0.1, 0.2, 0.9, 0.5])
    0.75
    """

    def __init__(
        self,
        y_true: ArrayLike | Truth,
        *,
        qid: QueryIds | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        truth = (
            y_true if isinstance(y_true, Truth) else read_truth(y_true, qid, group, sample_weight)
        )
        self._labels, self.query_ids = truth.labels, truth.query_ids
        self._layout = layout = Layout(truth)
        self.n_rows, self.n_queries, self.sizes = layout.n_rows, layout.n_queries, layout.sizes
        self.weights: np.ndarray | None = None
        if truth.sample_weight is not None:
            self.weights = average_weights(truth.sample_weight, layout.query_of_row, layout.sizes)

    def __getstate__(self) -> dict[str, Any]:
        # Cached results and pandas objects are not pickled.
        return self.__dict__ | {"_layout": copy(self._layout), "_labels": ()}

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted"
        return f"Judgments({self.n_rows} rows, {self.n_queries} queries{weighted})"


def as_judgments(
    y_true: ArrayLike | Judgments,
    qid: QueryIds | None = None,
    group: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Judgments:
    """Return `y_true` if it is a Judgments object; otherwise, create one from the arguments.

    Warn if many rows are evaluated as a single query because no queries were passed.
    """
    if isinstance(y_true, Judgments):
        for name, value in (("qid", qid), ("group", group), ("sample_weight", sample_weight)):
            if value is not None:
                raise ValueError(
                    f"Pass {name} to Judgments(...), not alongside a Judgments object."
                )
        return y_true
    judgments = Judgments(read_truth(y_true, qid, group, sample_weight))
    if qid is None and group is None and judgments.n_rows > LONGEST_LIST:
        warn_user(
            f"More than {LONGEST_LIST:,} rows are evaluated as one query, because neither qid "
            "nor group is passed. Pass the query of each row as qid; with scikit-learn, use "
            "skgraded.make_ranking_scorer instead of make_scorer. If all rows are one list, "
            "pass group=[len(y_true)]."
        )
    return judgments


def check_scores_of_rows(judgments: Judgments, y_score: ArrayLike) -> np.ndarray:
    """Validate the scores for the rows of a Judgments object, and return them as float64.

    Warn if two pandas objects have the same row labels in different orders.
    """
    if type(y_score) not in UNLABELLED:
        check_row_labels({"y_score": y_score}, judgments._labels)
    return door.check_scores(y_score, judgments.n_rows)


def check_labels(judgments: Judgments, by_argument: dict[str, Any]) -> None:
    """Warn if other arguments have the judgments' row labels, but in a different order."""
    check_row_labels(by_argument, judgments._labels)


# The internal layout ------------------------------------------------------------------------------


class Layout:
    """Arrays of grades and row positions for the kernels, and cached results such as plans.

    Each query has one level per distinct grade, in ascending order. If no grade is negative, the
    first level is grade 0, even if no document has this grade. Otherwise, there is an additional
    first level without documents, which has the lowest grade of all queries.

    Attributes
    ----------
    order : ndarray of shape (n_rows,) or None
        Positions of the rows sorted by query; None if the rows are already sorted.
    starts : ndarray of shape (n_queries + 1,)
        First row of each query in this order, followed by the number of rows.
    codes : ndarray of shape (n_rows,)
        In this order, the level of each document within its query; -1 for the grade NaN.
    n_levels : ndarray of shape (n_queries,)
        Number of levels of each query.
    levels, counts : ndarray of shape (n_levels.sum(),)
        Grade and number of documents of each level, for all queries.
    level_starts : ndarray of shape (n_queries + 1,)
        First level of each query, followed by the number of levels of all queries.
    """

    def __init__(self, truth: Truth) -> None:
        grades, self.grade_type, _, order, starts, *_ = truth
        self.order, self.starts = order, starts
        self.n_rows, self.n_queries = len(grades), len(starts) - 1
        self.sizes: np.ndarray = starts[1:] - starts[:-1]
        self.max_size = int(self.sizes.max())
        self.codes: np.ndarray = np.empty(self.n_rows, dtype=np.int32)
        chunks = run_chunks(partial(lay_out, grades, order, starts, self.codes), starts)
        self.has_negative = not all(is_good for *_, is_good in chunks)
        if self.has_negative:  # replace the grades with their ranks, which start at 1
            door.refuse_bad_grades(grades, "y_true", allow_nan=True, allow_negative=True)
            distinct, ranks = np.unique(grades, return_inverse=True)
            ranks = np.where(np.isnan(grades), np.nan, ranks + 1.0)
            chunks = run_chunks(partial(lay_out, ranks, order, starts, self.codes), starts)
        levels, counts, n_levels, n_unknown, _ = zip(*chunks, strict=True)
        if len(chunks) > 1:  # a single chunk is not copied
            levels, counts, n_levels = ((np.concatenate(x),) for x in (levels, counts, n_levels))
        self.levels, self.counts, self.n_levels = levels[0], counts[0], n_levels[0]
        if self.has_negative:
            self.levels = np.append(distinct[0], distinct)[self.levels.astype(np.intp)]
        self.level_starts: np.ndarray = starts_of(self.n_levels)
        self.top_grades: np.ndarray = self.levels[self.level_starts[1:] - 1]
        self.n_unknown: int = sum(n_unknown)
        self._memory: dict[Any, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_memory": {}}

    def _sort_by_row(self, in_query_order: np.ndarray) -> np.ndarray:
        if self.order is None:
            return in_query_order
        by_row = np.empty_like(in_query_order)
        by_row[self.order] = in_query_order
        return by_row

    @property
    def query_of_row(self) -> np.ndarray:
        """For each row, the index of its query in `query_ids`, as an array of shape (n,)."""
        return self._sort_by_row(np.repeat(np.arange(self.n_queries), self.sizes))

    @property
    def grades(self) -> np.ndarray:
        """Grades in the original row order, shape (n,)."""
        levels = self.levels[np.repeat(self.level_starts[:-1], self.sizes) + self.codes]
        return self._sort_by_row(np.where(self.codes < 0, np.nan, levels))

    def sort_by_query(self, per_row: np.ndarray) -> np.ndarray:
        """Sort per-row values by query."""
        return per_row if self.order is None else per_row[self.order]

    def round_grade(self, number: float) -> float:
        """Round a threshold or top grade to the dtype of the grades, for exact comparisons."""
        limits = np.finfo(self.grade_type)
        if limits.bits == 64 or not float(limits.tiny) <= abs(number) <= float(limits.max):
            return number
        return float(door.as_decimals(np.array([number], dtype=self.grade_type))[0])

    def sum_levels(self, per_level: np.ndarray) -> np.ndarray:
        """Sum `per_level` over the levels of each query; return an array of shape (n_queries,)."""
        return np.add.reduceat(per_level, self.level_starts[:-1])

    def remember(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the cached result for `key`; if there is none, compute the result and cache it."""
        result = self._memory.pop(key, None)
        if result is None:
            result = compute()
        self._memory[key] = result
        # Each step of this loop is atomic, even without the GIL.
        if len(self._memory) > MOST_REMEMBERED:
            for oldest_key in list(self._memory)[:-MOST_REMEMBERED]:
                self._memory.pop(oldest_key, None)
        return result


def get_layout(judgments: Judgments) -> Layout:
    """Return the internal layout of Judgments."""
    return judgments._layout


def replace_unjudged(judgments: Judgments, rule: str) -> tuple[Judgments, np.ndarray | None]:
    """Return Judgments without NaN grades, and the positions of the remaining rows in `judgments`.

    If `rule` is "irrelevant", unjudged documents get grade 0, and the positions are None (all
    rows). If it is "drop", the rows of unjudged documents are removed; a query without judged
    documents keeps one row, which has grade 0 and position -1 and is treated as not retrieved.
    """
    layout = judgments._layout
    return layout.remember(("without_unjudged", rule), lambda: _replace(judgments, layout, rule))


def _replace(
    judgments: Judgments, layout: Layout, rule: str
) -> tuple[Judgments, np.ndarray | None]:
    grades, order, starts, rows = layout.grades, layout.order, layout.starts, None
    if rule == "irrelevant":
        if layout.has_negative:
            raise ValueError(
                "unjudged_documents='irrelevant' assigns grade 0 to unjudged documents, but y_true "
                f"contains negative grades, such as {layout.levels.min():g}: pass "
                "unjudged_documents='drop'."
            )
        grades = np.nan_to_num(grades, nan=0.0)
    else:
        rows = layout.sort_by_query(np.arange(layout.n_rows))
        is_judged = ~np.isnan(grades[rows])
        n_judged = np.add.reduceat(is_judged, starts[:-1], dtype=np.intp)
        is_kept = is_judged.copy()
        is_kept[starts[:-1][n_judged == 0]] = True
        rows = np.where(is_judged, rows, -1)[is_kept]
        grades, order = np.append(grades, 0.0)[rows], None
        starts = starts_of(np.maximum(n_judged, 1))
    truth = Truth(grades, layout.grade_type, judgments.query_ids, order, starts)
    replaced = Judgments(truth)
    replaced.weights = judgments.weights
    return replaced, rows
