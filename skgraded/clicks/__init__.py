"""Click logs: position bias, grades, preferences and comparisons of rankers."""

from skgraded.clicks.bias import PositionBias
from skgraded.clicks.log import ClickLog

__all__ = ["ClickLog", "PositionBias"]
