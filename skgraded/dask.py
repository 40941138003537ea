"""Evaluate Dask DataFrames."""

from skgraded.large.dask import evaluate, evaluate_per_query

__all__ = ["evaluate", "evaluate_per_query"]
