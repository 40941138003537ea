"""Rank-biased overlap: published values, its definition, and ties by enumeration."""

import re
from itertools import permutations, product
from math import inf

import numpy as np
import pytest

import skgraded as sg

# x, y and p of github.com/julian-urbano/sigir2024-rbo, rbo/test.csv and rbo/Python/README.md, with
# their score ext of the variant a
PUBLISHED = [
    (
        "red (blue green) yellow pink",
        "(blue red) white (yellow black purple) green",
        0.95,
        0.6922853,
    ),
    (
        "(i5 i9 i13 i15 i16 i19 i20) (i3 i8)",
        "i6 (i4 i18) i2 i7 i8 i17 i14 (i11 i12) i1",
        0.958074765324023,
        0.0808189832771587,
    ),
    (
        "i13 (i1 i4 i5 i6)",
        "i3 i14 i11 (i10 i15) i12 (i6 i9) i4 i2",
        0.92238320668128,
        0.114619469221414,
    ),
    (
        "i11 (i8 i21) (i2 i18) (i6 i16 i20) (i4 i10)",
        "i8 (i9 i20 i21) (i2 i3) i13 i1 i11 i14 i19",
        0.93912403977192,
        0.46852753894333,
    ),
    ("(i3 i6) (i2 i7) i10", "(i3 i6 i7 i10) (i1 i2)", 0.965413635276732, 0.92051534467649),
    (
        "i4 (i2 i14) i7 i5 i3",
        "(i9 i13) (i6 i8) i1 i5 i10 i15 i11",
        0.986650551181127,
        0.155835200392091,
    ),
    (
        "(i1 i9 i15 i17) i13 i4 i3 i2",
        "(i1 i17) i15 i9 i13 i4 (i2 i3) i14",
        0.959906916802432,
        0.939211367148046,
    ),
    (
        "i21 i20 (i1 i16 i19) (i5 i10) i4",
        "(i12 i17) (i2 i3 i8 i11) (i15 i18) (i6 i13) (i7 i14) i9",
        0.930074017489188,
        0,
    ),
    (
        "(i2 i9 i13 i14 i17) (i5 i11)",
        "i8 i16 (i6 i10 i18) i14 i5 i2 i3 (i1 i11 i19)",
        0.971813369867667,
        0.377432846972023,
    ),
]


def scores_of(text, items):
    """Scores of the items in a ranking such as "a (b c) d"."""
    blocks = [re.findall(r"\w+", block) for block in re.findall(r"\([^)]*\)|\w+", text)]
    score = {item: -place for place, block in enumerate(blocks) for item in block}
    return [score.get(item, -inf) for item in items]


@pytest.mark.parametrize("x, y, p, expected", PUBLISHED)
def test_values_published_by_corsi_and_urbano(x, y, p, expected):
    items = sorted(set(re.findall(r"\w+", x + " " + y)))
    a, b = scores_of(x, items), scores_of(y, items)
    assert sg.rbo(a, b, p, ties="average") == pytest.approx(expected, abs=5e-8)
    assert sg.rbo(b, a, p, ties="average") == pytest.approx(expected, abs=5e-8)


def extrapolated(x, y, p):
    """Equation 32 of Webber et al. for two lists of items without ties."""
    short, long = sorted((x, y), key=len)
    s, n = len(short), len(long)
    overlap = [len(set(short[:d]) & set(long[:d])) for d in range(n + 1)]
    total = sum(overlap[d] / d * p**d for d in range(1, n + 1))
    total += sum(overlap[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    end = (overlap[n] - overlap[s]) / n + overlap[s] / s
    return (1 - p) / p * total + end * p**n


def random_scores(rng, n, distinct):
    while True:
        scores = rng.permutation(n) if distinct else rng.integers(0, 3, n)
        scores = np.where(rng.random(n) < 0.2, -inf, scores)
        if (scores > -inf).any():
            return scores


def orders(scores):
    """All lists of items that the scores allow."""
    values = sorted(set(scores[scores > -inf]), reverse=True)
    blocks = [np.flatnonzero(scores == value).tolist() for value in values]
    choices = product(*(permutations(block) for block in blocks))
    return [[item for block in order for item in block] for order in choices]


@pytest.mark.parametrize("seed", range(20))
def test_without_ties_the_overlap_is_equation_32_of_webber(seed):
    rng = np.random.default_rng(seed)
    x, y = (random_scores(rng, 8, distinct=True) for _ in range(2))
    for p in (0.1, 0.5, 0.9, 0.99):
        expected = extrapolated(orders(x)[0], orders(y)[0], p)
        assert sg.rbo(x, y, p) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_average_is_the_mean_over_all_orders_if_the_lists_are_equally_long(seed):
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(0, 3, 6).astype(float) for _ in range(2))
    expected = np.mean([extrapolated(a, b, 0.8) for a in orders(x) for b in orders(y)])
    assert sg.rbo(x, y, 0.8) == pytest.approx(expected, rel=1e-12)


def test_a_ranking_and_itself_score_1_without_ties():
    assert sg.rbo([3, 2, 1, -inf], [3, 2, 1, -inf]) == pytest.approx(1, abs=1e-15)
    assert sg.rbo([3, 2, 2, 1], [3, 2, 2, 1]) < 1
    assert sg.rbo([1, -inf], [-inf, 1]) == 0
