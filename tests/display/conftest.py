"""Fixtures of displays: axes, and figures that are closed."""

import matplotlib
import pytest

matplotlib.use("Agg")  # no screen is needed

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402


@pytest.fixture
def ax():
    """Axes of a figure that pyplot does not manage."""
    return Figure().subplots()


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    before = plt.get_fignums()
    yield
    assert plt.get_fignums() == before
