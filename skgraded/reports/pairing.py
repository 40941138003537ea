"""Systems paired by query id: one order of queries, one set of measures and of weights."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skgraded._input.words import counted, did_you_mean, plain_list
from skgraded.reports.cross_evaluation import CrossEvaluation
from skgraded.reports.evaluation import Evaluation


def check_evaluations(
    evaluations: Any, argument: str = "evaluations", fewest: int = 2
) -> None:
    """Refuse what is not a mapping of two or more Evaluations by name."""
    if not isinstance(evaluations, Mapping):
        raise TypeError(
            f"{argument} must be a mapping of names to Evaluations, such as "
            f"{{'bm25': ev1, 'lgbm': ev2}}; got {type(evaluations).__name__}."
        )
    if len(evaluations) < fewest:
        raise ValueError(
            f"{argument} has {counted(len(evaluations), 'system', 'systems')}: "
            f"give at least {'two to compare' if fewest == 2 else fewest}."
        )
    for name, evaluation in evaluations.items():
        if not isinstance(name, str):
            raise TypeError(f"{argument} must be named by text; got the name {name!r}.")
        if not isinstance(evaluation, Evaluation):
            raise TypeError(
                f"{argument}[{name!r}] must be an Evaluation, made by evaluate or "
                f"cross_evaluate; got {type(evaluation).__name__}."
            )


def check_system(argument: str, name: Any, systems: Sequence[str]) -> None:
    """Refuse a name that is not one of the systems."""
    if name not in systems:
        raise ValueError(
            f"{argument} must be one of the systems {systems}; got {name!r}."
            f"{did_you_mean(name, systems)}"
        )


def paired(
    evaluations: Mapping[str, Evaluation]
) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray | None]:
    """Bring all systems into one order of queries, that of the first.

    Returns query ids (n_queries,), values (n_systems, n_queries) by measure, and weights or None.
    """
    query_ids = next(iter(evaluations.values())).query_ids
    positions = positions_of(evaluations)
    measures = common_measures(evaluations)
    weights = _common_weights(evaluations, query_ids, positions)
    per_query = {
        measure: np.array([
            evaluation.per_query[measure][positions[system]]
            for system, evaluation in evaluations.items()
        ])
        for measure in measures
    }
    return query_ids, per_query, weights


def undefined_of_all(evaluations: Mapping[str, Evaluation]) -> dict[str, np.ndarray]:
    """Which queries have no value of their own, (n_systems, n_queries) by measure, as `paired`."""
    positions = positions_of(evaluations)
    return {
        measure: np.array([
            evaluation.undefined[measure][positions[system]]
            for system, evaluation in evaluations.items()
        ])
        for measure in next(iter(evaluations.values())).per_query
    }


def warn_of_folds(evaluations: Mapping[str, Evaluation]) -> None:
    """Warn of systems that were cross-evaluated on other folds than the first such system.

    Their differences are then also those of the folds.
    """
    positions = positions_of(evaluations)
    folds = {
        name: evaluation.fold[positions[name]] for name, evaluation in evaluations.items()
        if isinstance(evaluation, CrossEvaluation)
    }
    for name, own in folds.items():
        first = next(iter(folds))
        both = np.unique(np.stack([own, folds[first]]), axis=1)
        if any(both.shape[1] != len(np.unique(one)) for one in both):  # whatever their numbers
            warnings.warn(
                f"{name!r} was cross-evaluated on other folds than {first!r}, so that their "
                "differences are also those of the training queries: give both the same cv.",
                stacklevel=3,
            )


def positions_of(evaluations):
    """Where each system has the queries of the first, by its name."""
    (first_name, first), *_ = evaluations.items()
    ids = plain_list(first.query_ids)
    positions = {}
    for name, evaluation in evaluations.items():
        own = plain_list(evaluation.query_ids)
        position_of = {query: i for i, query in enumerate(own)}
        if len(position_of) < len(own):
            query = next(query for i, query in enumerate(own) if position_of[query] != i)
            raise ValueError(f"{name!r} has query {query!r} more than once.")
        _refuse_lack(name, position_of, first_name, ids)
        _refuse_lack(first_name, set(ids), name, own)
        positions[name] = np.array([position_of[query] for query in ids], dtype=np.intp)
    return positions


def _refuse_lack(name, known, other_name, queries):
    lacking = [query for query in queries if query not in known]
    if lacking:
        raise ValueError(
            f"{name!r} lacks {len(lacking)} of the {len(queries)} queries of {other_name!r}, "
            f"{lacking[0]!r} among them; its own are such as {next(iter(known))!r}. Evaluate all "
            "systems on the same queries, with ids of the same type."
        )


def common_measures(evaluations):
    """Names of the measures, which all systems have."""
    (first_name, first), *others = evaluations.items()
    for name, evaluation in others:
        pairs = ((name, evaluation, first_name, first), (first_name, first, name, evaluation))
        for one_name, one, other_name, other in pairs:
            for measure in other.per_query:
                if measure not in one.per_query:
                    raise ValueError(
                        f"{one_name!r} lacks the measure {measure} of {other_name!r}; it has "
                        f"{', '.join(one.per_query)}. Evaluate all systems by the same measures."
                    )
    return list(first.per_query)


def _common_weights(evaluations, query_ids, positions):
    """Weights in the order of `query_ids`, the same for all systems; None if none has any."""
    if all(evaluation.weights is None for evaluation in evaluations.values()):
        return None
    first_name, common = None, None
    for name, evaluation in evaluations.items():
        weights = np.ones(len(query_ids))
        if evaluation.weights is not None:
            weights = np.asarray(evaluation.weights, dtype=float)[positions[name]]
        if common is None:
            first_name, common = name, weights
        differing = np.flatnonzero(weights != common)
        if len(differing):
            i = differing[0]
            query = plain_list(query_ids[differing])[0]
            raise ValueError(
                f"{name!r} has other weights than {first_name!r} for {len(differing)} queries: "
                f"query {query!r} has {weights[i]:g}, there {common[i]:g}. "
                "Evaluate all systems with the same sample_weight."
            )
    return common


def refuse_unequal(weights: np.ndarray | None, query_ids: np.ndarray) -> None:
    """Refuse weights of which two above 0 differ: the tests take all queries alike."""
    if weights is None:
        return
    weighted = np.flatnonzero(weights > 0)
    differing = weighted[weights[weighted] != weights[weighted[:1]]]
    if len(differing):
        pair = [weighted[0], differing[0]]
        (query, weight), (other, other_weight) = zip(
            plain_list(query_ids[pair]), weights[pair], strict=True
        )
        raise ValueError(
            f"The tests take all queries alike, but query {query!r} has weight {weight:g} and "
            f"query {other!r} has {other_weight:g}. Use test=None, which "
            "gives weighted means and intervals, or evaluate without sample_weight."
        )
