"""Checks and conversions of user input: columns, queries and tables."""
