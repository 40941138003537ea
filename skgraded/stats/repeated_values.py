"""Means and deviations per query, for queries that were tested several times."""

import numpy as np


def means_of_queries(values: np.ndarray, query: np.ndarray, n_queries: int) -> np.ndarray:
    """Return each query's mean value, ignoring nan, or nan for queries without values."""
    known = ~np.isnan(values)
    counts = np.bincount(query[known], minlength=n_queries)
    sums = np.bincount(query[known], values[known], minlength=n_queries)
    return np.divide(sums, counts, out=np.full(n_queries, np.nan), where=counts > 0)


def deviations_of_queries(values: np.ndarray, query: np.ndarray, n_queries: int) -> np.ndarray:
    """Return the standard deviation of each query's values, or nan for fewer than two values."""
    known = ~np.isnan(values)
    n = np.bincount(query[known], minlength=n_queries)
    squares = (values - means_of_queries(values, query, n_queries)[query])[known] ** 2
    sums = np.bincount(query[known], squares, minlength=n_queries)
    variance = np.divide(sums, n - 1, out=np.full(n_queries, np.nan), where=n > 1)
    return np.sqrt(variance)
