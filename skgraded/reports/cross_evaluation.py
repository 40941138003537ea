"""The class `CrossEvaluation`: per-query values computed from out-of-fold scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skgraded.measures import mean_over_queries
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.report import TIMES, Axis, by_measure, concatenated
from skgraded.writing import tables
from skgraded.writing.json_text import FLOATS, INTEGERS, TEXT, by_name, list_of, maybe, record

if TYPE_CHECKING:
    import pandas


class Tests(NamedTuple):
    """Per-query results of all folds, with one element each time a query was in a test fold.

    Attributes
    ----------
    query : ndarray of shape (n_tests,) of int
        Position of the query in `query_ids`.
    fold : ndarray of shape (n_tests,) of int
        The fold in which the query was tested.
    values : dict of str to ndarray of shape (n_tests,)
        Values keyed by measure name.
    """

    query: np.ndarray
    fold: np.ndarray
    values: dict[str, np.ndarray]


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class CrossEvaluation(Evaluation):
    """Per-query values computed from out-of-fold scores, returned by `cross_evaluate`.

    Attributes
    ----------
    query_ids, per_query, undefined, weights
        As in `Evaluation`.
    fold : ndarray of shape (n_queries,) of int
        Index of the fold in which each query was tested.
    fit_time : ndarray of shape (n_folds,)
        Fit time of each fold in seconds; nan if the fit failed.
    score_time : ndarray of shape (n_folds,)
        Time in seconds to predict the scores of the test queries; nan if the prediction failed.
    errors : list of (str or None), of length n_folds
        Error message for each fold; None if the fold did not fail.
    train_scores : dict of str to ndarray of shape (n_folds,), or None
        Means over the training queries, keyed by measure name; None without `return_train_score`.
    tests : Tests or None
        All tests, if any query was tested more than once. In this case, `per_query` contains the
        mean of each query's values, and `fold` contains the first fold of each query.
    estimators : list of (estimator or None), of length n_folds, or None
        Fitted clone for each fold, or None if the fold failed; None without `return_estimator`.

    Examples
    --------
    >>> import skgraded as sg
    >>> from sklearn.linear_model import Ridge
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=30, random_state=0)
    >>> cv = sg.cross_evaluate(Ridge(), X, y, qid=qid, measures=["ap", "rr"], cv=3)
    >>> cv.worst(1).columns.tolist()
    ['query_id', 'fold', 'AP', 'RR']
    >>> cv.by_fold().columns.tolist()
    ['fold', 'n_queries', 'AP', 'RR', 'fit_time', 'score_time']
    """

    fold: np.ndarray
    fit_time: np.ndarray
    score_time: np.ndarray
    errors: list[str | None]
    train_scores: dict[str, np.ndarray] | None = None
    tests: Tests | None = None
    estimators: list[Any] | None = None

    _json = Evaluation._json | {
        "fold": INTEGERS, "fit_time": FLOATS, "score_time": FLOATS,
        "errors": list_of(maybe(TEXT)),
        "tests": maybe(record(Tests, query=INTEGERS, fold=INTEGERS, values=by_name(FLOATS))),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        queries = Axis("query", "query_ids", self.query_ids)
        folds = Axis("fold", "errors", range(len(self.errors)))
        self._set(
            fit_time=folds.numbers(self.fit_time, "fit_time", TIMES),
            score_time=folds.numbers(self.score_time, "score_time", TIMES),
            fold=queries.positions(self.fold, "fold", len(folds.keys)),
        )
        if self.train_scores is not None:
            self._set(train_scores=by_measure(
                self.train_scores, "train_scores", self.per_query, folds.numbers
            ))
        if self.tests is not None:
            query, fold, values = self.tests
            tests = Axis("test", "tests.query", range(len(query)))
            self._set(tests=Tests(
                tests.positions(query, "tests.query", len(self.query_ids)),
                tests.positions(fold, "tests.fold", len(folds.keys)),
                by_measure(values, "tests.values", self.per_query, tests.numbers),
            ))

    def by_fold(self) -> pandas.DataFrame:
        """Tabulate the folds, one row per fold.

        Do not compute intervals or tests from these means: folds share most of their training data.

        Returns
        -------
        pandas.DataFrame
            Columns ``fold``, ``n_queries``, the mean of each measure, ``train_NAME`` with
            `return_train_score`, ``fit_time``, ``score_time`` and, if a fold failed, ``error``.
        """
        means = fold_means(self)
        columns = {
            "fold": range(len(means)),
            "n_queries": np.bincount(all_tests(self).fold, minlength=len(means)),
            **{name: [fold[name] for fold in means] for name in self.per_query},
            **{f"train_{name}": scores for name, scores in (self.train_scores or {}).items()},
            "fit_time": self.fit_time,
            "score_time": self.score_time,
        }
        if any(self.errors):
            columns["error"] = [error or "" for error in self.errors]
        return tables.frame(columns)

    def spread(self) -> dict[str, np.ndarray]:
        """Return the standard deviation of each query's values in repeated cross-validation.

        The dict contains arrays of shape (n_queries,), keyed by measure name. The divisor is n - 1;
        queries with fewer than two values have nan.

        Examples
        --------
        >>> import skgraded as sg
        >>> from sklearn.linear_model import Ridge
        >>> from sklearn.model_selection import GroupKFold
        >>> X, y, qid = sg.datasets.make_ranking(n_queries=30, random_state=0)
        >>> twice = [
        ...     split for seed in (0, 1)
        ...     for split in GroupKFold(3, shuffle=True, random_state=seed).split(X, y, qid)]
        >>> cv = sg.cross_evaluate(Ridge(), X, y, qid=qid, measures="rr", cv=twice)
        >>> len(cv.query_ids), len(cv.by_fold()), len(cv.spread()["RR"])
        (30, 6, 30)
        """
        query, _, values = all_tests(self)
        n = len(self.query_ids)
        return {name: _deviations(array, query, n) for name, array in values.items()}

    def to_frame(self) -> pandas.DataFrame:
        """Tabulate the per-query values, with the ``fold`` of each query in the second column."""
        frame = super().to_frame()
        frame.insert(1, "fold", self.fold)
        return frame

    def _page(self, title: str | None = None, by: Any = None) -> Any:
        title = "Cross-evaluation" if title is None else title
        return replace(super()._page(title, by), folds=self.by_fold(), fold=self.fold)


def all_tests(cross_evaluation: CrossEvaluation) -> Tests:
    """Return `tests`, or create Tests if it is None because each query was tested once."""
    if cross_evaluation.tests is not None:
        return cross_evaluation.tests
    n = len(cross_evaluation.query_ids)
    return Tests(np.arange(n), cross_evaluation.fold, cross_evaluation.per_query)


def fold_means(cross_evaluation: CrossEvaluation) -> list[dict[str, float]]:
    """Return one dict of means per fold, keyed by measure name."""
    query, folds, values = all_tests(cross_evaluation)
    weights = cross_evaluation.weights
    means = []
    for fold in range(len(cross_evaluation.fit_time)):
        tests = np.flatnonzero(folds == fold)
        test_weights = None if weights is None else weights[query[tests]]
        means.append({
            name: mean_over_queries(array[tests], test_weights) for name, array in values.items()
        })
    return means


# Repeated tests ----------------------------------------------------------------------------------

def pooled_over_repeats(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the CrossEvaluation arguments for repeated cross-validation.

    Each part contains the arguments for one repetition and the positions of its queries.
    """
    names = ["positions", "query_ids", "fold"] + ["weights"] * (parts[0]["weights"] is not None)
    whole = concatenated([{name: part[name] for name in names} for part in parts])
    values, undefined = (
        concatenated([part[kind] for part in parts]) for kind in ("per_query", "undefined")
    )
    tested, first, query = np.unique(
        whole["positions"], return_index=True, return_inverse=True
    )
    return {
        "query_ids": whole["query_ids"][first],
        "fold": whole["fold"][first],
        "per_query": {name: _means(array, query, len(tested)) for name, array in values.items()},
        "undefined": {name: flags[first] for name, flags in undefined.items()},
        "weights": whole["weights"][first] if "weights" in whole else None,
        "tests": Tests(query, whole["fold"], values),
    }


def _means(values: np.ndarray, query: np.ndarray, n_queries: int) -> np.ndarray:
    """Return each query's mean value, ignoring nan, or nan for queries without values."""
    known = ~np.isnan(values)
    counts = np.bincount(query[known], minlength=n_queries)
    sums = np.bincount(query[known], values[known], minlength=n_queries)
    return np.divide(sums, counts, out=np.full(n_queries, np.nan), where=counts > 0)


def _deviations(values: np.ndarray, query: np.ndarray, n_queries: int) -> np.ndarray:
    known = ~np.isnan(values)
    n = np.bincount(query[known], minlength=n_queries)
    squares = (values - _means(values, query, n_queries)[query])[known] ** 2
    sums = np.bincount(query[known], squares, minlength=n_queries)
    variance = np.divide(sums, n - 1, out=np.full(n_queries, np.nan), where=n > 1)
    return np.sqrt(variance)
