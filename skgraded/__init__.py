"""Measures of graded ranking, as scikit-learn scorers and LightGBM metrics."""

from skgraded import datasets
from skgraded.display import CutoffCurveDisplay, ThresholdCurveDisplay
from skgraded.evaluation import CrossEvaluation, Evaluation, cross_evaluate, evaluate
from skgraded.exceptions import TornQueryWarning
from skgraded.judgments import Judgments
from skgraded.measures import (
    AP,
    EDRC,
    ERR,
    GAP,
    NDCG,
    NDCNG,
    RBP,
    RR,
    GeneralizedPrecision,
    GeneralizedRecall,
    KendallTau,
    MuAP,
    Precision,
    Recall,
    SpearmanRho,
    TauAP,
    measure,
)
from skgraded.preferences import edrc_per_query, edrc_score
from skgraded.ranker import QueryRanker
from skgraded.scorer import make_ranking_scorer

__version__ = "0.1.0"

__all__ = [
    "AP",
    "EDRC",
    "ERR",
    "GAP",
    "NDCG",
    "NDCNG",
    "RBP",
    "RR",
    "CrossEvaluation",
    "CutoffCurveDisplay",
    "Evaluation",
    "GeneralizedPrecision",
    "GeneralizedRecall",
    "Judgments",
    "KendallTau",
    "MuAP",
    "Precision",
    "QueryRanker",
    "Recall",
    "SpearmanRho",
    "TauAP",
    "ThresholdCurveDisplay",
    "TornQueryWarning",
    "cross_evaluate",
    "datasets",
    "edrc_per_query",
    "edrc_score",
    "evaluate",
    "make_ranking_scorer",
    "measure",
]
