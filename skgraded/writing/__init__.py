"""Plain parts in, text out: pages, charts, sentences, tables and JSON. No report is known here."""
