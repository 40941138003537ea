"""Evaluation of large tables, with one module per engine."""

from skgraded.large.batches import evaluate_batches

__all__ = ["evaluate_batches"]
