"""Code shared by all Displays: axes, legends, labels and scores of estimators."""

import inspect
import re
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.columns import check_grades
from skgraded._input.docs import with_parameters
from skgraded._input.needs import needs
from skgraded._input.query_source import queries_of
from skgraded.display._systems import as_names, common_source, systems_of
from skgraded.judgments import Judgments
from skgraded.model_selection.scorer import check_response_method, document_scores
from skgraded.model_selection.split_queries import warn_of_split_queries
from skgraded.writing.text import number, percent_text, shortened, signed

# Colours of Okabe and Ito, which are distinguishable with all types of colour blindness.
# Colours with higher contrast against the background come first; None is the text colour.
ON_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888", None)
ON_DARK = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#AAAAAA", None)
LINESTYLES = ("-", "--", "-.", ":")
NAME_WIDTH = 28  # characters per line of a system's name
LINE_HEIGHT = 0.18  # inches per line of a name
NARROW = 4.5  # inches; narrower figures use a smaller font for row labels
EM = 0.57  # mean character width as a fraction of the font size
GAP = 6  # points; space between the axes, the text below the axes and the legend

# Paragraphs that the docstrings share.
PARAMETERS = r"""
y_true : array-like of shape (n,), or Judgments
    Grades ≥ 0, 0 = irrelevant.
y_score : array-like of shape (n,), or mapping of str to such
    Scores; higher scores rank first, and -inf means not retrieved. A mapping contains the scores
    of each system by name.
qid : array-like of shape (n,), optional
    Query of each row, in any row order.
group : array-like of shape (n_queries,), optional
    Sizes of consecutive queries, instead of `qid`.
sample_weight : array-like of shape (n,), optional
    The weight of a query is the mean over its rows.
comparison : Comparison
    Result of `compare`.
name : str, optional
    Name of the system. The keys of a mapping name its systems.
measure : Measure or str, optional
    By default the first measure.
measures : Measure, str, or list of these, optional
    By default all measures.
level, method, n_resamples, rng
    Settings of the intervals, as for `Evaluation.summary`.
ax : matplotlib.axes.Axes, optional
    Axes to draw on; None: axes of a new figure.
**kwargs : dict
    Settings for the matplotlib function that `plot` calls.
"""
END = """
Returns
-------
display
    Object of this class.

Raises
------
ValueError, TypeError
    If the input is invalid; it is checked before any computation.
ImportError
    If matplotlib is not installed."""


def documented(method):
    """Add shared descriptions of the parameters that the docstring does not describe."""
    if method.__doc__ is not None:  # python -OO
        _, *names = inspect.signature(method).parameters  # without self or cls
        method.__doc__ = with_parameters(method.__doc__, names, PARAMETERS) + END
    return method


class Display:
    """Base class of plots, which stores the data to plot and, after plotting, the axes."""

    ax_: Any
    figure_: Any
    _n_lines: Any = None  # lines per row name, if there are rows
    _draw: Any  # draws on the axes, or on a new figure if ax is None; passes settings to matplotlib

    @documented
    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the stored values and return the display.

        Parameters
        ----------
        **kwargs : dict
            Keyword arguments passed to matplotlib: to ``boxplot`` for folds, ``StepPatch`` for wins
            and losses, ``imshow`` for a heat map, ``barh`` for importances.
        """
        self._need_matplotlib("plot")
        self._draw(ax, kwargs)
        return self

    @classmethod
    def _need_matplotlib(cls, method):
        with needs(f"{cls.__name__}.{method}", "matplotlib"):
            import matplotlib  # noqa: F401

    def _take_axes(self, ax, width=None, height=None):
        """Store the axes, or create a figure; width and height default to matplotlib's settings."""
        self._is_new = ax is None
        if ax is None:
            import matplotlib.pyplot as plt

            default = plt.rcParams["figure.figsize"]
            _, ax = plt.subplots(
                layout="constrained", figsize=(width or default[0], height or default[1])
            )
        self.ax_, self.figure_ = ax, ax.figure

    def _take_rows(self, ax, names, n_series=1):
        """Set up axes with one row per name from top to bottom; a new figure fits all rows."""
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
        self._n_lines = n_lines

    def _fit_names(self):
        """Limit the font size of row names to the height of the rows."""
        row_height = abs(np.diff(self.ax_.transData.transform([(0, 0), (0, 1)])[:, 1])[0])
        room = 72 * row_height / self.figure_.dpi / (1.4 * self._n_lines)
        for label in self.ax_.get_yticklabels():
            label.set_fontsize(min(label.get_fontsize(), room))

    @property
    def _ink(self):
        return self.ax_.xaxis.label.get_color()

    def _color(self, i):
        from matplotlib.colors import to_rgb

        palette = ON_DARK if sum(to_rgb(self._ink)) > 1.5 else ON_LIGHT
        return palette[i % len(palette)] or self._ink

    def _draw_mean(self, text, mean, interval, level, is_difference=False):
        """Draw a mean as a line and its interval as a band; return both, None if unknown."""
        if mean is None or np.isnan(mean):
            return None, None
        write = signed if is_difference else number
        text, band = f"{text} {write(mean, 3)}", None
        if interval is not None and not np.isnan(interval).any():
            low, high = interval
            percent = "" if level is None else f"{percent_text(level)} "
            text += f", {percent}interval {write(low, 3)} to {write(high, 3)}"
            band = self.ax_.axhspan(low, high, color=self._ink, alpha=0.15, linewidth=0)
        line = self.ax_.axhline(mean, color=self._ink, linestyle="--", linewidth=1.2, label=text)
        return line, band

    def _whole_ticks(self):
        from matplotlib.ticker import MaxNLocator

        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))

    def _fit_height(self, zero=False):
        """Fit the vertical axis to all curves, including curves of earlier displays."""
        self.ax_.autoscale(axis="y")
        low, high = self.ax_.get_ylim()
        if zero:
            highest = self.ax_.dataLim.y1
            high = 1.06 * highest if 0 < highest < np.inf else 1.0  # no curve, or all are 0
            low = -0.02 * high
        self.ax_.set_ylim(low, high)

    # Text around the axes is drawn last, because its layout depends on the final size of the axes.

    def _engine(self):
        """Lay out the root figure; return it, and whether it has a layout engine."""
        root = self.figure_.canvas.figure
        engine = root.get_layout_engine()
        if engine is not None:
            engine.execute(root)
        return root, engine is not None

    def _n_characters(self, points, text):
        """Return how many characters of a matplotlib text fit into a width in points."""
        return max(12, int(points / (EM * text.get_fontsize())))

    def _write_around(self, below, side=None, title=None):
        """Add labels below and beside the axes, and draw the legend."""
        self._engine()
        width, height = (72 * side / self.figure_.dpi for side in self.ax_.bbox.size)
        label = self.ax_.xaxis.label
        if self.figure_.bbox.width < NARROW * self.figure_.dpi:
            label.set_fontsize(min(label.get_fontsize(), small_size()))
        n_characters = self._n_characters(width, label)
        lines = [wrapped(line, n_characters) for line in below if line]
        self.ax_.set_xlabel(escaped("\n".join(lines)))
        if side is not None:
            n_characters = self._n_characters(height, label)
            self.ax_.set_ylabel(escaped(wrapped(side, n_characters)))
        if self.ax_.get_legend() is not None:
            self.ax_.get_legend().remove()  # another display drew it
        handles, labels = self.ax_.get_legend_handles_labels()
        if handles:
            self._draw_legend(handles, labels, title)
        if self._n_lines is not None:
            self._fit_names()

    def _draw_legend(self, handles, labels, title):
        """Draw the legend below the axes, or inside if the figure has no layout engine."""
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

    def _legend_within(self, room, handles, labels, title, **style):
        """Draw a legend with as many columns as fit into the given width in pixels."""
        size = small_size()
        n_characters = max(16, int((room * 72 / self.figure_.dpi - 3 * size) / (EM * size)))
        legend = None
        for n_columns in range(min(6, len(handles)), 0, -1):
            legend = self.ax_.legend(
                handles, [wrapped(label, n_characters) for label in labels],
                loc="upper left", ncols=n_columns, fontsize=size, title=title,
                title_fontsize=size, alignment="left", borderpad=0.2, borderaxespad=0.2,
                handlelength=2.4, columnspacing=1.5, **style,
            )
            if legend.get_window_extent().width <= room:
                break
        return legend


class SystemsDisplay(Display):
    """Base class of plots that are computed from the scores of one or more systems."""

    from_predictions: Any
    _systems_of = staticmethod(systems_of)  # validates the names and the systems

    @classmethod
    @documented
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        response_method: str | list[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Compute scores with fitted estimators and plot them as `from_predictions` does.

        Parameters
        ----------
        estimator : estimator, or mapping of str to estimator
            Fitted estimators. `QueryDifferenceDisplay` requires a mapping of two, the baseline
            first.
        X : array-like, sparse matrix or frame of shape (n, n_features)
            Documents.
        y : array-like of shape (n,)
            Grades ≥ 0.
        qid : array-like of shape (n,), optional
            Query of each row. It is optional if every estimator is a `QueryRanker` that names the
            same column of X.
        name : str, optional
            Name of the system, by default the class of the estimator. The keys of a mapping name
            its systems.
        response_method : {"predict", "decision_function", "predict_proba"} or a list, optional
            Method that returns the scores, as for `make_ranking_scorer`. By default, ``predict``
            for rankers and regressors, and ``decision_function`` or the expected grade for
            classifiers.
        **kwargs : dict
            Additional parameters of `from_predictions`.
        """
        cls._need_matplotlib("from_estimator")
        check_response_method(response_method)
        names, estimators = cls._systems_of(estimator, name, "estimator")
        source = None
        if qid is None and group is None:
            source = common_source(estimators)
            qid = queries_of(X, source)
        check_grades(y, "y")
        judgments = Judgments(y, qid=qid, group=group, sample_weight=sample_weight)
        if group is None:
            for model in estimators:
                warn_of_split_queries(model, X, judgments, source)
        scores: Any = [document_scores(model, X, response_method) for model in estimators]
        if isinstance(estimator, Mapping):
            scores = dict(zip(names, scores, strict=True))
        else:
            (scores,) = scores
            kwargs["name"] = type(estimator).__name__ if name is None else name
        return cls.from_predictions(judgments, scores, ax=ax, **kwargs)


class NamedDisplay(SystemsDisplay):
    """Base class of plots of means over queries for optionally named systems."""

    def __init__(self, name: Any, n_systems: int, n_queries: Any, n_undefined: Any) -> None:
        self.name: list[str] | None = as_names(name, n_systems)
        self._n_systems = n_systems
        self.n_queries = n_queries
        self.n_undefined = None if n_undefined is None else np.asarray(n_undefined)

    @documented
    def plot(
        self, ax: Any = None, *, name: str | list[str] | None = None, **kwargs: Any
    ) -> Self:
        """Draw the stored values and return the display.

        Parameters
        ----------
        name : str or list of str, optional
            Names of the systems, instead of the stored ones.
        **kwargs : dict
            Keyword arguments passed to matplotlib's ``plot`` for all curves or means.
        """
        self._need_matplotlib("plot")
        from matplotlib.cbook import normalize_kwargs
        from matplotlib.lines import Line2D

        names = self.name if name is None else as_names(name, self._n_systems)
        self._draw(ax, normalize_kwargs(kwargs, Line2D), names)
        return self

    def _counted_queries(self):
        """Return text with the numbers of queries and undefined queries; "" for a single query."""
        if self.n_queries is None or np.max(self.n_queries) == 1:
            return ""
        text = f"{low_to_high(self.n_queries)} queries"
        if self.n_undefined is not None and np.max(self.n_undefined) > 0:
            text += f", {low_to_high(self.n_undefined)} undefined"
        return text


# Texts ------------------------------------------------------------------------------------------

def escaped(text):
    """Escape dollar signs, so that matplotlib does not parse the text as a formula."""
    return str(text).replace("$", r"\$")


def wrapped(text, width):
    """Wrap a text to lines of at most `width` characters."""
    lines = []
    for paragraph in str(text).replace(" %", "\u00a0%").split("\n"):  # "95 %" stays on one line
        clauses = re.findall(r".+?(?:, |$)", paragraph)
        has_room = max(map(len, clauses), default=0) <= width + 1  # break after commas only
        line = ""
        for piece in clauses if has_room else _pieces(paragraph, width):
            if line and len((line + piece).rstrip(" ")) > width:
                lines.append(line.rstrip(" "))
                line = ""
            line += piece
        lines.append(line.rstrip(" "))
    return "\n".join(lines).replace("\u00a0", " ")


def _pieces(text, width):
    """Yield words with a trailing space; split long words, after punctuation if possible."""
    for word in re.findall(r" *[^ ]+ ?", text):
        parts = [word] if len(word.rstrip(" ")) <= width else re.split(r"(?<=[_/.,-])", word)
        for part in parts:
            for start in range(0, len(part), width):
                yield part[start : start + width]


def wrapped_name(name, width=NAME_WIDTH):
    """Wrap a name to lines after shortening very long names."""
    return escaped(wrapped(shortened(" ".join(str(name).split())), width))


def _row_name(name, n_characters):
    """Wrap the name of a row; a long pair of names is placed on separate lines."""
    text = wrapped_name(name, 1000)
    if len(text) <= n_characters:
        return text
    return "\n− ".join(wrapped_name(part, n_characters) for part in str(name).split(" − "))


def legend_name(name):
    """Return a name on one line; a space before an initial underscore keeps it in the legend."""
    text = wrapped_name(name, 1000)
    return f" {text}" if text.startswith("_") else text


def small_size():
    """Return the font size "small" in points."""
    from matplotlib.font_manager import FontProperties

    return FontProperties(size="small").get_size_in_points()


def best_first(values):
    """Return the positions of the values in descending order, with nan last."""
    return np.argsort(-np.nan_to_num(np.asarray(values, dtype=float), nan=-np.inf), kind="stable")


def low_to_high(numbers):
    """Return the range of the numbers as text."""
    low, high = np.min(numbers), np.max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
