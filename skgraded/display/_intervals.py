"""Means and mean differences with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded.display import _systems
from skgraded.display._base import NamedDisplay, documented, legend_name, wrapped, wrapped_name
from skgraded.judgments import Judgments
from skgraded.measures import Measure, as_measures
from skgraded.reports.comparison import Comparison
from skgraded.reports.evaluation import Evaluation
from skgraded.writing.charts import charted, pair_name, turned
from skgraded.writing.text import percent_text, shortened

MARKERS = "os^Dv*Pph8"
LINE_HEIGHT = 0.18  # inches per line of text


class IntervalDisplay(NamedDisplay):
    """Means or mean differences with their intervals: a forest plot.

    A row is a system; measures have colours and markers of their own. Of a single system a row is
    a measure. A new figure is as high as the rows need; long names need a figure with
    ``layout="constrained"``, as a new one has.

    Make it by `from_evaluations`, `from_comparison`, `from_predictions` or `from_estimator`.

    Parameters
    ----------
    means, low, high : array-like of shape (n_systems, n_measures)
        Means, or mean differences, and the ends of their intervals; nan where there is no
        interval. The first axis may be left out.
    measures, name : str or list of str
        The names of the measures, and of the systems (optional).
    quantity : str, default="mean"
        What the means are, for the axis.
    zero_line : bool, default=False
        Whether a line marks zero, as is due to differences.
    level : float, optional
        That of the intervals.
    n_queries, n_undefined : array-like of int, optional
        How many queries each mean is of, or all are, and how many of them have no value.
    told_apart : array-like of shape (n_systems, n_measures), optional
        Whether the test tells the two systems apart: the points of the others are hollow.

    Attributes
    ----------
    means, low, high, measures, name, quantity, zero_line, level, n_queries, n_undefined, told_apart
        As given; `means`, `low` and `high` have two dimensions, and `name`, unless None, an
        element a system.
    points_, hollow_ : list of matplotlib.lines.Line2D
        The means, and what makes points hollow: an element per measure, or one element for a
        single system. Row i is at y = i.
    intervals_ : list of matplotlib.collections.LineCollection
        The intervals, likewise.
    ax_, figure_ : matplotlib.axes.Axes, matplotlib.figure.Figure

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> systems = {"feature 0": X[:, 0], "feature 1": X[:, 1]}
    >>> display = sg.IntervalDisplay.from_predictions(
    ...     y, systems, qid=qid, measures="ndcng@10", ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'NDCNG@10: mean, of 60 queries, 2 undefined, 95 % intervals'
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['feature 0', 'feature 1']
    """

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
        self.means: np.ndarray = _systems.systems_first(means, "means", (len(self.measures),))
        self.low, self.high = (np.atleast_2d(np.asarray(end, dtype=float)) for end in (low, high))
        for argument, end in (("low", self.low), ("high", self.high)):
            if end.shape != self.means.shape:
                raise ValueError(
                    f"{argument} must have the shape {self.means.shape} of means; got {end.shape}."
                )
        self.told_apart = None
        if told_apart is not None:
            self.told_apart = np.asarray(told_apart, dtype=bool).reshape(self.means.shape)
        self.quantity, self.zero_line, self.level = quantity, zero_line, level
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
    ) -> Self:
        """Draw means with intervals of one evaluation or of several.

        Parameters
        ----------
        evaluations : Evaluation, or mapping of str to Evaluation
            By name; they need not be of the same queries. A `CrossEvaluation` is one.
        measures : Measure, str, or list of these, optional
            By default those of the first evaluation.
        """
        cls._need_matplotlib("from_evaluations")
        names, reports = _systems.systems_of(evaluations, name, "evaluations")
        arguments = ["evaluations"]
        if isinstance(evaluations, Mapping):
            arguments = [f"evaluations[{key!r}]" for key in names]
        for argument, report in zip(arguments, reports, strict=True):
            _systems.check_made_by("evaluate", report, Evaluation, argument)
        shown = _systems.measure_names(measures, list(reports[0].per_query))
        for argument, report in zip(arguments, reports, strict=True):
            for measure in shown:
                if measure not in report.per_query:
                    raise ValueError(
                        f"{argument} lacks the measure {measure}; it has "
                        f"{', '.join(report.per_query)}. Evaluate all systems by the same measures."
                    )
        settings = {"method": method, "n_resamples": n_resamples, "rng": rng}
        means = [report.mean() for report in reports]
        ends = [report.confidence_interval(level, **settings) for report in reports]
        return cls(
            [[by_measure[measure] for measure in shown] for by_measure in means],
            [[by_measure[measure].low for measure in shown] for by_measure in ends],
            [[by_measure[measure].high for measure in shown] for by_measure in ends],
            measures=shown, name=names, level=level,
            n_queries=[len(report.query_ids) for report in reports],
            n_undefined=[[report.n_undefined[measure] for measure in shown] for report in reports],
        ).plot(ax=ax, **kwargs)

    @classmethod
    @documented
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        measures: str | Measure | Iterable[str | Measure] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the mean differences of a comparison with their intervals.

        Without a baseline a row is a pair of systems; of more than 24 pairs those of the system
        that is the best by the first measure are drawn, as the axis says. Intervals are those of
        the comparison's table. The points of systems that the test does not tell apart are hollow.
        """
        cls._need_matplotlib("from_comparison")
        _systems.check_comparison(comparison)
        shown = _systems.measure_names(measures, comparison.measures)
        rows, note = _drawn_rows(comparison, shown)
        if comparison.baseline is None:
            names, quantity = [pair_name(row) for row, *_ in rows], "mean difference"
        else:
            names = [row.system for row, *_ in rows]
            quantity = f"mean difference to {shortened(comparison.baseline)}"
        difference, low, high, n_queries, is_significant = (
            [[getattr(row, key) for row in of_pair] for of_pair in rows]
            for key in ("difference", "ci_low", "ci_high", "n_queries", "is_significant")
        )
        return cls(
            difference, low, high, measures=shown, name=names, quantity=quantity + note,
            zero_line=True, level=comparison.level, n_queries=n_queries,
            told_apart=None if comparison.test is None else is_significant,
        ).plot(ax=ax, **kwargs)

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
    ) -> Self:
        """Draw means with intervals of a system's scores, or those of several systems.

        Parameters
        ----------
        measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
        level : float, default=0.95
            Of the intervals, between 0 and 1.
        **kwargs : dict
            `method`, `n_resamples` and `rng` as in `from_evaluations`; the rest is as for `plot`.
        """
        cls._need_matplotlib("from_predictions")
        evaluations: Any = _systems.evaluate_systems(
            y_true, y_score, name, as_measures(measures), qid=qid, group=group,
            sample_weight=sample_weight,
        )
        return cls.from_evaluations(evaluations, name=name, level=level, ax=ax, **kwargs)

    def _draw(self, ax, settings, names):
        tables = [self.means, self.low, self.high, self.told_apart]
        one_measure = len(self.measures) == 1
        if len(self.means) == 1 and (names is None or not one_measure):
            rows, series = self.measures, names or [None]
        else:
            rows, series = names or [""] * len(self.means), [None] if one_measure else self.measures
            tables = [table if table is None else table.T for table in tables]
        rows = [wrapped(row) if names is None else wrapped_name(row) for row in rows]
        n_lines = max(row.count("\n") + 1 for row in rows)
        height = max(LINE_HEIGHT * (n_lines + 0.4), 0.13 * (len(series) + 0.6))  # inches per row
        above = 1.3 * LINE_HEIGHT * len(series)  # inches for the legend
        self._take_axes(ax, figsize=(6.4, 1.4 + height * len(rows) + above))
        self._draw_rows(tables, series, settings)
        measure = f"{self.measures[0]}: " if one_measure and names is not None else ""
        widest = max(len(line) for row in rows for line in row.split("\n"))
        intervals = "" if self.level is None else f"{percent_text(self.level)} intervals"
        what = ", ".join(filter(None, [self.quantity, self._counted_queries(), intervals]))
        self.ax_.set_xlabel(wrapped(measure + what, min(60, 72 - widest)))
        self.ax_.set_ylim(len(rows) - 0.5, -0.5)
        self.ax_.set_yticks(range(len(rows)), rows)
        if self._n_entries():
            self._legend_above()
        self._fit_letters(n_lines)

    def _draw_rows(self, tables, series, settings):
        """Draw the points and intervals of each series, row i at y = i."""
        self.points_: list[Any] = []
        self.hollow_: list[Any] = []
        self.intervals_: list[Any] = []
        if self.zero_line:
            self.ax_.axvline(0, color=self._ink, linewidth=0.8, zorder=1)
        means, low, high, told_apart = tables
        for i, name in enumerate(series):
            y = np.arange(len(means[i])) + 0.7 * ((i + 0.5) / len(series) - 0.5)
            style = {"linestyle": "none", "marker": MARKERS[i % len(MARKERS)], "markersize": 5}
            label = {} if name is None else {"label": legend_name(name)}
            self.points_ += self.ax_.plot(means[i], y, **{**label, **style, **settings})
            color = self.points_[-1].get_color()
            if told_apart is not None:  # hollow points on those without a significant difference
                face = self.ax_.get_facecolor()
                hollow = {"color": color, "markerfacecolor": face, "zorder": 3}
                self.hollow_ += self.ax_.plot(
                    np.where(told_apart[i], np.nan, means[i]), y, **style | settings | hollow
                )
            self.intervals_.append(self.ax_.hlines(y, low[i], high[i], colors=color, linewidth=1.5))

    def _fit_letters(self, n_lines):
        """Make the letters of the rows no higher than the rows."""
        ax = self.ax_
        row_height = abs(np.diff(ax.transData.transform([(0, 0), (0, 1)])[:, 1])[0])
        room = 72 * row_height / ax.figure.dpi / (1.4 * n_lines)
        for label in ax.get_yticklabels():
            label.set_fontsize(min(label.get_fontsize(), room))


def _drawn_rows(comparison, measures):
    """Rows of the pairs of systems to draw, by pair and measure; a note unless they are all."""
    rows = comparison.shown_rows()
    known = {(row.system, row.baseline, row.measure): row for row in [*map(turned, rows), *rows]}
    of_first = [row for row in rows if row.measure == measures[0]]
    drawn, _ = charted(of_first)
    note = ""
    if len(drawn) < len(of_first):
        best = f"of {shortened(drawn[0].system)}" if comparison.baseline is None else "of the best"
        note = f", {len(drawn)} {best} among {len(of_first)}"
    return [[known[row.system, row.baseline, name] for name in measures] for row in drawn], note
