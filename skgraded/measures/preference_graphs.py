"""Preferences as graphs or weak orders of items, and counts of agreeing pairs."""

import math
from collections import Counter
from copy import copy
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from skgraded._input.columns import one_of
from skgraded._kernels.closure import ABOVE, BELOW, Graph, count_block, count_in_orders
from skgraded.measures.preference_input import is_probability

BLOCK = 1024  # items per block of the transitive closures; 128 bytes per item and side
CHECK_CYCLES = one_of("cycles", ("raise", "unknown", "majority"))


# Preferences that contradict each other ----------------------------------------------------------

class LeftOut(NamedTuple):
    """Number of stated pairs for one query, and of pairs left out due to contradictions."""

    n_pairs: int  # pairs that were stated at least once
    n_contradicted: int  # pairs stated in both directions; with "majority": equally often
    n_in_cycles: int  # stated one way, within a longer cycle

    @property
    def n_unknown(self) -> int:
        """Number of pairs that were left out."""
        return self.n_contradicted + self.n_in_cycles


def without_cycles(pairs: list[Any], cycles: str) -> tuple[list[Any], LeftOut]:
    """Return the pairs kept by ``cycles="unknown"`` or "majority", and the `LeftOut` counts."""
    votes = Counter(pairs if cycles == "majority" else dict.fromkeys(pairs).keys())
    opposite = {(v, w): votes[w, v] for v, w in votes}
    stated = [pair for pair, n in votes.items() if n >= opposite[pair]]
    component = _strong_components(stated)
    kept = [(v, w) for v, w in stated if component[v] != component[w]]
    # `stated` contains each contradicted pair in both directions.
    n_contradicted = sum(votes[pair] == opposite[pair] for pair in stated) // 2
    n_twice = sum(n > 0 for n in opposite.values()) // 2
    return kept, LeftOut(
        len(votes) - n_twice, n_contradicted, len(stated) - len(kept) - 2 * n_contradicted
    )


def _strong_components(pairs):
    """Map each item to the number of its strongly connected component."""
    from scipy import sparse
    from scipy.sparse import csgraph

    number = {item: i for i, item in enumerate(dict.fromkeys(chain.from_iterable(pairs)))}
    ends = np.array([(number[v], number[w]) for v, w in pairs], dtype=np.int32).reshape(-1, 2)
    graph = sparse.csr_array((np.ones(len(ends), bool), ends.T), shape=(len(number),) * 2)
    _, component = csgraph.connected_components(graph, directed=True, connection="strong")
    return dict(zip(number, component.tolist(), strict=True))


# The two sides -----------------------------------------------------------------------------------

class Pairs:
    """Preferences given as pairs: an acyclic graph whose closure is computed on demand."""

    left_out: LeftOut | None = None

    def __init__(self, pairs, name, cycles):
        # Include the items of pairs that are left out.
        self.items = list(dict.fromkeys(chain.from_iterable(pairs)))
        if cycles != "raise":
            pairs, self.left_out = without_cycles(pairs, cycles)
        distinct = dict.fromkeys(pairs)
        self.number = {item: i for i, item in enumerate(self.items)}
        ends = map(self.number.__getitem__, chain.from_iterable(distinct))
        self.ends = np.fromiter(ends, np.int32, 2 * len(distinct)).reshape(-1, 2)
        self.graph = Graph(len(self.items), self.ends)
        if self.graph.has_cycle:
            raise ValueError(
                f"{name} has a cycle: {_a_cycle(self.items, distinct)}. Preferences must "
                "not contradict each other: leave out one of these pairs, or give cycles='unknown' "
                "or 'majority'."
            )

    def with_items(self, items):
        """Return the same preferences with additional items, which have no preferences."""
        more = copy(self)
        more.items = list(dict.fromkeys(chain(self.items, items)))
        more.number = {item: i for i, item in enumerate(more.items)}
        more.graph = Graph(len(more.items), self.ends)
        return more

    @property
    def predicted_items(self):
        """All items that occur in the pairs."""
        return self.items

    def places(self, items):
        """Return item positions (-1: unknown) if the pairs form a weak order, else None."""
        levels = self.graph.levels()
        return None if levels is None else np.append(levels, np.int32(-1))[self.numbers(items)]

    def numbers(self, items):
        """Return the number of each item in the graph, or -1 if it does not occur in the pairs."""
        return np.fromiter((self.number.get(v, -1) for v in items), np.int32, len(items))


def _a_cycle(items, pairs):
    """Format a cycle as text, omitting the middle of a long cycle."""
    preferred: dict = {item: [] for item in items}
    for better, other in pairs:
        preferred[other].append(better)
    try:
        TopologicalSorter(preferred).prepare()
    except CycleError as error:
        shown = [repr(item) for item in error.args[1]]
    if len(shown) > 12:
        shown[8:-2] = [f"… ({len(shown) - 10} more) …"]
    return " ≻ ".join(shown)


class Scores:
    """Preferences given as scores: the item with the higher score is preferred."""

    left_out: LeftOut | None = None

    def __init__(self, scores):
        self.items = scores

    @property
    def predicted_items(self):
        """The retrieved items, whose scores are not -inf."""
        return [item for item, score in self.items.items() if score != -math.inf]

    def places(self, items):
        """Return the position of each item by descending score, or -1 if it has no score."""
        scores = [self.items.get(v) for v in items]
        distinct = sorted({score for score in scores if score is not None}, reverse=True)
        place = {score: i for i, score in enumerate(distinct)} | {None: -1}
        return np.fromiter((place[score] for score in scores), np.int32, len(scores))


# Counting ----------------------------------------------------------------------------------------

class PairCounts(NamedTuple):
    """Pair counts for one query, with one element per counted item v of the truth."""

    ranks: np.ndarray  # R(v)
    n_below: np.ndarray  # number of items: v and the items that the truth ranks below v
    agree: np.ndarray  # items that both sides rank above v
    disagree: np.ndarray  # items that the truth ranks above v and the prediction ranks below v
    of_prior: np.ndarray  # sum of EP over the other items in W(v); 0 unless the prior is callable


def count_pairs(truth, prediction, counted, prior):
    """Count pairs among the items for which `counted` is 1; see `PairCounts`."""
    rows = np.flatnonzero(counted).astype(np.int32)
    ranks, of_prior = truth.graph.depths(counted)[rows], np.zeros(len(rows))
    places = prediction.places(truth.items)
    levels = None if callable(prior) or places is None else truth.graph.levels()
    if levels is not None:
        n_below, agree, disagree = _count_in_orders(levels, places, counted, rows)
        return PairCounts(ranks, n_below, agree, disagree, of_prior)
    number = np.where(counted, np.cumsum(counted, dtype=np.intp) - 1, -1)
    real = _sides_in_graph(truth.graph, np.arange(len(number)), number)
    if places is None:
        said = _sides_in_graph(prediction.graph, prediction.numbers(truth.items), number)
    else:
        said = _sides_in_order(places, number)
    counts = np.zeros((3, len(rows)), np.int64)
    for first, real_sides, said_sides in zip(_blocks(number), real, said, strict=True):
        sides = real_sides + said_sides
        count_block(rows, *sides, counts)
        if callable(prior):
            block = [truth.items[w] for w in rows[first : first + BLOCK]]
            for i in np.flatnonzero(ranks > 1):
                bits = [_bits(rows[i], side, len(block)) for side in sides]
                of_prior[i] += _expected_agreement(prior, truth.items[rows[i]], block, *bits)
    n_below, agree, disagree = counts
    return PairCounts(ranks, n_below, agree, disagree, of_prior)


def _count_in_orders(levels, places, counted, rows):
    """Count pairs like `count_pairs` if both sides are weak orders (orders with ties)."""
    at_level = np.bincount(levels[counted > 0], minlength=levels.max() + 1)
    n_below = 1 + at_level.sum() - np.cumsum(at_level)[levels[rows]]
    both = np.flatnonzero((places >= 0) & (counted > 0))
    by_place = both[np.argsort(places[both])]
    agree, disagree = np.zeros((2, len(levels)), np.int64)
    count_in_orders(levels, places, by_place, agree)
    count_in_orders(levels, places, by_place[::-1].copy(), disagree)
    return n_below, agree[rows], disagree[rows]


def _bits(v, side, n):
    """Unpack the row of item v in a bit table to a boolean array of shape (n,)."""
    table, rows = side
    if rows[v] < 0:
        return np.zeros(n, bool)
    octets = table[rows[v]].astype("<u8").view(np.uint8)
    return np.unpackbits(octets, count=n, bitorder="little").astype(bool)


def _expected_agreement(prior, v, block, above, below, said_above, said_below):
    """Sum EP(v, w) over items w of a block in W(v) where a side states no preference.

    EP = g ĝ + (1 - g) (1 - ĝ), where g and ĝ are the probabilities that w is preferred to v in the
    truth and in the prediction: 1 or 0 if that side states a preference, else the prior.
    """
    total = 0.0
    for i in np.flatnonzero(~below & ~(above & (said_above | said_below))):
        p = prior(block[i], v)
        if not is_probability(p):
            raise ValueError(
                f"prior must give probabilities in [0, 1]; prior({block[i]!r}, {v!r}) is {p!r}."
            )
        true = 1.0 if above[i] else float(p)
        predicted = 1.0 if said_above[i] else 0.0 if said_below[i] else float(p)
        total += true * predicted + (1.0 - true) * (1.0 - predicted)
    return total


# The functions below yield two bit tables per block, each with the row index of every item.
# The tables mark the items of the block above and below each item of the truth.
# A row index of -1 denotes an empty row; -1 in `number` denotes an item that is not counted.

def _blocks(number):
    return range(0, int(number.max()) + 1, BLOCK)


def _n_words(number):
    return -(-min(BLOCK, int(number.max()) + 1) // 64)


def _sides_in_graph(graph, numbers, number):
    """Yield the items above and below each item in the closure; both include the item itself.

    `numbers` contains the number in the graph of each item of the truth, or -1 if it is absent.
    """
    number_in_graph = np.full(graph.n + 1, -1, np.int32)  # last: items not in it
    number_in_graph[numbers] = number
    number_in_graph[-1] = -1
    tables = np.empty((2, graph.n, _n_words(number)), np.uint64)
    reached = np.zeros((2, graph.n + 1), np.uint8)
    for first in _blocks(number):
        sides = []
        for side in (ABOVE, BELOW):
            graph.reach(side, number_in_graph, first, BLOCK, tables[side], reached[side])
            rows = np.where(reached[side, numbers], numbers, -1).astype(np.int32)
            sides.append((tables[side], rows))
        yield sides


def _sides_in_order(places, number):
    """Yield the items above and below each item in a weak order; -1 marks absent items."""
    for first in _blocks(number):
        is_in = (number >= first) & (number < first + BLOCK) & (places >= 0)
        block = np.flatnonzero(is_in)
        block = block[np.argsort(places[block])]
        bit = (number[block] - first).astype(np.uint64)
        upto = np.zeros((len(block) + 1, _n_words(number)), np.uint64)  # row i: the first i items
        upto[np.arange(len(block)) + 1, bit // 64] = np.uint64(1) << bit % 64
        np.bitwise_or.accumulate(upto, axis=0, out=upto)
        above, not_below = (
            np.searchsorted(places[block], places, side) for side in ("left", "right")
        )
        yield [
            (table, np.where(places >= 0, rows, -1).astype(np.int32))
            for table, rows in ((upto, above), (upto[-1] ^ upto, not_below))
        ]
