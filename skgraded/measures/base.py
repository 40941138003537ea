"""Measure base classes, the measure registry, and computation of per-query values and means."""

from __future__ import annotations

import dataclasses
import inspect
import math
import numbers
import pickle
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial, wraps
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import (
    check_whole_number,
    choice_validator,
    number_validator,
    refuse_bad_grades,
    suggest_arguments,
)
from skgraded._input.libraries import refuse_data_set, refuse_library
from skgraded._input.messages import normalize_name, suggest_name
from skgraded._input.queries import QueryIds
from skgraded._kernels import sums
from skgraded._kernels.layout import divide_by_query, relative_exp2_gains
from skgraded._kernels.threads import run_chunks
from skgraded.judgments import Judgments, Layout, as_judgments, check_scores_of_rows, get_layout

# Parameters --------------------------------------------------------------------------------------

Function = Callable[[np.ndarray], ArrayLike]  # a user-defined gain or discount
TIES = {"average": sums.AVERAGE, "ordinal": sums.ORDINAL, "best": sums.BEST, "worst": sums.WORST}


def parameter(*, default: object, check: Callable[[Any], Any], kw_only: bool = True) -> Any:
    """Declare a measure parameter, which must be documented in the class docstring.

    `check` raises a ValueError for an invalid value, and returns a valid value in the form in which
    it is stored. `default` must have this form, and must be passed by keyword, so that editors can
    recognize it.
    """
    return dataclasses.field(default=default, kw_only=kw_only, metadata={"check": check})


check_threshold = number_validator("threshold", 0, optional=True)
check_gain = choice_validator("gain", ("exp2", "linear"), or_callable=True)
check_persistence = number_validator("persistence", 0, 1, below=True)


def call_function(
    function: Function, name: str, arguments: np.ndarray, above_0: bool = False
) -> np.ndarray:
    """Call a user's function, and check that it returns finite values ≥ 0 (> 0 if `above_0`)."""
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


def check_cutoff(k: object, has_mean: bool = False) -> int | str | None:
    """Validate a cut-off: None, an integer ≥ 1 or, if `has_mean` is true, "mean"."""
    if k is None or (has_mean and isinstance(k, str) and k == "mean"):
        return k
    return check_whole_number(k, "k", 1)


def check_undefined(undefined: object) -> float:
    """Return `undefined` as a float if it is 0.0, 1.0 or nan; otherwise raise a ValueError."""
    if isinstance(undefined, numbers.Real) and not isinstance(undefined, bool):
        if undefined in (0, 1):
            return float(undefined)
        if undefined != undefined:
            return math.nan  # always the same nan, so that tuples containing it compare equal
    raise ValueError(f"Argument 'undefined' must be 0.0, 1.0 or nan; got {undefined!r}.")


# Maps normalized parameter names from other libraries to our parameter names.
OTHER_NAMES = {"cutoff": "k", "rel": "threshold", "topk": "k"}


def _show(value: object) -> str:
    if callable(value):
        name = getattr(value, "__name__", type(value).__name__)
        return re.sub(r"[\s:]", "", name)
    return repr(value)


def format_name(cls: type[Measure], parameters: dict[str, Any]) -> str:
    """Return the name of a measure, including all parameters that differ from their defaults."""
    shown = ",".join(
        f"{name}={_show(value)}"
        for name, value in parameters.items()
        if name != "k" and _show(value) != _show(cls._fields[name].default)
    )
    k = parameters.get("k")
    return cls.__name__ + (f"({shown})" if shown else "") + ("" if k is None else f"@{k}")


M = TypeVar("M", bound="Measure")


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
def share_fields(cls: type[M]) -> type[M]:
    """Convert a base class to a frozen dataclass whose fields are inherited by subclasses."""
    if inspect.get_annotations(cls) or len(cls.__bases__) > 1:  # otherwise, it adds no fields
        cls = dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)(cls)
        cls.__init__ = _with_names(cls.__init__)  # type: ignore[method-assign]
    fields = {field.name: field for field in dataclasses.fields(cls)}
    undefined = fields.pop("undefined")
    first = {name: fields.pop(name) for name in ("k", "ties") if name in fields}
    cls._fields = first | fields | {"undefined": undefined}  # the order in names and messages
    return cls


def _with_names(initialize: Callable[..., None]) -> Callable[..., None]:
    """Wrap a dataclass's __init__ so that unknown parameters raise a helpful error."""

    @wraps(initialize)
    def __init__(self: Measure, *values: Any, **parameters: Any) -> None:
        for name in parameters:
            if name not in self._fields:
                raise TypeError(describe_unknown(type(self), name))
        initialize(self, *values, **parameters)

    return __init__


def describe_unknown(cls: type[Measure], name: str) -> str:
    """Return the error message for an unknown parameter of a measure."""
    near = OTHER_NAMES.get(normalize_name(name))
    hint = suggest_name(name if near is None else near, cls._fields)
    return (
        f"Measure {cls.__name__} has no parameter {name!r}; its parameters are "
        f"{', '.join(cls._fields)}.{hint}"
    )


# The measure -------------------------------------------------------------------------------------


class _Immutable:
    """Base class that makes attributes read-only in subclasses that are not frozen dataclasses."""

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to {name!r}")


@share_fields
class Measure(_Immutable):
    """Base class for all measures: immutable objects that can be called as score functions.

    The decorator `registered` adds a subclass to the registry; the fields of the subclass are the
    measure's parameters. `_plan` returns the plan for the kernel's sum, or None if the measure
    implements `_values`. `_undefined` returns a boolean mask of the undefined queries; by default,
    every query is defined.
    """

    undefined: float = parameter(default=0.0, check=check_undefined)

    _fields: ClassVar[dict[str, dataclasses.Field[Any]]]  # the parameters, by name
    _ends_at_1: ClassVar[bool] = True  # whether 1 is the largest value
    _accepts_unjudged: ClassVar[bool] = False  # whether grades may be NaN
    _is_of_order: ClassVar[bool] = False  # whether only `threshold` and the order of grades matter
    _values: ClassVar[Callable[..., np.ndarray]]  # defined by measures without a plan

    def __post_init__(self) -> None:
        for name, field in self._fields.items():
            object.__setattr__(self, name, field.metadata["check"](getattr(self, name)))

    @suggest_arguments
    def __call__(
        self,
        y_true: ArrayLike | Judgments,
        y_score: ArrayLike,
        *other: Any,
        qid: QueryIds | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Compute the mean of the measure over the queries.

        Parameters
        ----------
        y_true : array-like of shape (n,), or Judgments
            Grades, as for `Judgments`.
        y_score : array-like of shape (n,)
            Scores of the system. Higher scores rank first; -inf means not retrieved.
        qid, group, sample_weight
            The queries and the weights of the rows, as for `Judgments`; a single query of more than
            1,000 rows causes a warning unless it is passed as `group`.

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
                f"Measure {self} accepts only y_true and y_score by position: pass qid, group and "
                "sample_weight by name. A measure is not a scorer: use scoring="
                f"skgraded.make_ranking_scorer({self.name!r})."
            )
        if isinstance(y_score, np.ndarray) and y_score.dtype.char == "f":  # as in XGBoost
            refuse_library(self)
        if not hasattr(y_score, "__len__"):
            refuse_data_set(y_score, "y_score")  # before y_true is read as grades
        judgments = as_judgments(y_true, qid, group, sample_weight)
        return sums.mean_of_defined(self.per_query(judgments, y_score), judgments.weights)

    @suggest_arguments
    def per_query(
        self,
        y_true: ArrayLike | Judgments,
        y_score: ArrayLike,
        *,
        qid: QueryIds | None = None,
        group: ArrayLike | None = None,
    ) -> np.ndarray:
        """Compute per-query values, with queries in order of first appearance; see `__call__`.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        judgments = as_judgments(y_true, qid, group)
        layout = get_layout(judgments)
        prepared = prepare(self, layout)  # refuses grades before scores
        return score_prepared([prepared], layout, check_scores_of_rows(judgments, y_score))[0]

    def n_undefined(
        self,
        y_true: ArrayLike | Judgments,
        *,
        qid: QueryIds | None = None,
        group: ArrayLike | None = None,
    ) -> int:
        """Count the undefined queries; see `__call__` for the parameters."""
        return int(find_undefined(self, as_judgments(y_true, qid, group)).sum())

    def _plan(self, layout: Layout) -> sums.Plan | None:
        return None

    def _undefined(self, layout: Layout) -> np.ndarray:
        return np.zeros(layout.n_queries, dtype=bool)

    @property
    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fields}

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        """Key for comparison and hashing; callables are compared by identity."""
        values = (getattr(self, name) for name in self._fields)
        return (type(self), *(id(value) if callable(value) else value for value in values))

    @cached_property
    def name(self) -> str:
        """The measure as a string that `measure` can parse."""
        return format_name(type(self), self._parameters)

    __name__ = property(lambda self: self.name)

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Measure) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        refuse_library(self)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        for name, value in self._parameters.items():
            if callable(value) and "<" in getattr(value, "__qualname__", ""):
                raise pickle.PicklingError(
                    f"Measure {self} cannot be pickled: its {name} is a lambda or a nested "
                    "function. Define the function with def at the top level of a module."
                )
        return partial(type(self), **self._parameters), ()


@share_fields
class Tied(Measure):
    """Base class for measures with a tie rule."""

    ties: str = parameter(default="average", check=choice_validator("ties", TIES))


@share_fields
class Ranked(Tied):
    """Base class for measures with a cut-off and a tie rule."""

    k: int | None = parameter(default=None, check=check_cutoff, kw_only=False)

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
        """Return the plan for a sum over the first k ranks; `values` has one value per level."""
        depth = self._depth(layout)
        return sums.Plan(kind, values, TIES[self.ties], depth, discount, **settings)


# The registry ------------------------------------------------------------------------------------

MEASURES: dict[str, type[Measure]] = {}  # keyed by name, in order of definition
# Maps each alias to its class and to the parameters set by the alias; P_{k} matches P_1, P_2, ….
ALIASES: dict[str, tuple[type[Measure], dict[str, Any]]] = {}
# Cache of parsed measures, keyed by (text, names). Registering a measure clears the cache.
PARSED: dict[tuple[str, str | None], Measure] = {}


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
def registered(
    *, aliases: Iterable[str] | Mapping[str, dict[str, Any]] = ()
) -> Callable[[type[M]], type[M]]:
    """Register a measure class as a frozen dataclass, replacing any class of the same name.

    `aliases` contains alternative names for the measure; if it is a mapping, it maps each alias to
    the parameters that the alias sets. An alias may end with a parameter in braces: P_{k} matches
    P_10 and sets k to 10.
    """
    alias_parameters = aliases if isinstance(aliases, Mapping) else dict.fromkeys(aliases, {})

    def register(cls: type[M]) -> type[M]:
        cls = share_fields(cls)
        PARSED.clear()
        MEASURES[cls.__name__] = cls
        ALIASES.update({alias: (cls, settings) for alias, settings in alias_parameters.items()})
        return cls

    return register


def list_parameters(measure: Measure | type[Measure]) -> dict[str, dataclasses.Field[Any]]:
    """Return a measure's parameters as dataclass fields, in the order used in measure names."""
    return measure._fields


def accepts_unjudged(measure: Measure | type[Measure]) -> bool:
    """Return whether the grades may be NaN."""
    return measure._accepts_unjudged


def accepts_negative(measure: Measure) -> bool:
    """Return whether the grades may be negative, which requires that only their order matters."""
    return measure._is_of_order and getattr(measure, "threshold", 0.0) is not None


# From scores to means ----------------------------------------------------------------------------


class Prepared(NamedTuple):
    """Results computed once per measure and Judgments object, and reused for all scores."""

    measure: Measure
    plan: sums.Plan | None  # plan for the kernel; None if the measure implements `_values`
    undefined: np.ndarray  # (n_queries,): read-only mask of the undefined queries


def prepare(measure: Measure, layout: Layout) -> Prepared:
    """Return the plan and the undefined queries; raise an error for invalid grades."""
    return layout.remember(measure._key, lambda: _check_and_plan(measure, layout))


def _check_and_plan(measure: Measure, layout: Layout) -> Prepared:
    if layout.has_negative and not accepts_negative(measure):
        refuse_bad_grades(layout.grades, "y_true", allow_nan=True)
    if layout.n_unknown and not measure._accepts_unjudged:
        accepting = sorted(name for name, cls in MEASURES.items() if cls._accepts_unjudged)
        raise ValueError(
            f"y_true must not contain NaN; got nan for row {np.argmax(np.isnan(layout.grades))}. "
            f"{type(measure).__name__} requires a grade for every document. To evaluate anyway, "
            "pass unjudged_documents='irrelevant' (grade 0) or 'drop' (remove the rows), or "
            f"choose measures that accept NaN: {', '.join(accepting)}."
        )
    plan, undefined = measure._plan(layout), measure._undefined(layout)
    undefined.flags.writeable = False
    return Prepared(measure, plan, undefined)


def find_undefined(measure: Measure, judgments: Judgments) -> np.ndarray:
    """Return a read-only boolean mask of the undefined queries, of shape (n_queries,)."""
    return prepare(measure, get_layout(judgments)).undefined


def score_queries(
    measures: Sequence[Measure], judgments: Judgments, scores: np.ndarray
) -> list[np.ndarray]:
    """Compute per-query values of several measures, sorting the validated scores only once."""
    layout = get_layout(judgments)
    return score_prepared([prepare(measure, layout) for measure in measures], layout, scores)


def score_prepared(
    prepared: Sequence[Prepared], layout: Layout, scores: np.ndarray
) -> list[np.ndarray]:
    """Compute the per-query values, as in `score_queries`, from the results of `prepare`."""
    plans = [plan for _, plan, _ in prepared if plan is not None]
    all_values, rows = [], iter(sum_plans(plans, layout, scores))
    for measure, plan, undefined in prepared:
        values = measure._values(layout, scores) if plan is None else next(rows)
        all_values.append(values)
        if plan is not None and plan.scale is not None:
            values *= plan.scale
            values += plan.shift
        is_undefined = undefined.view(np.uint8)
        sums.settle(values, layout.sizes, measure._ends_at_1, is_undefined, measure.undefined)
    return all_values


def sum_plans(plans: list[sums.Plan], layout: Layout, scores: np.ndarray) -> np.ndarray:
    """Compute all sums, sorting the scores only once."""
    totals = np.empty((len(plans), layout.n_queries))
    run_chunks(
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
    return totals


def mean_over_queries(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the weighted mean, ignoring nan; return nan if no value has a positive weight."""
    return sums.mean_of_defined(values, weights)


def compute_means(measures: list[Measure], judgments: Judgments, scores: np.ndarray) -> list[float]:
    """Compute the weighted mean of each measure over the queries, sorting the scores only once."""
    return [
        sums.mean_of_defined(values, judgments.weights)
        for values in score_queries(measures, judgments, scores)
    ]


LN2 = np.log(2.0)


@share_fields
class Relevance(Measure):
    """Base class for measures that are undefined for queries without relevant documents."""

    threshold: float | None = parameter(default=None, check=check_threshold)

    def _relevant(self, layout: Layout) -> np.ndarray:
        """Return a mask of the levels with a grade ≥ `threshold` (> 0 if `threshold` is None)."""
        if self.threshold is None:
            return layout.levels > 0
        return layout.levels >= layout.round_grade(self.threshold)

    def _weigh_relevant(self, layout: Layout, depth: int) -> np.ndarray:
        """Return the weight of each level: 1 / min(R_t, depth) for relevant levels, else 0."""
        relevant = self._relevant(layout)
        n = np.minimum(count_relevant(layout, relevant), depth)
        return relevant / np.repeat(np.maximum(n, 1), layout.n_levels)

    def _undefined(self, layout: Layout) -> np.ndarray:
        return count_relevant(layout, self._relevant(layout)) == 0


@share_fields
class Thresholded(Relevance, Ranked):
    """Base class for measures with a relevance threshold, a cut-off and a tie rule."""


class Graded(Ranked):
    """Base class for graded measures, which are undefined for queries without a grade > 0."""

    def _undefined(self, layout: Layout) -> np.ndarray:
        return layout.top_grades <= 0


@share_fields
class Scaled(Measure):
    """Base class for measures that depend on the highest grade of the scale."""

    max_grade: float | None = parameter(
        default=None, check=number_validator("max_grade", 0, above=True, optional=True)
    )

    def _find_tops(self, layout: Layout) -> np.ndarray:
        """For each query, return `max_grade` or, if it is None, the query's highest grade."""
        if self.max_grade is None:
            return layout.top_grades
        scale = layout.round_grade(self.max_grade)

        def is_outside(grades: np.ndarray) -> np.ndarray:
            return (grades > scale) | ((grades > 0) & (grades / scale == 0))  # 0: underflow

        if is_outside(layout.top_grades).any():
            row = int(np.argmax(is_outside(layout.grades)))
            raise ValueError(
                f"max_grade is {self.max_grade}, but y_true contains grade {layout.grades[row]:g} in row "
                f"{row}. Set max_grade to the highest grade of the data set's scale."
            )
        return np.full(layout.n_queries, scale, dtype=float)

    def _normalize(self, layout: Layout) -> np.ndarray:
        """Divide the grade of each level by the highest grade of the scale."""
        return divide_by_query(layout.levels, self._find_tops(layout), layout.level_starts)


class Gained(Graded):
    """Base class for measures with a `gain` parameter, whose default depends on the measure."""

    gain: str | Function

    def _grades_to_gain(self, layout: Layout) -> np.ndarray:
        """Return the grade of each level, to be passed to the gain function."""
        return layout.levels

    def _compute_gains(self, layout: Layout) -> np.ndarray:
        """Divide the gain of each level by the top gain of its query, unless the top gain is 0."""
        if self.gain == "exp2":
            return relative_exp2_gains(self._grades_to_gain(layout), layout.level_starts)
        gains = (
            self._call_gain(self.gain, layout)
            if callable(self.gain)
            else self._grades_to_gain(layout)
        )
        return divide_by_query(gains, take_tops(gains, layout), layout.level_starts)

    def _call_gain(self, gain: Function, layout: Layout) -> np.ndarray:
        """Compute the gains of all levels with a single call to the user's function."""

        def call() -> np.ndarray:
            grades = self._grades_to_gain(layout)
            gains = call_function(gain, "gain", grades)
            falls = np.diff(gains) < 0
            falls[layout.level_starts[1:-1] - 1] = False  # the next query may have lower gains
            if falls.any():
                i = int(np.argmax(falls))
                raise ValueError(
                    f"gain must not decrease as grades increase: the gain of grade {grades[i]:g} "
                    f"is {gains[i]:g}, but the gain of grade {grades[i + 1]:g} is {gains[i + 1]:g}."
                )
            return gains

        return layout.remember(("gain", self), call)

    def _refuse_gain_of_0(self, layout: Layout) -> None:
        """Raise a ValueError if a callable `gain` returns a positive value for grade 0."""
        if not callable(self.gain):
            return
        gains = self._call_gain(self.gain, layout)[layout.level_starts[:-1]]
        if gains.any():
            raise ValueError(
                f"For {type(self).__name__}, gain must return 0 for grade 0, because grade 0 means "
                f"irrelevant; got {gains[gains > 0][:1]!r}."
            )

    def _undefined(self, layout: Layout) -> np.ndarray:
        tops = layout.top_grades
        if callable(self.gain):
            tops = np.minimum(tops, take_tops(self._call_gain(self.gain, layout), layout))
        return tops <= 0


def count_relevant(layout: Layout, relevant: np.ndarray) -> np.ndarray:
    """Return R_t, the number of relevant documents for each query, as an array."""
    return layout.sum_levels(layout.counts * relevant)


def take_tops(per_level: np.ndarray, layout: Layout) -> np.ndarray:
    """Return the element of `per_level` for the highest level of each query, as an array."""
    return per_level[layout.level_starts[1:] - 1]
