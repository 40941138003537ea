"""Validation of the input of Displays: systems, their names and scores, and reports."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skgraded._input.door import check_scores, check_unjudged_documents
from skgraded._input.query_source import is_column
from skgraded.judgments import Judgments, as_judgments, without_unjudged
from skgraded.measures import Measure
from skgraded.reports.comparison import Comparison
from skgraded.reports.report import evaluated_name


def systems_of(systems: Any, name: Any, argument: str) -> tuple[Any, list[Any]]:
    """Return the names (None if not given) and values of one system or a mapping of systems."""
    if not isinstance(systems, Mapping):
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name must be a str, because there is a single system; got {name!r}.")
        return None if name is None else [name], [systems]
    if name is not None:
        raise ValueError(f"name must be None, because the keys of {argument} name the systems.")
    if not systems:
        raise ValueError(f"The mapping {argument} is empty: pass at least one system.")
    return [str(key) for key in systems], list(systems.values())


def check_predictions(
    y_true: Any, y_score: Any, name: Any, unjudged_documents: str | None = None, **truth: Any
) -> tuple[Judgments, Any, list[np.ndarray]]:
    """Return the judgments, the names of the systems (or None), and their checked scores."""
    rule = check_unjudged_documents(unjudged_documents)
    names, systems = systems_of(y_score, name, "y_score")
    judgments = as_judgments(y_true, **truth)
    arguments = ["y_score"] if names is None else [f"y_score of {key!r}" for key in names]
    scores = [
        check_scores(values, judgments.n_rows, argument)
        for values, argument in zip(systems, arguments, strict=True)
    ]
    if rule is not None:
        judgments, rows = without_unjudged(judgments, rule)
        if rows is not None:  # row -1 has the score -inf
            scores = [np.append(values, -np.inf)[rows] for values in scores]
    return judgments, names, scores


def common_source(estimators: Sequence[Any]) -> Any:
    """Return the query column or Series that all estimators specify."""
    first, *others = (getattr(model, "qid", None) for model in estimators)
    alike = (
        qid is first or (is_column(qid) and is_column(first) and qid == first) for qid in others
    )
    if first is None or not all(alike):
        raise ValueError(
            "from_estimator requires the query of each row: pass qid or group, or pass estimators "
            "that all name the same column of X, such as QueryRanker(…, qid='query_id')."
        )
    return first


def as_names(name: Any, n_systems: int) -> Any:
    """Return the names as a list with one element per system, or None if `name` is None."""
    if name is None:
        return None
    names = [name] if isinstance(name, str) else list(name)
    if len(names) != n_systems:
        raise ValueError(f"name must contain {n_systems} names, one per system; got {name!r}.")
    return names


def systems_first(values: Any, argument: str, shape: tuple[int, ...]) -> np.ndarray:
    """Reshape values to shape (n_systems, *shape); leading axes of length 1 may be missing."""
    array = np.asarray(values, dtype=float)
    full = (1,) * (len(shape) + 1 - array.ndim) + array.shape
    if len(full) != len(shape) + 1 or full[1:] != shape or not array.size:
        wanted = ", ".join(map(str, ("n_systems", *shape)))
        rule = f"{argument} must have shape ({wanted}) and must not be empty"
        raise ValueError(f"{rule}; got shape {array.shape}.")
    return array.reshape(full)


def check_shape(array: np.ndarray, shape: tuple[int, ...], rule: str) -> None:
    """Raise a ValueError that states the rule unless the array has the shape and any elements."""
    if not array.size:
        raise ValueError(f"{rule}, and must not be empty; got shape {array.shape}.")
    if array.shape != shape:
        raise ValueError(f"{rule}; got {array.shape}.")


def check_comparison(comparison: Any) -> None:
    """Raise an error unless the argument is a Comparison without segments."""
    check_made_by("compare", comparison, Comparison, "comparison")
    if comparison.segments is not None:
        raise ValueError("comparison must not have segments: call compare without by=.")


def check_made_by(function: str, report: Any, cls: type, argument: str) -> None:
    """Raise an error unless `report` is an instance of `cls`, the type that `function` returns."""
    if not isinstance(report, cls):
        raise TypeError(
            f"Argument {argument} must be of type {cls.__name__}, as returned by {function}; "
            f"got {type(report).__name__}."
        )


def measure_names(measures: Any, known: list[str]) -> list[str]:
    """Return the names of the measures to show; None means all known measures."""
    if measures is None:
        return known
    if isinstance(measures, (str, Measure)):
        measures = [measures]
    names = [evaluated_name(measure, known) for measure in measures]
    if not names:
        raise ValueError("measures is empty: pass at least one measure.")
    return names
