"""The comparison pipeline: from samples to p-values, corrections, intervals and rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skgraded._input.progress import show_progress
from skgraded._input.words import object_array
from skgraded.reports.comparison import Comparison
from skgraded.reports.pairing import Paired, warn_of_few_clusters
from skgraded.stats import corrections
from skgraded.stats.corrections import is_significant, widen_to_zero
from skgraded.stats.intervals import MeanEstimate, are_identical, t_interval, t_limits, t_reach
from skgraded.stats.paired_samples import PairedSample
from skgraded.stats.paired_tests import (
    TESTS,
    draws_resamples,
    enough_resamples,
    p_of_sums,
    p_values,
    smallest_p_values,
)
from skgraded.stats.power import detectable_effect
from skgraded.writing.columns import Rows, group_rows

if TYPE_CHECKING:
    from skgraded.reports.system_summaries import Summaries

KEYS = ("segment", "system", "measure", "baseline")  # columns that identify a row
MEANS = (  # columns of `Comparison.means`
    "segment",
    "measure",
    "system",
    "mean",
    "ci_low",
    "ci_high",
    "n_defined",
    "lacks_values",
)
FAMILIES = ("all", "measure")  # values of `family`


class Settings(NamedTuple):
    """Settings of a comparison; the parameters of `compare` have the same names."""

    baseline: str | None = None
    test: str | None = None
    correction: str | None = None
    family: str = "all"
    level: float = 0.95
    n_resamples: int = 0  # 0: enough; see `enough_resamples`
    seed: int = 0  # for the resamples


def compare_parts(
    parts: Mapping[Any, Paired | Summaries],
    systems: list[str],
    measures: list[str],
    settings: Settings,
    *,
    n_clusters: int | None = None,
    seed: int | None = None,
    progress: bool = False,
    **fields: Any,
) -> Comparison:
    """Compare the systems in each part; the parts are keyed by segment, or by None without `by`.

    `fields` contains the fields of the Comparison that depend on the kind of the parts.
    """
    baseline = settings.baseline
    pairs = list(combinations(systems, 2))
    if baseline is not None:
        pairs = [(baseline, system) for system in systems if system != baseline]
    keys = _arrange(
        KEYS,
        [
            (segment, system, measure, first)
            for first, system in pairs
            for measure in measures
            for segment in parts
        ],
    )
    if not settings.n_resamples:
        n_tests = max(map(len, group_tests(keys, settings.family)))
        n_resamples = enough_resamples(n_tests, settings.level, settings.correction)
        settings = settings._replace(n_resamples=n_resamples)
    samples = [
        parts[segment]._summarize_pair(system, first, measure)
        for segment, system, measure, first in zip(*keys.values(), strict=True)
    ]
    if n_clusters is not None:
        warn_of_few_clusters(sample.estimate.n_units for sample in samples)
    p = _test_samples(samples, keys, parts, settings, progress)
    means = [
        (segment, measure, system, mean, *t_interval(estimate, settings.level), estimate.n, lacks)
        for measure in measures
        for segment, part in parts.items()
        for system, mean, estimate, lacks in part._estimate_means(measure)
    ]
    sizes = {segment: part.n_queries for segment, part in parts.items()}
    draws = draws_resamples(settings.test)
    return Comparison(
        systems=systems,
        measures=measures,
        baseline=baseline,
        test=settings.test,
        correction=settings.correction,
        family=settings.family,
        level=settings.level,
        rows=compare_rows(keys, sizes, samples, p, settings, n_clusters is not None),
        n_resamples=settings.n_resamples if draws else None,
        seed=seed if draws else None,
        means=_arrange(MEANS, means),
        segments=None if None in parts else list(parts),
        n_clusters=n_clusters,
        **fields,
    )


def _arrange(names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Rows:
    """Convert rows to a table of columns."""
    columns = zip(names, zip(*rows, strict=True), strict=True)
    return {
        name: object_array(cells) if name in KEYS else np.array(cells) for name, cells in columns
    }


def _test_samples(
    samples: Sequence[PairedSample],
    keys: Rows,
    parts: Mapping[Any, Paired | Summaries],
    settings: Settings,
    progress: bool,
) -> np.ndarray:
    """Test each row; all rows of a part share the same resamples."""
    test, n_resamples, p = settings.test, settings.n_resamples, np.full(len(samples), np.nan)
    if test is None:
        return p
    work, is_shown = len(samples) * n_resamples, progress and draws_resamples(test)
    with show_progress(is_shown, work, desc="resamples", unit=" rows", unit_scale=True) as advance:
        for (segment,), positions in group_rows(keys, "segment").items():
            part = parts[segment]
            if isinstance(part, Paired):
                rows = np.array([samples[i].differences for i in positions])
                p[positions] = p_values(
                    test, rows, n_resamples, settings.seed, advance, part.cluster
                )
            else:
                p[positions] = [p_of_sums(test, samples[i]) for i in positions]
    return p


def group_tests(rows: Rows, family: str) -> list[np.ndarray]:
    """Return the positions of the rows in each family of tests."""
    if family == "all":
        return [np.arange(len(rows["measure"]))]
    return [np.flatnonzero(rows["measure"] == name) for name in dict.fromkeys(rows["measure"])]


def compare_rows(
    keys: Rows,
    sizes: Mapping[Any, int],
    samples: Sequence[PairedSample],
    p: np.ndarray,
    settings: Settings,
    has_clusters: bool = False,
) -> Rows:
    """Return the rows of a comparison; `compare` and `Comparison` describe the columns.

    `sizes` contains the number of all queries in each segment. Each row has a sample and a p-value,
    which is nan without a test.
    """
    _, test, correction, family, level, n_resamples, _ = settings
    sample: Any = {
        name: np.array([getattr(row, name) for row in samples])
        for name in PairedSample._fields[:-2]
    }
    mean, baseline_mean, ties = sample["mean"], sample["baseline_mean"], sample["ties"]
    fields: Any = map(np.array, zip(*(sample.estimate for sample in samples), strict=True))
    estimates: Any = MeanEstimate(*fields)
    n, n_units = estimates.n, estimates.n_units
    p_adjusted, levels = p.copy(), np.full(len(n), level)
    for tests in group_tests(keys, family):
        p_adjusted[tests] = corrections.adjust(p[tests], correction)
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
        is_bound = are_limits & ~(p > smallest * (1 + 1e-9))
        can_detect = (deviation > 0) & is_significant(smallest, levels)
        effect = detectable_effect(n_units, t_reach(n_units, levels))
        detectable = effect * deviation / np.sqrt(TESTS[test].efficiency)
        min_detectable = np.where(can_detect, detectable, np.nan)
        if (statistic := TESTS[test].statistic) is not None:
            for i in np.flatnonzero(has_winner).tolist():
                differences: Any = samples[i].differences
                known = differences[~np.isnan(differences)]
                has_winner[i] = statistic(known) * difference[i] > 0
    return {
        "segment": keys["segment"],
        "system": keys["system"],
        "measure": keys["measure"],
        "mean": mean,
        "difference": difference,
        "ci_low": ci_low,
        "ci_high": ci_high,
        "p_value": p,
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
