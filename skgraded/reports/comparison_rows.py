"""The comparison pipeline: from samples to p-values, corrections, intervals and rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from skgraded._input.words import did_you_mean
from skgraded.stats import corrections
from skgraded.stats.corrections import is_significant, widen_to_zero
from skgraded.stats.intervals import t_interval, t_reach
from skgraded.stats.paired_samples import PairedSample
from skgraded.stats.paired_tests import TESTS, smallest_p
from skgraded.stats.power import detectable_effect
from skgraded.writing.sentences import Family
from skgraded.writing.text import label

# Cases and settings ------------------------------------------------------------------------------

# Maps the values of `family` to the fields that all tests of a family share.
FAMILIES: dict[str, tuple[str, ...]] = {"all": (), "measure": ("measure",)}


class Case(NamedTuple):
    """A pair of systems (as positions) to compare by a measure, overall or within a segment."""

    measure: str
    system: int
    baseline: int
    segment: Any = None
    queries: Any = slice(None)  # positions of the segment's queries


class Settings(NamedTuple):
    """Settings of a comparison; the parameters of `compare` have the same names."""

    test: str | None
    correction: str | None
    level: float
    n_resamples: int
    seed: int  # for the resamples
    family: str = "all"


def cases_of(
    systems: Sequence[str],
    measures: Sequence[str],
    baseline: str | None,
    segments: Sequence[tuple[Any, Any]] = (),
) -> list[Case]:
    """Return one case per pair, measure and segment; segments have the form (name, positions)."""
    places = range(len(systems))
    pairs = (
        list(combinations(places, 2))
        if baseline is None
        else [(systems.index(baseline), i) for i in places if systems[i] != baseline]
    )
    return [
        Case(measure, system, first, segment, queries)
        for first, system in pairs
        for measure in measures
        for segment, queries in segments or [(None, slice(None))]
    ]


def segment_texts(segments: Sequence[Any]) -> dict[Any, str]:
    """Return the text of each segment, which is unique."""
    texts = [*map(label, segments)]
    return {
        segment: label(repr(segment)) if texts.count(text) > 1 else text
        for segment, text in zip(segments, texts, strict=True)
    }


def headings_of(
    measures: Sequence[str], segments: Sequence[Any] | None
) -> dict[tuple[str, Any], str]:
    """Return a heading for each pair (measure, segment); without `by`, the segment is None."""
    if segments is None:
        return {(measure, None): measure for measure in measures}
    return {
        (measure, segment): f"{measure} in {text}"
        for measure in measures
        for segment, text in segment_texts(segments).items()
    }


def grouped(cases: Sequence[Any], *names: str) -> list[list[int]]:
    """Group the positions of cases or rows that have equal values in the named fields."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, case in enumerate(cases):
        groups.setdefault(tuple(getattr(case, name) for name in names), []).append(i)
    return list(groups.values())


def check_choice(name: str, value: Any, known: Iterable[Any]) -> None:
    """Raise a ValueError unless `value` is None or one of the `known` values."""
    if value is not None and value not in list(known):
        raise ValueError(
            f"{name} must be one of {list(known)} or None; got {value!r}."
            f"{did_you_mean(value, known)}"
        )


# Rows --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ComparisonRow:
    """A comparison of two systems on one measure; `compare` describes the columns."""

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


OF_SAMPLE = (  # columns with the values of a PairedSample
    "mean",
    "difference",
    "n_queries",
    "wins",
    "ties",
    "losses",
    "n_undefined",
    "effect_size",
    "baseline_mean",
)


@dataclass(frozen=True, eq=False)
class ShownRow(ComparisonRow):
    """A row for text and plots, in which p-values that are only upper bounds are marked."""

    heading: str = ""  # for example "AP", or "AP in head" for the segment "head"
    is_significant: bool | None = None  # None without a test
    ranks_contradict: bool = False  # whether a rank test favors the system with the lower mean

    @property
    def winner(self) -> str | None:
        """Name of the significantly better system, or None if there is none."""
        if not self.is_significant or self.ranks_contradict or self.difference == 0:
            return None
        return self.system if self.difference > 0 else self.baseline


def families_by_measure(
    correction: str | None, rows: Sequence[Any], family: str = "all"
) -> dict[str, Family]:
    """Return the family of the tests of each measure; rows without a p-value do not count."""
    families = {}
    for positions in grouped(rows, "measure"):
        measure = rows[positions[0]].measure
        is_part = family == "measure" and len(positions) < len(rows)
        tests = [rows[i] for i in positions] if is_part else rows
        n_tests = sum(row.p_value == row.p_value for row in tests)
        families[measure] = Family(correction, n_tests, measure if is_part else None)
    return families


# The pipeline ------------------------------------------------------------------------------------


def corrected_p_values(
    p_values: Sequence[float] | np.ndarray,
    correction: str | None,
    level: float,
    families: Sequence[list[int]],
) -> tuple[list[float], list[float]]:
    """Correct p-values within families of positions; also return the level of each interval."""
    adjusted, levels = np.array(p_values, dtype=float), np.full(len(p_values), level)
    for tests in families:
        adjusted[tests] = corrections.adjust(adjusted[tests], correction)
        levels[tests] = corrections.level_of_each(adjusted[tests], level, correction)
    return adjusted.tolist(), levels.tolist()


def compared_rows(
    cases: Sequence[Case],
    samples: Sequence[PairedSample],
    p_values: Sequence[float] | np.ndarray,
    systems: Sequence[str],
    settings: Settings,
) -> list[ComparisonRow]:
    """Compare the systems in each case, which has a sample and a p-value (nan without a test)."""
    test, correction, level, n_resamples, _, family = settings
    adjusted, levels = corrected_p_values(
        p_values, correction, level, grouped(cases, *FAMILIES[family])
    )
    rows = []
    for i, (case, sample) in enumerate(zip(cases, samples, strict=True)):
        low, high = widen_to_zero(t_interval(sample.differences, levels[i]), adjusted[i], level)
        rows.append(
            ComparisonRow(
                segment=case.segment,
                system=systems[case.system],
                measure=case.measure,
                ci_low=low,
                ci_high=high,
                p_value=float(p_values[i]),
                p_adjusted=adjusted[i],
                min_detectable=detectable(test, sample, levels[i], n_resamples),
                baseline=systems[case.baseline],
                **{name: getattr(sample, name) for name in OF_SAMPLE},
            )
        )
    return rows


def detectable(test: str | None, sample: PairedSample, level: float, n_resamples: int) -> float:
    """Return the smallest difference that a test detects with 80 % power, or nan if none exists.

    `level` is the level of the row's interval.
    """
    n, deviation = sample.n_queries, sample.deviation
    if test is None or not deviation > 0:
        return np.nan
    if not is_significant(smallest_p(test, n, sample.ties, n_resamples)[0], level):
        return np.nan
    effect = detectable_effect(n, t_reach(n, level))
    return float(effect * deviation / np.sqrt(TESTS[test].efficiency))


def columns_of(row_type: Any, rows: Sequence[Any]) -> dict[str, list[Any]]:
    """Convert rows to a dict of columns, one per field of `row_type`."""
    names = [column.name for column in fields(row_type)]
    return {name: [getattr(row, name) for row in rows] for name in names}
