"""Comparisons of rankers by weighted clicks; each resample estimates the examination anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.user_warnings import warn_user
from skgraded._kernels import layout
from skgraded.clicks.bias import (
    UNITS,
    Counts,
    PositionBias,
    draw_weights,
    invert_examination,
    read_examination,
)
from skgraded.clicks.impressions import Impressions
from skgraded.measures.gain import DCG, compute_discounts
from skgraded.reports.pairing import FEWEST_CLUSTERS
from skgraded.stats.intervals import ROUNDING, t_reach
from skgraded.stats.paired_tests import p_of_identical

MOST_LEFT_OUT = 0.05  # largest share of resamples without an estimate of the examination


def compare_clicks(
    rows: Impressions,
    scores: Mapping[str, np.ndarray],
    dcg: DCG,
    baseline: int,
    bias: str | PositionBias | ArrayLike,
    clip: float | None,
    clusters: str,
    level: float,
    n_resamples: int,
    rng: int | np.random.Generator | None,
    advance: Callable[[int], Any],
) -> dict[str, Any]:
    """Return the columns of `ClickLog.compare`; `baseline` is the position of a system."""
    rows.check_sessions("item")
    counts = Counts.of(rows, bias, clusters) if isinstance(bias, str) else None
    examination = read_examination(rows, bias if counts is None else counts.estimate())
    n, sums = len(rows.ids[clusters]), sum_discounts(rows, scores, dcg, rows.codes[clusters])

    def average_clusters(weights: np.ndarray, examination: np.ndarray) -> np.ndarray:
        totals = sums @ weights
        *by_system, clicks = totals[:-1].reshape(-1, rows.n_positions)
        of_click = invert_examination(np.where(examination > 0, examination, np.nan), clip)
        of_click[clicks == 0] = 0.0
        return np.array([(row * of_click).sum() for row in by_system]) / totals[-1]

    means = average_clusters(np.ones(n), examination)
    reason, resampled = "", np.empty((0, len(means)))
    if n < FEWEST_CLUSTERS:
        reason = f"the log has only {n} {UNITS[clusters]}, and comparisons need {FEWEST_CLUSTERS}"
    elif n_resamples:
        samples = []
        for weights in draw_weights(n, n_resamples, rng):
            samples.append(
                average_clusters(weights, counts.estimate(weights) if counts else examination)
            )
            advance(1)
        resampled = np.array(samples)
        resampled = resampled[~np.isnan(resampled).any(axis=1)]
        n_left_out = n_resamples - len(resampled)
        if n_left_out > MOST_LEFT_OUT * n_resamples:
            resampled = resampled[:0]
            reason = (
                f"{n_left_out} of {n_resamples} resamples have clicks at a position whose "
                "examination cannot be estimated"
            )
    if reason:
        warn_user(f"The limits and p-values are nan, because {reason}: use a longer log.")
    return {
        "system": list(scores),
        "dcg": means,
        **compute_limits(means, resampled, baseline, n, level),
    }


def compute_limits(
    means: np.ndarray, resampled: np.ndarray, baseline: int, n_clusters: int, level: float
) -> dict[str, np.ndarray]:
    """Return the columns with differences, limits and p-values; nan without resamples."""
    from scipy.special import stdtr

    values = np.stack([means, means - means[baseline]])
    samples = np.stack([resampled, resampled - resampled[:, [baseline]]])
    has_error = len(resampled) > 1
    errors = samples.std(axis=1, ddof=1) if has_error else np.full(values.shape, np.nan)
    for numbers in (values[1], errors):
        numbers[np.abs(numbers) <= ROUNDING * means.max()] = 0.0
    reach = t_reach(n_clusters, level) * errors
    low, high = values - reach, values + reach
    is_constant = errors[1] == 0  # t is infinite
    p = 2 * stdtr(n_clusters - 1, -np.abs(values[1]) / np.where(is_constant, np.inf, errors[1]))
    p[is_constant & (values[1] != 0)] = p_of_identical(n_clusters)
    for column in (values[1], low[1], high[1], p):
        column[baseline] = np.nan
    return {
        "ci_low": low[0],
        "ci_high": high[0],
        "difference": values[1],
        "difference_low": low[1],
        "difference_high": high[1],
        "p_value": p,
    }


def sum_discounts(
    rows: Impressions, scores: Mapping[str, np.ndarray], dcg: DCG, cluster: np.ndarray
) -> Any:
    """Return a sparse matrix with one column per cluster; the value of a system is linear in it.

    Its rows are the sums of the discounts of the clicked items, per system and position, the number
    of clicks per position, and the number of sessions.
    """
    from scipy.sparse import csr_array, vstack

    session, hits = rows.codes["session"], np.flatnonzero(rows.clicks)
    _, firsts, sizes, _ = layout.number_by_appearance(session)
    discounts = compute_discounts(dcg.discount, min(dcg.k or len(session), int(sizes.max())))
    n_sessions = np.bincount(cluster[firsts])
    parts = [compute_row_discounts(column, session, discounts)[hits] for column in scores.values()]
    parts.append(np.ones(len(hits)))
    shape, cells = (rows.n_positions, len(n_sessions)), (rows.places[hits], cluster[hits])
    matrices = [csr_array((part, cells), shape=shape) for part in parts]
    return vstack([*matrices, csr_array(n_sessions[None, :])], format="csr")


def compute_row_discounts(
    scores: np.ndarray, session: np.ndarray, discounts: np.ndarray
) -> np.ndarray:
    """Return the discount of the rank of each row in its session; 0 for the score -inf.

    `discounts` contains one value per rank; lower ranks count 0. Tied rows have the mean discount
    of their ranks, which is the expectation over all orders of the rows.
    """
    order = np.lexsort((-scores, session))
    scores, session = scores[order], session[order]
    rank = np.arange(len(order)) - np.searchsorted(session, session)
    of_ranks = np.append(discounts, 0.0)[np.minimum(rank, len(discounts))] * (scores > -np.inf)
    heads = np.flatnonzero((rank == 0) | np.append(True, scores[1:] != scores[:-1]))  # of ties
    sizes = np.diff(heads, append=len(order))
    means = np.add.reduceat(of_ranks, heads) / sizes
    return np.repeat(means, sizes)[np.argsort(order)]
