"""Readers and generators for ranking data sets."""

from skgraded.datasets.generators import make_clicks, make_ranking, make_swapped_rankings
from skgraded.datasets.join import join_judgments, join_run
from skgraded.datasets.letor import read_letor
from skgraded.datasets.trec import read_qrels, read_run

__all__ = [
    "join_judgments",
    "join_run",
    "make_clicks",
    "make_ranking",
    "make_swapped_rankings",
    "read_letor",
    "read_qrels",
    "read_run",
]
