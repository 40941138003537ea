"""Displays draw on new axes or on axes of the user, in the styles of matplotlib."""

import sys

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import skgraded as sg

DISPLAYS = {
    "threshold": lambda: sg.ThresholdCurveDisplay([1, 2], [0.5, 0.25], name="a"),
    "cutoff": lambda: sg.CutoffCurveDisplay([1, 2], [0.5, 0.25], measures="NDCG", name="a"),
    "difference": lambda: sg.QueryDifferenceDisplay(
        [0.5, -0.2],
        measure="AP",
        system="b",
        baseline="a",
        mean=0.15,
        interval=(-4.3, 4.6),
        level=0.95,
    ),
    "interval": lambda: sg.IntervalDisplay([[0.5]], [[0.4]], [[0.6]], measures="AP"),
}


@pytest.mark.parametrize("make", DISPLAYS.values(), ids=DISPLAYS)
def test_a_display_draws_on_given_axes_on_subfigures_and_on_new_figures(make, ax):
    display = make()
    assert display.plot(ax) is display
    assert display.ax_ is ax and display.figure_ is ax.figure
    left, _ = Figure(layout="constrained").subfigures(1, 2)
    assert display.plot(ax=left.subplots()).figure_ is left
    display.plot()
    try:
        assert plt.get_fignums() == [display.figure_.number]
        assert display.ax_ in display.figure_.axes
    finally:
        plt.close(display.figure_)


def test_displays_on_the_same_axes_have_different_colors_and_one_legend(ax):
    for name in ("threshold", "interval"):
        ax.clear()
        first, second = (DISPLAYS[name]().plot(ax) for _ in range(2))
        colors = {to_hex(line.get_color()) for line in ax.lines}
        assert len(colors) == 2 and first.ax_ is second.ax_
        assert len(ax.get_legend().get_texts()) == 2


@pytest.mark.parametrize(
    ("name", "argument", "artists"),
    [
        *((name, "line_kw", "lines_") for name in ("threshold", "cutoff")),
        ("difference", "patch_kw", "wins_"),
        ("interval", "line_kw", "points_"),
    ],
)
def test_settings_of_matplotlib_are_passed_on(name, argument, artists, ax):
    display = DISPLAYS[name]().plot(ax, **{argument: {"alpha": 0.25}})
    artist = getattr(display, artists)
    artist = artist[0] if isinstance(artist, list) else artist
    artist = getattr(artist, "lines", [artist])[0]
    assert artist.get_alpha() == 0.25


def test_without_matplotlib_the_error_names_the_package_to_install(monkeypatch):
    displays = [make() for make in DISPLAYS.values()]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot")
    for display in displays:
        message = rf'^{type(display).__name__}\.plot needs matplotlib: pip install "'
        with pytest.raises(ImportError, match=message):
            display.plot()
