"""Ranking measures as scikit-learn scorers, and warnings about the queries that they score."""

from collections.abc import Iterable, Mapping
from copy import copy, deepcopy
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest

from skgraded._input.arrow_strings import hash_ids
from skgraded._input.door import plain, suggest_arguments
from skgraded._input.messages import warn_user
from skgraded._input.queries import QueryIds, warn_of_row_ids
from skgraded._input.tables import Features, as_table, take_rows
from skgraded.boosting.adapter import Queries
from skgraded.boosting.frames import find_pipeline_input
from skgraded.judgments import Judgments, Layout, check_scores_of_rows, get_layout
from skgraded.measures import Measure, as_measures, measure as as_measure
from skgraded.measures.base import compute_means
from skgraded.model_selection.query_source import (
    QuerySource,
    Source,
    TornQueryWarning,
    list_estimators,
)

Scored: TypeAlias = str | Measure | Iterable[str | Measure] | Mapping[str, str | Measure]
ResponseMethod: TypeAlias = str | list[str] | None
RESPONSE_METHODS = ["predict", "decision_function", "predict_proba"]
MANTISSA_DECIMALS = 10  # decimals to round to; relative rounding errors are usually below 1e-13
MISSING_WEIGHTS = (
    "The ranker was fitted with sample_weight, but the scorer received no weights, so all "
    "queries have the same weight in the score. With routing, pass sample_weight after "
    "scorer.set_score_request(sample_weight=True); without, cross_evaluate and "
    "RacingSearchCV weight both. If the score should not be weighted, use "
    "scorer.set_score_request(sample_weight=False)."
)
SHARED = (
    "{shared} of the {scored} queries to score, such as {example!r}, are among those that the "
    "ranker was fitted on. Either the split divides queries, and the score is wrong (too high, "
    "or too low with few relevant documents): use cv=QueryKFold(5, qid='query_id') from "
    "skgraded.model_selection if X contains the queries, cv=GroupKFold(5) with fit(X, y, "
    "groups=qid), or, with metadata routing, cv=GroupKFold(5).set_split_request(groups='qid'). Or "
    "both sets use the same ids for different queries, as in files that number their queries from "
    "0 or 1: use different ids, such as ('test', qid)."
)


@suggest_arguments
def make_ranking_scorer(
    measure: Scored, *, qid: Source = None, response_method: ResponseMethod = None
) -> "RankingScorer":
    """Make a scorer from ranking measures, for scikit-learn's model selection.

    Parameters
    ----------
    measure : Measure, str, a list of them, or a mapping of names to them
        The measures to compute. With a list, the scorer returns a dict of scores keyed by measure
        name; with a mapping, by the names in the mapping. The `refit` of a search must be one of
        the scorer's `names`, which scikit-learn checks only after all fits.
    qid : str, int or pandas Series, optional
        The source of the query ids, as in `QueryRanker`. If None, the scorer uses the `qid` of the
        `QueryRanker`, alone or at the end of a pipeline, or metadata routing: ``search.fit(X, y,
        qid=qid)``. The scorer requests `qid` by default. Columns are read from the X that the user
        passes to a pipeline, where a position in `QueryRanker` is not used. Incomplete queries are
        detected if a Series contains exactly the rows of all queries.
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
        ``scoring=``; higher is better. A query's weight is the mean over its rows. A call without
        `qid` raises a ValueError, unless the scorer finds the queries in X. Split queries issue a
        `TornQueryWarning`. ``set_score_request(sample_weight=True)`` makes the scorer also request
        weights. Without weights, it issues a UserWarning if a `QueryRanker` was fitted with
        weights, unless ``set_score_request(sample_weight=False)``.

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

    def __init__(self, measure: Scored, qid: Source, response_method: ResponseMethod) -> None:
        self._queries = QuerySource(qid)
        self._measures = name_measures(measure)
        self._is_single = isinstance(measure, (str, Measure)) and len(self._measures) == 1
        self._response_method = check_response_method(response_method)
        self._request = MetadataRequest(owner=repr(self))
        # alias=None makes a search raise an error if it receives weights that no object requests.
        self._request.score.add_request(param="sample_weight", alias=None)
        if not self._queries.is_in_X:
            self._request.score.add_request(param="qid", alias=True)

    @property
    def names(self) -> list[str]:
        """Names of the scores; a search selects one with ``refit=``."""
        return list(self._measures)

    def __call__(
        self,
        estimator: object,
        X: Features,
        y_true: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        qid: QueryIds | None = None,
    ) -> float | dict[str, float]:
        """Return the score of a fitted estimator, or a dict of scores for several measures."""
        source = self._queries
        if qid is None and not source.is_in_X:
            source = QuerySource.of_estimator(estimator, is_before_steps=True)
        judgments = judge_scored_rows(
            estimator, X, y_true, source, "The scorer", qid, sample_weight=sample_weight
        )
        warn_of_row_ids(judgments.sizes)
        if sample_weight is None and self._request.score.requests["sample_weight"] is not False:
            inside = [inner for inner, _ in list_estimators(estimator)]
            if any(getattr(inner, "_is_weighted", False) for inner in inside):
                warn_user(MISSING_WEIGHTS)
        scores = check_scores_of_rows(
            judgments, score_documents(estimator, X, self._response_method)
        )
        means = compute_means(list(self._measures.values()), judgments, scores)
        return means[0] if self._is_single else dict(zip(self._measures, means, strict=True))

    def set_score_request(
        self,
        *,
        sample_weight: str | bool | None = UNCHANGED,
        qid: str | bool | None = UNCHANGED,
    ) -> Self:
        """Set the metadata that the scorer requests, and return the scorer.

        If True, the metadata is requested; if False, it is ignored; if None, passing it raises an
        error. If the value is a str, the metadata is requested under this name. The defaults are
        True for `qid` and None for `sample_weight`.
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


def name_measures(measure: Scored) -> dict[str, Measure]:
    """Convert a measure, a list or a mapping to a dict of measures, keyed by score name."""
    if not isinstance(measure, Mapping):
        return {each.name: each for each in as_measures(measure)}
    # Each name refers to a single measure, whereas a string in a list may name several measures.
    measures = as_measures([as_measure(each) for each in measure.values()])
    return dict(zip(measure, measures, strict=True))


# Queries to score --------------------------------------------------------------------------------


def judge_scored_rows(
    estimator: object,
    X: Features,
    y: ArrayLike,
    source: QuerySource,
    caller: str,
    qid: QueryIds | None,
    group: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Judgments:
    """Return the judgments of the scored rows; warn if queries are split or were seen during fit.

    A column of queries is read from the X that the user passed, because ``Pipeline.score``
    passes on only the output of its steps, in which the query ids may be encoded.
    """
    passed = find_pipeline_input(X) if source.is_column else X
    if passed is not X:
        source = source.move_before_steps()
    queries = source.choose_queries(passed, caller, qid, group)
    judgments = Judgments(y, qid=queries, group=group, sample_weight=sample_weight)
    if group is None:  # group sizes do not identify queries
        _warn_of_split_queries(estimator, X, source, judgments, passed is not X)
    return judgments


def _warn_of_split_queries(
    estimator: object, X: Features, source: QuerySource, judgments: Judgments, is_transformed: bool
) -> None:
    """Issue a TornQueryWarning if scored queries are incomplete or were seen during fit.

    Only a QueryRanker, alone or in a search or pipeline, stores the queries it was fitted on.
    Pipeline steps may have encoded these query ids; if `is_transformed` is True, X is the output of
    such steps.
    """
    ids, layout = judgments.query_ids, get_layout(judgments)
    steps: list[Any] = []
    for inner, before in list_estimators(estimator):
        steps += before or []
        fitted = getattr(inner, "_fitted_queries", None)
        if fitted is None:
            continue
        seen = ids
        if (steps or is_transformed) and inner._queries.is_column:
            starts = layout.starts[:-1]
            rows = starts if layout.order is None else layout.order[starts]
            table = take_rows(as_table(X), rows)
            for step in steps:
                table = step.transform(table)
            seen = np.asarray(inner._queries.read(as_table(table)))
        shared = fitted.find_shared(seen, layout)
        if shared:
            example = plain(ids[shared[0]])
            message = SHARED.format(shared=len(shared), scored=len(ids), example=example)
            warn_user(message, TornQueryWarning)
            return
        break
    if source.is_series:
        source.warn_of_partial_queries(X, "score")


class FittedQueries(NamedTuple):
    """The queries that a ranker was fitted on, sorted by hashes of their ids.

    Query ids may be personal data, so a pickled ranker must not contain the ids themselves.
    """

    hashes: np.ndarray
    sizes: np.ndarray  # numbers of rows
    sums: np.ndarray  # sums of the grades
    stopped_on: np.ndarray  # hashes of validation queries that were not used for fitting

    def find_shared(self, ids: np.ndarray, layout: Layout) -> list[int]:
        """Return the positions of ids seen during fit; if the rows are those of the fit, return [].

        The rows are assumed to be those of the fit if the queries, query sizes and sums of grades
        are equal.
        """
        hashes = _make_keys(ids)
        order = np.argsort(hashes)
        if np.array_equal(hashes[order], self.hashes):
            sums = layout.sum_levels(layout.levels * layout.counts)[order]
            if np.array_equal(layout.sizes[order], self.sizes) and np.allclose(sums, self.sums):
                return []
        is_seen = np.isin(hashes, self.hashes) | np.isin(hashes, self.stopped_on)
        return np.flatnonzero(is_seen).tolist()


def remember_queries(queries: Queries, grades: np.ndarray, stopped_on: np.ndarray) -> FittedQueries:
    """Describe the queries used for fitting; `stopped_on` contains the validation queries' ids."""
    by_query = grades if queries.order is None else grades[queries.order]
    sums = np.add.reduceat(by_query, queries.starts[:-1])
    hashes = _make_keys(queries.ids)
    order = np.argsort(hashes)
    return FittedQueries(hashes[order], queries.sizes[order], sums[order], _make_keys(stopped_on))


def _make_keys(ids: np.ndarray) -> np.ndarray:
    """Hash each id in the same way in all processes; equal numbers have equal hashes."""
    from pandas.util import hash_array

    # `hash_ids` returns integers unchanged.
    return hash_array(ids if ids.dtype.kind == "i" else hash_ids(ids))


# Scores of documents -----------------------------------------------------------------------------


def check_response_method(response_method: ResponseMethod) -> list[str] | None:
    """Return the methods in `response_method` as a list, or None."""
    if response_method is None:
        return None
    methods = response_method if isinstance(response_method, (list, tuple)) else [response_method]
    if not methods or any(method not in RESPONSE_METHODS for method in methods):
        raise ValueError(
            f"response_method must be one of {RESPONSE_METHODS}, or a list of them; got "
            f"{response_method!r}."
        )
    return methods


def score_documents(estimator: Any, X: Features, methods: list[str] | None) -> np.ndarray:
    """Return the estimator's score for each document, as an array of shape (n,)."""
    if methods is None:
        methods = ["predict"]
        # In scikit-learn 1.7 and later, is_classifier requires estimator tags.
        if hasattr(estimator, "classes_") and is_classifier(estimator):
            methods = ["predict_proba"]
            if len(estimator.classes_) == 2:
                methods = ["decision_function", "predict_proba"]
    method = next((name for name in methods if hasattr(estimator, name)), None)
    if method is None:
        raise ValueError(
            f"{type(estimator).__name__} has no method {' or '.join(methods)}: pass a "
            "different response_method, or wrap the estimator in CalibratedClassifierCV."
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
    """Compute the expected grade Σ c·P(c) per row, without digits that depend on rounding errors.

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
