"""QueryRanker, which makes rankers and regressors work with scikit-learn's model selection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import InputTags, RegressorTags, Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import check_is_fitted

from skgraded._input.door import (
    check_grades,
    check_weights,
    choice_validator,
    plain,
    read_grades,
    refuse_bad_grades,
)
from skgraded._input.messages import trust_input
from skgraded._input.queries import QueryIds, group_by_query, read_group_sizes, warn_of_row_ids
from skgraded._input.tables import Features, FeatureTable, as_table, check_row_labels, column_names
from skgraded.boosting.adapter import Adapter, Estimator, Queries, Rows, make_adapter
from skgraded.judgments import check_scores_of_rows
from skgraded.measures import Measure, as_measures
from skgraded.measures.base import accepts_negative, compute_means
from skgraded.measures.parsing import DEFAULT_MEASURE, Measures
from skgraded.model_selection import early_stopping
from skgraded.model_selection.folds import Splitter, request_queries
from skgraded.model_selection.query_source import (
    Key,
    QuerySource,
    Source,
    locate_columns,
    remove_columns,
)
from skgraded.model_selection.scorer import judge_scored_rows, name_measures, remember_queries

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn 1.8 and earlier

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Base class without callbacks."""

    def run_as_task(estimator: QueryRanker, run: Callable[[], None], **data: Any) -> None:
        """Call `run`."""
        run()
else:

    @with_callbacks
    def run_as_task(estimator: QueryRanker, run: Callable[[], None], **data: Any) -> None:
        """Call `run`, and report it to callbacks, such as the progress bar of a search."""
        context = estimator._init_callback_context()
        context.call_on_fit_task_begin(estimator=estimator, **data)
        run()
        # The estimator is already fitted, so no attributes must be added to the callbacks' copy.
        context.call_on_fit_task_end(estimator=estimator, reconstruction_attributes={}, **data)


_check_grades = choice_validator("grades", ("level", "gain"))
# Attributes that not every fit sets
OPTIONAL = ("feature_names_in_", "n_iter_", "best_iteration_", "best_score_", "evals_result_")
VALIDATION = ("X_val", "y_val", "qid_val", "sample_weight_val")  # arguments of fit


class QueryRanker(CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator):
    """Meta-estimator that fits a ranker or regressor to rows with query ids, in any row order.

    Unlike LightGBM's group sizes, `qid` can be split with the rows in cross-validation. If
    metadata routing is enabled, the ranker requests `qid` and the validation queries by default.

    Parameters
    ----------
    estimator : ranker or regressor
        LGBMRanker, XGBRanker, CatBoostRanker, or any ranker whose ``fit`` accepts ``group``
        (sizes of consecutive queries), ``qid`` or ``group_id`` (the query of each row, sorted by
        query); or any scikit-learn regressor. Estimators that choose something on random rows, such
        as searches and RidgeCV, are an error.
    qid : str, int or pandas Series, optional
        The source of the query ids in `fit` and `score`: their argument `qid` if None; the column
        of X with this name or position, which `estimator` does not receive; or a Series, which is
        looked up by the row index of the frame X.
    early_stopping : bool, int or cross-validation splitter, default=False
        Whether to stop boosting when `measure` no longer improves on validation queries, for
        LightGBM, XGBoost, CatBoost and HistGradientBoostingRegressor. `estimator` sets the maximum
        number of rounds; its own stopping and evaluation settings are ignored.

        - If True, the validation queries are those passed to `fit` as `X_val` or, by default, a
          random `validation_fraction` of the training queries. Fewer than 50 validation queries
          cause a UserWarning.
        - If an int k ≥ 2, all queries are used for validation, in k random folds: one fit per fold
          holds out its queries, and all fits stop when the mean over all queries no longer
          improves. The ranker is then fitted on all queries for the best number of rounds.
        - If a splitter, the validation queries are in the test rows of its last split, such as the
          latest queries with ``QueryTimeSeriesSplit(time="day", qid="session")``. The splitter
          receives the queries as groups and must keep them whole. `estimator` does not receive the
          query and time columns named by the splitter, unless a ColumnTransformer in `estimator`
          names them. Rows outside this split are used only with `refit`.
    validation_fraction : float, default=0.1
        The fraction of queries, in (0, 1), to hold out if `early_stopping` is True; at least one
        query.
    measure : Measure, str, or a list of them, default="ndcng@10"
        The measure that `score` computes and that early stopping maximizes on the validation
        queries. In a list, the first measure decides when to stop.
    n_iter_no_change : int, default=50
        Stop after this many consecutive rounds without a new best value.
    refit : bool, default=False
        Whether to fit `estimator_` again after `early_stopping`, on all queries including the
        validation queries, for the best number of rounds. An int `early_stopping` always does this.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing the queries to hold out, or the folds. `estimator` has a separate seed.
    grades : {"level", "gain"}, default="level"
        How rankers that optimize NDCG interpret grades: LightGBM's ``lambdarank`` and XGBoost's
        ``rank:ndcg``. "level": integers r with the gain 2^r - 1, unless the ranker sets other
        gains; up to 30 for LightGBM and 31 for XGBoost. "gain": the gains themselves, any numbers
        ≥ 0. Other estimators and the measures use the grades unchanged.
    drop : list of str or int, optional
        Other columns of X, by name or position, that `estimator` does not receive, such as the time
        column that the splitter of a search reads. `predict` accepts X with or without them.

    Attributes
    ----------
    estimator_ : ranker or regressor
        The fitted clone of `estimator`.
    n_iter_ : int
        Number of trained rounds. This and the next three attributes require `early_stopping`.
    best_iteration_ : int
        Number of rounds up to the best value, which `predict` uses; counted from 1.
    best_score_ : float
        Value of the (first) measure after `best_iteration_` rounds.
    evals_result_ : dict
        Values after each round, ``{"validation": {"NDCNG@10": [value, …], …}}``.
    feature_importances_, coef_ : ndarray of shape (`n_features_in_`,)
        Importances or coefficients of `estimator_`; missing if columns of X were removed.
    n_features_in_ : int
        Number of features of `estimator_`: the columns of X except the query column and `drop`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of these features, if X was a frame whose column names are text.

    See Also
    --------
    make_ranking_scorer : Makes scorers for searches over a `QueryRanker`.

    Notes
    -----
    Scoring other documents of the training queries, or of the validation queries of early stopping,
    issues a `TornQueryWarning`. Scoring exactly the training rows does not.

    For XGBRanker and CatBoostRanker, as for the measures, the weight of a query is the mean weight
    of its rows. LGBMRanker and regressors receive one weight per row.

    If `early_stopping` is an int k, k copies of the rows are in memory, and
    ``joblib.parallel_config(n_jobs=…)`` sets how many folds run at the same time. Callbacks in
    `fit_params` that run after a round are called once per round, with the mean over all queries;
    other callbacks are called in all k + 1 fits.

    Early stopping does not support boosters that modify earlier rounds (``dart``, ``gblinear``).

    Examples
    --------
    >>> import skgraded as sg
    >>> from lightgbm import LGBMRanker
    >>> X, y, qid = sg.datasets.make_ranking(random_state=0)
    >>> booster = LGBMRanker(n_estimators=500, n_jobs=1, verbose=-1)
    >>> ranker = sg.QueryRanker(booster, early_stopping=5, random_state=0).fit(X, y, qid=qid)
    >>> ranker.best_iteration_ < ranker.n_iter_ < 500
    True
    >>> ranker.predict(X).shape == y.shape, ranker.score(X, y, qid=qid) > 0.7
    (True, True)
    """

    # The folds of the search that is fitting the ranker or, during its refit, the number of rounds
    _rounds: Any = None

    # Group sizes cannot be split along with the rows, so they are not requested.
    __metadata_request__fit = dict.fromkeys(("qid", *VALIDATION), True) | {"group": False}
    __metadata_request__score = {"qid": True, "group": False}

    def __init__(
        self,
        estimator: Estimator,
        *,
        qid: Source = None,
        early_stopping: bool | int | Splitter = False,
        validation_fraction: float = 0.1,
        measure: Measures = DEFAULT_MEASURE,
        n_iter_no_change: int = 50,
        refit: bool = False,
        random_state: int | np.random.RandomState | None = None,
        grades: str = "level",
        drop: Key | Sequence[Key] | None = None,
    ) -> None:
        self.estimator = estimator
        self.qid = qid
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.measure = measure
        self.n_iter_no_change = n_iter_no_change
        self.refit = refit
        self.random_state = random_state
        self.grades = grades
        self.drop = drop

    def fit(
        self,
        X: Features,
        y: ArrayLike,
        *,
        qid: QueryIds | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: Features | None = None,
        y_val: ArrayLike | None = None,
        qid_val: QueryIds | None = None,
        sample_weight_val: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the ranker.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, n_columns)
            The documents.
        y : array-like of shape (n,)
            The grades of the documents, ≥ 0. Any finite numbers are accepted if every `measure`
            depends on their order alone, such as ``"spearman_rho"``, or if `estimator` is a
            regressor without `early_stopping`.
        qid : array-like of shape (n,), optional
            The query of each row, in any row order, unless the constructor specifies `qid`.
        group : array-like of shape (n_queries,), optional
            Sizes of consecutive queries, in place of `qid`.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, passed to `estimator` unless None.
        X_val, y_val, qid_val, sample_weight_val : optional
            With ``early_stopping=True``, validation rows to use instead of held-out rows, in the
            same form as `X`, `y`, `qid` and `sample_weight`. X must not contain any of these
            queries. In a Pipeline, ``transform_input=["X_val"]`` transforms `X_val` like X.
        **fit_params : dict
            Passed to the ``fit`` of `estimator`. Values per row, such as ``init_score``, require
            rows that are sorted by query, and no held-out rows. Column positions, such as those in
            ``cat_features``, do not count removed columns. Validation rows may also have LightGBM's
            form, ``eval_set=[(X_val, y_val)]`` and ``eval_group=[sizes]``.

        Returns
        -------
        QueryRanker
            The fitted ranker.

        Raises
        ------
        ValueError, TypeError
            If an argument is invalid, settings conflict, or a measure is undefined for all
            validation queries.
        """
        measures = as_measures(self.measure) if self._rounds is None else self._rounds.measures
        are_gains = _check_grades(self.grades) == "gain"
        adapter = make_adapter(self.estimator, grades_are_gains=are_gains)
        by_query = adapter.query_argument is not None  # raises if `estimator` cannot be fitted
        adapter.check()
        _refuse_splits_of_rows(self.estimator)
        arguments = zip(VALIDATION, (X_val, y_val, qid_val, sample_weight_val), strict=True)
        validation: dict[str, Any] = {name: value for name, value in arguments if value is not None}
        if validation or fit_params or self.early_stopping is not False:
            fit_params, validation = early_stopping.check_arguments(
                self, adapter, fit_params, validation
            )
        check_row_labels({"X": X, "y": y, "qid": qid, "sample_weight": sample_weight})
        table = as_table(X)
        self._queries = QuerySource(self.qid)
        self._queries.column = self._queries.locate(table)
        of_splitter = QuerySource.of_splitter(self.early_stopping)
        self._removed_columns = [
            *locate_columns(table, [self._queries, *QuerySource.of_drop(self.drop)]),
            *locate_columns(table, of_splitter, unless_named_by=self.estimator),
        ]
        takes_any = not (by_query or self.early_stopping) or all(map(accepts_negative, measures))
        rows, queries = self._read(adapter, takes_any, table, y, qid, sample_weight, group)
        for name in OPTIONAL:
            self.__dict__.pop(name, None)
        self.n_features_in_, names = rows.X.shape[1], column_names(rows.X)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        rows_val, ids_val = None, np.array([], dtype=np.int64)
        if validation:
            check_row_labels(validation)
            group_val = validation.get("group_val")
            rows_val, queries_val = self._read(
                adapter,
                takes_any,
                as_table(validation["X_val"]),
                validation.get("y_val", ()),
                qid_val,
                sample_weight_val,
                group_val,
                "_val",
            )
            self._check_features(rows_val.X, "X_val")
            # Group sizes do not identify queries.
            if group is None and group_val is None:
                ids_val, known = queries_val.ids, set(queries.ids)
                shared = [query for query in ids_val if query in known]
                if shared:
                    raise ValueError(
                        f"X also contains {len(shared)} of the {len(ids_val)} queries in X_val, such "
                        f"as {plain(shared[0])!r}: use each query either for training or for early "
                        "stopping."
                    )
            rows_val = rows_val.take(queries_val.order, queries_val.sizes)
            rows_val.X = adapter.convert(rows_val.X)
        self._fitted_queries = None
        if group is None:
            self._fitted_queries = remember_queries(queries, rows.grades, ids_val)
        self._is_weighted = sample_weight is not None
        rows.X = adapter.convert(rows.X)
        if self.early_stopping or (by_query and queries.order is not None):
            adapter.refuse_positions(fit_params)
        parts = []
        if self.early_stopping:
            parts = early_stopping.split_rows(self, adapter, table, rows, queries, rows_val)

        def train() -> None:
            if not self.early_stopping:
                self.estimator_ = adapter.fit(adapter.order_rows(rows, queries), fit_params)
                return
            self.estimator_, state = early_stopping.fit_stopped(
                self, adapter, measures, parts, rows, queries, rows_val, fit_params
            )
            self.n_iter_, self.best_iteration_ = state.n_rounds, state.best_round
            self.best_score_, self.evals_result_ = state.best_score, {"validation": state.history}

        run_as_task(self, train, X=X, y=y, metadata={} if qid is None else {"qid": qid})
        return self

    def predict(self, X: Features) -> np.ndarray:
        """Score documents.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, n_columns)
            The documents, with or without the query column and the columns in `drop`.

        Returns
        -------
        ndarray of shape (n,)
            Higher scores rank first. Scores are comparable within a query.
        """
        if not hasattr(self, "estimator_"):  # check_is_fitted is slow: it collects all tags
            check_is_fitted(self, "estimator_")
        features = remove_columns(as_table(X), self._removed_columns)
        self._check_features(features)
        return self.estimator_.predict(make_adapter(self.estimator_).convert(features))

    def score(
        self,
        X: Features,
        y: ArrayLike,
        *,
        qid: QueryIds | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float | dict[str, float]:
        """Return the mean of `measure` over the queries.

        Parameters
        ----------
        X, y, qid, group, sample_weight
            As for `fit`. A query's weight is the mean over its rows.

        Returns
        -------
        float or dict of str to float
            A dict by measure name if `measure` is a list.
        """
        check_is_fitted(self, "estimator_")
        table = as_table(X)
        features = remove_columns(table, self._removed_columns)  # once, because it is a copy
        self._check_features(features)
        measures = name_measures(self.measure)
        is_of_order = all(map(accepts_negative, measures.values()))
        check_grades(y, "y", table.shape[0], allow_negative=is_of_order)
        check_row_labels({"X": X, "y": y, "qid": qid, "sample_weight": sample_weight})
        with trust_input():
            judgments = judge_scored_rows(
                self, table, y, self._queries, "QueryRanker.score", qid, group, sample_weight
            )
        warn_of_row_ids(judgments.sizes)
        scores = check_scores_of_rows(judgments, self.predict(features))
        means = compute_means(list(measures.values()), judgments, scores)
        is_single = isinstance(self.measure, (str, Measure))
        return means[0] if is_single else dict(zip(measures, means, strict=True))

    # Steps of fit -------------------------------------------------------------------------------

    def _read(
        self,
        adapter: Adapter,
        allow_negative: bool,
        X: FeatureTable,
        y: ArrayLike,
        qid: QueryIds | None,
        sample_weight: ArrayLike | None,
        group: ArrayLike | None,
        suffix: str = "",
    ) -> tuple[Rows, Queries]:
        """Check the arguments; return the rows (without the query column) and the queries."""
        n, X_name, y_name = X.shape[0], f"X{suffix}", f"y{suffix}"
        grades, grade_type = read_grades(y, y_name, n, X_name)
        refuse_bad_grades(grades, y_name, allow_negative=allow_negative)
        grade_limit = adapter.grade_limit if not suffix or self.refit else None
        if grade_limit is not None:
            highest, advice = grade_limit
            refused = (grades < 0) | (grades > highest) | (grades != np.floor(grades))
            if refused.any():
                row, limit = int(np.argmax(refused)), f" ≤ {highest}" if highest < np.inf else ""
                limit = " ≥ 0" if grades[row] < 0 else limit
                raise ValueError(
                    f"Grades in {y_name} must be integers{limit} for "
                    f"{type(adapter.estimator).__name__}; got {grades[row]:g} in row {row}. For "
                    f"other grades, {advice}."
                )
        if suffix and not self._queries.is_in_X and qid is None and group is None:
            raise ValueError("X_val requires qid_val: pass the query of each row of X_val.")
        qid = self._queries.choose_queries(X, "QueryRanker.fit", qid, group)
        if self._queries.is_series:
            self._queries.warn_of_partial_queries(X, "score" if suffix else "fit")
        if group is None:
            ids, order, starts = group_by_query(qid, n, X_name)
        else:
            sizes = read_group_sizes(group, n, X_name)
            ids, order, starts = np.arange(len(sizes)), None, np.append(0, np.cumsum(sizes))
        queries = Queries(ids, order, starts, np.diff(starts))
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, n, X_name, len(queries.ids))
        warn_of_row_ids(queries.sizes)
        features = remove_columns(X, self._removed_columns)
        return Rows(features, grades, weights, grade_type=grade_type), queries

    @property
    def feature_importances_(self) -> np.ndarray:
        """Feature importances of `estimator_`, one per column of X."""
        return self._read_per_column("feature_importances_")

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of `estimator_`, one per column of X."""
        return self._read_per_column("coef_")

    def _read_per_column(self, name: str) -> np.ndarray:
        """Return an attribute of `estimator_` with one value per column, for feature selectors."""
        values = getattr(self.estimator_, name)
        if self._removed_columns:
            raise AttributeError(
                f"QueryRanker has no {name}, because it dropped columns from X: the values would "
                f"not match the columns. Use estimator_.{name} or, for feature selectors, pass the "
                "queries with metadata routing."
            )
        return values

    # Features ------------------------------------------------------------------------------------

    def _check_features(self, X: FeatureTable, name: str = "X") -> None:
        names, known = column_names(X), getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and names != known.tolist():
            known, passed, seen = known.tolist(), set(names), set(known)
            lists = {
                "unseen at fit time": [column for column in names if column not in seen],
                "seen at fit time, yet now missing": [
                    column for column in known if column not in passed
                ],
            }
            if any(lists.values()):
                raise ValueError(
                    "The feature names should match those that were passed during fit. "
                    + " ".join(
                        f"Feature names {text}: {', '.join(map(repr, columns[:5]))}"
                        f"{', …' if len(columns) > 5 else ''}."
                        for text, columns in lists.items()
                        if columns
                    )
                )
            i = next(i for i, column in enumerate(names) if column != known[i])
            raise ValueError(
                "The feature names should match those that were passed during fit, in the same "
                f"order: feature {i} of {name} is {names[i]!r}, but was {known[i]!r} during fit."
            )
        if X.shape[1] != self.n_features_in_:
            also = " (besides the query column and drop)" if self._removed_columns else ""
            raise ValueError(
                f"{name} has {X.shape[1]} features, but QueryRanker is expecting "
                f"{self.n_features_in_} features as input{also}."
            )

    # What scikit-learn calls ----------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the requested metadata: `qid`, unless it was passed to the constructor."""
        return request_queries(super().get_metadata_routing(), self.qid is not None)

    def __sklearn_clone__(self) -> Self:
        # `clone` fails for some CatBoost estimators, so the adapter copies the estimator.
        shell: Any = copy(self)
        shell.estimator = None
        new = super(QueryRanker, shell).__sklearn_clone__()
        new.estimator = make_adapter(self.estimator).copy()
        return new

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"  # predict returns one number per row
        tags.regressor_tags = RegressorTags()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True  # grades
        # Assumed for estimators without tags
        tags.input_tags = InputTags(sparse=True, allow_nan=True)
        if hasattr(self.estimator, "__sklearn_tags__"):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _refuse_splits_of_rows(estimator: object) -> None:
    """Raise a TypeError if any part of the estimator tunes or validates on random rows.

    Estimators that draw random rows for training only, such as forests, are accepted.
    """
    inside = estimator.get_params().values() if hasattr(estimator, "get_params") else ()
    for part in [estimator, *inside]:
        settings = part.get_params(deep=False) if isinstance(part, BaseEstimator) else {}
        # A TargetEncoder also has `cv`, but does not choose parameters with it.
        predicts = hasattr(part, "predict") or settings.keys() & {"estimator", "estimators"}
        if predicts and settings.get("cv", "prefit") != "prefit":
            fault = (
                "cross-validates on rows, which splits queries: wrap the ranker instead of the "
                "search, as in GridSearchCV(QueryRanker(…), …, cv=QueryKFold(5, qid='query_id')), "
                "or use an estimator without cv."
            )
        elif "validation_fraction" in settings and (
            settings.get("early_stopping", settings.get("n_iter_no_change") is not None) is True
        ):
            fault = "holds out rows, which splits queries: disable its early stopping."
        else:
            continue
        raise TypeError(f"QueryRanker received {type(part).__name__}, which {fault}")
