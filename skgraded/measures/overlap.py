"""Rank-biased overlap of two rankings that may contain ties and different items."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.columns import number, one_of, refuse_nan_scores, score_column

_CHECK_P = number("p", 0, 1, above=True, below=True)
_CHECK_TIES = one_of("ties", ("average", "corrected", "sports"))


def rbo(x: ArrayLike, y: ArrayLike, p: float = 0.9, ties: str = "average") -> float:
    r"""Compute the extrapolated rank-biased overlap of two rankings (Webber et al. 2010, eq. 32).

    RBO = (1 - p) Σ_d p^(d-1) A_d, where A_d is the agreement of the two rankings at depth d: the
    number of items among the first d of both rankings, divided by d. Beyond the end of a ranking,
    the agreement is extrapolated.

    Parameters
    ----------
    x, y : array-like of shape (n,)
        Two scores for each item, such as the means of systems under two judges. Higher scores rank
        first; -inf means that the ranking does not list the item.
    p : float, default=0.9
        Persistence, between 0 and 1. Smaller values give more weight to the top ranks.
    ties : {"average", "corrected", "sports"}, default="average"
        How items with equal scores are treated (Corsi & Urbano 2024):

        - "average": the expectation over all orders of tied items (variant a in the paper);
        - "corrected": the same, corrected for the information lost through ties, so that the
          overlap of a ranking with itself is 1 (variant b);
        - "sports": tied items share the first of their ranks (variant w).

    Returns
    -------
    float
        Overlap from 0 (no common items) to 1 (identical rankings).

    Raises
    ------
    ValueError, TypeError
        If lengths differ, a score is NaN, a ranking lists no item, or `p` or `ties` is unknown.

    References
    ----------
    W. Webber, A. Moffat, J. Zobel: A similarity measure for indefinite rankings. TOIS 28(4), 2010.

    M. Corsi, J. Urbano: The treatment of ties in rank-biased overlap. SIGIR 2024.

    Examples
    --------
    Two of three items are swapped, so the agreement is 0, 1 and 1:

    >>> import skgraded as sg
    >>> round(sg.rbo([3, 2, 1], [2, 3, 1], p=0.5), 3), 0.5 * (0 + 0.5 + 0.25) + 0.5**3
    (0.5, 0.5)
    """
    p = _CHECK_P(p)
    ties = _CHECK_TIES(ties)
    n = np.size(x)
    columns = {"x": score_column(x, n, "x", "y"), "y": score_column(y, n, "y", "x")}
    for name, scores in columns.items():
        refuse_nan_scores(scores, name)
        if not np.any(scores > -np.inf):
            raise ValueError(f"{name} lists no item: all of its scores are -inf.")
    rankings = [_Ranking(scores, ties) for scores in columns.values()]
    short, long = sorted(rankings, key=lambda ranking: ranking.n)
    depths = np.arange(1, long.n + 1)
    agreement, at_end = _agreements(short, long, depths, ties)
    with np.errstate(under="ignore"):
        weights = (1 - p) * p ** (depths - 1.0)
        return float(np.sum(weights * agreement) + at_end * p**long.n)


class _Ranking:
    """First and last rank of the tie that contains each item.

    An item's weight at depth d is the probability that it is among the first d: 0 if its tie begins
    below d, 1 if the tie ends above d, otherwise the share of the tie's ranks up to d.
    """

    def __init__(self, scores, ties):
        self.is_listed = scores > -np.inf
        values, block, sizes = np.unique(
            -scores[self.is_listed], return_inverse=True, return_counts=True
        )
        self.n = len(block)
        last = np.cumsum(sizes)
        first = last - sizes + 1
        self.first, self.last = np.zeros((2, len(scores)), dtype=np.intp)
        self.first[self.is_listed], self.last[self.is_listed] = first[block], last[block]
        # Per depth: first and last rank of the tie, and the fraction of its items up to that depth.
        self.begin, self.end = np.repeat(first, sizes), np.repeat(last, sizes)
        ranks = np.arange(1, self.n + 1)
        self.share = (ranks - self.begin + 1) / (self.end - self.begin + 1)
        if ties == "sports":
            self.share = np.ones(self.n)

    def counted(self, items, depths):
        """Return the cumulative weight of the items at each depth, and how many have weight > 0."""
        first, last, share = self.first[items], self.last[items], self.shares(depths)
        n_above = _n_between(last + 1, np.full(len(last), len(depths)), depths)
        n_tied = _n_between(first, last, depths)
        return n_above + share * n_tied, n_above + n_tied

    def shares(self, depths):
        """Return the share at each depth, with 0 beyond the end of the ranking."""
        return np.append(self.share, np.zeros(len(depths) - self.n))

    def size(self, depths, ties):
        """Return the sum of the weights of all items, or of their squares, at each depth."""
        sizes = depths.astype(float)
        if ties == "sports":
            sizes[: self.n] = self.end
        elif ties == "corrected":
            n_tied = self.end - self.begin + 1
            sizes[: self.n] = self.begin - 1 + self.share**2 * n_tied
        return sizes


def _n_between(first, last, depths):
    """Count the ranges from first to last that contain each depth; ignore empty ranges."""
    n = len(depths)
    is_range = first <= np.minimum(last, n)
    begins = np.bincount(first[is_range], minlength=n + 2)
    ends = np.bincount(np.minimum(last[is_range], n) + 1, minlength=n + 2)
    return np.cumsum(begins - ends)[1 : n + 1]


def _agreements(short, long, depths, ties):
    """Return the agreement at each depth, and beyond the end of the longer ranking."""
    sizes = [ranking.size(depths, ties) for ranking in (short, long)]
    if ties == "corrected":
        norm = np.sqrt(sizes[0] * sizes[1])
    else:
        norm = (sizes[0] + sizes[1]) / 2
    overlap = _overlap(short, long, depths)
    agreement = overlap / norm
    # The agreement at the end of the shorter ranking is extrapolated to greater depths.
    # Its further items are assumed to be items that only the longer ranking contains.
    below, at_end = np.s_[short.n :], agreement[short.n - 1]
    summed, n_counted = long.counted(long.is_listed & ~short.is_listed, depths)
    extra = (depths - short.n)[below] * at_end * (summed[below] / np.maximum(n_counted[below], 1))
    agreement[below] = (overlap[below] + extra) / norm[below]
    return agreement, (overlap[-1] + (long.n - short.n) * at_end) / long.n


def _overlap(short, long, depths):
    """Return, per depth, the sum over items of the product of their weights in both rankings."""
    both = short.is_listed & long.is_listed
    first, last = (short.first[both], long.first[both]), (short.last[both], long.last[both])
    shares = short.shares(depths), long.shares(depths)
    n = np.full(np.count_nonzero(both), len(depths))
    overlap = _n_between(np.maximum(*last) + 1, n, depths)
    overlap = overlap + shares[0] * _n_between(np.maximum(first[0], last[1] + 1), last[0], depths)
    overlap += shares[1] * _n_between(np.maximum(first[1], last[0] + 1), last[1], depths)
    tied = _n_between(np.maximum(*first), np.minimum(*last), depths)
    return overlap + shares[0] * shares[1] * tied
