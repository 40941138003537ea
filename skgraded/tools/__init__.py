"""Measures inside other libraries, one file per library."""
