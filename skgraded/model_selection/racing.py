"""RacingSearchCV, a hyperparameter search that stops training hopeless candidates."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from operator import methodcaller
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import check_is_fitted

from skgraded._input.door import check_whole_number, make_object_array, number_validator
from skgraded._input.libraries import show_progress
from skgraded._input.messages import warn_user
from skgraded._input.queries import QueryIds
from skgraded._input.tables import Features, as_table
from skgraded.boosting.adapter import Estimator, make_adapter
from skgraded.judgments import check_scores_of_rows
from skgraded.measures import as_measures
from skgraded.measures.base import compute_means
from skgraded.measures.parsing import DEFAULT_MEASURE, Measures
from skgraded.model_selection.candidates import (
    CandidateResult,
    CandidateRounds,
    SearchFolds,
    fit_candidate,
    train_candidate,
)
from skgraded.model_selection.cross_evaluating import check_error_score
from skgraded.model_selection.early_stopping import classify_early_stopping
from skgraded.model_selection.folds import (
    Folds,
    RankerOnRows,
    check_cross_validation,
    request_queries,
)
from skgraded.model_selection.query_source import QuerySource, remove_columns
from skgraded.model_selection.ranker import QueryRanker
from skgraded.model_selection.scorer import judge_scored_rows, score_documents
from skgraded.reports.comparing import compare
from skgraded.reports.pairing import are_unequal, refuse_unequal
from skgraded.stats.racing import compare_with_leader
from skgraded.writing import tables

# Attributes that a fitted search takes from its best estimator
OF_BEST_ESTIMATOR = (
    "classes_",
    "decision_function",
    "feature_names_in_",
    "n_features_in_",
    "predict_proba",
)
OF_TRAINING = ("n_rounds", "best_rounds", "dropped")  # columns of cv_results_
WITHOUT_REFIT = "%(name)s has no best_estimator_: call fit first, which requires refit=True."


class RacingSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Hyperparameter search that drops candidates early if they cannot become the best.

    The candidates of a `QueryRanker` with early stopping are trained one after another, each on all
    folds at the same time. After each round, the mean of `measure` over the queries of all folds is
    computed; the highest of these means is the candidate's score. A candidate is dropped if it
    remains too far below the best candidate so far.

    Parameters
    ----------
    estimator : ranker or regressor
        A `QueryRanker` with `early_stopping`, around a booster or a pipeline that ends with one.
        The folds of `cv` replace its validation queries, and its `n_iter_no_change` is used. Any
        other estimator that `cross_evaluate` accepts is fitted as in ``GridSearchCV``: it has no
        rounds, so no candidate is dropped.
    param_distributions : dict or list of dicts
        Parameter names with lists of values or scipy distributions, as in ``RandomizedSearchCV``.
    n_iter : int, optional
        Number of candidates to sample. If None, the candidates are all combinations of the values,
        which must then be in lists.
    measure : Measure, str, or a list of them, default="ndcng@10"
        The measure, which replaces the `measure` of a `QueryRanker` during the search. In a list,
        the first measure decides.
    cv : int, scikit-learn splitter or list of splits, default=5
        Folds that keep queries whole, as in `cross_evaluate`.
    n_standard_errors : float, default=1.0
        How cautiously candidates are dropped; see Notes. With ``numpy.inf``, no candidate is
        dropped.
    level : float or None, default=0.95
        Probability, for ``margin=0``, that the survivors include the best of the candidates that
        were not dropped: the candidate with the highest expected value. If None, all candidates
        that were not dropped survive, and queries may have unequal weights.
    margin : float, default=0.0
        Difference, in units of the measure, that does not matter: a candidate survives only if it
        can be better than the leader by more than this. With `prefer`, instead, a candidate is
        dropped, or does not survive, only if it is worse than the leader by more than `margin`.
    prefer : str or callable, optional
        How to choose among the survivors: the name of a parameter, or a function of a dict of
        parameters that returns a number; smaller numbers are preferred. If None, the survivor with
        the highest mean is the best.
    refit : bool, default=True
        Whether to fit the best candidate on all rows, with `best_rounds_` rounds.
    n_jobs : int, optional
        Number of folds of a candidate to fit in parallel.
    error_score : "raise" or float, default="raise"
        If "raise", the error of a candidate's fit is raised. If a float, the candidate is dropped
        with this score, and a FitFailedWarning is issued, unless all candidates fail.
    progress : bool, default=False
        Whether to show a progress bar with the leader; requires tqdm.
    random_state : int, RandomState instance or None, default=None
        Seed for sampling candidates and for the bootstrap of the survivors.

    Attributes
    ----------
    best_index_, best_params_, best_score_ : int, dict and float
        The best candidate, and its mean over the test queries.
    best_rounds_ : int or None
        Number of boosting rounds of the best candidate; None if it has no rounds.
    best_estimator_ : estimator
        The best candidate, fitted on all rows; requires `refit`. The `evals_result_` of a
        `QueryRanker` contains the means after each round.
    cv_results_ : dict of arrays of shape (n_candidates,)
        The columns of ``GridSearchCV``, at the best round of each candidate. ``mean_test_score``
        is the mean over queries, not over folds. ``n_rounds`` is the number of rounds trained on
        each fold, and ``best_rounds`` is the best number of rounds (-1 without rounds). ``dropped``
        is True for candidates that were dropped or whose fit failed; these rank last. For several
        measures, names end with the measure instead of ``score``.
    survivors_ : ndarray of int
        Indices into ``cv_results_["params"]`` of the candidates that may be the best, the highest
        mean first.
    comparison_ : Comparison or None
        Comparison of the survivors, named after their indices, with the survivor that has the
        highest mean: paired t-tests, or no test for unequal weights. None with one survivor.
    n_rounds_ : int
        Number of boosting rounds trained, summed over candidates and folds, without the refit.
    n_features_in_, classes_, decision_function, predict_proba
        As in `best_estimator_`, if it has them.

    See Also
    --------
    cross_evaluate : Evaluates one ranker.

    Notes
    -----
    After 5, 7, 10, 14, 20, 28, … rounds (5 · 2^(j/2), rounded), a candidate is compared with the
    best of the candidates before it, the leader. All values belong to the best rounds so far. Let b
    be the candidate's mean, h its mean at half as many rounds, and s the standard error of the
    per-query differences from the leader. The candidate is dropped if
    b + (b - h) + `n_standard_errors` · s is below the leader's mean at two consecutive comparisons.

    The survivors are determined from the joint distribution of the candidates' differences, by
    a Gaussian multiplier bootstrap over queries [1]_. `level` does not cover errors of the
    dropping, nor the choice of the best round on the same queries. Queries are treated as
    independent, although folds share training data [2]_: the level holds for rankers trained on
    the given data, rather than on new data, and not for strongly skewed differences.

    Each fold keeps a copy of the rows in memory.

    References
    ----------
    .. [1] Chernozhukov, Chetverikov & Kato (2013), "Gaussian approximations and multiplier
       bootstrap for maxima of sums of high-dimensional random vectors", Annals of Statistics 41.
    .. [2] Bengio & Grandvalet (2004), "No unbiased estimator of the variance of K-fold
       cross-validation", JMLR 5.

    Examples
    --------
    >>> import skgraded as sg
    >>> from lightgbm import LGBMRanker
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> booster = LGBMRanker(n_estimators=100, num_leaves=7, n_jobs=1, verbose=-1)
    >>> search = sg.model_selection.RacingSearchCV(
    ...     sg.QueryRanker(booster, early_stopping=True, n_iter_no_change=20),
    ...     {"estimator__learning_rate": [0.1, 0.0001]}, random_state=0
    ... ).fit(X, y, qid=qid)
    >>> search.best_params_, search.best_index_ in search.survivors_
    ({'estimator__learning_rate': 0.1}, True)
    """

    # Group sizes cannot be split along with the rows, so they are not requested.
    __metadata_request__fit = {"qid": True, "group": False}
    __metadata_request__score = {"qid": True}

    def __init__(
        self,
        estimator: Estimator,
        param_distributions: dict[str, Any] | list[dict[str, Any]],
        *,
        n_iter: int | None = None,
        measure: Measures = DEFAULT_MEASURE,
        cv: Folds = 5,
        n_standard_errors: float = 1.0,
        level: float | None = 0.95,
        margin: float = 0.0,
        prefer: str | Callable[[dict[str, Any]], float] | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
        error_score: float | str = "raise",
        progress: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.measure = measure
        self.cv = cv
        self.n_standard_errors = n_standard_errors
        self.level = level
        self.margin = margin
        self.prefer = prefer
        self.refit = refit
        self.n_jobs = n_jobs
        self.error_score = error_score
        self.progress = progress
        self.random_state = random_state

    def fit(
        self,
        X: Features,
        y: ArrayLike,
        *,
        qid: QueryIds | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Run the search.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, n_columns)
            The documents.
        y : array-like of shape (n,)
            Grades ≥ 0.
        qid : array-like of shape (n,), optional
            The query of each row. By default, queries are read as in `cross_evaluate`.
        group : array-like of shape (n_queries,), optional
            Sizes of consecutive queries, in place of `qid`.
        sample_weight : array-like of shape (n,), optional
            As in `cross_evaluate`. Queries must have equal weights or weight 0, unless
            ``level=None``.

        Returns
        -------
        RacingSearchCV
            The fitted search.

        Raises
        ------
        ValueError, TypeError
            If an argument is invalid, a query would be split across folds, or the first measure is
            undefined for all test queries; raised before any fit.
        """
        rng = check_random_state(self.random_state)
        measures = as_measures(self.measure)
        check_error_score(self.error_score, self.progress)
        if self.n_standard_errors != np.inf:
            number_validator("n_standard_errors", 0)(self.n_standard_errors)
        number_validator("level", 0, 1, above=True, below=True, optional=True)(self.level)
        number_validator("margin", 0)(self.margin)
        if self.prefer is not None and self.level is None:
            raise ValueError(
                "prefer chooses among the survivors, which are determined only if level is set; "
                "got level=None."
            )
        candidates = self._candidates(rng)
        preferences = self._preferences(candidates)
        data = check_cross_validation(
            self.estimator, X, y, measures, qid, group, sample_weight, self.cv, None
        )
        if self.level is not None:
            refuse_unequal(
                data.judgments.weights,
                "Pass level=None to keep all candidates that were not dropped, or fit without "
                "sample_weight.",
            )
        copy = make_adapter(self.estimator).copy
        rankers = [
            replace(data, ranker=copy().set_params(**clone(parameters, safe=False)))
            for parameters in candidates
        ]
        folds = SearchFolds(measures, data, data.split(self.cv))
        results = self._evaluate_candidates(folds, rankers)
        errors = {c: result.error for c, result in enumerate(results) if result.error}
        if errors:
            first, error = next(iter(errors.items()))
            words = (
                f"{len(results)} candidates failed. Error of candidate {first}, "
                f"{candidates[first]}: {error}"
            )
            if len(errors) == len(results):
                raise ValueError(f"All {words}")
            warn_user(f"{len(errors)} of {words}", FitFailedWarning)
        self._removed_columns = data.removed
        self._choose(folds, results, candidates, preferences, rng)
        if self.refit:
            best = self.best_index_
            every_row = np.arange(data.judgments.n_rows)
            self.best_estimator_ = rankers[best].fit(every_row, results[best].rounds)
        return self

    def predict(self, X: Features) -> np.ndarray:
        """Score documents with the best estimator.

        `X` need not contain the query and time columns named by `cv`.
        """
        check_is_fitted(self, "best_estimator_", msg=WITHOUT_REFIT)
        return self.best_estimator_.predict(remove_columns(as_table(X), self._removed_columns))

    def _candidates(self, rng: np.random.RandomState) -> list[dict[str, Any]]:
        """Return the parameters of the candidates."""
        n_iter = None if self.n_iter is None else check_whole_number(self.n_iter, "n_iter", 1)
        try:
            candidates = list(
                ParameterGrid(self.param_distributions)
                if n_iter is None
                else ParameterSampler(self.param_distributions, n_iter, random_state=rng)
            )
        except TypeError as error:
            raise TypeError(
                f"param_distributions must be a dict or a list of dicts. {error} To sample "
                "candidates from scipy distributions, pass n_iter, the number of candidates."
            ) from None
        if not candidates:
            raise ValueError("param_distributions contains no candidates.")
        return candidates

    def _preferences(self, candidates: list[dict[str, Any]]) -> list[float] | None:
        """Return one number per candidate; smaller numbers are preferred."""
        if self.prefer is None:
            return None
        prefer = methodcaller("get", self.prefer) if isinstance(self.prefer, str) else self.prefer
        preferences = [prefer(parameters) for parameters in candidates]
        for preference, parameters in zip(preferences, candidates, strict=True):
            if not isinstance(preference, (Real, np.bool_)) or preference != preference:
                raise TypeError(
                    f"prefer={self.prefer!r} must assign a number to each candidate; got "
                    f"{preference!r} for {parameters}."
                )
        return preferences

    def _evaluate_candidates(
        self, folds: SearchFolds, rankers: list[RankerOnRows]
    ) -> list[CandidateResult]:
        """Train and evaluate all candidates in their order."""
        results, best, deciding = [], "", folds.measures[0].name
        leader, leader_mean = np.zeros(folds.tests.n_queries), -np.inf
        # If `prefer` is set, the chosen candidate may trail the leader by up to `margin`.
        margin = 0.0 if self.prefer is None else self.margin
        with show_progress(self.progress, len(rankers), desc="candidates") as advance:
            for c, data in enumerate(rankers):
                ranker, to_reach = data.ranker, leader_mean - margin
                if (
                    isinstance(ranker, QueryRanker)
                    and classify_early_stopping(ranker.early_stopping) is not None
                ):
                    rounds = CandidateRounds(
                        folds,
                        ranker.n_iter_no_change,
                        self.n_jobs,
                        self.n_standard_errors,
                        leader,
                        to_reach,
                    )
                    result = train_candidate(data, rounds, self.error_score)
                else:
                    result = fit_candidate(data, folds, self.n_jobs, self.error_score)
                results.append(result)
                if not result.is_dropped and result.mean > leader_mean:
                    leader, leader_mean = result.values[deciding], result.mean
                    best = f"best: candidate {c} with {leader_mean:.4f}"
                advance(1, best)
        return results

    def _choose(
        self,
        folds: SearchFolds,
        results: list[CandidateResult],
        candidates: list[dict[str, Any]],
        preferences: list[float] | None,
        rng: np.random.RandomState,
    ) -> None:
        """Set the attributes that describe the result of the search."""
        weights, deciding = folds.judgments.weights, folds.measures[0].name
        means = np.array([result.mean for result in results])
        kept = np.flatnonzero([not result.is_dropped for result in results])
        kept = kept[np.argsort(-means[kept], kind="stable")]
        difference, half_width = means - means[kept[0]], np.full(len(means), np.nan)
        self.survivors_ = kept
        if self.level is not None:
            values = [folds.average_tests(results[c].values[deciding]) for c in kept]
            counts = np.isfinite(values).all(axis=0) & (True if weights is None else weights > 0)
            # If `prefer` is set, the chosen candidate may trail the leader by up to `margin`.
            margin = self.margin if self.prefer is None else -self.margin
            draws = np.random.default_rng(rng.randint(2**31))
            difference[kept], half_width[kept], survives = compare_with_leader(
                np.array(values).T[counts], self.level, margin, draws
            )
            self.survivors_ = kept[survives]
        self.best_index_ = int(self.survivors_[0])
        if preferences is not None:
            self.best_index_ = int(min(self.survivors_, key=lambda c: preferences[c]))
        best = results[self.best_index_]
        self.best_params_, self.best_score_ = candidates[self.best_index_], best.mean
        self.best_rounds_ = None if best.rounds is None else best.rounds.best_round
        self.cv_results_ = _tabulate_results(folds, results, candidates)
        n_rounds = self.cv_results_["n_rounds"]
        self.n_rounds_ = int(n_rounds[n_rounds > 0].sum()) * len(folds.splits)
        self.comparison_ = None
        if len(self.survivors_) > 1:
            self.comparison_ = compare(
                {str(c): folds.make_evaluation(results[c]) for c in self.survivors_},
                baseline=str(self.survivors_[0]),
                test=None if are_unequal(weights) else "t",
                level=self.level or 0.95,
            )
        self._columns = {
            "mean": means,
            **{name: self.cv_results_[name] for name in OF_TRAINING},
            "difference": difference,
            "ci_low": difference - half_width,
            "ci_high": difference + half_width,
            "survives": np.isin(np.arange(len(means)), self.survivors_),
        }

    def score(
        self,
        X: Features,
        y: ArrayLike,
        *,
        qid: QueryIds | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the best estimator's mean value of the (first) measure over the queries.

        The parameters are as for `fit`.
        """
        check_is_fitted(self, "best_estimator_", msg=WITHOUT_REFIT)
        source, table = QuerySource.of_call(qid, None, self.estimator, self.cv), as_table(X)
        judgments = judge_scored_rows(
            self.best_estimator_,
            table,
            y,
            source,
            "RacingSearchCV.score",
            qid,
            sample_weight=sample_weight,
        )
        features = remove_columns(table, self._removed_columns)
        scores = check_scores_of_rows(
            judgments, score_documents(self.best_estimator_, features, None)
        )
        return compute_means(as_measures(self.measure)[:1], judgments, scores)[0]

    def to_frame(self) -> tables.DataFrame:
        """Return one row per candidate, in the order of ``cv_results_["params"]``.

        The columns are the parameters, ``mean``, ``n_rounds``, ``best_rounds``, ``dropped``,
        ``difference`` (from the highest mean of a candidate that was not dropped),
        ``ci_low`` and ``ci_high`` (the simultaneous interval that decides whether the candidate
        survives; nan if it was dropped or ``level=None``) and ``survives``.
        """
        check_is_fitted(self, "cv_results_")
        parameters = {
            name.removeprefix("param_"): column.filled(None)
            for name, column in self.cv_results_.items()
            if name.startswith("param_")
        }
        return tables.frame(parameters | self._columns)

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the requested metadata: `qid`, unless the ranker reads the queries from X."""
        are_in_X = QuerySource.of_estimator(self.estimator).is_in_X
        return request_queries(super().get_metadata_routing(), are_in_X)

    def __sklearn_tags__(self) -> Tags:
        tags, of_estimator = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags"):
            setattr(tags, name, getattr(of_estimator, name))
        tags.input_tags.sparse = of_estimator.input_tags.sparse
        return tags

    def __getattr__(self, name: str) -> Any:
        if name in OF_BEST_ESTIMATOR and "best_estimator_" in vars(self):
            return getattr(self.best_estimator_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


# Results ------------------------------------------------------------------------------------------


def _tabulate_results(
    folds: SearchFolds, results: list[CandidateResult], candidates: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return `cv_results_`: the columns of GridSearchCV, and the columns in OF_TRAINING."""
    table: dict[str, Any] = {}
    times = np.ma.masked_invalid([result.times for result in results])
    for i, name in enumerate(("fit_time", "score_time")):
        table[f"mean_{name}"] = times[:, :, i].mean(axis=1).filled(np.nan)
        table[f"std_{name}"] = times[:, :, i].std(axis=1).filled(np.nan)
    for name in dict.fromkeys(name for parameters in candidates for name in parameters):
        table[f"param_{name}"] = np.ma.MaskedArray(
            make_object_array([parameters.get(name) for parameters in candidates]),
            mask=[name not in parameters for parameters in candidates],
        )
    table["params"] = candidates
    # Candidates are ranked by the first measure; dropped candidates rank last.
    dropped = np.array([result.is_dropped for result in results])
    to_rank = np.where(dropped, -np.inf, [result.mean for result in results])
    ranks = rankdata(-to_rank, method="min").astype(np.int32)
    for measure in folds.measures:
        name = "score" if len(folds.measures) == 1 else measure.name
        arrays = [result.values[measure.name] for result in results]
        fold_means = [
            np.array(
                [folds.average(np.where(folds.fold == i, values, np.nan)) for values in arrays]
            )
            for i in range(len(folds.splits))
        ]
        table |= {f"split{i}_test_{name}": means for i, means in enumerate(fold_means)}
        table[f"mean_test_{name}"] = np.array([folds.average(values) for values in arrays])
        spread = np.ma.masked_invalid(np.column_stack(fold_means)).std(axis=1)
        table[f"std_test_{name}"] = spread.filled(np.nan)
        table[f"rank_test_{name}"] = ranks.copy()
    rounds = [result.rounds for result in results]
    table["n_rounds"] = np.array([-1 if each is None else each.n_rounds for each in rounds])
    table["best_rounds"] = np.array([-1 if each is None else each.best_round for each in rounds])
    return table | {"dropped": dropped}
