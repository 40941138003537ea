"""Simple, slow tools for the closed forms in `registry`, which do not use the package under test.

Long queries have too many orders of tied documents to enumerate, so the closed forms compute the
expectation at each position. `conformance/generate.py` enumerates all orders of short queries.
"""

from itertools import chain
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


def untied(grades, scores, ties, unretrieved_last=False):
    """Return distinct scores in the order of ``ties``: "ordinal", "best" or "worst".

    No measure increases if a higher grade moves down, so the best order of tied documents is by
    descending grade; the tests compare the values with those of all orders of short queries.
    """
    sign = {"ordinal": 0, "best": -1, "worst": 1}[ties]
    rows = sorted(range(len(grades)), key=lambda row: (-scores[row], sign * grades[row], row))
    distinct = dict(zip(rows, range(len(rows), 0, -1), strict=True))
    return [
        float(distinct[row]) if score > -inf or unretrieved_last else -inf
        for row, score in enumerate(scores)
    ]


def is_relevant(grades, threshold):
    grades = np.asarray(grades, dtype=float)
    return grades > 0 if threshold is None else grades >= threshold


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
    blocks, means = tie_blocks(grades, scores), []
    gains = gain(np.array(list(chain.from_iterable(blocks)), dtype=float))
    for block in blocks:
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
