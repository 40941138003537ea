"""Differences of two systems query by query, and what a row of a comparison says of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skgraded._input.progress import unseen
from skgraded.measures import mean_over_queries
from skgraded.stats.corrections import adjust, is_significant, level_of_each
from skgraded.stats.intervals import mean_interval, t_reach
from skgraded.stats.paired_tests import FEWEST, TESTS, TIE, by_hsd, p_values, smallest_p
from skgraded.stats.power import detectable_effect


def differences_by_query(
    values: np.ndarray, other: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    """One system's values less the other's; nan where a value lacks or the weight is 0."""
    differences = values - other
    return differences if weights is None else np.where(weights > 0, differences, np.nan)


def outcomes(differences: np.ndarray) -> dict[str, int]:
    """Numbers of wins, ties and losses; equal up to rounding is a tie."""
    signs = np.sign(np.round(differences, TIE))
    meant = (("wins", 1), ("ties", 0), ("losses", -1))
    return {name: int((signs == sign).sum()) for name, sign in meant}


class Case(NamedTuple):
    """What a row of a comparison is of; systems are named by their positions."""

    measure: str
    system: int
    baseline: int
    segment: Any = None
    queries: Any = slice(None)  # positions of those of the segment


def cases_of(pairs, systems, measures, segments=()):
    """Cases of pairs (baseline, system), measures and segments (name, positions of queries)."""
    return [
        Case(measure, systems.index(system), systems.index(baseline), segment, queries)
        for baseline, system in pairs for measure in measures
        for segment, queries in segments or [(None, slice(None))]
    ]


def table_of(
    cases, systems, per_query, undefined, weights, *, test, correction, level, n_resamples, seed,
    done=unseen,
):
    """Columns of a comparison, an element a case.

    `per_query` and `undefined` are arrays (n_systems, n_queries) by measure; `done` is told how
    many more resamples have been taken.
    """
    rows = [differences_of(case, per_query, weights) for case in cases]
    p = np.full(len(rows), np.nan)
    for own in _alike(cases, "segment") if test is not None else ():
        p[own] = p_values(test, np.array([rows[i] for i in own]), n_resamples, seed, done)
    adjusted, critical = adjust(p, correction), np.full(len(rows), np.nan)
    if correction == "hsd":
        settings = {"level": level, "n_resamples": min(n_resamples, FEWEST), "seed": seed}
        adjusted, critical = _by_hsd(cases, per_query, weights, done, **settings)
    within = level_of_each(adjusted, level, correction)
    table: dict[str, list] = {}
    for i, case in enumerate(cases):
        values, other = _values_of(case, per_query)
        row = statistics(
            values, other, rows[i], np.logical_and(*_values_of(case, undefined)),
            None if weights is None else weights[case.queries], within,
        )
        row |= {"p_value": float(p[i]), "p_adjusted": float(adjusted[i]), "segment": case.segment}
        row |= {"system": systems[case.system], "baseline": systems[case.baseline]}
        row |= {"measure": case.measure}
        row["min_detectable"] = detectable(
            test, row, within, n_resamples, None if correction != "hsd" else critical[i]
        )
        for name, cell in reaching_0(row, level).items():
            table.setdefault(name, []).append(cell)
    return table


def _values_of(case, per_query):
    values = per_query[case.measure]
    return values[case.system][case.queries], values[case.baseline][case.queries]


def differences_of(case, per_query, weights):
    """Differences of a case by query; nan where one does not count."""
    values, other = _values_of(case, per_query)
    return differences_by_query(values, other, None if weights is None else weights[case.queries])


def _alike(cases, *names):
    """Positions of the cases that have the same of some fields."""
    found: dict = {}
    for i, case in enumerate(cases):
        found.setdefault(tuple(getattr(case, name) for name in names), []).append(i)
    return list(found.values())


def _by_hsd(cases, per_query, weights, done, *, level, n_resamples, seed):
    """P-values by randomized Tukey HSD within each measure and segment, times how many there are.

    And the differences that would be told apart.
    """
    families = _alike(cases, "measure", "segment")
    adjusted, critical = np.empty((2, len(cases)))
    for rows in families:
        first = cases[rows[0]]
        counting = per_query[first.measure]
        if weights is not None:
            counting = np.where(weights > 0, counting, np.nan)
        adjusted[rows], critical[rows] = by_hsd(
            counting[:, first.queries], [(cases[i].system, cases[i].baseline) for i in rows],
            n_resamples, np.random.default_rng(seed), (1 - level) / len(families), done,
        )
    return np.minimum(adjusted * len(families), 1.0), critical


def detectable(test, row, level, n_resamples, critical=None):
    """The smallest difference that the test of a row would show with a power of 0.8; nan if none.

    `level` is that of the row's own interval, `critical` a difference that the test asks for.
    """
    n, deviation = row["n_queries"], row["deviation"]
    if test is None or not deviation > 0:
        return np.nan
    if critical is None and not is_significant(smallest_p(test, row, n_resamples)[0], level):
        return np.nan
    reach = t_reach(n, level) if critical is None else critical * np.sqrt(n) / deviation
    return float(detectable_effect(n, reach) * deviation / np.sqrt(TESTS[test].efficiency))


def reaching_0(row: dict[str, Any], level: float) -> dict[str, Any]:
    """Let no interval leave out a 0 that the test does not; identical values stay as they are."""
    low, high, p = row["ci_low"], row["ci_high"], row["p_adjusted"]
    if low < high and not np.isnan(p) and not is_significant(p, level):
        return row | {"ci_low": min(low, 0.0), "ci_high": max(high, 0.0)}
    return row


def statistics(
    values: np.ndarray,
    other: np.ndarray,
    differences: np.ndarray,
    undefined: np.ndarray,
    weights: np.ndarray | None,
    level: float,
) -> dict[str, Any]:
    """What a row says of the values of two systems but for the test, by the names of its columns.

    `undefined` are the queries that have no value of their own in both.
    """
    counts = ~np.isnan(differences)
    mean, other_mean = (
        mean_over_queries(np.where(counts, one, np.nan), weights) for one in (values, other)
    )
    differences = differences[counts]
    weights = None if weights is None else weights[counts]
    low, high = mean_interval(differences, weights, level, "t")
    return {
        "mean": mean,
        "baseline_mean": other_mean,
        "difference": mean - other_mean,
        "ci_low": low,
        "ci_high": high,
        "n_queries": len(differences),
        **outcomes(differences),
        "n_undefined": int(np.count_nonzero(undefined & counts)),
        "effect_size": _effect_size(np.round(differences, TIE), weights),
        "deviation": _deviation(np.round(differences, TIE), weights),
        "ci_method": "t",
    }


def _effect_size(differences, weights):
    deviation = _deviation(differences, weights)
    if len(differences) > 1 and not differences.any():
        return 0.0
    return float(np.average(differences, weights=weights) / deviation) if deviation else np.nan


def _deviation(differences, weights):
    """The standard deviation (with n - 1) of two differences or more; else 0."""
    n = len(differences)
    if n < 2 or np.ptp(differences) == 0:
        return 0.0
    mean = np.average(differences, weights=weights)
    variance = np.average((differences - mean) ** 2, weights=weights) * n / (n - 1)
    return float(np.sqrt(variance))
