"""Plot of the folds of a cross-validation."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from skgraded._input.columns import column, whole_number
from skgraded._input.words import plural
from skgraded.display import _base
from skgraded.display._base import Display, Style, documented
from skgraded.display._systems import as_names, check_made_by, systems_of
from skgraded.measures import Measure
from skgraded.reports.evaluation import CrossEvaluation, all_tests, fold_means
from skgraded.reports.report import evaluated_name
from skgraded.writing.text import fixed

MOST_BOXES = 4  # maximum number of models drawn, the best first


class FoldDisplay(Display):
    r"""Per-query values in each fold of a cross-validation, with the mean over all queries.

    Each box spans the middle 50 % of a fold's queries, with a line at the median and whiskers at
    the 5th and 95th percentiles. Points are the means of the folds. The dashed line is the mean
    over all queries, and the band is its interval. Fold means have no interval, because folds share
    most of their training data.

    The best four models at most are drawn side by side in each fold, the best model first.

    Parameters
    ----------
    values : array-like of shape (n_queries,), or list of array-like
        Per-query values; nan is ignored. For several models, a list with one element per model.
    fold : array-like of shape (n_queries,) of int, or list of array-like
        Fold of each query, counted from 0.
    fold_means : array-like of shape (n_folds,), or list of array-like
        Means of the folds; nan if a fold has no mean.
    measure : str
        Name of the measure.
    name : str or list of str, optional
        Name of the model. Several models require names.
    mean, interval, level : float, (float, float) and float, optional
        Mean over all queries, its interval, and the level of the interval. For several models,
        lists of means and intervals.

    Attributes
    ----------
    boxes_ : list of matplotlib.patches.PathPatch
        One box per fold for each model, the best model first.
    points_, mean_line_ : matplotlib.lines.Line2D, or list of Line2D
        Means of the folds, and the mean over all queries (None if it is unknown). For several
        models, lists with the best model first.
    interval_ : matplotlib.patches.Patch or None
        None for several models.

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> from sklearn.linear_model import Ridge
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=30, random_state=0)
    >>> cv = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, qid=qid, cv=3)
    >>> display = sg.FoldDisplay.from_cross_evaluation(cv, ax=Figure().subplots())
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('fold\n10 queries each', 'NDCNG@10')
    """

    def __init__(
        self, values: Any, fold: Any, fold_means: Any, *, measure: str,
        name: str | list[str] | None = None, mean: Any = None, interval: Any = None,
        level: float | None = None,
    ):
        self._several = not isinstance(name, str) and name is not None
        columns = (values, fold, fold_means) if self._several else ([values], [fold], [fold_means])
        n, *others = map(len, columns)
        if others != [n, n] or n == 0:
            raise ValueError(
                "values, fold and fold_means must each have one element per model, and at least "
                f"one; got lengths {n}, {others[0]} and {others[1]}."
            )
        self._models = [_checked(*model) for model in zip(*columns, strict=True)]
        self.values, self.fold, self.fold_means = (
            list(column) if self._several else column[0]
            for column in zip(*self._models, strict=True)
        )
        self.name = as_names(name, n)
        self.measure = measure
        self.mean, self.interval, self.level = mean, interval, level

    @classmethod
    @documented
    def from_cross_evaluation(
        cls, cross_evaluation: CrossEvaluation | Mapping[str, CrossEvaluation], *,
        measure: str | Measure | None = None, level: float = 0.95, method: str = "t",
        n_resamples: int = 9999, rng: int | np.random.Generator | None = 0, ax: Any = None,
        box_kw: Style = None,
    ) -> Self:
        """Plot the folds of one or more cross-evaluations.

        Queries without a value and queries with weight 0 are excluded. Boxes ignore other weights.
        """
        cls._need_matplotlib("from_cross_evaluation")
        names, reports = systems_of(cross_evaluation, None, "cross_evaluation")
        for report in reports:
            check_made_by("cross_evaluate", report, CrossEvaluation, "cross_evaluation")
        shown = evaluated_name(measure, list(reports[0].per_query))
        settings = {"method": method, "n_resamples": n_resamples, "rng": rng}
        models: list[Any] = [_parts_of(report, shown, level, settings) for report in reports]
        values, fold, means, mean, interval = (
            list(part) if names else part[0] for part in zip(*models, strict=True)
        )
        return cls(
            values, fold, means, measure=shown, name=names, mean=mean, interval=interval,
            level=level,
        ).plot(ax=ax, box_kw=box_kw)

    @documented
    def plot(self, ax: Any = None, *, box_kw: Style = None) -> Self:
        """Draw the stored values and return the display."""
        return self._plot(ax, box_kw=box_kw)

    def _draw(self, ax: Any, settings: Any) -> None:
        n = len(self._models)
        means = np.full(n, np.nan) if self.mean is None else np.array(self.mean, float, ndmin=1)
        order = _base.best_first(means).tolist()[:MOST_BOXES]
        by_fold = [
            [values[(fold == at) & ~np.isnan(values)] for at in range(len(of_folds))]
            for values, fold, of_folds in self._models
        ]
        sizes = [len(values) for folds in by_fold for values in folds]
        counted = f"{_base.low_to_high(sizes)} {plural(max(sizes), 'query', 'queries')} each"
        n_left_out = max(int(np.isnan(values).sum()) for values, _, _ in self._models)
        if n_left_out:
            counted += f", {n_left_out:,} left out"
        self.boxes_: list[Any] = []
        self.points_: Any = []
        self.mean_line_: Any = []
        self.interval_: Any = None
        n_folds = max(map(len, by_fold))
        if n > MOST_BOXES:
            counted += f"; best {MOST_BOXES} of {n} models"
        self._take_axes(ax)
        self._draw_boxes(by_fold, settings, order, means)
        self.ax_.set_xlim(-0.6, n_folds - 0.4)
        self._whole_ticks()
        self._fit_height()
        self._write_around(["fold", counted], self.measure)

    def _draw_boxes(
        self, by_fold: list[list[np.ndarray]], settings: Any, order: Sequence[int],
        means: np.ndarray
    ) -> None:
        """Draw one box per fold for each model, side by side."""
        from matplotlib.colors import to_rgba

        n, several = len(order), self._several
        width = 0.8 / n if several else 2 / 3
        for place, i in enumerate(order):
            places = np.arange(len(by_fold[i])) + (place - (n - 1) / 2) * width
            color = self._color(i)
            line = {"color": color if several else self._ink}
            face = to_rgba(line["color"], 0.3 if several else 0.1)
            style = {
                "positions": places, "whis": (5, 95), "showfliers": False, "patch_artist": True,
                "widths": 0.9 * width, "manage_ticks": False, "medianprops": line,
                "boxprops": {"facecolor": face, "edgecolor": line["color"]},
                "whiskerprops": line, "capprops": line,
            }
            self.boxes_ += self.ax_.boxplot(by_fold[i], **style | settings)["boxes"]
            self.points_ += self.ax_.plot(
                places, self._models[i][2], linestyle="none", marker="D", color=color,
                label=self._label(i) if several else "mean of the fold", markersize=6 - n / 4,
            )
            if several:
                self.mean_line_.append(
                    None if np.isnan(means[i])
                    else self.ax_.axhline(means[i], color=color, linestyle="--", linewidth=1)
                )
        if not several:
            (self.points_,) = self.points_
            self.boxes_[0].set_label("half of the queries; whiskers: 90 %")
            self.mean_line_, self.interval_ = self._draw_mean(
                "mean of all", self.mean, self.interval, self.level
            )

    def _label(self, i: int) -> str:
        """Return a label with the name, mean and interval of a model."""
        text = _base.legend_name(self.name[i])
        if self.mean is None:
            return text
        text += f": mean {fixed(self.mean[i], 3)}"
        if self.interval is not None and not np.isnan(self.interval[i]).any():
            text += " ({} to {})".format(*(fixed(end, 3) for end in self.interval[i]))
        return text


def _checked(values: Any, fold: Any, fold_means: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the values, folds and fold means of a model as arrays, after checking them."""
    values, fold_means = column(values, "values"), column(fold_means, "fold_means")
    folds = column(fold, "fold", len(values), "values").tolist()
    places = np.array([whole_number(place, "fold", 0) for place in folds])
    if places.max() >= len(fold_means):
        raise ValueError(
            f"fold contains {places.max()}, but fold_means contains only folds 0 to "
            f"{len(fold_means) - 1}."
        )
    return values, places, fold_means


def _parts_of(cv: CrossEvaluation, name: str, level: float, settings: Any) -> tuple[Any, ...]:
    """Return per-query values, folds, fold means, and the overall mean with its interval."""
    evaluated_name(name, list(cv.per_query))
    query, fold, by_measure = all_tests(cv)
    values = by_measure[name]
    if cv.weights is not None:
        values = np.where(cv.weights[query] > 0, values, np.nan)
    means = [by_name[name] for by_name in fold_means(cv)]
    return values, fold, means, cv.mean()[name], cv.confidence_interval(level, **settings)[name]
