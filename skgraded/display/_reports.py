"""Plots of reports: intervals, per-query differences and position bias."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import as_array, column
from skgraded._input.words import counted
from skgraded.clicks import PositionBias
from skgraded.display import _base
from skgraded.display._base import Display, Style, documented, line_settings, name_text
from skgraded.measures import Measure
from skgraded.reports.comparison import Comparison, aligned_differences
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.report import evaluated_name
from skgraded.stats.paired_samples import count_outcomes
from skgraded.writing.columns import select_rows, swap_systems
from skgraded.writing.text import percent_text, signed

MARKERS = "os^Dv*Pph8"
MOST_ROWS = 24  # maximum number of pairs drawn
MOST_NAMED = 20  # maximum number of queries whose ids are shown


def check_type(report: Any, cls: type, maker: str) -> None:
    """Raise an error unless `report` is an instance of `cls`, the type that `maker` returns."""
    if not isinstance(report, cls):
        raise TypeError(
            f"Pass an object of type {cls.__name__}, as returned by {maker}; "
            f"got {type(report).__name__}."
        )


def check_comparison(comparison: Any) -> None:
    """Raise an error unless the argument is a Comparison without segments."""
    check_type(comparison, Comparison, "compare")
    if comparison.segments is not None:
        raise ValueError("comparison must not have segments: call compare without by=.")


def measure_names(measures: Any, known: list[str]) -> list[str]:
    """Return the names of the measures to draw; None means all known measures."""
    if measures is None:
        return known
    listed = [measures] if isinstance(measures, (str, Measure)) else measures
    names = [evaluated_name(measure, known) for measure in listed]
    if not names:
        raise ValueError("measures is empty: pass at least one measure.")
    return names


class IntervalDisplay(Display):
    r"""Forest plot of means or mean differences with their intervals.

    Each row is a system; color and marker distinguish the measures. For a single system, each row
    is a measure. Rows are sorted by the first measure, in descending order. In comparisons, points
    are filled if the difference is significant and hollow otherwise.

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
    n_queries, n_undefined : array-like of int, optional
        Number of queries for each mean or in total, and the number of undefined queries among them.
    significant : array-like of shape (n_systems, n_measures), optional
        Whether each difference is significant. By default, all points are filled.

    Attributes
    ----------
    points_, hollow_ : list of matplotlib.lines.Line2D
        The means, and the hollow points drawn over them: one element per measure, or one element
        for a single system. Row i is at y = i, the highest value first.
    intervals_ : list of matplotlib.collections.LineCollection
        The intervals, in the same order.

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> ev = sg.evaluate(y, X[:, 0], qid=qid, measures="ndcng@10")
    >>> display = sg.IntervalDisplay.from_evaluations(ev, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'mean\n95 % intervals, 60 queries, 2 undefined'
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
        significant: ArrayLike | None = None,
    ):
        self.measures = [measures] if isinstance(measures, str) else list(measures)
        self.means: np.ndarray = _base.systems_first(means, "means", (len(self.measures),))
        shape = self.means.shape
        self.low, self.high = np.reshape(low, shape), np.reshape(high, shape)
        self.significant = None if significant is None else np.reshape(significant, shape)
        self.quantity, self.zero_line, self.level = quantity, zero_line, level
        self.name = _base.as_names(name, len(self.means))
        self.n_queries, self.n_undefined = n_queries, n_undefined

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
        line_kw: Style = None,
    ) -> Self:
        """Plot the means and intervals of one or more evaluations.

        Parameters
        ----------
        evaluations : Evaluation, or mapping of str to Evaluation
            One evaluation, or a mapping of names to evaluations, which may have different queries.
            A `CrossEvaluation` is also an Evaluation.
        measures : Measure, str, or list of these, optional
            By default the measures of the first evaluation.
        """
        names, reports = _base.systems_of(evaluations, name, "evaluations")
        for report in reports:
            check_type(report, Evaluation, "evaluate")
        shown = measure_names(measures, list(reports[0].per_query))
        for report in reports:
            measure_names(shown, list(report.per_query))
        settings: Any = {"method": method, "n_resamples": n_resamples, "rng": rng}
        tables = [report.summary(level, **settings).set_index("measure") for report in reports]
        means, low, high, n_undefined = (
            [table.loc[shown, name].to_numpy() for table in tables]
            for name in ("mean", "ci_low", "ci_high", "n_undefined")
        )
        return cls(
            means,
            low,
            high,
            measures=shown,
            name=names,
            level=level,
            n_queries=[len(report.query_ids) for report in reports],
            n_undefined=n_undefined,
        ).plot(ax=ax, line_kw=line_kw)

    @classmethod
    @documented
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        measures: str | Measure | Iterable[str | Measure] | None = None,
        ax: Any = None,
        line_kw: Style = None,
    ) -> Self:
        """Plot the mean differences of a comparison with their intervals.

        Without a baseline, each row is a pair of systems. The better system of the pair (by the
        first measure) is named first. With more than 24 pairs, only pairs with the best system are
        drawn, at most 24. The intervals are the same as in the table of the comparison.
        """
        check_comparison(comparison)
        shown = measure_names(measures, comparison.measures)
        table = comparison.rows
        # The pairs have the same order for each measure.
        by_measure = [select_rows(table, table["measure"] == name) for name in shown]
        first, baseline = by_measure[0], comparison.baseline
        if baseline is None and len(first["system"]) > MOST_ROWS:
            baseline = _best_system(first)
        # Swap the systems of a pair so that the baseline, or the worse system, is the second.
        is_turned = first["system"] == baseline if baseline is not None else first["difference"] < 0
        by_measure = [swap_systems(rows, is_turned) for rows in by_measure]
        difference, low, high, significant, n_defined = (
            np.stack([rows[name] for rows in by_measure], axis=1)
            for name in ("difference", "ci_low", "ci_high", "is_significant", "n_defined")
        )
        systems, others = by_measure[0]["system"], by_measure[0]["baseline"]
        drawn, quantity = _base.best_first(difference[:, 0]), "mean difference"
        names = [f"{system} − {other}" for system, other in zip(systems, others, strict=True)]
        if baseline is not None:
            drawn = drawn[others[drawn] == baseline][:MOST_ROWS]
            names, n_others = systems.tolist(), len(comparison.systems) - 1
            quantity += f" to {name_text(baseline)}"
            quantity += ", the best" if comparison.baseline is None else ""
            if len(drawn) < n_others:
                quantity += f"\nbest {len(drawn)} of {n_others} systems"
        return cls(
            difference[drawn],
            low[drawn],
            high[drawn],
            measures=shown,
            name=[names[i] for i in drawn],
            quantity=quantity,
            zero_line=True,
            level=comparison.level,
            n_queries=n_defined[drawn],
            significant=None if comparison.test is None else significant[drawn],
        ).plot(ax=ax, line_kw=line_kw)

    @documented
    def plot(
        self, ax: Any = None, *, name: str | list[str] | None = None, line_kw: Style = None
    ) -> Self:
        """Draw the stored values and return the display."""
        names = _base.as_names(name, len(self.means)) or self.name
        is_filled = np.ones(self.means.shape) if self.significant is None else self.significant
        tables = np.array([self.means, self.low, self.high, is_filled])
        rows, series = self.measures, names or [""] * len(self.means)
        if len(self.means) > 1:
            rows, series, tables = series, rows, tables.transpose(0, 2, 1)
        order = _base.best_first(tables[0, 0])
        self._begin(ax, 1.2 + len(rows) * (0.2 + 0.13 * len(series)))
        self.ax_.set_yticks(
            range(len(rows)), [_pair_text(rows[i]) for i in order], fontsize="small"
        )
        self.ax_.set_ylim(len(rows) - 0.5, -0.5)
        self._draw(tables[..., order], series, line_kw)
        intervals = "" if self.level is None else f"{percent_text(self.level)} intervals"
        counts = _base.query_counts(self.n_queries, self.n_undefined)
        below = ", ".join(filter(None, [intervals, counts]))
        title = None if self.significant is None else "filled: significant"
        self._finish([self.quantity, below], title=title)
        return self

    def _draw(self, tables: Any, series: list[str], style: Style) -> None:
        """Draw the points and intervals of each series; row i is at y = i."""
        settings = line_settings(style)
        self.points_: list[Any] = []
        self.hollow_: list[Any] = []
        self.intervals_: list[Any] = []
        if self.zero_line:
            self.ax_.axvline(0, color=self._ink, linewidth=0.8, zorder=1)
        means, low, high, is_filled = tables
        first = len(self.ax_.collections)  # intervals of an earlier display
        for i, name in enumerate(series):
            y = np.arange(len(means[i])) + 0.7 * ((i + 0.5) / len(series) - 0.5)
            look = {"linestyle": "none", "marker": MARKERS[i % len(MARKERS)], "markersize": 6}
            look |= {"color": self._color(first + i)} | settings
            self.points_ += self.ax_.plot(means[i], y, **{"label": _pair_text(name)} | look)
            look["color"] = self.points_[-1].get_color()
            if self.significant is not None:
                hollow = {"markerfacecolor": self.ax_.get_facecolor(), "zorder": 3}
                at = np.where(is_filled[i], np.nan, means[i])
                self.hollow_ += self.ax_.plot(at, y, **look | hollow)
            bars = self.ax_.hlines(y, low[i], high[i], colors=look["color"], linewidth=1.5)
            self.intervals_.append(bars)


def _best_system(rows: Any) -> str:
    """Return the system with the highest mean in these rows of a comparison."""
    means = dict(zip(rows["baseline"], rows["baseline_mean"], strict=True))
    means |= dict(zip(rows["system"], rows["mean"], strict=True))
    return max(means, key=lambda name: np.nan_to_num(means[name], nan=-np.inf))


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
        query_ids: ArrayLike | None = None,
        mean: float | None = None,
        interval: tuple[float, float] | None = None,
        level: float | None = None,
    ):
        values = column(differences, "differences")
        known = np.flatnonzero(~np.isnan(values))
        known = known[_base.best_first(values[known])]
        self.differences: np.ndarray = values[known]
        self.query_ids: np.ndarray | None = None
        if query_ids is not None:
            self.query_ids = as_array(query_ids, "query_ids", len(values), "differences")[known]
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
        check_comparison(comparison)
        name = evaluated_name(measure, comparison.measures)
        row = _only_row(comparison, system, baseline, name)
        return cls(
            aligned_differences(comparison, row.system, row.baseline, name),
            measure=name,
            system=row.system,
            baseline=row.baseline,
            query_ids=comparison.query_ids,
            mean=row.difference,
            interval=(row.ci_low, row.ci_high),
            level=comparison.level,
        ).plot(ax=ax, patch_kw=patch_kw)

    @documented
    def plot(self, ax: Any = None, *, patch_kw: Style = None) -> Self:
        """Draw the stored values and return the display."""
        self._begin(ax)
        orange, heights = self._color(1), self.differences
        self.wins_ = self._add_steps(
            heights.clip(0),
            patch_kw,
            facecolor=self._color(0),
            label=f"{name_text(self.system)} better:\n{_queries(self.wins)}",
        )
        self.losses_ = self._add_steps(
            heights.clip(max=0),
            patch_kw,
            facecolor=(orange, 0.25),
            edgecolor=orange,
            hatch="////",
            label=f"{name_text(self.baseline)} better:\n{_queries(self.losses)}",
        )
        self.ax_.axhline(0, color=self._ink, linewidth=0.8)
        self.mean_line_, self.interval_ = self._add_mean()
        self.ax_.autoscale_view()
        if self.query_ids is not None and len(self.query_ids) <= MOST_NAMED:
            names = [name_text(name) for name in self.query_ids]
            places = np.arange(len(names)) + 0.5
            self.ax_.set_xticks(places, names, rotation=90, fontsize="small")
        else:
            self._tick_integers()
        ties = f", {self.ties:,} equal" if self.ties else ""
        left_out = f", {self.n_left_out:,} more left out" if self.n_left_out else ""
        axis = f"{_queries(len(heights))} by difference{ties}{left_out}"
        self._finish([axis], f"difference in\n{name_text(self.measure)}")
        return self

    def _add_steps(self, heights: np.ndarray, style: Style, **defaults: Any) -> Any:
        """Draw the heights as steps, because Axes.stairs takes seconds for 30,000 queries."""
        from matplotlib import cbook, patches

        settings = cbook.normalize_kwargs(dict(style or {}), patches.StepPatch)
        look, n = {"fill": True, "linewidth": 0} | defaults | settings, len(heights)
        patch = self.ax_.add_artist(patches.StepPatch(heights, np.arange(n + 1), **look))
        self.ax_.update_datalim([(0, heights.min(initial=0)), (n, heights.max(initial=0))])
        return patch

    def _add_mean(self) -> tuple[Any, Any]:
        """Draw the mean as a line and its interval as a band; return both (None if not drawn)."""
        if self.mean is None or np.isnan(self.mean):
            return None, None
        label, band = f"mean difference {signed(self.mean, 3)}", None
        if self.interval is not None and not np.isnan(self.interval).any():
            low, high = self.interval
            percent = "" if self.level is None else f"{percent_text(self.level)} "
            label += f"\n{percent}interval\n{signed(low, 3)} to {signed(high, 3)}"
            band = self.ax_.axhspan(low, high, color=self._ink, alpha=0.15, linewidth=0)
        return self.ax_.axhline(self.mean, color=self._ink, linestyle="--", label=label), band


def _only_row(
    comparison: Comparison, system: str | None, baseline: str | None, measure: str
) -> Any:
    """Return the only row of the comparison that matches the names."""
    table = comparison.to_frame()
    rows = list(table[table["measure"] == measure].itertuples())
    matches = [
        row for row in rows if system in (None, row.system) and baseline in (None, row.baseline)
    ]
    if len(matches) == 1:
        return matches[0]
    pairs = "; ".join(f"system={row.system!r}, baseline={row.baseline!r}" for row in rows[:6])
    raise ValueError(
        f"system={system!r} and baseline={baseline!r} must select exactly one pair of the "
        f"comparison, but they select {len(matches)}. Choose a pair, such as {pairs}."
    )


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
    @documented
    def from_bias(cls, bias: PositionBias, *, ax: Any = None, line_kw: Style = None) -> Self:
        """Plot the result of `position_bias`.

        Parameters
        ----------
        bias : PositionBias
            Result of `position_bias`.
        """
        check_type(bias, PositionBias, "position_bias")
        table = bias.to_frame()
        return cls(
            table["examination"],
            table["ci_low"],
            table["ci_high"],
            click_rate=table["click_rate"],
            level=bias.level,
        ).plot(ax, line_kw=line_kw)

    @documented
    def plot(self, ax: Any = None, *, line_kw: Style = None) -> Self:
        """Draw the stored values and return the display."""
        self._begin(ax)
        positions = 1 + np.arange(len(self.examination))
        look = {"color": self._color(0), "marker": "o", "markersize": 4, "linewidth": 1.2}
        look["label"] = f"examination,\n{percent_text(self.level)} interval"
        self.line_ = self.ax_.errorbar(
            positions,
            self.examination,
            np.clip([self.examination - self.low, self.high - self.examination], 0, None),
            **look | line_settings(line_kw),
        )
        (self.click_rate_,) = self.ax_.plot(
            positions,
            self.click_rate / self.click_rate[0],
            color=self._color(1),
            linestyle="--",
            label="click rate, not corrected",
        )
        self.ax_.set_ylim(bottom=0)
        self._tick_integers()
        self._finish(["position"], "relative to position 1")
        return self
