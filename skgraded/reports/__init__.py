"""Reports: per-query values, their means and intervals, and comparisons of systems."""

from skgraded.reports.comparing import compare
from skgraded.reports.comparison import Comparison
from skgraded.reports.evaluating import evaluate, evaluate_preferences
from skgraded.reports.evaluation import CrossEvaluation, Evaluation
from skgraded.reports.judges import (
    JudgeComparison,
    PredictionPowered,
    compare_judges,
    plan_judgments,
    prediction_powered,
)
from skgraded.reports.periods import compare_periods, trend
from skgraded.reports.run_evaluations import evaluate_runs
from skgraded.reports.summary import Summaries, Summary

__all__ = [
    "Comparison",
    "CrossEvaluation",
    "Evaluation",
    "JudgeComparison",
    "PredictionPowered",
    "Summaries",
    "Summary",
    "compare",
    "compare_judges",
    "compare_periods",
    "evaluate",
    "evaluate_preferences",
    "evaluate_runs",
    "plan_judgments",
    "prediction_powered",
    "trend",
]
