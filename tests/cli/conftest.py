"""Fixtures for all tests of the command."""

import pytest
from commands import FILES


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Write FILES into a folder, and make it the working directory."""
    monkeypatch.delenv("COLUMNS", raising=False)  # readline exports it to pytest-xdist's workers
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path
