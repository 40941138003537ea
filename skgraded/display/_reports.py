"""Plots of reports: intervals, per-query differences and position bias."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import check_kind, column
from skgraded._input.words import counted
from skgraded.clicks import PositionBias
from skgraded.display import _base
from skgraded.display._base import COLORS, Display, Style, name_text
from skgraded.measures import Measure
from skgraded.measures.parsing import Measures
from skgraded.reports.comparison import Comparison
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.report import evaluated_name
from skgraded.stats.paired_samples import count_outcomes
from skgraded.writing.pages import MAX_INTERVALS
from skgraded.writing.tables import list_rows, select_rows, swap_systems
from skgraded.writing.text import interval_text, percent_text, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "os^Dv*Pph8"


def check_comparison(comparison: Comparison) -> None:
    """Raise an error for other objects, and for segments, which a plot could not distinguish."""
    check_kind(comparison, Comparison, "comparison")
    if comparison.segments is not None:
        raise ValueError("comparison must not have segments: call compare without by=.")


def measure_names(measures: Measures | None, known: list[str]) -> list[str]:
    """Return the names of the measures to draw; None means all known measures."""
    if measures is None:
        return known
    listed = [measures] if isinstance(measures, (str, Measure)) else measures
    return [evaluated_name(measure, known) for measure in listed]


class IntervalDisplay(Display):
    r"""Forest plot of means or mean differences with their intervals.

    Each row is a system; color and marker distinguish the measures. Rows are sorted by the first
    measure, in descending order. In comparisons, points are filled if the difference is significant
    and hollow otherwise.

    Parameters
    ----------
    means, low, high : array-like of shape (n_systems, n_measures)
        Means or mean differences, and the ends of their intervals; nan if there is no interval. The
        first axis may be omitted.
    measures, name : str or list of str
        Names of the measures, and of the systems (optional).
    quantity : str, default="mean"
        Label of the horizontal axis.
    zero_line : bool, default=False
        Whether to draw a line at zero, which is useful for differences.
    level : float, optional
        Level of the intervals.
    significant : array-like of shape (n_systems, n_measures), optional
        Whether each difference is significant. By default, all points are filled.

    Attributes
    ----------
    points_ : list of matplotlib.container.ErrorbarContainer
        The means with their intervals, one element per measure. Row i is at y = i, the highest
        value first.
    hollow_ : list of matplotlib.lines.Line2D
        The hollow points drawn over the means, one element per measure.

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> ev = sg.evaluate(y, X[:, 0], qid=qid, measures="ndcng@10")
    >>> display = sg.IntervalDisplay.from_evaluations(ev, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'mean\n95 % intervals'
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
        significant: ArrayLike | None = None,
    ):
        self.measures = [measures] if isinstance(measures, str) else list(measures)
        self.means: np.ndarray = _base.systems_first(means, "means", (len(self.measures),))
        shape = self.means.shape
        self.low, self.high = np.reshape(low, shape), np.reshape(high, shape)
        self.significant = None if significant is None else np.reshape(significant, shape)
        self.quantity, self.zero_line, self.level = quantity, zero_line, level
        self.name = [name] if isinstance(name, str) else name

    @classmethod
    def from_evaluations(
        cls,
        evaluations: Evaluation | Mapping[str, Evaluation],
        *,
        measures: Measures | None = None,
        name: str | None = None,
        level: float = 0.95,
        ax: Axes | None = None,
        line_kw: Style = None,
    ) -> Self:
        """Plot the means and Student's t intervals of one or more evaluations.

        Parameters
        ----------
        evaluations : Evaluation, or mapping of str to Evaluation
            One evaluation, or a mapping of names to evaluations, which may have different queries.
        measures : Measure, str, or list of these, optional
            By default the measures of the first evaluation.
        name : str, optional
            Name of a single system.
        level : float, default=0.95
            Level of the intervals, between 0 and 1.
        ax, line_kw : optional
            As for `plot`.
        """
        names, reports = _base.split_systems(evaluations, name)
        for report in reports:
            check_kind(report, Evaluation, "evaluations")
        shown = measure_names(measures, list(reports[0].per_query))
        tables = [report.summary(level).set_index("measure").loc[shown] for report in reports]
        means, low, high = (
            [table[name].to_numpy() for table in tables] for name in ("mean", "ci_low", "ci_high")
        )
        display = cls(means, low, high, measures=shown, name=names, level=level)
        return display.plot(ax=ax, line_kw=line_kw)

    @classmethod
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        measures: Measures | None = None,
        ax: Axes | None = None,
        line_kw: Style = None,
    ) -> Self:
        """Plot the mean differences of a comparison with their intervals.

        Without a baseline, each row is a pair of systems. At most 24 pairs are drawn, the largest
        differences first.

        Parameters
        ----------
        comparison : Comparison
            Result of `compare`.
        measures : Measure, str, or list of these, optional
            By default all measures.
        ax, line_kw : optional
            As for `plot`.
        """
        check_comparison(comparison)
        shown = measure_names(measures, comparison.measures)
        # The pairs have the same order for each measure.
        tables = [
            select_rows(comparison.rows, comparison.rows["measure"] == name) for name in shown
        ]
        quantity = "mean difference"
        if comparison.baseline is None:
            is_worse = tables[0]["difference"] < 0
            tables = [swap_systems(table, is_worse) for table in tables]
            pairs = zip(tables[0]["system"], tables[0]["baseline"], strict=True)
            names = [" − ".join(pair) for pair in pairs]
        else:
            names = tables[0]["system"].tolist()
            quantity += f" to {name_text(comparison.baseline)}"
        drawn = _base.best_first(tables[0]["difference"])[:MAX_INTERVALS]
        if len(drawn) < len(names):
            quantity += f"\nlargest {len(drawn)} of {len(names)} differences"
        difference, low, high, significant = (
            np.stack([table[name][drawn] for table in tables], axis=1)
            for name in ("difference", "ci_low", "ci_high", "is_significant")
        )
        return cls(
            difference,
            low,
            high,
            measures=shown,
            name=[names[i] for i in drawn],
            quantity=quantity,
            zero_line=True,
            level=comparison.level,
            significant=None if comparison.test is None else significant,
        ).plot(ax=ax, line_kw=line_kw)

    def plot(self, ax: Axes | None = None, *, line_kw: Style = None) -> Self:
        """Draw the stored values and return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default, the axes of a new figure.
        line_kw : dict, optional
            Keyword arguments of matplotlib's ``Axes.plot``.
        """
        order, n_series = _base.best_first(self.means[:, 0]), len(self.measures)
        rows = np.arange(len(order))
        names = [""] * len(order) if self.name is None else [self.name[i] for i in order]
        self._begin(ax, 1.2 + len(rows) * (0.2 + 0.13 * n_series))
        self.ax_.set_yticks(rows, list(map(_pair_text, names)), fontsize="small")
        self.ax_.set_ylim(len(rows) - 0.5, -0.5)
        if self.zero_line:
            self.ax_.axvline(0, color="gray", linewidth=0.8, zorder=1)
        self.points_: list[Any] = []
        self.hollow_: list[Any] = []
        first = len(self.ax_.containers)  # intervals of an earlier display
        for i, measure in enumerate(self.measures):
            means, low, high = (part[order, i] for part in (self.means, self.low, self.high))
            y = rows + 0.7 * ((i + 0.5) / n_series - 0.5)
            marker = {"marker": MARKERS[i % len(MARKERS)], "linestyle": "none"}
            look = {**marker, "color": COLORS[(first + i) % len(COLORS)], **(line_kw or {})}
            reach = np.clip([means - low, high - means], 0, None)
            self.points_.append(
                self.ax_.errorbar(means, y, xerr=reach, label=name_text(measure), **look)
            )
            if self.significant is not None:
                at = np.where(self.significant[order, i], np.nan, means)
                look |= {"markerfacecolor": self.ax_.get_facecolor(), "zorder": 3}
                self.hollow_ += self.ax_.plot(at, y, **look)
        intervals = "" if self.level is None else f"\n{percent_text(self.level)} intervals"
        title = None if self.significant is None else "filled: significant"
        self._finish(self.quantity + intervals, title=title)
        return self


def _pair_text(name: str) -> str:
    """Return a name as text; for a long pair, place the two names on separate lines."""
    parts = [name_text(part) for part in str(name).split(" − ")]
    return ("\n− " if sum(map(len, parts)) > _base.NAME_WIDTH else " − ").join(parts)


class QueryDifferenceDisplay(Display):
    """Per-query differences between two systems, in descending order.

    Queries for which `system` is better are above zero. Queries for which `baseline` is better are
    below zero and hatched. The dashed line is the mean difference; the band is its interval.

    Parameters
    ----------
    differences : array-like of shape (n_queries,)
        Value of `system` minus value of `baseline`, in any order.
    measure, system, baseline : str
        Names of the measure and the systems.
    mean, interval, level : float, (float, float) and float
        Mean difference, its interval, and the level of the interval.

    Attributes
    ----------
    differences : ndarray
        The differences, the largest first.
    wins, ties, losses : int
        Numbers of differences above 0, equal to 0 and below 0. In a comparison, differences of
        values that are equal up to rounding errors are 0.
    wins_, losses_ : matplotlib.collections.PolyCollection
        Steps of wins and losses; the query at position i spans i to i + 1 on the axis.
    mean_line_, interval_ : matplotlib.lines.Line2D and matplotlib.patches.Patch

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> systems = {name: sg.evaluate(y, X[:, i], qid=qid) for name, i in [("a", 0), ("b", 1)]}
    >>> comparison = sg.compare(systems, baseline="a", test="t")
    >>> display = sg.QueryDifferenceDisplay.from_comparison(comparison, ax=Figure().subplots())
    >>> display.wins, display.ties, display.losses
    (43, 3, 14)
    """

    def __init__(
        self,
        differences: ArrayLike,
        *,
        measure: str,
        system: str,
        baseline: str,
        mean: float,
        interval: tuple[float, float],
        level: float,
    ):
        self.differences: np.ndarray = np.sort(column(differences, "differences"))[::-1]
        self.wins, self.ties, self.losses = count_outcomes(self.differences).values()
        self.measure, self.system, self.baseline = measure, system, baseline
        self.mean, self.interval, self.level = mean, interval, level

    @classmethod
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        system: str | None = None,
        baseline: str | None = None,
        measure: str | Measure | None = None,
        ax: Axes | None = None,
        patch_kw: Style = None,
    ) -> Self:
        """Plot the per-query differences between two systems of a comparison.

        Queries without a value for one of the systems, and queries with weight 0, are excluded.

        Parameters
        ----------
        comparison : Comparison
            Result of `compare`.
        system, baseline : str, optional
            Names of the systems. A name may be omitted if the pair is unambiguous without it.
        measure : Measure or str, optional
            By default the first measure.
        ax, patch_kw : optional
            As for `plot`.
        """
        check_comparison(comparison)
        rows, name = comparison.rows, evaluated_name(measure, comparison.measures)
        is_match = rows["measure"] == name
        for key, value in (("system", system), ("baseline", baseline)):
            if value is not None:
                is_match &= rows[key] == value
        matches = list_rows(select_rows(rows, is_match))
        if len(matches) != 1:
            raise ValueError(
                f"system={system!r} and baseline={baseline!r} must select exactly one pair of the "
                f"comparison, but they select {len(matches)}."
            )
        (row,) = matches
        return cls(
            comparison.differences(row["system"], row["baseline"], name),
            measure=name,
            system=row["system"],
            baseline=row["baseline"],
            mean=row["difference"],
            interval=(row["ci_low"], row["ci_high"]),
            level=comparison.level,
        ).plot(ax=ax, patch_kw=patch_kw)

    def plot(self, ax: Axes | None = None, *, patch_kw: Style = None) -> Self:
        """Draw the stored values and return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default, the axes of a new figure.
        patch_kw : dict, optional
            Keyword arguments of matplotlib's ``Axes.fill_between``.
        """
        self._begin(ax)
        style, n = dict(patch_kw or {}), len(self.differences)
        heights, orange = np.append(self.differences, self.differences[-1:]), COLORS[1]
        wins = {
            "facecolor": COLORS[0],
            "label": f"{name_text(self.system)} better:\n{_queries(self.wins)}",
        }
        losses = {
            "facecolor": (orange, 0.25),
            "edgecolor": orange,
            "hatch": "////",
            "label": f"{name_text(self.baseline)} better:\n{_queries(self.losses)}",
        }
        # Axes.stairs would take seconds for 30,000 queries.
        self.wins_, self.losses_ = (
            self.ax_.fill_between(np.arange(n + 1), part, step="post", linewidth=0, **look | style)
            for part, look in ((heights.clip(0), wins), (heights.clip(max=0), losses))
        )
        self.ax_.axhline(0, color="gray", linewidth=0.8)
        percent, limits = percent_text(self.level), interval_text(self.interval)
        label = f"mean difference {signed(self.mean, 3)}\n{percent} interval\n{limits}"
        self.interval_ = self.ax_.axhspan(*self.interval, color="gray", alpha=0.3, zorder=0)
        self.mean_line_ = self.ax_.axhline(self.mean, color="gray", linestyle="--", label=label)
        self._tick_integers()
        ties = f", {self.ties:,} equal" if self.ties else ""
        axis = f"{_queries(n)} by difference{ties}"
        self._finish(axis, f"difference in\n{name_text(self.measure)}")
        return self


def _queries(n: int) -> str:
    return counted(n, "query", "queries")


class PositionBiasDisplay(Display):
    """The examination of each position with its interval, and the click rates for comparison.

    Parameters
    ----------
    examination, low, high : array-like of shape (n_positions,)
        Estimates relative to position 1, and the ends of their intervals; nan without an estimate.
    click_rate : array-like of shape (n_positions,)
        Clicks per impression, drawn relative to position 1.
    level : float
        Level of the intervals.

    Attributes
    ----------
    line_ : matplotlib.container.ErrorbarContainer
        The estimates with their intervals.
    click_rate_ : matplotlib.lines.Line2D
        The click rates.

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> display = sg.PositionBiasDisplay(
    ...     [1, 0.5], [1, 0.4], [1, 0.6], click_rate=[0.3, 0.2], level=0.95)
    >>> display.plot(ax=Figure().subplots()).ax_.get_xlabel()
    'position'
    """

    def __init__(
        self,
        examination: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        *,
        click_rate: ArrayLike,
        level: float,
    ):
        self.level = level
        self.examination, self.low, self.high, self.click_rate = np.array(
            [examination, low, high, click_rate], dtype=float
        )

    @classmethod
    def from_bias(
        cls, bias: PositionBias, *, ax: Axes | None = None, line_kw: Style = None
    ) -> Self:
        """Plot the result of `ClickLog.position_bias`.

        Parameters
        ----------
        bias : PositionBias
            Result of `ClickLog.position_bias`.
        ax, line_kw : optional
            As for `plot`.
        """
        check_kind(bias, PositionBias, "bias")
        table = bias.to_frame()
        return cls(
            table["examination"],
            table["ci_low"],
            table["ci_high"],
            click_rate=table["click_rate"],
            level=bias.level,
        ).plot(ax, line_kw=line_kw)

    def plot(self, ax: Axes | None = None, *, line_kw: Style = None) -> Self:
        """Draw the stored values and return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default, the axes of a new figure.
        line_kw : dict, optional
            Keyword arguments of matplotlib's ``Axes.plot``.
        """
        self._begin(ax)
        positions = 1 + np.arange(len(self.examination))
        look = {"color": COLORS[0], "marker": "o", "markersize": 4, "linewidth": 1.2}
        look["label"] = f"examination,\n{percent_text(self.level)} interval"
        self.line_ = self.ax_.errorbar(
            positions,
            self.examination,
            np.clip([self.examination - self.low, self.high - self.examination], 0, None),
            **look | dict(line_kw or {}),
        )
        (self.click_rate_,) = self.ax_.plot(
            positions,
            self.click_rate / self.click_rate[0],
            color=COLORS[1],
            linestyle="--",
            label="click rate, not corrected",
        )
        self.ax_.set_ylim(bottom=0)
        self._tick_integers()
        self._finish("position", "relative to position 1")
        return self
