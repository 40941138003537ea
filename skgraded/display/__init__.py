"""Plots, drawn by Display classes that follow the conventions of scikit-learn."""

from skgraded.display._clicks import PositionBiasDisplay
from skgraded.display._curves import CutoffCurveDisplay, ThresholdCurveDisplay
from skgraded.display._differences import QueryDifferenceDisplay
from skgraded.display._intervals import IntervalDisplay

__all__ = [
    "CutoffCurveDisplay",
    "IntervalDisplay",
    "PositionBiasDisplay",
    "QueryDifferenceDisplay",
    "ThresholdCurveDisplay",
]
