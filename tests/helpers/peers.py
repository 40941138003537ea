"""Other tools that the tests compare with; a test is skipped if its tool is not installed."""

import os

import pytest

# Numba would compile ranx's loops for more than a minute. The variable must be set before ranx is
# imported; its loops then run as Python code.
os.environ["NUMBA_DISABLE_JIT"] = "1"


def peer(module):
    return pytest.importorskip(module, reason=f'{module} is missing: pip install "skgraded[peers]"')
