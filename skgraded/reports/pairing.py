"""Pair systems by query id; all systems must have the same queries, measures and weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skgraded._input.door import plain, to_plain_list
from skgraded._input.messages import counted, warn_user
from skgraded._input.queries import query_codes, sort_positions
from skgraded._kernels.sums import mean_of_defined
from skgraded.stats.intervals import MeanEstimate, estimate_mean
from skgraded.stats.paired_tests import PairedSample, summarize_pair
from skgraded.stats.rounding import ROUNDING

if TYPE_CHECKING:
    from skgraded.reports.evaluation import Evaluation


FEWEST_CLUSTERS = 15


class Samples(ABC):
    """Base class for the data that `compare` uses: per-query values or exact sums."""

    _summarize_pair: Callable[[str, str, str], PairedSample]
    # Returns a tuple (system, mean, mean estimate, lacks_values) for each system.
    _estimate_means: Callable[[str], list[tuple[str, float, Any, bool]]]

    @property
    @abstractmethod
    def n_queries(self) -> int:
        """Number of queries."""


@dataclass(frozen=True)
class Paired(Samples):
    """Per-query values of several systems, with the queries in the same order."""

    systems: list[str]
    query_ids: np.ndarray
    per_query: dict[str, np.ndarray]  # arrays of shape (n_systems, n_queries), keyed by measure
    undefined: dict[str, np.ndarray]  # boolean arrays of the same shape
    weights: np.ndarray | None
    cluster: np.ndarray | None  # integer code of each query's cluster
    first: np.ndarray  # position of each query in the first system

    def take(self, queries: np.ndarray) -> Self:
        """Return the queries at these positions."""
        return replace(
            self,
            query_ids=self.query_ids[queries],
            per_query={name: values[:, queries] for name, values in self.per_query.items()},
            undefined={name: flags[:, queries] for name, flags in self.undefined.items()},
            weights=None if self.weights is None else self.weights[queries],
            cluster=None if self.cluster is None else self.cluster[queries],
            first=self.first[queries],
        )

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.query_ids)

    def _summarize_pair(self, system: str, baseline: str, measure: str) -> PairedSample:
        """Summarize the differences between two systems."""
        pair = [self.systems.index(name) for name in (system, baseline)]
        are_undefined: Any = self.undefined[measure][pair].all(axis=0)
        values, baseline_values = self.per_query[measure][pair]
        return summarize_pair(values, baseline_values, are_undefined, self.weights, self.cluster)

    def _estimate_means(self, measure: str) -> list[tuple[str, float, MeanEstimate, bool]]:
        """Return a tuple (system, mean, mean estimate, lacks_values) for each system."""
        values, weights = self.per_query[measure], self.weights
        counts = ~np.isnan(values) if weights is None else ~np.isnan(values) & (weights > 0)
        lacks_values = (counts.any(axis=0) & ~counts).any(axis=1)
        means = [mean_of_defined(row, weights) for row in values]
        estimates = [estimate_mean(row, weights, self.cluster) for row in values]
        return list(zip(self.systems, means, estimates, lacks_values, strict=True))


def pair_evaluations(evaluations: Mapping[str, Any]) -> Paired:
    """Align the queries of all systems; raise a ValueError if the queries differ.

    If all systems have the same query order, it is kept. Otherwise, queries are sorted by id, so
    that random draws do not depend on the order of the systems.
    """
    positions = find_positions_in(evaluations)
    ids = next(iter(evaluations.values())).query_ids
    first = np.arange(len(ids))
    if any((rows != first).any() for rows in positions.values()):
        first = sort_positions(ids)
        positions = {system: rows[first] for system, rows in positions.items()}
    per_query, undefined = (
        {
            measure: np.array(
                [
                    getattr(evaluation, name)[measure][positions[system]]
                    for system, evaluation in evaluations.items()
                ]
            )
            for measure in check_common_measures(evaluations)
        }
        for name in ("per_query", "undefined")
    )
    weights, clusters = (
        _find_common(evaluations, positions, field) for field in ("weights", "clusters")
    )
    return Paired(
        list(evaluations),
        ids[first],
        per_query,
        undefined,
        weights,
        None if clusters is None else query_codes(clusters, name="clusters")[0],
        first,
    )


def find_positions_in(evaluations: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the positions of the first system's queries in each Evaluation, keyed by system."""
    (first_name, first), *others = evaluations.items()
    positions = {first_name: np.arange(len(first.query_ids))}
    for name, evaluation in others:
        positions[name] = positions[first_name]
        if evaluation.query_ids is not first.query_ids:
            queries = dict.fromkeys(to_plain_list(first.query_ids))
            place = {query: i for i, query in enumerate(to_plain_list(evaluation.query_ids))}
            refuse_missing(name, place, first_name, queries)
            refuse_missing(first_name, queries, name, place)
            positions[name] = np.array([place[query] for query in queries], dtype=np.intp)
    return positions


def refuse_missing(
    name: str, known: Mapping[Any, Any], other_name: str, queries: Collection[Any]
) -> None:
    """Raise a ValueError if one Evaluation lacks a query that the other contains."""
    missing = [query for query in queries if query not in known]
    if missing:
        raise ValueError(
            f"{name!r} has no values for {len(missing)} of the {len(queries)} queries of "
            f"{other_name!r}, such as {missing[0]!r}; {name!r} contains queries such as "
            f"{next(iter(known))!r}. Evaluate both systems on the same queries, with ids of the same "
            "type."
        )


def check_common_measures(evaluations: Mapping[str, Any]) -> list[str]:
    """Return the measure names; raise a ValueError if they differ between evaluations."""
    (first_name, first), *others = evaluations.items()
    for name, other in others:
        if set(other.per_query) != set(first.per_query):
            raise ValueError(
                f"{name!r} was evaluated with {', '.join(other.per_query)}, but {first_name!r} "
                f"with {', '.join(first.per_query)}. Evaluate both with the same measures."
            )
    return list(first.per_query)


def _find_common(
    evaluations: Mapping[str, Evaluation], positions: Mapping[str, np.ndarray], field: str
) -> np.ndarray | None:
    """Return the weights or clusters shared by all systems, in the first system's query order.

    The result is None if no system has weights or clusters. Missing weights are treated as 1. A
    ValueError is raised if the weights or clusters of the systems differ.
    """
    arrays = {name: getattr(evaluation, field) for name, evaluation in evaluations.items()}
    if all(values is None for values in arrays.values()):
        return None
    default = np.ones if field == "weights" else partial(np.full, fill_value=None, dtype=object)
    (first_name, common), *others = (
        (name, default(len(positions[name])) if values is None else values[positions[name]])
        for name, values in arrays.items()
    )
    for name, values in others:
        differs = values != common
        if differs.any():
            i = int(np.argmax(differs))
            query = to_plain_list(evaluations[first_name].query_ids)[i]
            raise ValueError(
                f"Systems {name!r} and {first_name!r} have different {field}, such as "
                f"{plain(values[i])!r} and {plain(common[i])!r} for query {query!r}. Evaluate all "
                f"systems with the same {field}."
            )
    return common


def number_clusters(evaluation: Evaluation) -> np.ndarray | None:
    """Return the integer code of each query's cluster, or None if there are no clusters."""
    clusters = evaluation.clusters
    return None if clusters is None else query_codes(clusters, name="clusters")[0]


def count_clusters(evaluation: Evaluation) -> dict[str, int] | None:
    """For each measure, count the clusters that have a value with a positive weight."""
    cluster, weights = number_clusters(evaluation), evaluation.weights
    if cluster is None:
        return None
    counts = True if weights is None else weights > 0
    return {
        name: len(np.unique(cluster[counts & ~np.isnan(values)]))
        for name, values in evaluation.per_query.items()
    }


def warn_of_few_clusters(n_clusters: Iterable[int]) -> None:
    """Warn if there are too few clusters for reliable intervals and tests."""
    if (n := min(n_clusters)) < FEWEST_CLUSTERS:
        warn_user(
            f"Only {counted(n, 'cluster has', 'clusters have')} a value: with fewer than "
            f"{FEWEST_CLUSTERS}, intervals can be too narrow and tests can reject too often."
        )


def refuse_unequal(weights: np.ndarray | None, advice: str) -> None:
    """Raise a ValueError if positive weights are unequal, because tests ignore weights."""
    if weights is not None and are_unequal(weights):
        raise ValueError(
            "The tests weight all queries equally, but the weights range from "
            f"{weights[weights > 0].min():g} to {weights.max():g}. {advice}"
        )


def are_unequal(weights: np.ndarray | None) -> bool:
    """Return whether at least two queries have different positive weights.

    Rounding errors, such as those from dividing row weights by the mean weight of each query, are
    ignored.
    """
    positive = np.empty(0) if weights is None else weights[weights > 0]
    return len(positive) > 0 and bool(np.ptp(positive) > ROUNDING * positive.max())
