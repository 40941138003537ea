"""Rows, metrics, objectives and early stopping for boosting libraries, one file per library."""
