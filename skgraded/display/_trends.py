"""Plot of the mean for each of many days, with the limits of an individuals chart."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded.display._base import LineDisplay, Style, documented
from skgraded.display._systems import check_made_by, check_shape
from skgraded.large.periods import Trend, rows_of_measure
from skgraded.measures import Measure
from skgraded.writing.text import percent_text

MAX_LABELS = 12  # maximum number of labels on the horizontal axis


class TrendDisplay(LineDisplay):
    """Individuals (XmR) chart: the mean per day with its interval, a center line and limits.

    Days with a mean outside the limits are marked.

    Parameters
    ----------
    means, low, high : array-like of shape (n,)
        Means and the ends of their intervals.
    center, lower, upper : array-like of shape (n,)
        Center line and limits of the chart, one value per label.
    labels : list of str
        Label of each mean, such as a day.
    measure : str
        Name of the measure.
    level : float
        Confidence level of the intervals.

    Attributes
    ----------
    line_ : matplotlib.container.ErrorbarContainer
        The means with their intervals.
    limits_ : list of matplotlib.lines.Line2D
        The center line, the lower limit and the upper limit.
    outside_ : matplotlib.lines.Line2D
        The means outside the limits.

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
    ):
        arrays = [np.asarray(array, float) for array in (means, low, high, center, lower, upper)]
        for array in arrays:
            rule = f"All arrays must have the shape ({len(labels)},), one value per label"
            check_shape(array, (len(labels),), rule)
        self.means, self.low, self.high, self.center, self.lower, self.upper = arrays
        self.labels, self.measure, self.level = list(labels), measure, level

    @classmethod
    @documented
    def from_trend(
        cls, trend: Trend, *, measure: str | Measure | None = None, ax: Any = None,
        line_kw: Style = None,
    ) -> Self:
        """Plot one measure of a trend."""
        cls._need_matplotlib("from_trend")
        check_made_by("trend", trend, Trend, "trend")
        rows = rows_of_measure(trend, measure)
        names = ("mean", "ci_low", "ci_high", "center", "lower", "upper")
        means, low, high, center, lower, upper = (
            [getattr(row, name) for row in rows] for name in names
        )
        return cls(
            means, low, high, center=center, lower=lower, upper=upper,
            labels=[row.label for row in rows], measure=rows[0].measure, level=trend.level,
        ).plot(ax=ax, line_kw=line_kw)

    def _draw(self, ax: Any, settings: Any) -> None:
        self._take_axes(ax)
        days = np.arange(len(self.labels))
        self.limits_ = [
            self.ax_.plot(days, line, color="0.5", linestyle=style, linewidth=1, label=name)[0]
            for line, style, name in (
                (self.center, "-", "center"), (self.lower, "--", "limits"),
                (self.upper, "--", "_limits"),
            )
        ]
        errors = np.stack([self.means - self.low, self.high - self.means])
        style = {"color": self._color(0), "marker": "o", "markersize": 4, "linewidth": 1.2,
                 "label": f"mean, {percent_text(self.level)} interval", **settings}
        self.line_ = self.ax_.errorbar(days, self.means, errors, **style)
        is_outside = (self.means < self.lower) | (self.means > self.upper)
        (self.outside_,) = self.ax_.plot(
            days[is_outside], self.means[is_outside], linestyle="", marker="o", markersize=9,
            markerfacecolor="none", color=self._color(1), label="outside the limits",
        )
        step = -(-len(days) // MAX_LABELS)
        self.ax_.set_xticks(days[::step], self.labels[::step], rotation=30, ha="right")
        self._write_around([], f"{self.measure}: mean")
