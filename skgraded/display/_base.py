"""Code shared by all Displays: axes, legends and labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import fill
from typing import Any, Self

import numpy as np

from skgraded._input import docstrings
from skgraded._input.needs import needs
from skgraded.display._systems import as_names
from skgraded.writing.text import fixed, percent_text, shortened, signed

# The colors of Okabe and Ito's palette are distinguishable with any type of color blindness.
# Colors with more contrast against the background come first; None means the text color.
ON_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888", None)
ON_DARK = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#AAAAAA", None)
LINESTYLES = ("-", "--", "-.", ":")
NAME_WIDTH = 28  # maximum number of characters per line; longer system names are wrapped
LINE_HEIGHT = 0.18  # inches; height of a line of a name
NARROW = 4.5  # figure width in inches below which labels have a smaller font
EM = 0.57  # mean character width as a fraction of the font size
GAP = 6  # space in points between the legend and the axis labels above it

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
    plot: Any
    _draw: Any  # method that draws on `ax`, or on a new figure if `ax` is None

    def _plot(self, ax: Any, *names: Any, **styles: Style) -> Self:
        """Draw on the axes; the only keyword argument contains the style of the artists."""
        self._need_matplotlib("plot")
        from matplotlib import artist, cbook, lines, patches

        ((argument, style),) = styles.items()
        if style is not None and not isinstance(style, Mapping):
            raise TypeError(f"{argument} must be a dict; got {style!r}.")
        kinds = {"line_kw": lines.Line2D, "patch_kw": patches.StepPatch}
        style = cbook.normalize_kwargs(dict(style or {}), kinds.get(argument, artist.Artist))
        self._draw(ax, style, *names)
        return self

    @classmethod
    def _need_matplotlib(cls, method: str) -> None:
        with needs(f"{cls.__name__}.{method}", "matplotlib"):
            import matplotlib  # noqa: F401

    def _take_axes(self, ax: Any, width: float | None = None, height: float | None = None) -> None:
        """Store the axes; if `ax` is None, create a figure of the given or the default size."""
        self._is_new = ax is None
        if ax is None:
            import matplotlib.pyplot as plt

            default = plt.rcParams["figure.figsize"]
            _, ax = plt.subplots(
                layout="constrained", figsize=(width or default[0], height or default[1])
            )
        self.ax_, self.figure_ = ax, ax.figure

    def _take_rows(self, ax: Any, names: list[str], n_series: int = 1) -> None:
        """Set up axes with one row per name, from top to bottom; a new figure fits all rows."""
        from matplotlib import rcParams

        width = rcParams["figure.figsize"][0] if ax is None else ax.bbox.width / ax.figure.dpi
        size = small_size() if width < NARROW else rcParams["font.size"]
        n_characters = int(np.clip(0.45 * 72 * width / (EM * size), 14, NAME_WIDTH))
        names = [_row_name(name, n_characters) for name in names]
        n_lines = max(name.count("\n") + 1 for name in names)
        height = max(LINE_HEIGHT * (n_lines + 0.4), 0.13 * (n_series + 0.6))  # inches per row
        self._take_axes(ax, height=0.9 + height * len(names))
        self.ax_.set_yticks(range(len(names)), names, fontsize=size)
        self.ax_.set_ylim(len(names) - 0.5, -0.5)

    def _fit_names(self) -> None:
        """Reduce the font size of the row names if they do not fit the height of the rows."""
        labels = self.ax_.get_yticklabels()
        n_lines = max(label.get_text().count("\n") + 1 for label in labels)
        (_, first), (_, second) = self.ax_.transData.transform([(0, 0), (0, 1)])
        height = abs(second - first) * 72 / self.figure_.dpi  # of a row, in points
        limit_size(labels, height / (1.4 * n_lines))

    @property
    def _ink(self) -> str:
        return self.ax_.xaxis.label.get_color()

    def _color(self, i: int) -> str:
        from matplotlib.colors import to_rgb

        palette = ON_DARK if sum(to_rgb(self._ink)) > 1.5 else ON_LIGHT
        return palette[i % len(palette)] or self._ink

    def _draw_mean(
        self,
        text: str,
        mean: float | None,
        interval: Any,
        level: float | None,
        is_difference: bool = False,
    ) -> tuple[Any, Any]:
        """Draw a mean as a line and its interval as a band; return both (None if not drawn)."""
        if mean is None or np.isnan(mean):
            return None, None
        write = signed if is_difference else fixed
        text, band = f"{text} {write(mean, 3)}", None
        if interval is not None and not np.isnan(interval).any():
            low, high = interval
            percent = "" if level is None else f"{percent_text(level)} "
            text += f", {percent}interval {write(low, 3)} to {write(high, 3)}"
            band = self.ax_.axhspan(low, high, color=self._ink, alpha=0.15, linewidth=0)
        line = self.ax_.axhline(mean, color=self._ink, linestyle="--", linewidth=1.2, label=text)
        return line, band

    def _whole_ticks(self) -> None:
        from matplotlib.ticker import MaxNLocator

        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))

    def _fit_height(self, zero: bool = False) -> None:
        """Fit the vertical axis to all curves, including those that earlier displays have drawn."""
        self.ax_.autoscale(axis="y")
        low, high = self.ax_.get_ylim()
        if zero:
            highest = self.ax_.dataLim.y1
            high = 1.06 * highest if 0 < highest < np.inf else 1.0  # no curve, or all are 0
            low = -0.02 * high
        self.ax_.set_ylim(low, high)

    # Text around the axes is drawn last, because its layout depends on the final size of the axes.

    def _engine(self) -> tuple[Any, bool]:
        """Lay out the root figure; return the figure, and whether it has a layout engine."""
        root = self.figure_.canvas.figure
        engine = root.get_layout_engine()
        if engine is not None:
            engine.execute(root)
        return root, engine is not None

    def _write_around(
        self, below: list[str], side: str | None = None, title: str | None = None
    ) -> None:
        """Add labels below and beside the axes, and draw the legend."""
        self._engine()
        width, height = (72 * side / self.figure_.dpi for side in self.ax_.bbox.size)
        label = self.ax_.xaxis.label
        if self.figure_.bbox.width < NARROW * self.figure_.dpi:
            limit_size([label], small_size())
        self.ax_.set_xlabel(fitted("\n".join(filter(None, below)), width, label))
        if side is not None:
            self.ax_.set_ylabel(fitted(side, height, label))
        if self.ax_.get_legend() is not None:
            self.ax_.get_legend().remove()  # another display drew it
        handles, labels = self.ax_.get_legend_handles_labels()
        if handles:
            self._draw_legend(handles, labels, title)

    def _draw_legend(self, handles: list[Any], labels: list[str], title: str | None) -> None:
        """Draw the legend below the axes, or inside them if the figure has no layout engine."""
        from matplotlib.transforms import ScaledTranslation

        root, makes_room = self._engine()
        inner, outer = self.ax_.bbox, self.ax_.get_tightbbox(for_layout_only=True)
        points = 72 / self.figure_.dpi
        left = inner.x0 - outer.x0 if makes_room else 0
        room = inner.width + left - (0 if makes_room else 4 / points)
        legend = self._legend_within(room, handles, labels, title, frameon=not makes_room)
        height = legend.get_window_extent().height
        if not makes_room:
            low, high = self.ax_.get_ylim()
            share = min(0.6, height / inner.height + 0.04)
            self.ax_.set_ylim(low, low + (high - low) / (1 - share))
            return
        below = (inner.y0 - outer.y0) * points + GAP
        shift = ScaledTranslation(-left * points / 72, -below / 72, root.dpi_scale_trans)
        legend.set_loc("upper left")
        legend.set_bbox_to_anchor((0, 0), self.ax_.transAxes + shift)
        if self._is_new:
            root.set_figheight(root.get_figheight() + (height * points + GAP) / 72)

    def _legend_within(
        self, room: float, handles: list[Any], labels: list[str], title: str | None, **style: Any
    ) -> Any:
        """Draw a legend with as many columns as fit into the given width in pixels."""
        size = small_size()
        n_characters = max(16, int((room * 72 / self.figure_.dpi - 3 * size) / (EM * size)))
        for n_columns in range(min(6, len(handles)), 0, -1):
            legend = self.ax_.legend(
                handles,
                [wrapped(label, n_characters) for label in labels],
                loc="upper left",
                ncols=n_columns,
                fontsize=size,
                title=title,
                title_fontsize=size,
                alignment="left",
                borderpad=0.2,
                borderaxespad=0.2,
                handlelength=2.4,
                columnspacing=1.5,
                **style,
            )
            if legend.get_window_extent().width <= room:
                break
        return legend


class NamedDisplay(Display):
    """Base class of plots that show means over queries for one or more systems."""

    def __init__(self, name: Any, n_systems: int, n_queries: Any, n_undefined: Any) -> None:
        self.name: list[str] | None = as_names(name, n_systems)
        self._n_systems = n_systems
        self.n_queries = n_queries
        self.n_undefined = None if n_undefined is None else np.asarray(n_undefined)

    @documented
    def plot(
        self, ax: Any = None, *, name: str | list[str] | None = None, line_kw: Style = None
    ) -> Self:
        """Draw the stored values and return the display."""
        names = self.name if name is None else as_names(name, self._n_systems)
        return self._plot(ax, names, line_kw=line_kw)

    def _counted_queries(self) -> str:
        """Return the numbers of queries and undefined queries as text, or "" for one query."""
        if self.n_queries is None or np.max(self.n_queries) == 1:
            return ""
        text = f"{low_to_high(self.n_queries)} queries"
        if self.n_undefined is not None and np.max(self.n_undefined) > 0:
            text += f", {low_to_high(self.n_undefined)} undefined"
        return text


# Texts ------------------------------------------------------------------------------------------


def escaped(text: str) -> str:
    """Escape dollar signs, so that matplotlib does not parse the text as a formula."""
    return str(text).replace("$", r"\$")


def wrapped(text: str, width: int) -> str:
    """Wrap text into lines of at most `width` characters."""
    lines = str(text).replace(" %", "\u00a0%").split("\n")  # "95 %" stays on one line
    return "\n".join(fill(line, width) for line in lines).replace("\u00a0", " ")


def fitted(text: str, points: float, label: Any) -> str:
    """Wrap a text to a width in points, in the font size of the matplotlib text `label`."""
    n_characters = max(12, int(points / (EM * label.get_fontsize())))
    return escaped(wrapped(text, n_characters))


def wrapped_name(name: str, width: int = NAME_WIDTH) -> str:
    """Shorten a name if it is very long, and wrap it into lines of at most `width` characters."""
    return escaped(wrapped(shortened(" ".join(str(name).split())), width))


def _row_name(name: str, n_characters: int) -> str:
    """Wrap the name of a row; for a long pair, place the two names on separate lines."""
    text = wrapped_name(name, 1000)
    if len(text) <= n_characters:
        return text
    return "\n− ".join(wrapped_name(part, n_characters) for part in str(name).split(" − "))


def legend_name(name: str) -> str:
    """Put a name on one line; add a leading space if matplotlib would hide the name ("_name")."""
    text = wrapped_name(name, 1000)
    return f" {text}" if text.startswith("_") else text


def small_size() -> float:
    """Return the font size "small" in points."""
    from matplotlib.font_manager import FontProperties

    return FontProperties(size="small").get_size_in_points()


def limit_size(labels: Iterable[Any], points: float) -> None:
    """Limit the font size of matplotlib texts."""
    for label in labels:
        label.set_fontsize(min(label.get_fontsize(), points))


def best_first(values: np.ndarray) -> np.ndarray:
    """Return the positions that sort the values in descending order, with nan last."""
    return np.argsort(-np.asarray(values, dtype=float), kind="stable")


def low_to_high(numbers: Any) -> str:
    """Return the range of the numbers as text, such as "10 to 12"."""
    low, high = np.min(numbers), np.max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
