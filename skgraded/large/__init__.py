"""Evaluation of large tables, with one module per engine."""

from skgraded.large.batches import evaluate_batches
from skgraded.large.periods import PeriodComparison, Trend, compare_periods, trend

__all__ = ["PeriodComparison", "Trend", "compare_periods", "evaluate_batches", "trend"]
