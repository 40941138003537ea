"""Per-query evaluation and tuning of ranking models with graded relevance."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Type checkers cannot evaluate this `__all__`, so `import name as name` marks public names.
from skgraded import clicks, datasets as datasets, large, reports as reports
from skgraded._input.libraries import show_versions as show_versions
from skgraded.clicks import *
from skgraded.judgments import Judgments as Judgments
from skgraded.large import *
from skgraded.measures import (
    MEASURES,
    edrc_per_query as edrc_per_query,
    edrc_score as edrc_score,
    measure as measure,
    rbo as rbo,
)

# Each measure module lists its classes in `__all__`.
from skgraded.measures.correlation import *
from skgraded.measures.gain import *
from skgraded.measures.precision import *
from skgraded.reports import *
from skgraded.stats.power import (
    required_queries as required_queries,
    sample_queries as sample_queries,
)

if TYPE_CHECKING:
    from skgraded import display as display, model_selection as model_selection
    from skgraded.display import *
    from skgraded.model_selection import (
        QueryKFold as QueryKFold,
        QueryRanker as QueryRanker,
        QueryTimeSeriesSplit as QueryTimeSeriesSplit,
        RacingSearchCV as RacingSearchCV,
        TornQueryWarning as TornQueryWarning,
        cross_evaluate as cross_evaluate,
        make_ranking_scorer as make_ranking_scorer,
    )

__version__ = "0.1.0"

# These names are imported lazily, because importing scikit-learn takes most of a second.
LATER: dict[str, tuple[str, ...]] = {
    "display": (
        "CutoffCurveDisplay",
        "IntervalDisplay",
        "PositionBiasDisplay",
        "QueryDifferenceDisplay",
        "ThresholdCurveDisplay",
    ),
    "model_selection": (
        "QueryKFold",
        "QueryRanker",
        "QueryTimeSeriesSplit",
        "RacingSearchCV",
        "TornQueryWarning",
        "cross_evaluate",
        "make_ranking_scorer",
    ),
}

__all__ = sorted(
    [
        "Judgments",
        "datasets",
        "edrc_per_query",
        "edrc_score",
        "measure",
        "rbo",
        "required_queries",
        "sample_queries",
        "show_versions",
        *MEASURES,
        *(name for names in LATER.values() for name in names),
        *clicks.__all__,
        *large.__all__,
        *reports.__all__,
    ]
)


def __getattr__(name: str) -> Any:
    for room, names in LATER.items():
        if name == room or name in names:
            module = import_module(f"skgraded.{room}")
            globals()[name] = module if name == room else getattr(module, name)
            return globals()[name]
    raise AttributeError(f"module 'skgraded' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *LATER})
