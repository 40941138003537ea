"""The one pipeline of comparisons: samples, p-values, correction, level of the intervals, rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np

from skgraded._input.progress import unseen
from skgraded.stats.corrections import (
    adjust,
    is_significant,
    level_of_each,
    widen_to_zero,
    without_hsd,
)
from skgraded.stats.intervals import METHODS, t_interval, t_reach
from skgraded.stats.paired_samples import PairedSample
from skgraded.stats.paired_tests import FEWEST, TESTS, smallest_p
from skgraded.stats.power import detectable_effect
from skgraded.stats.welch import GroupMean, welch_interval, welch_p_value
from skgraded.writing import tables
from skgraded.writing.json_text import (
    INTEGER,
    NULL,
    PLAIN_NUMBER,
    TEXT,
    Form,
    list_of,
    read_fields,
)

Sample = TypeVar("Sample")
Row = TypeVar("Row")


# What is compared, and how -----------------------------------------------------------------------

class Case(NamedTuple):
    """What one row compares: two systems, by position, and maybe within a segment."""

    measure: str
    system: int
    baseline: int
    segment: Any = None
    queries: Any = slice(None)  # positions of the queries of the segment


class Settings(NamedTuple):
    """How rows are tested: as `compare` describes its parameters."""

    test: str | None
    correction: str | None
    level: float
    n_resamples: int
    seed: int  # of the resamples

    @property
    def n_tukey(self) -> int:
        """Resamples of HSD, each of which costs as much as many sign flips."""
        return min(self.n_resamples, FEWEST)


def pairs_of(systems: Sequence[str], baseline: str | None) -> list[tuple[int, int]]:
    """Positions (baseline, system): each system with each earlier one, or all with the baseline."""
    if baseline is None:
        return list(combinations(range(len(systems)), 2))
    first = systems.index(baseline)
    return [(first, i) for i in range(len(systems)) if i != first]


def cases_of(
    systems: Sequence[str], measures: Sequence[str], baseline: str | None,
    segments: Sequence[tuple[Any, Any]] = (),
) -> list[Case]:
    """Cases of pairs, measures and segments, which are pairs (name, positions of queries)."""
    return [
        Case(measure, system, first, segment, queries)
        for first, system in pairs_of(systems, baseline) for measure in measures
        for segment, queries in segments or [(None, slice(None))]
    ]


def grouped(cases: Sequence[Case], *names: str) -> list[list[int]]:
    """Positions of the cases with equal fields."""
    groups: dict = {}
    for i, case in enumerate(cases):
        groups.setdefault(tuple(getattr(case, name) for name in names), []).append(i)
    return list(groups.values())


# Rows --------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class ComparisonRow:
    """Two systems compared; `compare` describes the columns."""

    segment: Any  # None without segments
    system: str
    measure: str
    mean: float
    difference: float
    ci_low: float
    ci_high: float
    p_value: float
    p_adjusted: float
    n_queries: int
    wins: int
    ties: int
    losses: int
    n_undefined: float
    effect_size: float
    min_detectable: float
    baseline: str
    baseline_mean: float
    ci_method: str = "t"

    def __post_init__(self) -> None:
        _check_numbers(self)
        if self.ci_method not in METHODS:
            raise ValueError(f"ci_method of {self} must be one of {list(METHODS)}.")
        if self.wins + self.ties + self.losses != self.n_queries:
            raise ValueError(f"Wins, ties and losses of {self} are not n_queries.")


@dataclass(frozen=True)
class SegmentGap:
    """How a difference differs between two segments; see `Comparison.between_segments`."""

    system: str
    measure: str
    segment: Any
    other_segment: Any
    difference: float
    other_difference: float
    interaction: float
    ci_low: float
    ci_high: float
    p_value: float
    p_adjusted: float
    n_queries: int
    other_n_queries: int
    baseline: str

    def __post_init__(self) -> None:
        _check_numbers(self)


def _check_numbers(row):
    for name, cell in vars(row).items():
        if name not in ("segment", "other_segment") and cell in (math.inf, -math.inf):
            raise ValueError(f"{name} of {row} is {cell!r}, which is not finite.")
        is_count = name in COUNTS or name == "n_undefined" and cell == cell
        if is_count and not (type(cell) is int and cell >= 0):
            raise ValueError(f"{name} of {row} is {cell!r}, which is no whole number ≥ 0.")
    for name in ("p_value", "p_adjusted"):
        p = getattr(row, name)
        if not (p != p or 0 <= p <= 1):
            raise ValueError(f"{name} of {row} is {p!r}, which is no probability.")
    if row.ci_low > row.ci_high:
        raise ValueError(f"{row} has an interval from {row.ci_low!r} to {row.ci_high!r}.")


@dataclass(frozen=True)
class ShownRow(ComparisonRow):
    """A row as texts show it: p-values that are only upper bounds are marked."""

    heading: str = ""  # the measure, and the segment if there are any
    is_significant: bool | None = None  # None without a test


COLUMNS = [column.name for column in fields(ComparisonRow)]
GAP_COLUMNS = [column.name for column in fields(SegmentGap)]


# The pipeline ------------------------------------------------------------------------------------

def build_rows(
    samples: Sequence[Sample],
    p_values: np.ndarray,
    correction: str | None,
    level: float,
    row_of: Callable[[int, Sample, float, float, float], Row],
    adjusted: np.ndarray | None = None,
) -> list[Row]:
    """Correct p-values over all samples, choose the level of the intervals, and make the rows.

    `row_of` receives the position of the sample, the sample, p, corrected p and that level;
    `adjusted` are p-values that are already corrected.
    """
    adjusted = adjust(p_values, correction) if adjusted is None else adjusted
    within = level_of_each(adjusted, level, correction)
    return [
        row_of(i, sample, float(p_values[i]), float(adjusted[i]), within)
        for i, sample in enumerate(samples)
    ]


def compared_rows(
    source: Any, systems: Sequence[str], cases: Sequence[Case], settings: Settings,
    done: Callable[[int], object] = unseen,
) -> list[ComparisonRow]:
    """Compare the systems of each case; `source` has the samples (`QuerySamples`, `SumSamples`)."""
    test, correction, level, n_resamples, _ = settings
    samples = source.samples(cases)
    p_values, adjusted = np.full(len(cases), np.nan), None
    critical: Any = [None] * len(cases)
    if test is not None:
        p_values = source.p_values(cases, settings, done)
    if correction == "hsd":
        adjusted, critical = source.tukey(cases, settings, done)

    def row_of(i, sample, p, p_adjusted, within):
        case = cases[i]
        interval = t_interval(sample.differences, within)
        low, high = widen_to_zero(interval, p_adjusted, level)
        return ComparisonRow(
            segment=case.segment, system=systems[case.system], measure=case.measure,
            mean=sample.mean, difference=sample.mean - sample.baseline_mean,
            ci_low=low, ci_high=high, p_value=p, p_adjusted=p_adjusted,
            n_queries=sample.n_queries, wins=sample.wins, ties=sample.ties, losses=sample.losses,
            n_undefined=sample.n_undefined, effect_size=sample.effect_size,
            min_detectable=detectable(test, sample, within, n_resamples, critical[i]),
            baseline=systems[case.baseline], baseline_mean=sample.baseline_mean,
        )

    return build_rows(samples, p_values, correction, level, row_of, adjusted)


def detectable(
    test: str | None, sample: PairedSample, level: float, n_resamples: int,
    critical: float | None = None,
) -> float:
    """The smallest difference that a test would show with a power of 0.8; nan if there is none.

    `level` is the level of the interval in the same row, `critical` the difference that HSD needs.
    """
    n, deviation = sample.n_queries, sample.deviation
    if test is None or not deviation > 0:
        return np.nan
    if critical is None:
        if not is_significant(smallest_p(test, n, sample.ties, n_resamples)[0], level):
            return np.nan
        reach = t_reach(n, level)
    else:
        reach = critical * np.sqrt(n) / deviation
    return float(detectable_effect(n, reach) * deviation / np.sqrt(TESTS[test].efficiency))


def gaps_between(
    groups: Sequence[GroupMean], systems: Sequence[str], cases: Sequence[Case], settings: Settings
) -> list[SegmentGap]:
    """Compare the differences of each pair of systems between segments.

    `groups` are the mean differences of the cases, which list the segments of a pair in turn.
    """
    by_pair = grouped(cases, "measure", "system", "baseline")
    found = [(j, i) for own in by_pair for i, j in combinations(own, 2)]
    p_values = np.array([
        np.nan if settings.test is None else welch_p_value(groups[i], groups[j]) for i, j in found
    ])
    level = settings.level

    def row_of(_, pair, p, p_adjusted, within):
        i, j = pair
        case, group, other = cases[i], groups[i], groups[j]
        low, high = widen_to_zero(welch_interval(group, other, within), p_adjusted, level)
        return SegmentGap(
            systems[case.system], case.measure, case.segment, cases[j].segment, group.mean,
            other.mean, group.mean - other.mean, low, high, p, p_adjusted, group.n, other.n,
            systems[case.baseline],
        )

    return build_rows(found, p_values, without_hsd(settings.correction), level, row_of)


# Rows as columns, matrices and JSON --------------------------------------------------------------

def columns_of(rows: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """Fields of rows as columns."""
    return {name: [getattr(row, name) for row in rows] for name in names}


def pair_matrices(rows: Sequence[ShownRow], systems: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Mean differences of pairs, the row's system less the column's, and their significance."""
    places = {name: i for i, name in enumerate(systems)}
    differences, significant = np.full((2, len(systems), len(systems)), np.nan)
    np.fill_diagonal(differences, 0.0)
    for row in rows:
        i, j = places[row.system], places[row.baseline]
        differences[i, j], differences[j, i] = row.difference, -row.difference
        if row.is_significant is not None:
            significant[i, j] = significant[j, i] = row.is_significant
    return differences, significant


def check_rows(
    rows: Sequence[ComparisonRow], gaps: Sequence[SegmentGap], keys: Sequence[tuple[str, str, str]],
    segments: Sequence[Any] | None, n_queries: int,
) -> None:
    """Refuse rows that do not compare each (baseline, system, measure) within each segment."""
    _check_keys(
        "rows", [(row.baseline, row.system, row.measure, row.segment) for row in rows],
        [(*key, segment) for key in keys for segment in segments or [None]],
    )
    _check_keys(
        "gaps",
        [(gap.baseline, gap.system, gap.measure, gap.other_segment, gap.segment) for gap in gaps],
        [(*key, *pair) for key in keys for pair in combinations(segments or [], 2)],
    )
    counts: list[tuple[Any, ...]] = [(row, row.n_queries, row.n_undefined) for row in rows]
    counts += [(gap, gap.n_queries, gap.other_n_queries) for gap in gaps]
    for row, *of_row in counts:
        if max(of_row) > n_queries:
            raise ValueError(f"{row} counts more than all {n_queries} queries.")


def _check_keys(name, found, expected):
    if len(found) != len(expected):
        raise ValueError(f"There are {len(found)} {name} for {len(expected)} comparisons.")
    for i, (key, wanted) in enumerate(zip(found, expected, strict=True)):
        if key != wanted:
            raise ValueError(f"{name}[{i}] compares {key}, but must compare {wanted}.")


TEXTS = ("system", "measure", "baseline", "ci_method")
OF_SEGMENTS = ("segment", "other_segment")  # in JSON they are positions
COUNTS = ("n_queries", "wins", "ties", "losses", "other_n_queries")


def rows_form(row_type: Any, segments: Sequence[Any] | None) -> Form:
    """The form of rows in JSON: columns, segments as their positions."""
    names = [column.name for column in fields(row_type)]
    own = set(OF_SEGMENTS) & set(names)
    forms = {
        name: list_of(TEXT if name in TEXTS else INTEGER if name in COUNTS else CELL)
        for name in names
    } | dict.fromkeys(own, list_of(NULL if segments is None else INTEGER))
    places = {segment: i for i, segment in enumerate(segments or [])}

    def write(rows):
        columns = columns_of(rows, names)
        if segments is not None:
            columns |= {name: [places[cell] for cell in columns[name]] for name in own}
        return {name: form.write(columns[name]) for name, form in forms.items()}

    def read(written, name):
        columns = read_fields(forms, written, name)
        lengths = {len(cells) for cells in columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"The columns of {name} have different lengths: {sorted(lengths)}.")
        for column in own:
            columns[column] = [_segment_at(i, segments, f"{name}[{column!r}]")
                               for i in columns[column]]
        return [row_type(**row) for row in tables.rows_of(columns)]

    return Form(write, read)


def _segment_at(i, segments, name):
    if segments is None:
        return None
    if not 0 <= i < len(segments):
        raise ValueError(f"{name} has {i}, but it must be from 0 to {len(segments) - 1}.")
    return segments[i]


def _read_cell(written, name):
    return math.nan if written is None else PLAIN_NUMBER.read(written, name)


CELL = Form(lambda cell: None if cell != cell else cell, _read_cell)
