"""Rank-biased overlap of two rankings that may contain ties and different items."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input import door
from skgraded._input.tables import check_row_labels

_check_p = door.number_validator("p", 0, 1, above=True, below=True)
_check_ties = door.choice_validator("ties", ("average",))


def rbo(x: ArrayLike, y: ArrayLike, p: float = 0.9, ties: Literal["average"] = "average") -> float:
    r"""Compute the extrapolated rank-biased overlap of two rankings (Webber et al. 2010, eq. 32).

    RBO = (1 - p) Σ_d p^(d-1) A_d, where A_d is the agreement of the two rankings at depth d: the
    number of items that are among the first d of both rankings, divided by d. Beyond the end of a
    ranking, the agreement is extrapolated.

    Parameters
    ----------
    x, y : array-like of shape (n,)
        Two scores for each item, such as the mean values of systems according to two judges. Higher
        scores rank first; -inf means that the ranking does not contain the item.
    p : float, default=0.9
        Persistence, between 0 and 1. Smaller values give more weight to the top ranks.
    ties : {"average"}, default="average"
        The agreement at each depth is the expectation over all orders of tied items, and is then
        extrapolated (Corsi & Urbano 2024, variant a).

    Returns
    -------
    float
        Overlap from 0 (no common items) to 1 (identical rankings).

    Raises
    ------
    ValueError, TypeError
        If the input is invalid or a ranking contains no items.

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
    _check_ties(ties)
    p = _check_p(p)
    check_row_labels({"x": x, "y": y})
    sides = {"x": door.check_scores(x, None, "x")}
    sides["y"] = door.check_scores(y, len(sides["x"]), "y", "x")
    for name, scores in sides.items():
        if not np.any(scores > -np.inf):
            raise ValueError(f"Ranking {name} contains no items: all of its scores are -inf.")
    short, long = sorted(map(_TiedRanking, sides.values()), key=lambda ranking: ranking.n)
    agreement, at_end = _compute_agreement(short, long)
    with np.errstate(under="ignore"):
        weights = (1 - p) * p ** np.arange(0.0, long.n)
        return float(np.sum(weights * agreement) + at_end * p**long.n)


class _TiedRanking:
    """A ranking that stores, for each item, the first and last rank of the items tied with it.

    An item's weight at depth d is the probability that it is among the first d items. For n tied
    items, this is the share of their n ranks that are at most d.
    """

    def __init__(self, scores: np.ndarray) -> None:
        self.is_listed = scores > -np.inf
        self.n = int(np.count_nonzero(self.is_listed))
        _, block, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
        last = np.cumsum(sizes)
        first = last - sizes + 1
        self.first, self.last = first[block], last[block]  # only used for listed items
        # For each rank: first and last rank of its tie group; share of the group up to this rank.
        begin, end = np.repeat([first, last], sizes, axis=1)[:, : self.n]
        self.share = np.zeros(len(scores))  # 0 beyond the end of the ranking
        self.share[: self.n] = (np.arange(1, self.n + 1) - begin + 1) / (end - begin + 1)

    def count_items(self, items: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """For depths 1 to n, return the total weight and the number of items with weight > 0."""
        first, last = self.first[items], self.last[items]
        n_above, n_tied = _count_ranges(last + 1, n, n), _count_ranges(first, last, n)
        return n_above + self.share[:n] * n_tied, n_above + n_tied


def _count_ranges(first: np.ndarray, last: np.ndarray | int, n: int) -> np.ndarray:
    """For each depth, count the nonempty ranges [first, last] that contain the depth."""
    limited = np.minimum(last, np.full_like(first, n))
    is_range = first <= limited
    begins = np.bincount(first[is_range], minlength=n + 2)
    ends = np.bincount(limited[is_range] + 1, minlength=n + 2)
    return np.cumsum(begins - ends)[1 : n + 1]


def _compute_agreement(short: _TiedRanking, long: _TiedRanking) -> tuple[np.ndarray, float]:
    """Return the agreement at each depth and the agreement beyond the end of both rankings."""
    depths = np.arange(1, long.n + 1)
    overlap = _compute_overlap(short, long, long.n)
    agreement = overlap / depths
    # The agreement at the end of the shorter ranking is extrapolated to greater depths.
    # The shorter ranking is assumed to continue with items found only in the longer ranking.
    below, at_end = np.s_[short.n :], agreement[short.n - 1]
    summed, n_counted = long.count_items(long.is_listed & ~short.is_listed, long.n)
    extra = (depths - short.n)[below] * at_end * (summed[below] / np.maximum(n_counted[below], 1))
    agreement[below] = (overlap[below] + extra) / depths[below]
    return agreement, (overlap[-1] + (long.n - short.n) * at_end) / long.n


def _compute_overlap(short: _TiedRanking, long: _TiedRanking, n: int) -> np.ndarray:
    """For each depth, sum the products of the items' weights in the two rankings."""
    both = short.is_listed & long.is_listed
    first, last = (short.first[both], long.first[both]), (short.last[both], long.last[both])
    shares = short.share[:n], long.share[:n]
    overlap = _count_ranges(np.maximum(*last) + 1, n, n)
    overlap = overlap + shares[0] * _count_ranges(np.maximum(first[0], last[1] + 1), last[0], n)
    overlap += shares[1] * _count_ranges(np.maximum(first[1], last[0] + 1), last[1], n)
    n_tied_in_both = _count_ranges(np.maximum(*first), np.minimum(*last), n)
    return overlap + shares[0] * shares[1] * n_tied_in_both
