"""Adapters that QueryRanker uses to fit models; each library's module defines its own adapters."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_regressor

from skgraded._input.libraries import is_installed
from skgraded._input.queries import average_weights
from skgraded._input.tables import stack_rows, take_rows
from skgraded.boosting.rounds import StoppingState
from skgraded.judgments import Judgments

WEIGHT = "sample_weight"


class Queries(NamedTuple):
    """The query ids in a table, and the permutation that sorts its rows by query."""

    ids: np.ndarray
    order: np.ndarray | None  # row positions sorted by query; None if the rows are already sorted
    starts: np.ndarray  # index in `order` where each query starts; shape (n_queries + 1,)
    sizes: np.ndarray  # number of rows of each query

    @property
    def of_row(self) -> np.ndarray:
        """The index of each row's query, from 0, shape (n,)."""
        query_of_row = np.repeat(np.arange(len(self.ids)), self.sizes)
        if self.order is not None:
            query_of_row[self.order] = query_of_row.copy()
        return query_of_row


@dataclass
class Rows:
    """The rows of a data set, in the form that an estimator expects."""

    X: Any
    grades: np.ndarray
    weights: np.ndarray | None  # shape (n,)
    sizes: np.ndarray | None = None  # sizes of consecutive queries; None for regressors
    grade_type: np.dtype[Any] = np.dtype(float)  # the data type of the grades in y

    def take(self, rows: np.ndarray | None, sizes: np.ndarray | None) -> Self:
        """Return the rows at the given positions; None selects all rows in their current order."""
        if rows is None:
            return replace(self, sizes=sizes)
        weights = None if self.weights is None else self.weights[rows]
        X = take_rows(self.X, rows)
        return replace(self, X=X, grades=self.grades[rows], weights=weights, sizes=sizes)

    def join(self, other: Self) -> Self:
        """Return the rows of `self` followed by the rows of `other`; missing weights become 1."""
        is_weighted = self.weights is not None or other.weights is not None
        weights = [
            np.ones(len(rows.grades)) if rows.weights is None else rows.weights
            for rows in (self, other)
        ]
        return replace(
            self,
            X=stack_rows(self.X, other.X),
            grades=np.concatenate([self.grades, other.grades]),
            weights=np.concatenate(weights) if is_weighted else None,
            sizes=None if self.sizes is None else np.concatenate([self.sizes, other.sizes]),
        )

    @property
    def query_of_row(self) -> np.ndarray:
        """The index of each row's query, from 0, shape (n,)."""
        sizes = np.asarray(self.sizes)
        return np.repeat(np.arange(len(sizes)), sizes)

    @property
    def query_weights(self) -> np.ndarray:
        """The mean row weight of each query, as an array of shape (n_queries,)."""
        return average_weights(np.asarray(self.weights), self.query_of_row, np.asarray(self.sizes))


def judge_rows(parts: Sequence[Rows]) -> Judgments:
    """Concatenate the grades, query sizes and weights of all parts into a Judgments object."""
    grades = np.concatenate([rows.grades for rows in parts])
    weights = [rows.weights for rows in parts if rows.weights is not None]
    return Judgments(
        grades.astype(parts[0].grade_type, copy=False),
        group=np.concatenate([np.asarray(rows.sizes) for rows in parts]),
        sample_weight=np.concatenate(weights) if weights else None,
    )


class Estimator(Protocol):
    """An estimator from scikit-learn or a boosting library."""

    @property
    def fit(self) -> Callable[..., Any]:
        """Train the estimator."""


def make_adapter(estimator: Estimator, *, grades_are_gains: bool = False) -> "Adapter":
    """Return the adapter for an estimator; for a pipeline, return the adapter for its last step.

    For an unsupported estimator, return the generic `Adapter`.
    """
    from sklearn.pipeline import Pipeline

    model = estimator
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    adapters = (
        _find_adapters(cls.__module__.partition(".")[0]).get(cls.__name__)
        for cls in type(model).__mro__
    )
    adapter = next(filter(None, adapters), Adapter)
    return adapter(estimator, model, grades_are_gains=grades_are_gains)


@cache
def _find_adapters(library: str) -> Mapping[str, type["Adapter"]]:
    """Return a library's adapters, keyed by model class name; the dict may be empty."""
    file = f"{__package__}.{library}"  # the shared files have no ADAPTERS
    return getattr(import_module(file), "ADAPTERS", {}) if is_installed(file) else {}


@dataclass(eq=False)
class Adapter:
    """Generic adapter for regressors and rankers; subclasses override attributes and methods.

    `whole` is the user's estimator: either `estimator` itself or a pipeline whose last step is
    `estimator`. Neither is modified, because only copies are fitted. QueryRanker calls the public
    methods. Subclasses mainly override private methods, which handle only the last step of a
    pipeline.
    """

    whole: Any
    estimator: Any
    _: KW_ONLY
    grades_are_gains: bool  # whether NDCG objectives use the grades as gains

    # Possible names of the query argument; the first name that `fit` accepts is used.
    # `group` receives the sizes of consecutive queries; `qid` and `group_id` receive query ids.
    query_arguments: ClassVar[Sequence[str]] = ("qid", "group", "group_id")
    # Arguments of `fit` that depend on the row order
    row_arguments: ClassVar[Collection[str]] = ()
    # Whether the first validation scores are available only after `patience` rounds
    scores_late: ClassVar[bool] = False
    _fit_stopped: ClassVar[Callable[..., Any]]  # defined by adapters for boosters

    def check(self) -> None:
        """Raise an error if estimator parameters conflict with each other or with QueryRanker."""

    # The whole estimator -------------------------------------------------------------------------

    def convert(self, X: Any) -> Any:
        """Convert `X` to a form that the estimator accepts; return a pipeline's `X` unchanged."""
        return self._convert(X) if self.whole is self.estimator else X

    def copy(self) -> Any:
        """Return an unfitted copy of the whole estimator."""
        return self._copy() if self.whole is self.estimator else clone(self.whole, safe=False)

    def fit(self, rows: Rows, fit_params: dict[str, Any], n_rounds: int | None = None) -> Any:
        """Fit a copy on all rows; if `n_rounds` is given, train for that many rounds."""

        def fit_last(rows: Rows) -> Any:
            model, labels = self._copy_for(rows.grades, n_rounds)
            return model.fit(rows.X, labels, **fit_params | self._make_fit_arguments(rows))

        return self._fit_steps(self.whole, [rows], fit_last)

    def fit_stopped(
        self,
        training: Rows,
        validation: Rows,
        state: StoppingState,
        add_round: Callable[[np.ndarray], None],
        fit_params: dict[str, Any],
    ) -> Any:
        """Fit a copy until `state.is_over` is true.

        Pass the validation scores to `add_round` after each round.
        """
        return self._fit_steps(
            self.whole,
            [training, validation],
            lambda *parts: self._fit_stopped(*parts, state, add_round, fit_params),
        )

    def _fit_steps(self, whole: Any, parts: list[Rows], fit_last: Callable[..., Any]) -> Any:
        """Fit and apply a pipeline's transformers, if there are any, and then fit the last step."""
        if whole is self.estimator:
            return fit_last(*parts)
        model = clone(whole, safe=False)
        before, tables = model[:-1], [rows.X for rows in parts]
        if len(before):
            X, *others = tables
            tables = [before.fit_transform(X, parts[0].grades), *map(before.transform, others)]
        name, last = whole.steps[-1]
        if last is self.estimator:
            tables = [self._convert(X) for X in tables]
        parts = [replace(rows, X=X) for rows, X in zip(parts, tables, strict=True)]
        model.steps = [*before.steps, (name, self._fit_steps(last, parts, fit_last))]
        return model

    # Arguments of fit ----------------------------------------------------------------------------

    @cached_property
    def fit_parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the estimator's fit method, keyed by name."""
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise TypeError(
                f"estimator must be an instance with a fit method; got {self.estimator!r}."
            )
        return inspect.signature(self.estimator.fit).parameters

    @cached_property
    def query_argument(self) -> str | None:
        """The name of the fit argument that receives the queries, or None for a regressor."""
        argument = next(
            (name for name in self.query_arguments if name in self.fit_parameters), None
        )
        if argument is None and not is_regressor(self.estimator):
            raise TypeError(
                "estimator must be a regressor, or a ranker whose fit method accepts group or qid; "
                f"got {self.estimator!r}. To tune hyperparameters, wrap the ranker, not the "
                "search, in QueryRanker. To score a classifier, use make_ranking_scorer without "
                "QueryRanker."
            )
        return argument

    @property
    def grade_limit(self) -> tuple[float, str] | None:
        """The highest allowed grade and a hint for the error message; None if there is no limit."""
        return None

    def refuse_positions(self, fit_params: dict[str, Any]) -> None:
        """Raise an error if an argument depends on the row order, which QueryRanker changes."""
        for name in self.row_arguments:
            if fit_params.get(name) is not None:
                raise ValueError(
                    f"Argument {name} refers to rows by position, but QueryRanker must reorder or "
                    "hold out rows: sort the rows by query first, and set early_stopping=False."
                )

    def check_stopping(self, fit_params: dict[str, Any], setting: str) -> None:
        """Raise a TypeError; only subclasses for boosters support early stopping."""
        raise TypeError(
            f"early_stopping={setting} requires a supported booster, such as LGBMRanker, XGBRanker, "
            "CatBoostRanker or HistGradientBoostingRegressor; got "
            f"{self.estimator!r}. Set early_stopping=False, and use the estimator's own early "
            "stopping, if it has any."
        )

    def remove_observers(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Return the fit arguments without callbacks that run after each round.

        Such callbacks may require validation scores, as Optuna's pruning callbacks do.
        """
        if "callbacks" not in fit_params:
            return fit_params
        callbacks = fit_params["callbacks"] or ()
        kept = [each for each in callbacks if getattr(each, "before_iteration", False)]
        return fit_params | {"callbacks": kept}

    def order_rows(self, rows: Rows, queries: Queries) -> Rows:
        """Sort the rows by query for a ranker; return them unchanged for a regressor."""
        return rows.take(queries.order, queries.sizes) if self.query_argument else rows

    # The last step -------------------------------------------------------------------------------

    def _convert(self, X: Any) -> Any:
        """Convert `X` to a form that the estimator accepts."""
        return X

    def _copy(self) -> Any:
        """Return an unfitted copy of the estimator."""
        return clone(self.estimator, safe=False)

    def _make_fit_arguments(self, rows: Rows) -> dict[str, Any]:
        """Return the fit arguments, except X and y, in the form that the estimator expects."""
        arguments: dict[str, Any] = {} if rows.weights is None else {WEIGHT: rows.weights}
        if self.query_argument is not None:
            by_size = self.query_argument == "group"
            arguments[self.query_argument] = rows.sizes if by_size else rows.query_of_row
        return arguments

    def _copy_for(self, grades: np.ndarray, n_rounds: int | None) -> tuple[Any, np.ndarray]:
        """Return an unfitted copy of the estimator, and the labels to train it on.

        If `n_rounds` is given, the copy trains for `n_rounds` rounds without early stopping.
        """
        return self._copy(), grades


class BoosterAdapter(Adapter):
    """Base class for booster adapters.

    Subclasses define ``_fit_stopped(training, validation, state, add_round, fit_params)``, which
    fits a copy of the estimator, passes the validation scores to `add_round` after each round, and
    stops when ``state.is_over`` is true.
    """

    round_parameters: Collection[str] = ("n_estimators",)  # set the number of rounds
    without_stopping: Mapping[str, Any] = {}  # settings that disable the library's early stopping
    conflicting: Collection[str] = ()  # arguments of fit that conflict with early stopping
    # Parameter values that select a booster which modifies the trees of earlier rounds
    changing: Mapping[str, Collection[str]] = {}

    def _add_callbacks(self, fit_params: dict[str, Any], *callbacks: Any) -> dict[str, Any]:
        """Return the fit arguments with `callbacks` appended to the user's callbacks."""
        return fit_params | {"callbacks": [*(fit_params.get("callbacks") or ()), *callbacks]}

    def _copy_for(self, grades: np.ndarray, n_rounds: int | None) -> tuple[Any, np.ndarray]:
        model = self._copy()
        if n_rounds is not None:
            names = set(self.round_parameters) & model.get_params().keys()
            model.set_params(**dict.fromkeys(names, n_rounds), **self.without_stopping)
        return model, grades

    def _convert(self, X: Any) -> Any:
        """Convert polars frames to pandas, and sparse input to CSR with the smallest index dtype.

        CatBoost requires 32-bit indices. LightGBM crashes if a polars frame contains text.
        """
        if sparse.issparse(X):
            X = X.tocsr()
            return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
        if type(X).__module__.startswith("polars."):
            return X.to_pandas() if is_installed("pyarrow") else X.to_numpy()
        return X

    def check_stopping(self, fit_params: dict[str, Any], setting: str) -> None:
        """Raise a ValueError if the booster or the fit arguments do not allow early stopping."""
        parameters = self.estimator.get_params()
        for name, kinds in self.changing.items():
            if parameters.get(name) in kinds:
                raise ValueError(
                    f"early_stopping={setting} is not supported for the booster {parameters[name]!r}, "
                    "which modifies the trees of earlier rounds: choose a different booster."
                )
        for name in self.conflicting:
            if fit_params.get(name) is not None:
                raise ValueError(
                    f"Omit the argument {name}: with early_stopping={setting}, QueryRanker trains a new "
                    f"model, passes the validation set to {type(self.estimator).__name__} and "
                    "decides when to stop. To choose the validation set, pass X_val, y_val and "
                    "qid_val."
                )
