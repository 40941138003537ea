"""Validation and conversion of user input: columns, queries and tables."""
