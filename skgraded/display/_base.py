"""What displays share: axes, legends and texts, and the way from estimators to a picture."""

import inspect
import textwrap
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
from skgraded.writing.text import percent_text, shortened

BLUE = "#0072B2"  # can be distinguished from the orange of losses in all kinds of colour blindness
NAME_WIDTH = 28  # characters per line of a system's name
LEGEND_WIDTH = 44  # characters per line of a legend
SIDE_WIDTH = 40  # characters that fit along the vertical axis
MOST_INSIDE = 8  # entries of a legend inside the axes; a longer legend is placed beside them
COLUMN_LENGTH = 25  # entries per column of a legend beside the axes

# Paragraphs that the docstrings share.
PARAMETERS = r"""
y_true : array-like of shape (n,), or Judgments
    Grades ≥ 0, 0 = irrelevant.
y_score : array-like of shape (n,), or mapping of str to such
    The system's scores, the highest first; -inf: not retrieved. Of several systems the scores by
    name.
qid : array-like of shape (n,), optional
    The query of each row, in any row order.
group : array-like of shape (n_queries,), optional
    Sizes of consecutive queries, in place of `qid`.
sample_weight : array-like of shape (n,), optional
    A query's weight is the mean over its rows.
comparison : Comparison
    As `compare` makes it.
name : str, optional
    The system's name. A mapping has names of its own.
measure : Measure or str, optional
    By default the first.
measures : Measure, str, or list of these, optional
    By default all.
level, method, n_resamples, rng
    As for `Evaluation.summary`, of which it draws the numbers.
ax : matplotlib.axes.Axes, optional
    Where to draw; None: in a new figure.
**kwargs : dict
    Settings of matplotlib for what `plot` draws.
"""
END = """
Returns
-------
display
    Of this class.

Raises
------
ValueError, TypeError
    On bad input, before any work.
ImportError
    If there is no matplotlib."""


def documented(method):
    """Give a docstring the shared paragraph of each parameter that it says nothing of."""
    if method.__doc__ is not None:  # python -OO
        _, *names = inspect.signature(method).parameters  # without self or cls
        method.__doc__ = with_parameters(method.__doc__, names, PARAMETERS) + END
    return method


class Display:
    """A picture: it holds what `plot` draws and, once drawn, the axes."""

    ax_: Any
    figure_: Any
    _draw: Any  # of each class: with the axes or None and settings of matplotlib

    @documented
    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw what the display holds, and return the display.

        Parameters
        ----------
        **kwargs : dict
            For matplotlib's ``boxplot`` of folds, or its ``StepPatch`` of wins and losses.
        """
        self._need_matplotlib("plot")
        self._draw(ax, kwargs)
        return self

    @classmethod
    def _need_matplotlib(cls, method):
        with needs(f"{cls.__name__}.{method}", "matplotlib"):
            import matplotlib  # noqa: F401

    def _take_axes(self, ax, **figure):
        """Draw on these axes, or on those of a new figure with these settings."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(layout="constrained", **figure)
        self.ax_, self.figure_ = ax, ax.figure

    @property
    def _ink(self):
        return self.ax_.xaxis.label.get_color()

    def _draw_mean(self, text, mean, interval, level, sign=""):
        """Draw a mean as a line and its interval as a band; None for what is not known."""
        if mean is None or np.isnan(mean):
            return None, None
        text, band = f"{text} {mean:{sign}.3f}", None
        if interval is not None and not np.isnan(interval).any():
            low, high = interval
            percent = "" if level is None else f"{percent_text(level)} "
            text += f", {percent}interval {low:{sign}.3f} to {high:{sign}.3f}"
            band = self.ax_.axhspan(low, high, color=self._ink, alpha=0.15, linewidth=0)
        line = self.ax_.axhline(mean, color=self._ink, linestyle="--", linewidth=1.2, label=text)
        return line, band

    def _name_side(self, text):
        self.ax_.set_ylabel(wrapped(text, SIDE_WIDTH))

    def _whole_ticks(self):
        from matplotlib.ticker import MaxNLocator

        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))

    def _fit_height(self):
        """Show all that is drawn, also by an earlier display, with ticks that fit it."""
        from matplotlib.ticker import AutoLocator

        self.ax_.autoscale(axis="y")
        low, high = self.ax_.get_ylim()
        ticks = AutoLocator().tick_values(low, high)
        self.ax_.set_yticks(ticks[(ticks >= low) & (ticks <= high)])
        self.ax_.set_ylim(low, high)

    def _n_entries(self):
        return len(self.ax_.get_legend_handles_labels()[0])

    def _legend_beside(self):
        """Draw the legend right of the axes, in a figure that makes room for it."""
        self.ax_.legend(
            loc="upper left", bbox_to_anchor=(1.02, 1), borderaxespad=0, fontsize="small",
            ncols=-(-self._n_entries() // COLUMN_LENGTH),
        )

    def _legend_above(self):
        """Draw the legend above all that is drawn, where the axes make room for it."""
        root = self.figure_.canvas.figure
        if root.get_layout_engine() is not None:
            root.get_layout_engine().execute(root)  # else the height of the axes is not known yet
        legend = self.ax_.legend(loc="upper right")
        low, high = self.ax_.get_ylim()
        room = min(0.6, legend.get_window_extent().height / self.ax_.bbox.height + 0.04)
        self.ax_.set_ylim(low, low + (high - low) / (1 - room))


class SystemsDisplay(Display):
    """A picture of the scores of one or several systems."""

    from_predictions: Any
    _systems_of = staticmethod(systems_of)  # checks which systems the display accepts

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
        """Draw what `from_predictions` draws of the scores of fitted estimators.

        Parameters
        ----------
        estimator : estimator, or mapping of str to estimator
            Fitted; for `QueryDifferenceDisplay` two by name, the baseline first.
        X : array-like, sparse matrix or frame of shape (n, n_features)
            The documents.
        y : array-like of shape (n,)
            Their grades ≥ 0.
        qid : array-like of shape (n,), optional
            The query of each row, unless every estimator is a `QueryRanker` that was told where
            in X it is. All rows are never taken for one query.
        name : str, optional
            The system's name, by default the estimator's class. A mapping has names of its own.
        response_method : {"predict", "decision_function", "predict_proba"} or a list, optional
            What gives the scores of the documents, as for `make_ranking_scorer`: by default
            ``predict`` of rankers and regressors, ``decision_function`` or the expected grade of
            classifiers.
        **kwargs : dict
            What `from_predictions` takes besides.
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
    """A picture of means over queries of systems that may have names."""

    def __init__(self, name: Any, n_systems: int, n_queries: Any, n_undefined: Any) -> None:
        self.name: list[str] | None = as_names(name, n_systems)
        self._n_systems = n_systems
        self.n_queries = n_queries
        self.n_undefined = None if n_undefined is None else np.asarray(n_undefined)

    @documented
    def plot(
        self, ax: Any = None, *, name: str | list[str] | None = None, **kwargs: Any
    ) -> Self:
        """Draw what the display holds, and return the display.

        Parameters
        ----------
        name : str or list of str, optional
            A name a system, in place of those that it has.
        **kwargs : dict
            For matplotlib's ``plot``, of all curves or means.
        """
        self._need_matplotlib("plot")
        from matplotlib.cbook import normalize_kwargs
        from matplotlib.lines import Line2D

        names = self.name if name is None else as_names(name, self._n_systems)
        self._draw(ax, normalize_kwargs(kwargs, Line2D), names)
        return self

    def _take_axes_for(self, ax, n_entries):
        """Draw on these axes, or on those of a new figure with room for the legend beside them."""
        if n_entries <= MOST_INSIDE:
            return self._take_axes(ax)
        columns = -(-n_entries // COLUMN_LENGTH)
        height = max(4.8, 0.2 * min(n_entries, COLUMN_LENGTH) + 0.8)
        return self._take_axes(ax, figsize=(6.4 + 3 * columns, height))

    def _name_axes(self, xlabel, ylabel):
        """Name the axes, say how many queries there are, and draw the legend."""
        queries = self._counted_queries()
        self.ax_.set(xlabel=xlabel, ylabel=f"{ylabel}\n{queries}" if queries else ylabel)
        if self._n_entries() > MOST_INSIDE:
            self._legend_beside()
        elif self._n_entries():
            self.ax_.legend()

    def _counted_queries(self):
        """The numbers of queries and of undefined ones in words; "" for a single query."""
        if self.n_queries is None or np.max(self.n_queries) == 1:
            return ""
        text = f"of {low_to_high(self.n_queries)} queries"
        if self.n_undefined is not None and np.max(self.n_undefined) > 0:
            text += f", {low_to_high(self.n_undefined)} undefined"
        return text


# Texts and colours -------------------------------------------------------------------------------

def wrapped(text, width=NAME_WIDTH):
    """Text in lines of this width; no part of it is read as a formula."""
    text = str(text).replace(" %", "\u00a0%")  # a number and its unit stay together
    return textwrap.fill(text, width).replace("\u00a0%", " %").replace("$", r"\$")


def wrapped_name(name, width=NAME_WIDTH):
    """A name in lines of this width; a very long one is shortened."""
    text = wrapped(shortened(" ".join(str(name).split())), width)
    return f" {text}" if text.startswith("_") else text  # legends leave out what begins with one


def legend_name(name):
    """A name in lines of the width of a legend."""
    return wrapped_name(name, LEGEND_WIDTH)


def colors_of(n):
    """Colours of n systems; None is the next colour of the axes, which have ten."""
    if n <= 10:
        return [None] * n
    from matplotlib import colormaps

    return [colormaps["tab20"](i % 20) for i in range(n)]


def low_to_high(numbers):
    """The range of some numbers in words."""
    low, high = np.min(numbers), np.max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
