"""QueryRanker: rankers and regressors in scikit-learn's model selection."""

import inspect
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_regressor
from sklearn.utils import RegressorTags, get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRequest
from sklearn.utils.validation import check_is_fitted

from skgraded._query_source import (
    as_table,
    check_source,
    column_names,
    drop_column,
    find_column,
    is_column,
    is_polars_frame,
    look_up,
    take_column,
    take_rows,
)
from skgraded._torn import FittedQueries, warn_if_torn
from skgraded._validation import (
    check_grades,
    check_weights,
    column,
    group_codes,
    query_codes,
    rows_by_query,
)
from skgraded.judgments import Judgments
from skgraded.measures import Measure, as_measures
from skgraded.scorer import mean_scores

NO_QID = (
    "QueryRanker.{method} got no qid. There are three ways to give it: {method}(X, y, qid=qid), "
    "in a search with metadata routing, sklearn.set_config(enable_metadata_routing=True); as a "
    "column of X, QueryRanker(…, qid='query_id') or its position; or by the row index of X, "
    "QueryRanker(…, qid=series)."
)
OBJECTIVES_OF_WHOLE_GRADES = {
    "lambdarank", "rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart",
}


class QueryRanker(MetaEstimatorMixin, BaseEstimator):
    """A ranker or regressor that takes the query of each row, in any row order.

    Cross-validation can split `qid` with the rows, which it cannot do with the group sizes of
    LightGBM. Under metadata routing the ranker asks for `qid` by itself.

    Parameters
    ----------
    estimator : ranker or regressor
        A ranker whose ``fit`` takes ``group`` (sizes of consecutive queries, such as LGBMRanker)
        or ``qid``, or any scikit-learn regressor, which is fitted on the rows as they are.
    qid : str, int or pandas Series, optional
        Where `fit` and `score` find the query of each row:

        - None: they are given it, ``fit(X, y, qid=qid)``.
        - str or int: the column of X with that name, or at that position (from the end if
          negative). It is taken out before `estimator` sees X.
        - Series: the query by row label, looked up by the row index of the frame X.

    measure : Measure, str, or a list of them, default="ndcng@10"
        What `score` gives.

    Attributes
    ----------
    estimator_ : ranker or regressor
        The fitted clone of `estimator`.
    n_features_in_ : int
        Features that `estimator_` saw: the columns of X without that of the queries.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X was a frame with text as column names.

    See Also
    --------
    make_ranking_scorer : Scorer for searches over it.

    Notes
    -----
    It remembers the queries that it was fitted on, so that being scored on other documents of the
    same queries issues a `TornQueryWarning`. The very same rows, of which the query ids and the
    grades are compared, are taken for a training score and pass without.

    Examples
    --------
    >>> import numpy as np
    >>> import skgraded as sg
    >>> from sklearn.linear_model import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> y = np.clip(np.round(X[:, 0] + 1), 0, 4)
    >>> qid = rng.integers(6, size=60)
    >>> ranker = sg.QueryRanker(Ridge()).fit(X, y, qid=qid)
    >>> ranker.predict(X).shape
    (60,)
    >>> round(ranker.score(X, y, qid=qid), 2)
    1.0
    """

    # Sizes of groups cannot be split with the rows, so nothing can route them.
    __metadata_request__fit = {"qid": True, "group": UNUSED}
    __metadata_request__score = {"qid": True, "group": UNUSED}

    def __init__(
        self,
        estimator: Any,
        *,
        qid: Any = None,
        measure: str | Measure | Iterable[str | Measure] = "ndcng@10",
    ):
        self.estimator = estimator
        self.qid = qid
        self.measure = measure

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> "QueryRanker":
        """Fit the ranker.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, n_columns)
            The documents.
        y : array-like of shape (n,)
            Their grades ≥ 0.
        qid : array-like of shape (n,), optional
            The query of each row, in any row order, unless the constructor says where in X it is.
        group : array-like of shape (n_queries,), optional
            Sizes of consecutive queries in place of `qid`.
        sample_weight : array-like of shape (n,), optional
            Weights, passed to `estimator` only when given.
        **fit_params : dict
            Passed to the ``fit`` of `estimator` as they are, except that ``init_score``, as
            `sample_weight`, follows the rows when they are brought into the order of the queries.

        Returns
        -------
        QueryRanker
            Itself.

        Raises
        ------
        ValueError, TypeError
            If there is no qid, or two; if a grade is negative or not finite, or fractional for a
            ranker that takes whole grades only; if lengths differ; if weights are negative or
            all 0, or `estimator` takes none.
        """
        as_measures(self.measure)
        query_argument = _query_argument(self.estimator)
        X = as_table(X)
        n = X.shape[0]
        grades = check_grades(y, "y", n)
        if _wants_whole_grades(self.estimator):
            _refuse_fractions(grades, self.estimator)
        by_row = _checked_by_row(self.estimator, sample_weight, fit_params, n)

        self._column = self._find_column(X)
        queries = self._queries(X, qid, group, "fit")
        codes, ids = group_codes(group, n, "X") if group is not None else query_codes(
            queries, n, "X"
        )
        order, starts = rows_by_query(codes, len(ids))
        X = self._take_out(X)
        # Numbers made of group sizes say nothing about which queries they are.
        self._fitted_queries = (
            FittedQueries(ids, grades, order, starts, X) if group is None else None
        )
        self._remember_features(X)
        X = _readable(X, self.estimator)

        by_query = {}
        if query_argument is not None:
            if order is not None:
                X, grades = take_rows(X, order), grades[order]
                by_row = {name: values[order] for name, values in by_row.items()}
            sizes = np.diff(starts)
            by_query["group"] = sizes
            if query_argument == "qid":
                by_query = {"qid": np.repeat(np.arange(len(sizes)), sizes)}
        self.estimator_ = clone(self.estimator).fit(X, grades, **by_query, **fit_params | by_row)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Score documents.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, n_columns)
            With the column of the queries or without it.

        Returns
        -------
        ndarray of shape (n,)
            The higher, the better; comparable within a query.
        """
        check_is_fitted(self, "estimator_")
        X = self._take_out(as_table(X))
        self._check_features(X)
        return self.estimator_.predict(_readable(X, self.estimator_))

    def score(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float | dict[str, float]:
        """Mean of `measure` over the queries.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, n_columns)
            The documents.
        y : array-like of shape (n,)
            Their grades ≥ 0.
        qid : array-like of shape (n,), optional
            The query of each row, unless the constructor says where in X it is.
        group : array-like of shape (n_queries,), optional
            Sizes of consecutive queries in place of `qid`.
        sample_weight : array-like of shape (n,), optional
            A query's weight is the mean over its rows.

        Returns
        -------
        float or dict of str to float
            By measure if `measure` is a list.
        """
        check_is_fitted(self, "estimator_")
        table = as_table(X)
        queries = self._queries(table, qid, group, "score")
        grades = check_grades(y, "y", table.shape[0])
        judgments = Judgments(grades, qid=queries, group=group, sample_weight=sample_weight)
        if group is None:
            warn_if_torn(self, X, judgments)
        return mean_scores(self.measure, judgments, self.predict(X))

    # Queries -------------------------------------------------------------------------------------

    def _queries(self, X, qid, group, method):
        """Find the query of each row; None if they are given by `group`."""
        n_given = (qid is not None) + (group is not None) + (self.qid is not None)
        if n_given == 0:
            raise ValueError(NO_QID.format(method=method))
        if n_given > 1:
            raise ValueError(
                f"The queries are given more than once: qid={_brief(self.qid)} to the constructor, "
                f"qid={_brief(qid)} and group={_brief(group)} to {method}. Give them once."
            )
        if not is_column(self.qid):
            return look_up(X, self.qid) if self.qid is not None else qid
        position = self._column_in(X)
        if position is None:
            raise ValueError(
                f"{method} needs the queries, column {self._column[1] or self._column[0]!r} of X, "
                f"but this X with {X.shape[1]} columns is without it."
            )
        return take_column(X, position)

    def _find_column(self, X):
        """Position and name, if it has one, of the column of the queries; None if there is none."""
        check_source(self.qid)
        if not is_column(self.qid):
            return None
        position = find_column(X, self.qid)
        names = column_names(X)
        self.n_features_in_ = X.shape[1] - 1
        return position, None if names is None else names[position]

    def _column_in(self, X):
        """Position of the column of the queries in this X; None if X is without it."""
        if self._column is None:
            return None
        position, name = self._column
        names = column_names(X)
        if name is not None and names is not None:
            return names.index(name) if name in names else None
        return position if X.shape[1] == self.n_features_in_ + 1 else None

    def _take_out(self, X):
        position = self._column_in(X)
        return X if position is None else drop_column(X, position)

    # Features ------------------------------------------------------------------------------------

    def _remember_features(self, X):
        self.n_features_in_ = X.shape[1]
        names = column_names(X)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_features(self, X):
        names = column_names(X)
        known = list(getattr(self, "feature_names_in_", []))
        if X.shape[1] != self.n_features_in_:
            also = "" if self._column is None else " (besides the column of the queries)"
            raise ValueError(
                f"X has {X.shape[1]} features, but QueryRanker is expecting "
                f"{self.n_features_in_} features as input{also}."
            )
        if names is not None and known and names != known:
            i = next(i for i, pair in enumerate(zip(names, known, strict=True)) if len({*pair}) > 1)
            raise ValueError(
                "The feature names should match those that were passed during fit, in the same "
                f"order: feature {i} is {names[i]!r}, in fit it was {known[i]!r}."
            )

    # What scikit-learn asks ----------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRequest:
        """Say what it asks for under metadata routing: `qid`, unless the constructor has one.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest
        """
        request = super().get_metadata_routing()
        if self.qid is not None:
            for method in (request.fit, request.score):
                if method.requests.get("qid") is True:
                    method.add_request(param="qid", alias=UNUSED)
        return request

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"  # predict gives a number a row
        tags.regressor_tags = RegressorTags()
        tags.target_tags.required = True
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _query_argument(estimator):
    """How the estimator's fit takes the queries: "group", "qid", or None for a regressor."""
    parameters = _fit_parameters(estimator)
    for name in ("group", "qid"):
        if name in parameters:
            return name
    if not is_regressor(estimator):
        raise TypeError(
            "QueryRanker wraps a ranker, whose fit takes group or qid, or a regressor; got "
            f"{estimator!r}. In a Pipeline or a search put QueryRanker around the ranker itself; a "
            "classifier can be scored as it is by make_ranking_scorer."
        )
    return None


def _fit_parameters(estimator):
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be an instance with a fit method; got {estimator!r}.")
    return inspect.signature(estimator.fit).parameters


def _checked_by_row(estimator, sample_weight, fit_params, n):
    """Collect the arguments of fit that follow the rows, by name."""
    by_row = {}
    if fit_params.get("init_score") is not None:
        by_row["init_score"] = column(fit_params["init_score"], "init_score", n, "X")
    if sample_weight is not None:
        parameters = _fit_parameters(estimator)
        takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        if "sample_weight" not in parameters and not takes_any:
            raise ValueError(
                f"The fit of {type(estimator).__name__} takes no sample_weight: leave it out, or "
                "wrap an estimator that does."
            )
        by_row["sample_weight"] = check_weights(sample_weight, n, "X")
    return by_row


def _is_lightgbm(estimator, name):
    lightgbm = sys.modules.get("lightgbm")  # not imported for those who use something else
    return lightgbm is not None and isinstance(estimator, getattr(lightgbm, name))


def _readable(X, estimator):
    """`X` in a form that LightGBM reads, if the estimator is a LightGBM model."""
    if not _is_lightgbm(estimator, "LGBMModel"):
        return X
    if sparse.issparse(X) and not sparse.isspmatrix(X):
        return sparse.csr_matrix(X)  # predict takes sparse matrices, but not SciPy's newer arrays
    version = sys.modules["lightgbm"].__version__.split(".")
    before_4_7 = (int(version[0]), int(version[1])) < (4, 7)
    return X.to_numpy() if is_polars_frame(X) and before_4_7 else X


def _wants_whole_grades(estimator):
    if not _is_lightgbm(estimator, "LGBMRanker"):
        return False
    parameters = estimator.get_params(deep=False)
    aliases = ("objective_type", "app", "application", "loss", "objective")  # the last yields
    objective = next((parameters[name] for name in aliases if parameters.get(name)), None)
    return objective is None or objective in OBJECTIVES_OF_WHOLE_GRADES


def _refuse_fractions(grades, estimator):
    fractional = grades != np.floor(grades)
    if fractional.any():
        row = int(np.argmax(fractional))
        raise ValueError(
            f"y has the grade {grades[row]:g} in row {row}, but {type(estimator).__name__} takes "
            "whole grades only. For fractional grades wrap a regressor: "
            "QueryRanker(LGBMRegressor()) or QueryRanker(HistGradientBoostingRegressor())."
        )


def _brief(value):
    return repr(value) if value is None or is_column(value) else "…"
