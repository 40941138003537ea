"""Metrics, objectives and early stopping for boosting libraries, with one module per library."""
