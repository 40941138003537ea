"""Measures as metrics and objectives of LightGBM: for lgb.train, lgb.cv and its rankers."""

from skgraded.boosting.lightgbm import eval_metric, evaluate_rounds, objective

__all__ = ["eval_metric", "evaluate_rounds", "objective"]
