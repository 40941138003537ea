"""Measures of graded ranking: small immutable values that are also score functions."""

from skgraded.measures import base
from skgraded.measures.base import (
    Measure,
    as_measures,
    mean_over_queries,
    measure,
    score_queries,
)
from skgraded.measures.correlation import EDRC, KendallTau, SpearmanRho, TauAP
from skgraded.measures.gain import NDCG, NDCNG
from skgraded.measures.precision import (
    AP,
    GAP,
    RR,
    GeneralizedPrecision,
    GeneralizedRecall,
    MuAP,
    Precision,
    Recall,
)
from skgraded.measures.user_models import ERR, RBP

CLASSES = (
    AP, MuAP, NDCG, NDCNG, Precision, Recall, RR, GeneralizedPrecision, GeneralizedRecall,
    TauAP, KendallTau, SpearmanRho, EDRC, GAP, ERR, RBP,
)
base.MEASURES.update({cls.__name__: cls for cls in CLASSES})

__all__ = [
    "AP",
    "EDRC",
    "ERR",
    "GAP",
    "NDCG",
    "NDCNG",
    "RBP",
    "RR",
    "GeneralizedPrecision",
    "GeneralizedRecall",
    "KendallTau",
    "Measure",
    "MuAP",
    "Precision",
    "Recall",
    "SpearmanRho",
    "TauAP",
    "as_measures",
    "mean_over_queries",
    "measure",
    "score_queries",
]
