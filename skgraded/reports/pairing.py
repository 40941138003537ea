"""Systems paired by query id: one order of queries, one set of measures and of weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skgraded._input.words import counted, did_you_mean, object_array, plain_list
from skgraded.measures import mean_over_queries
from skgraded.reports.comparison_rows import Case, Settings, grouped
from skgraded.reports.cross_evaluation import CrossEvaluation
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.report import WEIGHTS, Axis, as_query_ids
from skgraded.stats.paired_samples import PairedSample, differences_by_query
from skgraded.stats.paired_tests import by_hsd, p_values
from skgraded.stats.welch import GroupMean
from skgraded.writing.json_text import (
    FLOATS,
    IDS,
    INTEGERS,
    TEXT,
    Form,
    by_name,
    ids_to_json,
    list_of,
    maybe,
    record,
)


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


@dataclass(frozen=True, eq=False)
class QueryValues:
    """Per-query values of several systems, in one order of queries.

    Attributes
    ----------
    systems : list of str
    query_ids : ndarray of shape (n_queries,)
    per_query : dict of str to ndarray of shape (n_systems, n_queries)
        By measure name.
    weights : ndarray of shape (n_queries,) or None
    segments : list or None
        In order of first appearance.
    segment : ndarray of shape (n_queries,) of int, or None
        Position of each query's segment in `segments`.
    """

    systems: list[str]
    query_ids: np.ndarray
    per_query: dict[str, np.ndarray]
    weights: np.ndarray | None
    segments: list[Any] | None = None
    segment: np.ndarray | None = None

    def __post_init__(self) -> None:
        queries = Axis("query", "query_ids", as_query_ids(self.query_ids))
        shape = len(self.systems), len(queries.keys)
        for measure, values in self.per_query.items():
            if values.shape != shape or np.isinf(values).any():
                raise ValueError(
                    f"per_query[{measure!r}] has the shape {values.shape}, but there are "
                    f"{shape[0]} systems and {shape[1]} queries; values are finite or nan."
                )
        if self.weights is not None:
            queries.numbers(self.weights, "weights", *WEIGHTS)
        if (self.segments is None) != (self.segment is None):
            raise ValueError("segments and segment must both be None, or neither.")
        if self.segments is not None:
            if len(set(self.segments)) < len(self.segments):
                raise ValueError(f"segments has one of {self.segments} more than once.")
            queries.positions(self.segment, "segment", len(self.segments))

    def differences(
        self, system: int, baseline: int, measure: str, queries: Any = slice(None)
    ) -> np.ndarray:
        """Differences of two systems, by position; nan for queries that do not count."""
        values = self.per_query[measure]
        weights = None if self.weights is None else self.weights[queries]
        return differences_by_query(values[system][queries], values[baseline][queries], weights)

    def queries_of(self, segment: Any) -> Any:
        """Positions of the queries of a segment; all of them if it is None."""
        if segment is None:
            return slice(None)
        segments = self.segments or []
        if segment not in segments:
            raise ValueError(f"segment must be one of {segments} or None; got {segment!r}.")
        return np.flatnonzero(self.segment == segments.index(segment))

    def fill_pairs(
        self, differences: np.ndarray, order: list[int], measure: str, segment: Any
    ) -> None:
        """Replace nan in a matrix of pairs with the mean over the queries that both count for."""
        queries = self.queries_of(segment)
        weights = None if self.weights is None else self.weights[queries]
        values = self.per_query[measure][order][:, queries]
        for i, j in np.argwhere(np.isnan(differences) & np.tri(len(order), dtype=bool)):
            differences[i, j] = mean_over_queries(values[i] - values[j], weights)
            differences[j, i] = -differences[i, j]


def _read_systems(written, name):
    rows = list_of(FLOATS).read(written, name)
    if len(set(map(len, rows))) > 1:
        raise ValueError(f"{name} has systems of {[*map(len, rows)]} values.")
    return np.array(rows)


BY_SYSTEM = Form(lambda values: [FLOATS.write(row) for row in values], _read_systems)
SEGMENT_NAMES = Form(
    lambda segments: ids_to_json(object_array(segments), "segment"),
    lambda written, name: IDS.read(written, name).tolist(),
)
QUERY_VALUES = record(
    QueryValues, systems=list_of(TEXT), query_ids=IDS, per_query=by_name(BY_SYSTEM),
    weights=maybe(FLOATS), segments=maybe(SEGMENT_NAMES), segment=maybe(INTEGERS),
)


class QuerySamples:
    """Per-query values as a source of samples."""

    def __init__(
        self, values: QueryValues, undefined: dict[str, np.ndarray], cases: Sequence[Case]
    ) -> None:
        self._values = values
        self._undefined = undefined
        self._differences = [
            values.differences(case.system, case.baseline, case.measure, case.queries)
            for case in cases
        ]

    def samples(self, cases: Sequence[Case]) -> list[PairedSample]:
        """Reduce the differences of each case to numbers."""
        return [self._sample(*both) for both in zip(cases, self._differences, strict=True)]

    def _sample(self, case, differences):
        counts = ~np.isnan(differences)
        weights, queries = self._values.weights, case.queries
        if weights is not None:
            weights = weights[queries]
        means, undefined = [], counts.copy()
        for system in (case.system, case.baseline):
            values = self._values.per_query[case.measure][system][queries]
            means.append(mean_over_queries(np.where(counts, values, np.nan), weights))
            undefined &= self._undefined[case.measure][system][queries]
        if weights is not None:
            weights = weights[counts]
        return PairedSample.of(
            differences[counts], weights, (means[0], means[1]), int(np.count_nonzero(undefined))
        )

    def groups(self, cases: Sequence[Case]) -> list[GroupMean]:
        """Mean differences of the cases, to compare segments."""
        weights = self._values.weights
        return [
            GroupMean.of(differences, None if weights is None else weights[case.queries])
            for case, differences in zip(cases, self._differences, strict=True)
        ]

    def p_values(
        self, cases: Sequence[Case], settings: Settings, done: Callable[[int], object]
    ) -> np.ndarray:
        """Test each case; the cases of a segment share their resamples."""
        p = np.full(len(cases), np.nan)
        for rows in grouped(cases, "segment"):
            p[rows] = p_values(
                str(settings.test), np.array([self._differences[i] for i in rows]),
                settings.n_resamples, settings.seed, done,
            )
        return p

    def tukey(
        self, cases: Sequence[Case], settings: Settings, done: Callable[[int], object]
    ) -> tuple[np.ndarray, np.ndarray]:
        """P-values of randomized Tukey HSD, times the number of measures and segments."""
        families = grouped(cases, "measure", "segment")
        adjusted, critical = np.empty((2, len(cases)))
        weights = self._values.weights
        for rows in families:
            first = cases[rows[0]]  # any numbers do: all have this measure and segment
            counting = self._values.per_query[first.measure]
            if weights is not None:
                counting = np.where(weights > 0, counting, np.nan)
            adjusted[rows], critical[rows] = by_hsd(
                counting[:, first.queries], [(cases[i].system, cases[i].baseline) for i in rows],
                settings.n_tukey, np.random.default_rng(settings.seed),
                (1 - settings.level) / len(families), done,
            )
        return np.minimum(adjusted * len(families), 1.0), critical


class Paired(NamedTuple):
    """Evaluations in one order of queries."""

    values: QueryValues
    undefined: dict[str, np.ndarray]  # (n_systems, n_queries) of bool, by measure
    folds: dict[str, np.ndarray]  # the fold of each query, by system, if it was cross-evaluated


def pair_evaluations(evaluations: Mapping[str, Evaluation]) -> Paired:
    """Bring all systems into the order of queries of the first; refuse what does not match."""
    query_ids = next(iter(evaluations.values())).query_ids
    positions = positions_of(evaluations)
    measures = common_measures(evaluations)
    per_query, undefined = (
        {
            measure: np.array([
                getattr(evaluation, name)[measure][positions[system]]
                for system, evaluation in evaluations.items()
            ])
            for measure in measures
        }
        for name in ("per_query", "undefined")
    )
    weights = _common_weights(evaluations, query_ids, positions)
    folds = {
        name: evaluation.fold[positions[name]] for name, evaluation in evaluations.items()
        if isinstance(evaluation, CrossEvaluation)
    }
    return Paired(QueryValues(list(evaluations), query_ids, per_query, weights), undefined, folds)


def warn_of_other_folds(folds: Mapping[str, np.ndarray]) -> None:
    """Warn of systems that were cross-evaluated on other folds than the first such system.

    Their differences are then also those of the folds.
    """
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
