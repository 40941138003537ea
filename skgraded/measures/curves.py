"""Measures as functions of the relevance threshold or the cut-off."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.columns import check_scores, column, whole_number
from skgraded.judgments import Judgments, check_judgments
from skgraded.measures.base import Measure, Ranked, mean_over_queries, score_queries
from skgraded.measures.grades import divisors, of_tops
from skgraded.measures.precision import AP, MuAP
from skgraded.measures.texts import as_measures

DEEPEST = 100  # the last default cut-off
TABLE_SIZE = 30_000_000  # numbers in the plans of one call (240 MB); affects only memory


class ThresholdCurve(NamedTuple):
    """The steps of a `threshold_curve`; each step ends at its threshold."""

    thresholds: np.ndarray  # (n_thresholds,)
    average_precision: np.ndarray  # (n_thresholds,)


class CutoffCurve(NamedTuple):
    """The points of a `cutoff_curve`."""

    cutoffs: np.ndarray  # (n_cutoffs,) of int
    values: np.ndarray  # (n_measures, n_cutoffs)


def threshold_curve(
    y_true: ArrayLike | Judgments,
    y_score: ArrayLike,
    *,
    qid: Any = None,
    group: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ties: str = "average",
    undefined: float = 0.0,
    relative: bool = True,
) -> ThresholdCurve:
    r"""Compute mean average precision over the threshold t; the area under the curve is μMAP.

    A document is relevant if its grade is at least t, so AP^t for one query is constant between two
    consecutive grades. μAP is the mean of AP^t for t uniform in (0, r_max], where r_max is the top
    grade of the query (Scheel et al. 2011, eq. 4). Plotted over t / r_max, the area under the curve
    is therefore μMAP.

    Parameters
    ----------
    y_true, y_score, qid, group, sample_weight
        As for a call of a measure, such as `AP`.
    ties : {"average", "ordinal", "best", "worst"}, default="average"
        How documents with equal scores are ordered; see `AP`.
    undefined : {0.0, 1.0, nan}, default=0.0
        AP^t for a query without a grade ≥ t; nan excludes the query from the mean at t.
    relative : bool, default=True
        Whether thresholds are relative to the top grade of each query, t / r_max.

    Returns
    -------
    ThresholdCurve
        The named tuple (thresholds, average_precision). Thresholds are ascending and are the right
        ends of the steps; the first step starts at 0.

    Raises
    ------
    ValueError, TypeError
        For invalid input, before any computation; also if no grade is > 0 and ``relative=False``.

    See Also
    --------
    skgraded.ThresholdCurveDisplay : Plot of the curve.

    Examples
    --------
    Ranked grades 1 0 3 3 2 0 1 4, table 1 of the paper:

    >>> from skgraded.measures import threshold_curve
    >>> t, ap = threshold_curve([1, 0, 3, 3, 2, 0, 1, 4], [8, 7, 6, 5, 4, 3, 2, 1], relative=False)
    >>> t, ap.round(3)
    (array([1., 2., 3., 4.]), array([0.78 , 0.483, 0.403, 0.125]))
    """
    measure = MuAP(ties=ties, undefined=undefined)
    judgments = check_judgments(y_true, qid=qid, group=group, sample_weight=sample_weight)
    measure._check(judgments)
    if not relative and judgments.levels.max() <= 0:
        raise ValueError(
            "y_true has no grade above 0, so there are no thresholds. With relative=True, the "
            "curve has the value of undefined queries."
        )
    scores = check_scores(y_score, judgments.n_rows)
    values = _average_precision(judgments, scores, measure.ties)
    return ThresholdCurve(*_mean_over_steps(judgments, values, relative, measure.undefined))


def n_undefined_at(judgments: Judgments, thresholds: np.ndarray, relative: bool) -> np.ndarray:
    """Count the queries without a grade at or above each threshold, shape (n_thresholds,)."""
    tops = judgments.top_grades
    return np.searchsorted(np.sort((tops > 0).astype(float) if relative else tops), thresholds)


def cutoff_curve(
    y_true: ArrayLike | Judgments,
    y_score: ArrayLike,
    *,
    qid: Any = None,
    group: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    measures: str | Measure | Iterable[str | Measure] = ("ndcg", "ndcng"),
    cutoffs: ArrayLike | None = None,
    ties: str | None = None,
) -> CutoffCurve:
    """Compute mean values of measures as functions of the cut-off, such as NDCG@n over n.

    Parameters
    ----------
    y_true, y_score, qid, group, sample_weight
        As for a call of a measure, such as `NDCG`.
    measures : Measure, str, or list of these, default=("ndcg", "ndcng")
        Measures that accept a cut-off, passed without one.
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
        For invalid input, before any computation; also if a measure has no parameter `k`, or its
        cut-off is already set.

    See Also
    --------
    skgraded.CutoffCurveDisplay : Plot of the curves.

    Examples
    --------
    Ranked grades 1 0 3 3 2 0 1 4, table 2 of the paper:

    >>> from skgraded.measures import cutoff_curve
    >>> n, (ndcg, ndcng) = cutoff_curve([1, 0, 3, 3, 2, 0, 1, 4], [8, 7, 6, 5, 4, 3, 2, 1])
    >>> ndcng.round(2)
    array([0.19, 0.13, 0.3 , 0.42, 0.49, 0.47, 0.5 , 0.65])
    """
    uncut = without_cutoff(measures, ties)
    judgments = check_judgments(y_true, qid=qid, group=group, sample_weight=sample_weight)
    if cutoffs is None:
        cutoffs = range(1, min(judgments.max_size, DEEPEST) + 1)
    ranks = check_cutoffs(cutoffs)
    scores = check_scores(y_score, judgments.n_rows)
    cut = [dataclasses.replace(measure, k=n) for measure in uncut for n in ranks.tolist()]
    means = [
        mean_over_queries(values, judgments.weights)
        for values in _score_in_parts(cut, judgments, scores)
    ]
    return CutoffCurve(ranks, np.reshape(means, (len(uncut), len(ranks))))


# AP over the threshold ---------------------------------------------------------------------------

def _average_precision(judgments, scores, ties):
    """Compute AP^t per query at each level above 0; the entry for grade 0 is 0."""
    # The codes replace the grades, so threshold i is the i-th level above 0 of every query.
    by_code = Judgments(judgments.codes, group=judgments.sizes)
    measures = [AP(ties=ties, threshold=i) for i in range(1, judgments.n_levels.max())]
    if judgments.order is not None:
        scores = scores[judgments.order]
    values = np.zeros(len(judgments.levels))
    for i, of_query in enumerate(_score_in_parts(measures, by_code, scores), start=1):
        has = judgments.n_levels > i
        values[judgments.level_starts[:-1][has] + i] = of_query[has]
    return values


def _mean_over_steps(judgments, values, relative, undefined):
    """Return the thresholds where the mean over queries changes, and the mean below each.

    Each per-query value applies from the next lower level up to its own level.
    """
    ends = judgments.levels
    if relative:
        ends = ends / judgments.by_level(divisors(judgments.top_grades))
    thresholds, at = np.unique(ends, return_inverse=True)
    if len(thresholds) == 1:  # no grade is above 0
        return np.ones(1), np.array([undefined])
    weights = judgments.weights
    weights = np.ones(judgments.n_queries) if weights is None else weights / weights.max()

    def sums_from(places, numbers):
        # Summing from the highest threshold, which few queries reach, loses no digits.
        sums = np.bincount(places, numbers, minlength=len(thresholds))
        return np.cumsum(sums[:0:-1])[::-1]

    # After the last step of a query, np.roll inserts the 0 from the next query's first level.
    drops = judgments.by_level(weights) * (values - np.roll(values, -1))
    sums = sums_from(at, drops)
    defined = sums_from(of_tops(at, judgments), weights)
    if np.isnan(undefined):
        means = np.full(len(sums), np.nan)
        np.divide(sums, defined, out=means, where=defined > 0)
    else:
        total = weights.sum()
        means = (sums + undefined * (total - defined)) / total
    return thresholds[1:], np.clip(means, 0.0, 1.0)


def _score_in_parts(measures, judgments, scores):
    """Yield the per-query values of each measure, processing measures in batches to save memory."""
    n_together = max(1, TABLE_SIZE // len(judgments.levels))  # memory only
    for i in range(0, len(measures), n_together):
        # The copy caches the plans and is then deleted.
        yield from score_queries(measures[i : i + n_together], copy(judgments), scores)


def without_cutoff(measures, ties=None):
    """Check that measures support a cut-off but do not set it; apply `ties` unless it is None."""
    uncut: list = as_measures(measures)
    for measure in uncut:
        if not isinstance(measure, Ranked):
            raise ValueError(f"{measure} accepts no cut-off k, so it has no curve over k.")
        if measure.k is not None:
            raise ValueError(
                f"Pass {measure} without its cut-off: the curve covers all cut-offs."
            )
    return uncut if ties is None else [dataclasses.replace(m, ties=ties) for m in uncut]


def check_cutoffs(cutoffs: ArrayLike) -> np.ndarray:
    """Check that cut-offs are ascending whole numbers ≥ 1, and return them as an integer array."""
    whole = np.array([whole_number(n, "cutoffs", 1) for n in column(cutoffs, "cutoffs").tolist()])
    if (np.diff(whole) <= 0).any():
        raise ValueError(f"cutoffs must be ascending; got {whole.tolist()}.")
    return whole
