"""Differences of two systems query by query, and what a row of a comparison says of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from skgraded.measures import mean_over_queries
from skgraded.reports.intervals import mean_interval
from skgraded.reports.paired_tests import (
    FEWEST,
    TIE,
    adjust,
    hsd_p_values,
    is_significant,
    level_of_each,
    p_values,
)


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


def table_of(
    pairs: list[tuple[str, str]],
    systems: list[str],
    per_query: dict[str, np.ndarray],
    undefined: dict[str, np.ndarray],
    weights: np.ndarray | None,
    *,
    test: str | None,
    correction: str | None,
    level: float,
    n_resamples: int,
    seed: int,
) -> dict[str, list[Any]]:
    """Columns of a comparison, an element a pair (baseline, system) and measure.

    `per_query` and `undefined` are arrays (n_systems, n_queries) by measure.
    """
    cases = [
        (measure, systems.index(system), systems.index(other))
        for other, system in pairs for measure in per_query
    ]
    rows = np.array([
        differences_by_query(per_query[measure][at], per_query[measure][other], weights)
        for measure, at, other in cases
    ])
    p = np.full(len(rows), np.nan) if test is None else p_values(test, rows, n_resamples, seed)
    adjusted = adjust(p, correction)
    if correction == "hsd":
        adjusted = _by_hsd(cases, per_query, weights, min(n_resamples, FEWEST), seed)
    within = level_of_each(adjusted, level, correction)
    table: dict[str, list] = {}
    for i, (measure, at, other) in enumerate(cases):
        values = per_query[measure]
        both = undefined[measure][at] & undefined[measure][other]
        row = statistics(values[at], values[other], rows[i], both, weights, within)
        row |= {"p_value": float(p[i]), "p_adjusted": float(adjusted[i])}
        row |= {"system": systems[at], "measure": measure, "baseline": systems[other]}
        for name, cell in reaching_0(row, level).items():
            table.setdefault(name, []).append(cell)
    return table


def _by_hsd(cases, per_query, weights, n_resamples, seed):
    """P-values by randomized Tukey HSD within each measure, times the number of measures."""
    adjusted = np.empty(len(cases))
    for measure, values in per_query.items():
        rows = [i for i, case in enumerate(cases) if case[0] == measure]
        counting = values if weights is None else values[:, weights > 0]
        rng = np.random.default_rng(seed)
        adjusted[rows] = hsd_p_values(counting, [cases[i][1:] for i in rows], n_resamples, rng)
    return np.minimum(adjusted * len(per_query), 1.0)


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
        "ci_method": "t",
    }


def _effect_size(differences, weights):
    n = len(differences)
    if not differences.any():
        return 0.0 if n > 1 else np.nan
    if n < 2 or np.ptp(differences) == 0:
        return np.nan
    mean = np.average(differences, weights=weights)
    variance = np.average((differences - mean) ** 2, weights=weights) * n / (n - 1)
    return float(mean / np.sqrt(variance))
