"""Measures as metrics of LightGBM: for lgb.train, lgb.cv and LGBMRanker.fit."""

from skgraded.boosting.lightgbm import eval_metric

__all__ = ["eval_metric"]
