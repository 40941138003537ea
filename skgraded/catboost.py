"""Use measures, computed per query, as the eval_metric of CatBoost."""

from skgraded.boosting.catboost import eval_metric

__all__ = ["eval_metric"]
