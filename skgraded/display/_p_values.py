"""Plot of the sorted p-values of a comparison, per measure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded.display._base import LINESTYLES, Display, documented, legend_name
from skgraded.display._systems import check_comparison, measure_names
from skgraded.measures import Measure
from skgraded.reports.comparison import Comparison
from skgraded.reports.comparison_view import ComparisonView
from skgraded.writing.text import percent_text


class PValueDisplay(Display):
    """Sorted p-values of all pairs of systems, one curve per measure (Sakai 2006).

    If the curve of a measure is low, the measure finds significant differences between many pairs.
    The horizontal line is the significance level; the legend states the share of significant pairs.

    Create a display with `from_comparison`.

    Parameters
    ----------
    p_values : array-like of shape (n_measures, n_pairs)
        Adjusted p-values in descending order.
    measures : list of str
        Names of the measures.
    level : float
        Confidence level; p-values of at most 1 - level are significant.

    Attributes
    ----------
    p_values, measures, level
        The parameters.
    lines_ : list of matplotlib.lines.Line2D
        One line per measure.
    threshold_ : matplotlib.lines.Line2D
        The significance level.
    ax_, figure_ : matplotlib.axes.Axes, matplotlib.figure.Figure

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> systems = {
    ...     f"feature {i}": sg.evaluate(y, X[:, i], qid=qid, measures=["ndcng@10", "rr"])
    ...     for i in range(4)}
    >>> display = sg.PValueDisplay.from_comparison(
    ...     sg.compare(systems, rng=0), ax=Figure().subplots())
    >>> [line.get_label() for line in display.lines_]
    ['NDCNG@10 (50 % significant)', 'RR (33 % significant)']
    """

    def __init__(self, p_values: ArrayLike, *, measures: list[str], level: float):
        self.p_values = np.asarray(p_values, dtype=float)
        if self.p_values.ndim != 2 or len(self.p_values) != len(measures):
            raise ValueError(
                f"p_values must have shape (n_measures, n_pairs) with {len(measures)} measures; "
                f"got shape {self.p_values.shape}."
            )
        self.measures, self.level = list(measures), level

    @classmethod
    @documented
    def from_comparison(
        cls, comparison: Comparison, *,
        measures: str | Measure | Iterable[str | Measure] | None = None, ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the adjusted p-values of a comparison with a test."""
        cls._need_matplotlib("from_comparison")
        check_comparison(comparison)
        names = measure_names(measures, comparison.measures)
        rows = ComparisonView(comparison).tested_rows()
        p_values = [
            sorted((row.p_adjusted for row in rows if row.measure == name), reverse=True)
            for name in names
        ]
        return cls(p_values, measures=names, level=comparison.level).plot(ax=ax, **kwargs)

    def _draw(self, ax: Any, settings: Any) -> None:
        self._take_axes(ax)
        pairs = np.arange(1, self.p_values.shape[1] + 1)
        self.lines_: list[Any] = []
        for i, (name, p_values) in enumerate(zip(self.measures, self.p_values, strict=True)):
            share = np.mean(p_values <= 1 - self.level + 1e-12)
            style = {
                "label": f"{legend_name(name)} ({percent_text(round(share, 2))} significant)",
                "color": self._color(i), "linestyle": LINESTYLES[i % len(LINESTYLES)],
                "drawstyle": "steps-mid", **settings,
            }
            self.lines_ += self.ax_.plot(pairs, p_values, **style)
        self.threshold_ = self.ax_.axhline(1 - self.level, color=self._ink, linewidth=0.8)
        self._whole_ticks()
        self.ax_.set_ylim(-0.02, 1.02)
        self._write_around(["pairs of systems, by descending p-value"], "adjusted p-value")
