"""Reports of cross-validation: values by query of out-of-fold scores, and the folds."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

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

    def by_fold(self) -> "pandas.DataFrame":
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

        rows = []
        for fold, times in enumerate(zip(self.fit_time, self.score_time, strict=True)):
            part = self._take(np.flatnonzero(self.fold == fold))
            row = {"fold": fold, "n_queries": len(part.query_ids), **part.mean()}
            rows.append({**row, "fit_time": times[0], "score_time": times[1]})
        frame = pd.DataFrame(rows)
        if any(self.errors):
            frame["error"] = [error or "" for error in self.errors]
        return frame

    def _columns(self):
        columns = super()._columns()
        return {"query_id": columns.pop("query_id"), "fold": self.fold, **columns}

    def _page(self):
        from skgraded.reports.write.html import cross_evaluation_page

        return cross_evaluation_page(self)

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
