"""Evaluation of large tables, with one module per engine."""

from skgraded.large.batches import evaluate_batches
from skgraded.large.system_summaries import Summaries

__all__ = ["Summaries", "evaluate_batches"]
