"""Plots of measures as functions of a threshold or a cut-off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import check_grades, check_scores, check_unjudged_documents
from skgraded._input.queries import QueryIds
from skgraded._input.tables import Features
from skgraded.display import _base
from skgraded.display._base import COLORS, Display, Style, name_text
from skgraded.judgments import Judgments, as_judgments, replace_unjudged
from skgraded.measures import MuAP, curves
from skgraded.measures.parsing import Measures
from skgraded.model_selection.query_source import QuerySource, is_key
from skgraded.model_selection.scorer import (
    check_response_method,
    judge_scored_rows,
    score_documents,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINESTYLES = ("-", "--", "-.", ":")
MOST_MARKED = 12  # maximum number of markers per curve


class CurveDisplay(Display):
    """Base class of plots with one or more curves per system."""

    lines_: list[Any]
    from_predictions: Any
    _heights: np.ndarray  # one number per system; systems with higher numbers are drawn first
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
        """Compute scores with a fitted estimator, and plot the scores like `from_predictions`.

        Parameters
        ----------
        estimator : estimator
            Fitted estimator. Predictions of several estimators: see `from_predictions`.
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
        check_response_method(response_method)
        source = QuerySource.of_call(qid, group, estimator)
        if qid is None and group is None and not source.is_in_X:
            raise ValueError("from_estimator requires the query of each row: pass qid or group.")
        check_grades(y, "y", allow_nan=kwargs.get("unjudged_documents") is not None)
        qid = None if is_key(qid) else qid
        judgments = judge_scored_rows(
            estimator, X, y, source, "from_estimator", qid, group, sample_weight
        )
        scores = score_documents(estimator, X, response_method)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(judgments, scores, name=name, ax=ax, **kwargs)

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
        # Colors are assigned in input order, so that a system has the same color in all displays.
        looks = {s: first + s for s in _base.best_first(self._heights)}
        self._draw(looks, dict(line_kw or {}))
        return self


def check_predictions(
    y_true: ArrayLike | Judgments,
    y_score: object,
    name: str | None,
    unjudged_documents: str | None,
    **truth: Any,
) -> tuple[Judgments, list[str] | None, list[np.ndarray]]:
    """Return the judgments, the names of the systems (or None), and their checked scores."""
    rule = check_unjudged_documents(unjudged_documents)
    names, systems = _base.split_systems(y_score, name)
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

    A document is relevant if its grade is at least t. μAP is the mean of AP^t for t uniform in
    (0, r_max], where r_max is the top grade of the query (Scheel et al. 2011, eq. 4). With t /
    r_max on the axis, the area under the mean curve of several queries is μMAP.

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
        shape = (len(self.thresholds),)
        self.average_precision: np.ndarray = _base.systems_first(
            average_precision, "average_precision", shape
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
            scores of each system by name.
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

    def _draw(self, looks: dict[int, int], style: dict[str, Any]) -> None:
        t, title = np.append(0, self.thresholds), None
        if self.mu_ap is not None and self.name is not None:
            title = "system (μMAP)"
        for s, look in looks.items():
            label = None if self.name is None else name_text(self.name[s])
            if self.mu_ap is not None:
                text = f"{self.mu_ap[s]:.3f}"
                label = f"μMAP = {text}" if label is None else f"{label} ({text})"
            values = self.average_precision[s]
            steps = np.append(values[:1], values)
            line = LINESTYLES[look // len(COLORS) % 4]
            settings = {"label": label, "color": COLORS[look % len(COLORS)], "linestyle": line}
            settings |= {"drawstyle": "steps-pre"} | style
            self.lines_ += self.ax_.plot(t, steps, **settings)
        self.ax_.autoscale(axis="y")  # an earlier display has fixed the limits
        self.ax_.set_ylim(bottom=0)
        axis = "threshold t / top grade of the query" if self.relative else "threshold t"
        self._finish(axis, "AP with threshold t, mean", title)


class CutoffCurveDisplay(CurveDisplay):
    """Measures as functions of their cut-off, such as NDCG@n over n.

    Color distinguishes systems; line style and marker distinguish measures. The legend lists
    systems by descending value at the last cut-off.

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
        shape = len(self.measures), len(self.cutoffs)
        self.values: np.ndarray = _base.systems_first(values, "values", shape)
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

    def _draw(self, looks: dict[int, int], style: dict[str, Any]) -> None:
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
                self.lines_ += self.ax_.plot(self.cutoffs, self.values[s, i], **settings | style)
        self._tick_integers()
        side = labels[0] if len(labels) == 1 else "measure@n"
        self._finish("cut-off n", f"{side}, mean")
