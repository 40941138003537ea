"""Measures that model when a user stops reading the list: ERR, nERR and RBP."""

import numpy as np

from skgraded._input.columns import number
from skgraded._kernels.sums import CASCADE, LINEAR, ORDINAL, Plan
from skgraded.measures import base
from skgraded.measures.base import sum_plans
from skgraded.measures.grades import LN2, Graded, divisors, of_tops, relative_exp2_gains


@np.errstate(under="ignore")  # relative to grade 900, the probability of grade 1 underflows to 0
def _stops(grades, tops):
    """R(g) = (2^g - 1) / 2^g_max of each level, computed without overflow."""
    return -np.exp2(grades - tops) * np.expm1(-LN2 * grades)


@base.measure()
class ERR(Graded):
    r"""Expected reciprocal rank (Chapelle, Metzler, Zhang, Grinspan 2009, eq. 4 and 5).

    A user stops at a document of grade g with the probability R(g) = (2^g - 1) / 2^g_max, where
    g_max is the top of the scale. Published values use the top of the data set's scale.
    ERR = Σ_{p≤k} (1/p) R(r_p) Π_{j<p} (1 - R(r_j)), where r_p is the grade at rank p. Values range
    from 0 to below 1, even for an ideal list. A query without a grade > 0 is undefined.

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
    expectation. Values range from 0 to 1, the value of an ideal list. A query without a grade > 0
    is undefined.

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

    A user continues from each document to the next with the probability φ, the `persistence`.
    RBP = (1 - φ) Σ_{p≤k} φ^(p-1) · r_p / r_max, where r_p is the grade at rank p and r_max the top
    of the scale. Values range from 0 to below 1, even for an ideal list. A query without a grade
    > 0 is undefined.

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
