"""Ranking data: made up, and read from files."""

from skgraded.datasets._generators import make_ranking
from skgraded.datasets._readers import read_letor

__all__ = ["make_ranking", "read_letor"]
