"""Random queries that contain difficult cases."""

from dataclasses import dataclass
from functools import cached_property
from math import inf, nextafter

import numpy as np

GRADES = {
    "five levels": (0, 0, 1, 2, 3, 4),
    "binary": (0, 1),
    "fractional": (0, 0.3, 0.5, 1, 2.5),
    "large": (0, 0.5, 2.5, 899, 900, 1000),
    "tiny": (0, 1e-300, 2e-300, 3.5e-300),
    "tiny and large": (0, 1e-300, 1, 900),
    "nearly equal": (0, 1, nextafter(1, 2), nextafter(1, 0), 2),
}

SCORES = {
    "tied": (0.1, 0.2, 0.3),
    "distinct": None,
    "constant": (0.7,),
    "not retrieved": (-inf, -inf, 0.0, 1.0, 2.0),
    "signed zeros": (-1.0, -0.0, 0.0, 1.0),
    "infinite": (-inf, -1e308, 1e308, inf),
    "last bits": (1.0, nextafter(1, 2), nextafter(1, 0), nextafter(nextafter(1, 2), 2)),
    "same in single precision": (1.0, 1 + 1e-9, 1 + 2e-9),
    "tiny": (0.0, 5e-324, -5e-324, 1e-300),
    "negative": (-1000.0, -2.0, -2.5, -1e-3),
}


@dataclass
class Queries:
    """Interleaved rows of several queries; ``parts`` contains (grades, scores) for each query."""

    y_true: np.ndarray
    y_score: np.ndarray
    qid: np.ndarray

    @cached_property
    def parts(self):
        ids = dict.fromkeys(self.qid.tolist())
        rows = [np.flatnonzero(self.qid == query) for query in ids]
        return [(self.y_true[r].tolist(), self.y_score[r].tolist()) for r in rows]

    def __len__(self):
        return len(np.unique(self.qid))


def random_queries(seed, n_queries, sizes, grades=None, scores=None):
    """Make queries of ``sizes`` = (fewest, most) documents, their rows shuffled together.

    Each query draws its grades from one pool of `GRADES` and its scores from one of `SCORES`,
    unless a pool is given.
    """
    rng = np.random.default_rng(seed)
    y_true, y_score, qid = [], [], []
    for query in range(n_queries):
        n = int(rng.integers(sizes[0], sizes[1] + 1))
        grade_pool = grades or GRADES[rng.choice(list(GRADES))]
        score_pool = scores or SCORES[rng.choice(list(SCORES))]
        y_true.append(rng.choice(grade_pool, n))
        y_score.append(rng.normal(size=n) if score_pool is None else rng.choice(score_pool, n))
        qid.append(np.full(n, query))
    order = rng.permutation(sum(map(len, qid)))
    return Queries(*(np.concatenate(parts)[order] for parts in (y_true, y_score, qid)))
