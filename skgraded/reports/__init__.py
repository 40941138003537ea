"""Reports: values by query, their means and intervals, and comparisons of systems."""

from skgraded.reports.comparison import Comparison, compare
from skgraded.reports.cross_evaluation import CrossEvaluation
from skgraded.reports.evaluation import Evaluation, evaluate
from skgraded.reports.margin_tests import MarginTests
from skgraded.reports.segment_comparison import SegmentComparison
from skgraded.reports.standardize import standardize
from skgraded.reports.summaries import Summaries, SummaryComparison
from skgraded.reports.summary import Summary

__all__ = [
    "Comparison", "CrossEvaluation", "Evaluation", "MarginTests", "SegmentComparison",
    "Summaries", "Summary", "SummaryComparison", "compare", "evaluate",
    "standardize",
]
