"""Checks of what evaluations hold, whether they are made by hand, from JSON or from a pickle."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from skgraded._input.columns import as_array, column, refuse_other_length
from skgraded._input.queries import query_codes
from skgraded._input.words import plain, plain_list


class Checked:
    """A frozen dataclass that a pickle makes by its constructor, which checks the fields."""

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        type(self).__init__(self, **state)

    def _set(self, **fields: Any) -> None:
        """Set fields to what `__post_init__` has made of them."""
        self.__dict__.update(fields)


# The rule of weights, and what holds for them.
WEIGHTS = (
    "a weight is finite and not below 0", lambda weights: (weights >= 0) & (weights < np.inf)
)


def as_query_ids(ids: Any) -> np.ndarray:
    """Check ids: hashable, none missing, no two the same; text comes back as objects."""
    is_kept = type(ids) is np.ndarray and ids.dtype.kind not in "US"
    if getattr(ids, "shape", None) == (0,) or isinstance(ids, (list, tuple)) and not ids:
        return ids if is_kept else np.empty(0, dtype=object)
    codes, distinct = query_codes(ids, name="query_ids")
    if len(distinct) < len(codes):
        repeated = np.argmax(codes != np.arange(len(codes)))
        query = plain_list(distinct)[codes[repeated]]
        raise ValueError(f"query_ids has {query!r} more than once.")
    return ids if is_kept else distinct


class Axis(NamedTuple):
    """What arrays have an element for: queries, folds or tests."""

    element: str
    argument: str  # which has as many elements
    keys: Any

    def numbers(
        self, values: Any, name: str, rule: str, holds: Callable[[np.ndarray], Any]
    ) -> np.ndarray:
        """Check numbers for which a rule holds; they come back as floats."""
        n = len(self.keys)
        floats = column(values, name, n, self.argument) if n or np.size(values) else np.empty(0)
        right = holds(floats)
        if not right.all():
            i = int(np.argmin(right))
            key = plain(self.keys[i])
            raise ValueError(f"{name} has {floats[i]:g} for {self.element} {key!r}: {rule}.")
        return floats

    def values(self, values: Any, name: str) -> np.ndarray:
        """Check values of a measure, which may be nan."""
        return self.numbers(values, name, "a value is finite or nan", lambda v: ~np.isinf(v))

    def positions(self, values: Any, name: str, end: int) -> np.ndarray:
        """Check whole numbers from 0 to below `end`."""
        rule = f"it must be a whole number from 0 to {end - 1}"
        return self.numbers(
            values, name, rule, lambda v: (v >= 0) & (v < end) & (v == np.rint(v))
        ).astype(np.intp)

    def flags(self, flags: Any, name: str) -> np.ndarray:
        """Check booleans; 0 and 1 are refused."""
        if not len(self.keys) and not np.size(flags):
            return np.empty(0, dtype=bool)
        array = as_array(flags, name)
        refuse_other_length(array, name, len(self.keys), self.argument)
        for flag, key in zip(array, self.keys, strict=True) if array.dtype != bool else ():
            if not isinstance(flag, (bool, np.bool_)):
                raise TypeError(
                    f"{name} must hold booleans; it has {plain(flag)!r} for {self.element} "
                    f"{plain(key)!r}."
                )
        return array.astype(bool, copy=False)


def by_measure(
    values: Any, name: str, measures: Collection[str], check: Callable[[Any, str], np.ndarray]
) -> dict[str, np.ndarray]:
    """Check a dict with an array for each of the measures."""
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        raise TypeError(f"{name} must be a dict by names of measures; got {values!r:.60}.")
    if not values:
        raise ValueError(f"{name} has no measure.")
    if set(values) != set(measures):
        raise ValueError(f"{name} and per_query must have the same measures.")
    return {measure: check(values[measure], f"{name}[{measure!r}]") for measure in measures}
