"""Preferences that contradict each other: which pairs are left out."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from skgraded._input.columns import one_of

CHECK_CYCLES = one_of("cycles", ("raise", "unknown", "majority"))


class LeftOut(NamedTuple):
    """How many pairs of a query are unknown because preferences contradict each other.

    A pair are two items, whichever of them was preferred and however often.
    """

    n_pairs: int  # of which anything was stated
    n_contradicted: int  # stated both ways; by majority: as often the one way as the other
    n_in_cycles: int  # stated one way, within a longer cycle

    @property
    def n_unknown(self) -> int:
        """How many pairs were left out."""
        return self.n_contradicted + self.n_in_cycles


def without_cycles(pairs: list[Any], cycles: str) -> tuple[list[Any], LeftOut]:
    """Pairs without those that ``cycles="unknown"`` or "majority" leaves out; see `LeftOut`."""
    votes = Counter(pairs if cycles == "majority" else dict.fromkeys(pairs).keys())
    opposite = {(v, w): votes[w, v] for v, w in votes}
    stated = [pair for pair, n in votes.items() if n >= opposite[pair]]
    component = _strong_components(stated)
    kept = [(v, w) for v, w in stated if component[v] != component[w]]
    # Each of these pairs is there both ways, in `stated` too.
    n_contradicted = sum(votes[pair] == opposite[pair] for pair in stated) // 2
    n_twice = sum(n > 0 for n in opposite.values()) // 2
    return kept, LeftOut(
        len(votes) - n_twice, n_contradicted, len(stated) - len(kept) - 2 * n_contradicted
    )


def _strong_components(pairs):
    """The strongly connected component of each item, as a number."""
    from scipy import sparse
    from scipy.sparse import csgraph

    number = {item: i for i, item in enumerate(dict.fromkeys(chain.from_iterable(pairs)))}
    ends = np.array([(number[v], number[w]) for v, w in pairs], dtype=np.int32).reshape(-1, 2)
    graph = sparse.csr_array((np.ones(len(ends), bool), ends.T), shape=(len(number),) * 2)
    _, component = csgraph.connected_components(graph, directed=True, connection="strong")
    return dict(zip(number, component.tolist(), strict=True))
