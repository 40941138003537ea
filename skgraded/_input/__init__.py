"""What users hand in, made clean once: columns, queries and tables."""
