"""Grade levels, numbered ids and ideal orders, also at the limits of tables."""

import time

import numpy as np
import pytest

import skgraded as sg
from skgraded.judgments import get_layout


@pytest.mark.parametrize("top", [62, 63, 64, 65])  # integers below 64 are looked up in a table
def test_integer_grades_around_64(top):
    layout = get_layout(sg.Judgments([0, 1, top, 2, top, 0]))
    assert layout.codes.tolist() == [0, 1, 3, 2, 3, 0]
    assert layout.levels.tolist() == [0, 1, 2, top]
    assert layout.counts.tolist() == [2, 1, 1, 2]


def one_more(grades):
    return grades + 1


def test_grade_0_may_have_a_gain_in_the_ideal_order():
    scores = [3, 2, 1]
    ideal = 2 / 1 + 1 / np.log2(3) + 1 / 2
    expected = (1 / 1 + 2 / np.log2(3) + 1 / 2) / ideal
    assert sg.NDCG(gain=one_more)([0, 1, 0], scores) == pytest.approx(expected, rel=1e-15)
    at_2 = (1 / 1 + 2 / np.log2(3)) / (2 / 1 + 1 / np.log2(3))
    assert sg.NDCG(2, gain=one_more)([0, 1, 0], scores) == pytest.approx(at_2, rel=1e-15)
    mean = (1 / 2 + at_2 + expected) / 3
    assert sg.NDCG("mean", gain=one_more)([0, 1, 0], scores) == pytest.approx(mean, rel=1e-15)


@pytest.mark.parametrize("n_ids", [3, 700, 5000])  # the hash table starts with 1,024 slots
def test_64_bit_ids_are_numbered_in_order_of_first_appearance(n_ids):
    rng = np.random.default_rng(0)
    ids = rng.integers(-(2**63), 2**63 - 1, n_ids)
    ids[:2] = -(2**63), 2**63 - 1
    qid = ids[rng.integers(0, n_ids, 20_000)]
    judgments = sg.Judgments(np.ones(20_000), qid=qid)
    number_of = {query: number for number, query in enumerate(dict.fromkeys(qid.tolist()))}
    assert judgments.query_ids.tolist() == list(number_of)
    expected = [number_of[query] for query in qid.tolist()]
    assert get_layout(judgments).query_of_row.tolist() == expected


GOLDEN = 0x9E3779B97F4A7C15


def test_ids_that_collide_without_a_seed_are_numbered_as_fast_as_others():
    """With equal hashes, 100,000 ids take some 10 s instead of 0.02 s."""
    # The products of the ids with GOLDEN have equal halves, except for one bit each.
    half = np.arange(100_000, dtype=np.uint64)
    product = (half << np.uint64(32)) | (half ^ np.uint64(1))
    ids = (product * np.uint64(pow(GOLDEN, -1, 2**64))).view(np.int64)
    start = time.process_time()
    judgments = sg.Judgments(np.ones(len(ids)), qid=ids)
    assert time.process_time() - start < 2
    assert judgments.query_ids.tolist() == ids.tolist()


def pair_sums(weights):
    """Return (1/p) Σ_{j≤p} min(w_j, w_p) for each position p, computed in pieces."""
    sums, size = [], 300
    for start in range(0, len(weights), size):
        before, piece = np.sort(weights[:start]), weights[start : start + size]
        lower = np.searchsorted(before, piece)
        earlier = np.append(0, np.cumsum(before))[lower] + piece * (start - lower)
        sums.append(earlier + np.tril(np.minimum(piece[:, None], piece)).sum(axis=1))
    return np.concatenate(sums) / np.arange(1, len(weights) + 1)


@pytest.mark.parametrize("n", [20, 257, 4097])
@pytest.mark.filterwarnings("ignore:More than 1,000 rows are evaluated as one query")
def test_sums_over_many_levels_equal_sums_over_all_pairs(n):
    ranked, scores = np.random.default_rng(n).permutation(n) + 1, -np.arange(n)
    # the weights of the grades 1 to n, each of which occurs once
    weights = np.cumsum(1 / np.arange(n, 0, -1))[ranked - 1] / n
    sums = pair_sums(weights)
    assert sg.MuAP()(ranked, scores) == pytest.approx(sums.sum(), rel=1e-12)
    # Swapping or tying two neighbors changes only the sums at their positions.
    swap, both = slice(n // 2, n // 2 + 2), slice(n // 2 + 2)
    swapped = weights[both].copy()
    swapped[swap] = weights[swap][::-1]
    others = [np.minimum(swapped[: p + 1], swapped[p]).sum() / (p + 1) for p in range(n)[swap]]
    tied = scores.copy()
    tied[swap] = scores[n // 2 + 1]
    expected = sums.sum() + (sum(others) - sums[swap].sum()) / 2
    assert sg.MuAP()(ranked, tied) == pytest.approx(expected, rel=1e-14)
    assert sg.MuAP()(ranked, tied) != sg.MuAP()(ranked, scores)
