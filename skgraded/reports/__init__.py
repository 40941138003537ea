"""Reports: values by query, their means and intervals, and comparisons of systems."""

from skgraded.reports.comparison import Comparison, compare
from skgraded.reports.cross_evaluation import CrossEvaluation
from skgraded.reports.evaluation import Evaluation, evaluate

__all__ = ["Comparison", "CrossEvaluation", "Evaluation", "compare", "evaluate"]
