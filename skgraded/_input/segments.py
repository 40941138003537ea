"""Validation of the argument `by`, which specifies the segment of each query."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from skgraded._input.columns import is_missing
from skgraded._input.words import plain_list

MOST = 100  # segments; every pair is compared


def segments_of(query_ids: np.ndarray, by: Any) -> list[tuple[Any, np.ndarray]]:
    """Return pairs (segment, positions of its queries) in order of first appearance."""
    ids = plain_list(query_ids)
    positions: dict = {}
    for i, (query, segment) in enumerate(zip(ids, _segment_of_each(ids, by), strict=True)):
        if is_missing(segment):
            raise ValueError(f"by has no segment for query {query!r}: it is {segment!r}.")
        positions.setdefault(segment, []).append(i)
    return [(segment, np.array(members)) for segment, members in positions.items()]


def few_segments_of(query_ids, by):
    """Return the result of `segments_of`; raise a ValueError if there are too many segments."""
    segments = segments_of(query_ids, by)
    if not segments:
        raise ValueError("by has no segments because there are no queries.")
    if len(segments) > MOST:
        (first, _), (second, _), *_ = segments
        raise ValueError(
            f"by has {len(segments):,} segments, such as {first!r} and {second!r}, but at "
            f"most {MOST} can be compared: group values into ranges, for example with pandas.cut."
        )
    return segments


def _segment_of_each(ids, by):
    if isinstance(by, (str, bytes, set, frozenset)) or not hasattr(by, "__len__"):
        raise TypeError(
            "by must be an array with the segment of each query, or a mapping or pandas Series "
            f"from query id to segment; got {by!r}."
        )
    if hasattr(by, "iloc"):
        by = _mapping_of_series(by)
    if isinstance(by, Mapping):
        for query in ids:
            if query not in by:
                raise ValueError(f"by has no segment for query {query!r}.")
        return [by[query] for query in ids]
    if len(by) != len(ids):
        raise ValueError(
            f"by has {len(by)} segments, but there are {len(ids)} queries: pass one segment "
            "for each of query_ids, or a mapping from query id to segment."
        )
    return plain_list(by) if isinstance(by, np.ndarray) else list(by)


def _mapping_of_series(by):
    if by.ndim != 1:
        raise TypeError("by is a frame; pass only the column that contains the segments.")
    if not by.index.is_unique:
        label = by.index[by.index.duplicated()].tolist()[0]
        raise ValueError(f"by is looked up by query id, but its index contains {label!r} twice.")
    return dict(zip(plain_list(by.index.to_numpy()), by.tolist(), strict=True))
