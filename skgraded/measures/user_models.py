"""Measures based on user models: ERR, nERR, RBP, RBPResidual, Judged and Compat."""

import numpy as np

from skgraded._kernels.layout import relative_exp2_gains
from skgraded._kernels.sums import BEST, CASCADE, KNOWN, LINEAR, ORDINAL, OVERLAP, WORST, Plan
from skgraded.judgments import Layout
from skgraded.measures import base
from skgraded.measures.base import (
    LN2,
    Graded,
    Ranked,
    Scaled,
    Tied,
    shared_fields,
    sum_plans,
    take_tops,
)
from skgraded.measures.parameters import TIES, check_persistence, parameter

__all__ = ["Compat", "ERR", "Judged", "NERR", "RBP", "RBPResidual"]


@np.errstate(under="ignore")  # a probability may underflow to 0 if the top grade is very large
def _compute_stops(levels: np.ndarray, tops: np.ndarray | float) -> np.ndarray:
    """Compute the stop probability (2^g - 1) / 2^g_max of each level without overflow."""
    return -np.exp2(levels - tops) * np.expm1(-LN2 * levels)


@base.registered(aliases=("expected_reciprocal_rank",))
class ERR(Scaled, Graded):
    r"""Expected reciprocal rank (Chapelle, Metzler, Zhang, Grinspan 2009, eq. 4 and 5).

    A user stops at a document of grade g with probability R(g) = (2^g - 1) / 2^g_max, where g_max
    is the highest grade of the scale; published values use the data set's scale. ERR = Σ_{p≤k}
    (1/p) R(r_p) Π_{j<p} (1 - R(r_j)), where r_p is the grade at rank p. Values are at least 0 and
    below 1, even for an ideal list. ERR is undefined for a query with no grade > 0.

    Parameters
    ----------
    k, undefined, ties
        As in `AP`.
    max_grade : float, optional
        The highest grade of the scale: a number for the entire data set, or None for the
        highest grade of each query.

    Examples
    --------
    >>> import skgraded as sg
    >>> round(sg.ERR()([1, 2, 0], [3, 2, 1]), 4), 1 * (1/4) + (1/2) * (3/4) * (3/4)
    (0.5312, 0.53125)
    """

    def _plan(self, layout: Layout) -> Plan:
        return self._sum(CASCADE, _compute_stops(layout.levels, self._find_tops(layout)), layout)


@base.registered()
class NERR(Scaled, Graded):
    r"""Normalized expected reciprocal rank: ERR divided by the ERR of the ideal order.

    nERR@k is ERR@k (see `ERR`) divided by the ERR@k of all documents of the query in order of
    decreasing grade, as in the TREC Web tracks and the NTCIR tasks. nERR is undefined for a query
    with no grade > 0.

    Parameters
    ----------
    k, undefined, ties
        As in `AP`.
    max_grade : float, optional
        As in `ERR`.

    Examples
    --------
    >>> import skgraded as sg
    >>> round(sg.NERR()([1, 2], [2, 1]), 2), (1/4 + 1/2 * 3/4 * 3/4) / (3/4 + 1/2 * 1/4 * 1/4)
    (0.68, 0.68)
    """

    def _plan(self, layout: Layout) -> Plan:
        # Tiny probabilities are scaled up to prevent underflow, because only their ratios matter.
        tops = take_tops(_compute_stops(layout.levels, self._find_tops(layout)), layout)
        stops = relative_exp2_gains(layout.levels, layout.level_starts)
        stops *= layout.repeat_by_level(np.maximum(tops, 1e-18))
        ideal = Plan(CASCADE, stops, ORDINAL, self._depth(layout))
        (best,) = sum_plans([ideal], layout, layout.grades)
        scale = 1.0 / np.where(best > 0, best, 1.0)
        return self._sum(CASCADE, stops, layout, scale=scale, shift=0.0)


@shared_fields
class _Persistent(Ranked):
    """Base class for rank-biased precision and its residual."""

    persistence: float = parameter(default=0.8, check=check_persistence)


@base.registered()
class RBP(Scaled, _Persistent, Graded):
    r"""Rank-biased precision for grades (Moffat & Zobel 2008, section 3.2).

    A user continues from each document to the next with probability φ, the `persistence`. RBP =
    (1 - φ) Σ_{p≤k} φ^(p-1) · r_p / r_max, where r_p is the grade at rank p and r_max the highest
    grade of the scale. Values are at least 0 and below 1, even for an ideal list. RBP is undefined
    for a query with no grade > 0.

    Parameters
    ----------
    k, undefined, ties
        As in `AP`.
    persistence : float, default=0.8
        Probability φ of continuing to the next rank, with 0 ≤ φ < 1. Moffat and Zobel use 0.5
        for impatient and 0.95 for patient users.
    max_grade : float, optional
        As in `ERR`.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.RBP(persistence=0.5)([1, 0, 2], [3, 2, 1]), (1 - 0.5) * (1/2 + 0.5**2 * 2/2)
    (0.375, 0.375)
    """

    @np.errstate(under="ignore")  # at rank 10,000, the discount can underflow to 0
    def _plan(self, layout: Layout) -> Plan:
        gains = (1.0 - self.persistence) * self._normalize(layout)
        discount = np.power(float(self.persistence), np.arange(self._depth(layout)))
        return self._sum(LINEAR, gains, layout, discount)


@base.registered()
class RBPResidual(_Persistent):
    r"""Residual of rank-biased precision: the largest amount by which RBP could still increase.

    The residual is (1 - φ) Σ φ^(i-1) over ranks i ≤ k with unjudged documents (grade NaN), plus
    φ^min(k, n) for all lower ranks, where n is the number of retrieved documents (Moffat & Zobel
    2008, section 3.3). It bounds the increase of `RBP` with the same φ and with `max_grade` = the
    highest grade of the scale. It is defined for every query.

    Parameters
    ----------
    k : int, optional
        The cut-off; None: all ranks.
    undefined : {0.0, 1.0, nan}, default=0.0
        No effect: no query is undefined.
    ties : {"average", "ordinal", "best", "worst"}, default="average"
        How tied documents are ordered: the exact expectation over all their orders, row order, or
        the order with the largest or the smallest residual.
    persistence : float, default=0.8
        As in `RBP`.

    Examples
    --------
    The second document is unjudged, and so are all lower ranks:

    >>> import skgraded as sg
    >>> sg.RBPResidual(persistence=0.5)([1, float("nan")], [2, 1]), 0.5 * 0.5 + 0.5**2
    (0.5, 0.5)
    """

    _accepts_unjudged = True

    def _values(self, layout: Layout, scores: np.ndarray) -> np.ndarray:
        """Compute 1 - (1 - φ) Σ φ^(i-1), summed over the ranks i of judged documents."""
        with np.errstate(under="ignore"):
            discount = np.power(float(self.persistence), np.arange(self._depth(layout)))
        discount *= 1.0 - self.persistence
        # BEST and WORST are swapped, because unjudged documents at the top maximize the residual.
        ties = {"best": WORST, "worst": BEST}.get(self.ties, TIES[self.ties])
        plan = Plan(KNOWN, layout.levels, ties, len(discount), discount)
        (judged,) = sum_plans([plan], layout, scores)
        return np.maximum(1.0 - judged, 0.0)


@base.registered()
class Judged(Ranked):
    r"""Judged@k: the share of the first k retrieved documents that are judged.

    The divisor is the smaller of k and the number of retrieved documents. Unjudged documents have
    the grade NaN. The value is 0 for a query without retrieved documents, so `undefined` has no
    effect.

    Parameters
    ----------
    k : int, optional
        The cut-off; None: all ranks.
    undefined : {0.0, 1.0, nan}, default=0.0
        No effect: no query is undefined.
    ties : {"average", "ordinal", "best", "worst"}, default="average"
        As in `AP`.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.Judged(k=2)([1, float("nan"), 0], [3, 2, 1])
    0.5
    """

    _accepts_unjudged = True

    def _plan(self, layout: Layout) -> Plan:
        return self._sum(KNOWN, layout.levels, layout, per_retrieved=True)


@base.registered()
class Compat(Tied):
    r"""Compatibility (Clarke, Vtyurina, Smucker 2020): rank-biased overlap with the ideal ranking.

    Compatibility is Σ_i φ^(i-1) X_i / i, divided by the same sum for the ideal ranking compared
    with itself. X_i is the number of documents among the first i of both the run and the ideal
    ranking. The ideal ranking contains the documents with grade > 0 in descending order of grade;
    equal grades are in the order that best matches the run. The sum ends with the longer list.
    Compatibility is undefined for a query with no grade > 0.

    Parameters
    ----------
    persistence : float, default=0.95
        As in `RBP`.
    undefined, ties
        As in `AP`.

    Examples
    --------
    The ideal ranking swaps the two documents, so X_1 = 0 and X_2 = 2:

    >>> import skgraded as sg
    >>> round(sg.Compat(persistence=0.5)([1, 2], [2, 1]), 3), round((0 + 0.5) / (1 + 0.5), 3)
    (0.333, 0.333)
    """

    persistence: float = parameter(default=0.95, check=check_persistence, kw_only=False)

    def _plan(self, layout: Layout) -> Plan:
        ranks = np.arange(1.0, layout.max_size + 1)
        with np.errstate(under="ignore"):
            discount = np.power(float(self.persistence), ranks - 1) / ranks
        # Omit the lowest ranks, whose discounts add up to less than 1e-17 of the first discount.
        depth = len(ranks)
        if 0 < self.persistence:
            negligible = np.log(1e-17 * (1 - self.persistence)) / np.log(self.persistence)
            depth = min(depth, int(negligible) + 1)
        return Plan(OVERLAP, layout.counts.astype(float), TIES[self.ties], depth, discount)

    _undefined = Graded._undefined
