"""Evaluation of large tables; each engine is one module."""

from skgraded.large.batches import evaluate_batches

__all__ = ["evaluate_batches"]
