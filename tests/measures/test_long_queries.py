"""Long queries: many grade levels, and cut-offs far above the length of a tie block.

Short queries do not reach every algorithm (few or many levels, all sorted or only the top k). Long
queries without ties are compared with the definition. Long queries with ties are compared with the
values of the same documents in all orders that the scores allow.
"""

import math
from fractions import Fraction
from itertools import pairwise, product

import generate
import numpy as np
import pytest
from registry import REGISTRY, build, by_definition

import skgraded as sg

pytestmark = pytest.mark.filterwarnings("ignore:More than 1,000 rows are evaluated as one query")
TOLERANCE = {"rtol": 1e-9, "atol": 1e-12}
DEPTHS = (None, 10, 40, 100, 5000)
WITH_TIES = [name for name, entry in REGISTRY.items() if entry.tie_rules != (None,)]


def deep_settings(name, start):
    """Every fourth setting of a measure, with cut-offs for long queries."""
    settings = REGISTRY[name].settings[start % 4 :: 4] or REGISTRY[name].settings
    for place, setting in enumerate(settings, start):
        is_depth = setting.get("k", "mean") != "mean"
        yield setting | ({"k": DEPTHS[place % len(DEPTHS)]} if is_depth else {})


def graded(n_levels, n):
    """Return n grades with this number of levels above 0, in random order."""
    rng = np.random.default_rng(n_levels)
    levels = np.round(np.cumsum(rng.exponential(0.3, n_levels) + 0.01), 3)
    return rng.permutation(np.append(levels, rng.choice([0.0, *levels], n - n_levels)))


def check_definition(name, setting, grades, scores):
    expected = by_definition(name, setting, grades.tolist(), scores.tolist(), digits=20)
    for ties, value in expected.items():
        measure = build(name, setting, ties=ties)
        np.testing.assert_allclose(
            measure(grades, scores), value or 0.0, **TOLERANCE, err_msg=str(measure)
        )


@pytest.mark.parametrize("n_levels", [1, 17])
@pytest.mark.parametrize("name", REGISTRY)
def test_every_measure_equals_its_definition_on_long_queries(name, n_levels):
    rng = np.random.default_rng(0)
    for setting in deep_settings(name, n_levels):
        grades = graded(n_levels, 50 if n_levels > 1 or setting.get("k") == "mean" else 120)
        scores = rng.permutation(len(grades)) * 1.0
        if not REGISTRY[name].definition.unretrieved_last:
            scores[scores < len(grades) // 4] = -np.inf
        if REGISTRY[name].definition.of_scores:
            scores = np.floor(scores / 3)  # the definition includes ties
        check_definition(name, setting, grades, scores)


# Sums over pairs of documents change their method with the number of levels.
@pytest.mark.parametrize("n_levels", [2, 5, 15, 16, 18, 33, 64, 65, 200])
@pytest.mark.parametrize("name", ["GAP", "EDRC"])
def test_sums_over_pairs_equal_their_definition_for_any_number_of_levels(name, n_levels):
    scores = np.random.default_rng(n_levels).permutation(250)
    check_definition(name, {}, graded(n_levels, 250), scores // (1 if name == "GAP" else 20) * 1.0)


# Ties --------------------------------------------------------------------------------------------


def mean_over_orders(measure, grades, scores):
    """Return the mean of the values over all orders of tied documents, each without ties."""
    is_last = REGISTRY[type(measure).__name__].definition.unretrieved_last
    known = [None if score == -np.inf else score for score in scores.tolist()]
    orders = np.array(
        list(generate.ranked_lists(generate.tie_blocks(grades.tolist(), known, is_last)))
    )
    others = np.tile(grades[scores == -np.inf] if not is_last else [], (len(orders), 1))
    places = np.append(-np.arange(orders.shape[1]), np.full(others.shape[1], -np.inf))
    return measure.per_query(
        np.hstack([orders, others]).ravel(),
        np.tile(places, len(orders)),
        group=[len(places)] * len(orders),
    ).mean()


@pytest.mark.parametrize("name", [name for name in WITH_TIES if name != "InterpolatedPrecision"])
@pytest.mark.parametrize("n_levels", [2, 16, 66])
def test_the_value_of_ties_is_the_mean_over_all_orders(name, n_levels):
    grades = graded(n_levels, 150)
    scores = -np.arange(150.0)
    # blocks of two and three documents, also at the cut-offs 10, 40 and 100
    for first, last in ((2, 4), (8, 11), (39, 41), (99, 102), (140, 142)):
        scores[first:last] = scores[first]
    one_block = np.where(np.arange(150) < 100, np.where(np.arange(150) < 4, 1.0, 0.0), -np.inf)
    few = np.zeros(150)
    few[[2, 50, 120]] = 1, 2, 3  # 4 orders of the first block, and 96 of the long block
    for setting in deep_settings(name, n_levels):
        measure = build(name, setting, ties="average")
        for rows in ((grades, scores), (few, one_block)):
            expected = mean_over_orders(measure, *rows)
            np.testing.assert_allclose(measure(*rows), expected, **TOLERANCE, err_msg=str(measure))


# The top k may be found without a full sort if k is much smaller than the query. Each list of
# scores puts the cut-off inside a tie block, at its edge, or before it.
SCORINGS = {
    "steps": lambda n, rng: np.floor(rng.uniform(0, 12, n)),
    "mostly one value": lambda n, rng: np.where(rng.random(n) < 0.97, 0.25, rng.normal(size=n)),
    "few retrieved": lambda n, rng: np.where(
        rng.random(n) < 0.98, -np.inf, rng.integers(0, 4, n).astype(float)
    ),
    "distinct": lambda n, rng: rng.normal(size=n),
    "rising": lambda n, rng: np.arange(n, dtype=float),
    "falling": lambda n, rng: -np.arange(n, dtype=float),
    "constant": lambda n, rng: np.full(n, -0.0),
    "pairs": lambda n, rng: rng.permutation(n) // 2 * 1.0,
    "differing in the last bit": lambda n, rng: 1.0 + rng.integers(0, 40, n) * 2.0**-52,
    "infinite at the top": lambda n, rng: np.where(
        rng.random(n) < 0.02, np.inf, rng.normal(size=n)
    ),
}


SIZES = (1000, 257, 129, 65, 64, 33, 20, 5, 1)
RULES = {"ordinal": 0, "best": -1, "worst": 1}  # signs of the grade among equal scores


def in_order(grades, scores, ties):
    """Return distinct scores in the order of a tie rule."""
    order = np.lexsort((np.arange(len(grades)), RULES[ties] * grades, -scores))
    places = np.argsort(order).astype(float)
    return np.where(scores > -np.inf, -places, -np.inf)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_cut_offs_inside_ties_at_any_depth(scoring):
    rng = np.random.default_rng(len(scoring))
    for n in SIZES:
        grades = rng.choice([0, 0, 0, 0, 1, 2, 3, 4], n).astype(float)
        scores = SCORINGS[scoring](n, rng)
        _, block, size = np.unique(-scores, return_inverse=True, return_counts=True)
        mean_gains = np.bincount(block, 2.0**grades - 1) / size
        gains = np.sort(block)  # the blocks in ranked order
        gains = mean_gains[gains] * (np.sort(-scores) < np.inf) / np.log2(np.arange(n) + 2)
        for k in (1, 2, 10, 16, 32, 33, 64, 128, 999):
            assert sg.DCG(k=k)(grades, scores) == pytest.approx(gains[:k].sum(), rel=1e-12)


@pytest.mark.parametrize("name", [n for n in WITH_TIES if "k" in REGISTRY[n].settings[0]])
def test_tie_rules_inside_the_cut_off_equal_the_order_without_ties(name):
    rng = np.random.default_rng(0)
    for scoring, n in product(SCORINGS.values(), SIZES):
        grades, scores = rng.choice([0, 0, 0, 0, 1, 2, 3, 4], n).astype(float), scoring(n, rng)
        for ties, k in zip(RULES, rng.choice([1, 10, 32, 400], 3).tolist(), strict=True):
            measure = build(name, {"k": k}, ties=ties)
            expected = measure(grades, in_order(grades, scores, ties))
            assert measure(grades, scores) == pytest.approx(expected, abs=1e-12), measure


def test_100000_levels_do_not_take_quadratic_time():
    n = 100_000
    grades = np.arange(n, 0, -1) / n
    assert sg.MuAP()(grades, grades) == pytest.approx(1.0, abs=1e-9)

    # If all documents are tied, position i adds (1/i) · (1/n + (i-1) · (R-1) / (n (n-1))) on
    # average at the level that R documents reach; the levels are equally far apart.
    harmonic = np.sum(1 / np.arange(1, n + 1))
    relevant = np.arange(1, n + 1)
    by_level = (harmonic + (n - harmonic) * (relevant - 1) / (n - 1)) / n
    assert sg.MuAP()(grades, np.zeros(n)) == pytest.approx(by_level.mean(), rel=1e-9)


def test_correlations_of_100000_levels_do_not_take_quadratic_time():
    n = 100_000
    grades = np.arange(n, 0, -1) / n
    for measure in (sg.TauAP(), sg.EDRC(), sg.EDRC(discount="exp2")):
        assert measure(grades, grades) == pytest.approx(1, abs=1e-9)
        assert measure(grades, -grades) == pytest.approx(-1, abs=1e-9)
        assert measure(grades, np.zeros(n)) == pytest.approx(0, abs=1e-9)


# ERR of long ties --------------------------------------------------------------------------------


def stops(grades, max_grade):
    return -np.expm1(-np.log(2) * grades) * np.exp2(grades - max_grade)


def probability_to_go_on(values):
    """Probability to pass i documents of a tie, from their exact elementary symmetric sums."""
    n, whole = len(values), 2**600
    symmetric = np.array([whole] + [0] * n, dtype=object)
    for value in values.tolist():
        goes_on = Fraction(1) - Fraction(value)
        symmetric[1:] += symmetric[:-1] * goes_on.numerator // goes_on.denominator
    chosen, after = 1, []  # C(n, i) sets of i documents
    for i, e in enumerate(symmetric.tolist()):
        after.append(Fraction(e, chosen * whole))
        chosen = chosen * (n - i) // (i + 1)
    return after


GRADES_OF_TIES = {
    "0 to 4": lambda rng, n: rng.integers(0, 5, n),
    "low": lambda rng, n: rng.uniform(0, 2, n),
    "rarely low": lambda rng, n: np.where(rng.uniform(size=n) < 0.3, 2, 0),
    "tiny": lambda rng, n: rng.uniform(0, 1e-9, n),
    "of many sizes": lambda rng, n: np.minimum(rng.exponential(1, n), 4),
    "all one": lambda rng, n: np.full(n, 1),
}


@pytest.mark.parametrize("n", [100, 129, 400])
@pytest.mark.parametrize("grades_of", GRADES_OF_TIES)
def test_err_of_a_tie_equals_exact_arithmetic(grades_of, n):
    grades = GRADES_OF_TIES[grades_of](np.random.default_rng(n), n).astype(float)
    after = probability_to_go_on(stops(grades, 4))
    stopping = [float(one - following) for one, following in pairwise(after)]
    for before, k in product((0, 7), (10, 150, 5000)):
        scores = np.concatenate([np.arange(before, 0, -1) + 1.0, np.ones(n)])
        depth = max(0, min(n, k - before))
        expected = math.fsum(stop / (before + i + 1) for i, stop in enumerate(stopping[:depth]))
        value = sg.ERR(k=k, max_grade=4)(np.concatenate([np.zeros(before), grades]), scores)
        assert value == pytest.approx(expected, rel=1e-13), (before, k)


def test_err_of_200000_tied_documents_takes_linear_time():
    # In such a long tie, the documents above are nearly independent, and Σ_i v (1 - v)^(i-1) / i is
    # v / (1 - v) · ln(1 / v).
    grades = np.random.default_rng(0).integers(0, 5, 200_000)
    v = stops(grades, 4).mean()
    expected = v / (1 - v) * math.log(1 / v)
    assert sg.ERR()(grades, np.zeros(200_000)) == pytest.approx(expected, rel=1e-4)
