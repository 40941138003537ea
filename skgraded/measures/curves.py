"""Measures as functions of the relevance threshold or the cut-off."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import check_whole_number, column
from skgraded._input.queries import QueryIds
from skgraded._kernels.layout import divide_by_query
from skgraded.judgments import Judgments, Layout, as_judgments, check_scores_of_rows, get_layout
from skgraded.measures.base import (
    Measure,
    Ranked,
    find_undefined,
    mean_over_queries,
    score_queries,
    take_tops,
)
from skgraded.measures.parsing import Measures, as_measures
from skgraded.measures.precision import AP, MuAP

DEEPEST = 100  # the highest default cut-off
TABLE_SIZE = 30_000_000  # maximum number of float64 values in the plans of a batch (240 MB)


class ThresholdCurve(NamedTuple):
    """Steps of a `threshold_curve`; each step ends at a threshold."""

    thresholds: np.ndarray  # (n_thresholds,)
    average_precision: np.ndarray  # (n_thresholds,)


class CutoffCurve(NamedTuple):
    """Points of a `cutoff_curve`."""

    cutoffs: np.ndarray  # (n_cutoffs,) of int
    values: np.ndarray  # (n_measures, n_cutoffs)


def threshold_curve(
    y_true: ArrayLike | Judgments,
    y_score: ArrayLike,
    *,
    qid: QueryIds | None = None,
    group: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ties: str = "average",
    undefined: float = 0.0,
    relative: bool = True,
) -> ThresholdCurve:
    r"""Compute mean average precision for each threshold; the area under the curve is μMAP.

    For each query, μAP is the mean of AP^t over t in (0, r_max], where r_max is the query's highest
    grade (Scheel et al. 2011, eq. 4). `ThresholdCurveDisplay` plots the curve.

    Parameters
    ----------
    y_true, y_score, qid, group, sample_weight, ties
        The same as for a measure such as `AP`.
    undefined : {0.0, 1.0, nan}, default=0.0
        AP^t for a query without a grade ≥ t; nan excludes the query from the mean at t.
    relative : bool, default=True
        Whether to divide thresholds by the highest grade of each query: t / r_max.

    Returns
    -------
    ThresholdCurve
        The named tuple (thresholds, average_precision). Thresholds are in ascending order; each is
        the right end of a step. The first step starts at 0.

    Raises
    ------
    ValueError, TypeError
        If the input is invalid.

    Examples
    --------
    Ranked grades 1 0 3 3 2 0 1 4, table 1 of the paper:

    >>> from skgraded.measures import threshold_curve
    >>> t, ap = threshold_curve([1, 0, 3, 3, 2, 0, 1, 4], [8, 7, 6, 5, 4, 3, 2, 1], relative=False)
    >>> t, ap.round(3)
    (array([1., 2., 3., 4.]), array([0.78 , 0.483, 0.403, 0.125]))
    """
    measure = MuAP(ties=ties, undefined=undefined)
    judgments = as_judgments(y_true, qid, group, sample_weight)
    find_undefined(measure, judgments)  # raises an error for unjudged documents
    layout = get_layout(judgments)
    scores = check_scores_of_rows(judgments, y_score)
    values = _compute_average_precision(layout, scores, measure.ties)
    return ThresholdCurve(
        *_average_steps(layout, judgments.weights, values, relative, measure.undefined)
    )


def cutoff_curve(
    y_true: ArrayLike | Judgments,
    y_score: ArrayLike,
    *,
    qid: QueryIds | None = None,
    group: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    measures: Measures = ("ndcg", "ndcng"),
    cutoffs: ArrayLike | None = None,
    ties: str | None = None,
) -> CutoffCurve:
    """Compute mean values of measures at several cut-offs, such as NDCG@n for n from 1 to 100.

    `CutoffCurveDisplay` plots these curves.

    Parameters
    ----------
    y_true, y_score, qid, group, sample_weight
        The same as for a measure such as `NDCG`.
    measures : Measure, str, or list of these, default=("ndcg", "ndcng")
        Measures that accept a cut-off, but do not set it.
    cutoffs : array-like of int, optional
        Ascending cut-offs ≥ 1. None: 1, 2, … up to the size of the largest query, at most 100.
    ties : {"average", "ordinal", "best", "worst"}, optional
        Tie rule for all measures, overriding their parameter `ties`.

    Returns
    -------
    CutoffCurve
        The named tuple (cutoffs, values), of shapes (n_cutoffs,) and (n_measures, n_cutoffs).

    Raises
    ------
    ValueError, TypeError
        If the input is invalid.

    Examples
    --------
    Ranked grades 1 0 3 3 2 0 1 4, table 2 of the paper:

    >>> from skgraded.measures import cutoff_curve
    >>> n, (ndcg, ndcng) = cutoff_curve([1, 0, 3, 3, 2, 0, 1, 4], [8, 7, 6, 5, 4, 3, 2, 1])
    >>> ndcng.round(2)
    array([0.19, 0.13, 0.3 , 0.42, 0.49, 0.47, 0.5 , 0.65])
    """
    uncut = check_uncut(measures, ties)
    judgments = as_judgments(y_true, qid, group, sample_weight)
    if cutoffs is None:
        cutoffs = range(1, min(int(judgments.sizes.max()), DEEPEST) + 1)
    ranks = np.array(
        [check_whole_number(n, "cutoffs", 1) for n in column(cutoffs, "cutoffs").tolist()]
    )
    if (np.diff(ranks) <= 0).any():
        raise ValueError(f"cutoffs must be in ascending order; got {ranks.tolist()}.")
    scores = check_scores_of_rows(judgments, y_score)
    cut = [replace(measure, k=n) for measure in uncut for n in ranks.tolist()]
    means = [
        mean_over_queries(values, judgments.weights)
        for values in _score_in_parts(cut, judgments, scores)
    ]
    return CutoffCurve(ranks, np.reshape(means, (len(uncut), len(ranks))))


# AP over the threshold ---------------------------------------------------------------------------


def _compute_average_precision(layout: Layout, scores: np.ndarray, ties: str) -> np.ndarray:
    """Compute AP^t for each level t > 0 of each query; the value for level 0 is 0."""
    # The grades are level codes, so threshold i is the i-th level above 0 in every query.
    by_code = Judgments(layout.codes, group=layout.sizes)
    measures = [AP(ties=ties, threshold=i) for i in range(1, layout.n_levels.max())]
    per_measure = _score_in_parts(measures, by_code, layout.sort_by_query(scores))
    values = np.zeros(len(layout.levels))
    for i, of_query in enumerate(per_measure, start=1):
        has = layout.n_levels > i
        values[layout.level_starts[:-1][has] + i] = of_query[has]
    return values


def _average_steps(
    layout: Layout,
    weights: np.ndarray | None,
    values: np.ndarray,
    relative: bool,
    undefined: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the thresholds at which the mean over queries changes, and the mean at each of them.

    A query's value at its level t_i applies to all thresholds in the interval (t_{i-1}, t_i].
    """
    ends = layout.levels
    if relative:
        ends = divide_by_query(ends, layout.top_grades, layout.level_starts)
    thresholds, at = np.unique(ends, return_inverse=True)
    if len(thresholds) == 1:  # no grade is above 0
        return np.ones(1), np.array([undefined])
    weights = np.ones(layout.n_queries) if weights is None else weights / weights.max()

    def sums_from(places: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        # Sum from the highest threshold down, to preserve the precision of small sums.
        sums = np.bincount(places, numbers, minlength=len(thresholds))
        return np.cumsum(sums[:0:-1])[::-1]

    # After a query's last level, np.roll yields the value of the next query's first level, which is 0.
    drops = np.repeat(weights, layout.n_levels) * (values - np.roll(values, -1))
    sums = sums_from(at, drops)
    defined = sums_from(take_tops(at, layout), weights)
    if np.isnan(undefined):
        means = np.full(len(sums), np.nan)
        np.divide(sums, defined, out=means, where=defined > 0)
    else:
        total = weights.sum()
        means = (sums + undefined * (total - defined)) / total
    return thresholds[1:], np.clip(means, 0.0, 1.0)


def _score_in_parts(
    measures: Sequence[Measure], judgments: Judgments, scores: np.ndarray
) -> Iterator[np.ndarray]:
    """Yield the per-query values of each measure, computed in batches to save memory."""
    n_together = max(1, TABLE_SIZE // len(get_layout(judgments).levels))  # affects only memory use
    for i in range(0, len(measures), n_together):
        # Plans are cached in a temporary copy of the judgments; deleting the copy frees them.
        yield from score_queries(measures[i : i + n_together], copy(judgments), scores)


def check_uncut(measures: Measures, ties: str | None = None) -> list[Ranked]:
    """Check that each measure accepts a cut-off but does not set one; return the measures.

    If `ties` is given, it replaces the tie rule of each measure.
    """
    uncut = []
    for measure in as_measures(measures):
        if not isinstance(measure, Ranked) or measure.k is not None:
            raise ValueError(
                "A curve covers several cut-offs, so each measure must accept a cut-off but not "
                f"set one; got {measure}."
            )
        uncut.append(measure if ties is None else replace(measure, ties=ties))
    return uncut
