"""Measures of graded ranking: small immutable values that are also score functions."""

from skgraded.measures import base
from skgraded.measures.base import (
    Measure,
    as_measures,
    mean_over_queries,
    measure,
    score_queries,
)
from skgraded.measures.gain import NDCG, NDCNG
from skgraded.measures.precision import AP, RR, MuAP, Precision, Recall

base.MEASURES.update({cls.__name__: cls for cls in (AP, MuAP, NDCG, NDCNG, Precision, Recall, RR)})

__all__ = [
    "AP",
    "NDCG",
    "NDCNG",
    "RR",
    "Measure",
    "MuAP",
    "Precision",
    "Recall",
    "as_measures",
    "mean_over_queries",
    "measure",
    "score_queries",
]
