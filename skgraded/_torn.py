"""Recognising test rows whose queries a ranker has already seen while it was fitted."""

import warnings

import numpy as np

from skgraded._query_source import plain
from skgraded.exceptions import TornQueryWarning

TORN = (
    "{shared} of the {scored} queries to score, such as {example!r}, are among those that the "
    "ranker was fitted on: the split tears queries apart, and the score is better than it will be "
    "for new queries. Keep each query whole: cv=GroupKFold(5) with fit(X, y, groups=qid), or, with "
    "metadata routing, cv=GroupKFold(5).set_split_request(groups='qid')."
)


class FittedQueries:
    """What a ranker remembers of the rows that it was fitted on: three numbers a query.

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
    """

    def __init__(self, ids, grades, order, starts):
        self.ids = ids
        self.sizes = np.diff(starts)
        self.marks = _grade_marks(grades, order, starts)

    def torn_in(self, judgments):
        """Ids of the judgments' queries that are known, unless all rows are the fitted ones."""
        known = {query: i for i, query in enumerate(self.ids.tolist())}
        at = [known.get(query, -1) for query in judgments.query_ids.tolist()]
        shared = [query for query, i in zip(judgments.query_ids, at, strict=True) if i >= 0]
        if len(shared) == len(at) == len(known) and self._same_rows(judgments, at):
            return []
        return shared

    def _same_rows(self, judgments, at):
        return np.array_equal(self.sizes[at], judgments.sizes) and np.array_equal(
            self.marks[at], _grade_marks(judgments.grades, judgments.order, judgments.starts)
        )


def _grade_marks(grades, order, starts):
    """Sum up hashes of each query's grades, which gives the same in any row order."""
    bits = grades + 0.0  # a copy, in which -0.0 is 0.0
    if order is not None:
        bits = bits[order]
    bits = bits.view(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(31)
    return np.add.reduceat(bits, starts[:-1])


def warn_if_torn(estimator, judgments):
    """Issue a TornQueryWarning if a fitted ranker has seen queries that it is scored on.

    Parameters
    ----------
    estimator : object
        A fitted QueryRanker, alone, as the last step of a pipeline or inside a search; of other
        estimators nothing is known.
    judgments : Judgments
        What it is about to be scored on.
    """
    fitted = _fitted_queries(estimator)
    shared = [] if fitted is None else fitted.torn_in(judgments)
    if shared:
        message = TORN.format(
            shared=len(shared), scored=judgments.n_queries, example=plain(shared[0])
        )
        warnings.warn(message, TornQueryWarning, stacklevel=3)


def _fitted_queries(estimator):
    while estimator is not None:
        if hasattr(estimator, "_fitted_queries"):
            return estimator._fitted_queries
        if hasattr(estimator, "steps"):  # a pipeline
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "best_estimator_"):  # a search
            estimator = estimator.best_estimator_
        else:  # a feature selection
            estimator = getattr(estimator, "estimator_", None)
    return None
