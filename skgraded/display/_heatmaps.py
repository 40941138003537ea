"""Heat map of the mean differences between systems."""

from __future__ import annotations

from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded.display import _base
from skgraded.display._base import ImageDisplay, Style, documented, wrapped_name
from skgraded.display._systems import as_names, check_comparison, check_shape
from skgraded.measures import Measure
from skgraded.reports.comparison import Comparison
from skgraded.reports.comparison_view import ComparisonView, letters_of_systems
from skgraded.reports.report import evaluated_name
from skgraded.writing.text import signed

MOST_SYSTEMS = 40  # maximum number of systems drawn
CELL = 0.46, 0.3  # width and height of a cell with three digits, in inches
LEGIBLE = 6.5  # points; minimum font size for numbers
BOLD_EM = 0.68  # mean width of a bold digit as a fraction of the font size


class DifferenceHeatmapDisplay(ImageDisplay):
    """Heat map of the mean differences between all pairs of systems.

    Each cell shows the mean of the row's system minus the mean of the column's system, in blue if
    the row's system is better and in red if it is worse. Significant differences are in bold, with
    a star. Rows and columns are labeled with the letters of the leaderboard. If the numbers do not
    fit into the cells, dots mark significant differences. Only the first 40 systems are drawn.

    Parameters
    ----------
    differences : array-like of shape (n_systems, n_systems)
        Mean differences; nan if unknown.
    significant : array-like of shape (n_systems, n_systems), optional
        1 where the difference of the two systems is significant, else 0 or nan.
    name : list of str, optional
        Names of the systems; by default, only letters are shown.
    measure : str
        Name of the measure.

    Attributes
    ----------
    image_ : matplotlib.image.AxesImage
    texts_ : list of matplotlib.text.Text
        Annotations of the cells, row by row.

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
        self, differences: ArrayLike, significant: ArrayLike | None = None, *,
        name: list[str] | None = None, measure: str,
    ):
        self.differences = np.asarray(differences, dtype=float)
        n = len(self.differences)
        check_shape(self.differences, (n, n), "differences must have shape (n_systems, n_systems)")
        self.significant = None if significant is None else np.asarray(significant, dtype=float)
        if self.significant is not None:
            rule = f"significant must have the same shape as differences, {(n, n)}"
            check_shape(self.significant, (n, n), rule)
        self.name, self.measure = as_names(name, n), measure

    @classmethod
    @documented
    def from_comparison(
        cls, comparison: Comparison, *, measure: str | Measure | None = None, ax: Any = None,
        im_kw: Style = None,
    ) -> Self:
        """Plot the mean differences between all systems of a comparison, the best system first.

        If the comparison has a baseline, only differences from the baseline are tested and marked.
        """
        cls._need_matplotlib("from_comparison")
        check_comparison(comparison)
        shown = evaluated_name(measure, comparison.measures)
        view = ComparisonView(comparison)
        names = view.leaderboard.systems
        return cls(*view.matrices[shown], name=names, measure=shown).plot(ax=ax, im_kw=im_kw)

    def _draw(self, ax: Any, settings: Any) -> None:
        n = min(len(self.differences), MOST_SYSTEMS)
        letters = list(islice(letters_of_systems(), n))
        names = list(letters) if self.name is None else [
            f"{wrapped_name(name)}  {letter}"
            for name, letter in zip(self.name, letters, strict=False)
        ]
        self._take_axes(ax, *self._size(names))
        values = self.differences[:n, :n]
        peak = np.nanmax(np.abs(values), initial=0.0) or 1.0
        style = {"cmap": "RdBu", "vmin": -peak, "vmax": peak, "aspect": "auto", **settings}
        self.image_ = self.ax_.imshow(values, **style)
        self.ax_.set_yticks(range(n), names)
        self.ax_.set_xticks(range(n), letters)
        self.ax_.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
        bar = self.figure_.colorbar(
            self.image_, ax=self.ax_, location="bottom", aspect=40, pad=0.03
        )
        marked = np.broadcast_to(self.significant == 1, self.differences.shape)[:n, :n]
        self._fit_labels(names, letters)
        label = f"mean difference in {self.measure}, row minus column"
        self._engine()
        bar.set_label(_base.fitted(label, n * self._unit_size()[0], bar.ax.xaxis.label))
        mark = self._write(values, marked, 3 if peak >= 0.01 else 4)
        n_more = len(self.differences) - n
        notes = [
            f"{mark} significant difference" * bool(marked.any()),
            f"{n_more} more systems" * (n_more > 0),
        ]
        self.ax_.set_xlabel("; ".join(filter(None, notes)))

    def _size(self, names: list[str]) -> tuple[float, float]:
        """Return the size in inches; numbers get room unless rcParams reduce the default width."""
        from matplotlib import rcParams, rcParamsDefault

        width = rcParams["figure.figsize"][0]
        longest = max(len(line) for name in names for line in name.split("\n"))
        text = (longest * _base.EM * rcParams["font.size"]) / 72
        if width >= rcParamsDefault["figure.figsize"][0]:
            width = max(width, 0.3 + text + CELL[0] * len(names))
        return width, 1.3 + CELL[1] * len(names) * min(1, 0.4 + width / 10)

    def _fit_labels(self, names: list[str], letters: list[str]) -> None:
        """Reduce the font sizes of names and letters that do not fit into the rows and columns."""
        if self.figure_.bbox.width < _base.NARROW * self.figure_.dpi:
            self.ax_.tick_params(axis="y", labelsize=_base.small_size())
        n_lines = max(name.count("\n") + 1 for name in names)
        for _ in range(2):  # smaller names widen the columns
            self._engine()
            width, height = self._unit_size()
            room = min(0.9 * width / (0.62 * len(letters[-1])), height)
            _base.limit_size(self.ax_.get_yticklabels(), height / (1.25 * n_lines))
            _base.limit_size(self.ax_.get_xticklabels(), room)

    def _write(self, values: np.ndarray, marked: np.ndarray, digits: int) -> str:
        """Write numbers into cells, or dots if numbers do not fit; return the significance mark."""
        cells = [(i, j) for i, j in np.argwhere(np.isfinite(values)) if i != j]
        self._engine()
        width, height = self._unit_size()
        for n_digits in (digits, digits - 1):
            texts = {
                (i, j): signed(values[i, j], n_digits).replace("0.", ".", 1)
                + "*" * int(marked[i, j])
                for i, j in cells
            }
            longest = max(map(len, texts.values()), default=1)
            size = min(10, 0.7 * height, 0.92 * width / (BOLD_EM * longest))
            if size >= LEGIBLE:
                break
        else:
            texts = {(i, j): "•" for i, j in cells if marked[i, j]}
            size = min(10, 0.9 * height, 0.9 * width)
        self.texts_ = []
        for (i, j), text in texts.items():
            red, green, blue, _ = self.image_.to_rgba(values[i, j])
            is_dark = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 < 0.18
            self.texts_.append(self.ax_.text(
                j, i, text, ha="center", va="center", fontsize=size,
                color="white" if is_dark else "black",
                fontweight="bold" if marked[i, j] else "normal",
            ))
        return "•" if "•" in texts.values() else "*"
