"""The comparison pipeline: from samples to p-values, corrections, intervals and rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from skgraded._input.door import argument_error
from skgraded._input.words import object_array, suggest_name
from skgraded.stats import corrections
from skgraded.stats.corrections import is_significant, widen_to_zero
from skgraded.stats.intervals import MeanEstimate, are_identical, t_limits, t_reach
from skgraded.stats.paired_samples import PairedSample
from skgraded.stats.paired_tests import TESTS, smallest_p_values
from skgraded.stats.power import detectable_effect

KEYS = ("segment", "system", "measure", "baseline")  # columns that identify a row
FAMILIES = ("all", "measure")  # values of `family`
Rows = dict[str, np.ndarray]  # a table of columns


class Settings(NamedTuple):
    """Settings of a comparison; the parameters of `compare` have the same names."""

    test: str | None
    correction: str | None
    level: float
    n_resamples: int
    seed: int  # for the resamples
    family: str = "all"


def pair_systems(
    systems: Sequence[str],
    measures: Sequence[str],
    baseline: str | None,
    segments: Sequence[Any] | None,
) -> Rows:
    """Return the columns that identify a row: one row per pair, measure and segment.

    All rows of a pair are contiguous, with the same order of measures and segments.
    """
    pairs = (
        combinations(systems, 2)
        if baseline is None
        else [(baseline, name) for name in systems if name != baseline]
    )
    keys = [
        (segment, system, measure, first)
        for first, system in pairs
        for measure in measures
        for segment in ([None] if segments is None else segments)
    ]
    return dict(zip(KEYS, map(object_array, zip(*keys, strict=True)), strict=True))


def tabulate_means(means: Iterable[Mapping[str, Any]]) -> Rows:
    """Return the table of the systems' means, given one dict per segment, measure and system.

    Each mean is over the system's own queries. A system `lacks_values` if it has no value for a
    query for which another system has one.
    """
    rows = list(means)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {
        name: object_array(cells) if name in KEYS else np.array(cells)
        for name, cells in columns.items()
    }


def families_of(rows: Rows, family: str) -> list[np.ndarray]:
    """Return the positions of the rows in each family of tests."""
    if family == "all":
        return [np.arange(len(rows["measure"]))]
    return [np.flatnonzero(rows["measure"] == name) for name in dict.fromkeys(rows["measure"])]


def check_choice(name: str, value: Any, known: Iterable[Any]) -> None:
    """Raise a ValueError unless `value` is None or one of the `known` values."""
    if value is not None and not (isinstance(value, str) and value in known):
        raise argument_error(
            f"{name} must be one of {list(known)} or None; got {value!r}."
            f"{suggest_name(value, known)}",
            name,
        )


def compare_rows(
    keys: Rows,
    sizes: Mapping[Any, int],
    samples: Sequence[PairedSample],
    p_values: np.ndarray,
    settings: Settings,
    differences: Sequence[np.ndarray] = (),
    has_clusters: bool = False,
) -> Rows:
    """Return the rows of a comparison; `compare` and `Comparison` describe the columns.

    `sizes` contains the number of all queries in each segment. Each row has a sample and a p-value,
    which is nan without a test. Tests with a `statistic` need the `differences`, which may contain
    nan.
    """
    test, correction, level, n_resamples, _, family = settings
    sample: Any = {
        name: np.array([getattr(row, name) for row in samples])
        for name in PairedSample._fields[:-1]
    }
    mean, baseline_mean, ties = sample["mean"], sample["baseline_mean"], sample["ties"]
    fields: Any = map(np.array, zip(*(sample.estimate for sample in samples), strict=True))
    estimates: Any = MeanEstimate(*fields)
    n, n_units = estimates.n, estimates.n_units
    p_adjusted, levels = p_values.copy(), np.full(len(n), level)
    for tests in families_of(keys, family):
        p_adjusted[tests] = corrections.adjust(p_values[tests], correction)
        levels[tests] = corrections.level_of_each(p_adjusted[tests], level, correction)
    significant = is_significant(p_adjusted, level)
    ci_low, ci_high = widen_to_zero(t_limits(estimates, levels), p_adjusted, level)
    is_constant = (n_units > 1) & are_identical(estimates)
    with np.errstate(all="ignore"):
        effect_size = estimates.mean / sample["deviation"]
        effect_size = np.where(sample["deviation"] == 0, np.nan, effect_size)
        difference = np.where((n > 0) & (ties == n), 0.0, mean - baseline_mean)
    min_detectable, is_bound = np.full(len(n), np.nan), np.zeros(len(n), dtype=bool)
    has_winner = significant & (difference != 0)
    if test is not None:
        n_differing, deviation = sample["n_differing"], sample["unit_deviation"]
        smallest, are_limits = smallest_p_values(test, n_units, n_differing, n_resamples)
        is_bound = are_limits & ~(p_values > smallest * (1 + 1e-9))
        can_detect = (deviation > 0) & is_significant(smallest, levels)
        effect = detectable_effect(n_units, t_reach(n_units, levels))
        detectable = effect * deviation / np.sqrt(TESTS[test].efficiency)
        min_detectable = np.where(can_detect, detectable, np.nan)
        if (statistic := TESTS[test].statistic) is not None:
            for i in np.flatnonzero(has_winner).tolist():
                known = differences[i][~np.isnan(differences[i])]
                has_winner[i] = statistic(known) * difference[i] > 0
    return {
        "segment": keys["segment"],
        "system": keys["system"],
        "measure": keys["measure"],
        "mean": mean,
        "difference": difference,
        "ci_low": ci_low,
        "ci_high": ci_high,
        "p_value": p_values,
        "p_adjusted": p_adjusted,
        "n_queries": np.array([sizes[segment] for segment in keys["segment"]]),
        "n_defined": n,
        **({"n_clusters": n_units} if has_clusters else {}),
        **{name: sample[name] for name in ("wins", "ties", "losses", "n_undefined")},
        "effect_size": np.where((n > 1) & (ties == n), 0.0, effect_size),
        "min_detectable": min_detectable,
        "baseline": keys["baseline"],
        "baseline_mean": baseline_mean,
        "ci_method": np.full(len(n), "t", dtype=object),
        "is_significant": significant,
        "has_winner": has_winner,
        "p_is_bound": is_bound,
        "standard_error": np.where(is_constant, 0.0, estimates.standard_error),
    }
