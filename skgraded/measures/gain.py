"""Discounted cumulative gain: DCG, NDCG and NDCNG."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import Literal

import numpy as np

from skgraded._kernels.layout import SMALL, ideal_by_rank, ideal_sums, mean_discounts
from skgraded._kernels.sums import LINEAR, Plan
from skgraded.judgments import Layout
from skgraded.measures import base
from skgraded.measures.base import Function, call_checked, shared_fields
from skgraded.measures.grades import LN2, Gained, of_tops

__all__ = ["DCG", "NDCG", "NDCNG"]


def _discounts(discount: str | Function, depth: int) -> np.ndarray:
    """Return the discounts of the ranks from 1 to `depth`."""
    ranks = np.arange(1, depth + 1, dtype=float)
    if discount == "log2":
        return np.reciprocal(np.log2(ranks + 1))
    if discount == "letor":
        return np.reciprocal(np.log2(np.maximum(ranks, 2)))
    values = call_checked(discount, "discount", ranks)
    # Sorting by grade yields the ideal ranking only if the discounts never increase with rank.
    if values[0] == 0 or (np.diff(values) > 0).any():
        raise ValueError(
            "discount must be positive at rank 1 and must not increase with the rank; got "
            f"{values!r}."
        )
    return values


@shared_fields
class _CumulatedGain(Gained):
    """Base class of NDCG and NDCNG."""

    k: int | Literal["mean"] | None = field(  # type: ignore[assignment]
        default=None, kw_only=False
    )
    gain: str | Function = "exp2"
    discount: str | Function = "log2"

    _own_checks = {"k": partial(base.check_k, has_mean=True)}

    def _plan(self, layout: Layout) -> Plan:
        gains = self._gains(layout)
        discount = _discounts(self.discount, self._depth(layout))
        if self.k == "mean":
            ideal = ideal_by_rank(
                gains, layout.counts, layout.level_starts, layout.starts, discount
            )
            discount = mean_discounts(ideal, layout.starts, discount)
            return self._sum(LINEAR, gains, layout, discount, by_row=True)
        ideal = ideal_sums(gains, layout.counts, layout.level_starts, discount)
        return self._sum(LINEAR, layout.divided(gains, ideal), layout, discount)


@base.registered()
class DCG(Gained):
    r"""Discounted cumulative gain (Järvelin & Kekäläinen 2002), without normalization.

    DCG@k = Σ_{i≤k} gain(r_i) · discount(i), where r_i is the grade at rank i. Values can exceed 1.
    A query with no grade > 0 has DCG 0, so `undefined` has no effect.

    Examples
    --------
    >>> import skgraded as sg
    >>> round(sg.DCG()([2, 0, 1], [3, 2, 1]), 3), 3 / 1 + 1 / 2
    (3.5, 3.5)
    """

    gain: str | Function = "exp2"
    discount: str | Function = "log2"

    _ends_at_1 = False

    def _plan(self, layout: Layout) -> Plan:
        discount = _discounts(self.discount, self._depth(layout))
        with np.errstate(over="ignore"):
            gains = layout.levels
            if self.gain == "exp2":
                gains = np.where(gains < 1, np.expm1(LN2 * gains), np.exp2(gains) - 1)
            elif self.gain != "linear":
                gains = self._called_gains(layout)
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
class NDCG(_CumulatedGain):
    r"""Normalized discounted cumulative gain (Scheel et al. 2011, eq. 3).

    DCG@k = Σ_{i≤k} gain(r_i) · discount(i), where r_i is the grade at rank i. NDCG@k is DCG@k
    divided by the DCG@k of the query's documents in ideal order. NDCG is undefined for a query with
    no grade > 0.

    Parameters
    ----------
    k : int or "mean", optional
        The cut-off; None: all ranks. "mean": the mean of NDCG@n over n = 1..N, where N is the
        number of documents of the query (MeanNDCG in LETOR, table 2 of the paper).

    Examples
    --------
    Ranked grades 1 0 3 3 2 0 1 4, table 2 of the paper:

    >>> import skgraded as sg
    >>> y_true, y_score = [1, 0, 3, 3, 2, 0, 1, 4], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> round(sg.NDCG()(y_true, y_score), 2), round(sg.NDCG(k="mean")(y_true, y_score), 2)
    (0.55, 0.28)
    """


@base.registered(aliases={"mean_ndcng": {"k": "mean"}})
class NDCNG(_CumulatedGain):
    r"""Normalized discounted cumulative normalized gain (Scheel et al. 2011, eq. 5).

    NDCNG is the NDCG of the normalized grades r_i / m_q, where m_q is `max_grade` or, by default,
    the highest grade of the query. Therefore, NDCNG does not depend on the scale of the grades.
    NDCNG is undefined for a query with no grade > 0.

    Parameters
    ----------
    k : int or "mean", optional
        The same as for `NDCG`; "mean" is the mean of NDCNG@n over n.

    Examples
    --------
    Ranked grades 1 0 3 3 2 0 1 4, table 2 of the paper. Doubling the grades changes nothing:

    >>> import numpy as np
    >>> import skgraded as sg
    >>> y_true, y_score = np.array([1, 0, 3, 3, 2, 0, 1, 4]), [8, 7, 6, 5, 4, 3, 2, 1]
    >>> round(sg.NDCNG()(y_true, y_score), 2), round(sg.NDCNG()(2 * y_true, y_score), 2)
    (0.65, 0.65)
    """

    max_grade: float | None = None

    def _gained_grades(self, layout: Layout) -> np.ndarray:
        normalized = self._normalized(layout)
        if self.max_grade is None:  # every top grade > 0 is normalized to 1
            return normalized
        tops = of_tops(normalized, layout)
        small = (layout.top_grades > 0) & (tops < SMALL)
        if callable(self.gain):
            if (tops[small] < np.finfo(float).tiny).any():
                raise ValueError(
                    f"max_grade={self.max_grade} is so large that some normalized grades "
                    "underflow: set max_grade to the highest grade of the data set's scale."
                )
        elif small.any():
            # Such small gains are proportional to the grades, so only the ratios of grades matter.
            relative = layout.divided(layout.levels, layout.top_grades)
            return np.where(layout.by_level(small), SMALL * relative, normalized)
        return normalized
