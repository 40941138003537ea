"""Adapters that tell QueryRanker how to fit a model; the file of each library registers its own."""

import inspect
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.utils import InputTags, get_tags

from skgraded._input.needs import is_installed
from skgraded.boosting.rows import Queries, Rows

# These sets contain the names of all libraries.
# Aliases of n_estimators:
ROUND_PARAMETERS = frozenset(
    {
        "iterations",
        "max_iter",
        "n_estimators",
        "n_iter",
        "nrounds",
        "num_boost_round",
        "num_iteration",
        "num_iterations",
        "num_round",
        "num_rounds",
        "num_tree",
        "num_trees",
    }
)
# Arguments of fit that depend on the order of the rows:
BY_POSITION = (
    "base_margin",
    "baseline",
    "graph",
    "group_weight",
    "init_score",
    "pairs",
    "subgroup_id",
)
# Arguments of fit that conflict with early stopping:
CONFLICTING = frozenset(
    {
        "base_margin_eval_set",
        "early_stopping_rounds",
        "eval_class_weight",
        "eval_group",
        "eval_init_score",
        "eval_metric",
        "eval_names",
        "eval_set",
        "init_model",
        "metric_period",
        "sample_weight_eval_set",
        "use_best_model",
        "xgb_model",
    }
)
# Parameters that select the type of booster, and the types that modify existing trees:
KIND_PARAMETERS = ("boost", "booster", "boosting", "boosting_type")
CHANGING = frozenset({"dart", "gblinear"})
QUERY_ARGUMENTS = ("qid", "group", "group_id")
LIBRARIES = ("catboost", "lightgbm", "sklearn", "xgboost")  # each has a file in this folder

_adapters: dict[tuple[str, str], Any] = {}  # by library and class name of the model


def adapts(library: str, model: str) -> Callable[[Any], Any]:
    """Register a class as the adapter for a model of a library and for the model's subclasses."""

    def register(adapter: Any) -> Any:
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
    def grade_limit(self) -> tuple[float, str] | None:
        """If grades must be integers, the highest one, and advice for the error about others."""
        return None

    def refuse_positions(self, fit_params: dict[str, Any]) -> None:
        """Raise an error if an argument contains row positions, because rows will be reordered."""
        for name in BY_POSITION:
            if fit_params.get(name) is not None:
                raise ValueError(
                    f"Argument {name} refers to rows by position, but QueryRanker must reorder or "
                    "hold out rows: sort the rows by query first, and set early_stopping=False."
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
        return rows.take(queries.order, queries.sizes) if self.query_argument else rows

    def labeled(self, grades: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return an unfitted copy of the estimator, and the labels that represent the grades."""
        return self.copy(), grades

    def fit(self, rows: Rows, fit_params: dict[str, Any]) -> Any:
        """Fit a copy of the estimator on all rows."""
        model, labels = self.labeled(rows.grades)
        return self.train(model, labels, rows, fit_params)

    def train(self, model: Any, labels: Any, rows: Rows, fit_params: dict[str, Any]) -> Any:
        """Fit and return `model`."""
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

    without_stopping: dict[str, Any] = {}  # settings that disable the library's early stopping

    def with_callback(self, fit_params: dict[str, Any], callback: Any) -> dict[str, Any]:
        """Return the fit arguments with a callback after those that the user passes."""
        return fit_params | {"callbacks": [*(fit_params.get("callbacks") or ()), callback]}

    def without_observers(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Return the fit arguments without callbacks that run after a round.

        These may read values of validation queries, as Optuna's callbacks for pruning do.
        """
        if "callbacks" not in fit_params:
            return fit_params
        callbacks = fit_params["callbacks"] or ()
        kept = [each for each in callbacks if getattr(each, "before_iteration", False)]
        return fit_params | {"callbacks": kept}

    def fit_rounds(self, rows: Rows, n_rounds: int, fit_params: dict[str, Any]) -> Any:
        """Fit a copy of the estimator for `n_rounds` rounds, without early stopping."""
        model, labels = self.labeled(rows.grades)
        names = ROUND_PARAMETERS & model.get_params().keys()
        model.set_params(**dict.fromkeys(names, n_rounds), **self.without_stopping)
        return self.train(model, labels, rows, fit_params)

    def readable(self, X: Any) -> Any:
        """Convert polars frames to pandas, and sparse input to CSR with the smallest index type.

        CatBoost requires 32-bit indices. Text in a polars frame would abort LightGBM's process.
        """
        if sparse.issparse(X):
            X = X.tocsr()
            return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
        if type(X).__module__.startswith("polars."):
            return X.to_pandas() if is_installed("pyarrow") else X.to_numpy()
        return X

    def check_stopping(self, fit_params: dict[str, Any]) -> None:
        """Raise a ValueError if the booster cannot be stopped early or if settings conflict."""
        parameters = self.estimator.get_params()
        for kind in CHANGING & {parameters.get(name) for name in KIND_PARAMETERS}:
            raise ValueError(
                f"early_stopping=True does not support the booster {kind!r}, which modifies the "
                "trees of earlier rounds: choose another booster."
            )
        names = {name for name, value in fit_params.items() if value is not None}
        for name in sorted(names & CONFLICTING):
            raise ValueError(
                f"Omit the argument {name}: with early_stopping=True, QueryRanker starts a new "
                f"model, passes the validation set to {type(self.estimator).__name__} and decides "
                "when to stop. To choose the validation set, pass X_val, y_val and qid_val."
            )
