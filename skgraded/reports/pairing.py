"""Pair systems by query id; all systems must have the same queries, measures and weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from skgraded._input.words import counted, plain_list
from skgraded.reports.comparison_rows import check_choice
from skgraded.stats.intervals import ROUNDING, mean_interval
from skgraded.stats.paired_samples import differences_by_query
from skgraded.writing.json_text import ids_from_json, ids_to_json, read_arrays, write_arrays


@dataclass(frozen=True, eq=False)
class QueryValues:
    """Per-query values of several systems, with queries in the same order for all systems."""

    systems: list[str]
    query_ids: np.ndarray
    per_query: dict[str, np.ndarray]  # shape (n_systems, n_queries), keyed by measure name
    weights: np.ndarray | None
    segments: list[Any] | None = None  # in order of first appearance
    segment: np.ndarray | None = None  # position of each query's segment in `segments`

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as lists, except the systems and segments, for JSON."""
        return {
            "query_ids": ids_to_json(self.query_ids),
            "per_query": write_arrays(self.per_query),
            "weights": write_arrays(self.weights),
            "segment": write_arrays(self.segment),
        }

    @classmethod
    def from_dict(
        cls, written: dict[str, Any], systems: list[str], segments: list[Any] | None
    ) -> Self:
        """Create QueryValues from the result of `to_dict`."""
        return cls(
            systems,
            ids_from_json(written["query_ids"]),
            read_arrays(written["per_query"]),
            read_arrays(written["weights"]),
            segments,
            read_arrays(written["segment"], np.intp),
        )

    def differences(
        self, system: str, baseline: str, measure: str, segment: Any = None
    ) -> np.ndarray:
        """Subtract the baseline's values; return nan for missing values and weights of 0."""
        queries = self.queries_of(segment)
        first, second = (
            self.per_query[measure][self.systems.index(name)][queries]
            for name in (baseline, system)
        )
        return differences_by_query(second, first, self.weights_of(queries), merge=True)

    def intervals(self, measure: str, segment: Any, level: float) -> list[tuple[float, float]]:
        """Compute Student's t interval for each system's mean, within a segment or overall."""
        queries = self.queries_of(segment)
        values, weights = self.per_query[measure][:, queries], self.weights_of(queries)
        return [mean_interval(row, weights, level, "t") for row in values]

    def sizes(self) -> dict[Any, int]:
        """Return the number of all queries in each segment, or keyed by None without segments."""
        if self.segments is None or self.segment is None:
            return {None: len(self.query_ids)}
        return dict(zip(self.segments, np.bincount(self.segment).tolist(), strict=True))

    def weights_of(self, queries: Any) -> np.ndarray | None:
        """Return the weights of the queries at these positions, or None if there are no weights."""
        return None if self.weights is None else self.weights[queries]

    def queries_of(self, segment: Any) -> Any:
        """Return the positions of a segment's queries, or of all queries if `segment` is None."""
        if segment is None:
            return slice(None)
        # A dict, because == of a NumPy date and a tuple returns an array.
        place = {name: i for i, name in enumerate(self.segments or [])}
        if segment not in place:
            check_choice("segment", segment, place)
        return np.flatnonzero(self.segment == place[segment])


class Paired(NamedTuple):
    """Evaluations with queries in the same order."""

    values: QueryValues
    undefined: dict[str, np.ndarray]  # boolean arrays of shape (n_systems, n_queries)
    positions: dict[str, np.ndarray]  # of the queries within each Evaluation


def pair_evaluations(evaluations: Mapping[str, Any]) -> Paired:
    """Arrange all queries in the first system's order; raise an error if the queries differ."""
    query_ids = next(iter(evaluations.values())).query_ids
    positions = positions_of(evaluations)
    measures = common_measures(evaluations)
    per_query, undefined = (
        {
            measure: np.array(
                [
                    getattr(evaluation, name)[measure][positions[system]]
                    for system, evaluation in evaluations.items()
                ]
            )
            for measure in measures
        }
        for name in ("per_query", "undefined")
    )
    weights = _common_weights(evaluations, query_ids, positions)
    values = QueryValues(list(evaluations), query_ids, per_query, weights)
    return Paired(values, undefined, positions)


def positions_of(evaluations: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the positions of the first system's queries within each system."""
    (first_name, first), *_ = evaluations.items()
    ids = plain_list(first.query_ids)
    positions, first_queries = {}, dict.fromkeys(ids)
    for name, evaluation in evaluations.items():
        position_of = {query: i for i, query in enumerate(plain_list(evaluation.query_ids))}
        refuse_missing(name, position_of, first_name, first_queries)
        refuse_missing(first_name, first_queries, name, position_of)
        positions[name] = np.array([position_of[query] for query in ids], dtype=np.intp)
    return positions


def refuse_missing(
    name: str, known: Mapping[Any, Any], other_name: str, queries: Collection[Any]
) -> None:
    """Raise a ValueError if a query of the other evaluation is not one of the known queries."""
    missing = [query for query in queries if query not in known]
    if missing:
        raise ValueError(
            f"{name!r} has no values for {len(missing)} of the {len(queries)} queries of "
            f"{other_name!r}, such as {missing[0]!r}; it has values for {next(iter(known))!r}. "
            "Evaluate both on these queries, with ids of the same type."
        )


def common_measures(evaluations: Mapping[str, Any]) -> list[str]:
    """Return the measure names; raise a ValueError if they differ between evaluations."""
    measures = {name: list(evaluation.per_query) for name, evaluation in evaluations.items()}
    first, *others = measures
    for system in others:
        for name, other in ((system, first), (first, system)):
            missing = [measure for measure in measures[other] if measure not in measures[name]]
            if missing:
                evaluated = ", ".join(measures[name])
                raise ValueError(
                    f"{other!r} was evaluated with {missing[0]}, but {name!r} only with "
                    f"{evaluated}. Evaluate both with the same measures."
                )
    return measures[first]


def _common_weights(
    evaluations: Mapping[str, Any],
    query_ids: np.ndarray,
    positions: Mapping[str, np.ndarray],
) -> np.ndarray | None:
    """Return the systems' common weights in the order of `query_ids`, or None if unweighted."""
    if all(evaluation.weights is None for evaluation in evaluations.values()):
        return None
    by_system = {
        name: np.ones(len(query_ids))
        if evaluation.weights is None
        else evaluation.weights[positions[name]]
        for name, evaluation in evaluations.items()
    }
    first_name, common = next(iter(by_system.items()))
    for name, weights in by_system.items():
        differing = np.flatnonzero(weights != common)
        if len(differing):
            n_queries = counted(len(differing), "query", "queries")
            query = plain_list(query_ids[differing])[0]
            pair = [f"{values[differing[0]]:g}" for values in (weights, common)]
            raise ValueError(
                f"Systems {name!r} and {first_name!r} have different weights for {n_queries}, such "
                f"as {pair[0]} and {pair[1]} for query {query!r}. Evaluate all systems with the "
                "same sample_weight."
            )
    return common


def refuse_unequal(weights: np.ndarray | None, query_ids: np.ndarray, advice: str) -> None:
    """Raise a ValueError if positive weights are unequal, because tests ignore weights."""
    if weights is not None and len(pair := unequal_pair(weights)):
        query, other = plain_list(query_ids[pair])
        weight, other_weight = (f"{value:g}" for value in weights[pair])
        raise ValueError(
            f"The tests weight all queries equally, but query {query!r} has weight {weight} and "
            f"query {other!r} has weight {other_weight}. {advice}"
        )


def unequal_pair(weights: np.ndarray | None) -> np.ndarray:
    """Return the positions of two queries whose positive weights differ, or no positions.

    Means of row weights can differ by rounding errors, for example if row weights were divided by
    their mean in each query.
    """
    if weights is None:
        return np.empty(0, dtype=np.intp)
    weighted = np.flatnonzero(weights > 0)
    first = weights[weighted[:1]]
    differing = weighted[np.abs(weights[weighted] - first) > ROUNDING * first]
    return np.append(weighted[:1], differing[:1]) if len(differing) else differing


# Summaries with different queries ----------------------------------------------------------------


def refuse_different_parts(parts: list[Any]) -> None:
    """Raise a ValueError if parts have different settings, or share a label or most queries."""
    first, labels = parts[0], set(parts[0].labels)
    for i, part in enumerate(parts[1:], 1):
        for name in ("systems", "measures", "by"):
            values = [
                f"by={other.by!r}" if name == "by" else ", ".join(getattr(other, name, ()))
                for other in (first, part)
            ]
            if values[0] != values[1]:
                raise ValueError(
                    f"All parts passed to merge must have the same {name}: part 0 has {values[0]}, "
                    f"and part {i} has {values[1]}."
                )
        for label in part.labels:
            if label in labels:
                raise ValueError(
                    f"Part {i} passed to merge has the label {label!r}, as does an earlier part. "
                    "Pass each part only once, so that its queries are not counted twice."
                )
            labels.add(label)
    refuse_other_settings({f"part {i}": part for i, part in enumerate(parts)})


def refuse_other_settings(reports: Mapping[str, Any], may_have_weights: bool = False) -> None:
    """Raise a ValueError if Summaries, keyed by name, have settings that change their meaning.

    If `may_have_weights`, equal weights are treated like no weights.
    """
    named = {name: _single(part) for name, part in reports.items() if part.n_queries}
    for (first_name, first), (name, other) in pairwise(named.items()):
        if first.unjudged_documents != other.unjudged_documents:
            raise ValueError(
                "All Summaries must treat unjudged documents in the same way, but "
                f"unjudged_documents is {first.unjudged_documents!r} in {first_name} and "
                f"{other.unjudged_documents!r} in {name}: evaluate all with the same setting."
            )
        are_weighted = [
            part.is_weighted and not (may_have_weights and not has_unequal_weights(part))
            for part in (first, other)
        ]
        if len(set(are_weighted)) > 1:
            texts = ["weighted" if is_weighted else "unweighted" for is_weighted in are_weighted]
            raise ValueError(
                f"Weighted and unweighted Summaries cannot be combined: {first_name} is "
                f"{texts[0]}, and {name} is {texts[1]}. Evaluate all or none with sample_weight."
            )


def has_unequal_weights(summary: Any) -> bool:
    """Return whether at least two queries of a Summary have different weights."""
    return any(tally.moments.has_unequal_weights for tally in summary.tallies.values())


def _single(report: Any) -> Any:
    """Return a Summary of one system; all systems have the same queries and settings."""
    return next(iter(report.systems.values())) if hasattr(report, "systems") else report
