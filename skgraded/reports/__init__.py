"""Reports: per-query values, their means and intervals, and comparisons of systems."""

from skgraded.reports.comparing import compare
from skgraded.reports.comparison import Comparison
from skgraded.reports.cross_evaluation import CrossEvaluation
from skgraded.reports.evaluating import evaluate, evaluate_preferences, standardize
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.margin_tests import MarginTests
from skgraded.reports.summary import Summary
from skgraded.reports.system_summaries import Summaries

__all__ = [
    "Comparison", "CrossEvaluation", "Evaluation", "MarginTests", "Summaries", "Summary",
    "compare", "evaluate", "evaluate_preferences", "standardize",
]
