"""Checks of reports that were read from JSON, which anyone may have written or cut."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from skgraded._input.words import plain_list
from skgraded.writing.json_shapes import Maybe

IDS: dict[str, Any] = {"dtype": str, "values": list}  # what the values are `ids_of_json` checks
BY_MEASURE = {str: [Maybe(float)]}
EVALUATION: dict[str, Any] = {
    "query_ids": IDS, "per_query": BY_MEASURE, "undefined": {str: [int]},
    "weights": Maybe([float]),
}
CROSS_EVALUATION: dict[str, Any] = EVALUATION | {
    "fold": [int], "fit_time": [Maybe(float)], "score_time": [Maybe(float)],
    "errors": [Maybe(str)], "train_scores": Maybe(BY_MEASURE),
    "tests": Maybe({"query": [int], "fold": [int], "values": BY_MEASURE}),
}


# Evaluations -------------------------------------------------------------------------------------

def check_evaluation(parts: Mapping[str, Any]) -> None:
    """Refuse parts of an Evaluation that do not belong together; ValueError says which."""
    ids = plain_list(parts["query_ids"])
    refuse_twice("query_ids", ids)
    if not parts["per_query"]:
        raise ValueError("per_query has no measure.")
    for measure, values in parts["per_query"].items():
        refuse_length(f"per_query[{measure!r}]", values, ids)
    if parts["undefined"].keys() != parts["per_query"].keys():
        raise ValueError("undefined and per_query must have the same measures.")
    refuse_weights(parts["weights"], ids)
    if "fold" in parts:
        _check_folds(parts, ids)


def _check_folds(parts, ids):
    n_folds = len(parts["fit_time"])
    refuse_length("fold", parts["fold"], ids)
    _refuse_range("fold", parts["fold"], n_folds)
    for name in ("score_time", "errors"):
        if len(parts[name]) != n_folds:
            raise ValueError(f"{name} has {len(parts[name])} folds, but fit_time has {n_folds}.")
    for name in ("fit_time", "score_time"):
        if (parts[name] < 0).any():
            raise ValueError(f"{name} has {min(parts[name])}, which is no time.")
    scores = parts["train_scores"]
    if scores is not None:
        _refuse_other_measures("train_scores", scores, parts)
        for measure, values in scores.items():
            refuse_length(f"train_scores[{measure!r}]", values, parts["fit_time"])
    tests = parts["tests"]
    if tests is not None:
        _refuse_other_measures("tests.values", tests.values, parts)
        _refuse_range("tests.query", tests.query, len(ids))
        _refuse_range("tests.fold", tests.fold, n_folds)
        for name, values in {"tests.fold": tests.fold, **tests.values}.items():
            refuse_length(name, values, tests.query)


def _refuse_other_measures(name, values, parts):
    if list(values) != list(parts["per_query"]):
        raise ValueError(f"{name} and per_query must have the same measures.")


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


def refuse_weights(weights: np.ndarray | None, ids: list[Any]) -> None:
    """Refuse weights that are not finite numbers ≥ 0, one per query."""
    if weights is None:
        return
    refuse_length("weights", weights, ids)
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        i = wrong[0]
        raise ValueError(
            f"weights has {weights[i]:g} for query {ids[i]!r}: a weight is finite and not below 0."
        )
