"""Permutation importance, which quantifies how much a ranker relies on each feature."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import Bunch, check_random_state

from skgraded._input.columns import whole_number
from skgraded._input.tables import column_names, is_pandas_frame, is_polars_frame
from skgraded.judgments import Judgments
from skgraded.measures import Measure, as_measures
from skgraded.model_selection.folds import judge
from skgraded.model_selection.scorer import check_response_method, document_scores, means_of
from skgraded.model_selection.split_queries import warn_of_split_queries


def permutation_importance(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    qid: Any = None,
    group: ArrayLike | None = None,
    measure: str | Measure | Iterable[str | Measure] = "ndcng@10",
    n_repeats: int = 5,
    within_queries: bool = False,
    response_method: str | list[str] | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    sample_weight: ArrayLike | None = None,
) -> Bunch | dict[str, Bunch]:
    """Measure how much the score of a ranker drops when the values of a feature are permuted.

    The importance of a feature is the mean of the measure over the queries, minus the mean when
    the column of the feature is permuted [1]_. The grades are sorted by query only once.

    Parameters
    ----------
    estimator : estimator
        A fitted ranker, regressor or classifier, such as QueryRanker, a search or LGBMRanker.
    X : array-like, sparse matrix or frame of shape (n, n_columns)
        The documents; X is not modified. Test rows show which features help to rank new queries;
        training rows show which features the ranker has learned to use.
    y : array-like of shape (n,)
        The grades of the documents, ≥ 0; 0 = irrelevant.
    qid : array-like of shape (n,), optional
        The query of each row. It can be omitted if the estimator is a `QueryRanker`, or a search
        over a `QueryRanker`, that reads the queries from a column of X.
    group : array-like of shape (n_queries,), optional
        Sizes of consecutive queries, in place of `qid`.
    measure : Measure, str, or a list of them, default="ndcng@10"
        The measure to compute. A list requires no more predictions than a single measure.
    n_repeats : int, default=5
        How many times each column is permuted.
    within_queries : bool, default=False
        False permutes a column over all rows, as in scikit-learn. The importance then shows how
        much the ranker relies on the feature overall. However, documents get values from other
        queries, such as a BM25 score that is high only in queries with rare terms, and the ranker
        may never have seen such combinations.
        True permutes a column among the documents of each query. The importance then shows how
        much the feature distinguishes the documents of a query. A query feature, which has the
        same value for all documents of the query, has importance 0, even if the ranker uses it
        to weight other features.
    response_method : {"predict", "decision_function", "predict_proba"} or a list, optional
        The method that returns the scores of the documents, as for `make_ranking_scorer`.
    n_jobs : int, optional
        Number of columns to process in parallel, as in scikit-learn.
    random_state : int, RandomState or None, default=None
        Controls the permutations. All columns get the same permutations.
    sample_weight : array-like of shape (n,), optional
        The weight of a query is the mean weight of its rows.

    Returns
    -------
    sklearn.utils.Bunch or dict of str to Bunch
        A dict from measure names to Bunches if `measure` is a list. A Bunch has the attributes:

        importances_mean : ndarray of shape (n_features,)
            Mean over the repeats.
        importances_std : ndarray of shape (n_features,)
            Standard deviation over the repeats.
        importances : ndarray of shape (n_features, n_repeats)
            Importance in each repeat; negative if the permuted column scores better by chance.
        features : list of str or int
            The permuted columns of X: their names, or else their positions. The query column of a
            `QueryRanker` is not permuted.
        measure : str
            Name of the measure.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; nothing is computed.

    Warns
    -----
    TornQueryWarning
        If a `QueryRanker` was fitted on other documents of the same queries.

    See Also
    --------
    skgraded.FeatureImportanceDisplay : Draws the importances.
    sklearn.inspection.permutation_importance : Does not accept metadata, so its scorer needs
        the queries as a column of X, which is then also permuted.

    References
    ----------
    .. [1] L. Breiman, "Random Forests", Machine Learning 45(1), 5-32, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> import skgraded as sg
    >>> from sklearn.linear_model import Ridge
    >>> from skgraded.inspection import permutation_importance
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y, qid = np.clip(np.round(X[:, 1] + 1), 0, 4), np.repeat(np.arange(20), 10)
    >>> ranker = sg.QueryRanker(Ridge()).fit(X[:100], y[:100], qid=qid[:100])
    >>> result = permutation_importance(ranker, X[100:], y[100:], qid=qid[100:], random_state=0)
    >>> result.features, result.importances_mean.round(1)
    ([0, 1], array([0. , 0.2]))
    """
    from sklearn.utils.parallel import Parallel, delayed

    measures = as_measures(measure)
    check_response_method(response_method)
    n_repeats = whole_number(n_repeats, "n_repeats", 1)
    ranker = getattr(estimator, "best_estimator_", estimator)
    X, judgments = judge(
        "permutation_importance", ranker, X, y, measures, qid=qid, group=group,
        sample_weight=sample_weight,
    )
    if group is None:
        warn_of_split_queries(estimator, X, judgments, ranker.qid if qid is None else None)
    column = getattr(ranker, "query_column_", None)
    query_position = None if column is None else column.position_in(X)
    positions = [i for i in range(X.shape[1]) if i != query_position]
    draw = _orders_within if within_queries else _orders
    orders = draw(judgments, n_repeats, check_random_state(random_state))

    def score(table: Any) -> dict[str, float]:
        return means_of(measures, judgments, document_scores(estimator, table, response_method))

    def scores_without(position: int) -> list[dict[str, float]]:
        return [score(_permuted(X, position, order)) for order in orders]

    unpermuted = score(X)
    permuted = Parallel(n_jobs=n_jobs)(delayed(scores_without)(position) for position in positions)
    names = column_names(X)
    features = positions if names is None else [names[i] for i in positions]
    results = {}
    for name, value in unpermuted.items():
        after = [[repeat[name] for repeat in column] for column in permuted]
        importances = value - np.reshape(after, (len(positions), n_repeats))
        results[name] = Bunch(
            importances_mean=importances.mean(axis=1), importances_std=importances.std(axis=1),
            importances=importances, features=features, measure=name,
        )
    return results[measures[0].name] if isinstance(measure, (str, Measure)) else results


def _orders(judgments: Judgments, n_repeats: int, rng: np.random.RandomState) -> list[np.ndarray]:
    """For each repeat, return the permutation of all rows that scikit-learn would draw."""
    rng = np.random.RandomState(rng.randint(np.iinfo(np.int32).max + 1))
    order = shuffled = np.arange(judgments.n_rows)
    orders = []
    for _ in range(n_repeats):
        shuffled = shuffled[rng.permutation(len(shuffled))]
        order = order[shuffled]
        orders.append(order)
    return orders


def _orders_within(judgments: Judgments, n_repeats: int, rng: np.random.RandomState) -> np.ndarray:
    """For each repeat, return a permutation of the rows within each query; shape (n_repeats, n)."""
    n, query_of_row = judgments.n_rows, judgments.query_of_row
    by_query = slice(None) if judgments.order is None else judgments.order
    orders = np.empty((n_repeats, n), dtype=np.intp)
    for order in orders:
        order[by_query] = np.lexsort((rng.random_sample(n), query_of_row))
    return orders


def _permuted(table: Any, position: int, order: np.ndarray) -> Any:
    """Return a copy of the table in which one column is permuted."""
    if is_polars_frame(table):
        return table.with_columns(table.to_series(position)[order])
    if sparse.issparse(table):
        columns = table.tocsc()
        parts = columns[:, :position], columns[:, [position]][order], columns[:, position + 1 :]
        return sparse.hstack(parts, format="csr")
    if is_pandas_frame(table):
        permuted = table.copy(deep=False)
        permuted.isetitem(position, table.iloc[order, position].array)
    else:
        permuted = table.copy()
        permuted[:, position] = table[order, position]
    return permuted
