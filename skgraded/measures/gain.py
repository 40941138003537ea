"""Discounted cumulative gain: DCG, NDCG and NDCNG."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from skgraded._input.door import choice_validator
from skgraded._kernels.layout import ideal_by_rank, ideal_sums, mean_discounts
from skgraded._kernels.sums import LINEAR, Plan
from skgraded.judgments import Layout
from skgraded.measures import base
from skgraded.measures.base import LN2, Gained, Scaled, check_cutoff, shared_fields
from skgraded.measures.parameters import (
    Function,
    call_function,
    check_gain,
    parameter,
)

__all__ = ["DCG", "NDCG", "NDCNG"]


def compute_discounts(discount: str | Function, depth: int) -> np.ndarray:
    """Return the discounts of the ranks from 1 to `depth`."""
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


@shared_fields
class _Discounted(Gained):
    """Base class of DCG, NDCG and NDCNG."""

    gain: str | Function = parameter(default="exp2", check=check_gain)
    discount: str | Function = parameter(
        default="log2", check=choice_validator("discount", ("log2", "letor"), or_callable=True)
    )


@shared_fields
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
        return self._sum(LINEAR, layout.divide_levels(gains, ideal), layout, discount)


@base.registered()
class DCG(_Discounted):
    r"""Discounted cumulative gain (Järvelin & Kekäläinen 2002), without normalization.

    DCG@k = Σ_{i≤k} gain(r_i) · discount(i), where r_i is the grade at rank i. Values can exceed 1.
    A query with no grade > 0 has DCG 0.

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
