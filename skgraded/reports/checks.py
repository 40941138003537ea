"""Checks of what evaluations hold, whether they are made by hand, from JSON or from a pickle."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

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


def as_floats(values: Any, name: str, n: int, expected: str) -> np.ndarray:
    """Check n numbers, as many as `expected` has; they may be nan."""
    return column(values, name, n, expected) if n or np.size(values) else np.empty(0)


def as_times(values: Any, name: str, n_folds: int) -> np.ndarray:
    """Check times of folds in seconds; they may be nan."""
    times = as_floats(values, name, n_folds, "errors")
    if (times < 0).any():
        raise ValueError(f"{name} has {np.nanmin(times):g}, which is no time.")
    return times


def as_values(values: Any, name: str, query_ids: np.ndarray) -> np.ndarray:
    """Check values of queries, which may be nan but not infinite."""
    floats = as_floats(values, name, len(query_ids), "query_ids")
    _refuse(np.isinf(floats), floats, name, query_ids, "a value is finite or nan")
    return floats


def as_weights(weights: Any, query_ids: np.ndarray) -> np.ndarray:
    """Check weights of queries."""
    floats = as_floats(weights, "weights", len(query_ids), "query_ids")
    wrong = ~(np.isfinite(floats) & (floats >= 0))
    _refuse(wrong, floats, "weights", query_ids, "a weight is finite and not below 0")
    return floats


def _refuse(wrong, values, name, query_ids, rule):
    if wrong.any():
        i = int(np.argmax(wrong))
        query = plain_list(query_ids)[i]
        raise ValueError(f"{name} has {values[i]:g} for query {query!r}: {rule}.")


def as_flags(flags: Any, name: str, query_ids: np.ndarray) -> np.ndarray:
    """Check flags of queries: True and False, not 0 and 1."""
    if not len(query_ids) and not np.size(flags):
        return np.empty(0, dtype=bool)
    array = as_array(flags, name)
    refuse_other_length(array, name, len(query_ids), "query_ids")
    if array.dtype == bool:
        return array
    for row, flag in enumerate(array):
        if not isinstance(flag, (bool, np.bool_)):
            query = plain_list(query_ids)[row]
            raise TypeError(f"{name} must hold booleans; it has {plain(flag)!r} for {query!r}.")
    return array.astype(bool)


def as_positions(values: Any, name: str, n: int, expected: str, end: int) -> np.ndarray:
    """Check n whole numbers from 0 to below `end`."""
    floats = as_floats(values, name, n, expected)
    wrong = ~((floats >= 0) & (floats < end) & (floats == np.rint(floats)))
    if wrong.any():
        raise ValueError(
            f"{name} has {floats[np.argmax(wrong)]:g}, but it must be a whole number from 0 to "
            f"{end - 1}."
        )
    return floats.astype(np.intp)


def by_measure(
    values: Any, name: str, measures: Collection[str], check: Callable[[Any, str], np.ndarray]
) -> dict[str, np.ndarray]:
    """Check a dict with an array for each of the measures."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} must be a dict by measure name; got {values!r:.60}.")
    if set(values) != set(measures):
        raise ValueError(f"{name} and per_query must have the same measures.")
    return {measure: check(values[measure], f"{name}[{measure!r}]") for measure in measures}
