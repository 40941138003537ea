"""Write pages, charts, sentences, tables and JSON; this package imports no report classes."""
