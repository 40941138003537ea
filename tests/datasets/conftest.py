"""Readers with Arrow, and as if it were not installed."""

import sys

import pytest


@pytest.fixture(scope="module", params=["with Arrow", "without"])
def arrow(request):
    with pytest.MonkeyPatch.context() as patch:
        # pandas, which tests/conftest.py has imported, still finds pyarrow.
        if request.param == "without":
            patch.setitem(sys.modules, "pyarrow", None)
        yield
