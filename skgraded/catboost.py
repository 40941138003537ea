"""Measures as CatBoost's eval_metric, computed per query."""

from skgraded.boosting.catboost import eval_metric

__all__ = ["eval_metric"]
