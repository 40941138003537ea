"""Code shared by all Displays: axes, colors, legends and names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.libraries import needs
from skgraded.writing.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colors are distinguishable with any type of color blindness.
# Colors with more contrast against light and dark backgrounds come first.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888")
NAME_WIDTH = 28  # maximum number of characters in a name; longer names are shortened
LEGEND_WIDTH = 2.0  # inches; a new figure is wider than the default, because of its legend

Style = Mapping[str, Any] | None  # keyword arguments for matplotlib


class Display:
    """Base class of plots; a plot stores the plotted data and, once it is drawn, the axes."""

    ax_: Any
    figure_: Any

    def _begin(self, ax: Axes | None, height: float | None = None) -> None:
        """Store the axes; if `ax` is None, create a figure with this height in inches."""
        if ax is None:
            with needs(f"{type(self).__name__}.plot", "matplotlib"):
                import matplotlib.pyplot as plt
            width, default = plt.rcParams["figure.figsize"]
            size = width + LEGEND_WIDTH, height or default
            _, ax = plt.subplots(layout="constrained", figsize=size)
        self.ax_, self.figure_ = ax, ax.figure

    def _tick_integers(self) -> None:
        from matplotlib.ticker import MaxNLocator

        locator = MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1)
        self.ax_.xaxis.set_major_locator(locator)

    def _finish(self, below: str, side: str = "", title: str | None = None) -> None:
        """Label the axes and draw the legend, which is beside the axes if matplotlib fits them."""
        self.ax_.set_xlabel(below)
        self.ax_.set_ylabel(side)
        place: dict[str, Any] = {"loc": "best"}
        if self.figure_.get_layout_engine() is not None:
            place = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
        if self.ax_.get_legend_handles_labels()[0]:
            self.ax_.legend(
                title=title, alignment="left", fontsize="small", title_fontsize="small", **place
            )


def split_systems(systems: object, name: str | None) -> tuple[list[str] | None, list[Any]]:
    """Return the names (None if not given) and values of one system or a mapping of systems."""
    if isinstance(systems, Mapping):
        return [str(key) for key in systems], list(systems.values())
    return None if name is None else [name], [systems]


def systems_first(values: ArrayLike, argument: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of shape (n_systems, *shape); leading axes of length 1 may be missing."""
    array = np.array(values, dtype=float, ndmin=len(shape) + 1)
    if array.shape[1:] != shape:
        wanted = ", ".join(map(str, ("n_systems", *shape)))
        raise ValueError(f"{argument} must have shape ({wanted}); got shape {np.shape(values)}.")
    return array


def best_first(values: np.ndarray) -> list[int]:
    """Return the positions that sort the values in descending order, with nan last."""
    return np.argsort(-values, kind="stable").tolist()


def name_text(name: object) -> str:
    """Return a name as text that matplotlib neither parses as a formula nor hides ("_name")."""
    text = shortened(" ".join(str(name).split()), NAME_WIDTH).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text
