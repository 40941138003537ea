"""What displays are made of: axes and texts, and the way from estimators to what is drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.columns import check_grades
from skgraded._input.query_source import queries_of
from skgraded.display._docs import documented
from skgraded.display._systems import as_names, common_source, systems_of
from skgraded.judgments import Judgments
from skgraded.model_selection.scorer import check_response_method, document_scores
from skgraded.model_selection.torn import warn_if_torn
from skgraded.writing.text import percent_text, shortened

BLUE = "#0072B2"  # with the orange of losses told apart in all kinds of colour blindness
LABEL = 28  # letters that a line of a system's name has
LEGEND = 44  # letters that a line of the legend has
COLUMN = 25  # entries of a column of a legend beside the axes
INSIDE = 8  # entries of a legend in the axes; of more it stands beside them
SIDE = 40  # letters that fit along the axis at the side


class Display:
    """What is drawn on axes."""

    ax_: Any
    figure_: Any
    mean: Any  # of those that draw a mean with its interval
    interval: Any
    level: Any
    mean_line_: Any
    interval_: Any

    @documented
    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw what the display holds, and return the display.

        Parameters
        ----------
        **kwargs : dict
            For matplotlib's ``boxplot`` of folds, or its ``StepPatch`` of wins and losses.
        """
        need_matplotlib(f"{type(self).__name__}.plot")
        self._draw(ax, kwargs)
        return self

    def _draw(self, ax, settings):
        raise NotImplementedError

    def _take_axes(self, ax, **figure):
        """Draw on these axes, or on those of a new figure with such settings."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(**figure)
        self.ax_, self.figure_ = ax, ax.figure

    @property
    def _ink(self):
        return self.ax_.xaxis.label.get_color()

    def _draw_mean(self, name, sign=""):
        """Draw the mean as a line and its interval as a band, where there are such."""
        self.mean_line_ = self.interval_ = None
        if self.mean is None or np.isnan(self.mean):
            return
        label = f"{name} {self.mean:{sign}.3f}"
        if self.interval is not None and not np.isnan(self.interval).any():
            low, high = self.interval
            of_level = "" if self.level is None else f"{percent_text(self.level)} "
            label += f", {of_level}interval {low:{sign}.3f} to {high:{sign}.3f}"
            self.interval_ = self.ax_.axhspan(low, high, color=self._ink, alpha=0.15, linewidth=0)
        self.mean_line_ = self.ax_.axhline(
            self.mean, color=self._ink, linestyle="--", linewidth=1.2, label=label
        )

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

    def _legend_beside(self):
        """Draw the legend right of the axes, which need a figure that makes room for it."""
        n_entries = len(self.ax_.get_legend_handles_labels()[0])
        self.ax_.legend(
            loc="upper left", bbox_to_anchor=(1.02, 1), borderaxespad=0, fontsize="small",
            ncols=-(-n_entries // COLUMN),
        )

    def _legend_above(self):
        """Draw the legend in a room of its own above all that is drawn."""
        root = self.figure_.canvas.figure
        if root.get_layout_engine() is not None:
            root.get_layout_engine().execute(root)  # else the height of the axes is not known yet
        legend = self.ax_.legend(loc="upper right")
        low, high = self.ax_.get_ylim()
        room = min(0.6, legend.get_window_extent().height / self.ax_.bbox.height + 0.04)
        self.ax_.set_ylim(low, low + (high - low) / (1 - room))


class SystemsDisplay(Display):
    """What shows the scores of one or several systems."""

    _systems_of = staticmethod(systems_of)  # which systems it takes

    @classmethod
    def from_predictions(cls, y_true: Any, y_score: Any, **kwargs: Any) -> Self:
        raise NotImplementedError

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
        need_matplotlib(f"{cls.__name__}.from_estimator")
        check_response_method(response_method)
        names, estimators = cls._systems_of(estimator, name, "estimator")
        source = None
        if qid is None and group is None:
            source = common_source(estimators)
            qid = queries_of(X, source)
        check_grades(y, "y")
        judgments = Judgments(y, qid=qid, group=group, sample_weight=sample_weight)
        if group is None:
            for one in estimators:
                warn_if_torn(one, X, judgments, source)
        scores = [document_scores(one, X, response_method) for one in estimators]
        if isinstance(estimator, Mapping):
            return cls.from_predictions(
                judgments, dict(zip(names, scores, strict=True)), ax=ax, **kwargs
            )
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(judgments, scores[0], name=name, ax=ax, **kwargs)


class NamedDisplay(SystemsDisplay):
    """What shows means over queries of systems that may have names."""

    name: list[str] | None
    n_queries: int | np.ndarray | None
    n_undefined: np.ndarray | None

    def __init__(
        self,
        name: str | list[str] | None,
        n_systems: int,
        n_queries: int | np.ndarray | None,
        n_undefined: ArrayLike | None,
    ) -> None:
        self.name, self._n_systems = as_names(name, n_systems), n_systems
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
        need_matplotlib(f"{type(self).__name__}.plot")
        names = self.name if name is None else as_names(name, self._n_systems)
        self._draw_systems(ax, names, line_settings(kwargs))
        return self

    def _draw_systems(self, ax, names, settings):
        raise NotImplementedError

    def _take_axes_for(self, ax, n_entries):
        """Draw on these axes, or on those of a new figure with room for the legend beside them."""
        if n_entries <= INSIDE:
            return self._take_axes(ax, layout="constrained")
        columns = -(-n_entries // COLUMN)
        height = max(4.8, 0.2 * min(n_entries, COLUMN) + 0.8)
        return self._take_axes(ax, layout="constrained", figsize=(6.4 + 3 * columns, height))

    def _name_axes(self, xlabel, ylabel):
        self.ax_.set(xlabel=xlabel, ylabel=ylabel)
        n_entries = len(self.ax_.get_legend_handles_labels()[0])
        if n_entries > INSIDE:
            self._legend_beside()
        elif n_entries:
            self.ax_.legend()

    def _of_queries(self):
        """How many queries means are of, and how many of them are undefined; of one: ""."""
        if self.n_queries is None or np.max(self.n_queries) == 1:
            return ""
        counted = f"of {low_to_high(self.n_queries)} queries"
        if self.n_undefined is not None and np.max(self.n_undefined) > 0:
            counted += f", {low_to_high(self.n_undefined)} undefined"
        return counted


def need_matplotlib(caller):
    """Say what to install."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{caller} needs matplotlib: pip install matplotlib") from error


def line_settings(kwargs):
    """What matplotlib's plot is given, by the full names."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return normalize_kwargs(kwargs, Line2D)


# Texts -------------------------------------------------------------------------------------------

def wrapped(text, width=LABEL):
    """Text in lines of such a width, of which no part is read as a formula."""
    kept = str(text).replace(" %", "\u00a0%")  # a number and its unit stay together
    return textwrap.fill(kept, width).replace("\u00a0%", " %").replace("$", r"\$")


def named(name, width=LABEL):
    """A name in lines of such a width, of which a very long one is shortened."""
    text = wrapped(shortened(" ".join(str(name).split())), width)
    return f" {text}" if text.startswith("_") else text  # legends leave out what begins with one


def colors_of(n):
    """Settings of the colours of n systems: of up to ten the next of the axes' own."""
    if n <= 10:
        return [{}] * n
    from matplotlib import colormaps

    return [{"color": colormaps["tab20"](i % 20)} for i in range(n)]


def low_to_high(numbers):
    """The range of some numbers in words."""
    low, high = np.min(numbers), np.max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
