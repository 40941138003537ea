"""Plots of measures as functions of a threshold or a cut-off."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import check_grades, column, whole_number
from skgraded._input.query_source import is_column, read_queries
from skgraded.display import _base
from skgraded.display._base import LINESTYLES, NamedDisplay, Style, documented, legend_name
from skgraded.display._systems import check_predictions, common_source, systems_first, systems_of
from skgraded.judgments import Judgments
from skgraded.measures import Measure, MuAP, curves
from skgraded.model_selection.scorer import check_response_method, document_scores
from skgraded.model_selection.split_queries import warn_of_split_queries

MARKERS = (".", "x", "^", "s", "+")  # five markers and eight colors give 40 combinations
MOST_SYSTEMS = 8  # maximum number of systems drawn by default
MOST_MARKED = 12  # maximum number of markers per curve


def _check_most(max_systems: int | None) -> int | None:
    return None if max_systems is None else whole_number(max_systems, "max_systems", 1)


class CurveDisplay(NamedDisplay):
    """Base class of plots with one or more curves per system."""

    from_predictions: Any

    @classmethod
    @documented
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        response_method: str | list[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Compute scores with fitted estimators, and plot the scores like `from_predictions`.

        Parameters
        ----------
        estimator : estimator, or mapping of str to estimator
            Fitted estimator, or several estimators by name.
        qid : array-like of shape (n,), str or int, optional
            Query id of each row, or a column of X by name or position. May be omitted if every
            estimator is a `QueryRanker` whose `qid` names the same column of X.
        response_method : {"predict", "decision_function", "predict_proba"} or a list, optional
            Method that returns the scores, as in `make_ranking_scorer`.
        **kwargs : dict
            Additional parameters of `from_predictions`.
        """
        cls._need_matplotlib("from_estimator")
        inspect.signature(cls.from_predictions).bind(y, X, **kwargs)  # refuses unknown parameters
        check_response_method(response_method)
        names, estimators = systems_of(estimator, name, "estimator")
        source = qid if is_column(qid) else None
        if qid is None and group is None:
            source = common_source(estimators)
        if source is not None:
            qid = read_queries(X, source)
        check_grades(y, "y", allow_nan=kwargs.get("unjudged_documents") is not None)
        judgments = Judgments(y, qid=qid, group=group, sample_weight=sample_weight)
        if group is None:
            for model in estimators:
                warn_of_split_queries(model, X, judgments, source)
        scores = {
            name: document_scores(model, X, response_method)
            for name, model in zip(names or [type(estimator).__name__], estimators, strict=True)
        }
        return cls.from_predictions(judgments, scores, ax=ax, **kwargs)

    @documented
    def plot(
        self,
        ax: Any = None,
        *,
        name: str | list[str] | None = None,
        max_systems: int | None = MOST_SYSTEMS,
        line_kw: Style = None,
    ) -> Self:
        """Draw the stored curves and return the display."""
        self._max_systems = _check_most(max_systems)
        return super().plot(ax, name=name, line_kw=line_kw)

    def _drawn_systems(self, heights: np.ndarray) -> tuple[Any, Any, Any]:
        """Return the systems to draw (highest first), their color indices, and a note or None."""
        drawn = _base.best_first(heights)[: self._max_systems].tolist()
        first = len(self.ax_.lines)  # curves of an earlier display
        # Colors are assigned in input order, so that a system has the same color in all displays.
        looks = {s: first + i for i, s in enumerate(sorted(drawn))}
        n = self._n_systems
        return drawn, looks, None if len(drawn) == n else f"best {len(drawn)} of {n} systems"


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
        Area under each curve, for the legend; the threshold axis is scaled to 1.
    name : str or list of str, optional
        Names of the systems.
    relative : bool, default=True
        Whether the thresholds are relative to the top grade of each query.
    n_queries : int, optional
        Number of queries.
    n_undefined : array-like of shape (n_thresholds,) of int, optional
        Number of queries without a document at or above each threshold.

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
    'list (area / 4 = μAP = 0.448)'
    """

    def __init__(
        self,
        thresholds: ArrayLike,
        average_precision: ArrayLike,
        *,
        mu_ap: ArrayLike | None = None,
        name: str | list[str] | None = None,
        relative: bool = True,
        n_queries: int | None = None,
        n_undefined: ArrayLike | None = None,
    ):
        self.thresholds: np.ndarray = column(thresholds, "thresholds")
        ends = np.concatenate(([0.0], self.thresholds, [np.inf]))
        if not (ends[1:] > ends[:-1]).all():
            raise ValueError(
                f"thresholds must be positive, finite and in ascending order; got {thresholds!r}."
            )
        self.average_precision: np.ndarray = systems_first(
            average_precision, "average_precision", (len(self.thresholds),)
        )
        n_systems = len(self.average_precision)
        self.mu_ap: np.ndarray | None = None
        if mu_ap is not None:
            self.mu_ap = column(np.atleast_1d(mu_ap), "mu_ap", n_systems, "average_precision")
        self.relative = relative
        super().__init__(name, n_systems, n_queries, n_undefined)

    @classmethod
    @documented
    def from_predictions(
        cls,
        y_true: ArrayLike | Judgments,
        y_score: ArrayLike | Mapping[str, ArrayLike],
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        unjudged_documents: str | None = None,
        name: str | None = None,
        ax: Any = None,
        ties: str = "average",
        undefined: float = 0.0,
        relative: bool = True,
        max_systems: int | None = MOST_SYSTEMS,
        line_kw: Style = None,
    ) -> Self:
        """Plot one curve per system, given the scores of one or more systems.

        Parameters
        ----------
        ties, undefined, relative
            As in `skgraded.measures.threshold_curve`. With ``relative=False``, areas are shown
            only for a single query, where they equal μAP · r_max.
        """
        cls._need_matplotlib("from_predictions")
        _check_most(max_systems)
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
        mu_ap = None
        if relative or judgments.n_queries == 1:
            mu_ap = [measure(judgments, values) for values in scores]
        thresholds = steps[0].thresholds
        return cls(
            thresholds,
            [curve.average_precision for curve in steps],
            mu_ap=mu_ap,
            name=names,
            relative=relative,
            n_queries=judgments.n_queries,
            n_undefined=curves.n_undefined_at(judgments, thresholds, relative),
        ).plot(ax=ax, max_systems=max_systems, line_kw=line_kw)

    def _draw(self, ax: Any, settings: Any, names: list[str] | None) -> None:
        self._take_axes(ax)
        heights = self.average_precision[:, 0] if self.mu_ap is None else self.mu_ap
        drawn, looks, title = self._drawn_systems(heights)
        t = np.concatenate(([0.0], self.thresholds))
        self.lines_: list[Any] = []
        for s in drawn:
            # Each marker is placed at the right end of its step, so there is no marker at t = 0.
            style = {
                "label": self._label(s, names, len(drawn)),
                "color": self._color(looks[s]),
                "linestyle": LINESTYLES[looks[s] % len(LINESTYLES)],
                "drawstyle": "steps-pre",
                "markevery": slice(1, None),
            }
            values = self.average_precision[s]
            steps = np.concatenate((values[:1], values))
            self.lines_ += self.ax_.plot(t, steps, **style | settings)
        self._fit_height(zero=True)
        if self.mu_ap is not None and len(drawn) > 1:
            title = f"{title or 'system'} (area = μMAP)"
        axis = "threshold t / top grade of the query" if self.relative else "threshold t"
        counted = self._counted_queries()
        side = "MAP with threshold t" if counted else "AP with threshold t"
        self._write_around([axis, counted], side, title)

    def _label(self, s: int, names: list[str] | None, n_drawn: int) -> str | None:
        name = None if names is None else legend_name(names[s])
        if self.mu_ap is None:
            return name
        if n_drawn > 1 and name is not None:
            return f"{name} ({self.mu_ap[s]:.3f})"
        width = "" if self.relative else f" / {self.thresholds[-1]:g}"
        measure = "μAP" if self.n_queries == 1 else "μMAP"
        area = f"area{width} = {measure} = {self.mu_ap[s]:.3f}"
        return area if name is None else f"{name} ({area})"


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
    n_queries : int, optional
        Number of queries.
    n_undefined : array-like of shape (n_measures,) of int, optional
        Number of queries for which each measure is undefined.

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
        n_queries: int | None = None,
        n_undefined: ArrayLike | None = None,
    ):
        self.cutoffs: np.ndarray = curves.check_cutoffs(cutoffs)
        self.measures = [measures] if isinstance(measures, str) else list(measures)
        shape = len(self.measures), len(self.cutoffs)
        self.values: np.ndarray = systems_first(values, "values", shape)
        super().__init__(name, len(self.values), n_queries, n_undefined)

    @classmethod
    @documented
    def from_predictions(
        cls,
        y_true: ArrayLike | Judgments,
        y_score: ArrayLike | Mapping[str, ArrayLike],
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        unjudged_documents: str | None = None,
        name: str | None = None,
        ax: Any = None,
        ties: str | None = None,
        measures: str | Measure | Iterable[str | Measure] | None = None,
        cutoffs: ArrayLike | None = None,
        max_systems: int | None = MOST_SYSTEMS,
        line_kw: Style = None,
    ) -> Self:
        """Plot one curve per system and measure, given the scores of one or more systems.

        Parameters
        ----------
        measures : Measure, str, or list of these, optional
            Measures without a cut-off. By default NDCG and NDCNG for one system, and NDCNG for
            several systems.
        ties, cutoffs
            As in `skgraded.measures.cutoff_curve`.
        """
        cls._need_matplotlib("from_predictions")
        _check_most(max_systems)
        if measures is None:
            has_several = isinstance(y_score, Mapping) and len(y_score) > 1
            measures = ["ndcng"] if has_several else ["ndcg", "ndcng"]
        uncut = curves.without_cutoff(measures, ties)
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
            n_queries=judgments.n_queries,
            n_undefined=[measure.n_undefined(judgments) for measure in uncut],
        ).plot(ax=ax, max_systems=max_systems, line_kw=line_kw)

    def _draw(self, ax: Any, settings: Any, names: list[str] | None) -> None:
        from matplotlib.ticker import MaxNLocator

        self._take_axes(ax)
        drawn, looks, title = self._drawn_systems(self.values[:, 0, -1])
        self.lines_: list[Any] = []
        for s in drawn:
            for i, values in enumerate(self.values[s]):
                label = self._label(names, s, i)
                style = {"label": label, **self._look(looks[s], i), **settings}
                self.lines_ += self.ax_.plot(self.cutoffs, values, **style)
        locator = self.ax_.xaxis.get_major_locator()
        if isinstance(locator, MaxNLocator):  # else the user has set the ticks
            locator.set_params(integer=True)
        if title is not None:
            title += f" by {self.measures[0]}@{self.cutoffs[-1]}"
        side = f"{self.measures[0]}@n" if len(self.measures) == 1 else "measure@n"
        counted = self._counted_queries()
        side = f"{side}, mean" if counted else side
        self._fit_height()
        self._write_around(["cut-off n", counted], side, title)

    def _look(self, system: int, i: int) -> dict[str, Any]:
        """Return the color, line style and marker of the curve for measure i of a system."""
        color = system + i if len(self.values) == 1 else system
        look = system if len(self.measures) == 1 else i  # determines the line style
        marker = look + (system // 8 if len(self.measures) > 1 else 0)
        step = -(-len(self.cutoffs) // MOST_MARKED)
        return {
            "color": self._color(color),
            "linestyle": LINESTYLES[look % len(LINESTYLES)],
            "marker": MARKERS[marker % len(MARKERS)],
            "markersize": 5,
            "markevery": (system * step // 3 % step, step),
        }

    def _label(self, names: list[str] | None, s: int, i: int) -> str:
        measure = f"{self.measures[i]}@n"
        if names is None:
            return measure
        name = legend_name(names[s])
        return name if len(self.measures) == 1 else f"{name}, {measure}"
