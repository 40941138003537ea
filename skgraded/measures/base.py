"""What all measures share: their parameters, their texts, and the way from scores to a mean."""

import ast
import copyreg
import dataclasses
import difflib
import math
import numbers
import pickle
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.columns import column, number, one_of, refuse_nan_scores, whole_number
from skgraded._kernels import sums as _kernels
from skgraded._kernels.threads import run_chunks
from skgraded.judgments import Judgments, check_judgments

TIES = {
    "average": _kernels.AVERAGE,
    "ordinal": _kernels.ORDINAL,
    "best": _kernels.BEST,
    "worst": _kernels.WORST,
}


# Parameters --------------------------------------------------------------------------------------

def _check_k(value):
    if value is None or (isinstance(value, str) and value == "mean"):
        return value
    return whole_number(value, "k", 1)


def check_undefined(value):
    """Return `undefined` as a float if it is 0.0, 1.0 or nan, else raise a ValueError."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if is_number and math.isnan(value):
        return math.nan  # always the same object, so that it equals itself in a tuple
    if is_number and value in (0.0, 1.0):
        return float(value)
    raise ValueError(f"undefined must be 0.0, 1.0 or nan; got {value!r}.")


def called(function, name, arguments, above_0=False):
    """What a user's function gives for an array: finite numbers ≥ 0, or > 0, as many."""
    given = function(arguments.copy())
    try:
        values = np.ascontiguousarray(given, dtype=float)
        good = np.shape(given) == arguments.shape and np.isfinite(values).all()
    except (TypeError, ValueError):
        good = False
    if not good or values.min() < 0 or (above_0 and values.min() == 0):
        raise ValueError(
            f"{name} must give a finite number {'>' if above_0 else '≥'} 0 for each element of "
            f"its argument; for {arguments!r} it gave {given!r}."
        )
    return values


GAINS = ("exp2", "linear")
DISCOUNTS = ("log2", "letor")
_CHECKS = {
    "k": _check_k,
    "ties": one_of("ties", TIES),
    "undefined": check_undefined,
    "threshold": number("threshold", 0, optional=True),
    "max_grade": number("max_grade", 0, above=True, optional=True),
    "gain": one_of("gain", GAINS, or_callable=True),
    "discount": one_of("discount", DISCOUNTS, or_callable=True),
}


def _text(value):
    if callable(value):
        name = getattr(value, "__name__", type(value).__name__)
        return re.sub(r"[\s:]", "", name)
    return repr(value)


def _fields(measure):
    return {field.name: field for field in dataclasses.fields(measure)}


# The measure -------------------------------------------------------------------------------------

class Measure:
    """A measure of ranked lists: an immutable value that is also a score function.

    Subclasses are frozen dataclasses. Their fields are the parameters; `_plan` says what the
    kernel has to sum, or None if the measure computes its own `values`, and `_undefined` which
    queries have no value.
    """

    undefined: float

    def __post_init__(self):
        checks = _CHECKS | self._own_checks
        for name, value in self._parameters.items():
            object.__setattr__(self, name, checks[name](value))
        if getattr(self, "k", None) == "mean" and not self._has_mean:
            raise ValueError(f"k='mean' is for NDCG and NDCNG; {type(self).__name__} has none.")

    _has_mean = False
    _own_checks: dict = {}  # of parameters that mean something else than in other measures

    def __call__(
        self,
        y_true: ArrayLike | Judgments,
        y_score: ArrayLike,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Mean of the measure over the queries.

        Parameters
        ----------
        y_true : array-like of shape (n,), or Judgments
            Grades ≥ 0, 0 = irrelevant.
        y_score : array-like of shape (n,)
            The system's scores, the highest first; -inf: not retrieved.
        qid : array-like of shape (n,), optional
            The query of each row, in any row order. Without `qid` and `group` all rows are one
            query.
        group : array-like of shape (n_queries,), optional
            Sizes of consecutive queries, in place of `qid`.
        sample_weight : array-like of shape (n,), optional
            A query's weight is the mean over its rows.

        Returns
        -------
        float
            nan if ``undefined=nan`` and no query (with weight) has a value.

        Raises
        ------
        ValueError, TypeError
            On bad input, before any work: which argument, which row, which value.
        """
        judgments = check_judgments(y_true, qid=qid, group=group, sample_weight=sample_weight)
        (values,) = score_queries([self], judgments, y_score)
        return mean_over_queries(values, judgments.weights)

    def per_query(
        self,
        y_true: ArrayLike | Judgments,
        y_score: ArrayLike,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
    ) -> np.ndarray:
        """Value of each query, in order of first appearance.

        Parameters
        ----------
        y_true, y_score, qid, group
            As for a call.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        judgments = check_judgments(y_true, qid=qid, group=group)
        return score_queries([self], judgments, y_score)[0]

    def n_undefined(
        self, y_true: ArrayLike | Judgments, *, qid: Any = None, group: ArrayLike | None = None
    ) -> int:
        """How many queries have no value of their own and get `undefined` instead.

        Parameters
        ----------
        y_true, qid, group
            As for a call.

        Returns
        -------
        int
        """
        judgments = check_judgments(y_true, qid=qid, group=group)
        self._refuse_unknown(judgments)
        return int(self.undefined_queries(judgments).sum())

    def undefined_queries(self, judgments: Judgments) -> np.ndarray:
        """Which queries of the Judgments have no value of their own, (n_queries,) of bool."""
        undefined = judgments.remember(
            ("undefined", *self._key), lambda: self._undefined(judgments)
        )
        undefined.flags.writeable = False  # it is kept
        return undefined

    def plan(self, judgments):
        """Lay out what the kernel has to sum for this measure over these Judgments, once."""
        self._refuse_unknown(judgments)
        return judgments.remember(("plan", *self._key), lambda: self._plan(judgments))

    def _plan(self, judgments):
        return None

    def _undefined(self, judgments):
        raise NotImplementedError

    def values(self, judgments, scores) -> np.ndarray:
        """Values of the queries that have one, (n_queries,), of a measure without a plan."""
        raise NotImplementedError

    def _refuse_unknown(self, judgments):
        if judgments.n_unknown:
            raise ValueError(
                f"y_true must not be NaN: row {judgments.first_unknown} is nan. "
                f"{type(self).__name__} needs the grade of every document; leave the others out."
            )

    def _depth(self, judgments):
        """Ranks that count: k, or all of the largest query."""
        k = getattr(self, "k", None)
        return judgments.max_size if k is None else min(k, judgments.max_size)

    @property
    def _parameters(self):
        return {name: getattr(self, name) for name in _fields(self)}

    @property
    def _key(self):
        """What tells two measures' plans apart; unlike the text, it tells two lambdas apart."""
        return (type(self), *self._parameters.values())

    @property
    def name(self) -> str:
        """The measure's text, which `measure` reads back."""
        parameters = self._parameters
        k = parameters.pop("k", None)
        shown = ",".join(
            f"{name}={_text(value)}"
            for name, value in parameters.items()
            if _text(value) != _text(_fields(self)[name].default)
        )
        cut_off = "" if k is None else f"@{k}"
        return type(self).__name__ + (f"({shown})" if shown else "") + cut_off

    __name__ = name

    def __repr__(self):
        return self.name

    def __eq__(self, other):
        return self.name == other.name if isinstance(other, Measure) else NotImplemented

    def __hash__(self):
        return hash(self.name)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        for name, value in self._parameters.items():
            if callable(value) and "<" in getattr(value, "__qualname__", ""):
                raise pickle.PicklingError(
                    f"{self} cannot be pickled: its {name} is a lambda or a function inside a "
                    "function. Define it with def at the top of a module."
                )
        return copyreg.__newobj_ex__, (type(self), (), {}), self._parameters

    def __setstate__(self, parameters):
        for name, value in parameters.items():
            object.__setattr__(self, name, value)


# From scores to means ----------------------------------------------------------------------------

def score_queries(
    measures: list[Measure], judgments: Judgments, y_score: ArrayLike
) -> list[np.ndarray]:
    """Values of several measures for each query, from one sort of the scores.

    Parameters
    ----------
    measures : list of Measure
    judgments : Judgments
    y_score : array-like of shape (n,)

    Returns
    -------
    list of ndarray of shape (n_queries,)
    """
    plans = [measure.plan(judgments) for measure in measures]
    scores = column(y_score, "y_score", judgments.n_rows)
    planned = [plan for plan in plans if plan is not None]
    sums = np.empty((len(planned), judgments.n_queries))
    has_nan = run_chunks(
        lambda first, last: _kernels.sum_queries(
            scores, judgments.order, judgments.starts, judgments.codes, judgments.level_starts,
            planned, sums, first, last,
        ),
        judgments.starts,
    )
    if any(has_nan):
        refuse_nan_scores(scores)
    rows = iter(sums)
    found = [
        measure.values(judgments, scores) if plan is None else next(rows)
        for measure, plan in zip(measures, plans, strict=True)
    ]
    for measure, plan, values in zip(measures, plans, found, strict=True):
        if plan is not None and plan.scale is not None:
            values *= plan.scale
            values += plan.shift
        np.minimum(values, 1.0, out=values)  # every measure ends at 1, rounding must not pass it
        values[measure.undefined_queries(judgments)] = measure.undefined
    return found


def mean_over_queries(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Σ w v / Σ w over the queries whose value is not NaN; nan if there is none with weight.

    Parameters
    ----------
    values : ndarray of shape (n_queries,)
    weights : ndarray of shape (n_queries,), optional

    Returns
    -------
    float
    """
    defined = ~np.isnan(values)
    weights = defined.astype(float) if weights is None else np.where(defined, weights, 0.0)
    weights = weights / max(weights.max(), np.finfo(float).tiny)  # so that no sum overflows
    total = weights.sum()
    return float(weights @ np.where(defined, values, 0.0) / total) if total > 0 else math.nan


# Texts -------------------------------------------------------------------------------------------

_FORM = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\((.*)\))?\s*(?:@\s*(\w+))?\s*", re.DOTALL)
MEASURES: dict = {}  # the classes by name, filled in by the package's __init__
ALIASES = {
    "map": ("AP", None),
    "mumap": ("MuAP", None),
    "p": ("Precision", None),
    "r": ("Recall", None),
    "mrr": ("RR", None),
    "meanndcg": ("NDCG", "mean"),
    "meanndcng": ("NDCNG", "mean"),
}


def measure(text: str | Measure) -> Measure:
    """Make a measure of its text.

    Parameters
    ----------
    text : str or Measure
        ``Name(parameter=value,…)@k`` with Python literals and the word nan as values, ``@mean``
        for the mean over all cut-offs. Letter case and underscores of names do not matter.
        Aliases: map, mu_map, p, r, mrr, mean_ndcg, mean_ndcng. A measure is returned as it is.

    Returns
    -------
    Measure

    Raises
    ------
    ValueError
        If the text cannot be read, or names an unknown measure or parameter.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.measure("ndcng@10")
    NDCNG@10
    >>> sg.measure("map(threshold=2, undefined=nan)@20")
    AP(threshold=2,undefined=nan)@20
    >>> sg.measure("mean_ndcg") == sg.NDCG(k="mean")
    True
    """
    if isinstance(text, Measure):
        return text
    if not isinstance(text, str):
        raise TypeError(f"A measure is a Measure or its text, such as 'ndcng@10'; got {text!r}.")
    form = _FORM.fullmatch(text)
    if form is None:
        raise ValueError(f"Cannot read the measure {text!r}: write Name(parameter=value)@k.")
    cls, k = _class_named(form[1])
    parameters = _parameters_of(text, form[2] or "", cls)
    for given in (k, form[3]):
        if given is not None:
            if "k" in parameters:
                raise ValueError(f"The measure {text!r} has two cut-offs.")
            if "k" not in _fields(cls):
                raise ValueError(f"{cls.__name__} has no cut-off k; got {text!r}.")
            given = given.lower()
            parameters["k"] = int(given) if given.isascii() and given.isdecimal() else given
    try:
        return cls(**parameters)
    except ValueError as error:
        raise ValueError(f"Cannot read the measure {text!r}: {error}") from None


def _plain(name):
    return name.lower().replace("_", "")


def _class_named(name):
    plain = _plain(name)
    classes = {known.lower(): (cls, None) for known, cls in MEASURES.items()}
    for alias, (known, k) in ALIASES.items():
        classes[alias] = (MEASURES[known], k)
    if plain in classes:
        return classes[plain]
    near = difflib.get_close_matches(plain, classes, n=1, cutoff=0.5)
    nearest = f" Did you mean {classes[near[0]][0].__name__}?" if near else ""
    raise ValueError(f"Unknown measure {name!r}.{nearest} Known: {', '.join(MEASURES)}.")


def _parameters_of(text, inside, cls):
    try:
        call = ast.parse(f"f({inside})", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        call = None
    if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
        raise ValueError(f"Cannot read the measure {text!r}: write Name(parameter=value)@k.")
    known = {_plain(name): name for name in _fields(cls)}
    parameters = {}
    for keyword in call.keywords:
        name = known.get(_plain(keyword.arg or "**"))
        if name is None:
            raise ValueError(
                f"{cls.__name__} has no parameter {keyword.arg!r}; it has "
                f"{', '.join(known.values())}."
            )
        if name in parameters:
            raise ValueError(f"The measure {text!r} has {name} twice.")
        parameters[name] = _literal(text, keyword)
    return parameters


def _literal(text, keyword):
    if isinstance(keyword.value, ast.Name) and keyword.value.id.lower() == "nan":
        return math.nan
    try:
        return ast.literal_eval(keyword.value)
    except ValueError:
        shown = ast.unparse(keyword.value)
        raise ValueError(
            f"Cannot read the measure {text!r}: {keyword.arg} must be a literal such as 2, "
            f"'linear' or nan; got {shown}."
        ) from None


def as_measures(measures: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Measures of one measure, one text, or a list of them.

    Parameters
    ----------
    measures : Measure, str, or list of these

    Returns
    -------
    list of Measure

    Raises
    ------
    ValueError
        If the list is empty or names a measure twice.
    """
    if isinstance(measures, (str, Measure)):
        measures = [measures]
    try:
        found = [measure(m) for m in measures]
    except TypeError as error:
        if "iterable" not in str(error):
            raise
        raise TypeError(
            f"measures must be a measure, its text, or a list of them; got {measures!r}."
        ) from None
    if not found:
        raise ValueError("measures is empty: give at least one, such as 'ndcng@10'.")
    names = [m.name for m in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"measures has {name} twice.")
    return found
