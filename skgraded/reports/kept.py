"""Checks of reports that were read from JSON, which anyone may have written or cut."""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from skgraded._input.columns import number, whole_number
from skgraded._input.words import plain_list
from skgraded.reports.comparison_table import COLUMNS, pairs_of
from skgraded.reports.interactions import COLUMNS as BETWEEN
from skgraded.stats.corrections import CORRECTIONS
from skgraded.stats.paired_tests import TESTS
from skgraded.writing.json_shapes import Maybe

IDS: dict[str, Any] = {"dtype": str, "values": list}  # what the values are `ids_of_json` checks
TEXTS = ("system", "measure", "baseline", "ci_method")
COUNTS = ("n_queries", "wins", "ties", "losses", "n_undefined")
TABLE: dict[str, Any] = {
    "systems": [str], "measures": [str], "baseline": Maybe(str), "test": Maybe(str),
    "correction": Maybe(str), "level": float,
    "table": {name: [str] if name in TEXTS else [Maybe(float)] for name in COLUMNS},
}
COMPARISON: dict[str, Any] = TABLE | {
    "n_resamples": int, "seed": Maybe(int), "query_ids": IDS, "weights": Maybe([float]),
    "per_query": {str: [[Maybe(float)]]},
}
SEGMENTS: dict[str, Any] = COMPARISON | {
    "segments": IDS, "segment": [int],
    "table": {**COMPARISON["table"], "segment": [int]},
    "between": {
        name: [str] if name in TEXTS else [int] if "segment" in name else [Maybe(float)]
        for name in BETWEEN
    },
}


def filled(report: dict[str, Any]) -> dict[str, Any]:
    """The report: there is one format."""
    return report


def check_comparison(parts: Mapping[str, Any], keys: list[tuple[Any, ...]] | None = None) -> None:
    """Refuse parts of a comparison by query that do not belong together; ValueError says which."""
    ids, systems = plain_list(parts["query_ids"]), parts["systems"]
    refuse_twice("query_ids", ids)
    whole_number(parts["n_resamples"], "n_resamples", 1)
    if parts["seed"] is not None:
        whole_number(parts["seed"], "seed", 0)
    if list(parts["per_query"]) != parts["measures"]:
        raise ValueError(
            f"per_query has {list(parts['per_query'])}, but measures are {parts['measures']}."
        )
    for measure, values in parts["per_query"].items():
        if values.shape != (len(systems), len(ids)):
            raise ValueError(
                f"per_query[{measure!r}] has the shape {values.shape}, but there are "
                f"{len(systems)} systems and {len(ids)} queries."
            )
    _refuse_weights(parts["weights"], ids)
    check_table(parts, len(ids), keys)


def check_table(
    parts: Mapping[str, Any], n_queries: int, keys: list[tuple[Any, ...]] | None = None
) -> None:
    """Refuse settings and a table that do not belong together.

    `keys` are what the rows are of, by default each pair of systems and each measure.
    """
    systems, measures, table = parts["systems"], parts["measures"], parts["table"]
    refuse_twice("systems", systems)
    refuse_twice("measures", measures)
    if len(systems) < 2 or not measures:
        raise ValueError(f"systems are {systems} and measures {measures}: too few to compare.")
    number("level", 0, 1, above=True, below=True)(parts["level"])
    for name, known in (("test", TESTS), ("correction", CORRECTIONS), ("baseline", systems)):
        if parts[name] is not None and parts[name] not in known:
            raise ValueError(f"{name} must be one of {list(known)} or null; got {parts[name]!r}.")
    n_rows = len(table["system"])
    for name, cells in table.items():
        if len(cells) != n_rows:
            raise ValueError(
                f"table[{name!r}] has {len(cells)} rows, but table['system'] has {n_rows}."
            )
    for name, known in (("system", systems), ("baseline", systems), ("measure", measures)):
        for cell in table[name]:
            if cell not in known:
                raise ValueError(f"table[{name!r}] has {cell!r}, which is none of {known}.")
    _check_rows(table, keys or [
        (other, system, measure)
        for other, system in pairs_of(systems, parts["baseline"]) for measure in measures
    ])
    _check_numbers(table, n_queries)


def _check_rows(table, keys):
    names = ("baseline", "system", "measure", "segment")[: len(keys[0])]
    if len(table["system"]) != len(keys):
        raise ValueError(
            f"table has {len(table['system'])} rows, but there are {len(keys)} comparisons."
        )
    _refuse_other_rows("table", zip(*(table[name] for name in names), strict=True), keys)


def _refuse_other_rows(name, rows, keys):
    for i, (row, key) in enumerate(zip(rows, keys, strict=True)):
        if row != key:
            raise ValueError(f"{name} has in row {i} {row}, but there must be {key}.")


def _refuse_improbable(name, table):
    for column in ("p_value", "p_adjusted"):
        for cell in table[column]:
            if not (cell != cell or 0 <= cell <= 1):
                raise ValueError(f"{name}[{column!r}] has {cell!r}, which is no probability.")
    for column, cells in table.items():
        for cell in cells:
            if isinstance(cell, (int, float)) and abs(cell) > sys.float_info.max:
                raise ValueError(f"{name}[{column!r}] has {cell!r:.30}, which is not finite.")
    for i, (low, high) in enumerate(zip(table["ci_low"], table["ci_high"], strict=True)):
        if low > high:
            raise ValueError(f"{name} has in row {i} an interval from {low!r} to {high!r}.")


def _check_numbers(table, n_queries):
    _refuse_improbable("table", table)
    for name in COUNTS:
        for cell in table[name]:
            if not (cell != cell and name == "n_undefined" or _is_count(cell, n_queries)):
                raise ValueError(
                    f"table[{name!r}] has {cell!r}, which is no number of {n_queries} queries."
                )
    for i, (n, *parts) in enumerate(zip(*(table[name] for name in COUNTS[:4]), strict=True)):
        if sum(parts) != n:
            raise ValueError(f"Wins, ties and losses of row {i} are not n_queries, {n}.")


def _is_count(cell, most):
    return type(cell) is int and 0 <= cell <= most


def check_segments(parts: Mapping[str, Any], keys: list[tuple[Any, ...]]) -> None:
    """Refuse segments, and what is between them, that do not belong to a comparison.

    `keys` are what the rows between segments are of.
    """
    refuse_twice("segments", parts["segments"])
    refuse_length("segment", parts["segment"], parts["query_ids"])
    _refuse_range("segment", parts["segment"], len(parts["segments"]))
    between = parts["between"]
    for name, cells in between.items():
        refuse_length(f"between[{name!r}]", cells, keys)
    names = ("baseline", "system", "measure", "other_segment", "segment")
    _refuse_other_rows("between", zip(*(between[name] for name in names), strict=True), keys)
    _refuse_improbable("between", between)


# Parts -------------------------------------------------------------------------------------------

def refuse_twice(name: str, values: Any) -> None:
    """Refuse values of which two are the same."""
    seen = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{name} has {value!r} more than once.")
        seen.add(value)


def refuse_length(name: str, values: Any, others: Any) -> None:
    """Refuse values that are not as many as others."""
    if len(values) != len(others):
        raise ValueError(f"{name} has {len(values)} values, but there should be {len(others)}.")


def _refuse_range(name, values, end):
    outside = values[(values < 0) | (values >= end)]
    if len(outside):
        raise ValueError(f"{name} has {outside[0]}, but it must be from 0 to {end - 1}.")


def _refuse_weights(weights, ids):
    if weights is None:
        return
    refuse_length("weights", weights, ids)
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        i = wrong[0]
        raise ValueError(
            f"weights has {weights[i]:g} for query {ids[i]!r}: a weight is finite and not below 0."
        )
