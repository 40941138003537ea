"""Rankers of the boosting libraries: their rows, metrics and early stopping, a file a library."""
