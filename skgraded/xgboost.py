"""Measures as metrics and objectives for XGBoost, and early stopping on them."""

from skgraded.boosting.xgboost import EarlyStopping, custom_metric, objective

__all__ = ["EarlyStopping", "custom_metric", "objective"]
