"""Base classes and registry of measures, parameter checks, and computation of mean values."""

from __future__ import annotations

import dataclasses
import math
import numbers
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input import columns
from skgraded._input.docstrings import with_parameters
from skgraded._kernels import sums
from skgraded._kernels.threads import run_chunks
from skgraded.judgments import Judgments, Layout, check_judgments, layout_of

Function = Callable[[np.ndarray], ArrayLike]  # a user-defined gain or discount
TIES = {"average": sums.AVERAGE, "ordinal": sums.ORDINAL, "best": sums.BEST, "worst": sums.WORST}


# Parameters --------------------------------------------------------------------------------------


def _check_k(value: Any) -> Any:
    if value is None or (isinstance(value, str) and value == "mean"):
        return value
    return columns.whole_number(value, "k", 1)


def check_undefined(value: Any) -> float:
    """Return `undefined` as a float if it is 0.0, 1.0 or nan; otherwise raise a ValueError."""
    if columns.is_finite_number(value) and value in (0, 1):
        return float(value)
    if isinstance(value, numbers.Real) and value != value:
        return math.nan  # always the same nan object, so that tuples that contain it compare equal
    raise ValueError(f"Argument 'undefined' must be 0.0, 1.0 or nan; got {value!r}.")


def call_checked(
    function: Any, name: str, arguments: np.ndarray, above_0: bool = False
) -> np.ndarray:
    """Call a user's function; check that it returns finite values ≥ 0 (> 0 if `above_0`)."""
    result = function(arguments.copy())
    try:
        values = np.array(result, dtype=float, order="C")  # the function may reuse its array
        good = np.shape(result) == arguments.shape and np.isfinite(values).all()
    except (TypeError, ValueError):
        good = False
    if not good or values.min() < 0 or (above_0 and values.min() == 0):
        bound = "> 0" if above_0 else "≥ 0"
        raise ValueError(
            f"Function {name} must return a finite number {bound} for each element of its "
            f"argument; for {arguments!r}, it returned {result!r}."
        )
    return values


_CHECKS = {
    "k": _check_k,
    "ties": columns.choice_validator("ties", TIES),
    "undefined": check_undefined,
    "threshold": columns.number_validator("threshold", 0, optional=True),
    "max_grade": columns.number_validator("max_grade", 0, above=True, optional=True),
    "divisor": columns.choice_validator("divisor", ("min", "relevant")),
    "beta": columns.number_validator("beta", 0),
    "persistence": columns.number_validator("persistence", 0, 1, below=True),
    "gain": columns.choice_validator("gain", ("exp2", "linear"), or_callable=True),
    "discount": columns.choice_validator("discount", ("log2", "letor"), or_callable=True),
}


def _text(value: Any) -> str:
    if callable(value):
        name = getattr(value, "__name__", type(value).__name__)
        return re.sub(r"[\s:]", "", name)
    return repr(value)


def name_of(cls: type[Measure], parameters: dict[str, Any]) -> str:
    """Return the name of a measure, including all parameters that differ from their defaults."""
    shown = ",".join(
        f"{name}={_text(value)}"
        for name, value in parameters.items()
        if name != "k" and _text(value) != _text(cls._fields[name].default)
    )
    k = parameters.get("k")
    return cls.__name__ + (f"({shown})" if shown else "") + ("" if k is None else f"@{k}")


M = TypeVar("M", bound="Measure")


@dataclass_transform(kw_only_default=True, field_specifiers=(dataclasses.field,))
def shared_fields(cls: type[M]) -> type[M]:
    """Convert a base class to a frozen dataclass whose fields are inherited by subclasses."""
    cls = dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)(cls)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    undefined = fields.pop("undefined")
    first = {name: fields.pop(name) for name in ("k", "ties") if name in fields}
    cls._fields = first | fields | {"undefined": undefined}  # in the order shown to users
    return cls


# The measure -------------------------------------------------------------------------------------


@shared_fields
class Measure:
    """Base class for all measures: immutable objects that can be called as score functions.

    `registered` adds a subclass to the registry; its fields are the measure's parameters. `_plan`
    returns the plan of the sum that the kernel computes, or None if the measure implements
    `_values`. `_undefined` returns a boolean mask of the undefined queries, by default none.
    """

    undefined: float = 0.0

    def __post_init__(self) -> None:
        checks = _CHECKS | self._own_checks
        for name, value in self._parameters.items():
            object.__setattr__(self, name, checks[name](value))

    _fields: ClassVar[dict[str, dataclasses.Field[Any]]]  # the parameters, by name
    _own_checks: ClassVar[dict[str, Callable[[Any], Any]]] = {}  # for the measure's own parameters
    _ends_at_1: ClassVar[bool] = True  # whether 1 is the largest value
    _accepts_unjudged: ClassVar[bool] = False  # whether grades may be NaN

    def __call__(
        self,
        y_true: ArrayLike | Judgments,
        y_score: ArrayLike,
        *other: Any,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Compute the mean of the measure over the queries.

        Parameters
        ----------
        y_true : array-like of shape (n,), or Judgments
            Grades ≥ 0; 0 = irrelevant.
        y_score : array-like of shape (n,)
            Scores of the system. Higher scores rank first; -inf means not retrieved.
        qid, group, sample_weight
            The queries and the weights of the rows, as for `Judgments`. Without `qid` and `group`,
            all rows form one query; more than 1,000 rows then issue a warning.

        Returns
        -------
        float
            The mean; nan if ``undefined=nan`` and no query with positive weight has a value.

        Raises
        ------
        ValueError, TypeError
            If the input is invalid. The message names the argument, the row and the value.
        """
        if other:  # scikit-learn calls a scorer as scorer(estimator, X, y)
            raise TypeError(
                f"{self} accepts only y_true and y_score by position: pass qid, group and "
                "sample_weight by name. A measure is not a scorer: use scoring="
                f"skgraded.make_ranking_scorer({self.name!r})."
            )
        if not hasattr(y_score, "__len__"):
            columns.refuse_data_set(y_score, "y_score")  # before y_true is read as grades
        judgments = check_judgments(
            y_true, y_score, qid=qid, group=group, sample_weight=sample_weight
        )
        return mean_scores([self], judgments, y_score)[0]

    def per_query(
        self,
        y_true: ArrayLike | Judgments,
        y_score: ArrayLike,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
    ) -> np.ndarray:
        """Compute per-query values, with queries in order of first appearance; see `__call__`.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        judgments = check_judgments(y_true, y_score, qid=qid, group=group)
        return score_queries([self], judgments, y_score)[0]

    def n_undefined(
        self, y_true: ArrayLike | Judgments, *, qid: Any = None, group: ArrayLike | None = None
    ) -> int:
        """Count the undefined queries; see `__call__` for the parameters."""
        judgments = check_judgments(y_true, qid=qid, group=group)
        return int(undefined_of(self, judgments).sum())

    def _plan(self, layout: Layout) -> sums.Plan | None:
        return None

    def _undefined(self, layout: Layout) -> np.ndarray:
        return np.zeros(layout.n_queries, dtype=bool)

    def _values(self, layout: Layout, scores: np.ndarray) -> np.ndarray:
        """Compute per-query values; implemented only by measures without a plan."""
        raise NotImplementedError(f"{type(self).__name__} must define _plan or _values.")

    def _check(self, layout: Layout) -> Layout:
        """Return the layout; raise a ValueError if the measure does not support a grade."""
        if layout.n_unknown and not self._accepts_unjudged:
            accepting = sorted(name for name, cls in MEASURES.items() if cls._accepts_unjudged)
            raise ValueError(
                f"y_true must not contain NaN; got nan for row {layout.first_unknown}. "
                f"{type(self).__name__} requires a grade for every document. To evaluate anyway, "
                "pass unjudged_documents='irrelevant' (grade 0) or 'drop' (remove the rows), or "
                f"choose measures that accept NaN: {', '.join(accepting)}."
            )
        return layout

    @property
    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fields}

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        """Key for comparison and hashing; callables are compared by identity."""
        values = self._parameters.values()
        return (type(self), *(id(value) if callable(value) else value for value in values))

    @cached_property
    def _name(self) -> str:
        return name_of(type(self), self._parameters)

    @property
    def name(self) -> str:
        """The measure as a string that `measure` can parse."""
        return self._name

    __name__ = name

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Measure) else NotImplemented

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self

    __copy__ = __deepcopy__

    def __reduce__(self) -> tuple[Any, ...]:
        for name, value in self._parameters.items():
            if callable(value) and "<" in getattr(value, "__qualname__", ""):
                raise pickle.PicklingError(
                    f"Measure {self} cannot be pickled: its {name} is a lambda or a nested "
                    "function. Define the function with def at the top level of a module."
                )
        return partial(type(self), **self._parameters), ()


@shared_fields
class Ranked(Measure):
    """Base class for measures with a cut-off and a tie rule."""

    k: int | None = dataclasses.field(default=None, kw_only=False)
    ties: str = "average"

    _has_mean = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k == "mean" and not self._has_mean:
            raise ValueError(
                f"k='mean' is supported only by NDCG and NDCNG, not by {type(self).__name__}."
            )

    def _depth(self, layout: Layout) -> int:
        """Return the number of ranks to evaluate: k, but at most the size of the largest query."""
        return min(self.k, layout.max_size) if isinstance(self.k, int) else layout.max_size

    def _sum(
        self,
        kind: int,
        values: np.ndarray,
        layout: Layout,
        discount: np.ndarray | None = None,
        **settings: Any,
    ) -> sums.Plan:
        """Plan a sum over the ranks up to the cut-off; `values` contains one value per level."""
        depth = self._depth(layout)
        return sums.Plan(kind, values, TIES[self.ties], depth, discount, **settings)


# The registry ------------------------------------------------------------------------------------

MEASURES: dict[str, type[Measure]] = {}  # keyed by name, in order of definition
# Maps each alias to its class and to the parameters set by the alias; P_{k} matches P_1, P_2, ….
ALIASES: dict[str, tuple[type[Measure], dict[str, Any]]] = {}
# The same for the names of measures and the aliases without braces, keyed by `plain_name`.
KNOWN_NAMES: dict[str, tuple[type[Measure], dict[str, Any]]] = {}

# Default parameter descriptions, which `registered` adds to class docstrings that lack them; it
# replaces <name> by the default of the parameter.
PARAMETERS = """
k : int, optional
    The cut-off. None: all ranks, down to the last retrieved document.
ties : {"average", "ordinal", "best", "worst"}, default="average"
    How tied documents are ordered. "average": the exact expectation over all their orders;
    "ordinal": row order; "best", "worst": by descending or ascending grade.
threshold : float, optional
    The lowest relevant grade, ≥ 0. None: every grade > 0 is relevant.
gain : {"linear", "exp2"} or callable, default=<gain>
    "linear": the grade r itself; "exp2": 2^r - 1. A callable receives an array of grades (for
    NDCNG, normalized grades); its values must not decrease as grades increase, and must be 0 for
    grade 0 in GAP and QMeasure.
discount : {"log2", "letor"} or callable, default="log2"
    "log2": 1 / log2(i + 1); "letor": 1 for i ≤ 2, then 1 / log2(i) (Järvelin & Kekäläinen 2002).
    A callable receives an array of ranks, which start at 1; its values must not increase.
divisor : {"min", "relevant"}, default="min"
    The divisor with a cut-off k, where R is the number of relevant documents. "min": min(R, k);
    "relevant": R, as in trec_eval's ``map_cut``, so an ideal list of more than k documents scores
    less than 1.
max_grade : float, optional
    The highest grade of the scale: a number for the entire data set, or None for the highest
    grade of each query.
persistence : float, default=<persistence>
    Probability φ of continuing to the next rank, with 0 ≤ φ < 1. Moffat and Zobel use 0.5 for
    impatient and 0.95 for patient users.
undefined : {0.0, 1.0, nan}, default=0.0
    The value used for undefined queries; nan excludes them from the mean.
"""


@dataclass_transform(kw_only_default=True, field_specifiers=(dataclasses.field,))
def registered(
    *, aliases: Iterable[str] | Mapping[str, dict[str, Any]] = ()
) -> Callable[[type[M]], type[M]]:
    """Register a measure class; raise a ValueError if its name is already used in another file.

    The class becomes a frozen dataclass. ``skgraded`` exports it if the ``__all__`` of its file
    contains it. If its docstring omits parameters, their descriptions are added. `aliases` are
    alternative names in measure strings; a mapping also contains the parameters that each alias
    sets. An alias may end with a parameter in braces: P_{k} matches P_10 and sets k to 10.
    """
    alias_parameters = aliases if isinstance(aliases, Mapping) else dict.fromkeys(aliases, {})

    def register(cls: type[M]) -> type[M]:
        has_docstring = cls.__doc__ is not None  # False with python -OO; dataclass adds a docstring
        cls = shared_fields(cls)
        if has_docstring:
            shared = PARAMETERS
            for name, field in cls._fields.items():
                shared = shared.replace(f"<{name}>", repr(field.default).replace("'", '"'))
            cls.__doc__ = with_parameters(cls.__doc__ or "", cls._fields, shared)
        known = MEASURES.get(cls.__name__, cls)
        if known.__module__ != cls.__module__:
            modules = (known.__module__, cls.__module__)
            if len({getattr(sys.modules.get(name), "__file__", name) for name in modules}) == 1:
                return cls  # pytest imports a file under a second name
            raise ValueError(
                f"Measure {cls.__name__} is already defined in {known.__module__}: choose another "
                "name."
            )
        MEASURES[cls.__name__] = cls
        KNOWN_NAMES[plain_name(cls.__name__)] = cls, {}
        for alias, parameters in alias_parameters.items():
            ALIASES[alias] = cls, parameters
            if "{" not in alias:
                KNOWN_NAMES[plain_name(alias)] = cls, parameters
        return cls

    return register


def plain_name(name: str) -> str:
    """Return a name as measure strings are compared, without case and underscores."""
    return name.casefold().replace("_", "")  # casefold unifies the two Unicode characters for μ


def parameters_of(measure: Measure | type[Measure]) -> dict[str, dataclasses.Field[Any]]:
    """Return the parameters of a measure as dataclass fields, in the order shown to users."""
    return measure._fields


def accepts_unjudged(measure: Measure | type[Measure]) -> bool:
    """Return whether the grades may be NaN."""
    return measure._accepts_unjudged


def other_names(cls: type[Measure]) -> dict[str, str]:
    """Return the aliases of a measure, such as P_10, and the parameters that each alias sets."""
    return {
        alias.format(k=10, recall="0.10"): ", ".join(
            f"{name}={value!r}" for name, value in parameters.items()
        )
        for alias, (measure_class, parameters) in ALIASES.items()
        if measure_class is cls
    }


# From scores to means ----------------------------------------------------------------------------


def plan_of(measure: Measure, judgments: Judgments) -> sums.Plan | None:
    """Return the plan of the sum that the kernel computes, or None if there is no such plan."""
    layout = layout_of(judgments)
    return layout.remember(("_plan", measure), lambda: measure._plan(measure._check(layout)))


def undefined_of(measure: Measure, judgments: Judgments) -> np.ndarray:
    """Return a read-only boolean mask of the undefined queries, of shape (n_queries,)."""
    layout = layout_of(judgments)

    def compute() -> np.ndarray:
        undefined = measure._undefined(measure._check(layout))
        undefined.flags.writeable = False
        return undefined

    return layout.remember(("_undefined", measure), compute)


def score_queries(
    measures: Sequence[Measure], judgments: Judgments, y_score: ArrayLike
) -> list[np.ndarray]:
    """Compute per-query values of several measures, sorting the scores only once."""
    layout = layout_of(judgments)
    plans = [plan_of(measure, judgments) for measure in measures]
    scores = columns.score_column(y_score, layout.n_rows)
    totals = iter(sum_plans([plan for plan in plans if plan is not None], layout, scores))
    all_values = []
    for measure, plan in zip(measures, plans, strict=True):
        values = measure._values(layout, scores) if plan is None else next(totals)
        all_values.append(values)
        if plan is not None and plan.scale is not None:
            values *= plan.scale
            values += plan.shift
        undefined = undefined_of(measure, judgments).view(np.uint8)
        sums.settle(values, layout.sizes, measure._ends_at_1, undefined, measure.undefined)
    return all_values


def sum_plans(plans: list[Any], layout: Layout, scores: np.ndarray) -> np.ndarray:
    """Compute all sums, sorting the scores only once; raise a ValueError if a score is NaN."""
    totals = np.empty((len(plans), layout.n_queries))
    has_nan = run_chunks(
        lambda first, last: sums.sum_queries(
            scores,
            layout.order,
            layout.starts,
            layout.codes,
            layout.level_starts,
            plans,
            totals,
            first,
            last,
        ),
        layout.starts,
    )
    if any(has_nan):
        columns.refuse_nan_scores(scores)
    return totals


def mean_over_queries(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the weighted mean without nan values; nan if no value has a positive weight."""
    return sums.mean_of_defined(values, weights)


def mean_scores(measures: list[Measure], judgments: Judgments, y_score: ArrayLike) -> list[float]:
    """Compute the weighted mean of each measure over the queries, sorting the scores only once."""
    return [
        mean_over_queries(values, judgments.weights)
        for values in score_queries(measures, judgments, y_score)
    ]
