"""Use measures as metrics and objectives in XGBoost, and for early stopping."""

from skgraded.boosting.xgboost import EarlyStopping, custom_metric, objective

__all__ = ["EarlyStopping", "custom_metric", "objective"]
