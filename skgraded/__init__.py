"""Measures of graded ranking, as scikit-learn scorers and LightGBM metrics."""

from skgraded import datasets
from skgraded.evaluation import CrossEvaluation, Evaluation, cross_evaluate, evaluate
from skgraded.exceptions import TornQueryWarning
from skgraded.judgments import Judgments
from skgraded.measures import AP, NDCG, NDCNG, RR, MuAP, Precision, Recall, measure
from skgraded.ranker import QueryRanker
from skgraded.scorer import make_ranking_scorer

__version__ = "0.1.0"

__all__ = [
    "AP",
    "NDCG",
    "NDCNG",
    "RR",
    "CrossEvaluation",
    "Evaluation",
    "Judgments",
    "MuAP",
    "Precision",
    "QueryRanker",
    "Recall",
    "TornQueryWarning",
    "cross_evaluate",
    "datasets",
    "evaluate",
    "make_ranking_scorer",
    "measure",
]
