"""Order of ids of any type, for lists that do not depend on the order of the rows."""

import heapq
import numbers
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np


def lowest_ids(ids: np.ndarray, positions: np.ndarray, n: int) -> np.ndarray:
    """Return the positions of the queries with the n lowest ids."""
    ids = ids[positions]
    if ids.dtype.kind != "O":
        return positions[np.argsort(ids, kind="stable")[:n]]
    keys = ids if set(map(type, ids)) == {str} else map(order_of, ids)  # shortcut for strings
    lowest = heapq.nsmallest(n, zip(keys, positions.tolist(), strict=True))
    return np.array([i for _, i in lowest], dtype=np.intp)


def order_of(query: Any) -> tuple[str, Any]:
    """Return a sort key for ids of any type: the name of the type, then the value."""
    if isinstance(query, tuple):
        return "tuple", tuple(map(order_of, query))
    if isinstance(query, (numbers.Real, Decimal)):
        return "", query
    known = isinstance(query, (str, bytes, np.generic, timedelta)) or hasattr(query, "isoformat")
    return type(query).__name__, query if known else repr(query)
