"""Measures of precision and recall, such as average precision, P@k and reciprocal rank."""

from typing import Any

import numpy as np

from skgraded._input.door import choice_validator, number_validator
from skgraded._kernels.layout import divide_by_query, ideal_by_rank, ideal_sums, level_weights
from skgraded._kernels.sums import BPREF, CUMULATED, FIRST, HIGHEST, LINEAR, ORDINAL, PAIR, Plan
from skgraded.judgments import Layout
from skgraded.measures import base
from skgraded.measures.base import (
    TIES,
    Function,
    Ranked,
    Tied,
    check_gain,
    parameter,
    share_fields,
    sum_plans,
)

__all__ = [
    "AP",
    "Bpref",
    "GAP",
    "GeneralizedPrecision",
    "GeneralizedRecall",
    "InterpolatedPrecision",
    "MuAP",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "Precision",
    "QMeasure",
    "RPrecision",
    "RR",
    "Recall",
    "SetF",
    "SetPrecision",
    "SetRecall",
    "Success",
]


check_divisor = choice_validator("divisor", ("min", "relevant"))


@share_fields
class _Averaged(Ranked):
    """Base class for measures that divide by the number of relevant documents R or by min(R, k)."""

    divisor: str = parameter(default="min", check=check_divisor)

    def _find_largest_divisor(self, layout: Layout) -> int:
        """Return the cut-off if it limits the divisor, and the largest query size otherwise."""
        return self._depth(layout) if self.divisor == "min" else layout.max_size


@base.registered(
    aliases={
        "map": {},
        "average_precision": {},
        "mean_average_precision": {},
        "context_precision": {},
        "map_cut_{k}": {"divisor": "relevant"},
    }
)
class AP(_Averaged, base.Thresholded):
    r"""Average precision with a relevance threshold (Scheel et al. 2011, eq. 2).

    AP^t = (1 / R_t) Σ_p P@p · [r_p ≥ t], where t is the threshold, r_p the grade at rank p, and
    R_t the number of documents with r ≥ t. With a cut-off k, the sum stops at rank k and the
    divisor is min(R_t, k), so an ideal list scores 1. The mean over queries is MAP. AP is
    undefined for a query with R_t = 0.

    Parameters
    ----------
    k : int, optional
        The cut-off. None: all ranks, down to the last retrieved document.
    undefined : {0.0, 1.0, nan}, default=0.0
        The value of undefined queries; nan excludes them from the mean.
    ties : {"average", "ordinal", "best", "worst"}, default="average"
        How tied documents are ordered. "average": the exact expectation over all their orders;
        "ordinal": row order; "best", "worst": by descending or ascending grade.
    threshold : float, optional
        The lowest relevant grade, ≥ 0. None: every grade > 0 is relevant.
    divisor : {"min", "relevant"}, default="min"
        The divisor with a cut-off k, where R is the number of relevant documents. "min": min(R,
        k); "relevant": R, as in trec_eval's ``map_cut``, so an ideal list of more than k
        documents scores less than 1.

    Examples
    --------
    Ranked grades 1 0 3 3 2 0 1 4, table 1 of the paper:

    >>> import skgraded as sg
    >>> y_true, y_score = [1, 0, 3, 3, 2, 0, 1, 4], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> [round(sg.AP(threshold=t)(y_true, y_score), 3) for t in (4, 3, 2, 1)]
    [0.125, 0.403, 0.483, 0.78]
    """

    def _plan(self, layout: Layout) -> Plan:
        weights = self._weigh_relevant(layout, self._find_largest_divisor(layout))
        # If the threshold is 0, every document is relevant, and precision is 1 at every rank.
        return self._sum(LINEAR if self.threshold == 0 else PAIR, weights, layout)


@base.registered(aliases=("mu_map", "μAP", "μMAP"))
class MuAP(_Averaged, base.Graded):
    r"""μAP: average precision averaged over all thresholds (Scheel et al. 2011, eq. 4).

    μAP = Σ_i d_i AP^{t_i} / Σ_i d_i, where t_1 < … < t_m are the distinct grades > 0 of the query,
    d_i = t_i - t_{i-1}, and t_0 = 0. This is the mean of AP^t over all t in (0, t_m]. It does not
    depend on the scale of the grades. With a cut-off k, the sum in AP^t stops at rank k and is
    divided by min(R_t, k). The mean over queries is μMAP. μAP is undefined for a query with no
    grade > 0.

    Parameters
    ----------
    k, undefined, ties, divisor
        As in `AP`.

    Examples
    --------
    Ranked grades 1 0 3 3 2 0 1 4, table 1 of the paper:

    >>> import skgraded as sg
    >>> y_true, y_score = [1, 0, 3, 3, 2, 0, 1, 4], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> round(sg.MuAP()(y_true, y_score), 3), round((0.125 + 0.403 + 0.483 + 0.780) / 4, 3)
    (0.448, 0.448)
    """

    def _plan(self, layout: Layout) -> Plan:
        # Σ d_i AP^{t_i} = Σ_p (1/p) Σ_{j≤p} min(W(r_j), W(r_p)) with W(v) = Σ_{t_i≤v} d_i / R_{t_i}
        weights = level_weights(
            layout.levels, layout.counts, layout.level_starts, self._find_largest_divisor(layout)
        )
        return self._sum(PAIR, weights, layout)


@base.registered()
class GAP(base.Gained):
    r"""Graded average precision (Robertson, Kanoulas, Yilmaz 2010, section 3).

    A user considers a document of grade i relevant with probability G(i), which equals `gain` up to
    a constant factor. GAP = Σ_p (1/p) Σ_{j≤p} min(G(r_j), G(r_p)) / Σ G(r), where r_p is the grade
    at rank p and the divisor is a sum over all of the query's documents. With a cut-off k, the sum
    stops at rank k and the divisor is the sum over the k best documents. GAP is undefined for a
    query with no grade > 0.

    Parameters
    ----------
    k, undefined, ties
        As in `AP`.
    gain : {"exp2", "linear"} or callable, default="linear"
        As in `NDCG`; a callable must return 0 for grade 0.

    Examples
    --------
    >>> import skgraded as sg
    >>> round(sg.GAP()([3, 1, 2], [3, 2, 1]), 3), round((3/1 + 2/2 + 5/3) / (3 + 1 + 2), 3)
    (0.944, 0.944)
    """

    gain: str | Function = parameter(default="linear", check=check_gain)

    def _plan(self, layout: Layout) -> Plan:
        self._refuse_gain_of_0(layout)
        gains = self._compute_gains(layout)
        ones = np.ones(self._depth(layout))
        ideal = ideal_sums(gains, layout.counts, layout.level_starts, ones)
        return self._sum(PAIR, divide_by_query(gains, ideal, layout.level_starts), layout)


@base.registered(aliases=("q",))
class QMeasure(base.Gained):
    r"""Q-measure (Sakai 2004): average precision that incorporates cumulated gain.

    Q = (1/R) Σ_{p: r_p > 0} (C(p) + β cg(p)) / (p + β cg*(p)), where r_p is the grade at rank p,
    C(p) the number of relevant documents among the first p, cg(p) the sum of their gains, cg*(p)
    the same sum for the ideal order, and R the number of relevant documents. With a cut-off k, the
    sum stops at rank k and the divisor is min(R, k). With β = 0, Q equals AP. Q is undefined for a
    query with no grade > 0.

    Parameters
    ----------
    k, undefined, ties
        As in `AP`.
    beta : float, default=1
        Weight β ≥ 0 of gains relative to counts of relevant documents.
    gain : {"exp2", "linear"} or callable, default="linear"
        As in `NDCG`; a callable must return 0 for grade 0.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.QMeasure()([1, 0, 2], [3, 2, 1])
    0.75
    >>> ((1 + 1) / (1 + 2) + (2 + 1 + 2) / (3 + 2 + 1)) / 2
    0.75
    """

    beta: float = parameter(default=1, check=number_validator("beta", 0))
    gain: str | Function = parameter(default="linear", check=check_gain)

    _undefined = base.Graded._undefined  # relevant documents with gain 0 also count toward R

    def _plan(self, layout: Layout) -> Plan:
        relevant = layout.levels > 0
        self._refuse_gain_of_0(layout)
        gains = self._compute_gains(layout)
        # Dividing the numerator and the denominator by 1 + β · top gain prevents overflow.
        tops = self._weigh_tops(layout)
        of_count = np.reciprocal(1.0 + tops)
        of_gain = np.divide(tops, 1.0 + tops, out=np.ones_like(tops), where=np.isfinite(tops))
        sizes, starts, ones = layout.sizes, layout.starts, np.ones(layout.max_size)
        ideal = ideal_by_rank(gains, layout.counts, layout.level_starts, starts, ones)
        n = np.minimum(base.count_relevant(layout, relevant), self._depth(layout))
        rank = _number_rows(layout)
        divisor = np.repeat(of_count, sizes) * rank + np.repeat(of_gain, sizes) * ideal
        values = (
            np.repeat(of_count, layout.n_levels) * relevant
            + np.repeat(of_gain, layout.n_levels) * gains
        )
        discount = 1.0 / (divisor * np.repeat(np.maximum(n, 1), sizes))
        return self._sum(CUMULATED, values, layout, discount, by_row=True)

    @np.errstate(over="ignore")
    def _weigh_tops(self, layout: Layout) -> np.ndarray:
        """Return β · gain for the top grade of each query, or inf if the product overflows."""
        if callable(self.gain):
            return self.beta * base.take_tops(self._call_gain(self.gain, layout), layout)
        if self.gain == "linear":
            return self.beta * layout.top_grades
        tops = layout.top_grades
        return self.beta * -np.expm1(-base.LN2 * tops) * np.exp2(tops)


def _number_rows(layout: Layout) -> np.ndarray:
    """Return the position of each row within its query, starting at 1, as an array."""
    return np.arange(1, layout.n_rows + 1) - np.repeat(layout.starts[:-1], layout.sizes)


def _plan_mean(measure: Ranked, values: np.ndarray, layout: Layout) -> Plan:
    """Return the plan for a mean over the first k or, if k is None, all retrieved documents."""
    per_retrieved = measure.k is None
    return measure._sum(LINEAR, values / (measure.k or 1), layout, per_retrieved=per_retrieved)


class _DefinedAsZero(base.Relevance):
    """Base class for precision and other measures that are 0 if no document is relevant.

    If `undefined` is 1 or nan, queries without a relevant document are undefined instead.
    """

    def _undefined(self, layout: Layout) -> np.ndarray:
        return (self.undefined != 0) & super()._undefined(layout)


@base.registered(aliases=("p", "P_{k}", "prec"))
class Precision(_DefinedAsZero, base.Thresholded):
    r"""Precision P@k: the fraction of the first k documents that are relevant.

    The divisor is k even if fewer documents were retrieved. If k is None, the divisor is the number
    of retrieved documents, and precision is 0 if no document was retrieved. By default, precision
    is defined as 0 for a query without a relevant document. If `undefined` is nan or 1.0, such a
    query is undefined, so that the means of precision and recall cover the same queries.

    Parameters
    ----------
    k, undefined, ties, threshold
        As in `AP`.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.Precision(k=2)([2, 0, 1], [0.9, 0.8, 0.1])
    0.5
    """

    def _plan(self, layout: Layout) -> Plan:
        return _plan_mean(self, self._relevant(layout).astype(float), layout)


@base.registered(
    aliases={
        "r": {},
        "recall_{k}": {},
        "recall_cap": {"divisor": "min"},
        "R_cap": {"divisor": "min"},
    }
)
class Recall(_Averaged, base.Thresholded):
    r"""Recall R@k: the fraction of relevant documents that are among the first k.

    Recall is undefined for a query without a relevant document.

    Parameters
    ----------
    k, undefined, ties, threshold
        As in `AP`.
    divisor : {"relevant", "min"}, default="relevant"
        The divisor, where R is the number of relevant documents. "relevant": R; "min": min(R, k),
        as in BEIR's capped recall, so an ideal list scores 1.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.Recall(k=1)([2, 0, 1], [0.9, 0.8, 0.1])
    0.5
    """

    divisor: str = parameter(default="relevant", check=check_divisor)

    def _plan(self, layout: Layout) -> Plan:
        weights = self._weigh_relevant(layout, self._find_largest_divisor(layout))
        return self._sum(LINEAR, weights, layout)


@base.registered(aliases=("mrr", "recip_rank", "reciprocal_rank"))
class RR(base.Thresholded):
    r"""Reciprocal rank: 1/p if the first relevant document has rank p ≤ k, and 0 otherwise.

    The mean over queries is MRR. The reciprocal rank is undefined for a query without a relevant
    document. Among n tied documents, r of which are relevant, the i-th document is the first
    relevant one with probability C(n-i, r-1) / C(n, r).

    Parameters
    ----------
    k, undefined, ties, threshold
        As in `AP`.

    Examples
    --------
    Three tied documents, two of which are relevant: (2/3)·1 + (1/3)·(1/2).

    >>> import skgraded as sg
    >>> round(sg.RR()([1, 0, 2], [5, 5, 5]), 3)
    0.833
    """

    def _plan(self, layout: Layout) -> Plan:
        return self._sum(FIRST, self._relevant(layout).astype(float), layout)


@base.registered(aliases=("success_{k}", "accuracy", "hit", "hit_rate", "hr"))
class Success(_DefinedAsZero, base.Thresholded):
    r"""Success S@k: 1 if at least one of the first k documents is relevant, and 0 otherwise.

    If scores are tied, the value is the probability that at least one of the first k documents is
    relevant. Queries without a relevant document are handled as in `Precision`.

    Parameters
    ----------
    k, undefined, ties, threshold
        As in `AP`.

    Examples
    --------
    Two of three tied documents are relevant, and one of them is first with probability 2/3:

    >>> import skgraded as sg
    >>> round(sg.Success(k=1)([1, 0, 2], [5, 5, 5]), 3)
    0.667
    """

    def _plan(self, layout: Layout) -> Plan:
        ones = np.ones(self._depth(layout))
        return self._sum(FIRST, self._relevant(layout).astype(float), layout, ones)


@base.registered(aliases=("Rprec",))
class RPrecision(base.Relevance, Tied):
    r"""R-precision: precision at rank R, where R is the number of relevant documents.

    The divisor is R even if fewer documents were retrieved. R-precision is undefined for a query
    without a relevant document. trec_eval calls this measure ``Rprec``.

    Parameters
    ----------
    undefined, ties, threshold
        As in `AP`.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.RPrecision()([2, 0, 1], [0.9, 0.8, 0.1])
    0.5
    """

    def _plan(self, layout: Layout) -> Plan:
        n, depth = base.count_relevant(layout, self._relevant(layout)), layout.max_size
        is_counted = _number_rows(layout) <= np.repeat(n, layout.sizes)
        return Plan(
            LINEAR,
            self._weigh_relevant(layout, depth),
            TIES[self.ties],
            depth,
            is_counted.astype(float),
            by_row=True,
        )


@base.registered(aliases=("iprec_at_recall_{recall}",))
class InterpolatedPrecision(base.Relevance):
    r"""Interpolated precision: the highest precision at any rank that reaches a given recall.

    The value is the maximum of P@p over all ranks p with at least ⌊ρR + 0.5⌋ relevant documents
    among the first p, or 0 if there is no such rank. ρ is the recall, and R is the number of
    relevant documents. trec_eval 10 uses the same formula; trec_eval 9 and pytrec_eval use
    ⌊ρR + 0.9⌋. Queries without a relevant document are undefined.

    Parameters
    ----------
    recall : float, default=0
        Recall ρ, from 0 to 1.
    undefined, threshold
        As in `AP`.
    ties : {"worst", "best", "ordinal"}, default="worst"
        How documents with equal scores are ordered: by ascending or descending grade, or in row
        order. The expectation over all orders would take too long to compute.

    Examples
    --------
    Both relevant documents are among the first three, and the first document is relevant:

    >>> import skgraded as sg
    >>> [round(sg.InterpolatedPrecision(r)([1, 0, 1, 0], [4, 3, 2, 1]), 3) for r in (0.5, 1)]
    [1.0, 0.667]
    """

    recall: float = parameter(default=0, check=number_validator("recall", 0, 1), kw_only=False)
    ties: str = parameter(
        default="worst", check=choice_validator("ties", ("worst", "best", "ordinal"))
    )

    def _plan(self, layout: Layout) -> Plan:
        relevant = self._relevant(layout)
        n = base.count_relevant(layout, relevant)
        required = np.maximum(np.floor(self.recall * n + 0.5), 1)
        values = relevant * np.repeat(required, layout.n_levels)
        return Plan(HIGHEST, values, TIES[self.ties], layout.max_size)


@base.registered(aliases=("set_P",))
class SetPrecision(_DefinedAsZero):
    r"""Set-based precision: the fraction of retrieved documents that are relevant.

    Set-based precision is 0 if no document was retrieved. Queries without a relevant document are
    handled as in `Precision`.

    Parameters
    ----------
    undefined, threshold
        As in `AP`.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.SetPrecision()([2, 0, 1], [0.9, 0.8, -float("inf")])
    0.5
    """

    def _plan(self, layout: Layout) -> Plan:
        return _plan_retrieved(self._relevant(layout).astype(float), layout, per_retrieved=True)


@base.registered()
class SetRecall(base.Relevance):
    r"""Set-based recall: the fraction of relevant documents that were retrieved.

    Recall is undefined for a query without a relevant document.

    Parameters
    ----------
    undefined, threshold
        As in `AP`.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.SetRecall()([2, 0, 1], [0.9, 0.8, -float("inf")])
    0.5
    """

    def _plan(self, layout: Layout) -> Plan:
        return _plan_retrieved(self._weigh_relevant(layout, layout.max_size), layout)


@base.registered(aliases=("f1",))
class SetF(base.Relevance):
    r"""Set-based F measure: the weighted harmonic mean of set-based precision P and recall R.

    F = (β² + 1) P R / (R + β² P), as in scikit-learn's ``fbeta_score``; F is 0 if P and R are 0.
    trec_eval's ``set_F.x`` uses β = √x. F is undefined for a query without a relevant document.

    Parameters
    ----------
    undefined, threshold
        As in `AP`.
    beta : float, default=1
        Weight β ≥ 0 of recall relative to precision.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.SetF()([2, 0, 1], [0.9, 0.8, -float("inf")]), 2 * 0.5 * 0.5 / (0.5 + 0.5)
    (0.5, 0.5)
    """

    beta: float = parameter(default=1, check=number_validator("beta", 0))

    def _values(self, layout: Layout, scores: np.ndarray) -> np.ndarray:
        """Compute F = hits / (w · retrieved + (1 - w) · relevant) with w = 1 / (1 + β²)."""
        relevant = self._relevant(layout)
        ones = np.ones(len(relevant))
        plans = [_plan_retrieved(values, layout) for values in (relevant.astype(float), ones)]
        n_hits, n_retrieved = sum_plans(plans, layout, scores)
        weight = 1 / (1 + float(self.beta) * float(self.beta))
        n = weight * n_retrieved + (1 - weight) * base.count_relevant(layout, relevant)
        return n_hits / np.where(n > 0, n, 1.0)


def _plan_retrieved(values: np.ndarray, layout: Layout, **settings: Any) -> Plan:
    """Return the plan for a sum over all retrieved documents; the tie rule does not matter."""
    return Plan(LINEAR, values, ORDINAL, layout.max_size, **settings)


class _Count(base.Measure):
    """Base class for counts, which are defined for every query and may exceed 1."""

    _ends_at_1 = False
    _undefined = base.Measure._undefined


@base.registered()
class NumRet(_Count):
    r"""Number of retrieved documents.

    Documents with the score -inf were not retrieved.

    Parameters
    ----------
    undefined : {0.0, 1.0, nan}, default=0.0
        No effect: no query is undefined.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.NumRet()([2, 0, 1], [0.9, 0.8, -float("inf")])
    2.0
    """

    def _plan(self, layout: Layout) -> Plan:
        return _plan_retrieved(np.ones(len(layout.levels)), layout)


@base.registered()
class NumRel(_Count, base.Relevance):
    r"""Number of relevant documents.

    Documents that were not retrieved count too.

    Parameters
    ----------
    undefined : {0.0, 1.0, nan}, default=0.0
        No effect: no query is undefined.
    threshold : float, optional
        The lowest relevant grade, ≥ 0. None: every grade > 0 is relevant.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.NumRel()([2, 0, 1], [0.9, 0.8, -float("inf")])
    2.0
    """

    def _plan(self, layout: Layout) -> Plan:
        n = base.count_relevant(layout, self._relevant(layout))
        return _plan_retrieved(0 * layout.levels, layout, scale=0 * n, shift=n)


@base.registered()
class NumRelRet(_Count, base.Relevance):
    r"""Number of relevant documents that were retrieved.

    Documents with the score -inf were not retrieved.

    Parameters
    ----------
    undefined : {0.0, 1.0, nan}, default=0.0
        No effect: no query is undefined.
    threshold : float, optional
        The lowest relevant grade, ≥ 0. None: every grade > 0 is relevant.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.NumRelRet()([2, 0, 1], [0.9, 0.8, -float("inf")])
    1.0
    """

    def _plan(self, layout: Layout) -> Plan:
        return _plan_retrieved(self._relevant(layout).astype(float), layout)


@base.registered()
class Bpref(base.Relevance, Tied):
    r"""Binary preference (Buckley & Voorhees 2004), as computed by trec_eval.

    bpref = (1/R) Σ_r (1 - min(n_r, R) / min(R, N)), summed over the relevant documents r that were
    retrieved. R and N are the numbers of relevant and irrelevant documents for the query, and n_r
    is the number of irrelevant documents ranked above r. Unjudged documents (grade NaN) count as
    neither relevant nor irrelevant. Bpref is undefined for a query without a relevant document.

    Parameters
    ----------
    undefined, ties, threshold
        As in `AP`.

    Examples
    --------
    The documents are relevant, irrelevant, unjudged, relevant and irrelevant, so R = N = 2:

    >>> import skgraded as sg
    >>> sg.Bpref()([1, 0, float("nan"), 1, 0], [5, 4, 3, 2, 1]), (1 + (1 - 1 / 2)) / 2
    (0.75, 0.75)
    """

    _accepts_unjudged = True

    def _plan(self, layout: Layout) -> Plan:
        relevant = self._relevant(layout)
        n_relevant = base.count_relevant(layout, relevant)
        n_irrelevant = base.count_relevant(layout, ~relevant)
        # With N irrelevant documents, n_r ≤ N, so capping n_r at R or at min(R, N) is equivalent.
        caps = np.maximum(np.minimum(n_relevant, n_irrelevant), 1.0)
        return Plan(
            BPREF,
            relevant * np.repeat(caps, layout.n_levels),
            TIES[self.ties],
            layout.max_size,
            scale=1.0 / np.maximum(n_relevant, 1),
            shift=0.0,
        )


@base.registered()
class GeneralizedPrecision(base.Scaled, base.Graded):
    r"""Generalized precision gP@k (Kekäläinen & Järvelin 2002; Scheel et al. 2011, ref. 5).

    gP@k = Σ_{i≤k} (r_i / r_max) / k, where r_i is the grade at rank i and r_max the highest grade
    of the scale. The divisor is k even if fewer documents were retrieved; if k is None, it is
    the number of retrieved documents. gP is undefined for a query with no grade > 0.

    Parameters
    ----------
    k, undefined, ties
        As in `AP`.
    max_grade : float, optional
        As in `ERR`.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.GeneralizedPrecision(k=2)([2, 0, 1], [0.9, 0.1, 0.8]), (2/2 + 1/2) / 2
    (0.75, 0.75)
    """

    def _plan(self, layout: Layout) -> Plan:
        return _plan_mean(self, self._normalize(layout), layout)


@base.registered()
class GeneralizedRecall(base.Graded):
    r"""Generalized recall gR@k (Kekäläinen & Järvelin 2002; Scheel et al. 2011, ref. 5).

    gR@k = Σ_{i≤k} r_i / Σ r, where r_i is the grade at rank i and the divisor is a sum over all
    of the query's documents. gR is undefined for a query with no grade > 0.

    Parameters
    ----------
    k, undefined, ties
        As in `AP`.

    Examples
    --------
    >>> import skgraded as sg
    >>> round(sg.GeneralizedRecall(k=1)([2, 0, 1], [0.9, 0.1, 0.8]), 3), round(2 / 3, 3)
    (0.667, 0.667)
    """

    def _plan(self, layout: Layout) -> Plan:
        # Normalize by the top grade to prevent the sums from overflowing.
        values = divide_by_query(layout.levels, layout.top_grades, layout.level_starts)
        totals = layout.sum_levels(values * layout.counts)
        return self._sum(LINEAR, divide_by_query(values, totals, layout.level_starts), layout)
