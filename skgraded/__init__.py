"""Measures of graded ranking, as scikit-learn scorers and LightGBM metrics."""

from skgraded import datasets
from skgraded.display import (
    CutoffCurveDisplay,
    FoldDisplay,
    IntervalDisplay,
    QueryDifferenceDisplay,
    ThresholdCurveDisplay,
)
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
from skgraded.measures.preferences import edrc_per_query, edrc_score
from skgraded.model_selection import (
    QueryRanker,
    TornQueryWarning,
    cross_evaluate,
    make_ranking_scorer,
)
from skgraded.reports.comparison import Comparison, compare
from skgraded.reports.cross_evaluation import CrossEvaluation
from skgraded.reports.evaluation import Evaluation, evaluate

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
