"""Estimates of position bias from two and three positions, by hand and by brute force."""

import numpy as np
import pytest
from scipy import optimize

from skgraded.stats.position_bias import Interventions

# Documents a and b are shown at positions 1 and 2, document c at positions 1, 2 and 3.
DOCUMENT, POSITION = np.array([0, 0, 1, 1, 2, 2, 2]), np.array([0, 1, 0, 1, 0, 1, 2])
RATES = np.array([0.8, 0.4, 0.6, 0.1, 0.5, 0.3, 0.2])


def estimate(method, document=DOCUMENT, position=POSITION, rates=RATES, weights=None):
    pairs = Interventions.of(document, position, method)
    weights = np.ones(len(pairs.first)) if weights is None else weights
    return pairs.estimate(rates, weights, position.max() + 1, method)


@pytest.mark.parametrize(
    "method, expected",
    [
        ("pivot", [1, (0.4 + 0.1 + 0.3) / (0.8 + 0.6 + 0.5), 0.2 / 0.5]),
        ("adjacent_chain", [1, 0.8 / 1.9, 0.8 / 1.9 * (0.2 / 0.3)]),
    ],
)
def test_ratios_of_clicks_of_the_same_documents(method, expected):
    assert estimate(method) == pytest.approx(expected, rel=1e-14)
    assert estimate(method, rates=RATES / 2) == pytest.approx(expected, rel=1e-14)


def test_pairs_are_weighted():
    weights = np.array([1.0, 3, 2, 2])  # the pairs of position 1 with a, b and c at 2, and c at 3
    expected = (1 * 0.4 + 3 * 0.1 + 2 * 0.3) / (1 * 0.8 + 3 * 0.6 + 2 * 0.5)
    result = estimate("pivot", weights=weights)
    assert result[1:] == pytest.approx([expected, 0.2 / 0.5], rel=1e-14)


def test_all_pairs_of_two_positions_have_the_ratio_of_clicks():
    first = slice(0, 4)
    result = estimate("all_pairs", DOCUMENT[first], POSITION[first], RATES[first])
    assert result == pytest.approx([1, (0.4 + 0.1) / (0.8 + 0.6)], rel=1e-5)


def test_all_pairs_maximize_the_likelihood():
    # positions i and j, number of documents, clicks at i and at j
    pairs = [(0, 1, 3, 1.9, 0.8), (0, 2, 1, 0.5, 0.2), (1, 2, 1, 0.3, 0.2)]

    def loss(parameters):
        theta, rho = np.append(1.0, parameters[:2]), parameters[2:]  # one ρ per pair of positions
        return -sum(
            clicks * np.log(theta[k] * r) + (n - clicks) * np.log1p(-theta[k] * r)
            for (i, j, n, *both), r in zip(pairs, rho, strict=True)
            for k, clicks in zip((i, j), both, strict=True)
        )

    best = optimize.minimize(loss, [0.5] * 5, bounds=[(1e-3, 1 - 1e-6)] * 5, tol=1e-14)
    assert estimate("all_pairs") == pytest.approx([1, *best.x[:2]], rel=1e-3)


def test_positions_without_clicks_are_0_and_positions_without_pairs_unknown():
    document, position = np.array([0, 0, 1]), np.array([0, 1, 2])
    for method in ("pivot", "adjacent_chain", "all_pairs"):
        result = estimate(method, document, position, np.array([0.5, 0, 0.5]))
        assert result[:2].tolist() == [1, 0]
        assert np.isnan(result[2])
