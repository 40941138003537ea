"""Sorting of numbers with equal keys; the tests of measures cover all other numbers."""

import os
import subprocess
import sys

import numpy as np
import pytest
from registry import REGISTRY, with_ties

import skgraded as sg
from skgraded._kernels import sort
from skgraded.judgments import layout_of

SORTS = [sort.OWN, sort.VECTORS]

N = 100_000  # large enough that a sort with quadratic time would not end
LAST_BITS = 2.0**-52


@pytest.fixture(scope="module")
def places():
    """Return integers in random order, some of which occur twice."""
    rng = np.random.default_rng(0)
    return rng.permutation(N) // rng.choice([1, 2], N, p=[0.9, 0.1])


@pytest.mark.parametrize("k", [None, 10, 1000])
@pytest.mark.filterwarnings("ignore:More than 1,000 rows are evaluated as one query")
def test_a_long_query_of_scores_that_differ_in_their_last_bits_only(places, k):
    grades = np.random.default_rng(1).integers(0, 5, N)
    measure = sg.NDCNG(k=k)
    assert measure(grades, 1 + places * LAST_BITS) == measure(grades, places)


def test_a_long_query_of_grades_that_differ_in_their_last_bits_only(places):
    layout = layout_of(sg.Judgments(1 + places * LAST_BITS))
    grades, codes = np.unique(places, return_inverse=True)
    np.testing.assert_array_equal(layout.codes, codes + 1)  # code 0 belongs to grade 0
    np.testing.assert_array_equal(layout.levels[1:], 1 + grades * LAST_BITS)


CUT_OFFS = (1, 2, 19, 20, 21, 22)  # up to 20, a sample of the scores excludes documents


@pytest.mark.parametrize("n", [127, 128, 129])  # the last index 126 is 0b1111110
def test_a_tie_at_the_cut_off_reaches_to_the_last_row(n):
    for k in CUT_OFFS:
        scores = np.zeros(n)
        scores[: k - 1], scores[[k - 1, n - 1]] = 2, 1
        grades = np.zeros(n)
        grades[n - 1] = 1
        assert sg.Precision(k=k)(grades, scores) == pytest.approx(1 / 2 / k)
        assert sg.Precision(k=k, ties="ordinal")(grades, scores) == 0
        assert sg.RR(k=k, ties="best")(grades, scores) == 1 / k


@pytest.mark.parametrize("n", [127, 128, 129])
def test_the_document_after_the_cut_off_does_not_count(n):
    for k in CUT_OFFS:
        scores = np.random.default_rng(n + k).permutation(n)
        for place, expected in ((k, 1 / k), (k + 1, 0.0)):
            assert sg.RR(k=k)(scores == n - place, scores) == expected


# Implementations of the sort ---------------------------------------------------------------------

@pytest.fixture
def use():
    before = sort.use(sort.OWN)
    sort.use(before)
    yield sort.use
    sort.use(before)


def columns_of(kind):
    """Return grades, scores and query ids; the queries contain 1 to 700 documents."""
    rng = np.random.default_rng(0)
    sizes = [1, 2, 15, 16, 17, 31, 32, 33, 64, 120, 129, 511, 513, 700]
    qid = np.repeat(np.arange(len(sizes)), sizes)
    n = len(qid)
    scores = {
        "distinct": rng.normal(size=n),
        "tied": np.round(rng.normal(size=n), 1),
        "tied by half": np.where(rng.random(n) < 0.5, 0.0, rng.normal(size=n)),
        "last bits": 1 + rng.integers(0, 40, n) * LAST_BITS,
        "not retrieved": np.where(rng.random(n) < 0.3, -np.inf, np.round(rng.normal(size=n), 2)),
        "infinite": rng.choice([np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324], n),
        "constant": np.zeros(n),
    }[kind]
    return rng.choice([0, 0, 0.5, 1, 2, 3.3], n), scores, qid


@pytest.mark.parametrize(
    "kind",
    ["distinct", "tied", "tied by half", "last bits", "not retrieved", "infinite", "constant"],
)
def test_every_measure_has_the_same_bits_with_each_sort(use, kind):
    y_true, y_score, qid = columns_of(kind)
    judgments = sg.Judgments(y_true, qid=qid)
    for entry in REGISTRY.values():
        for measure in entry.few:
            for ties in entry.tie_rules:
                result = []
                for number in SORTS:
                    use(number)
                    result.append(with_ties(measure, ties).per_query(judgments, y_score).tobytes())
                assert result[0] == result[1]


def test_the_sort_depends_on_the_vector_instructions_of_the_processor(use):
    fastest = sort.fastest()
    assert use(fastest) == fastest
    features = set(np.show_config(mode="dicts")["SIMD Extensions"]["found"])
    enough = {"AVX512_SKX", "X86_V4"}
    if int(np.__version__[0]) >= 2:
        enough |= {"AVX2", "X86_V3"}
    if enough & features:
        assert fastest == sort.VECTORS


@pytest.mark.nightly
def test_a_sort_is_chosen_on_a_processor_without_vectors():
    # NumPy then uses its baseline, which may be enough for the sort with vectors.
    features = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    environment = os.environ | {"NPY_DISABLE_CPU_FEATURES": " ".join(features)}
    code = "from skgraded._kernels import sort; x = sort.fastest(); print(x, sort.use(x) == x)"
    command = [sys.executable, "-W", "ignore", "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert process.stdout.split("\n")[0] in [f"{number} True" for number in SORTS]
