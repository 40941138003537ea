"""What all tests of the command share."""

import pytest


@pytest.fixture(autouse=True)
def no_terminal_width(monkeypatch):
    """Remove COLUMNS, which readline exports to the workers of pytest-xdist."""
    monkeypatch.delenv("COLUMNS", raising=False)
