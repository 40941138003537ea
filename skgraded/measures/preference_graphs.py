"""Preference graphs and weak orders of items, and counts of correctly predicted pairs."""

import math
import numbers
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from copy import copy
from itertools import chain
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from skgraded._input.door import choice_validator, make_object_array
from skgraded._kernels.closure import ABOVE, BELOW, Graph, count_block

Prior: TypeAlias = float | Callable[[Any, Any], float]  # the callable takes items v and w
Pair: TypeAlias = tuple[Hashable, Hashable]  # (preferred, other)
Side = tuple[np.ndarray, np.ndarray]  # a bit table, and the row index of each item
BLOCK = 1024  # number of items per block; one row of bits takes 128 bytes
check_cycles = choice_validator("cycles", ("raise", "unknown", "majority", "ignore"))


# Preferences that contradict each other ----------------------------------------------------------


def remove_cycles(pairs: list[Pair], cycles: str) -> tuple[list[Pair], tuple[int, int]]:
    """Return the pairs kept by the rule `cycles` ("unknown" or "majority"), and two counts.

    The first count is the number of item pairs that are stated at least once, in either direction.
    The second count is the number of these pairs that are left out.
    """
    votes = Counter(pairs if cycles == "majority" else dict.fromkeys(pairs).keys())
    stated = [(v, w) for (v, w), n in votes.items() if n >= votes[w, v]]
    component = _find_strong_components(stated)
    kept = [(v, w) for v, w in stated if component[v] != component[w]]
    n_pairs = len(set(map(frozenset, votes)))
    return kept, (n_pairs, n_pairs - len(kept))


def _find_strong_components(pairs: Iterable[Pair]) -> dict[Hashable, int]:
    """Map each item to the label of its strongly connected component."""
    from scipy import sparse
    from scipy.sparse import csgraph

    number = {item: i for i, item in enumerate(dict.fromkeys(chain.from_iterable(pairs)))}
    ends = np.array([(number[v], number[w]) for v, w in pairs], dtype=np.int32).reshape(-1, 2)
    graph = sparse.csr_array((np.ones(len(ends), bool), ends.T), shape=(len(number),) * 2)
    _, component = csgraph.connected_components(graph, directed=True, connection="strong")
    return dict(zip(number, component.tolist(), strict=True))


# The two sides -----------------------------------------------------------------------------------


class Pairs:
    """Preference pairs as an acyclic graph whose transitive closure is computed lazily."""

    left_out: tuple[int, int] | None = None  # see `remove_cycles`

    def __init__(self, pairs: list[Pair], name: str, cycles: str) -> None:
        # `items` also contains the items of pairs that are left out below.
        self.items = self.predicted_items = list(dict.fromkeys(chain.from_iterable(pairs)))
        if cycles != "raise":
            pairs, self.left_out = remove_cycles(pairs, cycles)
        distinct = dict.fromkeys(pairs)
        self.number: dict[Hashable, int] = {item: i for i, item in enumerate(self.items)}
        ends = map(self.number.__getitem__, chain.from_iterable(distinct))
        self.ends: np.ndarray = np.fromiter(ends, np.int32, 2 * len(distinct)).reshape(-1, 2)
        self.graph: Graph = Graph(len(self.items), self.ends)
        if self.graph.has_cycle:
            raise ValueError(
                f"The preferences in {name} contain a cycle: {_describe_cycle(self.items, distinct)}. "
                "Remove one of these pairs, or pass cycles='unknown' or cycles='majority'; "
                "pair_accuracy and kendall_tau also accept cycles='ignore'."
            )

    def add_items(self, items: Iterable[Hashable]) -> Self:
        """Return a copy with additional items, for which no preferences are stated."""
        more = copy(self)
        more.items = list(dict.fromkeys(chain(self.items, items)))
        more.number = {item: i for i, item in enumerate(more.items)}
        more.graph = Graph(len(more.items), self.ends)
        return more

    def iterate_sides(self, items: list[Hashable], number: np.ndarray) -> Iterator[list[Side]]:
        """Yield the items above and below each item in the closure; both include the item itself.

        See the comment above `iterate_blocks`.
        """
        graph = self.graph
        nodes = np.fromiter((self.number.get(v, -1) for v in items), np.int32, len(items))
        number_of_node = np.full(graph.n + 1, -1, np.int32)  # last: items not in the graph
        number_of_node[nodes] = number
        number_of_node[-1] = -1
        tables = np.empty((2, graph.n, _count_words(number)), np.uint64)
        reached = np.zeros((2, graph.n + 1), np.uint8)
        for first in iterate_blocks(number):
            sides = []
            for side in (ABOVE, BELOW):
                graph.reach(side, number_of_node, first, BLOCK, tables[side], reached[side])
                rows = np.where(reached[side, nodes], nodes, -1).astype(np.int32)
                sides.append((tables[side], rows))
            yield sides


class StatedPairs:
    """Preference pairs that are counted as stated, without computing the transitive closure."""

    left_out: tuple[int, int] | None = None

    def __init__(self, pairs: list[Pair]) -> None:
        self.pairs, self.stated = pairs, set(pairs)
        self.items = self.predicted_items = list(dict.fromkeys(chain.from_iterable(pairs)))

    def prefers(self, v: Hashable, w: Hashable) -> bool:
        """Return whether v is preferred to w at least once."""
        return (v, w) in self.stated


def _describe_cycle(items: list[Hashable], pairs: Iterable[Pair]) -> str:
    """Return the first items of a cycle as a string."""
    from graphlib import CycleError, TopologicalSorter

    preferred: dict[Hashable, list[Hashable]] = {item: [] for item in items}
    for better, other in pairs:
        preferred[other].append(better)
    try:
        TopologicalSorter(preferred).prepare()
    except CycleError as error:
        cycle = [repr(item) for item in error.args[1]]
    return " ≻ ".join(cycle if len(cycle) <= 12 else [*cycle[:10], "…"])


class Scores:
    """Preferences implied by scores: the item with the higher score is preferred."""

    left_out: tuple[int, int] | None = None

    def __init__(self, scores: dict[Hashable, float]) -> None:
        self.items = scores
        self.predicted_items = [item for item, score in scores.items() if score != -math.inf]

    def prefers(self, v: Hashable, w: Hashable) -> bool:
        """Return whether v has a higher score than w."""
        return v in self.items and w in self.items and self.items[v] > self.items[w]

    def iterate_sides(self, items: list[Hashable], number: np.ndarray) -> Iterator[list[Side]]:
        """For each item, yield the items with higher scores and those with lower scores.

        See the comment above `iterate_blocks`.
        """
        has_score = np.fromiter((v in self.items for v in items), bool, len(items))
        scores = make_object_array([self.items[v] for v in items if v in self.items])
        place = np.zeros(len(items), np.intp)  # by descending score
        place[has_score] = -np.unique(scores, return_inverse=True)[1]
        for first in iterate_blocks(number):
            block = np.flatnonzero((number >= first) & (number < first + BLOCK) & has_score)
            block = block[np.argsort(place[block])]
            bit = (number[block] - first).astype(np.uint64)
            upto = np.zeros((len(block) + 1, _count_words(number)), np.uint64)
            upto[np.arange(len(block)) + 1, bit // 64] = np.uint64(1) << bit % 64
            np.bitwise_or.accumulate(upto, axis=0, out=upto)  # row i: the first i items
            above, not_below = (
                np.searchsorted(place[block], place, side) for side in ("left", "right")
            )
            yield [
                (table, np.where(has_score, rows, -1).astype(np.int32))
                for table, rows in ((upto, above), (upto[-1] ^ upto, not_below))
            ]


# For each block of items, `iterate_sides` yields two pairs (bit table, array).
# For each item, the array contains the index of its row in the table; -1 means a row of zeros.
# In the first table, an item's row marks the items in the block that rank above that item.
# In the second table, an item's row marks the items in the block that rank below that item.
# For each item, `number` contains its index among the counted items, or -1 if it is not counted.


def iterate_blocks(number: np.ndarray) -> range:
    """Return the number of the first item of each block."""
    return range(0, int(number.max()) + 1, BLOCK)


def _count_words(number: np.ndarray) -> int:
    return -(-min(BLOCK, int(number.max()) + 1) // 64)


# Counting ----------------------------------------------------------------------------------------


class PairCounts(NamedTuple):
    """Pair counts for one query.

    Each array has one element per item v or, from `count_stated_pairs`, per pair of items.
    """

    ranks: np.ndarray  # R(v)
    n_below: np.ndarray  # number of items ranked below v in the truth, plus 1 for v itself
    agree: np.ndarray  # number of items ranked above v in both the truth and the prediction
    disagree: np.ndarray  # number of items below v in the prediction but above v in the truth
    of_prior: np.ndarray  # sum of EP(v, w) over w with unknown order; 0 unless prior is callable


def count_stated_pairs(
    truth: StatedPairs, prediction: StatedPairs | Scores, items: Container[Hashable]
) -> PairCounts:
    """Return PairCounts with one element for each pair whose items are both in `items`."""
    pairs = [(v, w) for v, w in truth.pairs if v in items and w in items]
    agree = np.array([prediction.prefers(v, w) for v, w in pairs], int)
    disagree = np.array([prediction.prefers(w, v) for v, w in pairs], int)
    one_below = np.full(len(pairs), 2)  # the lower item, and the item itself
    return PairCounts(one_below, one_below, agree, disagree, np.zeros(len(pairs)))


def count_pairs(truth: Pairs, prediction: Any, counted: np.ndarray, prior: Prior) -> PairCounts:
    """Count the pairs whose items are both marked in `counted`; see `PairCounts`."""
    rows = np.flatnonzero(counted).astype(np.int32)
    ranks, of_prior = truth.graph.depths(counted)[rows], np.zeros(len(rows))
    number = np.where(counted, np.cumsum(counted, dtype=np.intp) - 1, -1)
    real, said = (side.iterate_sides(truth.items, number) for side in (truth, prediction))
    counts = np.zeros((3, len(rows)), np.int64)
    for first, real_sides, said_sides in zip(iterate_blocks(number), real, said, strict=True):
        sides = real_sides + said_sides
        count_block(rows, *sides, counts)
        if callable(prior):
            block = [truth.items[w] for w in rows[first : first + BLOCK]]
            for i in np.flatnonzero(ranks > 1):
                bits = [_unpack_row(rows[i], side, len(block)) for side in sides]
                of_prior[i] += _sum_expected_agreement(prior, truth.items[rows[i]], block, *bits)
    n_below, agree, disagree = counts
    return PairCounts(ranks, n_below, agree, disagree, of_prior)


def _unpack_row(v: int, side: Side, n: int) -> np.ndarray:
    """Convert item v's row in a bit table to a boolean array of shape (n,)."""
    table, rows = side
    if rows[v] < 0:
        return np.zeros(n, bool)
    octets = table[rows[v]].astype("<u8").view(np.uint8)
    return np.unpackbits(octets, count=n, bitorder="little").astype(bool)


def _sum_expected_agreement(
    prior: Callable[[Any, Any], float],
    v: Hashable,
    block: list[Hashable],
    above: np.ndarray,
    below: np.ndarray,
    said_above: np.ndarray,
    said_below: np.ndarray,
) -> float:
    """Sum EP(v, w) over all w in W(v) for which the truth or the prediction states no preference.

    EP = g ĝ + (1 - g) (1 - ĝ), where g is the probability that w is preferred to v in the truth: 1
    or 0 if the truth states a preference, and otherwise the prior. ĝ is the same probability in the
    prediction.
    """
    total = 0.0
    for i in np.flatnonzero(~below & ~(above & (said_above | said_below))):
        p = prior(block[i], v)
        if not (isinstance(p, (numbers.Real, np.bool_)) and 0 <= float(p) <= 1):
            raise ValueError(
                f"prior must return values in [0, 1]; prior({block[i]!r}, {v!r}) returned {p!r}."
            )
        true = 1.0 if above[i] else float(p)
        predicted = 1.0 if said_above[i] else 0.0 if said_below[i] else float(p)
        total += true * predicted + (1.0 - true) * (1.0 - predicted)
    return total
