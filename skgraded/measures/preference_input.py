"""Convert preferences in any supported form to lists of pairs, dicts of scores, and items."""

import numbers
from collections.abc import Mapping

import numpy as np

from skgraded._input.columns import is_missing, unmasked
from skgraded._input.queries import query_codes
from skgraded._input.words import plain_list

JUDGED, PREDICTED = "judged", "predicted"  # the items of one side of each query


def is_probability(value):
    """Return whether the value is a number in [0, 1]."""
    return isinstance(value, (numbers.Real, np.bool_)) and 0 <= float(value) <= 1


def check_prior(prior):
    """Check that the prior is a number in [0, 1] or a callable."""
    if callable(prior):
        return prior
    if isinstance(prior, (bool, np.bool_)) or not is_probability(prior):
        raise ValueError(
            f"prior must be a number in [0, 1], or a callable of two items; got {prior!r}."
        )
    return float(prior)


def refuse_empty(values, name):
    """Raise a ValueError if the collection is empty."""
    if not values:
        raise ValueError(f"{name} is empty: there is nothing to measure.")


def refuse_lacking(queries, mapping, name):
    """Raise a ValueError unless the mapping contains all queries."""
    lacking = [query for query in queries if query not in mapping]
    if lacking:
        raise ValueError(
            f"{name} lacks {len(lacking)} of the {len(queries)} queries, {lacking[0]!r} among "
            "them: add each query, with an empty list if there is nothing."
        )


def kind_of(value):
    """Return the name of the type of a value for error messages."""
    return "None" if value is None else type(value).__name__


# Pairs -------------------------------------------------------------------------------------------

def read_pairs_by_query(pairs, qid, name):
    """Return the pairs of each query, by first appearance; without `qid`, the only key is None."""
    read = read_pairs(pairs, name)
    refuse_empty(read, name)
    if qid is None:
        return {None: read}
    if isinstance(pairs, (set, frozenset)):
        raise TypeError(f"{name} is a set, whose order is arbitrary: pass a list that matches qid.")
    codes, ids = query_codes(qid, len(read), expected=name)
    pairs_of: list = [[] for _ in ids]
    for code, pair in zip(codes.tolist(), read, strict=True):
        pairs_of[code].append(pair)
    return dict(zip(plain_list(ids), pairs_of, strict=True))


def read_pairs(pairs, name):
    """Convert pairs to a list of tuples (preferred, other) of hashable items."""
    read: list = []
    seen: dict = {}
    for row, pair in enumerate(_rows(pairs, name)):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(
                f"{name} must be pairs (preferred, other): row {row} is {pair!r}. Give tuples of "
                "two items, an array of shape (n, 2), or a frame of two columns; scores are a "
                "mapping of item to score."
            )
        for item in pair:
            _check_item(item, f"{name}, row {row}, has", seen)
        preferred, other = pair
        if preferred == other:
            raise ValueError(f"{name}: row {row} prefers {preferred!r} to itself.")
        read.append((preferred, other))
    return read


def _rows(pairs, name):
    """Convert pairs to a list; values from frames and arrays become plain Python values."""
    if len(getattr(pairs, "shape", ())) == 2 and hasattr(pairs, "columns"):  # pandas, polars, Arrow
        if pairs.shape[1] != 2:
            raise ValueError(
                f"{name} must have two columns, preferred and other; it has {pairs.shape[1]}."
            )
        if hasattr(pairs, "itertuples"):
            return list(pairs.itertuples(index=False, name=None))
        if hasattr(pairs, "rows"):
            return pairs.rows()
        return list(zip(*(column.to_pylist() for column in pairs.columns), strict=True))
    if hasattr(pairs, "iloc") and pairs.dtype.kind in "iuf":
        raise TypeError(
            f"{name} is a Series of numbers. Scores per item are a mapping: pass series.to_dict()."
        )
    if isinstance(pairs, (str, bytes, Mapping)) or not hasattr(pairs, "__iter__"):
        raise TypeError(f"{name} must be pairs (preferred, other); got {kind_of(pairs)}.")
    if isinstance(pairs, np.ndarray) and pairs.ndim != 1 and pairs.shape[1:] != (2,):
        raise ValueError(f"{name} must have shape (n, 2); it has {pairs.shape}.")
    return [_elements(row) if isinstance(row, np.ndarray) else row for row in _elements(pairs)]


def _elements(values):
    """Convert values to a list; numbers and strings from arrays become plain Python values."""
    values = unmasked(values)
    if hasattr(values, "to_pylist"):
        return values.to_pylist()
    is_array = hasattr(values, "tolist") and getattr(values, "dtype", None) is not None
    if is_array and getattr(values.dtype, "kind", "O") not in "mM":  # times would become ints
        return values.tolist()
    return list(values)


# Items and scores --------------------------------------------------------------------------------

def read_scores(scores, name):
    """Check the scores and return them as a dict keyed by item."""
    read: dict = {}
    for item, score in scores.items():
        _check_item(item, f"{name} has", read)
        if not isinstance(score, (numbers.Real, np.bool_)) or is_missing(score):
            raise (ValueError if is_missing(score) else TypeError)(
                f"{name} must give each item a number as score; item {item!r} has {score!r}. "
                "(A mapping of queries needs qid; pairs are a list of tuples.)"
            )
        read[item] = score
    return read


def read_items_by_query(items, queries):
    """Return the items of each query as `read_items` does; None means all items."""
    if not isinstance(items, Mapping):
        return dict.fromkeys(queries, None if items is None else read_items(items, "items"))
    refuse_lacking(queries, items, "items")
    return {query: read_items(items[query], f"items[{query!r}]", True) for query in queries}


def read_items(items, name, may_be_empty=False):
    """Return the items as keys of a dict, in input order; or JUDGED or PREDICTED."""
    if isinstance(items, str) and items in (JUDGED, PREDICTED):
        return items
    if isinstance(items, (str, bytes)) or not hasattr(items, "__iter__"):
        raise TypeError(
            f'{name} must be a collection of items, "judged" or "predicted"; '
            f"got {items!r}."
        )
    read: dict = {}
    for item in items if isinstance(items, Mapping) else _elements(items):
        _check_item(item, f"{name} has", read)
    if not may_be_empty:
        refuse_empty(read, name)
    return read


def _check_item(item, where, seen):
    """Add an item to the dict `seen`; raise an error if it is missing or not hashable."""
    try:
        if item in seen:
            return
    except TypeError:
        raise TypeError(
            f"{where} the item {item!r}, which is not hashable: use tuples for composed items."
        ) from None
    if is_missing(item):
        raise ValueError(f"{where} a missing item ({item!r}): leave it out.")
    seen[item] = None
