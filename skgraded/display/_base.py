"""Code shared by all Displays: axes, colors, legends and names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from skgraded._input import docstrings
from skgraded._input.needs import needs
from skgraded.writing.text import shortened

# Okabe and Ito's colors are distinguishable with any type of color blindness. Colors with more
# contrast against light and dark backgrounds come first.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888")
NAME_WIDTH = 28  # maximum number of characters in a name; longer names are shortened
LEGEND_WIDTH = 2.0  # inches; a new figure is wider than the default, because of its legend

# Parameter descriptions and sections that several docstrings share.
SHARED = r"""
X : array-like, sparse matrix or frame of shape (n, n_columns)
    Features of the documents.
y : array-like of shape (n,)
    Grades ≥ 0; 0 means irrelevant.
y_true : array-like of shape (n,), or Judgments
    Grades ≥ 0; 0 means irrelevant.
y_score : array-like of shape (n,), or mapping of str to array-like
    Scores; higher scores rank first, and -inf means not retrieved. A mapping contains the scores
    of each system by name.
qid : array-like of shape (n,), optional
    Query id of each row; rows may be in any order.
group : array-like of shape (n_queries,), optional
    Sizes of consecutive queries, as an alternative to `qid`.
sample_weight : array-like of shape (n,), optional
    Weights of the rows; the weight of a query is the mean over its rows.
comparison : Comparison
    Result of `compare`.
name : str, optional
    Name of the system, by default the class of an estimator. The keys of a mapping name its
    systems.
measure : Measure or str, optional
    By default the first measure.
measures : Measure, str, or list of these, optional
    By default all measures.
level : float, default=0.95
    Level of the intervals, between 0 and 1.
ax : matplotlib.axes.Axes, optional
    Axes to draw on; by default, the axes of a new figure.
unjudged_documents : {"irrelevant", "drop"}, optional
    How to treat NaN grades, as in `evaluate`.
line_kw : dict, optional
    Keyword arguments of matplotlib's ``Axes.plot``.
patch_kw : dict, optional
    Keyword arguments of matplotlib's ``Axes.fill_between``.

Returns
-------
display
    Instance of this class.

Raises
------
ValueError, TypeError
    If the input is invalid.
ImportError
    If matplotlib is not installed.
"""
documented = docstrings.documented(SHARED)
Style = Mapping[str, Any] | None  # keyword arguments for matplotlib


class Display:
    """Base class of plots; a plot stores the plotted data and, once it is drawn, the axes."""

    ax_: Any
    figure_: Any

    def _begin(self, ax: Any, height: float | None = None) -> None:
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


def split_systems(systems: Any, name: str | None) -> tuple[list[str] | None, list[Any]]:
    """Return the names (None if not given) and values of one system or a mapping of systems."""
    if isinstance(systems, Mapping):
        return [str(key) for key in systems], list(systems.values())
    return None if name is None else [name], [systems]


def systems_first(values: Any, argument: str, shape: tuple[int, ...]) -> np.ndarray:
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
