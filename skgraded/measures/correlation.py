"""Rank correlations (pair accuracy, AUC, τ_ap, EDRC, τ_b and ρ) and rank-biased overlap."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import check_scores, choice_validator, number_validator
from skgraded._input.tables import check_row_labels
from skgraded._kernels.sums import ABOVE, AVERAGE, TAU, Plan
from skgraded.judgments import Judgments, Layout
from skgraded.measures import base
from skgraded.measures.base import (
    TIES,
    Function,
    Measure,
    Relevance,
    Tied,
    call_function,
    count_relevant,
    parameter,
    score_queries,
)

__all__ = ["AUC", "EDRC", "KendallTau", "PairAccuracy", "SpearmanRho", "TauAP", "rbo"]

check_prior = number_validator("prior", 0, 1)
check_discount = choice_validator("discount", ("linear", "log2", "exp2"), or_callable=True)


def weigh_ranks(discount: str | Function, ranks: np.ndarray) -> np.ndarray:
    """Return 1/D(R) for distinct ranks R ≥ 2, multiplied by the smallest D(R) if D is a callable.

    Multiplying all weights by the smallest D(R) prevents overflow and does not change EDRC.
    """
    if callable(discount):
        divisors = call_function(discount, "discount", ranks, above_0=True)
        return divisors.min() / divisors
    if discount == "exp2":
        with np.errstate(under="ignore"):
            return np.exp2(-ranks)  # 2^R itself would overflow
    return np.reciprocal(ranks if discount == "linear" else np.log2(1.0 + ranks))


class _Correlation(Measure):
    """Base class for measures that require at least two different grades per query."""

    def _undefined(self, layout: Layout) -> np.ndarray:
        return layout.sum_levels((layout.counts > 0).astype(np.intp)) < 2


def _plan_ordered_pairs(values: np.ndarray, n_pairs: np.ndarray, layout: Layout) -> Plan:
    """Return the plan for a sum over correctly ordered pairs, grouped by lower-graded document."""
    scale = 1.0 / np.maximum(n_pairs, 1)
    return Plan(ABOVE, values, AVERAGE, layout.max_size, prior=0.5, scale=scale, shift=0.0)


@base.registered()
class PairAccuracy(_Correlation):
    r"""Pair accuracy: the fraction of pairs with different grades that the scores order correctly.

    The value is the mean of [s_i > s_j] + ½ [s_i = s_j] over all pairs with r_i > r_j, where r_i is
    the grade and s_i the score of document i. The expected value for a random order is 1/2. For
    grades 0 and 1, pair accuracy equals `AUC`, the measure used in BPR (Rendle et al., UAI 2009,
    section 4.1.1). Documents that were not retrieved are tied for last place. Pair accuracy is
    undefined if all grades of a query are equal.

    Parameters
    ----------
    undefined : {0.0, 1.0, nan}, default=0.0
        As in `AP`.

    Examples
    --------
    Grades 2, 1 and 0 form three pairs: one is in the correct order, one is reversed, one is tied.

    >>> import skgraded as sg
    >>> sg.PairAccuracy()([2, 1, 0], [3, 1, 3]), (1 + 0 + 0.5) / 3
    (0.5, 0.5)
    """

    _is_of_order = True

    def _plan(self, layout: Layout) -> Plan:
        counts = layout.counts
        up_to = np.cumsum(counts)
        higher = np.repeat(up_to[layout.level_starts[1:] - 1], layout.n_levels) - up_to
        n_pairs = layout.sum_levels(counts * higher)
        return _plan_ordered_pairs(np.ones(len(counts)), n_pairs, layout)


@base.registered(aliases=("roc_auc",))
class AUC(Relevance):
    r"""Area under the ROC curve (Hanley & McNeil 1982), with relevant documents as positives.

    AUC is the mean of [s_i > s_j] + ½ [s_i = s_j] over all pairs of a relevant document i and an
    irrelevant document j, where s_i is the score of document i, as in scikit-learn's
    ``roc_auc_score``. Documents that were not retrieved are tied for last place. AUC is undefined
    for a query without relevant documents or without irrelevant documents.

    Parameters
    ----------
    threshold : float, optional
        The lowest relevant grade, which may be negative. None: every grade > 0 is relevant, and
        negative grades are an error.
    undefined : {0.0, 1.0, nan}, default=0.0
        As in `AP`.

    Examples
    --------
    Of four pairs, two are in the correct order, one is reversed, and one is tied.

    >>> import skgraded as sg
    >>> sg.AUC()([2, 0, 1, 0], [4, 3, 2, 2]), (2 + 0 + 0.5) / 4
    (0.625, 0.625)
    """

    threshold: float | None = parameter(
        default=None, check=number_validator("threshold", -np.inf, optional=True), kw_only=False
    )

    _is_of_order = True

    def _plan(self, layout: Layout) -> Plan:
        relevant = self._relevant(layout)
        irrelevant = ~relevant
        if layout.sum_levels(irrelevant.astype(np.intp)).max() > 1:
            return None  # `_values` is used if a query's irrelevant documents have different grades
        n_pairs = count_relevant(layout, relevant) * count_relevant(layout, irrelevant)
        return _plan_ordered_pairs(irrelevant.astype(float), n_pairs, layout)

    def _values(self, layout: Layout, scores: np.ndarray) -> np.ndarray:
        """Compute per-query values after replacing grades with 1 (relevant) and 0 (irrelevant)."""

        def judge() -> Judgments:
            levels = np.repeat(layout.level_starts[:-1], layout.sizes) + layout.codes
            return Judgments(self._relevant(layout)[levels], group=layout.sizes)

        binary = layout.remember(("_binary", self.threshold), judge)
        return score_queries([AUC()], binary, layout.sort_by_query(scores))[0]

    def _undefined(self, layout: Layout) -> np.ndarray:
        n = count_relevant(layout, self._relevant(layout))
        return (n == 0) | (n == layout.sizes)


@base.registered()
class TauAP(_Correlation, Tied):
    r"""AP correlation τ_ap (Yilmaz, Aslam, Robertson 2008; Ackerman & Chen 2011, eq. 3).

    τ_ap = 2/(N-1) Σ_{i=2..N} C(i)/(i-1) - 1, where i is a position in the system's ranking of the
    query's N documents, and C(i) is the number of documents above i with a higher grade than the
    document at i; equal grades count as 1/2. Values range from -1 to 1; an ideal list scores 1 if
    all grades differ. Documents that were not retrieved are tied for last place. τ_ap is undefined
    for a query with a single document, or if all grades are equal.

    Parameters
    ----------
    undefined, ties
        As in `AP`.

    Examples
    --------
    Table 2 of Ackerman & Chen: the true order is A B C D, the system's order is B A C D.

    >>> import skgraded as sg
    >>> round(sg.TauAP()([5, 4, 3, 2], [3, 4, 2, 1]), 3), round(2 / 3 * (0/1 + 2/2 + 3/3) - 1, 3)
    (0.333, 0.333)
    """

    _is_of_order = True

    def _plan(self, layout: Layout) -> Plan:
        scale = 2.0 / np.maximum(layout.sizes - 1, 1)
        return Plan(TAU, layout.levels, TIES[self.ties], layout.max_size, scale=scale, shift=-1.0)


@base.registered()
class EDRC(_Correlation):
    r"""Expected discounted rank correlation with the preferences implied by grades.

    A document is preferred to all documents with lower grades; equal grades and the grade NaN imply
    no preference. EDRC = 2/Z Σ_{v: R(v)>1} C(v)/D(R(v)) - 1 with Z = Σ_{v: R(v)>1} #W(v)/D(R(v))
    (Ackerman & Chen 2011, section 4). R(v) is 1 for the query's highest grade, 2 for the next lower
    grade, and so on. W(v) contains all documents except v and the documents that v is preferred to;
    C(v) is the sum of EP(v, w) over w in W(v). If w is preferred to v, EP(v, w) is 1 if w has the
    higher score and 0 if it has the lower score; in all other cases, it is `prior`. Values range
    from -1 to 1; an ideal list scores 1 if all preferences are known. Documents that were not
    retrieved are tied for last place. EDRC is undefined for a query without two different grades.
    For explicit preference pairs, see `edrc_score`.

    Parameters
    ----------
    discount : {"linear", "log2", "exp2"} or callable, default="linear"
        D(R): R, log2(1 + R) or 2^R. A callable receives an array of ranks ≥ 2 and returns an array
        of divisors > 0.
    prior : float, default=0.5
        Value of a pair whose scores are equal or whose preference is unknown, from 0 to 1.
    undefined : {0.0, 1.0, nan}, default=0.0
        As in `AP`.

    Examples
    --------
    Grades 2 1 1 0, and scores that swap the first two documents. R is 1, 2, 2 and 3. The other
    three documents have W of sizes 2, 2 and 3, and C = 0 + 0.5, 1 + 0.5 and 3:

    >>> import skgraded as sg
    >>> round(sg.EDRC()([2, 1, 1, 0], [3, 4, 2, 1]), 3)
    0.333
    >>> round(2 / (2/2 + 2/2 + 3/3) * (0.5/2 + 1.5/2 + 3/3) - 1, 3)
    0.333
    """

    discount: str | Function = parameter(default="linear", check=check_discount, kw_only=False)
    prior: float = parameter(default=0.5, check=check_prior, kw_only=False)

    _accepts_unjudged = True  # preferences that involve unjudged documents are unknown

    def _plan(self, layout: Layout) -> Plan:
        counts, n_known = layout.counts, layout.sum_levels(layout.counts)
        last = np.repeat(layout.level_starts[1:] - 1, layout.n_levels)
        rank = last - np.arange(len(last)) + 1
        by_rank = np.zeros(max(int(rank.max()), 2) + 1)  # 1/D(R), but 0 for the top level
        by_rank[2:] = weigh_ranks(self.discount, np.arange(2, len(by_rank), dtype=float))
        weights = by_rank[rank]
        equal_or_unknown = np.repeat(layout.sizes - n_known, layout.n_levels) + counts - 1
        # The sums include the rows of earlier queries, which the next line subtracts.
        below = np.cumsum(counts) - counts
        below -= np.repeat(below[layout.level_starts[:-1]], layout.n_levels)
        n_compared = np.repeat(layout.sizes - 1, layout.n_levels) - below
        total = layout.sum_levels(weights * counts * n_compared)
        total[self._undefined(layout)] = 1.0
        unknown = layout.sum_levels(weights * counts * equal_or_unknown)
        return Plan(
            ABOVE,
            weights,
            AVERAGE,
            layout.max_size,
            prior=self.prior,
            scale=2.0 / total,
            shift=2.0 / total * self.prior * unknown - 1.0,
        )


class _ByScipy(_Correlation):
    """Base class for correlations computed by SciPy, which takes about 0.8 ms per query."""

    _is_of_order = True
    _function: str  # name of a function in scipy.stats

    def _values(self, layout: Layout, scores: np.ndarray) -> np.ndarray:
        from scipy import stats  # slow to import

        correlation, scores = getattr(stats, self._function), layout.sort_by_query(scores)
        out = np.zeros(layout.n_queries)
        for query in np.flatnonzero(~self._undefined(layout)):
            rows = slice(*layout.starts[query : query + 2])
            # Use ranks, because SciPy 1.11 reports a missing value if scores include inf and -inf.
            codes, ranks = layout.codes[rows], np.unique(scores[rows], return_inverse=True)[1]
            if ranks.max() > 0:  # otherwise, the value is 0
                by_rank = np.lexsort((ranks, codes))  # makes rounding independent of row order
                out[query] = correlation(codes[by_rank], ranks[by_rank]).statistic
        return out


@base.registered()
class KendallTau(_ByScipy):
    r"""Kendall's τ_b between grades and scores (`scipy.stats.kendalltau`).

    τ_b = (P - Q) / sqrt((P + Q + T)(P + Q + U)), where P, Q, T and U count the pairs that are
    concordant, discordant, tied only in the grades, and tied only in the scores.
    Values range from -1 to 1; the value is 0 if all scores are equal. Documents that were not
    retrieved are tied for last place. τ_b is undefined if all grades of a query are equal.

    Parameters
    ----------
    undefined : {0.0, 1.0, nan}, default=0.0
        As in `AP`.

    Examples
    --------
    >>> import skgraded as sg
    >>> round(sg.KendallTau()([3, 2, 1], [3, 1, 2]), 3), round((2 - 1) / 3, 3)
    (0.333, 0.333)
    """

    _function = "kendalltau"


@base.registered()
class SpearmanRho(_ByScipy):
    r"""Spearman's ρ between grades and scores (`scipy.stats.spearmanr`).

    ρ is the Pearson correlation of the ranks; tied values receive their mean rank. ρ ranges from -1
    to 1 and is 0 if all scores are equal. Documents that were not retrieved are tied for last
    place. ρ is undefined if all grades of a query are equal.

    Parameters
    ----------
    undefined : {0.0, 1.0, nan}, default=0.0
        As in `AP`.

    Examples
    --------
    >>> import skgraded as sg
    >>> round(sg.SpearmanRho()([3, 2, 1], [3, 1, 2]), 3), 1 - 6 * (0 + 1 + 1) / (3 * (9 - 1))
    (0.5, 0.5)
    """

    _function = "spearmanr"


# Rank-biased overlap -----------------------------------------------------------------------------


def rbo(x: ArrayLike, y: ArrayLike, p: float = 0.9, ties: Literal["average"] = "average") -> float:
    r"""Compute the extrapolated rank-biased overlap of two rankings (Webber et al. 2010, eq. 32).

    RBO = (1 - p) Σ_d p^(d-1) A_d, where A_d is the agreement of the two rankings at depth d: the
    number of items that both rankings have among their first d items, divided by d. Beyond the end
    of a ranking, the agreement is extrapolated.

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
    choice_validator("ties", ("average",))(ties)
    p = number_validator("p", 0, 1, above=True, below=True)(p)
    check_row_labels({"x": x, "y": y})
    sides = {"x": check_scores(x, None, "x")}
    sides["y"] = check_scores(y, len(sides["x"]), "y", "x")
    for name, scores in sides.items():
        if not np.any(scores > -np.inf):
            raise ValueError(f"Ranking {name} contains no items: all of its scores are -inf.")
    short, long = sorted(map(_TiedRanking, sides.values()), key=lambda ranking: ranking.n)
    agreement, at_end = _compute_agreement(short, long)
    with np.errstate(under="ignore"):
        weights = (1 - p) * p ** np.arange(0.0, long.n)
        return float(np.sum(weights * agreement) + at_end * p**long.n)


class _TiedRanking:
    """A ranking with ties, which stores the first and last rank of each item's tie group.

    An item's weight at depth d is the probability that it is among the first d items. For n tied
    items, this is the fraction of their n ranks that are at most d.
    """

    def __init__(self, scores: np.ndarray) -> None:
        self.is_listed = scores > -np.inf
        self.n = int(np.count_nonzero(self.is_listed))
        _, block, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
        last = np.cumsum(sizes)
        first = last - sizes + 1
        self.first, self.last = first[block], last[block]  # only used for listed items
        # For each rank: the first and last rank of its tie group
        begin, end = np.repeat([first, last], sizes, axis=1)[:, : self.n]
        # For each rank r ≤ n: the fraction of the ranks in its tie group that are ≤ r; 0 for r > n
        self.share = np.zeros(len(scores))
        self.share[: self.n] = (np.arange(1, self.n + 1) - begin + 1) / (end - begin + 1)


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
    others = long.is_listed & ~short.is_listed
    first, last = long.first[others], long.last[others]
    n_above, n_tied = _count_ranges(last + 1, long.n, long.n), _count_ranges(first, last, long.n)
    # For each depth, average the positive weights of `others` in the longer ranking.
    mean = (n_above + long.share[: long.n] * n_tied) / np.maximum(n_above + n_tied, 1)
    extra = (depths - short.n)[below] * at_end * mean[below]
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
