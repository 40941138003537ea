"""The truth: grades by query, checked once and laid out for many scorings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input import columns
from skgraded._input.queries import group_sizes, mean_weights, queries_of
from skgraded._kernels.layout import lay_out
from skgraded._kernels.threads import run_chunks

MOST_REMEMBERED = 32  # what measures have laid out; a plan may hold a number a row


class Judgments:
    """Grades of documents by query, checked and laid out once, for many scorings.

    Use it where the same truth is scored again and again (boosting rounds, several systems,
    resamples): every measure takes it in place of ``y_true``.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Grades ≥ 0, 0 = irrelevant; any real numbers. NaN, a document of which nothing is known,
        is kept here and refused by the measures that cannot use it.
    qid : array-like of shape (n,), optional
        The query of each row: any hashable, in any row order. Without `qid` and `group` all rows
        are one query.
    group : array-like of shape (n_queries,), optional
        Sizes of consecutive queries, LightGBM's form, in place of `qid`.
    sample_weight : array-like of shape (n,), optional
        Weights ≥ 0 of the rows. A query's weight is the mean over its rows, LightGBM's rule.

    Attributes
    ----------
    query_ids : ndarray of shape (n_queries,)
        In order of first appearance, as all values by query are; 0, 1, … for `group`.
    sizes : ndarray of shape (n_queries,)
        Rows of each query.
    weights : ndarray of shape (n_queries,) or None
        Weights of the queries, None if no `sample_weight` was given.
    n_rows, n_queries : int

    Raises
    ------
    ValueError, TypeError
        If lengths differ, a grade is negative or infinite, a query id is missing, group sizes do
        not add up, or weights are negative or all zero.

    Examples
    --------
    >>> import skgraded as sg
    >>> judgments = sg.Judgments([2, 0, 1, 0, 1], qid=["b", "b", "b", "a", "a"])
    >>> judgments.query_ids, judgments.sizes
    (array(['b', 'a'], dtype=object), array([3, 2]))
    >>> sg.RR()(judgments, [0.3, 0.1, 0.2, 0.9, 0.5])
    0.75
    """

    query_ids: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray | None
    n_rows: int
    n_queries: int

    def __init__(
        self,
        y_true: ArrayLike,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        grades = columns.grade_column(y_true, "y_true")
        self.grade_type = columns.grade_type(y_true)
        n = self.n_rows = len(grades)
        self.query_ids, self.order, self.starts = _queries(qid, group, n)
        self.n_queries = len(self.query_ids)
        self.sizes = np.diff(self.starts)
        self.weights = None
        if sample_weight is not None:
            row_weights = columns.check_weights(sample_weight, n, "y_true")
            self.weights = mean_weights(row_weights, self.query_of_row, self.sizes)
        self._lay_out(grades)
        self._memory: dict[Any, Any] = {}

    def _lay_out(self, grades):
        """Codes of the documents and levels of the queries, as `_kernels.layout` has them."""
        self.codes = np.empty(self.n_rows, dtype=np.int32)
        chunks = run_chunks(
            lambda first, last: lay_out(
                grades, self.order, self.starts, self.codes, first, last
            ),
            self.starts,
        )
        levels, counts, n_levels, n_unknown, is_good = zip(*chunks, strict=True)
        if not all(is_good):
            columns.refuse_bad_grades(grades, "y_true", allow_nan=True)
        self.levels, self.counts, self.n_levels = map(_joined, (levels, counts, n_levels))
        self.level_starts = np.append(0, np.cumsum(self.n_levels, dtype=np.intp))
        self.top_grades = self.levels[self.level_starts[1:] - 1]
        self.n_unknown = sum(n_unknown)
        self.first_unknown = int(np.argmax(np.isnan(grades))) if self.n_unknown else 0

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_memory": {}}

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted"
        return f"Judgments({self.n_rows} rows, {self.n_queries} queries{weighted})"

    def _by_row(self, in_query_order):
        if self.order is None:
            return in_query_order
        by_row = np.empty_like(in_query_order)
        by_row[self.order] = in_query_order
        return by_row

    @property
    def query_of_row(self) -> np.ndarray:
        """The position of each row's query in `query_ids`, shape (n,)."""
        return self._by_row(np.repeat(np.arange(self.n_queries), self.sizes))

    @property
    def grades(self) -> np.ndarray:
        """The grades row by row as they were given, shape (n,)."""
        levels = self.levels[np.repeat(self.level_starts[:-1], self.sizes) + self.codes]
        return self._by_row(np.where(self.codes < 0, np.nan, levels))

    def on_scale(self, number: float) -> float:
        """A threshold or a top grade, rounded as the grades were, so that these still reach it."""
        limits = np.finfo(self.grade_type)
        if limits.bits == 64 or not float(limits.tiny) <= number <= float(limits.max):
            return number
        return float(columns.as_decimals(np.array([number], dtype=self.grade_type))[0])

    @property
    def max_size(self) -> int:
        """Rows of the largest query."""
        return int(self.sizes.max())

    def by_level(self, per_query: np.ndarray) -> np.ndarray:
        """Repeat a value of each query for each of its levels, shape (n_levels,)."""
        return np.repeat(per_query, self.n_levels)

    def sum_levels(self, per_level: np.ndarray) -> np.ndarray:
        """Sum of a number of each level over each query's levels, shape (n_queries,)."""
        return np.add.reduceat(per_level, self.level_starts[:-1])

    def remember(self, key: Any, compute: Callable[[], Any]) -> Any:
        """`compute()`, which the truth alone decides, or what it gave before for the same key."""
        kept = self._memory.pop(key, None)
        if kept is None:
            kept = compute()
        self._memory[key] = kept
        # Each step is one that no other thread comes into, also where there is no GIL.
        for old in list(self._memory)[:-MOST_REMEMBERED]:
            self._memory.pop(old, None)
        return kept


def _joined(arrays):
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _queries(qid, group, n):
    if qid is not None and group is not None:
        raise ValueError("Give the queries by qid or by group, not by both.")
    if qid is not None:
        return queries_of(qid, n)
    sizes = np.array([n], dtype=np.intp) if group is None else group_sizes(group, n)
    return np.arange(len(sizes)), None, np.append(0, np.cumsum(sizes))


def check_judgments(y_true: ArrayLike | Judgments, **truth: Any) -> Judgments:
    """`y_true` itself if it is Judgments, else Judgments of it and the other arguments."""
    if not isinstance(y_true, Judgments):
        return Judgments(y_true, **truth)
    for name, value in truth.items():
        if value is not None:
            raise ValueError(f"{name} is part of the Judgments: do not give it again.")
    return y_true
