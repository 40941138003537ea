"""Plot of per-query differences between two systems."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import as_array, column
from skgraded._input.words import counted
from skgraded.display._base import Display, Style, documented, legend_name, wrapped_name
from skgraded.display._systems import check_comparison
from skgraded.measures import Measure
from skgraded.reports.comparison import Comparison, aligned_differences
from skgraded.reports.comparison_rows import check_choice
from skgraded.reports.report import evaluated_name
from skgraded.stats.paired_samples import count_outcomes
from skgraded.writing.columns import list_rows

MOST_NAMED = 20  # maximum number of queries whose ids are shown
ID_WIDTH = 20  # maximum number of characters in a query id; longer ids are shortened


class QueryDifferenceDisplay(Display):
    """Per-query differences between two systems, in descending order.

    Queries for which `system` is better are above zero. Queries for which `baseline` is better are
    below zero and hatched. The dashed line is the mean difference; the band is its interval.

    Parameters
    ----------
    differences : array-like of shape (n_queries,)
        Value of `system` minus value of `baseline`, in any order; nan is ignored.
    measure, system, baseline : str
        Names of the measure and the systems.
    query_ids : array-like of shape (n_queries,), optional
        Ids of the queries, which are shown on the axis for up to 20 queries.
    mean, interval, level : float, (float, float) and float, optional
        Mean difference, its interval, and the level of the interval.

    Attributes
    ----------
    differences, query_ids : ndarray, ndarray or None
        The differences that are not nan, the largest first, and the query of each.
    n_left_out : int
        Number of differences that are nan.
    wins, ties, losses : int
        Numbers of queries where `system` is better, equal up to rounding errors, and worse.
    wins_, losses_ : matplotlib.patches.StepPatch
        Steps of wins and losses; the query at position i spans i to i + 1 on the axis.
    mean_line_, interval_ : matplotlib.lines.Line2D and matplotlib.patches.Patch, or None

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> systems = {name: sg.evaluate(y, X[:, i], qid=qid) for name, i in [("a", 0), ("b", 1)]}
    >>> comparison = sg.compare(systems, baseline="a", test="t")
    >>> display = sg.QueryDifferenceDisplay.from_comparison(comparison, ax=Figure().subplots())
    >>> display.ax_.get_ylabel(), display.wins, display.ties, display.losses
    ('difference in NDCNG@10', 43, 3, 14)
    """

    def __init__(
        self,
        differences: ArrayLike,
        *,
        measure: str,
        system: str,
        baseline: str,
        query_ids: ArrayLike | None = None,
        mean: float | None = None,
        interval: tuple[float, float] | None = None,
        level: float | None = None,
    ):
        values = column(differences, "differences")
        known = np.flatnonzero(~np.isnan(values))
        known = known[np.argsort(-values[known], kind="stable")]
        self.differences: np.ndarray = values[known]
        self.query_ids: np.ndarray | None = None
        if query_ids is not None:
            ids = as_array(query_ids, "query_ids", len(values), "differences")
            self.query_ids = ids[known]
        self.n_left_out = len(values) - len(known)
        self.wins, self.ties, self.losses = count_outcomes(self.differences).values()
        self.measure, self.system, self.baseline = measure, system, baseline
        self.mean, self.interval, self.level = mean, interval, level

    @classmethod
    @documented
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        system: str | None = None,
        baseline: str | None = None,
        measure: str | Measure | None = None,
        ax: Any = None,
        patch_kw: Style = None,
    ) -> Self:
        """Plot the per-query differences between two systems of a comparison.

        Queries without a value for one of the systems, and queries with weight 0, are excluded.

        Parameters
        ----------
        system, baseline : str, optional
            Names of the systems. A name may be omitted if the pair is unambiguous without it.
        """
        cls._need_matplotlib("from_comparison")
        check_comparison(comparison)
        name = evaluated_name(measure, comparison.measures)
        row = _row_of(comparison, system, baseline, name)
        return cls(
            aligned_differences(comparison, row["system"], row["baseline"], name),
            measure=name,
            system=row["system"],
            baseline=row["baseline"],
            query_ids=comparison.query_ids,
            mean=row["difference"],
            interval=(row["ci_low"], row["ci_high"]),
            level=comparison.level,
        ).plot(ax=ax, patch_kw=patch_kw)

    @documented
    def plot(self, ax: Any = None, *, patch_kw: Style = None) -> Self:
        """Draw the stored values and return the display."""
        return self._plot(ax, patch_kw=patch_kw)

    def _draw(self, ax: Any, settings: Any) -> None:
        from matplotlib.colors import to_rgba

        self._take_axes(ax)
        ax, orange = self.ax_, self._color(1)
        self.wins_: Any = self._draw_steps(
            np.maximum(self.differences, 0),
            settings,
            {
                "facecolor": self._color(0),
                "label": f"{_queries(self.wins)}: {legend_name(self.system)} better",
            },
        )
        self.losses_: Any = self._draw_steps(
            np.minimum(self.differences, 0),
            settings,
            {
                "facecolor": to_rgba(orange, 0.25),
                "edgecolor": orange,
                "hatch": "////",
                "label": f"{_queries(self.losses)}: {legend_name(self.baseline)} better",
            },
        )
        ax.autoscale_view()
        ax.axhline(0, color=self._ink, linewidth=0.8)
        self.mean_line_, self.interval_ = self._draw_mean(
            "mean difference", self.mean, self.interval, self.level, is_difference=True
        )
        ties = f", {self.ties:,} equal" if self.ties else ""
        left_out = f", {self.n_left_out:,} more left out" if self.n_left_out else ""
        counted = f"{_queries(len(self.differences))} by difference{ties}{left_out}"
        self._name_queries()
        self._fit_height()
        self._write_around([counted], f"difference in {self.measure}")

    def _draw_steps(self, heights: np.ndarray, settings: Any, style: dict[str, Any]) -> Any:
        """Draw the heights as steps, because Axes.stairs takes seconds for 30,000 queries."""
        from matplotlib.patches import StepPatch

        style = {"fill": True, "linewidth": 0, **style, **settings}
        n = len(heights)
        patch = self.ax_.add_artist(StepPatch(heights, np.arange(n + 1), **style))
        self.ax_.update_datalim([(0, heights.min(initial=0)), (n, heights.max(initial=0))])
        return patch

    def _name_queries(self) -> None:
        if self.query_ids is None or len(self.query_ids) > MOST_NAMED:
            self._whole_ticks()
            return
        half = ID_WIDTH // 2
        ids = map(str, self.query_ids)
        names = [
            wrapped_name(name if len(name) <= ID_WIDTH else f"{name[: half - 1]}…{name[-half:]}")
            for name in ids
        ]
        rotation = 0 if sum(map(len, names)) < 50 else 90
        self.ax_.set_xticks(np.arange(len(names)) + 0.5, names, rotation=rotation)


def _row_of(comparison: Comparison, system: str | None, baseline: str | None, measure: str) -> Any:
    """Return the only row of the comparison that matches the names."""
    for argument, name in (("system", system), ("baseline", baseline)):
        check_choice(argument, name, comparison.systems)
    rows = [row for row in list_rows(comparison.rows) if row["measure"] == measure]
    matches = [
        row
        for row in rows
        if system in (None, row["system"]) and baseline in (None, row["baseline"])
    ]
    if len(matches) == 1:
        return matches[0]
    known = "; ".join(f"system={row['system']!r}, baseline={row['baseline']!r}" for row in rows[:6])
    more = "; …" if len(rows) > 6 else ""
    raise ValueError(
        f"system={system!r} and baseline={baseline!r} must select exactly one pair of the "
        f"comparison, but they select {len(matches)}. Choose one of these pairs: {known}{more}."
    )


def _queries(n: int) -> str:
    return counted(n, "query", "queries")
