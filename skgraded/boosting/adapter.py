"""Adapters that tell QueryRanker how to fit a model; the file of each library registers its own."""

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.utils import InputTags, get_tags

from skgraded._input.door import check_weights, column
from skgraded.boosting.rows import WEIGHT, Queries, Rows

QUERY_ARGUMENTS = ("qid", "group", "group_id")
LIBRARIES = ("catboost", "lightgbm", "sklearn", "xgboost")  # each has a file in this folder

_adapters: dict[tuple[str, str], Any] = {}  # by library and class name of the model


def adapts(library: str, model: str) -> Callable[[Any], Any]:
    """Register a class as the adapter for a model of a library and for the model's subclasses."""

    def register(adapter: Any) -> Any:
        adapter.package = library
        _adapters[library, model] = adapter
        return adapter

    return register


def adapter_of(estimator: Any, grades_are_gains: bool = False) -> Any:
    """Return the adapter for an estimator, or the generic `Adapter` for an unknown model."""
    for cls in type(estimator).__mro__:
        library = cls.__module__.partition(".")[0]
        if library in LIBRARIES:
            import_module(f"{__package__}.{library}")  # registers the adapters for the library
            adapter = _adapters.get((library, cls.__name__))
            if adapter is not None:
                return adapter(estimator, grades_are_gains)
    return Adapter(estimator, grades_are_gains)


def _takes_any(parameters: Mapping[str, inspect.Parameter]) -> bool:
    """Return whether the parameters include ``**kwargs``."""
    return any(p.kind is p.VAR_KEYWORD for p in parameters.values())


class WholeEstimator:
    """Methods of adapters that concern the whole estimator, which may be a pipeline.

    The estimator itself is never modified; only copies of it are fitted.
    """

    def __init__(self, whole: Any):
        self._whole = whole

    def readable(self, X: Any) -> Any:
        """Convert `X` to a form that the estimator can read."""
        return X

    def copy(self) -> Any:
        """Return an unfitted copy of the estimator."""
        return clone(self._whole, safe=False)

    def input_tags(self) -> Any:
        """Return scikit-learn's input tags, which describe the types of X that are accepted."""
        if hasattr(self._whole, "__sklearn_tags__"):
            return get_tags(self._whole).input_tags
        return InputTags(sparse=True, allow_nan=True)  # assumed for estimators without tags


class Adapter(WholeEstimator):
    """Generic adapter for regressors and rankers; subclasses override model-specific methods."""

    # Names of fit arguments: those with initial scores, and those that depend on the row order.
    # Both tuples cover all libraries, because the estimator's library may be unknown.
    first_scores: tuple[str, ...] = ("init_score", "base_margin", "baseline")
    by_position: tuple[str, ...] = ("pairs", "graph", "subgroup_id", "group_weight")
    max_rounds: int | None = 0  # only boosters have rounds
    report: Callable[[], object] | None = None  # called after each round

    def __init__(self, estimator: Any, grades_are_gains: bool):
        super().__init__(estimator)
        self.estimator = estimator
        self.grades_are_gains = grades_are_gains  # whether NDCG objectives use the grades as gains

    def check(self) -> None:
        """Raise an error if the estimator would learn nothing or would learn the wrong target."""

    # Arguments of fit ----------------------------------------------------------------------------

    @cached_property
    def fit_parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters of the estimator's fit method, by name."""
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise TypeError(
                f"estimator must be an instance with a fit method; got {self.estimator!r}."
            )
        return dict(inspect.signature(self.estimator.fit).parameters)

    @cached_property
    def query_argument(self) -> str | None:
        """The name of the fit argument that receives the queries, or None for a regressor."""
        name = next((name for name in QUERY_ARGUMENTS if name in self.fit_parameters), None)
        if name is None and not is_regressor(self.estimator):
            raise TypeError(
                "estimator must be a regressor, or a ranker whose fit method accepts group or qid; "
                f"got {self.estimator!r}. In a hyperparameter search, wrap the ranker instead of "
                "the search. To score a classifier, use make_ranking_scorer without QueryRanker."
            )
        return name

    @property
    def fractional_grades_advice(self) -> str | None:
        """Advice for the error about fractional grades, or None if such grades are accepted."""
        return None

    @property
    def grade_limit(self) -> tuple[int, str] | None:
        """The highest grade that the estimator accepts, and advice for the error about others."""
        return None

    def first_scores_in(self, fit_params: dict[str, Any]) -> list[str]:
        """Return the names of the passed fit arguments that contain initial scores."""
        return [name for name in self.first_scores if fit_params.get(name) is not None]

    def check_by_row(
        self, sample_weight: Any, fit_params: dict[str, Any], n: int, expected: str, n_queries: int
    ) -> dict[str, np.ndarray]:
        """Check the fit arguments that have one value per row, and return them as a dict."""
        by_row = {
            name: column(fit_params[name], name, n, expected)
            for name in self.first_scores_in(fit_params)
        }
        if sample_weight is not None:
            if WEIGHT not in self.fit_parameters and not _takes_any(self.fit_parameters):
                raise ValueError(
                    f"sample_weight is not supported by {type(self.estimator).__name__}.fit: omit "
                    "the weights, or wrap an estimator that accepts them."
                )
            by_row[WEIGHT] = check_weights(sample_weight, n, expected, n_queries)
        return by_row

    def refuse_positions(self, fit_params: dict[str, Any]) -> None:
        """Raise an error if an argument contains row positions, because rows will be reordered."""
        for name in self.by_position:
            if fit_params.get(name) is not None:
                raise ValueError(
                    f"Argument {name} refers to rows by position, but QueryRanker must reorder the "
                    "rows: sort the rows by query first, and set early_stopping=False."
                )

    def fit_arguments(self, rows: Rows) -> dict[str, Any]:
        """Return the fit arguments, except X and y, in the form that the estimator expects."""
        arguments: dict[str, Any] = dict(rows.by_row)
        if self.query_argument is not None:
            by_size = self.query_argument == "group"
            arguments[self.query_argument] = rows.sizes if by_size else rows.query_of_row
        return arguments

    # Fits ----------------------------------------------------------------------------------------

    def order_rows(self, rows: Rows, queries: Queries) -> Rows:
        """Return the rows in the order for `fit`: sorted by query, or unchanged for a regressor."""
        return rows if self.query_argument is None else rows.sorted_by(queries)

    def labeled(self, grades: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return an unfitted copy of the estimator, and the labels that represent the grades."""
        return self.copy(), grades

    def report_to(self, report: Callable[[], object]) -> None:
        """Set the function that is called after each round."""
        self.report = report

    def fit(self, rows: Rows, fit_params: dict[str, Any]) -> Any:
        """Fit a copy of the estimator on all rows."""
        model, labels = self.labeled(rows.grades)
        return self.train(model, labels, rows, fit_params)

    def train(self, model: Any, labels: Any, rows: Rows, fit_params: dict[str, Any]) -> Any:
        """Fit and return `model`; libraries with callbacks report each round."""
        return model.fit(rows.X, labels, **fit_params | self.fit_arguments(rows))

    def check_stopping(self, fit_params: dict[str, Any]) -> None:
        """Raise a TypeError, because only boosters support early stopping."""
        raise TypeError(
            "early_stopping=True requires a supported booster, such as LGBMRanker, XGBRanker, "
            "CatBoostRanker or HistGradientBoostingRegressor; got "
            f"{self.estimator!r}. Set early_stopping=False, and use the estimator's own early "
            "stopping, if it has any."
        )


class BoosterAdapter(Adapter):
    """Base class of adapters for boosters.

    ``fit_stopped(training, validation, progress, fit_params)`` fits a copy of the estimator, and
    passes the scores of the validation rows to `progress`, a StoppingState, after each round.
    """

    package: str  # import name of the library, set by `adapts`
    polars_since: tuple[int, ...] = ()  # first version of the library that accepts polars frames
    by_position: tuple[str, ...] = ()
    # Parameters that select the booster type, and booster types that modify existing trees.
    kind_parameters: tuple[str, ...] = ()
    changing: frozenset[str] = frozenset()
    # All aliases of n_estimators, and the settings that disable the library's own early stopping.
    round_parameters: frozenset[str] = frozenset({"n_estimators"})
    without_stopping: dict[str, Any] = {}
    # Fit arguments that conflict with early stopping, and the fit argument for an initial model.
    conflicting: frozenset[str] = frozenset()
    init_model_argument: str = ""

    def with_callback(self, fit_params: dict[str, Any], callback: Any) -> dict[str, Any]:
        """Return the fit arguments with a callback after those that the user passes."""
        return fit_params | {"callbacks": [*(fit_params.get("callbacks") or ()), callback]}

    def fit_rounds(self, rows: Rows, n_rounds: int, fit_params: dict[str, Any]) -> Any:
        """Fit a copy of the estimator for `n_rounds` rounds, without early stopping."""
        model, labels = self.labeled(rows.grades)
        names = self.round_parameters & model.get_params().keys()
        model.set_params(**dict.fromkeys(names, n_rounds), **self.without_stopping)
        return self.train(model, labels, rows, fit_params)

    @property
    def max_rounds(self) -> int | None:  # type: ignore[override]
        """The maximum number of rounds, or None if the parameters do not set it."""
        parameters = self.estimator.get_params()
        numbers = (parameters.get(name) for name in self.round_parameters)
        return max((number for number in numbers if number is not None), default=None)

    @property
    def version(self) -> tuple[int, ...]:
        """The library's version as a tuple of numbers."""
        parts = sys.modules[self.package].__version__.split(".")
        return tuple(int(part) for part in parts[:3] if part.isdecimal())

    @cached_property
    def fit_parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters of fit, including inherited parameters hidden behind ``**kwargs``."""
        parameters = super().fit_parameters
        if _takes_any(parameters):
            cls: Any = next(
                c
                for c in type(self.estimator).__mro__
                if c.__module__.partition(".")[0] == self.package and hasattr(c, "fit")
            )
            parameters = dict(inspect.signature(cls.fit).parameters) | parameters
        return parameters

    def readable(self, X: Any) -> Any:
        """Convert sparse input to CSR format, and unsupported polars frames to NumPy arrays."""
        if sparse.issparse(X):
            return sparse.csr_matrix(X)
        if not type(X).__module__.startswith("polars."):
            return X
        if self.version < self.polars_since:
            return X.to_numpy()
        self.check_polars(X)
        return X

    def check_polars(self, X: Any) -> None:
        """Raise a ValueError if the library cannot read a column of a polars frame."""

    def check_stopping(self, fit_params: dict[str, Any]) -> None:
        """Raise a ValueError if the booster cannot be stopped early or if settings conflict."""
        parameters = self.estimator.get_params()
        kinds = {parameters.get(name) for name in self.kind_parameters}
        for kind in kinds & self.changing:
            raise ValueError(
                f"early_stopping=True does not support the booster {kind!r}, which modifies the "
                "trees of earlier rounds: choose another booster."
            )
        names = {name for name, value in fit_params.items() if value is not None}
        for name in sorted(names & self.conflicting):
            raise ValueError(
                f"Omit the argument {name}: with early_stopping=True, QueryRanker passes the "
                f"validation set to {type(self.estimator).__name__} and decides when to stop. To "
                "choose the validation set, pass X_val, y_val and qid_val."
            )
        if self.init_model_argument in names:
            raise ValueError(
                "With early_stopping=True, training cannot continue from an existing model: omit "
                f"{self.init_model_argument}."
            )
        callbacks = [*(parameters.get("callbacks") or ()), *(fit_params.get("callbacks") or ())]
        for callback in callbacks:
            if "earlystopping" in type(callback).__name__.lower():
                raise ValueError(
                    f"Remove {type(callback).__name__} from the callbacks, because "
                    "early_stopping=True already stops training early. Set measure and "
                    "n_iter_no_change instead."
                )
