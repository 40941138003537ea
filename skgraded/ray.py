"""Evaluate Ray Datasets."""

from skgraded.large.ray import evaluate, evaluate_per_query

__all__ = ["evaluate", "evaluate_per_query"]
