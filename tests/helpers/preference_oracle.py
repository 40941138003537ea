"""EDRC of preference pairs by its definition, slow and obvious."""

import itertools


def closed(pairs):
    """All pairs that follow from pairs."""
    pairs = set(pairs)
    while True:
        follow = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not follow:
            return pairs
        pairs |= follow


def implied(scores):
    """The pairs that grades or scores imply; nan implies none."""
    return {(v, w) for v, w in itertools.permutations(scores, 2) if scores[v] > scores[w]}


def edrc(true, predicted, D=lambda rank: rank, prior=0.5, items=None, undefined=0.0, extra=()):
    """EDRC by its definition; `extra` are items in no pair."""
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
        return prior(w, v) if callable(prior) else prior

    total = Z = 0
    for v in items:
        if R(v) > 1:
            W = [w for w in items if w != v and (v, w) not in G]
            total += sum(EP(v, w) for w in W) / D(R(v))
            Z += len(W) / D(R(v))
    return 2 * total / Z - 1 if Z else undefined


def settled(pairs, cycles):
    """The pairs that `cycles` lets stand: none that others lead back from worse to better."""
    if cycles == "majority":
        pairs = [(v, w) for v, w in pairs if pairs.count((v, w)) >= pairs.count((w, v))]
    follow = closed(pairs)
    return {(v, w) for v, w in pairs if (w, v) not in follow}


def left_out(pairs, cycles):
    """Sets of the pairs of two items that were judged, contradicted, and otherwise in a cycle."""
    judged = {frozenset(pair) for pair in pairs}
    unknown = judged - {frozenset(pair) for pair in settled(pairs, cycles)}

    def is_contradicted(v, w):
        n, m = pairs.count((v, w)), pairs.count((w, v))
        return n == m if cycles == "majority" else n > 0 < m

    contradicted = {pair for pair in judged if is_contradicted(*pair)}
    return judged, contradicted, unknown - contradicted
