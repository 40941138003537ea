"""Model selection for rankers: scorers, early stopping and folds of whole queries."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from skgraded.model_selection.cross_evaluating import cross_evaluate
from skgraded.model_selection.query_source import TornQueryWarning
from skgraded.model_selection.ranker import QueryRanker
from skgraded.model_selection.scorer import make_ranking_scorer

if TYPE_CHECKING:
    from skgraded.model_selection.racing import RacingSearchCV
    from skgraded.model_selection.splitters import QueryKFold, QueryTimeSeriesSplit

__all__ = [
    "QueryKFold",
    "QueryRanker",
    "QueryTimeSeriesSplit",
    "RacingSearchCV",
    "TornQueryWarning",
    "cross_evaluate",
    "make_ranking_scorer",
]

# Loaded on first access, because sklearn.model_selection is slow to import.
LATER = {
    "QueryKFold": "splitters",
    "QueryTimeSeriesSplit": "splitters",
    "RacingSearchCV": "racing",
}


def __getattr__(name: str) -> Any:
    if name in LATER:
        return getattr(import_module(f"skgraded.model_selection.{LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
