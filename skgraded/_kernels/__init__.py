"""Compiled loops over documents, and the threads that run them."""
