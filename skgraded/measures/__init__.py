"""Measures for graded ranking: immutable objects that can be called as score functions."""

from skgraded.measures.base import MEASURES, Measure, mean_over_queries, mean_scores, score_queries
from skgraded.measures.correlation import *
from skgraded.measures.curves import CutoffCurve, ThresholdCurve, cutoff_curve, threshold_curve
from skgraded.measures.gain import *
from skgraded.measures.overlap import rbo
from skgraded.measures.parsing import as_measures, measure
from skgraded.measures.precision import *
from skgraded.measures.preferences import edrc_per_query, edrc_score, preferences_left_out
from skgraded.measures.user_models import *

__all__ = sorted([
    "CutoffCurve", "Measure", "ThresholdCurve", "as_measures", "cutoff_curve", "edrc_per_query",
    "edrc_score", "mean_over_queries", "mean_scores", "measure", "preferences_left_out",
    "rbo", "score_queries", "threshold_curve", *MEASURES,
])
