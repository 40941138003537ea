"""Detection of queries whose rows are split between training and scoring."""

import warnings
from typing import Any

import numpy as np

from skgraded._input.words import plain, plain_list
from skgraded.boosting.rows import Queries
from skgraded.judgments import Judgments, layout_of


class TornQueryWarning(UserWarning):
    """Warning issued if a ranker is fitted on, or scores, only some rows of a query.

    KFold, ``cv=5`` and train_test_split split queries, so scores are wrong: too high because the
    ranker was fitted on the queries, or too low because parts of queries have no relevant document.
    Rows that are missing from X, as in HalvingGridSearchCV with ``resource="n_samples"``, are
    detected only if queries are looked up in a Series by the row index of X. Split by query, for
    example with QueryKFold or GroupKFold. With ``n_jobs``, the warning is issued in the workers, so
    ``warnings.catch_warnings`` in the caller does not catch it.
    """


SHARED = (
    "{shared} of the {scored} queries to score, such as {example!r}, are among those that the "
    "ranker was fitted on. Either the split divides queries, and the score is wrong (too high, "
    "or too low with few relevant documents): use cv=QueryKFold(5, qid='query_id') if X contains the queries, "
    "cv=GroupKFold(5) with fit(X, y, groups=qid), or, with metadata routing, "
    "cv=GroupKFold(5).set_split_request(groups='qid'). Or both sets use the same ids for "
    "different queries, as in files that number their queries from 0 or 1: use other ids, such as "
    "('test', qid)."
)

PARTIAL = (
    "{partial} of the {seen} queries to {verb}, such as {example!r}, are incomplete: X does not "
    "contain {missing} of their rows in qid. Rows were drawn instead of queries, as in KFold and "
    "HalvingGridSearchCV(resource='n_samples'): split with QueryKFold or GroupKFold, or choose "
    "another resource. "
    "If rows were omitted on purpose, omit them from qid too: qid=series.loc[X.index]."
)


class FittedQueries:
    """The id, the size and the sum of the grades of each query that a ranker was fitted on.

    `stopped_on` contains the ids of the validation queries that were not used for fitting.
    """

    def __init__(
        self, queries: Queries, grades: np.ndarray, stopped_on: np.ndarray | None = None
    ) -> None:
        self.ids, order, starts = queries
        self.stopped_on = set() if stopped_on is None else set(plain_list(stopped_on))
        self.sizes = queries.sizes
        self.sums = np.add.reduceat(grades if order is None else grades[order], starts[:-1])

    def shared_with(self, judgments: Judgments) -> list[Any]:
        """Return the ids of queries seen during fit; none if the fitted queries are scored.

        The same queries, with the same sizes and sums of grades, are taken for the fitted rows.
        """
        known = {query: i for i, query in enumerate(plain_list(self.ids))}
        queries = plain_list(judgments.query_ids)
        at = [known.get(query, -1) for query in queries]
        if len(at) == len(known) and min(at) >= 0:
            layout = layout_of(judgments)
            sums = layout.sum_levels(layout.levels * layout.counts)
            if np.array_equal(self.sizes[at], layout.sizes) and np.allclose(self.sums[at], sums):
                return []
        return [
            query
            for query, i in zip(queries, at, strict=True)
            if i >= 0 or query in self.stopped_on
        ]


def inside(estimator: Any) -> tuple[Any, list[Any] | None]:
    """Return the estimator in a search, a pipeline or another meta-estimator, and its steps.

    The steps are the transformers before it. For other meta-estimators than searches and pipelines,
    they are None. The estimator is None if there is none inside.
    """
    if hasattr(estimator, "best_estimator_"):
        return estimator.best_estimator_, []
    if hasattr(estimator, "steps"):
        *steps, (_, last) = estimator.steps
        return last, [step for _, step in steps if step not in (None, "passthrough")]
    return getattr(estimator, "estimator_", getattr(estimator, "estimator", None)), None


def warn_of_split_queries(estimator: Any, X: Any, judgments: Judgments, source: Any = None) -> None:
    """Issue a TornQueryWarning if scored queries are incomplete or were seen during fit.

    Only a QueryRanker, which may be part of a search or pipeline, stores the queries of its fit.
    """
    while estimator is not None and not hasattr(estimator, "_fitted_queries"):
        estimator, _ = inside(estimator)
    fitted = getattr(estimator, "_fitted_queries", None)
    shared = [] if fitted is None else fitted.shared_with(judgments)
    if shared:
        message = SHARED.format(
            shared=len(shared), scored=judgments.n_queries, example=plain(shared[0])
        )
        warnings.warn(message, TornQueryWarning, stacklevel=3)
    else:
        warn_of_partial_queries(X, source, "score")


def warn_of_partial_queries(X: Any, source: Any, verb: str) -> None:
    """Issue a TornQueryWarning if X lacks some rows of a query in the Series `source`.

    `verb` is "fit" or "score". The warning points to the line three calls up the stack.
    """
    if not hasattr(source, "iloc"):  # it is None or a column of X
        return
    in_X = np.zeros(len(source), dtype=bool)
    in_X[source.index.get_indexer(X.index)] = True
    if in_X.all():
        return
    codes, ids = source.factorize()
    known = codes >= 0  # a row without a query belongs to none
    sizes = np.bincount(codes[known], minlength=len(ids))
    seen = np.bincount(codes[known & in_X], minlength=len(ids))
    incomplete = np.flatnonzero((seen > 0) & (seen < sizes))
    if len(incomplete):
        message = PARTIAL.format(
            partial=len(incomplete),
            seen=np.count_nonzero(seen),
            verb=verb,
            example=plain(ids[incomplete[0]]),
            missing=(sizes - seen)[incomplete].sum(),
        )
        warnings.warn(message, TornQueryWarning, stacklevel=4)
