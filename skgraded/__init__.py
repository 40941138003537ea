"""Measures of graded ranking, as scikit-learn scorers and LightGBM metrics."""

from skgraded.judgments import Judgments
from skgraded.measures import AP, NDCG, NDCNG, RR, MuAP, Precision, Recall, measure

__version__ = "0.1.0"

__all__ = [
    "AP",
    "NDCG",
    "NDCNG",
    "RR",
    "Judgments",
    "MuAP",
    "Precision",
    "Recall",
    "measure",
]
