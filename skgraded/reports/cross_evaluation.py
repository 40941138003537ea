"""Reports of cross-validation: values by query of out-of-fold scores, and the folds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from skgraded._input.words import counted
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.write import json_text

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False, eq=False)
class CrossEvaluation(Evaluation):
    """Values of measures by query from out-of-fold scores, made by `cross_evaluate`.

    Attributes
    ----------
    query_ids, per_query, undefined, weights
        As in `Evaluation`.
    fold : ndarray of shape (n_queries,) of int
        The fold in which each query was tested, from 0.
    fit_time : ndarray of shape (n_folds,)
        Seconds that each fit took; nan if it failed.
    score_time : ndarray of shape (n_folds,)
        Seconds that it took to predict the scores of the test queries; nan if that failed.
    errors : list of (str or None), of length n_folds
        Why a fold failed, None if it did not.
    estimators : list of (estimator or None), of length n_folds, or None
        The fitted clones, None for a fold that failed; none are kept unless `return_estimator`.

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

    fold: np.ndarray = field(kw_only=True)
    fit_time: np.ndarray = field(kw_only=True)
    score_time: np.ndarray = field(kw_only=True)
    errors: list[str | None] = field(kw_only=True)
    estimators: list[Any] | None = field(default=None, kw_only=True)

    def by_fold(self) -> pandas.DataFrame:
        """Tabulate the folds, a row a fold.

        Folds share most of their training data: no interval or test is to be made of these means.
        Those of `confidence_interval` and `compare` are over queries.

        Returns
        -------
        pandas.DataFrame
            Columns ``fold``, ``n_queries``, the mean of each measure, ``fit_time``,
            ``score_time`` and, if a fold failed, ``error``.
        """
        import pandas as pd

        means = fold_means(self)
        columns = {
            "fold": range(len(means)),
            "n_queries": np.bincount(self.fold, minlength=len(means)),
            **{name: [of_fold[name] for of_fold in means] for name in self.per_query},
            "fit_time": self.fit_time,
            "score_time": self.score_time,
        }
        if any(self.errors):
            columns["error"] = [error or "" for error in self.errors]
        return pd.DataFrame(columns)

    def _columns(self):
        columns = super()._columns()
        return {"query_id": columns.pop("query_id"), "fold": self.fold, **columns}

    _title = "Cross-evaluation"

    def _counts(self):
        folds = counted(len(self.fit_time), "fold", "folds")
        return [*super()._counts(), f"out-of-fold scores of {folds}"]

    def _parts(self, method):
        return {**super()._parts(method), "folds": self.by_fold()}

    def _page_parts(self):
        return {**super()._page_parts(), "fold": self.fold}

    def _to_json(self):
        return {
            **super()._to_json(),
            "fold": self.fold.tolist(),
            "fit_time": json_text.numbers_to_json(self.fit_time),
            "score_time": json_text.numbers_to_json(self.score_time),
            "errors": self.errors,
        }

    @staticmethod
    def _of_json(report):
        return {
            **Evaluation._of_json(report),
            "fold": np.array(report["fold"], dtype=int),
            "fit_time": json_text.numbers_of_json(report["fit_time"]),
            "score_time": json_text.numbers_of_json(report["score_time"]),
            "errors": report["errors"],
        }


def fold_means(cross_evaluation: CrossEvaluation) -> list[dict[str, float]]:
    """Means of the measures by name, a dict a fold."""
    cv = cross_evaluation
    n_folds = len(cv.fit_time)
    return [cv._take(np.flatnonzero(cv.fold == fold)).mean() for fold in range(n_folds)]
