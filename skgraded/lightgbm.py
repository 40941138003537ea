"""Use measures as metrics and objectives in LightGBM: lgb.train, lgb.cv and LGBMRanker."""

from skgraded.boosting.lightgbm import eval_metric, objective

__all__ = ["eval_metric", "objective"]
