"""Adapters that tell QueryRanker how to fit an estimator; each library has its own module."""

import inspect
import pkgutil
import sys
from functools import cache, cached_property
from importlib import import_module
from typing import Any

from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.utils import InputTags, get_tags

from skgraded._input.columns import check_weights, column
from skgraded._input.tables import is_polars_frame
from skgraded.boosting.rows import WEIGHT

QUERY_ARGUMENTS = ("qid", "group", "group_id")
# All other modules in this folder are named after the package that they support.
COMMON = {"adapter", "docs", "frames", "metric", "objective", "rows"}


def adapter_of(estimator: Any, grades_are_gains: bool = False) -> Any:
    """Return the adapter for an estimator, or the generic `Adapter` for an unknown library."""
    for cls in type(estimator).__mro__:
        package = cls.__module__.partition(".")[0]
        if package in libraries():
            for adapter in import_module(f"{__package__}.{package}").ADAPTERS:
                if adapter.model == cls.__name__:
                    return adapter(estimator, grades_are_gains)
    return Adapter(estimator, grades_are_gains)


@cache
def libraries() -> list[str]:
    """Return the sorted names of the packages for which adapters exist."""
    here = sys.modules[__package__].__path__
    return sorted({module.name for module in pkgutil.iter_modules(here)} - COMMON)


def _takes_any(parameters):
    """Return whether the parameters include ``**kwargs``."""
    return any(p.kind is p.VAR_KEYWORD for p in parameters.values())


class Adapter:
    """Fit any regressor or ranker; subclasses override the methods that depend on the library.

    The estimator itself is never modified; only copies of it are fitted.
    """

    # Arguments of fit with initial scores; arguments with row positions or group weights.
    # Both tuples contain names from all libraries, because an unknown ranker may use any of them.
    first_scores: tuple[str, ...] = ("init_score", "base_margin", "baseline")
    by_position: tuple[str, ...] = ("pairs", "graph", "subgroup_id", "group_weight")

    def __init__(self, estimator, grades_are_gains):
        self.estimator = estimator
        self.grades_are_gains = grades_are_gains  # whether NDCG objectives use grades as gains

    def check(self):
        """Reject settings with which the estimator would learn nothing or the wrong target."""

    # Arguments of fit ----------------------------------------------------------------------------

    @cached_property
    def fit_parameters(self):
        """The parameters of the estimator's fit method, by name."""
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise TypeError(
                f"estimator must be an instance with a fit method; got {self.estimator!r}."
            )
        return dict(inspect.signature(self.estimator.fit).parameters)

    @cached_property
    def query_argument(self):
        """Name of the fit argument for the queries (see QUERY_ARGUMENTS); None for a regressor."""
        for name in QUERY_ARGUMENTS:
            if name in self.fit_parameters:
                return name
        if not is_regressor(self.estimator):
            raise TypeError(
                "QueryRanker wraps a regressor, or a ranker whose fit method accepts group or qid; "
                f"got {self.estimator!r}. In a search, wrap the ranker, not the search. To score a "
                "classifier, use make_ranking_scorer without QueryRanker."
            )
        return None

    @property
    def wants_whole_grades(self):
        """Whether the estimator's objective accepts only whole grades."""
        return False

    def first_scores_in(self, fit_params):
        """Return the names of the passed fit arguments that contain initial scores."""
        return [name for name in self.first_scores if fit_params.get(name) is not None]

    def check_by_row(self, sample_weight, fit_params, n, expected):
        """Check the fit arguments that have one value per row; return a dict of them by name."""
        by_row = {
            name: column(fit_params[name], name, n, expected)
            for name in self.first_scores_in(fit_params)
        }
        if sample_weight is not None:
            if WEIGHT not in self.fit_parameters and not _takes_any(self.fit_parameters):
                raise ValueError(
                    f"{type(self.estimator).__name__}.fit accepts no sample_weight: leave it out, "
                    "or wrap an estimator that accepts weights."
                )
            by_row[WEIGHT] = check_weights(sample_weight, n, expected)
        return by_row

    def refuse_positions(self, fit_params):
        """Reject arguments that refer to rows by position, because rows will be reordered."""
        for name in self.by_position:
            if fit_params.get(name) is not None:
                raise ValueError(
                    f"{name} refers to rows by position, but QueryRanker has to move rows: bring "
                    "the rows of each query together first, and set early_stopping=False."
                )

    def with_memory(self, fit_params, memory):
        """Return the fit arguments, with a cache for prepared data if the library supports one."""
        return fit_params

    def fit_arguments(self, rows):
        """Return the fit arguments other than X and y, in the form that the estimator expects."""
        arguments = dict(rows.by_row)
        if self.query_argument is not None:
            by_size = self.query_argument == "group"
            arguments[self.query_argument] = rows.sizes if by_size else rows.query_of_row
        return arguments

    # Tables, copies, fits ------------------------------------------------------------------------

    def readable(self, X):
        """Convert `X` to a form that the estimator can read."""
        return X

    def copy(self):
        """Return an unfitted copy of the estimator."""
        return clone(self.estimator, safe=False)

    def input_tags(self):
        """Return scikit-learn's tags that describe which X the estimator accepts."""
        if hasattr(self.estimator, "__sklearn_tags__"):
            return get_tags(self.estimator).input_tags
        return InputTags(sparse=True, allow_nan=True)  # the estimator predates scikit-learn's tags

    @property
    def fractional_grades_advice(self):
        """Advice for fractional grades with an objective that accepts only whole grades."""
        return (
            "wrap a regressor: QueryRanker(LGBMRegressor()) or "
            "QueryRanker(HistGradientBoostingRegressor())"
        )

    def labelled(self, grades):
        """Return an unfitted copy of the estimator, and the labels that represent the grades."""
        return self.copy(), grades

    def fit(self, rows, fit_params):
        """Fit a copy of the estimator on all rows."""
        model, labels = self.labelled(rows.grades)
        return model.fit(rows.X, labels, **fit_params | self.fit_arguments(rows))

    def check_stopping(self, fit_params):
        """Reject estimators that do not support early stopping."""
        *most, last = libraries()
        raise TypeError(
            f"early_stopping=True supports boosters from the packages {', '.join(most)} and {last} "
            f"only; got {self.estimator!r}. Set early_stopping=False, and use the early stopping "
            "of the estimator if it has one."
        )


class BoosterAdapter(Adapter):
    """Fit the boosters of one library; the library's module lists its subclasses in `ADAPTERS`.

    ``fit_stopped(training, validation, progress, fit_params)`` fits a copy of the estimator on the
    training rows. After each round, it passes the scores of the validation rows to `progress`,
    which decides when to stop. The fitted copy predicts with the best number of rounds.
    """

    package: str  # import name of the library
    model: str  # name of the base class of the library's boosters
    library: str  # its name in messages
    polars_since: tuple[int, ...] = ()  # first version that accepts polars frames
    by_position: tuple[str, ...] = ()
    # Parameters that select the booster type; booster types that modify earlier rounds.
    kind_parameters: tuple[str, ...] = ()
    changing: frozenset[str] = frozenset()
    # Aliases for the number of rounds; settings that disable the library's early stopping.
    round_parameters: frozenset[str] = frozenset({"n_estimators"})
    without_stopping: dict[str, Any] = {}
    # Arguments of fit that conflict with early stopping; name of the initial model argument.
    conflicting: frozenset[str] = frozenset()
    init_model_argument: str = ""

    def fit_rounds(self, rows, n_rounds, fit_params):
        """Fit a copy of the estimator for `n_rounds` rounds, without early stopping."""
        model, labels = self.labelled(rows.grades)
        names = self.round_parameters & model.get_params().keys()
        model.set_params(**dict.fromkeys(names, n_rounds), **self.without_stopping)
        return model.fit(rows.X, labels, **fit_params | self.fit_arguments(rows))

    @property
    def version(self):
        """The library's version as a tuple of numbers."""
        parts = sys.modules[self.package].__version__.split(".")
        return tuple(int(part) for part in parts[:3] if part.isdecimal())

    @cached_property
    def fit_parameters(self):
        """The parameters of fit, including inherited ones hidden behind ``**kwargs``."""
        parameters = super().fit_parameters
        if _takes_any(parameters):
            cls: Any = next(
                c for c in type(self.estimator).__mro__
                if c.__module__.partition(".")[0] == self.package and hasattr(c, "fit")
            )
            parameters = dict(inspect.signature(cls.fit).parameters) | parameters
        return parameters

    def readable(self, X):
        """Convert `X` to a form that the library can read, such as sparse arrays to matrices."""
        if sparse.issparse(X):
            return sparse.csr_matrix(X)
        too_old = is_polars_frame(X) and self.version < self.polars_since
        return X.to_numpy() if too_old else X

    def check_stopping(self, fit_params):
        """Reject boosters that cannot be stopped early, and conflicting settings."""
        parameters = self.estimator.get_params()
        kinds = {parameters.get(name) for name in self.kind_parameters}
        for kind in kinds & self.changing:
            raise ValueError(
                "early_stopping=True needs a booster whose early rounds stay fixed, but "
                f"{kind!r} changes them in later rounds. Choose another booster."
            )
        names = {name for name, value in fit_params.items() if value is not None}
        for name in sorted(names & self.conflicting):
            raise ValueError(
                f"QueryRanker(early_stopping=True) passes {self.library} a validation set and "
                f"stops the training: leave out {name}. To choose the validation set yourself, "
                "pass eval_X, eval_y and eval_qid."
            )
        if self.init_model_argument in names:
            raise ValueError(
                "early_stopping=True cannot continue from another model: leave out "
                f"{self.init_model_argument}."
            )
        callbacks = [*(parameters.get("callbacks") or ()), *(fit_params.get("callbacks") or ())]
        for callback in callbacks:
            if "earlystopping" in type(callback).__name__.lower():
                raise ValueError(
                    "early_stopping=True already stops the training: leave "
                    f"{type(callback).__name__} out of the callbacks, and set measure and "
                    "n_iter_no_change instead."
                )
