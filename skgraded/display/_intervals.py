"""Plot of means or mean differences with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded.display import _systems
from skgraded.display._base import NamedDisplay, Style, best_first, documented, legend_name
from skgraded.measures import Measure
from skgraded.reports.comparison import Comparison
from skgraded.reports.evaluation import Evaluation
from skgraded.writing.charts import charted, pair_name
from skgraded.writing.columns import list_rows, swap_systems, take_rows
from skgraded.writing.text import percent_text, shortened

MARKERS = "os^Dv*Pph8"


class IntervalDisplay(NamedDisplay):
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
        self.means: np.ndarray = _systems.systems_first(means, "means", (len(self.measures),))
        self.low, self.high = (np.atleast_2d(np.asarray(end, dtype=float)) for end in (low, high))
        for argument, end in (("low", self.low), ("high", self.high)):
            rule = f"The shape of {argument} must match the shape of means, {self.means.shape}"
            _systems.check_shape(end, self.means.shape, rule)
        self.significant = None
        if significant is not None:
            self.significant = np.asarray(significant, dtype=bool).reshape(self.means.shape)
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
        cls._need_matplotlib("from_evaluations")
        names, reports = _systems.systems_of(evaluations, name, "evaluations")
        shown: list[str] = []
        for i, report in enumerate(reports):
            of_name = f"[{names[i]!r}]" if isinstance(evaluations, Mapping) else ""
            argument = f"evaluations{of_name}"
            _systems.check_made_by("evaluate", report, Evaluation, argument)
            shown = shown or _systems.measure_names(measures, list(report.per_query))
            missing = [measure for measure in shown if measure not in report.per_query]
            if missing:
                raise ValueError(
                    f"Argument {argument} does not contain the measure {missing[0]}; it contains "
                    f"{', '.join(report.per_query)}. Use the same measures for all systems."
                )
        settings = {"method": method, "n_resamples": n_resamples, "rng": rng}
        means = [report.mean() for report in reports]
        intervals = [report.confidence_interval(level, **settings) for report in reports]
        ends = np.array([[ends[measure] for measure in shown] for ends in intervals])
        return cls(
            [[mean[measure] for measure in shown] for mean in means],
            ends[..., 0],
            ends[..., 1],
            measures=shown,
            name=names,
            level=level,
            n_queries=[len(report.query_ids) for report in reports],
            n_undefined=[[report.n_undefined[measure] for measure in shown] for report in reports],
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
        cls._need_matplotlib("from_comparison")
        _systems.check_comparison(comparison)
        shown = _systems.measure_names(measures, comparison.measures)
        rows, baseline, note = _drawn_rows(comparison, shown)
        if baseline is None:
            names = [pair_name(row["system"], row["baseline"]) for row, *_ in rows]
            quantity = "mean difference"
        else:
            names = [row["system"] for row, *_ in rows]
            quantity = f"mean difference to {shortened(baseline)}"
        difference, low, high, n_queries, is_significant = (
            [[row[key] for row in of_pair] for of_pair in rows]
            for key in ("difference", "ci_low", "ci_high", "n_queries", "is_significant")
        )
        return cls(
            difference,
            low,
            high,
            measures=shown,
            name=names,
            quantity=quantity + note,
            zero_line=True,
            level=comparison.level,
            n_queries=n_queries,
            significant=None if comparison.test is None else is_significant,
        ).plot(ax=ax, line_kw=line_kw)

    def _draw(self, ax: Any, settings: Any, names: list[str] | None) -> None:
        is_filled = np.ones(self.means.shape) if self.significant is None else self.significant
        tables = np.array([self.means, self.low, self.high, is_filled])
        series: list[Any] = [None]
        if len(self.means) == 1 and (names is None or len(self.measures) > 1):
            rows, subject = self.measures, names
        else:
            rows, subject = names or [""] * len(self.means), self.measures
            tables = tables.transpose(0, 2, 1)
            if len(self.measures) > 1:
                series, subject = self.measures, None
        order = best_first(tables[0, 0])
        self._take_rows(ax, [rows[i] for i in order], len(series))
        self._draw_rows(tables[..., order], series, settings)
        self._explain_points()
        what = self.quantity if subject is None else f"{shortened(subject[0])}: {self.quantity}"
        intervals = "" if self.level is None else f"{percent_text(self.level)} intervals"
        self._write_around([what, ", ".join(filter(None, [intervals, self._counted_queries()]))])
        self._fit_names()

    def _draw_rows(self, tables: Any, series: Sequence[str | None], settings: Any) -> None:
        """Draw the points and intervals of each series; row i is at y = i."""
        self.points_: list[Any] = []
        self.hollow_: list[Any] = []
        self.intervals_: list[Any] = []
        if self.zero_line:
            self.ax_.axvline(0, color=self._ink, linewidth=0.8, zorder=1)
        means, low, high, is_filled = tables
        first = len(self.ax_.collections)  # intervals of an earlier display
        for i, name in enumerate(series):
            y = np.arange(len(means[i])) + 0.7 * ((i + 0.5) / len(series) - 0.5)
            style = {"linestyle": "none", "marker": MARKERS[i % len(MARKERS)], "markersize": 6}
            look = {"label": name and legend_name(name), "color": self._color(first + i)}
            self.points_ += self.ax_.plot(means[i], y, **look | style | settings)
            color = self.points_[-1].get_color()
            if self.significant is not None:
                face = self.ax_.get_facecolor()
                hollow = {"color": color, "markerfacecolor": face, "zorder": 3}
                self.hollow_ += self.ax_.plot(
                    np.where(is_filled[i], np.nan, means[i]), y, **style | settings | hollow
                )
            self.intervals_.append(self.ax_.hlines(y, low[i], high[i], colors=color, linewidth=1.5))

    def _explain_points(self) -> None:
        """Add legend entries for filled and hollow points if such points are drawn."""
        if self.significant is None:
            return
        known = self.ax_.get_legend_handles_labels()[1]
        style = {"linestyle": "none", "marker": MARKERS[0], "markersize": 6, "color": self._ink}
        for label, is_drawn, face in (
            ("significant difference", self.significant.any(), self._ink),
            ("no significant difference", not self.significant.all(), "none"),
        ):
            if is_drawn and label not in known:
                self.ax_.plot([], [], label=label, markerfacecolor=face, **style)


def _drawn_rows(
    comparison: Comparison, measures: list[str]
) -> tuple[list[list[Any]], str | None, str]:
    """Return the rows to draw for each pair, the baseline they share (or None), and a note."""
    rows = comparison.rows
    pairs = {
        (row["system"], row["baseline"], row["measure"]): row
        for row in [*list_rows(swap_systems(rows, True)), *list_rows(rows)]
    }
    selected, is_cut = charted(take_rows(rows, rows["measure"] == measures[0]))
    baseline, note = comparison.baseline, ""
    if baseline is None and is_cut:  # all rows contain the best system, as the first of the pair
        baseline, note = selected["system"][0], ", the best"
        selected = swap_systems(selected, True)
    elif baseline is None:  # the better system first
        selected = swap_systems(selected, selected["difference"] < 0)
    drawn, n_others = list_rows(selected), len(comparison.systems) - 1
    if len(drawn) < n_others:
        note += f", best {len(drawn)} of {n_others} systems"
    drawn = sorted(drawn, key=lambda row: -np.nan_to_num(row["difference"]))
    of_pairs = [[pairs[row["system"], row["baseline"], name] for name in measures] for row in drawn]
    return of_pairs, baseline, note
