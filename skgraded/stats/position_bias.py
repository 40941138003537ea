"""Estimate position bias from interventions, that is, documents shown at several positions.

A document at position k is clicked with probability θ_k · γ, where θ_k is the probability that the
position is examined, and γ the probability that the document is attractive. Clicks on the same
document at two positions yield an estimate of the ratio of the two θ (Agarwal et al. 2019,
*Estimating position bias without intrusive interventions*).
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

# Maximum number of positions for "all_pairs", which has one parameter per pair of positions.
MAX_PAIRED = 500
LIMIT = 15.0  # upper limit of |log θ|; no real click log has a stronger bias
# Minimum number of units for which each method computes confidence intervals.
# With fewer units, the coverage of 95 % intervals is below 90 % (`benchmarks/clicks.py`).
METHODS = {"all_pairs": 15, "adjacent_chain": 15, "pivot": 50, "randomized": 15}


@dataclass(frozen=True)
class Interventions:
    """Pairs of cells with the same query and document at two different positions.

    A cell is a (query, document, position) triple. `low` and `high` contain the lower and the
    higher position, counted from 0, of each distinct pair of positions. For each pair of cells,
    `first` and `second` contain the indices of the two cells, and `pair` contains the index of
    their pair of positions in `low` and `high`.
    """

    first: np.ndarray
    second: np.ndarray
    pair: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, document: np.ndarray, position: np.ndarray, method: str) -> Self:
        """Find the pairs of cells that `method` uses; cells are sorted by document and position."""
        cells, n = np.arange(len(document)), int(position.max()) + 1
        if method == "all_pairs" and (n_paired := len(np.unique(position))) > MAX_PAIRED:
            raise ValueError(
                f"method='all_pairs' supports at most {MAX_PAIRED} positions; got {n_paired}. "
                "Leave out the rows at the last positions, or use 'adjacent_chain' or 'pivot'."
            )
        if method in ("pivot", "randomized"):
            is_start = np.diff(document, prepend=-1) != 0
            sides = [(np.maximum.accumulate(np.where(is_start, cells, 0)), cells)]
        else:
            most = 2 if method == "adjacent_chain" else np.bincount(document).max()
            sides = [(cells[:-step], cells[step:]) for step in range(1, most)]
        none = np.empty((2, 0), dtype=np.intp)
        i, j = np.hstack(
            [none, *(np.array([i, j])[:, (document[i] == document[j]) & (i < j)] for i, j in sides)]
        )
        if method in ("pivot", "randomized"):
            i, j = i[position[i] == 0], j[position[i] == 0]
        elif method == "adjacent_chain":
            is_next = position[j] == position[i] + 1
            i, j = i[is_next], j[is_next]
        keys, pair = np.unique(position[i] * n + position[j], return_inverse=True)
        return cls(i, j, pair, *np.divmod(keys, n))

    def estimate(
        self, rates: np.ndarray, weights: np.ndarray, n_positions: int, method: str
    ) -> np.ndarray:
        """Return the ratios θ_k / θ_1 for all positions k; ratios that are not identified are nan.

        `rates` contains the click rates of cells, and `weights` the weights of pairs of cells.
        """
        n, clicks_low, clicks_high = (
            np.bincount(self.pair, values, minlength=len(self.low))
            for values in (weights, weights * rates[self.first], weights * rates[self.second])
        )
        ratios = np.full(n_positions, np.nan)
        ratios[0] = 1.0
        if method == "all_pairs":
            return _all_pairs(self.low, self.high, n, clicks_low, clicks_high, ratios)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios[self.high] = np.where(clicks_low > 0, clicks_high / clicks_low, np.nan)
        return np.cumprod(ratios) if method == "adjacent_chain" else ratios


def _all_pairs(
    low: np.ndarray,
    high: np.ndarray,
    n: np.ndarray,
    C_low: np.ndarray,
    C_high: np.ndarray,
    ratios: np.ndarray,
) -> np.ndarray:
    """Maximize Σ C_k log(θ_k ρ_kk') + N_k log(1 - θ_k ρ_kk') over all pairs of positions.

    For fixed θ, the optimal ρ of a pair is the root of a quadratic equation, so only log θ is
    optimized. The likelihood depends only on products θ ρ, so θ_1 can be fixed at 1.
    """
    from scipy.optimize import minimize
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    clicks = np.bincount(low, C_low, len(ratios)) + np.bincount(high, C_high, len(ratios))
    if clicks[0] == 0:
        return ratios
    ratios[np.setdiff1d(np.union1d(low[n > 0], high[n > 0]), np.flatnonzero(clicks))] = 0.0
    is_edge = (n > 0) & (clicks[low] > 0) & (clicks[high] > 0) & (C_low + C_high > 0)
    edges = coo_array((n[is_edge], (low[is_edge], high[is_edge])), shape=(len(ratios),) * 2)
    _, component = connected_components(edges, directed=False)
    is_edge &= component[low] == component[0]
    places, codes = np.unique([low[is_edge], high[is_edge]], return_inverse=True)
    if not len(places):
        return ratios
    i, j = codes.reshape(2, -1)
    C_i, C_j = C_low[is_edge], C_high[is_edge]
    N_i, N_j, C = n[is_edge] - C_i, n[is_edge] - C_j, C_i + C_j

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        t = np.append(0.0, logs)
        a, b = np.exp(t[i]), np.exp(t[j])
        middle = (C + N_i) * a + (C + N_j) * b
        root = np.sqrt(np.maximum(middle**2 - 4 * (C + N_i + N_j) * a * b * C, 0))
        p, q = (np.minimum(side * 2 * C / (middle + root), 1 - 1e-12) for side in (a, b))
        value = C_i * np.log(p) + C_j * np.log(q) + N_i * np.log1p(-p) + N_j * np.log1p(-q)
        slopes = np.bincount(i, C_i - N_i * p / (1 - p), len(t)) + np.bincount(
            j, C_j - N_j * q / (1 - q), len(t)
        )
        return -value.sum() / C.sum(), -slopes[1:] / C.sum()

    result: Any = minimize(
        loss,
        np.zeros(len(places) - 1),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-LIMIT, LIMIT)] * (len(places) - 1),
        options={"ftol": 1e-13, "gtol": 1e-9, "maxiter": 1000, "maxfun": 10_000},
    )
    ratios[places[1:]] = np.exp(result.x)
    return ratios
