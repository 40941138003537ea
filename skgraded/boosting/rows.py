"""Containers for rows and their queries, as passed to estimators."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from skgraded._input.queries import average_weights
from skgraded._input.tables import stack_rows, take_rows
from skgraded.judgments import Judgments

WEIGHT = "sample_weight"


class Queries(NamedTuple):
    """The query ids of a table, and the order that sorts the rows by query."""

    ids: np.ndarray
    order: np.ndarray | None  # row positions sorted by query; None if the rows are already sorted
    starts: np.ndarray  # start of each query in `order`; shape (n_queries + 1,)
    sizes: np.ndarray  # number of rows of each query

    @property
    def of_row(self) -> np.ndarray:
        """The index of each row's query, from 0, shape (n,)."""
        query_of_row = np.repeat(np.arange(len(self.ids)), self.sizes)
        if self.order is not None:
            query_of_row[self.order] = query_of_row.copy()
        return query_of_row


@dataclass
class Rows:
    """The rows of a data set, in the form in which they are passed to an estimator."""

    X: Any
    grades: np.ndarray
    weights: np.ndarray | None  # (n,)
    sizes: np.ndarray | None = None  # sizes of consecutive queries; None for regressors
    grade_type: np.dtype[Any] = np.dtype(float)  # the data type of the grades in y

    def take(self, rows: np.ndarray | None, sizes: np.ndarray | None) -> Self:
        """Return the rows at the given positions; None selects all rows in their current order."""
        if rows is None:
            return replace(self, sizes=sizes)
        weights = None if self.weights is None else self.weights[rows]
        X = take_rows(self.X, rows)
        return replace(self, X=X, grades=self.grades[rows], weights=weights, sizes=sizes)

    def join(self, other: Self) -> Self:
        """Return the rows of `self` followed by the rows of `other`; missing weights become 1."""
        is_weighted = self.weights is not None or other.weights is not None
        weights = [
            np.ones(len(rows.grades)) if rows.weights is None else rows.weights
            for rows in (self, other)
        ]
        return replace(
            self,
            X=stack_rows(self.X, other.X),
            grades=np.concatenate([self.grades, other.grades]),
            weights=np.concatenate(weights) if is_weighted else None,
            sizes=None if self.sizes is None else np.concatenate([self.sizes, other.sizes]),
        )

    @property
    def query_of_row(self) -> np.ndarray:
        """The index of each row's query, from 0, shape (n,)."""
        sizes = np.asarray(self.sizes)
        return np.repeat(np.arange(len(sizes)), sizes)

    @property
    def query_weights(self) -> np.ndarray:
        """The mean row weight of each query, as an array of shape (n_queries,)."""
        return average_weights(np.asarray(self.weights), self.query_of_row, np.asarray(self.sizes))


def judge_rows(parts: Sequence[Rows]) -> Judgments:
    """Return the grades, queries and weights of all parts, in this order, as Judgments."""
    grades = np.concatenate([rows.grades for rows in parts])
    weights = [rows.weights for rows in parts if rows.weights is not None]
    return Judgments(
        grades.astype(parts[0].grade_type, copy=False),
        group=np.concatenate([np.asarray(rows.sizes) for rows in parts]),
        sample_weight=np.concatenate(weights) if weights else None,
    )
