"""Reports: values by query of several measures, of given or of cross-validated scores."""

import numbers
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from skgraded._query_source import as_table, queries_of
from skgraded._validation import check_grades
from skgraded.judgments import Judgments, check_judgments
from skgraded.measures import Measure, as_measures, mean_over_queries, score_queries

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation:
    """Values of measures by query, made by `evaluate`.

    Attributes
    ----------
    query_ids : ndarray of shape (n_queries,)
        In order of first appearance.
    per_query : dict of str to ndarray of shape (n_queries,)
        By measure name; a query without a value has the measure's `undefined`.
    n_undefined : dict of str to int
        How many queries have no value of their own, by measure name.
    weights : ndarray of shape (n_queries,) or None
        Weights of the queries in means.
    """

    query_ids: np.ndarray
    per_query: dict[str, np.ndarray]
    n_undefined: dict[str, int]
    weights: np.ndarray | None = field(default=None, kw_only=True)

    def mean(self) -> dict[str, float]:
        """Mean over queries by measure name, floats."""
        return {
            name: mean_over_queries(values, self.weights)
            for name, values in self.per_query.items()
        }

    def to_frame(self) -> "pandas.DataFrame":
        """Tabulate the values, a row a query.

        Returns
        -------
        pandas.DataFrame
            Columns ``query_id``, those of the measures and, if queries are weighted, ``weight``.
        """
        import pandas as pd

        return pd.DataFrame(self._columns())

    def _columns(self):
        columns = {"query_id": self.query_ids, **self.per_query}
        if self.weights is not None:
            columns["weight"] = self.weights
        return columns

    def __repr__(self):
        means = ", ".join(f"{name}={value:.4f}" for name, value in self.mean().items())
        return f"{type(self).__name__}({len(self.query_ids)} queries: {means})"


@dataclass(frozen=True, repr=False, eq=False)
class CrossEvaluation(Evaluation):
    """Values of measures by query from out-of-fold scores, made by `cross_evaluate`.

    Attributes
    ----------
    query_ids, per_query, n_undefined, weights
        As in `Evaluation`.
    fold : ndarray of shape (n_queries,) of int
        The fold in which each query was tested, from 0.
    """

    fold: np.ndarray = field(kw_only=True)

    def _columns(self):
        columns = super()._columns()
        return {"query_id": columns.pop("query_id"), "fold": self.fold, **columns}


def evaluate(
    y_true: ArrayLike | Judgments,
    y_score: ArrayLike,
    *,
    qid: Any = None,
    group: ArrayLike | None = None,
    measures: str | Measure | Iterable[str | Measure] = ("ndcng@10", "mu_map"),
    sample_weight: ArrayLike | None = None,
) -> Evaluation:
    """Measure scores query by query.

    Parameters
    ----------
    y_true : array-like of shape (n,), or Judgments
        Grades ≥ 0, 0 = irrelevant.
    y_score : array-like of shape (n,)
        The system's scores, the highest first; -inf: not retrieved.
    qid : array-like of shape (n,), optional
        The query of each row, in any row order.
    group : array-like of shape (n_queries,), optional
        Sizes of consecutive queries, in place of `qid`.
    measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
    sample_weight : array-like of shape (n,), optional
        A query's weight is the mean over its rows.

    Returns
    -------
    Evaluation

    Raises
    ------
    ValueError, TypeError
        On bad input, before any work.

    Examples
    --------
    >>> import skgraded as sg
    >>> ev = sg.evaluate([2, 0, 1, 0, 1], [3, 1, 2, 5, 4], qid=["a", "a", "a", "b", "b"],
    ...                  measures=["ap", "rr"])
    >>> ev.per_query["AP"], ev.mean()["RR"]
    (array([1. , 0.5]), 0.75)
    >>> ev
    Evaluation(2 queries: AP=0.7500, RR=0.7500)
    """
    measures = as_measures(measures)
    judgments = check_judgments(y_true, qid=qid, group=group, sample_weight=sample_weight)
    return Evaluation(*_values(measures, judgments, y_score), weights=judgments.weights)


def _values(measures, judgments, y_score):
    names = [measure.name for measure in measures]
    values = score_queries(measures, judgments, y_score)
    n_undefined = [measure.n_undefined(judgments) for measure in measures]
    return (
        judgments.query_ids,
        dict(zip(names, values, strict=True)),
        dict(zip(names, n_undefined, strict=True)),
    )


def cross_evaluate(
    ranker: Any,
    X: Any,
    y: ArrayLike,
    *,
    qid: Any = None,
    group: ArrayLike | None = None,
    measures: str | Measure | Iterable[str | Measure] = ("ndcng@10", "mu_map"),
    cv: Any = 5,
) -> CrossEvaluation:
    """Measure out-of-fold scores query by query.

    Each fold's queries are scored by a clone of the ranker that was fitted on the other folds.

    Parameters
    ----------
    ranker : estimator
        `QueryRanker`, or any estimator with ``fit`` and ``predict``; `qid` is given to its
        ``fit`` if it asks for it, by scikit-learn's metadata routing.
    X : array, sparse matrix or frame of shape (n, n_features)
        Rows in any order.
    y : array-like of shape (n,)
        Grades ≥ 0, 0 = irrelevant.
    qid : array-like of shape (n,), optional
        The query of each row, unless the ranker is a `QueryRanker` that was told where in X it is.
    group : array-like of shape (n_queries,), optional
        Sizes of consecutive queries, in place of `qid`.
    measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
    cv : int, scikit-learn splitter or list of splits, default=5
        An int is the number of folds of ``GroupKFold``. A splitter gets the queries as groups
        and must keep the rows of a query together. Queries that it never tests are left out.

    Returns
    -------
    CrossEvaluation

    Raises
    ------
    ValueError
        On bad input, or if a query would be torn between folds or tested twice; before any fit.

    Examples
    --------
    >>> import skgraded as sg
    >>> from sklearn.linear_model import Ridge
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=30, random_state=0)
    >>> cv = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, qid=qid, cv=3)
    >>> len(cv.query_ids), sorted(set(cv.fold.tolist()))
    (30, [0, 1, 2])
    """
    measures = as_measures(measures)
    source = getattr(ranker, "qid", None)
    if qid is None and group is None:
        if source is None:
            raise ValueError("cross_evaluate needs the query of each row: give qid or group.")
        qid = queries_of(X, source)
    X = as_table(X)
    judgments = Judgments(check_grades(y, "y", X.shape[0]), qid=qid, group=group)
    for measure in measures:  # what they refuse, they refuse before any fit
        measure.plan(judgments)
    query_of_row = judgments.query_of_row
    folds = _query_folds(cv, X, y, judgments)
    with config_context(enable_metadata_routing=True):
        asks_for_qid = bool(clone(ranker).get_metadata_routing().consumes("fit", ["qid"]))
        scores = np.full(judgments.n_rows, np.nan)
        for train, test in folds:
            metadata = {"qid": judgments.query_ids[query_of_row[train]]} if asks_for_qid else {}
            fitted = clone(ranker).fit(
                _safe_indexing(X, train), _safe_indexing(y, train), **metadata
            )
            scores[test] = fitted.predict(_safe_indexing(X, test))
    tested = np.concatenate([test for _, test in folds])
    tested.sort()
    fold = np.empty(judgments.n_queries, dtype=int)
    for i, (_, test) in enumerate(folds):
        fold[query_of_row[test]] = i
    kept = Judgments(_safe_indexing(y, tested), qid=judgments.query_ids[query_of_row[tested]])
    queries = query_of_row[tested]
    first_rows = np.sort(np.unique(queries, return_index=True)[1])
    return CrossEvaluation(*_values(measures, kept, scores[tested]), fold=fold[queries[first_rows]])


def _query_folds(cv, X, y, judgments):
    """Train and test rows of each fold, once it is seen that no query is torn or tested twice."""
    from sklearn.model_selection import GroupKFold, check_cv  # they would double our import time

    if cv is None or isinstance(cv, numbers.Integral):
        cv = GroupKFold(5 if cv is None else cv)
    cv = check_cv(cv)
    ids, query_of_row = judgments.query_ids, judgments.query_of_row
    # Folds are those of cv.split(X, y, qid), unless the ids have no order.
    try:
        np.unique(ids)
        groups = ids[query_of_row]
    except TypeError:
        groups = query_of_row
    folds = list(cv.split(X, y, groups))
    tested = np.zeros(judgments.n_queries, dtype=int)
    for fold, (train, test) in enumerate(folds):
        n_rows = np.bincount(query_of_row[test], minlength=len(ids))
        in_train = np.bincount(query_of_row[train], minlength=len(ids)) > 0
        torn = np.flatnonzero((n_rows > 0) & (in_train | (n_rows != judgments.sizes)))
        if len(torn):
            query = ids[torn].tolist()[0]
            raise ValueError(
                f"cv tears {len(torn)} queries apart in fold {fold}, query {query!r} among them: "
                "not all their rows are in its test rows. Use a splitter that keeps groups "
                "together, such as GroupKFold."
            )
        tested += n_rows > 0
    if tested.max() > 1:
        query = ids[tested > 1].tolist()[0]
        raise ValueError(f"cv tests query {query!r} more than once, so it has no one value.")
    return folds
