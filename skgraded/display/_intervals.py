"""Means and mean differences with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded.display._base import LEGEND, NamedDisplay, named, need_matplotlib, wrapped
from skgraded.display._docs import documented
from skgraded.display._systems import (
    check_made_by,
    evaluate_systems,
    measure_names,
    systems_first,
    systems_of,
)
from skgraded.judgments import Judgments
from skgraded.measures import Measure, as_measures
from skgraded.reports.comparison import Comparison
from skgraded.reports.evaluation import Evaluation
from skgraded.writing.charts import charted, turned
from skgraded.writing.text import percent_text, shortened

MARKERS = "os^Dv*Pph8"
LINE = 0.18  # inches that a line of letters takes


def _rows_shown(comparison, measures):
    """Rows of a comparison that are drawn, by measure, and a note unless they are all."""
    if comparison.segments is not None:
        raise ValueError("Intervals are drawn over all queries: compare without by.")
    by_measure = [
        [row for row in comparison.shown_rows() if row.measure == measure]
        for measure in measures
    ]
    first, _ = charted(by_measure[0])
    if len(first) == len(by_measure[0]):
        return by_measure, ""
    pairs = [(row.system, row.baseline) for row in first]
    found = [
        [{(one.system, one.baseline): one for row in rows for one in (row, turned(row))}[pair]
         for pair in pairs]
        for rows in by_measure
    ]
    best = f"of {shortened(pairs[0][0])}" if comparison.baseline is None else "of the best"
    return found, f", {len(pairs)} {best} among {len(by_measure[0])}"


class IntervalDisplay(NamedDisplay):
    """Means or mean differences with their intervals: a forest plot.

    A row is a system; measures have colours and markers of their own. Of a single system a row is
    a measure. A new figure is as high as the rows need; long names need a figure with
    ``layout="constrained"``, as a new one has.

    Make it by `from_evaluations`, `from_comparison`, `from_predictions` or `from_estimator`.

    Parameters
    ----------
    means : array-like of shape (n_systems, n_measures)
        Means, or mean differences. The first axis may be left out.
    low, high : array-like of shape (n_systems, n_measures)
        The ends of their intervals; nan where there is none.
    measures : str or list of str
        Their names.
    name : str or list of str, optional
        A name a system.
    quantity : str, default="mean"
        What the means are, for the axis.
    zero_line : bool, default=False
        Whether a line marks zero, as is due to differences.
    level : float, optional
        That of the intervals.
    n_queries : array-like of int, optional
        How many queries each mean is of, or all are.
    n_undefined : array-like of int, optional
        How many of these have no value of their own.
    told_apart : array-like of shape (n_systems, n_measures), optional
        Whether the test tells the two systems apart: the points of the others are hollow.

    Attributes
    ----------
    means, low, high, measures, name, quantity, zero_line, level, n_queries, n_undefined, told_apart
        As given; `means`, `low` and `high` have two dimensions, and `name`, unless None, an
        element a system.
    points_ : list of matplotlib.lines.Line2D
        The means, an element a measure; of a single system one element. Row i is at y = i.
    hollow_ : list of matplotlib.lines.Line2D
        Likewise, what makes points hollow.
    intervals_ : list of matplotlib.collections.LineCollection
        Likewise.
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> noise = np.random.default_rng(0).normal(size=len(y))
    >>> noisy = sg.evaluate(y, y + 2 * noise, qid=qid, measures="ndcng@10")
    >>> good = sg.evaluate(y, y + noise, qid=qid, measures="ndcng@10")
    >>> display = sg.IntervalDisplay.from_evaluations(
    ...     {"noisy": noisy, "good": good}, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'NDCNG@10: mean, of 60 queries, 2 undefined, 95 % intervals'
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['noisy', 'good']
    """

    measures: list[str]
    means: np.ndarray
    low: np.ndarray
    high: np.ndarray
    points_: list[Any]
    intervals_: list[Any]

    def __init__(
        self,
        means: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        *,
        measures: str | list[str],
        name: str | list[str] | None = None,
        quantity: str = "mean",
        zero_line: bool = False,
        level: float | None = None,
        n_queries: ArrayLike | None = None,
        n_undefined: ArrayLike | None = None,
        told_apart: ArrayLike | None = None,
    ):
        self.measures = [measures] if isinstance(measures, str) else list(measures)
        self.means = systems_first(means, "means", (len(self.measures),))
        self.low, self.high = (np.atleast_2d(np.asarray(end, dtype=float)) for end in (low, high))
        for argument, end in (("low", self.low), ("high", self.high)):
            if end.shape != self.means.shape:
                raise ValueError(
                    f"{argument} must have the shape {self.means.shape} of means; "
                    f"got {end.shape}."
                )
        self.told_apart = None
        if told_apart is not None:
            self.told_apart = np.asarray(told_apart, dtype=bool).reshape(self.means.shape)
        self.quantity = quantity
        self.zero_line = zero_line
        self.level = level
        n_queries = None if n_queries is None else np.asarray(n_queries)
        super().__init__(name, len(self.means), n_queries, n_undefined)

    @classmethod
    @documented
    def from_evaluations(
        cls,
        evaluations: Evaluation | Mapping[str, Evaluation],
        *,
        measures: str | Measure | Iterable[str | Measure] | None = None,
        name: str | None = None,
        level: float = 0.95,
        method: str = "t",
        n_resamples: int = 9999,
        rng: int | np.random.Generator | None = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> IntervalDisplay:
        """Draw means with intervals of one evaluation or of several.

        Parameters
        ----------
        evaluations : Evaluation, or mapping of str to Evaluation
            By name; they need not be of the same queries. A `CrossEvaluation` is one.
        measures : Measure, str, or list of these, optional
            By default those of the first evaluation.
        """
        need_matplotlib(f"{cls.__name__}.from_evaluations")
        names, found = systems_of(evaluations, name, "evaluations")
        for i, one in enumerate(found):
            argument = "evaluations" if found[0] is evaluations else f"evaluations[{names[i]!r}]"
            check_made_by("evaluate", one, Evaluation, argument)
        shown = measure_names(measures, list(found[0].per_query))
        for i, one in enumerate(found):
            for measure in shown:
                if measure not in one.per_query:
                    raise ValueError(
                        f"evaluations[{names[i]!r}] lacks the measure {measure}; it has "
                        f"{', '.join(one.per_query)}. Evaluate all systems by the same measures."
                    )
        settings = {"method": method, "n_resamples": n_resamples, "rng": rng}
        intervals = [one.confidence_interval(level, **settings) for one in found]
        means = [one.mean() for one in found]
        display = cls(
            [[of_system[measure] for measure in shown] for of_system in means],
            [[of_system[measure].low for measure in shown] for of_system in intervals],
            [[of_system[measure].high for measure in shown] for of_system in intervals],
            measures=shown, name=names, level=level,
            n_queries=[len(one.query_ids) for one in found],
            n_undefined=[[one.n_undefined[measure] for measure in shown] for one in found],
        )
        return display.plot(ax=ax, **kwargs)

    @classmethod
    @documented
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        measures: str | Measure | Iterable[str | Measure] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> IntervalDisplay:
        """Draw the mean differences of a comparison with their intervals.

        Without a baseline a row is a pair of systems; of more than 24 pairs those of the system
        that is the best by the first measure are drawn, as the axis says. Intervals are those of
        the comparison's table. The points of systems that the test does not tell apart are hollow.
        """
        need_matplotlib(f"{cls.__name__}.from_comparison")
        check_made_by("compare", comparison, Comparison, "comparison")
        shown = measure_names(measures, comparison.measures)
        by_measure, note = _rows_shown(comparison, shown)
        means, low, high, n_queries, told_apart = (
            np.array([[getattr(row, key) for row in rows] for rows in by_measure]).T
            for key in ("difference", "ci_low", "ci_high", "n_queries", "is_significant")
        )
        baseline = comparison.baseline
        display = cls(
            means, low, high, measures=shown, zero_line=True, level=comparison.level,
            n_queries=n_queries, told_apart=None if comparison.test is None else told_apart,
            name=[
                row.system if baseline is not None
                else f"{shortened(row.system)} − {shortened(row.baseline)}"
                for row in by_measure[0]
            ],
            quantity="mean difference"
            + ("" if baseline is None else f" to {shortened(baseline)}") + note,
        )
        return display.plot(ax=ax, **kwargs)

    @classmethod
    @documented
    def from_predictions(
        cls,
        y_true: ArrayLike | Judgments,
        y_score: ArrayLike | Mapping[str, ArrayLike],
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
        measures: str | Measure | Iterable[str | Measure] = ("ndcng@10", "mu_map"),
        level: float = 0.95,
        **kwargs: Any,
    ) -> IntervalDisplay:
        """Draw means with intervals of a system's scores, or those of several systems.

        Parameters
        ----------
        measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
        level : float, default=0.95
            Of the intervals, between 0 and 1.
        **kwargs : dict
            `method`, `n_resamples` and `rng` as in `from_evaluations`; the rest is as for `plot`.
        """
        need_matplotlib(f"{cls.__name__}.from_predictions")
        evaluations: Any = evaluate_systems(
            y_true, y_score, name, as_measures(measures), qid=qid, group=group,
            sample_weight=sample_weight,
        )
        if not isinstance(y_score, Mapping):
            (evaluations,) = evaluations.values()
        return cls.from_evaluations(evaluations, name=name, level=level, ax=ax, **kwargs)

    def _draw_systems(self, ax, names, settings):
        tables: tuple = self.means, self.low, self.high
        told_apart = self.told_apart
        if len(self.means) == 1 and (names is None or len(self.measures) > 1):
            tables = tuple(table.T for table in tables)
            told_apart = None if told_apart is None else told_apart.T
            rows, series = self.measures, names or [None]
        else:
            rows = names or [""] * len(self.means)
            series = self.measures if len(self.measures) > 1 else [None]
        rows = [named(row) if names is not None else wrapped(row) for row in rows]
        n_lines = max(row.count("\n") + 1 for row in rows)
        height = max(LINE * (n_lines + 0.4), 0.13 * (len(series) + 0.6))  # of a row, in inches
        above = 1.3 * LINE * len(series)  # of the legend
        self._take_axes(
            ax, layout="constrained", figsize=(6.4, 1.4 + height * len(rows) + above)
        )
        self._draw_rows(tables, told_apart, series, settings)
        of = f"{self.measures[0]}: " if len(self.measures) == 1 and names is not None else ""
        widest = max(len(line) for row in rows for line in row.split("\n"))
        self.ax_.set_xlabel(wrapped(of + self._what(), min(60, 72 - widest)))
        self.ax_.set_ylim(len(rows) - 0.5, -0.5)
        self.ax_.set_yticks(range(len(rows)), rows)
        if self.ax_.get_legend_handles_labels()[0]:
            self._legend_above()
        self._fit_letters(n_lines)

    def _draw_rows(self, tables, told_apart, series, settings):
        self.points_, self.hollow_, self.intervals_ = [], [], []
        if self.zero_line:
            self.ax_.axvline(0, color=self._ink, linewidth=0.8, zorder=1)
        for i, (means, low, high) in enumerate(zip(*(table.T for table in tables), strict=True)):
            y = np.arange(len(means)) + 0.7 * ((i + 0.5) / len(series) - 0.5)
            style = {"linestyle": "none", "marker": MARKERS[i % len(MARKERS)], "markersize": 5}
            label = {} if series[i] is None else {"label": named(series[i], LEGEND)}
            self.points_ += self.ax_.plot(means, y, **{**label, **style, **settings})
            color = self.points_[-1].get_color()
            if told_apart is not None:
                self._draw_hollow(told_apart[:, i], means, y, style | settings, color)
            self.intervals_.append(self.ax_.hlines(y, low, high, colors=color, linewidth=1.5))

    def _draw_hollow(self, told_apart, means, y, style, color):
        """Draw the points of what is not told apart once more, hollow."""
        shown = np.where(told_apart, np.nan, means)
        hollow = {"color": color, "markerfacecolor": self.ax_.get_facecolor(), "zorder": 3}
        self.hollow_ += self.ax_.plot(shown, y, **style | hollow)

    def _fit_letters(self, n_lines):
        """Make the letters of the rows no higher than the rows."""
        ax = self.ax_
        row_height = abs(np.diff(ax.transData.transform([(0, 0), (0, 1)])[:, 1])[0])
        room = 72 * row_height / ax.figure.dpi / (1.4 * n_lines)
        for label in ax.get_yticklabels():
            label.set_fontsize(min(label.get_fontsize(), room))

    def _what(self):
        """Say what the means and intervals are."""
        parts = [self.quantity, self._of_queries()]
        if self.level is not None:
            parts.append(f"{percent_text(self.level)} intervals")
        return ", ".join(filter(None, parts))
