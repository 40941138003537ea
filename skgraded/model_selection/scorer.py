"""Ranking measures as scikit-learn scorers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from copy import copy, deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest

from skgraded._input.queries import warn_of_row_ids
from skgraded._input.user_warnings import warn_user
from skgraded.boosting.frames import find_pipeline_input
from skgraded.judgments import Judgments, layout_of, scores_of
from skgraded.measures import Measure, as_measures
from skgraded.measures.base import compute_means
from skgraded.model_selection.query_source import (
    QuerySource,
    list_estimators,
    warn_of_split_queries,
)

Scored = str | Measure | Iterable[str | Measure] | Mapping[str, str | Measure]
RESPONSE_METHODS = ["predict", "decision_function", "predict_proba"]
MANTISSA_DECIMALS = 10  # decimals to round to; relative rounding errors are usually below 1e-13


def make_ranking_scorer(
    measure: Scored, *, qid: Any = None, response_method: str | list[str] | None = None
) -> RankingScorer:
    """Make a scorer from ranking measures, for scikit-learn's model selection.

    Parameters
    ----------
    measure : Measure, str, a list of them, or a mapping of names to them
        The measures to compute. With a list, the scorer returns a dict of scores by measure name,
        from one ``predict`` and one sort. With a mapping, the dict has the names of the mapping,
        such as ``{"ndcng10": "ndcng@10"}`` for tools that reject "@". The `refit` of a search must
        be one of the scorer's `names`, which scikit-learn checks only after all fits.
    qid : str, int or pandas Series, optional
        The source of the query ids. If None, the scorer uses the `qid` of the `QueryRanker`, alone
        or at the end of a pipeline, or metadata routing, ``search.fit(X, y, qid=qid)``. It requests
        `qid` by default, even if it was made while routing was disabled. If str or int, the column
        of X with this name or position (from the end if negative). Columns are read from the X that
        the user passes, before the steps of a pipeline; a position in `QueryRanker` is not used
        there, because steps may move columns. If a Series, ids are looked up by the row index of
        the frame X. The Series should contain exactly the rows of all queries,
        so that incomplete queries are detected.
    response_method : {"predict", "decision_function", "predict_proba"} or a list, optional
        The method that returns the document scores; with a list, the first method that the
        estimator has. The default is ``predict`` for rankers and regressors; for classifiers, it is
        ``decision_function`` with two classes and ``predict_proba`` otherwise. Probabilities become
        the expected grade Σ c·P(c), so the classes must be the grades. Expected grades that agree
        in the first ten digits tie.

    Returns
    -------
    RankingScorer
        A callable ``scorer(estimator, X, y_true, *, sample_weight=None, qid=None)`` for
        ``scoring=``; higher is better. `sample_weight` and `qid` have shape (n,); a query's weight
        is the mean over its rows. A call without `qid` raises a ValueError, unless the scorer finds
        the queries in X. Split queries issue a `TornQueryWarning`.
        ``set_score_request(sample_weight=True)`` makes the scorer also request weights. Without
        weights, it issues a UserWarning if a `QueryRanker` was fitted with weights, unless
        ``set_score_request(sample_weight=False)``.

    Raises
    ------
    ValueError, TypeError
        If a measure is unknown or occurs twice, or `qid` or `response_method` is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> import skgraded as sg
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.array([[1, 0.9], [1, 0.2], [2, 0.3], [2, 0.8], [2, 0.1]])
    >>> y = np.array([2, 0, 1, 3, 0])
    >>> model = LinearRegression().fit(X, y)
    >>> sg.make_ranking_scorer({"ndcng10": "ndcng@10", "mu_map": "mu_map"}, qid=0)(model, X, y)
    {'ndcng10': 1.0, 'mu_map': 1.0}
    """
    return RankingScorer(measure, qid, response_method)


class RankingScorer:
    """Scorer for ranking measures; see `make_ranking_scorer`, which creates it."""

    def __init__(self, measure: Any, qid: Any, response_method: Any) -> None:
        self._queries = QuerySource(qid)
        self._measures = name_measures(measure)
        self._is_single = isinstance(measure, (str, Measure))
        self._response_method = check_response_method(response_method)
        self._request = MetadataRequest(owner=repr(self))
        # With alias=None, a search raises an error if it receives weights that no object requests.
        self._request.score.add_request(param="sample_weight", alias=None)
        if not self._queries.is_in_X:
            self._request.score.add_request(param="qid", alias=True)

    @property
    def names(self) -> list[str]:
        """Names of the scores; a search selects one with ``refit=``."""
        return list(self._measures)

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y_true: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        qid: Any = None,
    ) -> float | dict[str, float]:
        """Return the score of a fitted estimator, or a dict of scores for several measures."""
        source = self._queries
        if qid is None and not source.is_in_X:
            source = QuerySource.of_estimator(estimator, is_before_steps=True)
        source, passed = find_user_table(source, X)
        qid = source.choose_queries(passed, "The scorer", qid)
        judgments = Judgments(y_true, qid=qid, sample_weight=sample_weight)
        if sample_weight is None and self._request.score.requests["sample_weight"] is not False:
            _warn_of_missing_weights(estimator)
        warn_of_row_ids(judgments.sizes)
        ids, layout = judgments.query_ids, layout_of(judgments)
        warn_of_split_queries(estimator, X, source, ids, layout, passed is not X)
        scores = scores_of(judgments, score_documents(estimator, X, self._response_method))
        means = compute_means(list(self._measures.values()), judgments, scores)
        return means[0] if self._is_single else dict(zip(self._measures, means, strict=True))

    def set_score_request(self, *, sample_weight: Any = UNCHANGED, qid: Any = UNCHANGED) -> Self:
        """Set the metadata that the scorer requests, and return the scorer.

        True requests the metadata, and False ignores it. With None, passing the metadata raises an
        error. A str is an alias. The defaults are True for `qid` and None for `sample_weight`.
        """
        request = deepcopy(self._request)  # unchanged if an alias is invalid
        for name, alias in (("sample_weight", sample_weight), ("qid", qid)):
            if alias is not UNCHANGED:
                request.score.add_request(param=name, alias=alias)
        self._request = request
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the metadata that the scorer requests."""
        return deepcopy(self._request)

    def _accept_sample_weight(self) -> bool:
        return True  # scikit-learn ≥ 1.8 calls this method if metadata routing is disabled

    def __sklearn_clone__(self) -> Self:
        return copy(self)  # no attribute is ever modified in place

    def __repr__(self) -> str:
        shown = repr(self.names[0] if self._is_single else self.names)
        if self._queries.is_in_X:
            qid = self._queries.source
            shown += f", qid={qid!r}" if self._queries.is_column else ", qid=<Series>"
        return f"make_ranking_scorer({shown})"


def name_measures(measure: Any) -> dict[str, Measure]:
    """Convert a measure, a list or a mapping to a dict of measures, keyed by score name."""
    if not isinstance(measure, Mapping):
        return {each.name: each for each in as_measures(measure)}
    return dict(zip(measure, as_measures(list(measure.values())), strict=True))


def _warn_of_missing_weights(estimator: Any) -> None:
    """Warn if a QueryRanker was fitted with weights, because the scorer received none."""
    if any(getattr(inner, "_is_weighted", False) for inner, _ in list_estimators(estimator)):
        warn_user(
            "The ranker was fitted with sample_weight, but the scorer received no weights, so all "
            "queries have the same weight in the score. With routing, pass sample_weight after "
            "scorer.set_score_request(sample_weight=True); without, cross_evaluate and "
            "RacingSearchCV weight both. If the score should not be weighted, use "
            "scorer.set_score_request(sample_weight=False)."
        )


def find_user_table(source: QuerySource, X: Any) -> tuple[QuerySource, Any]:
    """Return the source and the table of a query column, which steps of a pipeline may change.

    ``Pipeline.score`` passes only the table that its steps return, but the user's X is read.
    """
    if not source.is_column or "sklearn.pipeline" not in sys.modules:
        return source, X
    passed = find_pipeline_input(X)
    return (source, X) if passed is X else (source.move_before_steps(), passed)


# Scores of documents -----------------------------------------------------------------------------


def check_response_method(response_method: Any) -> Any:
    """Check that all response methods are known; return the method or the list of methods."""
    if response_method is None:
        return None
    methods = response_method if isinstance(response_method, (list, tuple)) else [response_method]
    if not methods or any(method not in RESPONSE_METHODS for method in methods):
        raise ValueError(
            f"response_method must be one of {RESPONSE_METHODS}, or a list of them; got "
            f"{response_method!r}."
        )
    return response_method


def score_documents(estimator: Any, X: Any, response_method: str | list[str] | None) -> np.ndarray:
    """Return the estimator's score for each document, as an array of shape (n,)."""
    methods = _default_methods(estimator) if response_method is None else response_method
    if isinstance(methods, str):
        methods = [methods]
    method = next((name for name in methods if hasattr(estimator, name)), None)
    if method is None:
        raise ValueError(
            f"{type(estimator).__name__} has no method {' or '.join(methods)}: pass another "
            "response_method, or wrap the estimator in CalibratedClassifierCV."
        )
    response = np.asarray(getattr(estimator, method)(X))
    if method == "predict_proba":
        return _compute_expected_grades(estimator, response)
    if response.ndim == 2 and response.shape[1] == 1:
        return response[:, 0]
    if response.ndim == 2:
        raise ValueError(
            f"Each document must have one score, but {method} of {type(estimator).__name__} "
            f"returns {response.shape[1]} scores: use response_method='predict_proba' for the "
            "expected grade, or use a regressor."
        )
    return response


def _compute_expected_grades(estimator: Any, probabilities: np.ndarray) -> np.ndarray:
    """Compute the expected grade Σ c·P(c) per row, rounded so that equal values tie.

    The last bits of the sum depend on how the probability is distributed over the classes, and the
    last bits of the probabilities may depend on the row position.
    """
    classes = np.asarray(estimator.classes_)
    if classes.dtype.kind not in "buif" or probabilities.shape[1:] != classes.shape:
        raise ValueError(
            f"The expected grade requires numeric classes and one probability per class; "
            f"{type(estimator).__name__} has the classes {classes.tolist()} and probabilities of "
            f"shape {probabilities.shape}."
        )
    # Avoid a matrix product, whose last bits depend on the processor and the number of threads.
    terms = [
        grade * probabilities[:, i].astype(float) for i, grade in enumerate(classes.astype(float))
    ]
    mantissas, exponents = np.frexp(np.sum(terms, axis=0))
    return np.ldexp(np.round(mantissas, MANTISSA_DECIMALS), exponents)


def _default_methods(estimator: Any) -> list[str]:
    # In scikit-learn 1.7 and later, is_classifier requires estimator tags.
    if not hasattr(estimator, "classes_") or not is_classifier(estimator):
        return ["predict"]
    two_classes = len(estimator.classes_) == 2
    return ["decision_function", "predict_proba"] if two_classes else ["predict_proba"]
