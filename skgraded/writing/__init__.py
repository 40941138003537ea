"""Writes pages, charts, sentences, tables and JSON from plain values, not from report classes."""
