"""Systems paired by query id: one order of queries, one set of measures and of weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skgraded._input.words import counted, did_you_mean, object_array, plain_list
from skgraded.measures import mean_over_queries
from skgraded.reports.comparison_rows import Case, Settings, check_choice, grouped
from skgraded.reports.cross_evaluation import CrossEvaluation
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.report import WEIGHTS, Axis, as_query_ids
from skgraded.stats.intervals import mean_interval
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
        first, second = values[baseline][queries], values[system][queries]
        return differences_by_query(second, first, self.weights_of(queries))

    def interval(
        self, system: int, measure: str, segment: Any, level: float
    ) -> tuple[float, float]:
        """Interval by t of the mean of a system, by position, within a segment or overall."""
        queries = self.queries_of(segment)
        values, weights = self.per_query[measure][system][queries], self.weights_of(queries)
        low, high = mean_interval(values, weights, level, "t")
        return float(low), float(high)

    def weights_of(self, queries: Any) -> np.ndarray | None:
        """Weights of the queries at these positions, if there are any."""
        return None if self.weights is None else self.weights[queries]

    def queries_of(self, segment: Any) -> Any:
        """Positions of the queries of a segment; all of them if it is None."""
        segments = self.segments or []
        check_choice("segment", segment, segments)
        if segment is None:
            return slice(None)
        return np.flatnonzero(self.segment == segments.index(segment))

    def fill_pairs(
        self, differences: np.ndarray, order: list[int], measure: str, segment: Any
    ) -> None:
        """Replace nan in a matrix of pairs with the mean over the queries that both count for."""
        queries = self.queries_of(segment)
        values = self.per_query[measure][order][:, queries]
        for i, j in np.argwhere(np.isnan(differences) & np.tri(len(order), dtype=bool)):
            gaps = values[i] - values[j]
            differences[i, j] = mean_over_queries(gaps, self.weights_of(queries))
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
        self.cases = cases
        self._values = values
        self._undefined = undefined
        self._differences = [
            values.differences(case.system, case.baseline, case.measure, case.queries)
            for case in cases
        ]

    def samples(self) -> list[PairedSample]:
        """Reduce the differences of each case to numbers."""
        return [self._sample(*both) for both in zip(self.cases, self._differences, strict=True)]

    def _sample(self, case, differences):
        queries, counts = case.queries, ~np.isnan(differences)
        weights = self._values.weights_of(queries)
        systems = [case.system, case.baseline]
        values = self._values.per_query[case.measure][systems][:, queries]
        mean, baseline_mean = (
            mean_over_queries(np.where(counts, row, np.nan), weights) for row in values
        )
        undefined = counts & self._undefined[case.measure][systems][:, queries].all(axis=0)
        if weights is not None:
            weights = weights[counts]
        return PairedSample.of(
            differences[counts], weights, (mean, baseline_mean), int(undefined.sum())
        )

    def groups(self) -> list[GroupMean]:
        """Mean differences of the cases, to compare segments."""
        return [
            GroupMean.of(differences, self._values.weights_of(case.queries))
            for case, differences in zip(self.cases, self._differences, strict=True)
        ]

    def p_values(self, settings: Settings, done: Callable[[int], object]) -> np.ndarray:
        """Test each case; the cases of a segment share their resamples."""
        p = np.empty(len(self.cases))
        for rows in grouped(self.cases, "segment"):
            p[rows] = p_values(
                str(settings.test), np.array([self._differences[i] for i in rows]),
                settings.n_resamples, settings.seed, done,
            )
        return p

    def tukey(
        self, settings: Settings, done: Callable[[int], object]
    ) -> tuple[np.ndarray, np.ndarray]:
        """P-values of randomized Tukey HSD, times the number of measures and segments."""
        families = grouped(self.cases, "measure", "segment")
        adjusted, critical = np.empty((2, len(self.cases)))
        for rows in families:
            cases = [self.cases[i] for i in rows]  # all with this measure and these queries
            measure, queries = cases[0].measure, cases[0].queries
            values, weights = self._values.per_query[measure], self._values.weights
            if weights is not None:
                values = np.where(weights > 0, values, np.nan)
            adjusted[rows], critical[rows] = by_hsd(
                values[:, queries], [(case.system, case.baseline) for case in cases],
                settings.n_tukey, np.random.default_rng(settings.seed),
                (1 - settings.level) / len(families), done,
            )
        return adjusted * len(families), critical


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
    positions, of_first = {}, dict.fromkeys(ids)
    for name, evaluation in evaluations.items():
        position_of = {query: i for i, query in enumerate(plain_list(evaluation.query_ids))}
        _refuse_lack(name, position_of, first_name, of_first)
        _refuse_lack(first_name, of_first, name, position_of)
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
    measures = {name: list(evaluation.per_query) for name, evaluation in evaluations.items()}
    first, *others = measures
    for system in others:
        for name, other in ((system, first), (first, system)):
            lacking = [measure for measure in measures[other] if measure not in measures[name]]
            if lacking:
                raise ValueError(
                    f"{name!r} lacks the measure {lacking[0]} of {other!r}; it has "
                    f"{', '.join(measures[name])}. Evaluate all systems by the same measures."
                )
    return measures[first]


def _common_weights(evaluations, query_ids, positions):
    """Weights in the order of `query_ids`, the same for all systems; None if none has any."""
    if all(evaluation.weights is None for evaluation in evaluations.values()):
        return None
    by_system = {
        name: np.ones(len(query_ids)) if evaluation.weights is None
        else evaluation.weights[positions[name]]
        for name, evaluation in evaluations.items()
    }
    first_name, common = next(iter(by_system.items()))
    for name, weights in by_system.items():
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
