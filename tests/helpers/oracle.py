"""Simple, slow tools for the reference implementations in `registry`.

For short queries, all orders that the scores allow are enumerated, one row per order. A measure is
its formula for each row. The mean over the rows is the expectation under ties, the largest and the
smallest value are the best and the worst, and the first row is row order. Long queries have too
many orders, so `average_*` compute the expectation at each position. This module does not use the
package under test.
"""

from itertools import chain, permutations, product
from math import inf

import numpy as np


def tie_blocks(grades, scores, unretrieved_last=False):
    """Return the grades of retrieved documents, one list per distinct score, in descending order.

    With ``unretrieved_last``, documents that were not retrieved form the last list.
    """
    blocks: dict = {}
    for grade, score in zip(grades, scores, strict=True):
        if score > -inf or unretrieved_last:
            blocks.setdefault(score, []).append(grade)
    return [blocks[score] for score in sorted(blocks, reverse=True)]


def orders(grades, scores, unretrieved_last=False):
    """Return all lists that the scores allow, as rows of grades; the first is in row order."""
    blocks = tie_blocks(grades, scores, unretrieved_last)
    choices = product(*(permutations(block) for block in blocks))
    lists = [list(chain.from_iterable(order)) for order in choices]
    return np.array(lists, dtype=float).reshape(len(lists), -1)


def one_order(grades, scores, ties, unretrieved_last=False):
    """Return the single ranked list of ``ties`` "ordinal", "best" or "worst", as a one-row array.

    No measure increases if a higher grade moves down, so the best order of tied documents is by
    descending grade; the tests compare the values with those of all `orders` of short queries.
    """
    blocks = tie_blocks(grades, scores, unretrieved_last)
    if ties != "ordinal":
        blocks = [sorted(block, reverse=ties == "best") for block in blocks]
    return np.array(list(chain.from_iterable(blocks)), dtype=float).reshape(1, -1)


def over_ties(values, ties):
    """Return the value for a tie rule, given the values of all orders."""
    if values is None:
        return None
    rule = {"average": np.mean, "best": np.max, "worst": np.min, "ordinal": lambda v: v[0]}
    return float(rule[ties](values))


def is_relevant(grades, threshold):
    grades = np.asarray(grades, dtype=float)
    return grades > 0 if threshold is None else grades >= threshold


def precision_at_each_position(relevant):
    return np.cumsum(relevant, axis=1) / np.arange(1, relevant.shape[1] + 1)


GAINS = {
    # These gains are divided by a constant, which does not change the ratio of two sums.
    "exp2": lambda grades: np.expm1(np.asarray(grades) * np.log(2)),
    "linear": np.asarray,
}


DISCOUNTS = {
    "log2": lambda ranks: 1 / np.log2(ranks + 1),
    "letor": lambda ranks: np.where(ranks <= 2, 1.0, 1 / np.log2(np.maximum(ranks, 2))),
}


def expected_gains(gain, grades, scores):
    """Return the expected gain at each position, the mean over its block of tied documents."""
    gains, means = gain(one_order(grades, scores, "ordinal")[0]), []
    for block in tie_blocks(grades, scores):
        means += [np.mean(gains[len(means) : len(means) + len(block)])] * len(block)
    return np.array(means)


def average_pair_form(weight, grades, scores, k=None):
    """Expectation of Σ_{p ≤ k} (1/p) Σ_{j ≤ p} min(w_j, w_p), for the weights of the grades."""
    total, before = 0.0, np.array([])
    for block in tie_blocks(grades, scores):
        w, a, n = weight(np.array(block)), len(before), len(block)
        with_earlier = np.minimum.outer(before, w).sum() / n
        pairs = np.minimum.outer(w, w)
        with_tied = (pairs.sum() - w.sum()) / (n * (n - 1)) if n > 1 else 0.0
        i = np.arange(1, n + 1)
        at_position = (with_earlier + w.mean() + (i - 1) * with_tied) / (a + i)
        total += at_position[a + i <= (k or inf)].sum()
        before = np.concatenate([before, w])
    return total


def signs(values):
    """Return the sign of values[i] - values[j] for all pairs, of shape (n, n)."""
    values = np.asarray(values, dtype=float)
    return np.greater.outer(values, values).astype(int) - np.less.outer(values, values)
