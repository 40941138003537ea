"""Measures of graded ranking, as scikit-learn scorers and LightGBM metrics."""

# ruff: noqa: E402, I001 — first of all what takes no time: Ctrl-C during the other imports
from skgraded._input.interrupts import end_quietly

end_quietly()

from skgraded import datasets, display, reports
from skgraded._input.versions import show_versions
from skgraded.display import *
from skgraded.judgments import Judgments
from skgraded.measures import MEASURES, edrc_per_query, edrc_score, measure

# The classes that @measure has registered, family by family, as type checkers can follow them.
from skgraded.measures.correlation import *
from skgraded.measures.gain import *
from skgraded.measures.precision import *
from skgraded.measures.user_models import *
from skgraded.model_selection import (
    QueryRanker,
    TornQueryWarning,
    cross_evaluate,
    make_ranking_scorer,
)
from skgraded.reports import *

__version__ = "0.1.0"

__all__ = sorted([
    "Judgments",
    "QueryRanker",
    "TornQueryWarning",
    "cross_evaluate",
    "datasets",
    "edrc_per_query",
    "edrc_score",
    "make_ranking_scorer",
    "measure",
    "show_versions",
    *MEASURES,
    *display.__all__,
    *reports.__all__,
])
