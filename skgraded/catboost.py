"""Measures as the eval_metric of CatBoost, which has to be told the queries."""

from skgraded.boosting.catboost import eval_metric

__all__ = ["eval_metric"]
