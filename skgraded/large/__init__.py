"""Evaluation of large tables, with one module per engine."""

from skgraded.large.batches import evaluate_batches
from skgraded.large.periods import compare_periods, trend

__all__ = ["compare_periods", "evaluate_batches", "trend"]
