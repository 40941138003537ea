"""Measures for graded ranking: immutable objects that can be called as score functions."""

# Type checkers cannot evaluate this `__all__`, so `import name as name` marks public names.
from skgraded.measures.base import (
    MEASURES as MEASURES,
    Measure as Measure,
    mean_over_queries as mean_over_queries,
)
from skgraded.measures.correlation import *
from skgraded.measures.curves import (
    CutoffCurve as CutoffCurve,
    ThresholdCurve as ThresholdCurve,
    cutoff_curve as cutoff_curve,
    threshold_curve as threshold_curve,
)
from skgraded.measures.gain import *
from skgraded.measures.parsing import as_measures as as_measures, measure as measure
from skgraded.measures.precision import *
from skgraded.measures.preferences import (
    edrc_per_query as edrc_per_query,
    edrc_score as edrc_score,
)

__all__ = sorted(
    [
        "CutoffCurve",
        "Measure",
        "ThresholdCurve",
        "as_measures",
        "cutoff_curve",
        "edrc_per_query",
        "edrc_score",
        "mean_over_queries",
        "measure",
        "rbo",
        "threshold_curve",
        *MEASURES,
    ]
)
