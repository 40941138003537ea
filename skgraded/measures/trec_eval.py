"""Counts of documents, and differences between our names of measures and those of trec_eval 10."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from skgraded._kernels.sums import LINEAR, ORDINAL, Plan
from skgraded.judgments import Layout
from skgraded.measures import base, grades
from skgraded.measures.gain import NDCG
from skgraded.measures.precision import AP

__all__ = ["NumRel", "NumRelRet", "NumRet"]


class _Count(base.Measure):
    """Base class for counts, which are defined for every query and may exceed 1."""

    _ends_at_1 = False
    _undefined = base.Measure._undefined

    def _retrieved(self, values: np.ndarray, layout: Layout, **settings: Any) -> Plan:
        return Plan(LINEAR, values.astype(float), ORDINAL, layout.max_size, **settings)


@base.registered()
class NumRet(_Count):
    r"""Number of retrieved documents.

    Documents with the score -inf were not retrieved. `undefined` has no effect.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.NumRet()([2, 0, 1], [0.9, 0.8, -float("inf")])
    2.0
    """

    def _plan(self, layout: Layout) -> Plan:
        return self._retrieved(np.ones(len(layout.levels)), layout)


@base.registered()
class NumRel(_Count, grades.Relevance):
    r"""Number of relevant documents, whether they were retrieved or not.

    `undefined` has no effect.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.NumRel()([2, 0, 1], [0.9, 0.8, -float("inf")])
    2.0
    """

    def _plan(self, layout: Layout) -> Plan:
        n = grades.n_relevant(layout, self._relevant(layout)).astype(float)
        return self._retrieved(0 * layout.levels, layout, scale=np.zeros_like(n), shift=n)


@base.registered()
class NumRelRet(_Count, grades.Relevance):
    r"""Number of relevant documents that were retrieved.

    `undefined` has no effect.

    Examples
    --------
    >>> import skgraded as sg
    >>> sg.NumRelRet()([2, 0, 1], [0.9, 0.8, -float("inf")])
    1.0
    """

    def _plan(self, layout: Layout) -> Plan:
        return self._retrieved(self._relevant(layout), layout)


def warn_of_other_meanings(
    measures: Iterable[base.Measure], highest_grade: float, stacklevel: int = 3
) -> None:
    """Warn once about NDCG and AP@k, whose values differ from those of trec_eval.

    Call this function for qrels; grades up to 1 issue no warning.
    """
    parts = {}
    for measure in measures if highest_grade > 1 else ():
        k = getattr(measure, "k", None)
        if isinstance(measure, NDCG) and measure.gain == "exp2" and k != "mean":
            parts["NDCG uses 2^r - 1 here"] = f"ndcg(gain='linear') or ndcg_cut_{k or 10}"
        elif isinstance(measure, AP) and measure.divisor == "min" and k is not None:
            parts["AP@k is divided by min(R, k) here"] = f"map_cut_{k}, divided by R,"
    if parts:
        text = "; ".join(f"{here}; {name} is trec_eval's" for here, name in parts.items())
        warnings.warn(f"{text}.", stacklevel=stacklevel)
