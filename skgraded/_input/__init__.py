"""Validate and convert user input: columns, queries and tables."""
