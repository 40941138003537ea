"""Validate dates and the argument `by`, which contains the segment of each query."""

import reprlib
from collections.abc import Hashable, Mapping
from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from skgraded._input.door import is_missing, to_plain_list

MOST = 100  # maximum number of segments to compare, limited because every pair is compared


class Segments(dict[Any, Any]):
    """A dict keyed by segment; dates are converted to ISO 8601 strings before the lookup."""

    def __missing__(self, segment: Hashable) -> Any:
        text = as_segment(segment)
        if not super().__contains__(text):
            raise KeyError(text)
        return super().__getitem__(text)

    def __contains__(self, segment: object) -> bool:
        return super().__contains__(segment) or super().__contains__(as_segment(segment))

    def get(self, segment: Hashable, default: Any = None) -> Any:
        """Return the value of a segment, or the default."""
        return self[segment] if segment in self else default


def as_segment(segment: Hashable) -> Hashable:
    """Convert a date or datetime to an ISO 8601 string in UTC; omit the time if it is midnight.

    In a tuple, each element is converted.
    """
    if isinstance(segment, tuple):
        return tuple(map(as_segment, segment))
    if not isinstance(segment, (np.datetime64, date)):
        return segment
    if isinstance(segment, datetime) and segment.tzinfo is not None:
        segment = segment.astimezone(UTC).replace(tzinfo=None)
    time, _, fraction = str(np.datetime64(segment)).partition(".")
    fraction = fraction.rstrip("0")
    return (f"{time}.{fraction}" if fraction else time).removesuffix("T00:00:00")


def group_segments(
    query_ids: np.ndarray, by: Any, are_compared: bool = False
) -> list[tuple[Any, Any]]:
    """Return (segment, indices of its queries) pairs in order of first appearance."""
    ids = to_plain_list(query_ids)
    positions: dict[Any, list[int]] = {}
    for i, (query, segment) in enumerate(zip(ids, _read_segments(ids, by), strict=True)):
        if is_missing(segment):
            raise ValueError(
                f"Argument 'by' has no segment for query {query!r}: the value is {segment!r}."
            )
        try:
            positions.setdefault(segment, []).append(i)
        except TypeError:  # raised for lists, sets and dicts
            raise ValueError(
                "Argument 'by' must contain numbers, text or dates; the segment of query "
                f"{query!r} is {reprlib.repr(segment)}."
            ) from None
    if are_compared:
        refuse_too_many(list(positions))
    return [(segment, np.array(members)) for segment, members in positions.items()]


def refuse_too_many(segments: list[Any]) -> None:
    """Raise a ValueError if there are no segments, or too many to compare."""
    if not segments:
        raise ValueError("Argument 'by' defines no segments, because there are no queries.")
    if len(segments) > MOST:
        raise ValueError(
            f"Argument 'by' contains {len(segments):,} segments, such as {segments[0]!r} and "
            f"{segments[1]!r}, but at most {MOST} segments can be compared. Define fewer segments, "
            "for example with pandas.cut."
        )


def _read_segments(ids: list[Any], by: Any) -> list[Any]:
    is_column = hasattr(by, "__len__") and len(getattr(by, "shape", "1")) == 1
    if isinstance(by, (str, bytes, set, frozenset)) or not is_column:
        raise TypeError(
            "Argument 'by' must be an array with one segment per query, or a dict or pandas Series "
            f"that maps query ids to segments; got {reprlib.repr(by)}."
        )
    if hasattr(by, "to_pylist"):
        by = by.to_pylist()  # elements of Arrow arrays are Arrow scalars
    if hasattr(by, "iloc"):
        if not by.index.is_unique:
            label = by.index[by.index.duplicated()].tolist()[0]
            raise ValueError(f"The index of 'by' must be unique, but it contains {label!r} twice.")
        by = dict(zip(to_plain_list(by.index.to_numpy()), by.tolist(), strict=True))
    if isinstance(by, Mapping):
        for query in ids:
            if query not in by:
                raise ValueError(f"Argument 'by' has no segment for query {query!r}.")
        return [by[query] for query in ids]
    if len(by) != len(ids):
        raise ValueError(
            f"Argument 'by' contains {len(by)} segments, but there are {len(ids)} queries. Pass "
            "one segment per query in the order of query_ids, or a dict that maps query ids to "
            "segments."
        )
    return to_plain_list(by) if isinstance(by, np.ndarray) else list(by)


def number_days(labels: list[str], is_required: bool = False) -> np.ndarray | None:
    """Convert ISO date labels, which must be in ascending order, to day ordinals.

    If a label is not an ISO date, return None or, if `is_required`, raise a ValueError.
    """
    try:
        days = np.array([date.fromisoformat(label).toordinal() for label in labels])
    except ValueError as error:
        if not is_required:
            return None
        raise ValueError(
            f"If season is set, all labels must be ISO dates such as '2026-11-20': {error}."
        ) from None
    if (np.diff(days) <= 0).any():
        i = int(np.argmax(np.diff(days) <= 0))
        raise ValueError(
            "Summaries must be in chronological order, because control limits depend on earlier "
            f"days; got {labels[i + 1]!r} after {labels[i]!r}."
        )
    return days
