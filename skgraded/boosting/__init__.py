"""Metrics, objectives and early stopping for boosting libraries, in one module per library."""
