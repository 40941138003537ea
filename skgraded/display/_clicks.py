"""Plot of position bias."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded.clicks import PositionBias
from skgraded.display._base import Display, Style, documented
from skgraded.display._systems import check_made_by, check_shape
from skgraded.writing.text import percent_text


class PositionBiasDisplay(Display):
    """The examination of each position with its interval, and the click rates for comparison.

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
        self.examination, self.low, self.high, self.click_rate = arrays = [
            np.asarray(array, float) for array in (examination, low, high, click_rate)
        ]
        for array in arrays:
            check_shape(array, arrays[0].shape, "All arrays must have the same shape")

    @classmethod
    @documented
    def from_bias(cls, bias: PositionBias, *, ax: Any = None, line_kw: Style = None) -> Self:
        """Plot the result of `position_bias`.

        Parameters
        ----------
        bias : PositionBias
            Result of `position_bias`.
        """
        cls._need_matplotlib("from_bias")
        check_made_by("position_bias", bias, PositionBias, "bias")
        frame = bias.to_frame()
        columns = (frame[name] for name in ("examination", "ci_low", "ci_high"))
        display = cls(*columns, click_rate=frame["click_rate"], level=bias.level)
        return display.plot(ax, line_kw=line_kw)

    @documented
    def plot(self, ax: Any = None, *, line_kw: Style = None) -> Self:
        """Draw the stored values and return the display."""
        return self._plot(ax, line_kw=line_kw)

    def _draw(self, ax: Any, settings: Any) -> None:
        self._take_axes(ax)
        positions = 1 + np.arange(len(self.examination))
        style = {
            "color": self._color(0),
            "marker": "o",
            "markersize": 4,
            "linewidth": 1.2,
            "label": f"examination, {percent_text(self.level)} interval",
            **settings,
        }
        errors = np.stack([self.examination - self.low, self.high - self.examination])
        self.line_ = self.ax_.errorbar(positions, self.examination, errors.clip(0), **style)
        (self.click_rate_,) = self.ax_.plot(
            positions,
            self.click_rate / self.click_rate[0],
            color=self._color(1),
            linestyle="--",
            label="click rate, not corrected",
        )
        self.ax_.set_ylim(bottom=0)
        self._whole_ticks()
        self._write_around(["position"], "relative to position 1")
