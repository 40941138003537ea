"""Checks of reports that were read from JSON, which anyone may have written or cut."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from skgraded._input.columns import number, whole_number
from skgraded._input.words import plain_list
from skgraded.reports.paired_tests import CORRECTIONS, TESTS


def check_evaluation(parts: Mapping[str, Any]) -> None:
    """Refuse parts of an Evaluation that do not belong together; ValueError says which."""
    ids = plain_list(parts["query_ids"])
    _refuse_twice("query_ids", ids)
    for measure, values in parts["per_query"].items():
        _refuse_length(f"per_query[{measure!r}]", values, ids)
    if parts["undefined"].keys() != parts["per_query"].keys():
        raise ValueError("undefined and per_query must have the same measures.")
    _refuse_weights(parts["weights"], ids)
    if "fold" in parts:
        _check_folds(parts, ids)


def _check_folds(parts, ids):
    n_folds = len(parts["fit_time"])
    _refuse_length("fold", parts["fold"], ids)
    _refuse_range("fold", parts["fold"], n_folds)
    for name in ("score_time", "errors"):
        if len(parts[name]) != n_folds:
            raise ValueError(f"{name} has {len(parts[name])} folds, but fit_time has {n_folds}.")
    tests = parts["tests"]
    if tests is not None:
        _refuse_range("tests.query", tests.query, len(ids))
        _refuse_range("tests.fold", tests.fold, n_folds)
        for name, values in {"tests.fold": tests.fold, **tests.values}.items():
            _refuse_length(name, values, tests.query)


def check_comparison(parts: Mapping[str, Any], columns: tuple[str, ...]) -> None:
    """Refuse parts of a Comparison that do not belong together; ValueError says which."""
    ids, systems = plain_list(parts["query_ids"]), parts["systems"]
    _refuse_twice("query_ids", ids)
    _refuse_twice("systems", systems)
    number("level", 0, 1, above=True, below=True)(parts["level"])
    whole_number(parts["n_resamples"], "n_resamples", 1)
    for name, known in (("test", TESTS), ("correction", CORRECTIONS), ("baseline", systems)):
        if parts[name] is not None and parts[name] not in known:
            raise ValueError(f"{name} must be one of {list(known)} or null; got {parts[name]!r}.")
    for measure in parts["measures"]:
        values = parts["per_query"].get(measure)
        if values is None:
            raise ValueError(f"per_query lacks the measure {measure!r}.")
        if values.shape != (len(systems), len(ids)):
            raise ValueError(
                f"per_query[{measure!r}] has the shape {values.shape}, but there are "
                f"{len(systems)} systems and {len(ids)} queries."
            )
    _refuse_weights(parts["weights"], ids)
    _check_table(parts, columns)


def _check_table(parts, columns):
    table = parts["table"]
    n_rows = len(table.get("system", []))
    for name in columns:
        if name not in table:
            raise ValueError(f"table lacks the column {name!r}.")
        if len(table[name]) != n_rows:
            raise ValueError(
                f"table[{name!r}] has {len(table[name])} rows, but table['system'] has {n_rows}."
            )
    for name, known in (
        ("system", parts["systems"]), ("baseline", parts["systems"]), ("measure", parts["measures"])
    ):
        for cell in table[name]:
            if cell not in known:
                raise ValueError(f"table[{name!r}] has {cell!r}, which is none of {known}.")
    for name in ("p_value", "p_adjusted"):
        for cell in table[name]:
            if not (cell != cell or 0 <= cell <= 1):
                raise ValueError(f"table[{name!r}] has {cell!r}, which is no probability.")


def _refuse_twice(name, values):
    seen = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{name} has {value!r} more than once.")
        seen.add(value)


def _refuse_length(name, values, others):
    if len(values) != len(others):
        raise ValueError(f"{name} has {len(values)} values, but there should be {len(others)}.")


def _refuse_range(name, values, end):
    outside = values[(values < 0) | (values >= end)]
    if len(outside):
        raise ValueError(f"{name} has {outside[0]}, but it must be from 0 to {end - 1}.")


def _refuse_weights(weights, ids):
    if weights is None:
        return
    _refuse_length("weights", weights, ids)
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        i = wrong[0]
        raise ValueError(
            f"weights has {weights[i]:g} for query {ids[i]!r}: a weight is finite and not below 0."
        )
