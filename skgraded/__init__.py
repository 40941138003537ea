"""Measures of graded ranking, as scikit-learn scorers and LightGBM metrics."""

from skgraded import datasets, measures
from skgraded.display import (
    CutoffCurveDisplay,
    FoldDisplay,
    IntervalDisplay,
    QueryDifferenceDisplay,
    ThresholdCurveDisplay,
)
from skgraded.judgments import Judgments
from skgraded.measures import *
from skgraded.model_selection import (
    QueryRanker,
    TornQueryWarning,
    cross_evaluate,
    make_ranking_scorer,
)
from skgraded.reports import Comparison, CrossEvaluation, Evaluation, compare, evaluate

__version__ = "0.1.0"

__all__ = sorted([
    "Comparison",
    "CrossEvaluation",
    "CutoffCurveDisplay",
    "Evaluation",
    "FoldDisplay",
    "IntervalDisplay",
    "Judgments",
    "QueryDifferenceDisplay",
    "QueryRanker",
    "ThresholdCurveDisplay",
    "TornQueryWarning",
    "compare",
    "cross_evaluate",
    "datasets",
    "evaluate",
    "make_ranking_scorer",
    *measures.__all__,
])
