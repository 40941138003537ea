"""RacingSearchCV, a hyperparameter search that drops candidates by their per-query values."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import check_is_fitted

from skgraded._input.door import number_validator, whole_number
from skgraded._input.query_source import QuerySource, without_columns
from skgraded._input.tables import as_table
from skgraded._input.words import object_array
from skgraded.boosting.adapter import adapter_of
from skgraded.boosting.metric import has_value
from skgraded.judgments import Judgments
from skgraded.measures import Measure, as_measures, mean_over_queries
from skgraded.measures.parsing import DEFAULT_MEASURE, Measures
from skgraded.model_selection.cross_evaluating import check_settings, run_fold
from skgraded.model_selection.folds import (
    RankerOnRows,
    in_parallel,
    ranker_on_rows,
    requests_of_queries,
)
from skgraded.model_selection.scorer import before_steps, make_ranking_scorer
from skgraded.reports.comparing import compare
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.pairing import are_unequal, refuse_unequal
from skgraded.stats.racing import Race
from skgraded.writing import tables

if TYPE_CHECKING:
    import pandas

# Attributes of a fitted search that are those of its best estimator
OF_BEST_ESTIMATOR = (
    "classes_",
    "decision_function",
    "feature_names_in_",
    "n_features_in_",
    "predict_proba",
)


class RacingSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Hyperparameter search that drops candidates as soon as their per-query values rule them out.

    All candidates are evaluated on the first fold, the remaining ones on the second, and so on.
    After each fold, every candidate is compared with the leader on the values of all queries so
    far. Candidates that cannot be better than the leader by more than `margin` are dropped. The
    remaining candidates, `survivors_`, are a confidence set for the best candidate.

    Parameters
    ----------
    estimator : ranker or regressor
        A `QueryRanker`, a pipeline that ends with one, or any estimator that `cross_evaluate`
        accepts.
    param_distributions : dict or list of dicts
        Parameter names with lists of values or scipy distributions, as in ``GridSearchCV`` and
        ``RandomizedSearchCV``.
    n_iter : int, optional
        Number of candidates to sample as in ``RandomizedSearchCV``. If None, the candidates are all
        combinations of the values, all of which must then be lists.
    measure : Measure, str, or a list of them, default="ndcng@10"
        In a list, the first measure decides; the other measures are reported.
    cv : int, scikit-learn splitter or list of splits, default=10
        Folds that keep queries whole, as in `cross_evaluate`. They are evaluated in random order.
    level : float or None, default=0.95
        Probability that the candidate with the highest expected value is among the survivors, for
        ``margin=0``. If None, no candidate is dropped, and queries may have unequal weights.
    margin : float, default=0.0
        Difference, in units of the measure, that does not matter: a candidate is dropped once it
        cannot be better than the leader by more than this. With `prefer`, such differences are
        ties: a candidate is dropped only once it is worse than the leader by more than `margin`,
        and `prefer` then chooses among the survivors.
    prefer : str or callable, optional
        How to choose among the survivors: the name of a parameter, of which smaller numbers are
        preferred, or a function of a dict of parameters that returns a number, of which smaller
        values are preferred. If None, the survivor with the highest mean is the best.
    refit : bool, default=True
        Whether to fit the best candidate on all rows.
    n_jobs : int, optional
        Number of candidates to fit in parallel. It does not change the result.
    error_score : "raise" or float, default="raise"
        If "raise", the error of a candidate's fit is raised. If a float, the queries of the fold
        get this value for the candidate and a FitFailedWarning is issued; after nan, the candidate
        is dropped. An error is raised if all candidates fail.
    progress : bool, default=False
        Whether to show a progress bar for each fold on a terminal or in a notebook; requires tqdm.
    random_state : int, RandomState instance or None, default=None
        Seed for sampling candidates, for the order of the folds, and for the simulated critical
        values.

    Attributes
    ----------
    best_index_, best_params_, best_score_ : int, dict and float
        The best candidate, and its mean over the queries of its folds.
    best_estimator_ : estimator
        The best candidate, fitted on all rows. Requires `refit`.
    cv_results_ : dict of arrays of shape (n_candidates,)
        The columns of ``GridSearchCV``. ``split0_test_score`` belongs to the first fold of the
        race; scores after a candidate was dropped are nan. ``mean_test_score`` is the mean over
        queries, whereas ``GridSearchCV`` averages the folds. ``n_folds`` is the number of folds of
        a candidate, and ``dropped_after`` the number of its last fold, counted from 0, or -1 for
        survivors, which rank first. For several measures, names end with the measure instead of
        ``score``.
    survivors_ : ndarray of int
        Indices into ``cv_results_["params"]`` of the survivors, the highest mean first.
    comparison_ : Comparison or None
        Comparison of the survivors, named "0", "1", … after their indices, with the survivor that
        has the highest mean, by paired t-tests (without a test for unequal weights). None if there
        is only one survivor.
    n_fits_ : int
        Number of fits on folds, without the refit.
    n_features_in_, classes_, decision_function, predict_proba
        Those of `best_estimator_`, if it has them.

    See Also
    --------
    cross_evaluate : Evaluates one ranker.

    Notes
    -----
    The test of a candidate uses the joint distribution of its differences from all other
    candidates, by a Gaussian multiplier bootstrap over queries [1]_. The error ``1 - level`` is
    spent over the folds by an alpha spending function of Pocock's type [2]_. Queries are treated as
    independent, although folds share training data [3]_: the level holds for rankers trained on the
    given data, rather than on new data. It does not hold for strongly skewed differences: with 100
    queries, a candidate that is best because it gains 0.5 on 5 % of them is dropped in about 35 %
    of the searches.

    References
    ----------
    .. [1] Chernozhukov, Chetverikov & Kato (2013), "Gaussian approximations and multiplier
       bootstrap for maxima of sums of high-dimensional random vectors", Annals of Statistics 41.
    .. [2] Lan & DeMets (1983), "Discrete sequential boundaries for clinical trials", Biometrika 70.
    .. [3] Bengio & Grandvalet (2004), "No unbiased estimator of the variance of K-fold
       cross-validation", JMLR 5.

    Examples
    --------
    >>> import skgraded as sg
    >>> from sklearn.linear_model import Ridge
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> search = sg.model_selection.RacingSearchCV(
    ...     sg.QueryRanker(Ridge()), {"estimator__alpha": [1, 1e3, 1e6]}, cv=5, random_state=0
    ... ).fit(X, y, qid=qid)
    >>> search.n_fits_ <= 15, search.best_index_ in search.survivors_
    (True, True)
    """

    # Group sizes cannot be split along with the rows, so they are not requested.
    __metadata_request__fit = {"qid": True, "group": False}
    __metadata_request__score = {"qid": True}

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int | None = None,
        measure: Measures = DEFAULT_MEASURE,
        cv: Any = 10,
        level: float | None = 0.95,
        margin: float = 0.0,
        prefer: Any = None,
        refit: bool = True,
        n_jobs: int | None = None,
        error_score: float | str = "raise",
        progress: bool = False,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.measure = measure
        self.cv = cv
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
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
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
            The query of each row, in any row order. By default, queries are read with the `qid`
            of a `QueryRanker` in `estimator` or else of a `QueryKFold` or `QueryTimeSeriesSplit`
            passed as `cv`. Columns of X that only `cv` names are removed before each fit, as in
            `cross_evaluate`.
        group : array-like of shape (n_queries,), optional
            Sizes of consecutive queries, in place of `qid`.
        sample_weight : array-like of shape (n,), optional
            A query's weight in means is the mean over its rows. Queries must have equal weights or
            weight 0, unless ``level=None``. The estimator's ``fit`` also receives the weights, as
            in `cross_evaluate`.

        Returns
        -------
        RacingSearchCV
            The fitted search.

        Raises
        ------
        ValueError, TypeError
            If an argument is invalid, there are no candidates, a parameter is unknown, a query
            would be split across folds, the first measure is undefined for all queries, or queries
            have unequal weights and `level` is not None; raised before any fit.
        """
        rng = check_random_state(self.random_state)
        measures = as_measures(self.measure)
        check_settings(self.error_score, self.progress)
        number_validator("level", 0, 1, above=True, below=True, optional=True)(self.level)
        number_validator("margin", 0)(self.margin)
        if self.prefer is not None and self.level is None:
            raise ValueError("prefer chooses among the survivors, so it requires a level.")
        candidates = self._candidates(rng)
        preferences = self._preferences(candidates)
        data = ranker_on_rows(
            self.estimator, X, y, measures, qid, group, sample_weight, self.cv, None
        )
        if self.level is not None:
            refuse_unequal(
                data.judgments.weights,
                "Pass level=None to evaluate all candidates on all folds, or fit without "
                "sample_weight.",
            )
        if not has_value(measures[0], data.judgments):
            raise ValueError(
                f"The measure {measures[0]} is undefined for all {data.judgments.n_queries} "
                "queries, because no query with positive weight has a relevant document."
            )
        copy = adapter_of(self.estimator).copy
        rankers = [
            replace(data, ranker=copy().set_params(**clone(parameters, safe=False)))
            for parameters in candidates
        ]
        folds = data.folds(self.cv)
        folds = [folds[i] for i in rng.permutation(len(folds))]
        results = _Results(measures, data.judgments, candidates, len(folds))
        self._removed_columns = data.removed
        self._race(results, rankers, folds, np.random.default_rng(rng.randint(2**31)))
        self._choose(results, preferences)
        if self.refit:
            every_row = np.arange(data.judgments.n_rows)
            self.best_estimator_ = rankers[self.best_index_].fit(every_row)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Score documents with the best estimator.

        If `cv` names columns of queries or times, `X` may be with or without these columns.
        """
        self._check_refitted("predict")
        return self.best_estimator_.predict(without_columns(as_table(X), self._removed_columns))

    def _check_refitted(self, method: str) -> None:
        """Raise scikit-learn's errors if there is no best estimator."""
        if not self.refit:
            raise AttributeError(
                f"{method} requires refit=True, because only then is the best candidate fitted on "
                "all rows."
            )
        check_is_fitted(self, "best_estimator_")

    def _candidates(self, rng: np.random.RandomState) -> list[dict[str, Any]]:
        """Return the parameters of the candidates."""
        n_iter = None if self.n_iter is None else whole_number(self.n_iter, "n_iter", 1)
        try:
            if n_iter is None:
                candidates = list(ParameterGrid(self.param_distributions))
            else:
                candidates = list(
                    ParameterSampler(self.param_distributions, n_iter, random_state=rng)
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
        by_name = isinstance(self.prefer, str)
        prefer = methodcaller("get", self.prefer) if by_name else self.prefer
        preferences = [prefer(parameters) for parameters in candidates]
        for preference, parameters in zip(preferences, candidates, strict=True):
            if not isinstance(preference, (Real, np.bool_)) or preference != preference:
                raise TypeError(
                    f"prefer={self.prefer!r} must give each candidate a number; got {preference!r} "
                    f"for {parameters}."
                )
        return preferences

    def _race(
        self,
        results: _Results,
        rankers: list[RankerOnRows],
        folds: list[tuple[np.ndarray, np.ndarray]],
        rng: np.random.Generator,
    ) -> None:
        """Evaluate the remaining candidates on each fold, and drop those that cannot win."""
        # With a preference, candidates may be worse than the leader by up to the margin.
        margin = self.margin if self.prefer is None else -self.margin
        race = Race(len(rankers), 0.0 if self.level is None else self.level, margin, rng)
        remaining = np.arange(len(rankers))
        for number, (train, test) in enumerate(folds):
            calls = [
                delayed(run_fold)(rankers[c], number, train, test, self.error_score, False)
                for c in remaining
            ]
            runs = in_parallel(calls, self.n_jobs, self.progress, desc="candidates", leave=False)
            kept = results.record(remaining, runs, rankers[0], self.error_score)
            race.keep(kept)
            remaining = remaining[kept]
            values = results.comparable(remaining)
            if self.level is None or not len(values):
                continue
            look = race.look(values, (number + 1) / len(folds))
            results.difference[remaining] = look.difference
            results.half_width[remaining] = look.half_width
            results.dropped_after[remaining[look.is_dropped]] = number
            race.keep(~look.is_dropped)
            remaining = remaining[~look.is_dropped]

    def _choose(self, results: _Results, preferences: list[float] | None) -> None:
        """Set the attributes that describe the result of the race."""
        means, candidates = results.means(results.deciding), results.candidates
        survivors = np.flatnonzero(results.dropped_after < 0)
        self.survivors_ = survivors[np.argsort(-means[survivors], kind="stable")]
        self.cv_results_ = results.table()
        self.n_fits_ = int(results.n_folds.sum())
        self.best_index_ = int(self.survivors_[0])
        if preferences is not None:
            self.best_index_ = int(min(self.survivors_, key=lambda c: preferences[c]))
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(means[self.best_index_])
        self.comparison_ = None
        if len(self.survivors_) > 1:
            self.comparison_ = compare(
                {str(c): results.evaluation(c) for c in self.survivors_},
                baseline=str(self.survivors_[0]),
                test=None if are_unequal(results.judgments.weights) else "t",
                level=self.level or 0.95,
            )
        parameters = {
            name.removeprefix("param_"): column.filled(None)
            for name, column in self.cv_results_.items()
            if name.startswith("param_")
        }
        self._columns = parameters | {
            "mean": means,
            "n_folds": results.n_folds,
            "dropped_after": results.dropped_after,
            "difference": results.difference,
            "ci_low": results.difference - results.half_width,
            "ci_high": results.difference + results.half_width,
            "survives": results.dropped_after < 0,
        }

    def score(
        self, X: Any, y: ArrayLike, *, qid: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the mean of the (first) measure over the queries, for the best estimator.

        `X`, `y`, `qid` and `sample_weight` are as for `fit`; the queries are also read from the
        column or Series that `cv` names.
        """
        self._check_refitted("score")
        source, passed = before_steps(QuerySource(getattr(self.cv, "qid", None)), X)
        is_in_ranker = QuerySource.of_estimator(self.estimator, is_before_steps=True).is_in_X
        if qid is None and source.is_in_X and not is_in_ranker:
            qid = source.read(passed)
        scorer: Any = make_ranking_scorer(as_measures(self.measure)[0])
        X = without_columns(as_table(X), self._removed_columns)
        return scorer(self.best_estimator_, X, y, qid=qid, sample_weight=sample_weight)

    def to_frame(self) -> pandas.DataFrame:
        """Return one row per candidate, in the order of ``cv_results_["params"]``.

        The columns are the parameters, ``mean``, ``n_folds``, ``dropped_after``, ``difference``
        (from the leader, on the queries of the candidate's folds), ``ci_low`` and ``ci_high`` (its
        simultaneous interval, by which the candidate was dropped or kept; nan before the first
        comparison) and ``survives``.
        """
        check_is_fitted(self, "cv_results_")
        return tables.frame(self._columns)

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the requested metadata: `qid`, unless the ranker reads the queries from X."""
        are_in_X = QuerySource.of_estimator(self.estimator).is_in_X
        return requests_of_queries(super().get_metadata_routing(), are_in_X)

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


class _Results:
    """Per-query values, times and test results of all candidates.

    `sums` has the shape (n_queries, n_candidates) per measure. A value is a sum divided by
    `n_tests`, the number of folds that tested the query for this candidate.
    """

    def __init__(
        self,
        measures: list[Measure],
        judgments: Judgments,
        candidates: list[dict[str, Any]],
        n_folds: int,
    ) -> None:
        self.measures, self.judgments, self.candidates = measures, judgments, candidates
        self.deciding = measures[0].name
        n = len(candidates)
        self.sums = {measure.name: np.zeros((judgments.n_queries, n)) for measure in measures}
        self.n_tests = np.zeros((judgments.n_queries, n), dtype=np.int32)
        self.fold_means = {measure.name: np.full((n, n_folds), np.nan) for measure in measures}
        self.times = {name: np.full((n, n_folds), np.nan) for name in ("fit_time", "score_time")}
        self.n_folds, self.dropped_after = np.zeros(n, dtype=int), np.full(n, -1)
        self.difference, self.half_width = np.full(n, np.nan), np.full(n, np.nan)

    def values(self, name: str, candidates: Any = slice(None)) -> np.ndarray:
        """Return the per-query values of candidates; nan for queries that were not tested."""
        with np.errstate(invalid="ignore"):
            return self.sums[name][:, candidates] / self.n_tests[:, candidates]

    def means(self, name: str) -> np.ndarray:
        """Return the mean of each candidate over the queries of its folds."""
        return np.array(
            [
                mean_over_queries(np.ascontiguousarray(column), self.judgments.weights)
                for column in self.values(name).T
            ]
        )

    def record(
        self, remaining: np.ndarray, runs: Sequence[Any], data: RankerOnRows, error_score: Any
    ) -> np.ndarray:
        """Add the results of a fold; return the mask of candidates that can stay in the race.

        The runs of the remaining candidates contain their scores or errors.
        """
        number, test = runs[0].fold, runs[0].test
        judgments, queries = data.judgments_of(test), data.queries_of(test)
        for c, run in zip(remaining, runs, strict=True):
            for name, column in run.values(self.measures, judgments, error_score).items():
                self.sums[name][queries, c] += column
                self.fold_means[name][c, number] = mean_over_queries(
                    column, data.weights_of(queries)
                )
            self.times["fit_time"][c, number] = run.fit_time
            self.times["score_time"][c, number] = run.score_time
        self.n_tests[np.ix_(queries, remaining)] += 1
        self.n_folds[remaining] += 1
        errors = {int(c): run.error for c, run in zip(remaining, runs, strict=True) if run.error}
        if not errors:
            return np.ones(len(runs), dtype=bool)
        first, error = next(iter(errors.items()))
        words = (
            f"{len(runs)} candidates failed in fold {number}. Error of candidate {first}, "
            f"{self.candidates[first]}: {error}"
        )
        if len(errors) == len(runs):
            raise ValueError(f"All {words}")
        warnings.warn(f"{len(errors)} of {words}", FitFailedWarning, stacklevel=6)
        has_failed = np.isin(remaining, list(errors) if np.isnan(error_score) else [])
        self.dropped_after[remaining[has_failed]] = number
        return ~has_failed

    def comparable(self, remaining: np.ndarray) -> np.ndarray:
        """Return the values of the remaining candidates on tested, defined, weighted queries."""
        values, weights = self.values(self.deciding, remaining), self.judgments.weights
        used = np.isfinite(values).all(axis=1) & (True if weights is None else weights > 0)
        return values[used]

    def evaluation(self, candidate: int) -> Evaluation:
        """Return the values of a candidate on the tested queries as an Evaluation."""
        tested = np.flatnonzero(self.n_tests[:, candidate])
        values = {m.name: self.values(m.name, candidate)[tested] for m in self.measures}
        weights = self.judgments.weights
        return Evaluation(
            self.judgments.query_ids[tested],
            values,
            {name: np.isnan(array) for name, array in values.items()},
            weights=None if weights is None else weights[tested],
        )

    def table(self) -> dict[str, Any]:
        """Return `cv_results_`: the columns of GridSearchCV, n_folds and dropped_after."""
        table: dict[str, Any] = {}
        for name, values in self.times.items():
            seconds = np.ma.masked_invalid(values)
            table[f"mean_{name}"] = seconds.mean(axis=1).filled(np.nan)
            table[f"std_{name}"] = seconds.std(axis=1).filled(np.nan)
        for name in dict.fromkeys(name for parameters in self.candidates for name in parameters):
            table[f"param_{name}"] = np.ma.MaskedArray(
                object_array([parameters.get(name) for parameters in self.candidates]),
                mask=[name not in parameters for parameters in self.candidates],
            )
        table["params"] = self.candidates
        # Survivors rank first, then dropped candidates by their folds; the first measure decides.
        means = np.nan_to_num(self.means(self.deciding), nan=-np.inf)
        keys = list(zip(self.dropped_after < 0, self.n_folds, means, strict=True))
        ranks = np.array([1 + sum(other > key for other in keys) for key in keys], dtype=np.int32)
        for measure in self.measures:
            name = "score" if len(self.measures) == 1 else measure.name
            fold_means = np.ma.masked_invalid(self.fold_means[measure.name])
            for number, means in enumerate(fold_means.data.T):
                table[f"split{number}_test_{name}"] = means
            table[f"mean_test_{name}"] = self.means(measure.name)
            table[f"std_test_{name}"] = fold_means.std(axis=1).filled(np.nan)
            table[f"rank_test_{name}"] = ranks.copy()
        return table | {"n_folds": self.n_folds, "dropped_after": self.dropped_after}
