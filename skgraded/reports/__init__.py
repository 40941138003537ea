"""Reports: values by query, their means and intervals, and comparisons of systems."""
