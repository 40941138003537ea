"""Plots, in scikit-learn's Display form."""

from skgraded.display._curves import CutoffCurveDisplay, ThresholdCurveDisplay

__all__ = ["CutoffCurveDisplay", "ThresholdCurveDisplay"]
