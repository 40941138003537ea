"""Display classes that follow scikit-learn's plotting conventions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import (
    check_grades,
    check_kind,
    check_scores,
    check_unjudged_documents,
    column,
)
from skgraded._input.libraries import needs
from skgraded._input.queries import QueryIds
from skgraded._input.tables import Features
from skgraded.clicks import PositionBias
from skgraded.judgments import Judgments, as_judgments, replace_unjudged
from skgraded.measures import Measure, MuAP, curves
from skgraded.measures.parsing import Measures
from skgraded.model_selection.query_source import QuerySource, is_key
from skgraded.model_selection.scorer import (
    check_response_method,
    judge_scored_rows,
    score_documents,
)
from skgraded.reports.comparison import Comparison
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.report import choose_evaluated_name
from skgraded.stats.paired_tests import count_outcomes
from skgraded.writing.pages import MAX_INTERVALS
from skgraded.writing.tables import list_rows, select_rows, swap_systems
from skgraded.writing.text import count_queries, format_interval, format_percent, shortened, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "CutoffCurveDisplay",
    "IntervalDisplay",
    "PositionBiasDisplay",
    "QueryDifferenceDisplay",
    "ThresholdCurveDisplay",
]

# People with any type of color blindness can distinguish the Okabe-Ito colors.
# Colors with more contrast against light and dark backgrounds come first.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888")
NAME_WIDTH = 28  # characters; longer names are shortened
LEGEND_WIDTH = 2.0  # inches added to the default figure width to make room for the legend
LINESTYLES = ("-", "--", "-.", ":")
MARKERS = "os^Dv*Pph8"
MOST_MARKED = 12  # maximum number of markers per curve

Style = Mapping[str, Any] | None  # keyword arguments for matplotlib


class Display:
    """Base class for displays, which store the plotted data and, once drawn, the axes."""

    ax_: Any
    figure_: Any

    def _begin(self, ax: Axes | None, height: float | None = None) -> None:
        """Store the axes; if `ax` is None, create a figure with the given height in inches."""
        if ax is None:
            with needs(f"{type(self).__name__}.plot", "matplotlib"):
                import matplotlib.pyplot as plt
            width, default = plt.rcParams["figure.figsize"]
            size = width + LEGEND_WIDTH, height or default
            _, ax = plt.subplots(layout="constrained", figsize=size)
        self.ax_, self.figure_ = ax, ax.figure

    def _finish(
        self, below: str, side: str = "", title: str | None = None, has_integers: bool = False
    ) -> None:
        """Label the axes and draw the legend, outside the axes if the figure has a layout engine.

        If `has_integers` is true, the x-axis has ticks only at integers.
        """
        from matplotlib.ticker import MaxNLocator

        self.ax_.set(xlabel=below, ylabel=side)
        if has_integers:
            locator = MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1)
            self.ax_.xaxis.set_major_locator(locator)
        place: dict[str, Any] = {"loc": "best"}
        if self.figure_.get_layout_engine() is not None:
            place = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
        if self.ax_.get_legend_handles_labels()[0]:
            self.ax_.legend(
                title=title, alignment="left", fontsize="small", title_fontsize="small", **place
            )


def split_systems(systems: object, name: str | None) -> tuple[list[str] | None, list[Any]]:
    """Return the system names (None if there are none) and a list of the systems' values."""
    if isinstance(systems, Mapping):
        return [str(key) for key in systems], list(systems.values())
    return None if name is None else [name], [systems]


def move_systems_first(values: ArrayLike, argument: str, shape: tuple[int, ...]) -> np.ndarray:
    """Convert values to an array of shape (n_systems, *shape) by adding missing leading axes."""
    array = np.array(values, dtype=float, ndmin=len(shape) + 1)
    if array.shape[1:] != shape:
        wanted = ", ".join(map(str, ("n_systems", *shape)))
        raise ValueError(f"{argument} must have shape ({wanted}); got shape {np.shape(values)}.")
    return array


def sort_best_first(values: np.ndarray) -> list[int]:
    """Return the indices that sort the values in descending order, with nan last."""
    return np.argsort(-values, kind="stable").tolist()


def name_text(name: object) -> str:
    """Escape a name, because matplotlib parses "$x$" as a formula and hides "_x" in legends."""
    text = shortened(" ".join(str(name).split()), NAME_WIDTH).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


# Curves ------------------------------------------------------------------------------------------


class CurveDisplay(Display):
    """Base class for displays with one or more curves per system."""

    lines_: list[Any]
    from_predictions: Any
    _heights: np.ndarray  # one value per system, used to sort the curves
    _draw: Any

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Features,
        y: ArrayLike,
        *,
        qid: QueryIds | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        response_method: str | list[str] | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Any:
        """Compute scores with a fitted estimator, and plot the resulting curves.

        Parameters
        ----------
        estimator : estimator
            Fitted estimator. To plot several estimators, see `from_predictions`.
        X : array-like, sparse matrix or frame of shape (n, n_columns)
            Features of the documents.
        y : array-like of shape (n,)
            Grades ≥ 0; 0 means irrelevant.
        qid : array-like of shape (n,), str or int, optional
            Query id of each row, or a column of X by name or position. May be omitted for a
            `QueryRanker` whose `qid` is a column of X or a Series.
        group, sample_weight
            As for `from_predictions`.
        name : str, optional
            Name of the system; by default, the class of the estimator.
        response_method : {"predict", "decision_function", "predict_proba"} or a list, optional
            Method that returns the scores, as in `make_ranking_scorer`.
        ax : matplotlib.axes.Axes, optional
            As for `plot`.
        **kwargs : dict
            Additional parameters of `from_predictions`.
        """
        methods = check_response_method(response_method)
        source = QuerySource.of_call(qid, group, estimator)
        if qid is None and group is None and not source.is_in_X:
            raise ValueError("from_estimator requires the query of each row: pass qid or group.")
        check_grades(y, "y", allow_nan=kwargs.get("unjudged_documents") is not None)
        qid = None if is_key(qid) else qid
        return cls.from_predictions(
            judge_scored_rows(estimator, X, y, source, "from_estimator", qid, group, sample_weight),
            score_documents(estimator, X, methods),
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            **kwargs,
        )

    def plot(self, ax: Axes | None = None, *, line_kw: Style = None) -> Self:
        """Draw the stored curves and return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default, the axes of a new figure.
        line_kw : dict, optional
            Keyword arguments of matplotlib's ``Axes.plot``.
        """
        self._begin(ax)
        self.lines_ = []
        first = len(self.ax_.lines)  # curves of an earlier display
        # Assign colors in input order, so that a system has the same color in every display.
        self._draw({s: first + s for s in sort_best_first(self._heights)}, line_kw or {})
        return self


def check_predictions(
    y_true: ArrayLike | Judgments,
    y_score: object,
    name: str | None,
    unjudged_documents: str | None,
    **truth: Any,
) -> tuple[Judgments, list[str] | None, list[np.ndarray]]:
    """Validate the input of `from_predictions`, and return the judgments, names and scores."""
    rule = check_unjudged_documents(unjudged_documents)
    names, systems = split_systems(y_score, name)
    judgments = as_judgments(y_true, **truth)
    arguments = ["y_score"] if names is None else [f"y_score of {key!r}" for key in names]
    scores = [
        check_scores(values, judgments.n_rows, argument)
        for values, argument in zip(systems, arguments, strict=True)
    ]
    if rule is not None:
        judgments, rows = replace_unjudged(judgments, rule)
        if rows is not None:  # row -1 has the score -inf
            scores = [np.append(values, -np.inf)[rows] for values in scores]
    return judgments, names, scores


class ThresholdCurveDisplay(CurveDisplay):
    r"""Average precision AP^t as a function of the threshold t; the area under the curve is μAP.

    A document is relevant if its grade is at least t. μAP is the mean of AP^t over all t in
    (0, r_max], where r_max is the query's highest grade (Scheel et al. 2011, eq. 4). If the x-axis
    shows t / r_max, the area under the mean curve over several queries is μMAP.

    Parameters
    ----------
    thresholds : array-like of shape (n_thresholds,)
        Right ends of the steps, ascending and above 0. The first step begins at 0.
    average_precision : array-like of shape (n_systems, n_thresholds) or (n_thresholds,)
        Mean AP^t of each step.
    mu_ap : array-like of shape (n_systems,) or float, optional
        μMAP of each system, for the legend.
    name : str or list of str, optional
        Names of the systems.
    relative : bool, default=True
        Whether the thresholds are relative to the top grade of each query.

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        One line per drawn system, the best system first.

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> y_true, y_score = [1, 0, 3, 3, 2, 0, 1, 4], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> display = sg.ThresholdCurveDisplay.from_predictions(
    ...     y_true, y_score, relative=False, name="list", ax=Figure().subplots())
    >>> display.average_precision.round(3)
    array([[0.78 , 0.483, 0.403, 0.125]])
    >>> display.lines_[0].get_label()
    'list (0.448)'
    """

    def __init__(
        self,
        thresholds: ArrayLike,
        average_precision: ArrayLike,
        *,
        mu_ap: ArrayLike | None = None,
        name: str | list[str] | None = None,
        relative: bool = True,
    ):
        self.thresholds: np.ndarray = np.asarray(thresholds, dtype=float)
        self.average_precision: np.ndarray = move_systems_first(
            average_precision, "average_precision", (len(self.thresholds),)
        )
        self.mu_ap: np.ndarray | None = None if mu_ap is None else np.atleast_1d(mu_ap)
        self._heights = self.average_precision[:, 0] if self.mu_ap is None else self.mu_ap
        self.name = [name] if isinstance(name, str) else name
        self.relative = relative

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | Judgments,
        y_score: ArrayLike | Mapping[str, ArrayLike],
        *,
        qid: QueryIds | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        unjudged_documents: str | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        ties: str = "average",
        undefined: float = 0.0,
        relative: bool = True,
        line_kw: Style = None,
    ) -> Self:
        """Plot one curve per system, given the scores of one or more systems.

        Parameters
        ----------
        y_true : array-like of shape (n,), or Judgments
            Grades ≥ 0; 0 means irrelevant.
        y_score : array-like of shape (n,), or mapping of str to array-like
            Scores; higher scores rank first, and -inf means not retrieved. A mapping contains the
            scores of each system, keyed by name.
        qid : array-like of shape (n,), optional
            Query id of each row; rows may be in any order.
        group : array-like of shape (n_queries,), optional
            Sizes of consecutive queries, as an alternative to `qid`.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows; the weight of a query is the mean over its rows.
        unjudged_documents : {"irrelevant", "drop"}, optional
            How to treat NaN grades, as in `evaluate`.
        name : str, optional
            Name of a single system.
        ax : matplotlib.axes.Axes, optional
            As for `plot`.
        ties, undefined, relative
            As in `skgraded.measures.threshold_curve`.
        line_kw : dict, optional
            As for `plot`.
        """
        measure = MuAP(ties=ties, undefined=undefined)
        judgments, names, scores = check_predictions(
            y_true,
            y_score,
            name,
            unjudged_documents,
            qid=qid,
            group=group,
            sample_weight=sample_weight,
        )
        settings: Any = {"ties": ties, "undefined": undefined, "relative": relative}
        steps = [curves.threshold_curve(judgments, values, **settings) for values in scores]
        return cls(
            steps[0].thresholds,
            [curve.average_precision for curve in steps],
            mu_ap=[measure(judgments, values) for values in scores],
            name=names,
            relative=relative,
        ).plot(ax=ax, line_kw=line_kw)

    def _draw(self, looks: dict[int, int], style: Mapping[str, Any]) -> None:
        t, values = np.append(0, self.thresholds), self.average_precision
        for s, look in looks.items():
            label = None if self.name is None else name_text(self.name[s])
            if self.mu_ap is not None:
                text = f"{self.mu_ap[s]:.3f}"
                label = f"μMAP = {text}" if label is None else f"{label} ({text})"
            settings = {
                "label": label,
                "color": COLORS[look % len(COLORS)],
                "linestyle": LINESTYLES[look // len(COLORS) % 4],
                "drawstyle": "steps-pre",
            }
            steps = np.append(values[s, :1], values[s])
            self.lines_ += self.ax_.plot(t, steps, **settings | dict(style))
        self.ax_.autoscale(axis="y")  # reset the limits set by an earlier display
        self.ax_.set_ylim(bottom=0)
        axis = "threshold t / top grade of the query" if self.relative else "threshold t"
        title = None if self.mu_ap is None or self.name is None else "system (μMAP)"
        self._finish(axis, "AP with threshold t, mean", title)


class CutoffCurveDisplay(CurveDisplay):
    """Measures as functions of the cut-off, such as NDCG@n plotted against n.

    Colors distinguish systems; line styles distinguish measures. The legend lists the systems in
    descending order of their values at the last cut-off.

    Parameters
    ----------
    cutoffs : array-like of shape (n_cutoffs,) of int
        Cut-offs ≥ 1, ascending.
    values : array-like of shape (n_systems, n_measures, n_cutoffs)
        Mean values. Leading axes of length 1 may be omitted.
    measures : list of str
        Names of the measures without their cut-off.
    name : str or list of str, optional
        Names of the systems.

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        One line per drawn system and measure, the best system first.

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> y_true, y_score = [1, 0, 3, 3, 2, 0, 1, 4], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> display = sg.CutoffCurveDisplay.from_predictions(
    ...     y_true, y_score, measures="ndcng", ax=Figure().subplots())
    >>> display.values.round(2)
    array([[[0.19, 0.13, 0.3 , 0.42, 0.49, 0.47, 0.5 , 0.65]]])
    """

    def __init__(
        self,
        cutoffs: ArrayLike,
        values: ArrayLike,
        *,
        measures: str | list[str],
        name: str | list[str] | None = None,
    ):
        self.cutoffs: np.ndarray = np.asarray(cutoffs)
        self.measures = [measures] if isinstance(measures, str) else list(measures)
        self.values: np.ndarray = move_systems_first(
            values, "values", (len(self.measures), len(self.cutoffs))
        )
        self._heights = self.values[:, 0, -1]
        self.name = [name] if isinstance(name, str) else name

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | Judgments,
        y_score: ArrayLike | Mapping[str, ArrayLike],
        *,
        qid: QueryIds | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        unjudged_documents: str | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        ties: str | None = None,
        measures: Measures | None = None,
        cutoffs: ArrayLike | None = None,
        line_kw: Style = None,
    ) -> Self:
        """Plot one curve per system and measure, given the scores of one or more systems.

        Parameters
        ----------
        y_true, y_score, qid, group, sample_weight, unjudged_documents, name, ax
            As for `ThresholdCurveDisplay.from_predictions`.
        ties : {"average", "ordinal", "best", "worst"}, optional
            As in `skgraded.measures.cutoff_curve`.
        measures : Measure, str, or list of these, optional
            Measures without a cut-off. By default NDCG and NDCNG for one system, and NDCNG for
            several systems.
        cutoffs : array-like of int, optional
            As in `skgraded.measures.cutoff_curve`.
        line_kw : dict, optional
            As for `plot`.
        """
        if measures is None:
            has_several = isinstance(y_score, Mapping) and len(y_score) > 1
            measures = ["ndcng"] if has_several else ["ndcg", "ndcng"]
        uncut = curves.check_uncut(measures, ties)
        judgments, names, scores = check_predictions(
            y_true,
            y_score,
            name,
            unjudged_documents,
            qid=qid,
            group=group,
            sample_weight=sample_weight,
        )
        points = [
            curves.cutoff_curve(judgments, values, measures=uncut, cutoffs=cutoffs)
            for values in scores
        ]
        return cls(
            points[0].cutoffs,
            [curve.values for curve in points],
            measures=[measure.name for measure in uncut],
            name=names,
        ).plot(ax=ax, line_kw=line_kw)

    def _draw(self, looks: dict[int, int], style: Mapping[str, Any]) -> None:
        every = -(-len(self.cutoffs) // MOST_MARKED)
        labels = [f"{name_text(measure)}@n" for measure in self.measures]
        for s, look in looks.items():
            for i, label in enumerate(labels):
                if self.name is not None:
                    name = name_text(self.name[s])
                    label = name if len(labels) == 1 else f"{name}, {label}"
                color = look + i if len(self.values) == 1 else look
                line = LINESTYLES[(look // len(COLORS) if len(labels) == 1 else i) % 4]
                settings = {
                    "label": label,
                    "color": COLORS[color % len(COLORS)],
                    "linestyle": line,
                    "marker": ".",
                    "markevery": every,
                }
                self.lines_ += self.ax_.plot(
                    self.cutoffs, self.values[s, i], **settings | dict(style)
                )
        side = labels[0] if len(labels) == 1 else "measure@n"
        self._finish("cut-off n", f"{side}, mean", has_integers=True)


# Reports -----------------------------------------------------------------------------------------


def check_comparison(comparison: Comparison) -> None:
    """Raise an error unless the argument is a Comparison without segments."""
    check_kind(comparison, Comparison, "comparison")
    if comparison.segments is not None:
        raise ValueError("comparison must not have segments: call compare without by=.")


def measure_names(measures: Measures | None, known: list[str]) -> list[str]:
    """Return the names of the measures to draw; if `measures` is None, all names in `known`."""
    if measures is None:
        return known
    listed = [measures] if isinstance(measures, (str, Measure)) else measures
    return [choose_evaluated_name(measure, known) for measure in listed]


class IntervalDisplay(Display):
    r"""Forest plot of means or mean differences with confidence intervals.

    Each row shows a system; colors and markers distinguish the measures. Rows are sorted by the
    first measure in descending order. In comparisons, points are filled if the difference is
    significant and hollow otherwise.

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
        self.means: np.ndarray = move_systems_first(means, "means", (len(self.measures),))
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
        names, reports = split_systems(evaluations, name)
        for report in reports:
            check_kind(report, Evaluation, "evaluations")
        shown = measure_names(measures, list(reports[0].per_query))
        tables = [report.summary(level).set_index("measure").loc[shown] for report in reports]
        means, low, high = (
            [table[name].to_numpy() for table in tables] for name in ("mean", "ci_low", "ci_high")
        )
        return cls(means, low, high, measures=shown, name=names, level=level).plot(
            ax=ax, line_kw=line_kw
        )

    @classmethod
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        measures: Measures | None = None,
        ax: Axes | None = None,
        line_kw: Style = None,
    ) -> Self:
        """Plot the mean differences of a comparison with their confidence intervals.

        If there is no baseline, each row shows a pair of systems. If there are more than 24 rows,
        only those with the largest differences are drawn.

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
        # The tables of all measures list the pairs of systems in the same order.
        tables = [
            select_rows(comparison.rows, comparison.rows["measure"] == name) for name in shown
        ]
        quantity = "mean difference"
        if comparison.baseline is None:
            tables = [swap_systems(table, tables[0]["difference"] < 0) for table in tables]
            pairs = zip(tables[0]["system"], tables[0]["baseline"], strict=True)
            names = [" − ".join(pair) for pair in pairs]
        else:
            names = tables[0]["system"].tolist()
            quantity += f" to {name_text(comparison.baseline)}"
        drawn = sort_best_first(tables[0]["difference"])[:MAX_INTERVALS]
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
        order, n_series = sort_best_first(self.means[:, 0]), len(self.measures)
        rows = np.arange(len(order))
        names = [""] * len(order) if self.name is None else [self.name[i] for i in order]
        self._begin(ax, 1.2 + len(rows) * (0.2 + 0.13 * n_series))
        self.ax_.set_yticks(rows, list(map(_format_pair, names)), fontsize="small")
        self.ax_.set_ylim(len(rows) - 0.5, -0.5)
        if self.zero_line:
            self.ax_.axvline(0, color="gray", linewidth=0.8, zorder=1)
        self.points_: list[Any] = []
        self.hollow_: list[Any] = []
        first = len(self.ax_.containers)  # intervals of an earlier display
        for i, measure in enumerate(self.measures):
            means, low, high = (part[order, i] for part in (self.means, self.low, self.high))
            y = rows + 0.7 * ((i + 0.5) / n_series - 0.5)
            look = {
                "marker": MARKERS[i % len(MARKERS)],
                "linestyle": "none",
                "color": COLORS[(first + i) % len(COLORS)],
                **(line_kw or {}),
            }
            reach = np.clip([means - low, high - means], 0, None)
            self.points_.append(
                self.ax_.errorbar(means, y, xerr=reach, label=name_text(measure), **look)
            )
            if self.significant is not None:
                at = np.where(self.significant[order, i], np.nan, means)
                look |= {"markerfacecolor": self.ax_.get_facecolor(), "zorder": 3}
                self.hollow_ += self.ax_.plot(at, y, **look)
        intervals = "" if self.level is None else f"\n{format_percent(self.level)} intervals"
        title = None if self.significant is None else "filled: significant"
        self._finish(self.quantity + intervals, title=title)
        return self


def _format_pair(name: str) -> str:
    """Escape a row name; if it is too long and names two systems, put the systems on two lines."""
    parts = [name_text(part) for part in str(name).split(" − ")]
    return ("\n− " if sum(map(len, parts)) > NAME_WIDTH else " − ").join(parts)


class QueryDifferenceDisplay(Display):
    """Per-query differences between two systems, in descending order.

    Queries for which `system` is better are above zero. Queries for which `baseline` is better are
    below zero and hatched. The dashed line is the mean difference; the band is its confidence
    interval.

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

        Queries with weight 0 are excluded, and so are queries for which either system has no value.

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
        rows, name = comparison.rows, choose_evaluated_name(measure, comparison.measures)
        is_match = rows["measure"] == name
        for key, value in (("system", system), ("baseline", baseline)):
            is_match &= (value is None) | (rows[key] == value)
        matches = list_rows(select_rows(rows, is_match))
        if len(matches) != 1:
            raise ValueError(
                f"system={system!r} and baseline={baseline!r} must select exactly one pair of "
                f"systems, but they select {len(matches)}."
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
        heights, (blue, orange) = np.append(self.differences, self.differences[-1:]), COLORS[:2]
        wins = {
            "facecolor": blue,
            "label": f"{name_text(self.system)} better:\n{count_queries(self.wins)}",
        }
        losses = {
            "facecolor": (orange, 0.25),
            "edgecolor": orange,
            "hatch": "////",
            "label": f"{name_text(self.baseline)} better:\n{count_queries(self.losses)}",
        }
        # Axes.stairs would take several seconds to draw 30,000 queries.
        self.wins_, self.losses_ = (
            self.ax_.fill_between(np.arange(n + 1), part, step="post", linewidth=0, **look | style)
            for part, look in ((heights.clip(0), wins), (heights.clip(max=0), losses))
        )
        self.ax_.axhline(0, color="gray", linewidth=0.8)
        percent, limits = format_percent(self.level), format_interval(self.interval)
        label = f"mean difference {signed(self.mean, 3)}\n{percent} interval\n{limits}"
        self.interval_ = self.ax_.axhspan(*self.interval, color="gray", alpha=0.3, zorder=0)
        self.mean_line_ = self.ax_.axhline(self.mean, color="gray", linestyle="--", label=label)
        ties = f", {self.ties:,} equal" if self.ties else ""
        self._finish(
            f"{count_queries(n)} by difference{ties}",
            f"difference in\n{name_text(self.measure)}",
            has_integers=True,
        )
        return self


class PositionBiasDisplay(Display):
    """Examination probabilities by position, with confidence intervals and click rates.

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
        look["label"] = f"examination,\n{format_percent(self.level)} interval"
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
        self._finish("position", "relative to position 1", has_integers=True)
        return self
