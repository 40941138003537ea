"""Rankers in scikit-learn's model selection: scorers, early stopping, folds of whole queries."""

from skgraded.model_selection.cross_evaluation import cross_evaluate
from skgraded.model_selection.learning_curves import LearningCurve, learning_curve
from skgraded.model_selection.ranker import QueryRanker
from skgraded.model_selection.scorer import make_ranking_scorer
from skgraded.model_selection.split_queries import TornQueryWarning

__all__ = [
    "LearningCurve",
    "QueryRanker",
    "TornQueryWarning",
    "cross_evaluate",
    "learning_curve",
    "make_ranking_scorer",
]
