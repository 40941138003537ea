"""Pair systems by query id; all systems must have the same queries, measures and weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skgraded._input.words import counted, did_you_mean, plain_list
from skgraded.measures import mean_over_queries
from skgraded.reports.comparison_rows import Case, Settings, check_choice, grouped
from skgraded.reports.cross_evaluation import CrossEvaluation
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.report import WEIGHTS, Axis, as_query_ids
from skgraded.stats.intervals import mean_interval
from skgraded.stats.paired_samples import PairedSample, count_outcomes, differences_by_query
from skgraded.stats.paired_tests import TIE_DECIMALS, by_hsd, p_values
from skgraded.stats.prediction_powered import FEWEST_QUERIES, powered_mean, weighted_mean
from skgraded.stats.welch import GroupMean
from skgraded.writing.json_text import (
    FLOATS,
    IDS,
    INTEGERS,
    SEGMENT_NAMES,
    TEXT,
    Form,
    by_name,
    list_of,
    maybe,
    record,
)

FEW_QUERIES = 20  # with fewer human-judged queries, intervals for RR cover the mean too rarely


def check_evaluations(
    evaluations: Any, argument: str = "evaluations", fewest: int = 2
) -> None:
    """Raise an error unless `evaluations` maps at least `fewest` names to Evaluations."""
    if not isinstance(evaluations, Mapping):
        raise TypeError(
            f"Argument {argument} must be a mapping of names to Evaluations, such as "
            f"{{'bm25': ev1, 'lgbm': ev2}}; got {type(evaluations).__name__}."
        )
    if len(evaluations) < fewest:
        raise ValueError(
            f"The number of systems in {argument} must be ≥ {fewest}; got {len(evaluations)}."
        )
    for name, evaluation in evaluations.items():
        if not isinstance(name, str):
            raise TypeError(f"The names in {argument} must be strings; got {name!r}.")
        if not isinstance(evaluation, Evaluation):
            is_summary = hasattr(evaluation, "tallies")
            raise TypeError(
                f"Element {argument}[{name!r}] must be an Evaluation, as returned by evaluate or "
                f"cross_evaluate; got {type(evaluation).__name__}."
                + " To compare Summaries of different queries, use compare_periods." * is_summary
            )


def check_system(argument: str, name: Any, systems: Sequence[str]) -> None:
    """Raise a ValueError if `name` is not one of the systems."""
    if name not in systems:
        raise ValueError(
            f"{argument} must be one of the systems {systems}; got {name!r}."
            f"{did_you_mean(name, systems)}"
        )


@dataclass(frozen=True, eq=False)
class QueryValues:
    """Per-query values of several systems, with queries in the same order for all systems.

    Attributes
    ----------
    systems : list of str
    query_ids : ndarray of shape (n_queries,)
    per_query : dict of str to ndarray of shape (n_systems, n_queries)
        Values keyed by measure name.
    weights : ndarray of shape (n_queries,) or None
    segments : list or None
        Segments in order of first appearance.
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
                    f"per_query[{measure!r}] must have shape {shape} (systems, queries) and "
                    f"contain only finite values or NaN; got shape {values.shape}."
                )
        if self.weights is not None:
            queries.numbers(self.weights, "weights", *WEIGHTS)
        if (self.segments is None) != (self.segment is None):
            raise ValueError("segments and segment must either both be None or both be set.")
        if self.segments is not None:
            if len(set(self.segments)) < len(self.segments):
                raise ValueError(f"segments must be distinct; got {self.segments}.")
            queries.positions(self.segment, "segment", len(self.segments))

    def differences(
        self, system: int, baseline: int, measure: str, queries: Any = slice(None)
    ) -> np.ndarray:
        """Subtract the baseline's values; return nan for missing values and weights of 0."""
        values = self.per_query[measure]
        first, second = values[baseline][queries], values[system][queries]
        return differences_by_query(second, first, self.weights_of(queries))

    def interval(
        self, system: int, measure: str, segment: Any, level: float
    ) -> tuple[float, float]:
        """Compute Student's t interval for a system's mean, within a segment or overall."""
        queries = self.queries_of(segment)
        values, weights = self.per_query[measure][system][queries], self.weights_of(queries)
        low, high = mean_interval(values, weights, level, "t")
        return float(low), float(high)

    def weights_of(self, queries: Any) -> np.ndarray | None:
        """Return the weights of the queries at these positions, or None if there are no weights."""
        return None if self.weights is None else self.weights[queries]

    def queries_of(self, segment: Any) -> Any:
        """Return the positions of a segment's queries, or of all queries if `segment` is None."""
        segments = self.segments or []
        check_choice("segment", segment, segments)
        if segment is None:
            return slice(None)
        return np.flatnonzero(self.segment == segments.index(segment))

    def fill_pairs(
        self, differences: np.ndarray, order: list[int], measure: str, segment: Any
    ) -> None:
        """Fill nan in a matrix of differences with the mean differences between the systems.

        `order` contains the positions of the systems in the order of the rows and columns.
        """
        queries = self.queries_of(segment)
        values = self.per_query[measure][order][:, queries]
        for i, j in np.argwhere(np.isnan(differences) & np.tri(len(order), dtype=bool)):
            gaps = values[i] - values[j]
            differences[i, j] = mean_over_queries(gaps, self.weights_of(queries))
            differences[j, i] = -differences[i, j]


def _read_systems(written: Any, name: str) -> np.ndarray:
    rows = list_of(FLOATS).read(written, name)
    if len(set(map(len, rows))) > 1:
        raise ValueError(
            f"All systems in {name} must have the same number of values; got {[*map(len, rows)]}."
        )
    return np.array(rows)


BY_SYSTEM = Form(lambda values: [FLOATS.write(row) for row in values], _read_systems)
QUERY_VALUES = record(
    QueryValues, systems=list_of(TEXT), query_ids=IDS, per_query=by_name(BY_SYSTEM),
    weights=maybe(FLOATS), segments=maybe(SEGMENT_NAMES), segment=maybe(INTEGERS),
)


class QuerySamples:
    """Paired samples computed from per-query values."""

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
        """Return the summary statistics of the differences in each case."""
        return list(map(self._sample, self.cases, self._differences))

    def _sample(self, case: Case, differences: np.ndarray) -> PairedSample:
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
        """Return the mean difference in each case, for comparisons between segments."""
        return [
            GroupMean.of(differences, self._values.weights_of(case.queries))
            for case, differences in zip(self.cases, self._differences, strict=True)
        ]

    def p_values(self, settings: Settings, advance: Callable[[int], object]) -> np.ndarray:
        """Test each case; all cases in a segment share the same resamples."""
        p = np.empty(len(self.cases))
        for rows in grouped(self.cases, "segment"):
            p[rows] = p_values(
                str(settings.test), np.array([self._differences[i] for i in rows]),
                settings.n_resamples, settings.seed, advance,
            )
        return p

    def tukey(
        self, settings: Settings, advance: Callable[[int], object]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return adjusted p-values and critical differences from randomized Tukey HSD.

        Each pair (measure, segment) is a family. P-values are multiplied by the number of families.
        """
        families = grouped(self.cases, "measure", "segment")
        adjusted, critical = np.empty((2, len(self.cases)))
        for rows in families:
            cases = [self.cases[i] for i in rows]  # cases with the same measure and queries
            measure, queries = cases[0].measure, cases[0].queries
            values, weights = self._values.per_query[measure], self._values.weights
            if weights is not None:
                values = np.where(weights > 0, values, np.nan)
            adjusted[rows], critical[rows] = by_hsd(
                values[:, queries], [(case.system, case.baseline) for case in cases],
                settings.n_tukey, np.random.default_rng(settings.seed),
                (1 - settings.level) / len(families), advance,
            )
        return adjusted * len(families), critical


class Paired(NamedTuple):
    """Evaluations with queries in the same order."""

    values: QueryValues
    undefined: dict[str, np.ndarray]  # boolean arrays of shape (n_systems, n_queries)
    folds: dict[str, np.ndarray]  # fold of each query, keyed by cross-evaluated system


def pair_evaluations(evaluations: Mapping[str, Evaluation]) -> Paired:
    """Arrange all queries in the first system's order; raise an error if the queries differ."""
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


def warn_of_different_folds(folds: Mapping[str, np.ndarray]) -> None:
    """Warn about systems whose folds differ from those of the first cross-evaluated system.

    Such systems were trained on different queries, which affects the differences in their values.
    """
    for name, fold in folds.items():
        first = next(iter(folds))
        pairs = np.unique(np.stack([fold, folds[first]]), axis=1)
        # Fold numbers may differ; the folds agree if each number occurs in exactly one pair.
        if any(pairs.shape[1] != len(np.unique(numbers)) for numbers in pairs):
            warnings.warn(
                f"{name!r} was cross-evaluated on different folds than {first!r}, so the training "
                "queries also affect their differences. Pass the same cv for both.",
                stacklevel=4,  # the caller of compare
            )


def positions_of(evaluations: Mapping[str, Evaluation]) -> dict[str, np.ndarray]:
    """Return the positions of the first system's queries within each system."""
    (first_name, first), *_ = evaluations.items()
    ids = plain_list(first.query_ids)
    positions, first_queries = {}, dict.fromkeys(ids)
    for name, evaluation in evaluations.items():
        position_of = {query: i for i, query in enumerate(plain_list(evaluation.query_ids))}
        _refuse_missing(name, position_of, first_name, first_queries)
        _refuse_missing(first_name, first_queries, name, position_of)
        positions[name] = np.array([position_of[query] for query in ids], dtype=np.intp)
    return positions


def _refuse_missing(
    name: str, known: Mapping[Any, Any], other_name: str, queries: Mapping[Any, Any]
) -> None:
    missing = [query for query in queries if query not in known]
    if missing:
        raise ValueError(
            f"System {name!r} has no values for {len(missing)} of the {len(queries)} queries of "
            f"{other_name!r}, such as {missing[0]!r}; it has values for {next(iter(known))!r}. "
            "Evaluate all systems on the same queries, with ids of the same type."
        )


def common_measures(evaluations: Mapping[str, Evaluation]) -> list[str]:
    """Return the measure names; raise a ValueError if they differ between systems."""
    measures = {name: list(evaluation.per_query) for name, evaluation in evaluations.items()}
    first, *others = measures
    for system in others:
        for name, other in ((system, first), (first, system)):
            missing = [measure for measure in measures[other] if measure not in measures[name]]
            if missing:
                evaluated = ", ".join(measures[name])
                raise ValueError(
                    f"System {other!r} was evaluated with {missing[0]}, but system {name!r} was "
                    f"evaluated only with {evaluated}. Evaluate all systems with the same measures."
                )
    return measures[first]


def _common_weights(
    evaluations: Mapping[str, Evaluation], query_ids: np.ndarray,
    positions: Mapping[str, np.ndarray]
) -> np.ndarray | None:
    """Return the systems' common weights in the order of `query_ids`, or None if unweighted."""
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
            n_queries = counted(len(differing), "query", "queries")
            query = plain_list(query_ids[differing])[0]
            pair = [f"{values[differing[0]]:g}" for values in (weights, common)]
            raise ValueError(
                f"Systems {name!r} and {first_name!r} have different weights for {n_queries}, such "
                f"as {pair[0]} and {pair[1]} for query {query!r}. Evaluate all systems with the "
                "same sample_weight."
            )
    return common


def refuse_unequal(weights: np.ndarray | None, query_ids: np.ndarray) -> None:
    """Raise a ValueError if positive weights are unequal, because tests ignore weights."""
    if weights is None:
        return
    weighted = np.flatnonzero(weights > 0)
    differing = weighted[weights[weighted] != weights[weighted[:1]]]
    if len(differing):
        pair = [weighted[0], differing[0]]
        query, other = plain_list(query_ids[pair])
        weight, other_weight = (f"{value:g}" for value in weights[pair])
        raise ValueError(
            f"The tests weight all queries equally, but query {query!r} has weight {weight} and "
            f"query {other!r} has weight {other_weight}. Pass test=None to get weighted means and "
            "intervals without tests, or evaluate without sample_weight."
        )


# Judgments of people and of a judge --------------------------------------------------------------

def pool_of(
    human: Mapping[str, Evaluation], judge: Mapping[str, Evaluation], names: tuple[str, str],
    stacklevel: int = 4,
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return the human values, and the judge's values for the same queries and for others.

    Each measure has these three arrays, of shape (n_systems, n_queries). The first two have the
    same query order. Error messages use `names` as the names of the first two arguments.
    """
    of_human, of_judge = (
        _checked_values(side, name) for side, name in zip((human, judge), names, strict=True)
    )
    for known, measures, lacking, name in (
        (of_judge, of_human, names[1], names[0]), (of_human, of_judge, *names)
    ):
        missing = [measure for measure in measures.per_query if measure not in known.per_query]
        if missing:
            raise ValueError(
                f"{lacking} lacks the measure {missing[0]} of {name}: evaluate both with the same "
                "measures."
            )
    human_ids, judge_ids = plain_list(of_human.query_ids), plain_list(of_judge.query_ids)
    _check_number(len(human_ids), names[0], stacklevel)
    positions = {query: i for i, query in enumerate(judge_ids)}
    missing = [query for query in human_ids if query not in positions]
    if missing:
        raise ValueError(
            f"{names[1]} lacks {counted(len(missing), 'query', 'queries')} of {names[0]}, such as "
            f"{missing[0]!r}; it contains queries such as {judge_ids[0]!r}. The judge must cover "
            "all queries in the human judgments, with ids of the same type."
        )
    rows = [positions[query] for query in human_ids]
    others = np.setdiff1d(np.arange(len(judge_ids)), rows)
    if len(others) < 2:
        raise ValueError(
            f"{names[1]} must contain at least two queries besides the {len(rows)} queries of "
            f"{names[0]}; got {len(others)}."
        )
    return {
        measure: (
            values, of_judge.per_query[measure][:, rows], of_judge.per_query[measure][:, others]
        )
        for measure, values in of_human.per_query.items()
    }


def _checked_values(evaluations: Mapping[str, Evaluation], argument: str) -> QueryValues:
    """Return the paired values; raise an error if there are nan values or unequal weights."""
    try:
        values = pair_evaluations(evaluations).values
    except ValueError as error:
        raise ValueError(f"{argument}: {error}") from None
    for measure, by_system in values.per_query.items():
        for system, row in zip(values.systems, by_system, strict=True):
            if np.isnan(row).any():
                name = argument if system == argument else f"{argument}[{system!r}]"
                query = plain_list(values.query_ids)[int(np.argmax(np.isnan(row)))]
                raise ValueError(
                    f"{name} has the value nan for {measure} in query {query!r}. Use the measure "
                    "with undefined=0.0, or leave the query out."
                )
    if values.weights is not None and np.ptp(values.weights) > 0:
        raise ValueError(f"{argument} has unequal weights: evaluate without sample_weight.")
    return values


def _check_number(n: int, name: str, stacklevel: int) -> None:
    """Raise an error if there are too few human-judged queries; warn if there are few."""
    if n < FEWEST_QUERIES:
        raise ValueError(
            f"{name} has {counted(n, 'query', 'queries')}, but at least {FEWEST_QUERIES} "
            f"human-judged queries are required; {FEW_QUERIES} or more are better."
        )
    if n < FEW_QUERIES:
        warnings.warn(
            f"{name} has only {n} queries. With fewer than {FEW_QUERIES} human-judged queries, the "
            "intervals are less reliable.",
            stacklevel=stacklevel,
        )


class JudgedSamples:
    """Paired samples computed from human values and from a judge's values."""

    def __init__(self, pool: Mapping[str, Any], cases: Sequence[Case]) -> None:
        self.cases = cases
        self._pool = pool
        self._differences = [
            powered_mean(*(
                np.round(side[case.system] - side[case.baseline], TIE_DECIMALS)
                for side in pool[case.measure]
            ))
            for case in cases
        ]

    def samples(self) -> list[PairedSample]:
        """Return the summary statistics of the differences in each case."""
        return list(map(self._sample, self.cases, self._differences))

    def _sample(self, case: Case, estimate: Any) -> PairedSample:
        human, judge, others = self._pool[case.measure]
        mean, baseline_mean = (
            weighted_mean(human[i], judge[i], others[i], estimate.weight)
            for i in (case.system, case.baseline)
        )
        outcomes = count_outcomes(human[case.system] - human[case.baseline])
        return PairedSample(
            mean, baseline_mean, **outcomes, n_undefined=np.nan, mean_difference=estimate.mean,
            deviation=estimate.standard_error * np.sqrt(estimate.n), differences=estimate,
            weight=estimate.weight, worth=estimate.worth,
        )

    def p_values(self, settings: Settings, advance: Callable[[int], object]) -> np.ndarray:
        """Test each case with Student's t."""
        return np.array([estimate.p_value for estimate in self._differences])
