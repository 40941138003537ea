"""Plot of the systems' means under two judges."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded.display import _base
from skgraded.display._base import Style, documented, legend_name
from skgraded.display._intervals import MARKERS
from skgraded.display._systems import as_names, check_made_by, check_shape
from skgraded.measures import Measure
from skgraded.reports.judges import JudgeComparison, check_judge
from skgraded.reports.report import evaluated_name
from skgraded.writing.text import fixed, percent_text

MOST_NAMED = 12  # maximum number of systems whose points are labeled with names


class JudgeMeansDisplay(_base.LineDisplay):
    """Scatter plot of the systems' means and intervals, by the true grades and a judge's grades.

    Each point is a system. On the diagonal, both means are equal. The judge ranks the systems as
    the truth does if the points ascend from left to right.

    Parameters
    ----------
    truth_means, judge_means : array-like of shape (n_systems, 3)
        Mean, and lower and upper limit of its interval, for each system.
    name : list of str, optional
        Names of the systems.
    measure, truth, judge : str
        Names of the measure and of the judges.
    tau : float, optional
        Kendall's τ_b of the means, for the title.
    level : float, optional
        Confidence level of the intervals.

    Attributes
    ----------
    points_ : list of matplotlib.container.ErrorbarContainer
        One element per system.
    line_ : matplotlib.lines.Line2D
        The diagonal.

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> report = sg.compare_judges(
    ...     {"human": y, "strict": y // 2}, {"a": X[:, 0], "b": X[:, 1]}, qid=qid, rng=0)
    >>> display = sg.JudgeMeansDisplay.from_report(report, ax=Figure().subplots())
    >>> display.name, display.truth_means.shape
    (['a', 'b'], (2, 3))
    """

    def __init__(
        self, truth_means: ArrayLike, judge_means: ArrayLike, *, name: list[str] | None = None,
        measure: str, truth: str, judge: str, tau: float | None = None, level: float | None = None,
    ):
        self.truth_means, self.judge_means = (
            np.asarray(means, dtype=float) for means in (truth_means, judge_means)
        )
        n = len(self.truth_means)
        for means in (self.truth_means, self.judge_means):
            rule = "truth_means and judge_means must both have shape (n_systems, 3)"
            check_shape(means, (n, 3), rule)
        self.name = as_names(name, n)
        self.measure, self.truth, self.judge, self.tau = measure, truth, judge, tau
        self.level = level

    @classmethod
    @documented
    def from_report(
        cls, report: JudgeComparison, judge: str | None = None, *,
        measure: str | Measure | None = None, ax: Any = None, line_kw: Style = None,
    ) -> Self:
        """Plot the means of the systems in a comparison of judges."""
        cls._need_matplotlib("from_report")
        judge = _checked_judge(report, judge)
        if not report.systems:
            raise ValueError("report contains no systems: pass y_scores to compare_judges.")
        if report.segments is not None:
            raise ValueError("report must not have segments: call compare_judges without by=.")
        shown = evaluated_name(measure, report.measures)
        rows = [row for row in report.mean_rows if row.judge == judge and row.measure == shown]
        (tau,) = (
            row.tau_b for row in report.leaderboard_rows
            if row.judge == judge and row.measure == shown
        )
        return cls(
            [[row.truth_mean, row.truth_low, row.truth_high] for row in rows],
            [[row.judge_mean, row.judge_low, row.judge_high] for row in rows],
            name=report.systems, measure=shown, truth=report.truth, judge=judge, tau=tau,
            level=report.level,
        ).plot(ax=ax, line_kw=line_kw)

    def _draw(self, ax: Any, settings: Any) -> None:
        self._take_axes(ax, 5.2, 5.0)
        both = np.concatenate([self.truth_means, self.judge_means])
        ends = np.nanmin(both), np.nanmax(both)
        (self.line_,) = self.ax_.plot(ends, ends, color=self._ink, linestyle=":", linewidth=1)
        self.points_: list[Any] = []
        has_names = self.name is not None and len(self.name) <= MOST_NAMED
        for i, (x, y) in enumerate(zip(self.truth_means, self.judge_means, strict=True)):
            label = {"label": legend_name(self.name[i])} if has_names else {}
            style = {
                "fmt": MARKERS[i % len(MARKERS)] if has_names else "o", "markersize": 5,
                "color": self._color(i if has_names else 0), "elinewidth": 0.8, **settings,
            }
            self.points_.append(self.ax_.errorbar(
                x[0], y[0], xerr=_reach(x), yerr=_reach(y), **label, **style
            ))
        tau = "" if self.tau is None else f", τ = {fixed(self.tau, 2)}"
        intervals = "" if self.level is None else f"{percent_text(self.level)} intervals"
        self.ax_.set_title(_base.escaped(f"{self.measure} of {len(self.truth_means)} systems{tau}"))
        self._write_around([f"mean under {self.truth}", intervals], f"mean under {self.judge}")


def _checked_judge(report: JudgeComparison, judge: str | None) -> str:
    """Check the report, and return the judge, by default the first one."""
    check_made_by("compare_judges", report, JudgeComparison, "report")
    return report.judges[0] if judge is None else check_judge("judge", judge, report.judges)


def _reach(mean: np.ndarray) -> np.ndarray:
    """Return the distances from a mean to the limits of its interval, as a column."""
    value, low, high = mean
    return np.nan_to_num([[value - low], [high - value]])
