"""Evaluation of tables of any size, with one file per engine."""

from skgraded.large.batches import evaluate_batches

__all__ = ["evaluate_batches"]
