"""Detection of queries whose rows are split between training and scoring."""

import warnings
from functools import partial

import numpy as np

from skgraded._input.queries import sortable_ids
from skgraded._input.query_source import is_column
from skgraded._input.tables import as_table, hash_rows, mix_bits
from skgraded._input.words import plain, plain_list


class TornQueryWarning(UserWarning):
    """Warning issued if a ranker is fitted on, or scores, only some rows of a query.

    It is issued in two cases. First, a ranker is scored on documents of a query after it was fitted
    on other documents of this query. KFold, ``cv=5`` and train_test_split split queries in this
    way, and the score is better than it will be for new queries. Second, the queries are looked up
    in a Series by the row index of X, and X lacks some rows of a query. This happens when rows are
    sampled instead of queries, as in HalvingGridSearchCV with ``resource="n_samples"`` and in
    scikit-learn's learning_curve. Split by query, for example with GroupKFold, and choose another
    resource.

    Queries in a column of X, or passed with X, are split with the rows. Fitting on some rows of
    such a query cannot be detected until the ranker is scored on the other rows. With ``n_jobs``,
    the workers print the warning; ``warnings.catch_warnings`` in the caller does not catch it.
    """


TORN = (
    "{shared} of the {scored} queries to score, such as {example!r}, are among those that the "
    "ranker was fitted on. Either the split divides queries, and the score is better than it will "
    "be for new queries, or both sets use the same ids for different queries. Keep each query "
    "whole: cv=GroupKFold(5) with fit(X, y, groups=qid), or, with metadata routing, "
    "cv=GroupKFold(5).set_split_request(groups='qid')."
)

NUMBERED_ALIKE = (
    "{shared} of the {scored} queries to score, such as {example!r}, have the ids of queries that "
    "the ranker was fitted on. Both sets number their queries from {first}, as separately read "
    "files do. If the queries differ, give them different ids, such as qid + 1_000_000 or "
    "('test', qid). If they are the same queries, the split divides them, and the score is better "
    "than it will be for new queries: use cv=GroupKFold(5)."
)

PARTIAL = (
    "{torn} of the {seen} queries to {verb}, such as {example!r}, are seen in part: qid has "
    "{missing} of their rows that X lacks. Rows were drawn instead of queries, as in "
    "HalvingGridSearchCV(resource='n_samples'), learning_curve, KFold, ShuffleSplit and "
    "train_test_split. Split with GroupKFold, choose another resource, or use "
    "skgraded.model_selection.learning_curve. If rows were omitted on purpose, omit them from qid "
    "too: qid=series.loc[X.index]."
)


class FittedQueries:
    """Summary of the rows that a ranker was fitted on, with four values per query.

    `stopped_on` contains the ids of validation queries that the ranker was not fitted on.
    """

    def __init__(self, queries, grades, table, stopped_on=None):
        self.ids, order, starts = queries
        self.stopped_on = set() if stopped_on is None else set(plain_list(stopped_on))
        self.sizes = queries.sizes
        self.grade_marks = _marks(grades, order, starts)
        self.row_marks = _marks(grades, order, starts, table)

    def torn_in(self, judgments, features=None):
        """Return the ids of queries seen in fit, or no ids if exactly the fitted rows are scored.

        Rows are compared by query and grade. If these are equal, the table returned by the function
        `features` is also compared.
        """
        known = {query: i for i, query in enumerate(plain_list(self.ids))}
        queries = plain_list(judgments.query_ids)
        at = [known.get(query, -1) for query in queries]
        if len(at) == len(known) and min(at) >= 0 and self._same_rows(judgments, at, features):
            return []
        return [
            query for query, i in zip(queries, at, strict=True)
            if i >= 0 or query in self.stopped_on
        ]

    def _same_rows(self, judgments, at, features):
        rows = judgments.grades, judgments.order, judgments.starts
        return (
            np.array_equal(self.sizes[at], judgments.sizes)
            and np.array_equal(self.grade_marks[at], _marks(*rows))
            and (features is None or np.array_equal(self.row_marks[at], _marks(*rows, features())))
        )


def splits_of_queries(splitter, X, y, ids, query_of_row, name):
    """Return the splits of a scikit-learn splitter, which receives the queries as groups.

    A ValueError names the first query that is split. `name` is the name of the parameter.
    """
    groups = sortable_ids(ids, query_of_row)
    with warnings.catch_warnings():
        # Splitters that ignore groups, such as PredefinedSplit, may still keep queries intact.
        warnings.filterwarnings("ignore", "The groups parameter is ignored", UserWarning)
        splits = list(splitter.split(X, y, groups))
    sizes = np.bincount(query_of_row)
    for fold, (train, test) in enumerate(splits):
        n_trained, n_tested = (
            np.bincount(query_of_row[rows], minlength=len(ids)) for rows in (train, test)
        )
        split = np.flatnonzero((n_tested > 0) & ((n_trained > 0) | (n_tested != sizes)))
        if len(split):
            raise ValueError(
                f"{name} splits {len(split)} queries in fold {fold}, such as "
                f"{plain(ids[split[0]])!r}: only some of their rows are test rows. Use a splitter "
                "that keeps queries whole, such as QueryKFold or GroupKFold."
            )
    return splits


def features_of(ranker, table):
    """Return the table without the query column."""
    column = ranker.query_column_
    return table if column is None else column.take_out(table)


def _marks(grades, order, starts, table=None):
    """Return the sum of the row hashes of each query, which does not depend on the row order."""
    marks = mix_bits((grades + 0.0).view(np.uint64))  # a copy in which -0.0 becomes 0.0
    if table is not None:
        marks = mix_bits(marks ^ hash_rows(table))
    if order is not None:
        marks = marks[order]
    return np.add.reduceat(marks, starts[:-1])


def warn_of_split_queries(estimator, X, judgments, source=None):
    """Issue a TornQueryWarning if scored queries are incomplete or were seen in fit.

    The fitted queries are known only for a QueryRanker: alone, as the last step of a pipeline or
    inside a search. X is the table to score, with or without the query column; `source` specifies
    where the queries in X were found.
    """
    fitted, shared = _known_queries(estimator, X, judgments)
    if shared:
        ids = judgments.query_ids
        # Splitting by rows leaves the same number of queries in both sets, or gaps in the ids.
        alike = all(map(_is_numbering, (ids, fitted.ids))) and len(ids) != len(fitted.ids)
        message = (NUMBERED_ALIKE if alike else TORN).format(
            shared=len(shared), scored=len(ids), example=plain(shared[0]),
            first=plain(ids.min()) if alike else "",
        )
        warnings.warn(message, TornQueryWarning, stacklevel=3)
    else:
        warn_of_partial_queries(X, source, "score")


def _known_queries(estimator, X, judgments):
    """Return the queries that a ranker was fitted on, and the ids of those being scored again."""
    while estimator is not None and not hasattr(estimator, "fitted_queries_"):
        if hasattr(estimator, "best_estimator_"):  # a search
            estimator = estimator.best_estimator_
            continue
        X = None  # transformed features may differ in their last bits
        if hasattr(estimator, "steps"):  # a pipeline
            estimator = estimator.steps[-1][1]
        else:  # a feature selection, or no ranker
            estimator = getattr(estimator, "estimator_", None)
    if estimator is None or estimator.fitted_queries_ is None:
        return None, []
    features = None if X is None else partial(features_of, estimator, as_table(X))
    return estimator.fitted_queries_, estimator.fitted_queries_.torn_in(judgments, features)


def _is_numbering(ids):
    """Return whether ids are 0, 1, 2, … or 1, 2, 3, … in any order."""
    if ids.dtype.kind not in "iu":
        return False
    return ids.min() in (0, 1) and ids.max() - ids.min() == len(ids) - 1


def warn_of_partial_queries(X, source, verb):
    """Issue a TornQueryWarning if X lacks rows of a query that is looked up in a Series.

    Only a Series as `source` contains all rows of a query. `verb` is "fit" or "score". The warning
    refers to the line three callers up.
    """
    if source is None or is_column(source):
        return
    in_X = np.zeros(len(source), dtype=bool)
    in_X[source.index.get_indexer(X.index)] = True
    if in_X.all():
        return
    codes, ids = source.factorize()
    known = codes >= 0  # a row without a query belongs to none
    sizes = np.bincount(codes[known], minlength=len(ids))
    seen = np.bincount(codes[known & in_X], minlength=len(ids))
    torn = np.flatnonzero((seen > 0) & (seen < sizes))
    if len(torn):
        message = PARTIAL.format(
            torn=len(torn), seen=np.count_nonzero(seen), verb=verb, example=plain(ids[torn[0]]),
            missing=(sizes - seen)[torn].sum(),
        )
        warnings.warn(message, TornQueryWarning, stacklevel=4)
