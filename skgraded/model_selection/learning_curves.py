"""Learning curves over the number of training queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skgraded.measures import Measure, as_measures
from skgraded.model_selection.folds import RankerOnRows, judge
from skgraded.model_selection.scorer import check_response_method
from skgraded.reports.evaluating import evaluate_judgments
from skgraded.reports.evaluation import Evaluation
from skgraded.writing import tables

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False, eq=False)
class LearningCurve:
    """Training and test scores for each number of training queries; see `learning_curve`.

    Attributes
    ----------
    n_queries : ndarray of shape (n_sizes,)
        Numbers of training queries in ascending order; the same in every fold.
    n_rows : ndarray of shape (n_sizes, n_folds)
        Number of rows of these queries.
    train_scores, test_scores : dict of str to ndarray of shape (n_sizes, n_folds)
        Means over the training and the test queries of each fold, by measure name.
    evaluations : list of list of Evaluation
        ``evaluations[size][fold]`` contains the values of the test queries.
    """

    n_queries: np.ndarray
    n_rows: np.ndarray
    train_scores: dict[str, np.ndarray]
    test_scores: dict[str, np.ndarray]
    evaluations: list[list[Evaluation]]

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the means, with one row per number of queries and fold.

        Returns
        -------
        pandas.DataFrame
            Columns ``n_queries``, ``fold`` and ``n_rows``, and for each measure ``train_NAME`` and
            ``test_NAME``.
        """
        n_sizes, n_folds = self.n_rows.shape
        columns = {
            "n_queries": np.repeat(self.n_queries, n_folds),
            "fold": np.tile(np.arange(n_folds), n_sizes),
            "n_rows": self.n_rows.ravel(),
        }
        for name in self.test_scores:
            columns[f"train_{name}"] = self.train_scores[name].ravel()
            columns[f"test_{name}"] = self.test_scores[name].ravel()
        return tables.frame(columns)

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}={values[0].mean():.4f} to {values[-1].mean():.4f}"
            for name, values in self.test_scores.items()
        )
        return f"LearningCurve({self.n_queries[0]} to {self.n_queries[-1]} queries: {shown})"


def learning_curve(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    qid: Any = None,
    group: ArrayLike | None = None,
    measures: str | Measure | Iterable[str | Measure] = ("ndcng@10", "mu_map"),
    train_sizes: ArrayLike = (0.1, 0.325, 0.55, 0.775, 1.0),
    cv: Any = 5,
    shuffle: bool = False,
    response_method: str | list[str] | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> LearningCurve:
    """Evaluate a ranker trained on increasing numbers of queries.

    In each fold, one clone is fitted for each number of training queries and scores the test
    queries. Larger training sets contain the smaller ones. scikit-learn's function of the same name
    counts rows instead of queries, so it may split queries.

    Parameters
    ----------
    estimator, X, y, qid, group, measures, response_method, n_jobs
        As for `cross_evaluate`.
    train_sizes : array-like of shape (n_sizes,), default=(0.1, 0.325, 0.55, 0.775, 1.0)
        Integers are numbers of queries. Floats are fractions in (0, 1] of the queries in the
        smallest training set, rounded to whole queries. Duplicates are dropped.
    cv : int, scikit-learn splitter or list of splits, default=5
        As for `cross_evaluate`; a query may be tested more than once.
    shuffle : bool, default=False
        Whether to shuffle the queries of each training set before selecting the first ones;
        otherwise they are selected in order of first appearance in X.
    random_state : int, RandomState or None, default=None
        Seed for `shuffle`.

    Returns
    -------
    LearningCurve

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid or a query would be split across folds; raised before any fit.

    See Also
    --------
    cross_evaluate : Per-query values of rankers that were fitted on all training queries.

    Examples
    --------
    >>> import skgraded as sg
    >>> from sklearn.linear_model import Ridge
    >>> from skgraded.model_selection import learning_curve
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> curve = learning_curve(sg.QueryRanker(Ridge()), X, y, qid=qid, cv=3, train_sizes=[5, 40])
    >>> curve.n_queries, curve.test_scores["NDCNG@10"].shape
    (array([ 5, 40]), (2, 3))
    """
    from sklearn.utils.parallel import Parallel, delayed

    measures = as_measures(measures)
    check_response_method(response_method)
    X, judgments = judge("learning_curve", estimator, X, y, measures, qid, group, cv=cv)
    data = RankerOnRows(estimator, X, y, judgments, None, response_method)
    query_of_row, folds = judgments.query_of_row, data.folds(cv)
    training = [np.unique(query_of_row[train]) for train, _ in folds]
    n_queries = _numbers(train_sizes, min(map(len, training)))
    if shuffle:
        rng = check_random_state(random_state)
        training = [rng.permutation(queries) for queries in training]
    splits = [
        (train[np.isin(query_of_row[train], queries[:n])], test)
        for n in n_queries for queries, (train, test) in zip(training, folds, strict=True)
    ]
    pairs = Parallel(n_jobs=n_jobs)(
        delayed(_evaluations_of)(data, measures, *split) for split in splits
    )
    trained, tested = zip(*pairs, strict=True)
    shape = len(n_queries), len(folds)

    def scores(reports: Sequence[Evaluation]) -> dict[str, np.ndarray]:
        means = [report.mean() for report in reports]
        return {name: np.reshape([by_name[name] for by_name in means], shape) for name in means[0]}

    n_rows = np.reshape([len(train) for train, _ in splits], shape)
    evaluations = [list(tested[i : i + len(folds)]) for i in range(0, len(tested), len(folds))]
    return LearningCurve(n_queries, n_rows, scores(trained), scores(tested), evaluations)


def _numbers(train_sizes: Any, most: int) -> np.ndarray:
    """Convert `train_sizes` to ascending numbers of queries; fractions are relative to `most`."""
    sizes = np.asarray(train_sizes)
    if sizes.ndim != 1 or not len(sizes) or sizes.dtype.kind not in "iuf":
        raise ValueError(f"train_sizes must be a non-empty list of numbers; got {train_sizes!r}.")
    if sizes.dtype.kind == "f":
        bad = ~((sizes > 0) & (sizes <= 1))
        kind = "fractions of the queries in (0, 1], or numbers of queries as integers"
    else:
        bad = (sizes < 1) | (sizes > most)
        kind = f"numbers of queries from 1 to {most} (the smallest training set), or fractions"
    if bad.any():
        raise ValueError(f"train_sizes must contain {kind}; got {sizes[bad][0]}.")
    if sizes.dtype.kind == "f":
        sizes = np.maximum(np.rint(sizes * most), 1)
    return np.unique(sizes.astype(int))


def _evaluations_of(
    data: RankerOnRows, measures: list[Measure], train: np.ndarray, test: np.ndarray
) -> list[Evaluation]:
    fitted = data.fit(train)
    return [
        evaluate_judgments(measures, data.judgments_of(rows), data.scores(fitted, rows))
        for rows in (train, test)
    ]
