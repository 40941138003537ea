"""Measures as metrics of XGBoost: for xgb.train and xgb.cv, and early stopping on them."""

from skgraded.boosting.xgboost import EarlyStopping, custom_metric

__all__ = ["EarlyStopping", "custom_metric"]
