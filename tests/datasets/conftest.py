"""Readers with Arrow, and as if it were not installed."""

import sys

import pytest

from skgraded._input.libraries import is_installed


@pytest.fixture(scope="module", params=["with Arrow", "without"])
def arrow(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "without":
            if is_installed("pandas"):
                import pandas  # noqa: F401  (its first import records whether pyarrow is missing)
            patch.setitem(sys.modules, "pyarrow", None)
        yield
