"""Measures based on user models: ERR, nERR, RBP and its residual, Judged and Compat."""

from dataclasses import field

import numpy as np

from skgraded._input.columns import number
from skgraded._kernels.sums import (
    BEST,
    CASCADE,
    KNOWN,
    LINEAR,
    ORDINAL,
    OVERLAP,
    WORST,
    Plan,
)
from skgraded.judgments import Judgments
from skgraded.measures import base
from skgraded.measures.base import TIES, Measure, Ranked, sum_plans
from skgraded.measures.grades import LN2, Graded, divisors, of_tops, relative_exp2_gains


@np.errstate(under="ignore")  # the probability of grade 1 underflows to 0 if the top grade is 900
def _stops(grades, tops):
    """Compute R(g) = (2^g - 1) / 2^g_max for each level without overflow."""
    return -np.exp2(grades - tops) * np.expm1(-LN2 * grades)


@base.measure()
class ERR(Graded):
    r"""Expected reciprocal rank (Chapelle, Metzler, Zhang, Grinspan 2009, eq. 4 and 5).

    A user stops at a document of grade g with probability R(g) = (2^g - 1) / 2^g_max, where g_max
    is the top of the grade scale. Published values use the top of the data set's scale. ERR =
    Σ_{p≤k} (1/p) R(r_p) Π_{j<p} (1 - R(r_j)), where r_p is the grade at rank p. Values range from 0
    to below 1, even for an ideal list. ERR is undefined for a query with no grade > 0.

    Examples
    --------
    >>> import skgraded as sg
    >>> round(sg.ERR()([1, 2, 0], [3, 2, 1]), 4), 1 * (1/4) + (1/2) * (3/4) * (3/4)
    (0.5312, 0.53125)
    """

    max_grade: float | None = None

    def _plan(self, judgments):
        return self._sum(CASCADE, _stops(judgments.levels, self._tops(judgments)), judgments)


@base.measure()
class NERR(Graded):
    r"""Normalized expected reciprocal rank: ERR divided by the ERR of the ideal order.

    nERR@k is ERR@k (Chapelle et al. 2009, see `ERR`) divided by the ERR@k of all documents of the
    query in order of decreasing grade, as in the TREC Web tracks and the NTCIR tasks. Published
    values use the top of the data set's scale. With ties, the numerator is replaced by its
    expectation. Values range from 0 to 1; an ideal list scores 1. nERR is undefined for a query
    with no grade > 0.

    Examples
    --------
    >>> import skgraded as sg
    >>> round(sg.NERR()([1, 2, 0], [3, 2, 1]), 4)
    0.68
    >>> round((1 * (1/4) + (1/2) * (3/4) * (3/4)) / (1 * (3/4) + (1/2) * (1/4) * (1/4)), 4)
    0.68
    """

    max_grade: float | None = None

    def _plan(self, judgments):
        # Tiny probabilities are scaled up, because only their ratios matter.
        tops = of_tops(_stops(judgments.levels, self._tops(judgments)), judgments)
        stops = relative_exp2_gains(judgments.levels, judgments)
        stops *= judgments.by_level(np.maximum(tops, 1e-18))
        ideal = Plan(CASCADE, stops, ORDINAL, self._depth(judgments))
        (best,) = sum_plans([ideal], judgments, judgments.grades)
        return self._sum(CASCADE, stops, judgments, scale=1.0 / divisors(best), shift=0.0)


@base.measure()
class RBP(Graded):
    r"""Rank-biased precision for grades (Moffat & Zobel 2008, section 3.2).

    A user continues from each document to the next with the probability φ, the `persistence`. RBP =
    (1 - φ) Σ_{p≤k} φ^(p-1) · r_p / r_max, where r_p is the grade at rank p and r_max the top of the
    grade scale. Values range from 0 to below 1, even for an ideal list. RBP is undefined for a
    query with no grade > 0.

    Parameters
    ----------
    persistence : float, default=0.8
        φ, with 0 ≤ φ < 1. The paper uses 0.5, 0.8 and 0.95 for impatient to patient users.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.RBP(persistence=0.5)([1, 0, 2], [3, 2, 1]), (1 - 0.5) * (1/2 + 0.5**2 * 2/2)
    (0.375, 0.375)
    """

    persistence: float = 0.8
    max_grade: float | None = None

    _own_checks = {"persistence": number("persistence", 0, 1, below=True)}

    @np.errstate(under="ignore")  # at rank 10,000, the discount underflows to 0
    def _plan(self, judgments):
        gains = (1.0 - self.persistence) * self._normalized(judgments)
        discount = np.power(float(self.persistence), np.arange(self._depth(judgments)))
        return self._sum(LINEAR, gains, judgments, discount)


@base.measure()
class RBPResidual(Ranked):
    r"""Residual of rank-biased precision: the amount that RBP could still gain.

    The residual is (1 - φ) Σ φ^(i-1) over ranks i ≤ k with unjudged documents (grade NaN), plus
    φ^min(k, n) for all lower ranks, where n is the number of retrieved documents (Moffat & Zobel
    2008, section 3.3). It bounds the increase of `RBP` with the same persistence and with the top
    of the scale as `max_grade`. The residual is defined for every query, so `undefined` has no
    effect.

    Parameters
    ----------
    persistence : float, default=0.8
        Probability φ, with 0 ≤ φ < 1.
    ties : {"average", "ordinal", "best", "worst"}, default="average"
        How tied documents are ordered: the exact expectation over all their orders, row order, or
        the order with the largest or the smallest residual.

    Examples
    --------
    The second of two documents is unjudged, and so are all ranks below:

    >>> import skgraded as sg
    >>> sg.RBPResidual(persistence=0.5)([1, float("nan")], [2, 1]), 0.5 * 0.5 + 0.5**2
    (0.5, 0.5)
    """

    persistence: float = 0.8

    _own_checks = {"persistence": number("persistence", 0, 1, below=True)}
    accepts_unjudged = True

    def values(self, judgments: Judgments, scores: np.ndarray) -> np.ndarray:
        """Compute 1 - (1 - φ) Σ φ^(i-1) over the ranks of judged documents."""
        with np.errstate(under="ignore"):
            discount = np.power(float(self.persistence), np.arange(self._depth(judgments)))
        discount *= 1.0 - self.persistence
        # Best and worst are swapped: the residual is largest if unjudged documents come first.
        ties = {"best": WORST, "worst": BEST}.get(self.ties, TIES[self.ties])
        plan = Plan(KNOWN, judgments.levels, ties, len(discount), discount)
        (judged,) = sum_plans([plan], judgments, scores)
        return np.maximum(1.0 - judged, 0.0)

    _undefined = base.never_undefined


@base.measure()
class Judged(Ranked):
    r"""Judged@k: the share of judged documents among the first k that were retrieved.

    The divisor is the smaller of k and the number of retrieved documents. Unjudged documents have
    the grade NaN. The value is 0 for a query without retrieved documents, so `undefined` has no
    effect.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.Judged(k=2)([1, float("nan"), 0], [3, 2, 1])
    0.5
    """

    accepts_unjudged = True

    def _plan(self, judgments):
        return self._sum(KNOWN, judgments.levels, judgments, per_retrieved=True)

    _undefined = base.never_undefined


@base.measure()
class Compat(Measure):
    r"""Compatibility (Clarke, Vtyurina, Smucker 2020): rank-biased overlap with the ideal ranking.

    Compatibility is Σ_i φ^(i-1) X_i / i, divided by the same sum for the ideal ranking and itself.
    X_i is the overlap of the first i documents of the run and of the ideal ranking. The ideal
    ranking contains the documents with grade > 0 by descending grade; equal grades are in the order
    that best matches the run. The sum ends with the longer list; all documents of the shorter list
    count below its end. Compatibility is undefined for a query with no grade > 0.

    Parameters
    ----------
    persistence : float, default=0.95
        Probability φ, with 0 ≤ φ < 1.

    Examples
    --------
    The ideal ranking swaps the two documents, so X_1 = 0 and X_2 = 2:

    >>> import skgraded as sg
    >>> round(sg.Compat(persistence=0.5)([1, 2], [2, 1]), 3), round((0 + 0.5) / (1 + 0.5), 3)
    (0.333, 0.333)
    """

    persistence: float = field(default=0.95, kw_only=False)
    ties: str = "average"

    _own_checks = {"persistence": number("persistence", 0, 1, below=True)}

    def _plan(self, judgments):
        ranks = np.arange(1.0, judgments.max_size + 1)
        with np.errstate(under="ignore"):
            discount = np.power(float(self.persistence), ranks - 1) / ranks
        # Ranks whose discounts sum to less than 1e-17 of the first cannot change the value.
        depth = len(ranks)
        if 0 < self.persistence:
            negligible = np.log(1e-17 * (1 - self.persistence)) / np.log(self.persistence)
            depth = min(depth, int(negligible) + 1)
        sizes = judgments.counts.astype(float)
        return Plan(OVERLAP, sizes, TIES[self.ties], depth, discount)

    def _undefined(self, judgments):
        return judgments.top_grades <= 0
