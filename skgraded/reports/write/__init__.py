"""How reports are written: tables, JSON, plain sentences, pages of HTML."""
