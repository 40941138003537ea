"""Code shared by all Displays: axes, colors, legends and names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from skgraded._input import docstrings
from skgraded._input.needs import needs
from skgraded.writing.text import shortened

# The colors of Okabe and Ito's palette are distinguishable with any type of color blindness.
# Colors with more contrast against the background come first; None means the text color.
ON_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888", None)
ON_DARK = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#AAAAAA", None)
NAME_WIDTH = 28  # maximum number of characters in a name; longer names are shortened
MOST_ENTRIES = 25  # maximum number of entries in a column of the legend
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
    Name of the system, by default the class of an estimator; for `plot`, a list of the names of all
    systems, instead of the stored names. The keys of a mapping name its systems.
measure : Measure or str, optional
    By default the first measure.
measures : Measure, str, or list of these, optional
    By default all measures.
level : float, default=0.95
    Level of the intervals, between 0 and 1.
method, n_resamples, rng
    Settings of the intervals, as in `Evaluation.summary`.
max_systems : int or None, default=8
    Maximum number of systems to draw, the best first (by μMAP, or by the first measure at the last
    cut-off); None means all systems.
ax : matplotlib.axes.Axes, optional
    Axes to draw on; by default, the axes of a new figure.
unjudged_documents : {"irrelevant", "drop"}, optional
    How to treat NaN grades, as in `evaluate`.
line_kw : dict, optional
    Keyword arguments of matplotlib's ``Axes.plot``.
patch_kw : dict, optional
    Keyword arguments of matplotlib's ``StepPatch``.

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

    @property
    def _ink(self) -> str:
        return self.ax_.xaxis.label.get_color()

    def _color(self, i: int) -> str:
        from matplotlib.colors import to_rgb

        palette = ON_DARK if sum(to_rgb(self._ink)) > 1.5 else ON_LIGHT
        return palette[i % len(palette)] or self._ink

    def _tick_integers(self) -> None:
        from matplotlib.ticker import MaxNLocator

        locator = MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1)
        self.ax_.xaxis.set_major_locator(locator)

    def _finish(self, below: list[str], side: str = "", title: str | None = None) -> None:
        """Label the axes and draw the legend, which is beside the axes if matplotlib fits them."""
        self.ax_.set_xlabel("\n".join(filter(None, below)))
        self.ax_.set_ylabel(side)
        n_entries = len(self.ax_.get_legend_handles_labels()[0])
        if n_entries == 0:
            return
        place: dict[str, Any] = {"loc": "best"}
        if self.figure_.get_layout_engine() is not None:
            place = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
        self.ax_.legend(
            title=title,
            alignment="left",
            fontsize="small",
            title_fontsize="small",
            ncols=-(-n_entries // MOST_ENTRIES),
            **place,
        )


def line_settings(style: Style) -> dict[str, Any]:
    """Return keyword arguments of matplotlib's Line2D with their full names."""
    from matplotlib import cbook, lines

    return cbook.normalize_kwargs(dict(style or {}), lines.Line2D)


def as_names(name: Any, n_systems: int) -> list[str] | None:
    """Return the names as a list with one element per system, or None if `name` is None."""
    if name is None:
        return None
    names = [name] if isinstance(name, str) else list(name)
    if len(names) != n_systems:
        raise ValueError(f"name must contain {n_systems} names, one per system; got {name!r}.")
    return names


def systems_of(systems: Any, name: Any, argument: str) -> tuple[list[str] | None, list[Any]]:
    """Return the names (None if not given) and values of one system or a mapping of systems."""
    if not isinstance(systems, Mapping):
        return as_names(name, 1), [systems]
    if name is not None:
        raise ValueError(f"name must be None, because the keys of {argument} name the systems.")
    if not systems:
        raise ValueError(f"The mapping {argument} is empty: pass at least one system.")
    return [str(key) for key in systems], list(systems.values())


def systems_first(values: Any, argument: str, shape: tuple[int, ...]) -> np.ndarray:
    """Reshape values to shape (n_systems, *shape); leading axes of length 1 may be missing."""
    array = np.asarray(values, dtype=float)
    full = (1,) * (len(shape) + 1 - array.ndim) + array.shape
    if full[1:] != shape:
        wanted = ", ".join(map(str, ("n_systems", *shape)))
        raise ValueError(f"{argument} must have shape ({wanted}); got shape {array.shape}.")
    return array.reshape(full)


def best_first(values: np.ndarray) -> np.ndarray:
    """Return the positions that sort the values in descending order, with nan last."""
    return np.argsort(-np.asarray(values), kind="stable")


def query_counts(n_queries: Any, n_undefined: Any) -> str:
    """Return the numbers of queries and undefined queries as text, or "" for one query."""
    if n_queries is None or np.max(n_queries) == 1:
        return ""
    text = f"{_range(n_queries)} queries"
    if n_undefined is not None and np.max(n_undefined) > 0:
        text += f", {_range(n_undefined)} undefined"
    return text


def _range(numbers: Any) -> str:
    low, high = np.min(numbers), np.max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def name_text(name: object) -> str:
    """Return a name as text that matplotlib neither parses as a formula nor hides ("_name")."""
    text = shortened(" ".join(str(name).split()), NAME_WIDTH).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text
