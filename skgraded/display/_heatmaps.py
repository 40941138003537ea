"""Mean differences of all pairs of systems, shaded."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded.display._base import Display, documented, wrapped, wrapped_name
from skgraded.display._systems import as_names, check_comparison
from skgraded.measures import Measure
from skgraded.reports.comparison import Comparison
from skgraded.reports.evaluation import evaluated_name
from skgraded.writing.text import signed

MOST_SYSTEMS = 40  # that are drawn
MOST_WRITTEN = 25  # systems up to which the cells contain numbers


class DifferenceHeatmapDisplay(Display):
    """Mean differences of all pairs of systems as a heat map.

    A cell is the mean of the row's system less that of the column's: blue where the row's is
    better, red where it is worse. Pairs that the test tells apart are bold and have a star. Columns
    have the numbers of the rows. Of more than 40 systems the first 40 are drawn; of more than
    25 the numbers are left out, and a dot stands for the star.

    Make it by `from_comparison`.

    Parameters
    ----------
    differences : array-like of shape (n_systems, n_systems)
        nan: not known.
    told_apart : array-like of shape (n_systems, n_systems), optional
        1 where the test tells the two systems apart, else 0 or nan.
    name, measure : list of str, str
        The names of the systems and of the measure.

    Attributes
    ----------
    differences, told_apart, name, measure
        As given.
    image_ : matplotlib.image.AxesImage
    texts_ : list of matplotlib.text.Text
        Row by row, of the cells that have one.
    ax_, figure_ : matplotlib.axes.Axes, matplotlib.figure.Figure

    Examples
    --------
    >>> import skgraded as sg
    >>> from matplotlib.figure import Figure
    >>> X, y, qid = sg.datasets.make_ranking(n_queries=60, random_state=0)
    >>> evaluations = {
    ...     f"feature {i}": sg.evaluate(y, X[:, i], qid=qid, measures="ap") for i in range(3)}
    >>> display = sg.DifferenceHeatmapDisplay.from_comparison(
    ...     sg.compare(evaluations, rng=0), ax=Figure().subplots())
    >>> display.name, [text.get_text() for text in display.texts_[:2]]
    (['feature 1', 'feature 0', 'feature 2'], ['+.095*', '+.135*'])
    """

    def __init__(
        self,
        differences: ArrayLike,
        told_apart: ArrayLike | None = None,
        *,
        name: list[str],
        measure: str,
    ):
        self.differences = np.asarray(differences, dtype=float)
        n, shape = len(self.differences), self.differences.shape
        if shape != (n, n) or n == 0:
            raise ValueError(
                f"differences must have the shape (n_systems, n_systems); got {shape}."
            )
        self.told_apart = None if told_apart is None else np.asarray(told_apart, dtype=float)
        if self.told_apart is not None and self.told_apart.shape != (n, n):
            raise ValueError(
                f"told_apart must have the shape {(n, n)} of differences; got "
                f"{self.told_apart.shape}."
            )
        self.name, self.measure = as_names(name, n), measure

    @classmethod
    @documented
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        measure: str | Measure | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the mean differences of all pairs of a comparison, the best system first.

        With a baseline only its pairs are tested, and marked.
        """
        cls._need_matplotlib("from_comparison")
        check_comparison(comparison)
        shown = evaluated_name(measure, comparison.measures)
        systems, differences, told_apart = comparison.matrices(shown)
        return cls(differences, told_apart, name=systems, measure=shown).plot(ax=ax, **kwargs)

    def _draw(self, ax, settings):
        n = min(len(self.differences), MOST_SYSTEMS)
        written = n <= MOST_WRITTEN
        name_width = 28 if written else 60
        numbers = range(1, n + 1)
        names = [
            f"{wrapped_name(name, name_width)}  {i}"
            for i, name in zip(numbers, self.name, strict=False)
        ]
        longest = max(len(line) for name in names for line in name.split("\n"))
        side = 0.8 + max(0.5 if written else 0.22, 2.4 / n) * n
        width = side + 1.5 + longest * (0.085 if written else 0.06)
        self._take_axes(ax, figsize=(width, side))
        values = self.differences[:n, :n]
        peak = np.nanmax(np.abs(values), initial=0.0) or 1.0
        style = {"cmap": "RdBu", "vmin": -peak, "vmax": peak, **settings}
        self.image_ = self.ax_.imshow(values, **style)
        small = {"fontsize": "small" if written else "xx-small"}
        self.ax_.set_yticks(range(n), names, **small)
        self.ax_.set_xticks(range(n), list(map(str, numbers)), **small)
        self.ax_.tick_params(length=0)
        self.figure_.colorbar(
            self.image_, ax=self.ax_, shrink=0.8,
            label=wrapped(f"mean difference in {self.measure}, row less column"),
        )
        apart = np.broadcast_to(self.told_apart == 1, self.differences.shape)
        mark = f"; {'*' if written else '·'} told apart by the test" if apart.any() else ""
        n_more = len(self.differences) - n
        self.ax_.set_xlabel(f"system{mark}" + (f"; {n_more} more systems" if n_more else ""))
        digits = 3 if peak >= 0.01 else 4
        self._write(values, apart, digits if written else None)

    def _write(self, values, apart, digits):
        """Write the numbers in their cells, those of pairs that are told apart bold."""
        self.texts_ = []
        for i, j in np.argwhere(np.isfinite(values)):
            marked = bool(apart[i, j])
            text = "·" * marked
            if digits is not None:
                text = signed(values[i, j], digits).replace("0.", ".", 1) + "*" * marked
            if i == j or not text:
                continue
            red, green, blue, _ = self.image_.to_rgba(values[i, j])
            is_dark = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 < 0.18
            self.texts_.append(self.ax_.text(
                j, i, text, ha="center", va="center", fontsize=9 if digits is None else 6.5,
                color="white" if is_dark else "black", fontweight="bold" if marked else "normal",
            ))
