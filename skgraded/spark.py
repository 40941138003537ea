"""Evaluate Spark DataFrames directly, or with an Evaluator for pyspark.ml."""

from skgraded.large.spark import RankingEvaluator, evaluate, evaluate_per_query

__all__ = ["RankingEvaluator", "evaluate", "evaluate_per_query"]
