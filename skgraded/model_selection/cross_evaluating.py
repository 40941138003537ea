"""Cross-validation of rankers, with per-query values of out-of-fold predictions."""

import numbers
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import FitFailedWarning

from skgraded._input.door import suggest_arguments
from skgraded._input.libraries import check_progress
from skgraded._input.messages import warn_user
from skgraded._input.queries import QueryIds
from skgraded._input.tables import Features
from skgraded.boosting.adapter import Estimator
from skgraded.judgments import Judgments
from skgraded.measures import Measure, as_measures
from skgraded.measures.base import find_undefined, score_queries
from skgraded.measures.parsing import DEFAULT_MEASURES, Measures
from skgraded.model_selection.folds import (
    Folds,
    RankerOnRows,
    check_cross_validation,
    run_in_parallel,
)
from skgraded.model_selection.scorer import ResponseMethod
from skgraded.reports.evaluating import read_clusters
from skgraded.reports.evaluation import CrossEvaluation, FoldValues
from skgraded.reports.report import concatenate
from skgraded.stats.paired_tests import average_queries
from skgraded.writing.text import utf8


@suggest_arguments
def cross_evaluate(
    ranker: Estimator,
    X: Features,
    y: ArrayLike,
    *,
    qid: QueryIds | None = None,
    group: ArrayLike | None = None,
    measures: Measures = DEFAULT_MEASURES,
    cv: Folds = 5,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    response_method: ResponseMethod = None,
    n_jobs: int | None = None,
    return_estimator: bool = False,
    error_score: float | str = "raise",
    progress: bool = False,
) -> CrossEvaluation:
    """Cross-validate a ranker and evaluate its out-of-fold predictions per query.

    The queries of each fold are scored by a clone of the ranker, fitted on the other folds.

    Parameters
    ----------
    ranker : estimator
        A `QueryRanker`, or any regressor or classifier. Its ``fit`` receives `qid` if it requests
        `qid` through scikit-learn's metadata routing.
    X : array, sparse matrix or frame of shape (n, n_features)
        Rows in any order.
    y : array-like of shape (n,)
        Grades ≥ 0, 0 = irrelevant.
    qid : array-like of shape (n,), str or int, optional
        The query of each row, or the column of X with this name or position. By default, queries
        are read with the `qid` of the `QueryRanker` or, for other rankers, of the splitter `cv`. The
        ranker does not receive the columns that `qid` and the splitter name, unless it names them
        itself.
    group : array-like of shape (n_queries,), optional
        Sizes of consecutive queries, in place of `qid`.
    measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
    cv : int, scikit-learn splitter or list of splits, default=5
        An int is the number of folds of ``GroupKFold``. A splitter receives the queries as groups
        and must keep queries whole. Queries that are never tested are left out; a query that is
        tested several times gets the mean of its values.
    sample_weight : array-like of shape (n,), optional
        A query's weight in means and intervals is the mean over its rows. The ranker's ``fit``
        also receives the weights if it has this parameter, unless
        ``set_fit_request(sample_weight=False)``; pipelines and searches require a request.
    clusters : array-like of shape (n,), optional
        Cluster of each row, as in `evaluate`. An int as `cv` then keeps clusters whole; a splitter
        that splits a cluster issues a warning, because the values would be too high.
    response_method : {"predict", "decision_function", "predict_proba"} or a list, optional
        The method that returns the document scores, as for `make_ranking_scorer`.
    n_jobs : int, optional
        Number of folds to run in parallel, as in scikit-learn.
    return_estimator : bool, default=False
        Whether to keep the fitted clones as `estimators`.
    error_score : "raise" or float, default="raise"
        If "raise", the error of a fold is raised. If a float, the queries of the fold get this
        value (nan is left out of means), a FitFailedWarning is issued, and `errors` contains the
        reason. An error is raised if all folds fail.
    progress : bool, default=False
        Whether to show a progress bar; requires tqdm.

    Returns
    -------
    CrossEvaluation

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid or a query would be split across folds; raised before any fit.

    Warns
    -----
    UserWarning
        As in `evaluate`.

    Examples
    --------
    >>> import skgraded as sg
    >>> from sklearn.linear_model import Ridge
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=30, random_state=0)
    >>> cv = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, qid=qid, cv=3)
    >>> cv.by_fold()[["fold", "n_queries"]]
       fold  n_queries
    0     0         10
    1     1         10
    2     2         10
    """
    from sklearn.utils.parallel import delayed

    measures = as_measures(measures)
    check_error_score(error_score, progress)
    data = check_cross_validation(
        ranker, X, y, measures, qid, group, sample_weight, cv, response_method
    )
    cluster = None if clusters is None else read_clusters(data.judgments, clusters, "y")
    folds = data.split(cv, cluster)
    calls = [
        delayed(run_fold)(data, i, *split, error_score, return_estimator)
        for i, split in enumerate(folds)
    ]
    runs = run_in_parallel(calls, n_jobs, progress)
    errors = [run.error for run in runs]
    if all(errors):
        raise ValueError(f"All {len(folds)} folds failed. Error in fold 0: {errors[0]}")
    tests = [data.judge(run.test) for run in runs]
    query = np.concatenate([judgments.query_ids for judgments in tests])
    fold = np.repeat([run.fold for run in runs], [judgments.n_queries for judgments in tests])
    values = concatenate(
        [
            run.evaluate_queries(measures, judgments, error_score)
            for run, judgments in zip(runs, tests, strict=True)
        ]
    )
    failed = [run for run in runs if run.error is not None]
    if failed:
        n_lost = np.isin(fold, [run.fold for run in failed]).sum()
        warn_user(
            f"{len(failed)} of {len(runs)} folds failed, and their {n_lost} queries have the value "
            f"{error_score}. Error in fold {failed[0].fold}: {failed[0].error}",
            FitFailedWarning,
        )
    weights = data.judgments.weights
    tested, first, position = np.unique(query, return_index=True, return_inverse=True)
    is_repeated = len(tested) < len(query)
    return CrossEvaluation(
        query_ids=data.judgments.query_ids[tested],
        fold=fold[first],
        per_query={
            name: average_queries(array, position, len(tested)) if is_repeated else array[first]
            for name, array in values.items()
        },
        undefined={
            measure.name: find_undefined(measure, data.judgments)[tested] for measure in measures
        },
        weights=None if weights is None else weights[tested],
        clusters=None if cluster is None else cluster[tested],
        tests=FoldValues(position, fold, values) if is_repeated else None,
        fit_time=np.array([run.fit_time for run in runs]),
        score_time=np.array([run.score_time for run in runs]),
        errors=errors,
        estimators=[run.estimator for run in runs] if return_estimator else None,
    )


def check_error_score(error_score: float | str, progress: bool) -> None:
    """Raise an error if `error_score` is invalid or if a progress bar is requested without tqdm."""
    check_progress(progress)
    is_number = isinstance(error_score, numbers.Real) and not isinstance(error_score, bool)
    if error_score != "raise" and not (is_number and not np.isinf(error_score)):
        raise ValueError(
            f"error_score must be 'raise', a finite number or nan; got {error_score!r}."
        )


# A fold ------------------------------------------------------------------------------------------


@dataclass
class FoldRun:
    """Results of one fold; after an error, missing results are None or nan."""

    fold: int
    test: np.ndarray
    scores: np.ndarray | None = None
    fit_time: float = np.nan
    score_time: float = np.nan
    estimator: Any = None
    error: str | None = None

    def evaluate_queries(
        self, measures: list[Measure], judgments: Judgments, error_score: float | str
    ) -> dict[str, np.ndarray]:
        """Return the values of the measures for each test query, given the judgments."""
        if self.scores is None:
            values = [np.full(judgments.n_queries, float(error_score))] * len(measures)
        else:
            values = score_queries(measures, judgments, self.scores)
        return {measure.name: array for measure, array in zip(measures, values, strict=True)}


def run_fold(
    data: RankerOnRows,
    fold: int,
    train: np.ndarray,
    test: np.ndarray,
    error_score: float | str,
    return_estimator: bool,
) -> FoldRun:
    """Fit on the training rows and score the test rows; record the times and any error."""
    run = FoldRun(fold, test)
    try:
        start = time.perf_counter()
        fitted = data.fit(train)
        fitted_at = time.perf_counter()
        run.fit_time = fitted_at - start
        run.scores = data.predict_scores(fitted, test)
        run.score_time = time.perf_counter() - fitted_at
        run.estimator = fitted if return_estimator else None
    except Exception as error:
        if error_score == "raise":
            raise
        run.error = utf8(f"{type(error).__name__}: {error}")
    return run
