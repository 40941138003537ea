"""Plot of the mean for each of many days, with control limits."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.segments import day_numbers
from skgraded.display._base import LineDisplay, Style, documented
from skgraded.display._systems import check_made_by, check_shape
from skgraded.large.periods import Trend, TrendRow, rows_of_measure
from skgraded.measures import Measure
from skgraded.reports.comparison_rows import columns_of
from skgraded.writing.text import label, percent_text

MAX_LABELS = 12  # maximum number of labels on the horizontal axis


class TrendDisplay(LineDisplay):
    """Control chart: the mean per day with its interval, a center line and limits.

    Days with a mean outside the limits, and days with too few earlier days for limits, are marked.
    If the labels are ISO dates, lines are interrupted where days are missing. If any queries are
    undefined, a dotted line shows their share on a second axis.

    Parameters
    ----------
    means, low, high : array-like of shape (n,)
        Means and the ends of their intervals.
    center, lower, upper : array-like of shape (n,)
        Center line and limits of the chart, one value per label; nan without limits.
    labels : list of str
        Label of each mean, such as a day.
    measure : str
        Name of the measure.
    level : float
        Confidence level of the intervals.
    undefined : array-like of shape (n,), optional
        Share of undefined queries, one value per label.
    system : str, optional
        Name of the system.

    Attributes
    ----------
    line_ : matplotlib.container.ErrorbarContainer
        The means with their intervals.
    limits_ : list of matplotlib.lines.Line2D
        The center line, the lower limit and the upper limit.
    outside_ : matplotlib.lines.Line2D
        The means outside the limits.
    too_few_ : matplotlib.lines.Line2D
        The means without limits.
    undefined_ : matplotlib.lines.Line2D or None
        The shares of undefined queries; None if all queries are defined.

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=400, random_state=0)
    >>> days = [
    ...     sg.Summary.of(
    ...         sg.evaluate(y[qid % 4 == i], X[qid % 4 == i, 0], qid=qid[qid % 4 == i]),
    ...         label=f"2026-11-0{i + 1}")
    ...     for i in range(4)]
    >>> display = sg.TrendDisplay.from_trend(sg.trend(days), ax=Figure().subplots())
    >>> display.ax_.get_ylabel()
    'NDCNG@10: mean'
    """

    def __init__(
        self, means: ArrayLike, low: ArrayLike, high: ArrayLike, *, center: ArrayLike,
        lower: ArrayLike, upper: ArrayLike, labels: list[str], measure: str, level: float,
        undefined: ArrayLike | None = None, system: str | None = None,
    ):
        shares = np.zeros(len(labels)) if undefined is None else undefined
        arrays = [
            np.asarray(array, float) for array in (means, low, high, center, lower, upper, shares)
        ]
        for array in arrays:
            rule = f"All arrays must have the shape ({len(labels)},), one value per label"
            check_shape(array, (len(labels),), rule)
        self.means, self.low, self.high, self.center, self.lower, self.upper, shares = arrays
        self.labels, self.measure, self.level = list(labels), measure, level
        self.undefined, self.system = shares, system

    @classmethod
    @documented
    def from_trend(
        cls, trend: Trend, *, measure: str | Measure | None = None, system: str | None = None,
        ax: Any = None, line_kw: Style = None,
    ) -> Self:
        """Plot one measure of a trend, by default the first measure of the first system.

        Parameters
        ----------
        system : str, optional
            Name of the system, for trends of several systems.
        """
        cls._need_matplotlib("from_trend")
        check_made_by("trend", trend, Trend, "trend")
        rows = rows_of_measure(trend, measure, system)
        columns = columns_of(TrendRow, rows)
        names = "center", "lower", "upper", "undefined"
        return cls(
            columns["mean"], columns["ci_low"], columns["ci_high"],
            **{name: columns[name] for name in names}, labels=columns["label"],
            measure=rows[0].measure, level=trend.level, system=rows[0].system,
        ).plot(ax=ax, line_kw=line_kw)

    def _draw(self, ax: Any, settings: Any) -> None:
        self._take_axes(ax)
        days, gaps = self._places()

        def line(axes: Any, values: np.ndarray, **style: Any) -> Any:
            return axes.plot(_split(days, gaps), _split(values, gaps), **style)[0]

        self.limits_ = [
            line(self.ax_, values, color="0.5", linestyle=style, linewidth=1, label=name)
            for values, style, name in (
                (self.center, "-", "center"), (self.lower, "--", "limits"),
                (self.upper, "--", "_limits"),
            )
        ]
        errors = np.stack([self.means - self.low, self.high - self.means])
        style = {"color": self._color(0), "marker": "o", "markersize": 4, "linewidth": 1.2,
                 "label": f"mean, {percent_text(self.level)} interval", **settings}
        means = _split(self.means, gaps)
        self.line_ = self.ax_.errorbar(_split(days, gaps), means, _split(errors, gaps), **style)
        is_outside = (self.means < self.lower) | (self.means > self.upper)
        self.outside_, self.too_few_ = (
            self.ax_.plot(
                days[places], self.means[places], linestyle="", marker=marker, markersize=9,
                markerfacecolor="none", color=color, label=name,
            )[0]
            for places, marker, color, name in (
                (is_outside, "o", self._color(1), "outside the limits"),
                (np.isnan(self.center), "s", "0.5", "too few earlier labels for limits"),
            )
        )
        self.undefined_ = None
        if np.nanmax(self.undefined, initial=0) > 0:
            axes = self.ax_.twinx()
            self.undefined_ = line(axes, self.undefined, color=self._color(2), linestyle=":")
            axes.set_ylim(0, 1.1 * np.nanmax(self.undefined))
            axes.set_ylabel("share of undefined queries", color=self._color(2))
        step = -(-len(days) // MAX_LABELS)
        self.ax_.set_xticks(days[::step], self.labels[::step], rotation=30, ha="right")
        system = "" if self.system is None else f" of {label(self.system)}"
        self._write_around([], f"{self.measure}{system}: mean")

    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the horizontal position of each label, and the positions after missing days."""
        days = day_numbers(self.labels)
        if days is None or len(days) < 2:
            return np.arange(len(self.labels)), np.zeros(0, dtype=int)
        steps = np.diff(days)
        return days - days[0], np.flatnonzero(steps >= 2 * steps.min()) + 1


def _split(values: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Insert nan at the gaps, where lines are interrupted."""
    return np.insert(values.astype(float), gaps, np.nan, axis=-1)
