"""Parts of evaluations: the queries of each segment, and disjoint queries put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skgraded._input.columns import is_missing
from skgraded._input.words import object_array, plain_list

MOST = 100  # segments to compare with each other


# Segments ----------------------------------------------------------------------------------------

def segments_of(query_ids: np.ndarray, by: Any) -> list[tuple[Any, np.ndarray]]:
    """Find the queries of each segment: (segment, positions), in order of first appearance.

    `by` has the segment of each query: in their order, or by query id.
    """
    ids = plain_list(query_ids)
    positions: dict = {}
    for i, (query, segment) in enumerate(zip(ids, _segment_of_each(ids, by), strict=True)):
        if is_missing(segment):
            raise ValueError(f"by has no segment for query {query!r}: it is {segment!r}.")
        positions.setdefault(segment, []).append(i)
    return [(segment, np.array(found)) for segment, found in positions.items()]


def few_segments_of(query_ids, by):
    """Find them where each is compared with each."""
    found = segments_of(query_ids, by)
    if not found:
        raise ValueError("by has no segment, for there is no query.")
    if len(found) > MOST:
        raise ValueError(
            f"by has {len(found):,} segments, such as {found[0][0]!r} and {found[1][0]!r}; each is "
            f"compared with each, at most {MOST}: give ranges of values, such as by pandas.cut."
        )
    return found


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
            f"by has {len(by)} segments, but there are {len(ids)} queries: give one for each of "
            "query_ids, or a mapping from query id to segment."
        )
    return plain_list(by) if isinstance(by, np.ndarray) else list(by)


def _mapping_of_series(by):
    if by.ndim != 1:
        raise TypeError("by is a frame; pass the one column of it that holds the segment.")
    if not by.index.is_unique:
        label = by.index[by.index.duplicated()].tolist()[0]
        raise ValueError(f"by is looked up by query id, but its index has {label!r} twice.")
    return dict(zip(plain_list(by.index.to_numpy()), by.tolist(), strict=True))


# Putting together --------------------------------------------------------------------------------

def joined(parts: Sequence[Any]) -> dict[str, Any]:
    """What an Evaluation of all the parts' queries holds, by the names of its parameters."""
    if not parts:
        raise ValueError("concat got no part: give at least one Evaluation.")
    for i, part in enumerate(parts):
        _refuse_other_measures(i, part, parts[0])
        if (part.weights is None) != (parts[0].weights is None):
            raise ValueError(
                f"Part {i} of concat has {'no ' * (part.weights is None)}weights, unlike part 0: "
                "evaluate all parts with sample_weight or none."
            )
    _refuse_overlap(parts)
    names, weighted = parts[0].per_query, parts[0].weights is not None
    return {
        "query_ids": _joined_ids([part.query_ids for part in parts]),
        "per_query": {
            name: np.concatenate([part.per_query[name] for part in parts]) for name in names
        },
        "undefined": {
            name: np.concatenate([part.undefined[name] for part in parts]) for name in names
        },
        "weights": np.concatenate([part.weights for part in parts]) if weighted else None,
    }


def _refuse_other_measures(i, part, first):
    differing = part.per_query.keys() ^ first.per_query.keys()
    if differing:
        raise ValueError(
            f"Parts of concat must have the same measures: {', '.join(sorted(differing))} is in "
            f"only one of part 0 ({', '.join(first.per_query)}) and part {i} "
            f"({', '.join(part.per_query)})."
        )


def _refuse_overlap(parts):
    seen: set = set()
    shared = []
    for part in parts:
        ids = plain_list(part.query_ids)
        shared += [query for query in ids if query in seen]
        seen.update(ids)
    if shared:
        named = ", ".join(map(repr, shared[:5])) + (", …" if len(shared) > 5 else "")
        raise ValueError(
            f"Parts of concat must have different queries; {len(shared)} are in more than one: "
            f"{named}. Queries that were given by group are numbered from 0 in each part: use qid."
        )


def _joined_ids(arrays):
    if len({array.dtype.kind for array in arrays}) == 1:
        return np.concatenate(arrays)
    # 1 and 1.5 stay what they are.
    return object_array([query for array in arrays for query in plain_list(array)])
