"""Ranking data: made up, and read from files."""

from skgraded.datasets._generators import make_ranking, make_swapped_rankings
from skgraded.datasets._join import join_run
from skgraded.datasets._letor import read_letor
from skgraded.datasets._preferences import read_preferences
from skgraded.datasets._trec import read_qrels, read_run

__all__ = [
    "join_run",
    "make_ranking",
    "make_swapped_rankings",
    "read_letor",
    "read_preferences",
    "read_qrels",
    "read_run",
]
