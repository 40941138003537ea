"""Plots, drawn by Display classes that follow the conventions of scikit-learn."""

from skgraded.display._curves import CutoffCurveDisplay, ThresholdCurveDisplay
from skgraded.display._reports import (
    IntervalDisplay,
    PositionBiasDisplay,
    QueryDifferenceDisplay,
)

__all__ = [
    "CutoffCurveDisplay",
    "IntervalDisplay",
    "PositionBiasDisplay",
    "QueryDifferenceDisplay",
    "ThresholdCurveDisplay",
]
