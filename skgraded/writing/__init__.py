"""Create pages, charts, sentences, tables and JSON without depending on report classes."""
