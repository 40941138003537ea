"""Measures of graded ranking, as scikit-learn scorers and LightGBM metrics."""

from skgraded import datasets
from skgraded.comparison import Comparison, compare
from skgraded.cross_evaluation import CrossEvaluation, cross_evaluate
from skgraded.display import (
    CutoffCurveDisplay,
    FoldDisplay,
    IntervalDisplay,
    QueryDifferenceDisplay,
    ThresholdCurveDisplay,
)
from skgraded.evaluation import Evaluation, evaluate
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
    "Comparison",
    "CrossEvaluation",
    "CutoffCurveDisplay",
    "Evaluation",
    "FoldDisplay",
    "GeneralizedPrecision",
    "GeneralizedRecall",
    "IntervalDisplay",
    "Judgments",
    "KendallTau",
    "MuAP",
    "Precision",
    "QueryDifferenceDisplay",
    "QueryRanker",
    "Recall",
    "SpearmanRho",
    "TauAP",
    "ThresholdCurveDisplay",
    "TornQueryWarning",
    "compare",
    "cross_evaluate",
    "datasets",
    "edrc_per_query",
    "edrc_score",
    "evaluate",
    "make_ranking_scorer",
    "measure",
]
