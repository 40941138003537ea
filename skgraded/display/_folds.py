"""Folds of a cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.columns import column, whole_number
from skgraded._input.words import plural
from skgraded.display._base import BLUE, SIDE, Display, low_to_high, need_matplotlib, wrapped
from skgraded.display._docs import documented
from skgraded.display._systems import check_made_by
from skgraded.measures import Measure
from skgraded.reports.cross_evaluation import CrossEvaluation, fold_means
from skgraded.reports.evaluation import evaluated_name


class FoldDisplay(Display):
    """Values by query in each fold of a cross-validation, with the mean over all queries.

    A box holds the middle half of the fold's queries, its line is the median, and its whiskers
    reach from the 5th to the 95th percentile. Points are the means of the folds. The dashed line
    is the mean over all queries, the band its interval: folds share most of their training data,
    so their means have no interval that would hold.

    Make it by `from_cross_evaluation`.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        nan: left out.
    fold : array-like of shape (n_queries,) of int
        The fold of each query, from 0.
    fold_means : array-like of shape (n_folds,)
        nan: none.
    measure : str
        Its name.
    mean : float, optional
        Over all queries.
    interval : (float, float), optional
        That of `mean`.
    level : float, optional
        That of the interval.

    Attributes
    ----------
    values, fold, fold_means, measure, mean, interval, level
        As given.
    boxes_ : list of matplotlib.patches.PathPatch
        A box a fold.
    points_ : matplotlib.lines.Line2D
        The means of the folds.
    mean_line_ : matplotlib.lines.Line2D or None
    interval_ : matplotlib.patches.Patch or None
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> from sklearn.linear_model import Ridge
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=30, random_state=0)
    >>> cv = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, qid=qid, cv=3)
    >>> display = sg.FoldDisplay.from_cross_evaluation(cv, ax=Figure().subplots())
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('fold, 10 queries each', 'NDCNG@10')
    >>> display.fold_means.round(3).tolist() == cv.by_fold()["NDCNG@10"].round(3).tolist()
    True
    """

    values: np.ndarray
    fold_means: np.ndarray
    mean: float | None
    interval: tuple[float, float] | None
    level: float | None
    fold: np.ndarray
    measure: str
    boxes_: list[Any]
    points_: Any

    def __init__(
        self,
        values: ArrayLike,
        fold: ArrayLike,
        fold_means: ArrayLike,
        *,
        measure: str,
        mean: float | None = None,
        interval: tuple[float, float] | None = None,
        level: float | None = None,
    ):
        self.values = column(values, "values")
        self.fold_means = column(fold_means, "fold_means")
        folds = column(fold, "fold", len(self.values), "values").tolist()
        self.fold = np.array([whole_number(one, "fold", 0) for one in folds])
        if self.fold.max() >= len(self.fold_means):
            raise ValueError(
                f"fold has {self.fold.max()}, but fold_means only the folds 0 to "
                f"{len(self.fold_means) - 1}."
            )
        self.measure = measure
        self.mean, self.interval, self.level = mean, interval, level

    @classmethod
    @documented
    def from_cross_evaluation(
        cls,
        cross_evaluation: CrossEvaluation,
        *,
        measure: str | Measure | None = None,
        level: float = 0.95,
        method: str = "t",
        n_resamples: int = 9999,
        rng: int | np.random.Generator | None = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> FoldDisplay:
        """Draw the folds of a cross-evaluation.

        Queries without a value are left out, and those of weight 0; boxes know no weights.

        Parameters
        ----------
        cross_evaluation : CrossEvaluation
            As `cross_evaluate` makes it.
        """
        need_matplotlib(f"{cls.__name__}.from_cross_evaluation")
        check_made_by("cross_evaluate", cross_evaluation, CrossEvaluation, "cross_evaluation")
        cv = cross_evaluation
        name = evaluated_name(measure, list(cv.per_query))
        query, fold, by_measure = cv.all_tests()
        values = by_measure[name]
        if cv.weights is not None:
            values = np.where(cv.weights[query] > 0, values, np.nan)
        intervals = cv.confidence_interval(
            level, method=method, n_resamples=n_resamples, rng=rng
        )
        display = cls(
            values, fold, [means[name] for means in fold_means(cv)], measure=name,
            mean=cv.mean()[name], interval=intervals[name], level=level,
        )
        return display.plot(ax=ax, **kwargs)

    def _draw(self, ax, settings):
        self._take_axes(ax, layout="constrained")
        ax = self.ax_
        defined = ~np.isnan(self.values)
        places = range(len(self.fold_means))
        by_fold: list = [self.values[defined & (self.fold == i)] for i in places]
        style = {
            "positions": places, "whis": (5, 95), "showfliers": False, "patch_artist": True,
            "widths": 0.6, "manage_ticks": False, "boxprops": {"facecolor": (self._ink, 0.1)},
            "medianprops": {"color": self._ink},
        }
        self.boxes_ = ax.boxplot(by_fold, **{**style, **settings})["boxes"]
        self.boxes_[0].set_label("half of the queries; whiskers: 90 %")
        (self.points_,) = ax.plot(
            places, self.fold_means, linestyle="none", marker="D", color=BLUE,
            label="mean of the fold",
        )
        self._draw_mean("mean of all")
        ax.set(xlim=(-0.6, len(places) - 0.4), ylabel=wrapped(self.measure, SIDE))
        ax.set_xlabel(f"fold, {_sizes(by_fold, int((~defined).sum()))}")
        self._whole_ticks()
        self._fit_height()
        self._legend_above()


def _sizes(by_fold, n_left_out):
    sizes = [len(values) for values in by_fold]
    text = f"{low_to_high(sizes)} {plural(max(sizes), 'query', 'queries')} each"
    return text + (f", {n_left_out:,} left out" if n_left_out else "")
