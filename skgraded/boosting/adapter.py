"""What QueryRanker has to know of an estimator: here of any, and of a library's in its own file."""

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
# The other files here have the name of a library's package.
COMMON = {"adapter", "docs", "frames", "metric", "objective", "rows"}


def adapter_of(estimator: Any, grades_are_gains: bool = False) -> Any:
    """What is known of the estimator: by the file of its library, or else as of any."""
    for cls in type(estimator).__mro__:
        package = cls.__module__.partition(".")[0]
        if package in libraries():
            for adapter in import_module(f"{__package__}.{package}").ADAPTERS:
                if adapter.model == cls.__name__:
                    return adapter(estimator, grades_are_gains)
    return Adapter(estimator, grades_are_gains)


@cache
def libraries() -> list[str]:
    """Names of the packages whose boosters are known, sorted."""
    here = sys.modules[__package__].__path__
    return sorted({module.name for module in pkgutil.iter_modules(here)} - COMMON)


def _takes_any(parameters):
    """Whether there is a ``**kwargs`` among the parameters."""
    return any(p.kind is p.VAR_KEYWORD for p in parameters.values())


class Adapter:
    """How an estimator is given its rows; as it stands, any regressor or ranker.

    The estimator stays as it is: what is fitted are copies.
    """

    # Arguments of fit that are first scores of the rows, and those that name rows by position or
    # weigh them otherwise; an unknown ranker may have been made after any of the known.
    first_scores: tuple[str, ...] = ("init_score", "base_margin", "baseline")
    by_position: tuple[str, ...] = ("pairs", "graph", "subgroup_id", "group_weight")

    def __init__(self, estimator, grades_are_gains):
        self.estimator = estimator
        self.grades_are_gains = grades_are_gains  # of NDCG, where the estimator optimises it

    def check(self):
        """Refuse settings of the estimator by which it would learn nothing, or something else."""

    # Arguments of fit ----------------------------------------------------------------------------

    @cached_property
    def fit_parameters(self):
        """The parameters of the estimator's fit, by name."""
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise TypeError(
                f"estimator must be an instance with a fit method; got {self.estimator!r}."
            )
        return dict(inspect.signature(self.estimator.fit).parameters)

    @cached_property
    def query_argument(self):
        """How fit takes the queries, one of QUERY_ARGUMENTS; None: a regressor."""
        for name in QUERY_ARGUMENTS:
            if name in self.fit_parameters:
                return name
        if not is_regressor(self.estimator):
            raise TypeError(
                "QueryRanker wraps a ranker, whose fit takes group or qid, or a regressor; got "
                f"{self.estimator!r}. In a search put QueryRanker around the ranker itself; a "
                "classifier can be scored as it is by make_ranking_scorer."
            )
        return None

    @property
    def wants_whole_grades(self):
        """Whether the estimator's objective takes whole grades only."""
        return False

    def first_scores_in(self, fit_params):
        """Names of the first scores among the arguments of fit."""
        return [name for name in self.first_scores if fit_params.get(name) is not None]

    def check_by_row(self, sample_weight, fit_params, n, expected):
        """Collect the arguments of fit that follow the rows, checked, by name."""
        by_row = {
            name: column(fit_params[name], name, n, expected)
            for name in self.first_scores_in(fit_params)
        }
        if sample_weight is not None:
            if WEIGHT not in self.fit_parameters and not _takes_any(self.fit_parameters):
                raise ValueError(
                    f"The fit of {type(self.estimator).__name__} takes no sample_weight: leave it "
                    "out, or wrap an estimator that does."
                )
            by_row[WEIGHT] = check_weights(sample_weight, n, expected)
        return by_row

    def refuse_positions(self, fit_params):
        """Refuse arguments that name rows by position, which is about to change."""
        for name in self.by_position:
            if fit_params.get(name) is not None:
                raise ValueError(
                    f"{name} goes by the position of rows, and QueryRanker has to move them: bring "
                    "the rows of each query together first, and hold out none "
                    "(early_stopping=False)."
                )

    def with_memory(self, fit_params, memory):
        """The arguments of fit, with one that keeps prepared data, if the library has a way."""
        return fit_params

    def fit_arguments(self, rows):
        """The arguments of fit, beside X and y, that `rows` stand for, in the estimator's form."""
        arguments = dict(rows.by_row)
        if self.query_argument is not None:
            by_size = self.query_argument == "group"
            arguments[self.query_argument] = rows.sizes if by_size else rows.query_of_row
        return arguments

    # Tables, copies, fits ------------------------------------------------------------------------

    def readable(self, X):
        """`X` in a form that the estimator reads."""
        return X

    def copy(self):
        """An unfitted copy of the estimator."""
        return clone(self.estimator, safe=False)

    def input_tags(self):
        """What scikit-learn is told of the X that the estimator takes."""
        if hasattr(self.estimator, "__sklearn_tags__"):
            return get_tags(self.estimator).input_tags
        return InputTags(sparse=True, allow_nan=True)  # of a time before tags

    @property
    def for_fractions(self):
        """What to do about fractional grades where whole ones are wanted."""
        return (
            "wrap a regressor: QueryRanker(LGBMRegressor()) or "
            "QueryRanker(HistGradientBoostingRegressor())"
        )

    def labelled(self, grades):
        """An unfitted copy of the estimator, and the labels that stand for the grades there."""
        return self.copy(), grades

    def fit(self, rows, fit_params):
        """Fit a copy of the estimator on all rows."""
        model, labels = self.labelled(rows.grades)
        return model.fit(rows.X, labels, **fit_params | self.fit_arguments(rows))

    def check_stopping(self, fit_params):
        """Refuse an estimator that cannot be stopped early, and what would stop it too."""
        *most, last = libraries()
        raise TypeError(
            "early_stopping=True is for the boosters that skgraded.boosting knows, of the packages "
            f"{', '.join(most)} and {last}; got {self.estimator!r}. Set early_stopping=False and "
            "use what the estimator has of its own."
        )


class BoosterAdapter(Adapter):
    """What is known of the boosters of one library; its file lists such classes as `ADAPTERS`.

    Its ``fit_stopped(training, validation, progress, fit_params)`` fits a copy of the estimator on
    the training rows. It gives `progress` the scores of the validation rows at each round, and
    `progress` says when to stop. The copy predicts with the best number of rounds.
    """

    package: str  # that is imported
    model: str  # the name of the class in it that all its boosters are of
    library: str  # its name in words
    polars_since: tuple[int, ...] = ()  # its first version that reads polars frames
    by_position: tuple[str, ...] = ()
    # Parameters that name a kind of booster, and the kinds whose first rounds change in later ones.
    kind_parameters: tuple[str, ...] = ()
    changing: frozenset[str] = frozenset()
    # The names of the number of rounds, and what switches off a stopping of its own.
    names_of_rounds: frozenset[str] = frozenset({"n_estimators"})
    unstopped: dict[str, Any] = {}
    # Arguments of fit that the stopping itself needs, or does not go with; and other models.
    taken: frozenset[str] = frozenset()
    init_model_argument: str = ""

    def fit_rounds(self, rows, n_rounds, fit_params):
        """Fit a copy of the estimator for so many rounds, stopped by nothing."""
        model, labels = self.labelled(rows.grades)
        names = self.names_of_rounds & model.get_params().keys()
        model.set_params(**dict.fromkeys(names, n_rounds), **self.unstopped)
        return model.fit(rows.X, labels, **fit_params | self.fit_arguments(rows))

    @property
    def version(self):
        """The library's version, as numbers."""
        parts = sys.modules[self.package].__version__.split(".")
        return tuple(int(part) for part in parts[:3] if part.isdecimal())

    @cached_property
    def fit_parameters(self):
        """The parameters of fit, and of the library's own where that of a subclass hides them."""
        parameters = super().fit_parameters
        if _takes_any(parameters):
            cls: Any = next(
                c for c in type(self.estimator).__mro__
                if c.__module__.partition(".")[0] == self.package and hasattr(c, "fit")
            )
            parameters = dict(inspect.signature(cls.fit).parameters) | parameters
        return parameters

    def readable(self, X):
        """`X` in a form that the library reads: sparse matrices, but not SciPy's newer arrays."""
        if sparse.issparse(X):
            return sparse.csr_matrix(X)
        too_old = is_polars_frame(X) and self.version < self.polars_since
        return X.to_numpy() if too_old else X

    def check_stopping(self, fit_params):
        """Refuse a booster that cannot be stopped early, and what would stop it too."""
        parameters = self.estimator.get_params()
        kinds = {parameters.get(name) for name in self.kind_parameters}
        for kind in kinds & self.changing:
            raise ValueError(
                "early_stopping=True needs a model whose first rounds can be used alone, and those "
                f"of {kind!r} change in later ones. Choose another booster."
            )
        named = {name for name, value in fit_params.items() if value is not None}
        for name in sorted(named & self.taken):
            raise ValueError(
                f"QueryRanker(early_stopping=True) gives {self.library} its validation set and "
                f"stops it: leave out {name}. Give a validation set of your own by eval_X, eval_y "
                "and eval_qid."
            )
        if self.init_model_argument in named:
            raise ValueError(
                "early_stopping=True cannot go on from another model: leave out "
                f"{self.init_model_argument}."
            )
        callbacks = [*(parameters.get("callbacks") or ()), *(fit_params.get("callbacks") or ())]
        for callback in callbacks:
            if "earlystopping" in type(callback).__name__.lower():
                raise ValueError(
                    f"early_stopping=True stops by itself: leave {type(callback).__name__} out of "
                    "the callbacks, and say how by measure and n_iter_no_change."
                )
