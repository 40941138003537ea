"""Model selection for rankers: scorers, early stopping and folds of whole queries."""

from typing import TYPE_CHECKING, Any

from skgraded.model_selection.cross_evaluating import cross_evaluate
from skgraded.model_selection.ranker import QueryRanker
from skgraded.model_selection.scorer import make_ranking_scorer
from skgraded.model_selection.split_queries import TornQueryWarning

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


def __getattr__(name: str) -> Any:
    if name == "RacingSearchCV":
        from skgraded.model_selection import racing

        return racing.RacingSearchCV
    if name in ("QueryKFold", "QueryTimeSeriesSplit"):
        from skgraded.model_selection import splitters  # sklearn.model_selection is slow to import

        return getattr(splitters, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
