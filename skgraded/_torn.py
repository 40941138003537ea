"""Recognising test rows whose queries a ranker has already seen while it was fitted."""

import warnings

import numpy as np

from skgraded._query_source import as_table, hash_rows, mix_bits, plain
from skgraded.exceptions import TornQueryWarning

TORN = (
    "{shared} of the {scored} queries to score, such as {example!r}, are among those that the "
    "ranker was fitted on: the split tears queries apart, and the score is better than it will be "
    "for new queries. Keep each query whole: cv=GroupKFold(5) with fit(X, y, groups=qid), or, with "
    "metadata routing, cv=GroupKFold(5).set_split_request(groups='qid')."
)


class FittedQueries:
    """What a ranker remembers of the rows that it was fitted on: four numbers a query.

    Parameters
    ----------
    ids : ndarray of shape (n_queries,)
        Query ids.
    grades : ndarray of shape (n,)
        Grades, row by row.
    order : ndarray of shape (n,) or None
        Rows query by query; None if they are so already.
    starts : ndarray of shape (n_queries + 1,)
        Where each query starts in `order`.
    table : array, CSR matrix or frame of shape (n, n_features)
        Features.
    """

    def __init__(self, ids, grades, order, starts, table):
        self.ids = ids
        self.sizes = np.diff(starts)
        self.grade_marks = _marks(grades, order, starts)
        self.row_marks = _marks(grades, order, starts, table)

    def torn_in(self, judgments, table=None):
        """Ids of the judgments' queries that are known, unless all rows are the fitted ones.

        Rows are told apart by their queries and grades and, if a table is given, features.
        """
        known = {query: i for i, query in enumerate(self.ids.tolist())}
        at = [known.get(query, -1) for query in judgments.query_ids.tolist()]
        shared = [query for query, i in zip(judgments.query_ids, at, strict=True) if i >= 0]
        if len(shared) == len(at) == len(known) and self._same_rows(judgments, at, table):
            return []
        return shared

    def _same_rows(self, judgments, at, table):
        kept = self.grade_marks if table is None else self.row_marks
        return np.array_equal(self.sizes[at], judgments.sizes) and np.array_equal(
            kept[at], _marks(judgments.grades, judgments.order, judgments.starts, table)
        )


def _marks(grades, order, starts, table=None):
    """Sum up hashes of each query's rows, which gives the same in any row order."""
    marks = mix_bits((grades + 0.0).view(np.uint64))  # a copy, in which -0.0 is 0.0
    if table is not None:
        marks = mix_bits(marks ^ hash_rows(table))
    if order is not None:
        marks = marks[order]
    return np.add.reduceat(marks, starts[:-1])


def warn_if_torn(estimator, X, judgments):
    """Issue a TornQueryWarning if a fitted ranker has seen queries that it is scored on.

    Parameters
    ----------
    estimator : object
        A fitted QueryRanker, alone, as the last step of a pipeline or inside a search; of other
        estimators nothing is known.
    X : array-like, sparse matrix or frame of shape (n, n_columns)
        What it is about to be scored on.
    judgments : Judgments
        The truth of these rows.
    """
    while not hasattr(estimator, "_fitted_queries"):
        if hasattr(estimator, "best_estimator_"):  # a search
            estimator = estimator.best_estimator_
            continue
        X = None  # the ranker inside sees other features, that may differ in their last bits
        if hasattr(estimator, "steps"):  # a pipeline
            estimator = estimator.steps[-1][1]
        else:  # a feature selection
            estimator = getattr(estimator, "estimator_", None)
        if estimator is None:
            return
    fitted = estimator._fitted_queries
    table = None if X is None else estimator._take_out(as_table(X))
    shared = [] if fitted is None else fitted.torn_in(judgments, table)
    if shared:
        message = TORN.format(
            shared=len(shared), scored=judgments.n_queries, example=plain(shared[0])
        )
        warnings.warn(message, TornQueryWarning, stacklevel=3)
