"""Conversion of all supported forms of preferences to lists of pairs or dicts of scores."""

import numbers
from collections.abc import Callable, Collection, Hashable, Mapping, Sized
from typing import Any, TypeAlias

import numpy as np

from skgraded._input.door import is_missing, plain_list, refuse_unordered, replace_masked
from skgraded._input.queries import QueryIds, query_codes
from skgraded._input.tables import frame_of

Prior: TypeAlias = float | Callable[[Any, Any], float]  # the callable takes items v and w
Pair: TypeAlias = tuple[Hashable, Hashable]  # (preferred, other)
Items: TypeAlias = str | dict[Hashable, None] | None  # JUDGED, PREDICTED, items or all items
JUDGED, PREDICTED = "judged", "predicted"  # the items of one side, for each query


def is_probability(value: object) -> bool:
    """Return whether the value is a number from 0 to 1."""
    return isinstance(value, (numbers.Real, np.bool_)) and 0 <= float(value) <= 1


def refuse_empty(values: Sized, name: str) -> None:
    """Raise a ValueError if the collection is empty."""
    if not values:
        raise ValueError(f"Argument {name} is empty: pass at least one element.")


def refuse_lacking(queries: Collection[Hashable], mapping: Mapping[Any, Any], name: str) -> None:
    """Raise a ValueError unless the mapping contains all queries."""
    lacking = [query for query in queries if query not in mapping]
    if lacking:
        raise ValueError(
            f"Argument {name} does not contain query {lacking[0]!r} ({len(lacking)} of "
            f"{len(queries)} queries are missing). Pass an empty list for a query without entries."
        )


# Pairs -------------------------------------------------------------------------------------------


def read_pairs_by_query(pairs: Any, qid: QueryIds | None, name: str) -> dict[Hashable, list[Pair]]:
    """Return a dict of each query's pairs; without `qid`, all pairs belong to the query None."""
    read = read_pairs(pairs, name)
    refuse_empty(read, name)
    if qid is None:
        return {None: read}
    refuse_unordered(pairs, f"Argument {name}")
    codes, ids = query_codes(qid, len(read), expected=name)
    pairs_of: list[list[Any]] = [[] for _ in ids]
    for code, pair in zip(codes.tolist(), read, strict=True):
        pairs_of[code].append(pair)
    return dict(zip(plain_list(ids), pairs_of, strict=True))


def read_pairs(pairs: Any, name: str) -> list[Pair]:
    """Convert pairs to a list of tuples (preferred, other) of hashable items."""
    read: list[Pair] = []
    seen: dict[Hashable, None] = {}
    for row, pair in enumerate(_list_pairs(pairs, name)):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(
                f"Argument {name} must contain pairs (preferred, other), but row {row} is "
                f"{pair!r}. Pass tuples of two items, an array of shape (n, 2) or a frame with two "
                "columns. To pass scores, use a mapping of items to scores."
            )
        for item in pair:
            _check_item(item, f"{name}, row {row},", seen)
        preferred, other = pair
        if preferred == other:
            raise ValueError(
                f"Argument {name} must pair distinct items: row {row} contains {preferred!r} twice."
            )
        read.append((preferred, other))
    return read


def _list_pairs(pairs: Any, name: str) -> list[Any]:
    """Convert pairs to a list; values in frames and arrays become plain Python values."""
    frame = frame_of(pairs)
    if frame is not None:
        return getattr(frame, "collect", lambda: frame)().rows()
    is_list = hasattr(pairs, "__iter__") and getattr(pairs, "shape", None) != ()
    if isinstance(pairs, (str, bytes, Mapping)) or not is_list:
        raise TypeError(
            f"Argument {name} must contain pairs (preferred, other); got {type(pairs).__name__}."
        )
    return [
        _list_elements(row) if isinstance(row, np.ndarray) else row for row in _list_elements(pairs)
    ]


def _list_elements(values: Any) -> list[Any]:
    """Convert values to a list; numbers and strings in arrays become plain Python values."""
    values = replace_masked(values)
    if hasattr(values, "to_pylist"):
        return values.to_pylist()
    is_array = hasattr(values, "tolist") and getattr(values, "dtype", None) is not None
    if is_array and getattr(values.dtype, "kind", "O") not in "mM":  # times would become ints
        return values.tolist()
    return list(values)


# Items and scores --------------------------------------------------------------------------------


def read_item_scores(scores: Mapping[Hashable, Any], name: str) -> dict[Hashable, float]:
    """Check the scores and return them as a dict keyed by item."""
    read: dict[Any, Any] = {}
    for item, score in scores.items():
        _check_item(item, name, read)
        if not isinstance(score, (numbers.Real, np.bool_)) or is_missing(score):
            raise (ValueError if is_missing(score) else TypeError)(
                f"Argument {name} must map items to numbers, but it maps {item!r} to {score!r}. To "
                "pass a mapping of queries, also pass qid. To pass pairs, use a list of tuples."
            )
        read[item] = score
    return read


def read_items_by_query(items: Any, queries: Collection[Hashable]) -> dict[Hashable, Items]:
    """Return the items of each query, as returned by `read_items`; None means all items."""
    if not isinstance(items, Mapping):
        return dict.fromkeys(queries, None if items is None else read_items(items, "items"))
    refuse_lacking(queries, items, "items")
    return {query: read_items(items[query], f"items[{query!r}]", True) for query in queries}


def read_items(items: Any, name: str, may_be_empty: bool = False) -> Items:
    """Return "judged" or "predicted" unchanged, or a dict with the items as keys."""
    if isinstance(items, str) and items in (JUDGED, PREDICTED):
        return items
    if isinstance(items, (str, bytes)) or not hasattr(items, "__iter__"):
        raise TypeError(
            f'Argument {name} must be a collection of items, "judged" or "predicted"; '
            f"got {items!r}."
        )
    read: dict[Any, Any] = {}
    for item in items if isinstance(items, Mapping) else _list_elements(items):
        _check_item(item, name, read)
    if not may_be_empty:
        refuse_empty(read, name)
    return read


def _check_item(item: Hashable, where: str, seen: dict[Hashable, Any]) -> None:
    """Add an item to the dict `seen`; raise an error if the item is None, NaN or not hashable."""
    try:
        if item in seen:
            return
    except TypeError:
        raise TypeError(
            f"Argument {where} contains {item!r}, which is not hashable: pass a tuple instead."
        ) from None
    if is_missing(item):
        raise ValueError(f"Argument {where} contains a missing value ({item!r}): remove it.")
    seen[item] = None
