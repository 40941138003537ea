"""Use measures in ir_measures and PyTerrier."""

from skgraded.tools import ir_measures
from skgraded.tools.ir_measures import *

__all__ = ir_measures.__all__
