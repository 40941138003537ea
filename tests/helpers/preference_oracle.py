"""Simple reference implementations for preference pairs, and random pairs."""

import itertools

import numpy as np


def closed(pairs):
    """Return the transitive closure of the pairs."""
    pairs = set(pairs)
    while True:
        follow = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not follow:
            return pairs
        pairs |= follow


def implied(scores):
    """Return the pairs that grades or scores imply; nan implies none."""
    return {(v, w) for v, w in itertools.permutations(scores, 2) if scores[v] > scores[w]}


def edrc(true, predicted, D=lambda rank: rank, prior=0.5, items=None, undefined=0.0, extra=()):
    """Compute EDRC by its definition; `extra` contains items that occur in no pair."""
    if items is None:
        items = {item for pair in [*true, *predicted] for item in pair} | set(extra)
    G = {(v, w) for v, w in closed(true) if v in items and w in items}
    G_hat = {(v, w) for v, w in closed(predicted) if v in items and w in items}

    def R(v):
        return 1 + max((R(u) for u in items if (u, v) in G), default=0)

    def EP(v, w):
        if (w, v) in G and (w, v) in G_hat:
            return 1
        if (w, v) in G and (v, w) in G_hat:
            return 0
        if not callable(prior):
            return prior
        # probability that both sides agree; a side without a preference has the prior
        p = prior(w, v)
        true = 1 if (w, v) in G else p
        agreed = 1 if (w, v) in G_hat else 0 if (v, w) in G_hat else p
        return true * agreed + (1 - true) * (1 - agreed)

    total = Z = 0
    for v in items:
        if R(v) > 1:
            W = [w for w in items if w != v and (v, w) not in G]
            total += sum(EP(v, w) for w in W) / D(R(v))
            Z += len(W) / D(R(v))
    return 2 * total / Z - 1 if Z else undefined


def known_pairs(true, predicted, items):
    """Return the numbers of known pairs and of their correct and incorrect predictions."""
    known = {(v, w) for v, w in closed(true) if v in items and w in items}
    order = closed(predicted)
    return len(known), len(known & order), len({(w, v) for v, w in known} & order)


def settled(pairs, cycles):
    """Return the pairs that `cycles` keeps; they contain no cycle."""
    if cycles == "majority":
        pairs = [(v, w) for v, w in pairs if pairs.count((v, w)) >= pairs.count((w, v))]
    follow = closed(pairs)
    return {(v, w) for v, w in pairs if (w, v) not in follow}


def random_pairs(rng, n_items, n_pairs):
    """Return acyclic pairs of numbers below n_items; pairs may be repeated."""
    names = rng.permutation(n_items).tolist()
    ends = [sorted(rng.choice(n_items, 2, replace=False).tolist()) for _ in range(n_pairs)]
    return [(names[a], names[b]) for a, b in ends]


def random_cases(n_cases, seed=0, max_items=8):
    rng = np.random.default_rng(seed)
    for _ in range(n_cases):
        n = int(rng.integers(2, max_items))
        yield rng, n, random_pairs(rng, n, int(rng.integers(1, 2 * n)))
