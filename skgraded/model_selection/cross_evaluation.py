"""Cross-validation of rankers: values by query of out-of-fold scores."""

from __future__ import annotations

import numbers
import time
import warnings
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import _safe_indexing

from skgraded._input.columns import column
from skgraded._input.progress import progress_bar
from skgraded.judgments import Judgments
from skgraded.measures import Measure, as_measures
from skgraded.model_selection.folds import fit_rows, judge, query_folds, refuse_bare_ranker
from skgraded.model_selection.scorer import check_response_method, document_scores, means_of
from skgraded.reports.cross_evaluation import CrossEvaluation, pooled_over_repeats
from skgraded.reports.evaluation import values_by_query


def cross_evaluate(
    ranker: Any,
    X: Any,
    y: ArrayLike,
    *,
    qid: Any = None,
    group: ArrayLike | None = None,
    measures: str | Measure | Iterable[str | Measure] = ("ndcng@10", "mu_map"),
    cv: Any = 5,
    sample_weight: ArrayLike | None = None,
    response_method: str | list[str] | None = None,
    n_jobs: int | None = None,
    return_train_score: bool = False,
    return_estimator: bool = False,
    error_score: float | str = "raise",
    progress: bool = False,
) -> CrossEvaluation:
    """Measure out-of-fold scores query by query.

    Each fold's queries are scored by a clone of the ranker that was fitted on the other folds.

    Parameters
    ----------
    ranker : estimator
        `QueryRanker`, or any regressor or classifier; `qid` is given to its ``fit`` if it asks for
        it, by scikit-learn's metadata routing.
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
        and must keep the rows of a query together. Queries that it never tests are left out; one
        that it tests more than once, as repeated cross-validation does, has the mean of its values,
        and `spread` says how far these differ.
    sample_weight : array-like of shape (n,), optional
        A query's weight in means and intervals is the mean over its rows. The ranker's ``fit`` is
        given the weights only if it asks for them, by ``set_fit_request(sample_weight=True)``.
    response_method : {"predict", "decision_function", "predict_proba"} or a list, optional
        What gives the scores of the documents, as for `make_ranking_scorer`: by default
        ``predict`` of rankers and regressors, and the expected grade of classifiers.
    n_jobs : int, optional
        How many folds run at a time; as in scikit-learn.
    return_train_score : bool, default=False
        Whether `by_fold` has the means over the training queries of each fold too.
    return_estimator : bool, default=False
        Whether the fitted clones are kept, as `estimators`.
    error_score : "raise" or float, default="raise"
        What becomes of an error in ``fit`` or ``predict``: it is raised; or the queries of the
        fold get this value (nan: left out of means), with a FitFailedWarning, and `errors` says
        why. If all folds fail it is an error in any case.
    progress : bool, default=False
        Whether a bar is shown, on a terminal or in a notebook; needs tqdm.

    Returns
    -------
    CrossEvaluation

    Raises
    ------
    ValueError, TypeError
        On bad input, or if a query would be torn between folds; before any fit.

    Examples
    --------
    >>> import skgraded as sg
    >>> from sklearn.linear_model import Ridge
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=30, random_state=0)
    >>> cv = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, qid=qid, cv=3)
    >>> len(cv.query_ids), sorted(set(cv.fold.tolist()))
    (30, [0, 1, 2])
    >>> cv.by_fold()[["fold", "n_queries"]]
       fold  n_queries
    0     0         10
    1     1         10
    2     2         10
    """
    from sklearn.utils.parallel import Parallel, delayed

    measures = as_measures(measures)
    _check_error_score(error_score)
    if progress:
        _need_tqdm()
    check_response_method(response_method)
    refuse_bare_ranker(ranker)
    X, judgments = judge(
        "cross_evaluate", ranker, X, y, measures, qid=qid, group=group, sample_weight=sample_weight
    )
    if sample_weight is not None:
        sample_weight = column(sample_weight, "sample_weight")
    folds = query_folds(cv, X, y, judgments)
    ids = judgments.query_ids[judgments.query_of_row]
    runs = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_run_fold)(
            ranker, X, y, ids, sample_weight, fold, response_method, error_score,
            measures if return_train_score else [], return_estimator,
        )
        for fold in folds
    )
    if progress:
        runs = progress_bar(runs, total=len(folds), desc="folds")
    runs = list(runs)
    errors = [run["error"] for run in runs]
    if all(errors):
        raise ValueError(f"All {len(folds)} folds failed. Fold 0: {errors[0]}")
    return CrossEvaluation(
        **_pooled(measures, judgments, folds, runs, error_score, sample_weight),
        fit_time=np.array([run["fit_time"] for run in runs]),
        score_time=np.array([run["score_time"] for run in runs]),
        errors=errors,
        train_scores=_by_measure([run["train"] for run in runs]) if return_train_score else None,
        estimators=[run["estimator"] for run in runs] if return_estimator else None,
    )


def _by_measure(of_folds):
    return {name: np.array([means[name] for means in of_folds]) for name in of_folds[0]}


# Before the folds run ----------------------------------------------------------------------------

def _check_error_score(error_score):
    is_number = isinstance(error_score, numbers.Real) and not isinstance(error_score, bool)
    is_raise = isinstance(error_score, str) and error_score == "raise"
    if not is_raise and not (is_number and not np.isinf(error_score)):
        raise ValueError(
            f"error_score must be 'raise', a finite number or nan; got {error_score!r}."
        )


def _need_tqdm():
    if find_spec("tqdm") is None:
        raise ImportError("progress=True needs tqdm: pip install tqdm, or use progress=False.")


# A fold ------------------------------------------------------------------------------------------

def _run_fold(
    ranker, X, y, ids, sample_weight, fold, response_method, error_score, train_measures,
    return_estimator,
):
    """Fit on the training rows and score the test rows, with times; or say why it failed."""
    train, test = fold
    run = dict.fromkeys(("scores", "estimator", "error"), None)
    run |= {"fit_time": np.nan, "score_time": np.nan}
    run["train"] = dict.fromkeys([measure.name for measure in train_measures], np.nan)
    try:
        start = time.perf_counter()
        fitted = fit_rows(ranker, X, y, train, ids[train], sample_weight)
        fitted_at = time.perf_counter()
        run["fit_time"] = fitted_at - start
        predicted = document_scores(fitted, _safe_indexing(X, test), response_method)
        score_time = time.perf_counter() - fitted_at
        run["scores"] = _checked(predicted, test)
        run["score_time"] = score_time
        run["estimator"] = fitted if return_estimator else None
        if train_measures:
            run["train"] = means_of(train_measures, Judgments(
                _safe_indexing(y, train), qid=ids[train],
                sample_weight=None if sample_weight is None else sample_weight[train],
            ), document_scores(fitted, _safe_indexing(X, train), response_method))
    except Exception as error:
        if error_score == "raise":
            raise
        run["error"] = f"{type(error).__name__}: {error}"
    return run


def _checked(predicted, test):
    scores = column(predicted, "The prediction", len(test), "the test part")
    if np.isnan(scores).any():
        row = test[np.argmax(np.isnan(scores))]
        raise ValueError(f"The ranker predicts nan for row {row} of X.")
    return scores


def _pooled(measures, judgments, folds, runs, error_score, sample_weight):
    """Values of the tested queries and their folds, by the names of the report's parameters."""
    rounds = _rounds(folds, judgments)
    given = measures, judgments, folds, runs, error_score, sample_weight
    parts = [_of_round(numbers, *given) for numbers in rounds]
    failed = [i for i, run in enumerate(runs) if run["error"] is not None]
    if failed:
        n_lost = sum(np.isin(part["fold"], failed).sum() for part in parts)
        warnings.warn(
            f"{len(failed)} of {len(folds)} folds failed, and their {n_lost} queries got "
            f"{error_score}. Fold {failed[0]}: {runs[failed[0]]['error']}",
            FitFailedWarning,
            stacklevel=3,
        )
    if len(parts) == 1:
        return {name: value for name, value in parts[0].items() if name != "positions"}
    return pooled_over_repeats(parts)


def _rounds(folds, judgments):
    """Numbers of folds, together those of a round in which no query is tested twice."""
    rounds: list[list[int]] = []
    tested: set = set()
    for number, (_, test) in enumerate(folds):
        queries = set(judgments.query_of_row[test].tolist())
        if not rounds or queries & tested:
            rounds.append([])
            tested = set()
        rounds[-1].append(number)
        tested |= queries
    return rounds


def _of_round(numbers, measures, judgments, folds, runs, error_score, sample_weight):
    """Values of the queries that these folds test, and their positions among all queries."""
    fold_of_row = np.full(judgments.n_rows, -1)
    scores = np.zeros(judgments.n_rows)
    for number in numbers:
        test, run = folds[number][1], runs[number]
        fold_of_row[test] = number
        if run["error"] is None:
            scores[test] = run["scores"]
    tested = np.flatnonzero(fold_of_row >= 0)
    queries = judgments.query_of_row[tested]
    kept = Judgments(
        judgments.grades[tested].astype(judgments.grade_type),
        qid=judgments.query_ids[queries],
        sample_weight=None if sample_weight is None else sample_weight[tested],
    )
    values = values_by_query(measures, kept, scores[tested])
    first_rows = np.sort(np.unique(queries, return_index=True)[1])
    fold = fold_of_row[tested[first_rows]]
    lost = np.array([runs[number]["error"] is not None for number in fold])
    for of_measure in values["per_query"].values() if lost.any() else ():
        of_measure[lost] = error_score
    return {**values, "fold": fold, "positions": queries[first_rows]}
