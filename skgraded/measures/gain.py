"""Measures with rank discounts: DCG, NDCG and NDCNG, and user models such as ERR and RBP."""

from functools import partial
from typing import Literal

import numpy as np

from skgraded._input.door import choice_validator
from skgraded._kernels.layout import (
    divide_by_query,
    ideal_by_rank,
    ideal_sums,
    mean_discounts,
    relative_exp2_gains,
)
from skgraded._kernels.sums import BEST, CASCADE, KNOWN, LINEAR, ORDINAL, OVERLAP, WORST, Plan
from skgraded.judgments import Layout
from skgraded.measures import base
from skgraded.measures.base import (
    LN2,
    TIES,
    Function,
    Gained,
    Graded,
    Ranked,
    Scaled,
    Tied,
    call_function,
    check_cutoff,
    check_gain,
    check_persistence,
    parameter,
    share_fields,
    sum_plans,
    take_tops,
)

__all__ = ["Compat", "DCG", "ERR", "Judged", "NDCG", "NDCNG", "NERR", "RBP", "RBPResidual"]


def compute_discounts(discount: str | Function, depth: int) -> np.ndarray:
    """Return the discounts for ranks 1 to `depth`."""
    ranks = np.arange(1, depth + 1, dtype=float)
    if not callable(discount):
        return np.reciprocal(np.log2(ranks + 1 if discount == "log2" else np.maximum(ranks, 2)))
    values = call_function(discount, "discount", ranks)
    # Sorting by grade yields the ideal ranking only if the discounts never increase with rank.
    if values[0] == 0 or (np.diff(values) > 0).any():
        raise ValueError(
            "discount must be positive at rank 1 and must not increase with the rank; got "
            f"{values!r}."
        )
    return values


@share_fields
class _Discounted(Gained):
    """Base class of DCG, NDCG and NDCNG."""

    gain: str | Function = parameter(default="exp2", check=check_gain)
    discount: str | Function = parameter(
        default="log2", check=choice_validator("discount", ("log2", "letor"), or_callable=True)
    )


@share_fields
class _Normalized(_Discounted):
    """Base class of NDCG and NDCNG."""

    k: int | Literal["mean"] | None = parameter(  # type: ignore[assignment]
        default=None, check=partial(check_cutoff, has_mean=True), kw_only=False
    )

    def _plan(self, layout: Layout) -> Plan:
        gains = self._compute_gains(layout)
        discount = compute_discounts(self.discount, self._depth(layout))
        if self.k == "mean":
            ideal = ideal_by_rank(
                gains, layout.counts, layout.level_starts, layout.starts, discount
            )
            discount = mean_discounts(ideal, layout.starts, discount)
            return self._sum(LINEAR, gains, layout, discount, by_row=True)
        ideal = ideal_sums(gains, layout.counts, layout.level_starts, discount)
        return self._sum(
            LINEAR, divide_by_query(gains, ideal, layout.level_starts), layout, discount
        )


@base.registered()
class DCG(_Discounted):
    r"""Discounted cumulative gain (Järvelin & Kekäläinen 2002), without normalization.

    DCG@k = Σ_{i≤k} gain(r_i) · discount(i), where r_i is the grade at rank i. Values can exceed 1.
    A query with no grade > 0 has a DCG of 0.

    Parameters
    ----------
    k : int, optional
        The cut-off; None: all ranks.
    undefined : {0.0, 1.0, nan}, default=0.0
        No effect: no query is undefined.
    ties : {"average", "ordinal", "best", "worst"}, default="average"
        As in `AP`.
    gain : {"exp2", "linear"} or callable, default="exp2"
        As in `NDCG`.
    discount : {"log2", "letor"} or callable, default="log2"
        As in `NDCG`.

    Examples
    --------
    >>> import skgraded as sg
    >>> round(sg.DCG()([2, 0, 1], [3, 2, 1]), 3), 3 / 1 + 1 / 2
    (3.5, 3.5)
    """

    _ends_at_1 = False

    def _plan(self, layout: Layout) -> Plan:
        discount = compute_discounts(self.discount, self._depth(layout))
        with np.errstate(over="ignore"):
            gains = layout.levels
            if self.gain == "exp2":
                gains = np.where(gains < 1, np.expm1(LN2 * gains), np.exp2(gains) - 1)
            elif callable(self.gain):
                gains = self._call_gain(self.gain, layout)
            largest = layout.max_size * gains.max() * discount[0]
        if not np.isfinite(largest):
            grade = layout.levels[np.argmax(gains)]
            smaller = "" if self.gain == "linear" else "pass gain='linear', or "
            raise ValueError(
                f"DCG is too large for a float64: y_true contains the grade {grade:g}, whose gain "
                f"is {gains.max():g}. To avoid this, {smaller}use NDCG."
            )
        return self._sum(LINEAR, gains, layout, discount)

    _undefined = base.Measure._undefined


@base.registered(
    aliases={
        "mean_ndcg": {"k": "mean"},
        "ndcg_cut_{k}": {"gain": "linear"},  # as in trec_eval
    }
)
class NDCG(_Normalized):
    r"""Normalized discounted cumulative gain (Scheel et al. 2011, eq. 3).

    DCG@k = Σ_{i≤k} gain(r_i) · discount(i), where r_i is the grade at rank i. NDCG@k is DCG@k
    divided by the DCG@k of the query's documents in ideal order. NDCG is undefined for a query with
    no grade > 0.

    Parameters
    ----------
    k : int or "mean", optional
        The cut-off; None: all ranks. "mean": the mean of NDCG@n over n = 1..N, where N is the
        number of documents of the query (MeanNDCG in LETOR, table 2 of the paper).
    undefined, ties
        As in `AP`.
    gain : {"exp2", "linear"} or callable, default="exp2"
        "linear": the grade r itself; "exp2": 2^r - 1. A callable receives an array of grades;
        its values must not decrease as grades increase.
    discount : {"log2", "letor"} or callable, default="log2"
        "log2": 1 / log2(i + 1); "letor": 1 for i ≤ 2, then 1 / log2(i) (Järvelin & Kekäläinen
        2002). A callable receives an array of ranks, which start at 1; its values must not
        increase.

    Examples
    --------
    Ranked grades 1 0 3 3 2 0 1 4, table 2 of the paper:

    >>> import skgraded as sg
    >>> y_true, y_score = [1, 0, 3, 3, 2, 0, 1, 4], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> round(sg.NDCG()(y_true, y_score), 2), round(sg.NDCG(k="mean")(y_true, y_score), 2)
    (0.55, 0.28)
    """


@base.registered(aliases={"mean_ndcng": {"k": "mean"}})
class NDCNG(Scaled, _Normalized):
    r"""Normalized discounted cumulative normalized gain (Scheel et al. 2011, eq. 5).

    NDCNG is the NDCG of the normalized grades r_i / m_q, where m_q is `max_grade` or, by default,
    the highest grade of the query. Therefore, NDCNG does not depend on the scale of the grades.
    NDCNG is undefined for a query with no grade > 0.

    Parameters
    ----------
    k : int or "mean", optional
        The same as for `NDCG`; "mean" is the mean of NDCNG@n over n.
    undefined, ties
        As in `AP`.
    gain : {"exp2", "linear"} or callable, default="exp2"
        As in `NDCG`; a callable receives normalized grades.
    discount : {"log2", "letor"} or callable, default="log2"
        As in `NDCG`.
    max_grade : float, optional
        As in `ERR`.

    Examples
    --------
    Ranked grades 1 0 3 3 2 0 1 4, table 2 of the paper. Doubling the grades changes nothing:

    >>> import numpy as np
    >>> import skgraded as sg
    >>> y_true, y_score = np.array([1, 0, 3, 3, 2, 0, 1, 4]), [8, 7, 6, 5, 4, 3, 2, 1]
    >>> round(sg.NDCNG()(y_true, y_score), 2), round(sg.NDCNG()(2 * y_true, y_score), 2)
    (0.65, 0.65)
    """

    _grades_to_gain = Scaled._normalize


# User models ------------------------------------------------------------------------------------


@np.errstate(under="ignore")  # a probability may underflow to 0 if the top grade is very large
def _compute_stops(layout: Layout, tops: np.ndarray) -> np.ndarray:
    """Compute the stop probability (2^g - 1) / 2^g_max of each level without overflow."""
    exponents = layout.levels - np.repeat(tops, layout.n_levels)
    return -np.exp2(exponents) * np.expm1(-LN2 * layout.levels)


@base.registered(aliases=("expected_reciprocal_rank",))
class ERR(Scaled, Graded):
    r"""Expected reciprocal rank (Chapelle, Metzler, Zhang, Grinspan 2009, eqs. 4 and 5).

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
        return self._sum(CASCADE, _compute_stops(layout, self._find_tops(layout)), layout)


@base.registered()
class NERR(Scaled, Graded):
    r"""Normalized expected reciprocal rank: ERR divided by the ERR of the ideal order.

    nERR@k is ERR@k (see `ERR`) divided by the ERR@k of all of the query's documents in order of
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
        # Only the ratios of probabilities matter, so tiny ones can be scaled up to prevent underflow.
        tops = take_tops(_compute_stops(layout, self._find_tops(layout)), layout)
        stops = relative_exp2_gains(layout.levels, layout.level_starts)
        stops *= np.repeat(np.maximum(tops, 1e-18), layout.n_levels)
        ideal = Plan(CASCADE, stops, ORDINAL, self._depth(layout))
        (best,) = sum_plans([ideal], layout, layout.grades)
        scale = 1.0 / np.where(best > 0, best, 1.0)
        return self._sum(CASCADE, stops, layout, scale=scale, shift=0.0)


@share_fields
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
    2008, section 3.3). It is an upper bound on the increase of `RBP` with the same φ, if
    `max_grade` is the highest grade of the scale. It is defined for every query.

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
    r"""Judged@k: the fraction of the first k retrieved documents that are judged.

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
    ties are in the order that best matches the run. Both sums extend to the end of the longer list.
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
        # Omit the lowest ranks, whose discounts sum to less than 1e-17 times the first discount.
        depth = len(ranks)
        if 0 < self.persistence:
            negligible = np.log(1e-17 * (1 - self.persistence)) / np.log(self.persistence)
            depth = min(depth, int(negligible) + 1)
        return Plan(OVERLAP, layout.counts.astype(float), TIES[self.ties], depth, discount)

    _undefined = Graded._undefined
