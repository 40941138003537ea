"""Integrations with other evaluation libraries, with one module per library."""
