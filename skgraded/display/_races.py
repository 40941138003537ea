"""Plot of a racing search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded.display._base import Display, Style, documented
from skgraded.display._systems import as_names, check_made_by, check_shape
from skgraded.measures import as_measures
from skgraded.writing.text import percent_text

if TYPE_CHECKING:
    from skgraded.model_selection.racing import RacingSearchCV


class RacingDisplay(Display):
    r"""The folds of each candidate of a racing search, and its difference to the leader.

    Each row is a candidate. Survivors come first, the highest mean on top. The left panel shows
    for how many folds a candidate was evaluated; a cross marks the end of a dropped candidate. The
    right panel shows the mean difference to the leader on these folds, with its interval.

    Parameters
    ----------
    n_folds : array-like of shape (n_candidates,) of int
        Number of folds of each candidate.
    difference, low, high : array-like of shape (n_candidates,)
        Mean difference to the leader, and the ends of its interval; nan before a first comparison.
    survives : array-like of shape (n_candidates,) of bool
        Whether the candidate was not dropped.
    measure : str
        Name of the measure.
    name : list of str, optional
        Names of the candidates; by default, their positions.
    margin : float, default=0.0
        Difference that does not matter, drawn as a second vertical line.
    level : float, optional
        Level of the intervals.

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        The folds of each candidate, from the top row to the bottom row.
    intervals_ : matplotlib.collections.LineCollection
        The intervals, in the same order.
    difference_ax_ : matplotlib.axes.Axes
        The right panel; `ax_`, the left panel, is reduced to half of its width.

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> display = sg.RacingDisplay(
    ...     [10, 3], [0, -0.2], [0, -0.3], [0, -0.1], survives=[True, False], measure="NDCNG@10")
    >>> display.plot(ax=Figure().subplots()).difference_ax_.get_xlabel()
    'NDCNG@10: difference\nto the leader'
    """

    def __init__(
        self,
        n_folds: ArrayLike,
        difference: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        *,
        survives: ArrayLike,
        measure: str,
        name: list[str] | None = None,
        margin: float = 0.0,
        level: float | None = None,
    ):
        self.n_folds = np.asarray(n_folds, dtype=int)
        self.difference, self.low, self.high = (
            np.asarray(values, dtype=float) for values in (difference, low, high)
        )
        self.survives = np.asarray(survives, dtype=bool)
        if not self.n_folds.size:
            raise ValueError("n_folds must contain at least one candidate.")
        for argument in ("difference", "low", "high", "survives"):
            rule = f"The shape of {argument} must match the shape of n_folds, {self.n_folds.shape}"
            check_shape(getattr(self, argument), self.n_folds.shape, rule)
        self.measure, self.margin, self.level = measure, margin, level
        positions = [str(i) for i in range(len(self.n_folds))]
        self.name = as_names(name, len(positions)) or positions

    @classmethod
    @documented
    def from_search(cls, search: RacingSearchCV, *, ax: Any = None, line_kw: Style = None) -> Self:
        """Plot the candidates of a fitted search.

        Parameters
        ----------
        search : RacingSearchCV
            Fitted search. Rows are named after the positions in ``search.cv_results_["params"]``.
        """
        from skgraded.model_selection.racing import RacingSearchCV

        cls._need_matplotlib("from_search")
        check_made_by("RacingSearchCV.fit", search, RacingSearchCV, "search")
        frame = search.to_frame()
        return cls(
            frame["n_folds"],
            frame["difference"],
            frame["ci_low"],
            frame["ci_high"],
            survives=frame["survives"],
            measure=as_measures(search.measure)[0].name,
            margin=search.margin,
            level=search.level,
        ).plot(ax=ax, line_kw=line_kw)

    @documented
    def plot(self, ax: Any = None, *, line_kw: Style = None) -> Self:
        """Draw the stored values and return the display."""
        return self._plot(ax, line_kw=line_kw)

    def _draw(self, ax: Any, settings: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        order = np.lexsort((-np.nan_to_num(self.difference), -self.n_folds, ~self.survives))
        self._take_rows(ax, [self.name[i] for i in order])
        place = self.ax_.get_subplotspec()
        if place is None:
            raise ValueError("ax must have been created by subplots or add_subplot.")
        left, right = place.subgridspec(1, 2)
        self.ax_.set_subplotspec(left)
        self.difference_ax_ = self.figure_.add_subplot(right, sharey=self.ax_)
        self.difference_ax_.tick_params(labelleft=False)
        self.lines_: list[Any] = []
        for y, i in enumerate(order):
            style = {
                "color": self._color(0 if self.survives[i] else 1),
                "markevery": [1],
                "marker": "o" if self.survives[i] else "x",
            }
            self.lines_ += self.ax_.plot([0, self.n_folds[i]], [y, y], **style | settings)
        colors = [line.get_color() for line in self.lines_]
        rows = np.arange(len(order))
        self.intervals_ = self.difference_ax_.hlines(
            rows, self.low[order], self.high[order], colors=colors
        )
        self.difference_ax_.scatter(self.difference[order], rows, s=16, c=colors, zorder=3)
        for x in {0.0, self.margin}:
            self.difference_ax_.axvline(x, color=self._ink, linewidth=0.8, zorder=1)
        self.ax_.set_xlim(0, 1.04 * self.n_folds.max())
        self._whole_ticks()
        self.difference_ax_.xaxis.set_major_locator(MaxNLocator(4))
        self.ax_.set_ylabel("candidate")
        self.ax_.set_xlabel("folds")
        intervals = "" if self.level is None else f"\n{percent_text(self.level)} intervals"
        self.difference_ax_.set_xlabel(f"{self.measure}: difference\nto the leader{intervals}")
        self._fit_names()
