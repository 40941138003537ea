"""Curves of measures over a threshold or a cut-off, in scikit-learn's Display form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.columns import column
from skgraded.display._base import NamedDisplay, colors_of, documented, legend_name
from skgraded.display._systems import judged, systems_first
from skgraded.judgments import Judgments
from skgraded.measures import Measure, MuAP, curves

LINESTYLES = ("-", "--", "-.", ":")
MARKERS = (".", "x", "^", "s", "+")  # five, which with four line styles make twenty looks


class ThresholdCurveDisplay(NamedDisplay):
    r"""Average precision AP^t over the threshold t; the area under it is μAP.

    A document is relevant if its grade is at least t. AP^t of a query is constant between two of
    its grades, so the curve is a step function, drawn as it is. μAP is the mean of AP^t over t
    uniform in (0, r_max], r_max the top grade of the query (Scheel et al. 2011, eq. 4): with
    t / r_max on the axis, the area under a query's curve is its μAP, and the area under the mean
    curve of many queries is μMAP.

    Make it by `from_predictions` or `from_estimator`.

    Parameters
    ----------
    thresholds : array-like of shape (n_thresholds,)
        Ascending, above 0: the right ends of the steps, of which the first begins at 0.
    average_precision : array-like of shape (n_systems, n_thresholds) or (n_thresholds,)
        Mean AP^t of each step.
    mu_ap : array-like of shape (n_systems,) or float, optional
        The area under each curve for the legend, the axis scaled to 1.
    name : str or list of str, optional
        A name a system.
    relative : bool, default=True
        Whether the thresholds are relative to the top grade of each query.
    n_queries, n_undefined : int and array-like of shape (n_thresholds,) of int, optional
        How many queries there are, and how many have no document at the threshold or above.

    Attributes
    ----------
    thresholds, average_precision, mu_ap, name, relative, n_queries, n_undefined
        As given; `average_precision` has two dimensions, and `mu_ap` and `name`, unless None, an
        element a system.
    lines_ : list of matplotlib.lines.Line2D
        A line a system.
    ax_, figure_ : matplotlib.axes.Axes, matplotlib.figure.Figure

    Examples
    --------
    Ranked grades 1 0 3 3 2 0 1 4, table 1 of the paper, in a figure that needs no screen:

    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> y_true, y_score = [1, 0, 3, 3, 2, 0, 1, 4], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> display = sg.ThresholdCurveDisplay.from_predictions(
    ...     y_true, y_score, relative=False, name="list", ax=Figure().subplots())
    >>> display.thresholds, display.average_precision[0].round(3)
    (array([1., 2., 3., 4.]), array([0.78 , 0.483, 0.403, 0.125]))
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
            raise ValueError(f"thresholds must be finite, above 0 and ascend; got {thresholds!r}.")
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
        name: str | None = None,
        ax: Any = None,
        ties: str = "average",
        undefined: float = 0.0,
        relative: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a system's scores, or one of each of several systems.

        Parameters
        ----------
        ties, undefined, relative
            As for `skgraded.measures.threshold_curve`. With ``relative=False`` only the curve of
            one query has an area that is known: μAP · r_max.
        """
        cls._need_matplotlib("from_predictions")
        measure = MuAP(ties=ties, undefined=undefined)
        judgments, names, scores = judged(
            y_true, y_score, name, qid=qid, group=group, sample_weight=sample_weight
        )
        settings: Any = {"ties": ties, "undefined": undefined, "relative": relative}
        steps = [curves.threshold_curve(judgments, values, **settings) for values in scores]
        mu_ap = None
        if relative or judgments.n_queries == 1:
            mu_ap = [measure(judgments, values) for values in scores]
        thresholds = steps[0].thresholds
        return cls(
            thresholds, [curve.average_precision for curve in steps], mu_ap=mu_ap, name=names,
            relative=relative, n_queries=judgments.n_queries,
            n_undefined=curves.n_undefined_at(judgments, thresholds, relative),
        ).plot(ax=ax, **kwargs)

    def _draw(self, ax, settings, names):
        n = len(self.average_precision)
        self._take_axes_for(ax, n)
        t = np.concatenate(([0.0], self.thresholds))
        self.lines_: list[Any] = []
        for i, (values, color) in enumerate(zip(self.average_precision, colors_of(n), strict=True)):
            # A marker is the right end of its step, so there is none at t = 0.
            style = {
                "label": self._label(i, names), "linestyle": LINESTYLES[i % len(LINESTYLES)],
                "color": color, "drawstyle": "steps-pre", "markevery": slice(1, None), **settings,
            }
            self.lines_ += self.ax_.plot(t, np.concatenate((values[:1], values)), **style)
        self.ax_.set_ylim(-0.02, 1.02)
        self._name_axes(
            "threshold t / top grade of the query" if self.relative else "threshold t",
            "MAP with threshold t" if self._counted_queries() else "AP with threshold t",
        )

    def _label(self, i, names):
        name = None if names is None else legend_name(names[i])
        if self.mu_ap is None:
            return name
        width = "" if self.relative else f" / {self.thresholds[-1]:g}"
        measure = "μAP" if self.n_queries == 1 else "μMAP"
        area = f"area{width} = {measure} = {self.mu_ap[i]:.3f}"
        return area if name is None else f"{name} ({area})"


class CutoffCurveDisplay(NamedDisplay):
    """Measures over their cut-off: NDCG@n and NDCNG@n over n, or others that have one.

    Make it by `from_predictions` or `from_estimator`. Measures are told apart by line style and
    marker, several systems by colour, by one measure by line style and marker too; of a single
    system each measure has a colour of its own. A legend of more than eight lines stands beside
    the axes: a figure of your own needs room for it, or ``layout="constrained"``.

    Parameters
    ----------
    cutoffs : array-like of shape (n_cutoffs,) of int
        Ascending, from 1.
    values : array-like of shape (n_systems, n_measures, n_cutoffs)
        Mean values. Leading axes of length 1 may be left out.
    measures : list of str
        Names of the measures without their cut-off.
    name : str or list of str, optional
        A name a system.
    n_queries, n_undefined : int and array-like of shape (n_measures,) of int, optional
        How many queries there are, and how many have no value by each measure.

    Attributes
    ----------
    cutoffs, values, measures, name, n_queries, n_undefined
        As given; `values` has three dimensions, and `name`, unless None, an element a system.
    lines_ : list of matplotlib.lines.Line2D
        System by system, a line a measure.
    ax_, figure_ : matplotlib.axes.Axes, matplotlib.figure.Figure

    Examples
    --------
    Ranked grades 1 0 3 3 2 0 1 4, table 2 of the paper, in a figure that needs no screen:

    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> y_true, y_score = [1, 0, 3, 3, 2, 0, 1, 4], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> display = sg.CutoffCurveDisplay.from_predictions(
    ...     y_true, y_score, ax=Figure().subplots())
    >>> [line.get_label() for line in display.lines_]
    ['NDCG@n', 'NDCNG@n']
    >>> display.values[0].round(2)
    array([[0.07, 0.05, 0.2 , 0.31, 0.35, 0.35, 0.36, 0.55],
           [0.19, 0.13, 0.3 , 0.42, 0.49, 0.47, 0.5 , 0.65]])
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
        name: str | None = None,
        ax: Any = None,
        ties: str | None = None,
        measures: str | Measure | Iterable[str | Measure] = ("ndcg", "ndcng"),
        cutoffs: ArrayLike | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curves of a system's scores, or those of each of several systems.

        Parameters
        ----------
        ties, measures, cutoffs
            As for `skgraded.measures.cutoff_curve`.
        """
        cls._need_matplotlib("from_predictions")
        uncut = curves.without_cutoff(measures, ties)
        judgments, names, scores = judged(
            y_true, y_score, name, qid=qid, group=group, sample_weight=sample_weight
        )
        points = [
            curves.cutoff_curve(judgments, values, measures=uncut, cutoffs=cutoffs)
            for values in scores
        ]
        return cls(
            points[0].cutoffs, [curve.values for curve in points],
            measures=[measure.name for measure in uncut], name=names,
            n_queries=judgments.n_queries,
            n_undefined=[measure.n_undefined(judgments) for measure in uncut],
        ).plot(ax=ax, **kwargs)

    def _draw(self, ax, settings, names):
        n_systems, n_measures = self.values.shape[:2]
        self._take_axes_for(ax, n_systems * n_measures)
        from matplotlib.ticker import MaxNLocator

        self.lines_: list[Any] = []
        for s, color in enumerate(colors_of(n_systems)):
            for i, values in enumerate(self.values[s]):
                look = s if n_measures == 1 else i  # line style and marker
                style = {
                    "label": self._label(names, s, i), "color": color, "markersize": 5,
                    "linestyle": LINESTYLES[look % len(LINESTYLES)],
                    "marker": MARKERS[look % len(MARKERS)], **settings,
                }
                self.lines_ += self.ax_.plot(self.cutoffs, values, **style)
                if n_systems > 1:
                    color = self.lines_[-1].get_color()
        locator = self.ax_.xaxis.get_major_locator()
        if isinstance(locator, MaxNLocator):  # else the ticks are the user's
            locator.set_params(integer=True)
        shown = f"{self.measures[0]}@n" if n_measures == 1 else "measure@n"
        self._name_axes("cut-off n", f"{shown}, mean" if self._counted_queries() else shown)

    def _label(self, names, s, i):
        measure = f"{self.measures[i]}@n"
        if names is None:
            return measure
        name = legend_name(names[s])
        return name if len(self.measures) == 1 else f"{name}, {measure}"
