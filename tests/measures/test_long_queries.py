"""Long queries: many grade levels, and cut-offs far above the length of a tie block.

Short queries do not reach every algorithm (few or many levels, all sorted or only the top k), so
here each measure is compared with its plain definition on longer ones.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from queries import Queries
from registry import REGISTRY, build

import skgraded as sg

pytestmark = pytest.mark.filterwarnings("ignore:More than 1,000 rows are evaluated as one query")
TOLERANCE = {"rtol": 1e-9, "atol": 1e-12}


def check(name, setting, queries):
    for ties in REGISTRY[name].tie_rules:
        measure = build(name, setting, ties=ties)
        values = measure.per_query(queries.y_true, queries.y_score, qid=queries.qid)
        expected = [REGISTRY[name].value(ties, *part, **setting) or 0.0 for part in queries.parts]
        np.testing.assert_allclose(values, expected, **TOLERANCE, err_msg=str(measure))


TIED = np.round(np.linspace(-2, 2, 23), 2)


@cache
def queries_with_levels(n_levels, n):
    """Queries of n documents that use ``n_levels`` grades > 0 each, and tie in several ways."""
    rng = np.random.default_rng(n_levels)
    levels = np.round(np.cumsum(rng.exponential(0.3, n_levels) + 0.01), 6)
    scorings = [
        rng.choice(TIED, n),
        rng.choice([-np.inf, *TIED[:5]], n),
        np.full(n, 0.5),
        rng.normal(size=n),
    ]
    columns = []
    for qid, scores in enumerate(scorings):
        others = rng.choice([0.0, *levels], n - n_levels)
        grades = rng.permutation(np.concatenate([levels, others]))
        columns.append((grades, scores, np.full(n, qid)))
    return interleaved(columns, rng)


def interleaved(columns, rng):
    """Shuffle the rows of several (grades, scores, qid) together."""
    columns = [np.concatenate(column) for column in zip(*columns, strict=True)]
    order = rng.permutation(len(columns[0]))
    return Queries(*(column[order] for column in columns))


DEPTHS = (None, 10, 40, 100, 5000)


def deep_settings(name, start):
    """Every fourth setting of a measure, with cut-offs for long queries."""
    settings = REGISTRY[name].settings[start % 4 :: 4] or REGISTRY[name].settings
    for place, setting in enumerate(settings, start):
        is_depth = setting.get("k", "mean") != "mean"
        yield setting | ({"k": DEPTHS[place % len(DEPTHS)]} if is_depth else {})


@pytest.mark.parametrize("n_levels", [1, 17])
@pytest.mark.parametrize("name", REGISTRY)
def test_every_measure_equals_its_definition_on_long_queries(name, n_levels):
    for setting in deep_settings(name, n_levels):
        check(name, setting, queries_with_levels(n_levels, 120))


# Sums over pairs of documents change their method with the number of levels.
@pytest.mark.parametrize("n_levels", [2, 5, 15, 16, 18, 33, 64, 65, 200])
@pytest.mark.parametrize("name", ["GAP", "EDRC"])
def test_sums_over_pairs_equal_their_definition_for_any_number_of_levels(name, n_levels):
    check(name, next(deep_settings(name, n_levels)), queries_with_levels(n_levels, 250))


@pytest.mark.parametrize("name", ["ERR", "TauAP", "PairAccuracy"])
def test_measures_equal_their_definition_on_200_levels(name):
    check(name, {}, queries_with_levels(200, 300))


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


@cache
def top_k_queries(scoring):
    """Return interleaved queries of 1 to 1000 documents with the scores of ``scoring``."""
    rng = np.random.default_rng(len(scoring))
    columns = []
    for qid, n in enumerate([1000, 257, 129, 65, 64, 33, 20, 5, 1]):
        grades = rng.choice([0, 0, 0, 0, 1, 2, 3, 4], n).astype(float)
        columns.append((grades, SCORINGS[scoring](n, rng), np.full(n, qid)))
    return interleaved(columns, rng)


WITH_CUT_OFF = [name for name, entry in REGISTRY.items() if "k" in entry.settings[0]]


@pytest.mark.parametrize("scoring", SCORINGS)
def test_cut_offs_inside_ties_at_any_depth(scoring):
    for k in (1, 2, 10, 16, 32, 33, 64, 128, 999):
        check("NDCG", {"k": k}, top_k_queries(scoring))


@pytest.mark.parametrize("name", WITH_CUT_OFF)
def test_cut_offs_inside_ties_for_every_measure(name):
    for place, scoring in enumerate(SCORINGS, start=WITH_CUT_OFF.index(name)):
        if place % 4 == 1:
            check(name, {"k": (1, 32, 400)[place % 3]}, top_k_queries(scoring))


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


@pytest.mark.parametrize("k", [200_000, 50_000])
def test_err_of_a_long_tie_in_which_few_users_stop_does_not_take_quadratic_time(k):
    # One document of the top grade is at any of the n places; the others have R = 2^-20.
    n, low, top = 200_000, 2.0**-20, 1 - 2.0**-20
    grades = np.ones(n)
    grades[123] = 20
    i = np.arange(1, k + 1)
    goes_on = np.exp((i - 1) * np.log1p(-low))  # the user passes i - 1 of the other documents
    stop = (top + (n - i) * low) * goes_on + (i - 1) * low * (1 - top) * goes_on / (1 - low)
    value = sg.ERR(k=k, max_grade=20)(grades, np.zeros(n))
    assert value == pytest.approx((stop / n / i).sum(), rel=1e-13)


def test_err_of_a_long_tie_with_as_many_grades_does_not_take_quadratic_time():
    # grades so low that no user stops: each document is at each rank equally often
    n = 200_000
    grades = np.arange(n) / n
    value = sg.ERR(max_grade=100)(grades, np.zeros(n))
    expected = stops(grades, 100).mean() * (1 / np.arange(1, n + 1)).sum()
    assert value == pytest.approx(expected, rel=1e-12)
