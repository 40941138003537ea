"""EDRC on explicit, possibly incomplete preference pairs."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Hashable, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.columns import is_missing, unmasked
from skgraded._input.queries import query_codes
from skgraded._input.words import plain_list
from skgraded._kernels.closure import (
    ABOVE,
    BELOW,
    Graph,
    count_block,
    count_in_orders,
)
from skgraded.measures.base import Function, check_undefined, mean_over_queries
from skgraded.measures.correlation import CHECK_DISCOUNT, rank_weights
from skgraded.measures.cycles import CHECK_CYCLES, LeftOut, without_cycles

BLOCK = 1024  # items that closures are held for at a time, 128 bytes an item and side
JUDGED = "judged"


def edrc_score(
    true_pairs: Any,
    predicted_pairs: Any,
    discount: str | Function = "linear",
    prior: float | Callable[[Any, Any], float] = 0.5,
    items: Any = None,
    *,
    qid: ArrayLike | None = None,
    undefined: float = 0.0,
    cycles: str = "raise",
) -> float:
    r"""Expected discounted rank correlation of preferences, from -1 to 1.

    Both the truth G and the prediction Ĝ may leave pairs open; both are closed transitively.
    Ackerman and Chen (2011), section 4:

    .. math::

        EDRC = \frac{2}{Z} \sum_{v: R(v) > 1} \frac{C(v)}{D(R(v))} - 1,
        \quad Z = \sum_{v: R(v) > 1} \frac{|W(v)|}{D(R(v))},
        \quad C(v) = \sum_{w \in W(v)} EP(v, w)

    The rank R(v) is 1 for an item that nothing is preferred to in G, else one more than the
    highest rank among those preferred to it. W(v) are all other items except those that v is
    preferred to. EP(v, w), where w is preferred to v in G, is 1 if Ĝ agrees, 0 if it says the
    opposite and `prior` if it is silent; where G knows nothing of the pair, it is `prior`.

    Where the paper's formulas depart from its example, the example is followed: start nodes have
    rank 1 (its algorithm gives 2), and Z divides by D(R(v)).

    Parameters
    ----------
    true_pairs : list of tuples, array of shape (n, 2), or frame of two columns
        Pairs (preferred, other) of items, in any order. Items are any hashable.
    predicted_pairs : mapping of item to score, or pairs in any form of `true_pairs`
        By scores, the higher is preferred, and nothing is said of equal ones. With `qid`, a mapping
        of query to either: scores or pairs. (A mapping, because queries may predict in both forms
        and a forgotten query is seen.) Queries that have no true pairs are passed over.
    discount : {"linear", "log2", "exp2"} or callable, default="linear"
        D: R, log2(1 + R), or 2^R. A callable gets an array of ranks, which begins at 2 at the
        least, and gives as many numbers > 0 to divide by.
    prior : float or callable, default=0.5
        What a pair earns that truth or prediction is silent about, in [0, 1]. A callable
        ``prior(v, w)`` gives the probability that v is preferred to w; it is asked for the order
        that the measure expects, ``prior(w, v)`` for w in W(v). It is called for every such pair,
        up to n_items² times.
    items : collection of items or "judged", optional
        The items to judge by, such as the recommended ones: both sides are closed first, then
        restricted to these. "judged" are the items of `true_pairs`. By default all items of either
        side: each scored item of which the truth knows nothing earns `prior`, and where these are
        many the value is near ``2 * prior - 1`` for any ranking. With `qid`, a collection for all
        queries, or a mapping of query to collection.
    qid : array-like of shape (n,), optional
        The query (the user) of each true pair; without it all pairs are of one.
    undefined : {0.0, 1.0, nan}, default=0.0
        Value of a query whose truth has no preference among `items`; nan leaves it out of the mean.
    cycles : {"raise", "unknown", "majority"}, default="raise"
        What becomes of preferences that contradict each other, as those of several people do; the
        same rule for both sides. "raise": an error names a cycle. "unknown": a pair that is stated
        both ways or lies in a cycle of any length (within a strongly connected component) is
        unknown, like one that was never judged; pairs that lead from one component to another
        stay. "majority": a pair stated more often one way than the other counts as stated that way
        only, then as "unknown". A query of which nothing remains is undefined.

    Returns
    -------
    float
        The mean over the queries; nan if ``undefined=nan`` and no query has a value.

    Warns
    -----
    UserWarning
        If `cycles` left out pairs: how many of how many on either side, and of how many queries.

    Raises
    ------
    ValueError, TypeError
        If pairs are malformed or empty, an item is missing or preferred to itself, preferences
        make a cycle (with "raise"; one is named), a score is not a number, a query has no
        prediction, or `discount` or `prior` are out of range.

    See Also
    --------
    edrc_per_query : The values by query.
    preferences_left_out : How many pairs `cycles` leaves out, by query.

    Notes
    -----
    Where both sides are whole orders (scores, or pairs that leave only ties open, such as a chain),
    the time is that of a sort: a million items take some seconds. Otherwise it grows with
    items × pairs, since no way is known to count what follows from pairs without following it:
    100,000 items with 500,000 pairs a side take some seconds, and memory stays below a gigabyte up
    to a million items. Items that the truth does not mention cost next to nothing. A callable prior
    costs a call for each pair.

    With a total order and ``discount=lambda rank: rank - 1`` it is the AP correlation with the
    roles of the lists swapped.

    References
    ----------
    B. Ackerman, Y. Chen: Evaluating Rank Accuracy based on Incomplete Pairwise Preferences.
    CEUR-WS Vol. 811, paper 11 (2011).

    Examples
    --------
    The pairs of the paper's table 1 give 2/29; its 5/29 takes B ≻ E for true, which is in its
    figure 1 but not in the table.

    >>> from skgraded.measures.preferences import edrc_score
    >>> true = [("A", "C"), ("A", "D"), ("A", "E"), ("C", "D"), ("B", "D")]
    >>> predicted = [("C", "A"), ("C", "B"), ("C", "D"), ("A", "E"), ("B", "E"), ("D", "E")]
    >>> round(edrc_score(true, predicted), 12) == round(2 / 29, 12)
    True
    >>> round(edrc_score(true + [("B", "E")], predicted), 12) == round(5 / 29, 12)
    True

    Scores for a prediction, and two users:

    >>> edrc_score([("A", "B")], {"A": 0.9, "B": 0.2})
    1.0
    >>> edrc_score([("A", "B"), ("B", "A")], {"ann": {"A": 2, "B": 1}, "bob": {"A": 2, "B": 2}},
    ...            qid=["ann", "bob"])
    0.5

    Of a thousand retrieved documents two were judged:

    >>> scores = {i: -i for i in range(1000)}
    >>> round(edrc_score([(0, 1)], scores), 3), edrc_score([(0, 1)], scores, items="judged")
    (0.001, 1.0)
    """
    values = _values(true_pairs, predicted_pairs, discount, prior, items, qid, undefined, cycles)
    return mean_over_queries(np.array(list(values.values())))


def edrc_per_query(
    true_pairs: Any,
    predicted_pairs: Any,
    discount: str | Function = "linear",
    prior: float | Callable[[Any, Any], float] = 0.5,
    items: Any = None,
    *,
    qid: ArrayLike,
    undefined: float = 0.0,
    cycles: str = "raise",
) -> dict[Hashable, float]:
    """Expected discounted rank correlation of each query (each user).

    Parameters
    ----------
    true_pairs, predicted_pairs, discount, prior, items, undefined, cycles
        As for `edrc_score`.
    qid : array-like of shape (n,)
        The query (the user) of each true pair.

    Returns
    -------
    dict
        Value by query, in order of first appearance in `qid`.

    Warns
    -----
    UserWarning
        As `edrc_score`.

    Raises
    ------
    ValueError, TypeError
        As `edrc_score`.

    See Also
    --------
    skgraded.datasets.read_preferences : TREC's files of preferences, as pairs and their queries.

    Examples
    --------
    >>> from skgraded.measures.preferences import edrc_per_query
    >>> edrc_per_query([("A", "B"), ("B", "A")], qid=["ann", "bob"],
    ...                predicted_pairs={"ann": {"A": 2, "B": 1}, "bob": [("A", "B")]})
    {'ann': 1.0, 'bob': -1.0}
    """
    if qid is None:
        raise ValueError("qid is missing: edrc_per_query needs the query of each true pair.")
    return _values(true_pairs, predicted_pairs, discount, prior, items, qid, undefined, cycles)


def preferences_left_out(
    pairs: Any, cycles: str = "unknown", *, qid: ArrayLike
) -> dict[Hashable, LeftOut]:
    """How many pairs of each query `edrc_score` leaves out because they contradict each other.

    Parameters
    ----------
    pairs : list of tuples, array of shape (n, 2), or frame of two columns
        Pairs (preferred, other) of items; see `edrc_score`.
    cycles : {"unknown", "majority"}, default="unknown"
        What is left out; see `edrc_score`.
    qid : array-like of shape (n,)
        The query (the user) of each pair.

    Returns
    -------
    dict
        By query, in order of first appearance, a named tuple: ``n_pairs``, the pairs of two items
        of which anything was stated; of these ``n_contradicted``, stated both ways (with
        "majority": equally often); and ``n_in_cycles``, stated one way within a longer cycle. The
        property ``n_unknown`` is the sum of these two.

    Raises
    ------
    ValueError, TypeError
        If pairs are malformed or empty, an item is missing or preferred to itself, or `qid` has
        another length or gaps.

    Examples
    --------
    >>> from skgraded.measures import preferences_left_out
    >>> pairs = [("A", "B"), ("B", "C"), ("C", "A"), ("C", "D"), ("A", "B"), ("B", "A")]
    >>> left_out = preferences_left_out(pairs, qid=["ann"] * 4 + ["bob"] * 2)
    >>> left_out["ann"]
    LeftOut(n_pairs=4, n_contradicted=0, n_in_cycles=3)
    >>> left_out["bob"]
    LeftOut(n_pairs=1, n_contradicted=1, n_in_cycles=0)
    """
    if CHECK_CYCLES(cycles) == "raise":
        raise ValueError('cycles must be "unknown" or "majority": "raise" leaves nothing out.')
    if qid is None:
        raise ValueError("qid is missing: preferences_left_out needs the query of each pair.")
    read = _read_pairs(pairs, "pairs")
    _refuse_empty(read, "pairs")
    pairs_of = _by_query(pairs, read, qid, "pairs")
    return {query: without_cycles(own, cycles)[1] for query, own in pairs_of.items()}


def _values(true_pairs, predicted_pairs, discount, prior, items, qid, undefined, cycles):
    """Value by query; everything is read before anything is measured."""
    discount, prior, cycles = CHECK_DISCOUNT(discount), _check_prior(prior), CHECK_CYCLES(cycles)
    undefined = check_undefined(undefined)
    pairs = _read_pairs(true_pairs, "true_pairs")
    _refuse_empty(pairs, "true_pairs")
    if qid is None:
        prediction = _read_prediction(predicted_pairs, "predicted_pairs", cycles)
        _refuse_empty(prediction.items, "predicted_pairs")
        if items is not None:
            items = _read_items(items, "items")
        read = {None: (_Pairs(pairs, "true_pairs", cycles), prediction, items)}
    else:
        pairs_of = _by_query(true_pairs, pairs, qid, "true_pairs")
        read = _read_queries(pairs_of, predicted_pairs, items, cycles)
    _tell_left_out(read.values(), cycles)
    return {query: _edrc(*one, discount, prior, undefined) for query, one in read.items()}


# The measure -------------------------------------------------------------------------------------

def _edrc(truth, prediction, items, discount, prior, undefined):
    """EDRC of one query; the names are those of the formula."""
    if items is None:
        items = dict.fromkeys([*truth.items, *prediction.items])
    elif items is JUDGED:
        items = dict.fromkeys(truth.items)
    counted = np.fromiter((v in items for v in truth.items), np.uint8, len(truth.items))
    ranks = truth.graph.depths(counted)
    lower = np.flatnonzero(counted & (ranks > 1)).astype(np.int32)
    if not len(lower):
        return undefined
    n_below, agree, disagree, C = _count(truth, prediction, counted, lower, prior)
    W = len(items) - n_below  # an item itself is below it too
    if callable(prior):
        # Of the items that the truth does not mention, every pair earns the prior.
        others = [w for w in items if w not in truth.number]
        C += agree + [_expected(prior, others, truth.items[v]) for v in lower]
    else:
        C = agree + prior * (W - agree - disagree)
    every_rank = np.arange(2.0, ranks.max() + 1)
    weights = rank_weights(discount, every_rank)[ranks[lower] - 2]
    return float(2 * (weights @ C) / (weights @ W) - 1)


def _count(truth, prediction, counted, lower, prior):
    """Of each `lower` item: how many items are below, agreed and disagreed upon.

    And, where the prior is callable, what it gives to the silence about the truth's items.
    """
    places = prediction.places(truth.items)
    levels = None if callable(prior) or places is None else truth.graph.levels()
    if levels is not None:
        return *_count_in_orders(levels, places, counted, lower), None
    number = np.where(counted, np.cumsum(counted, dtype=np.intp) - 1, -1)
    real = _GraphSides(truth.graph, np.arange(len(number)), number)
    said: _GraphSides | _OrderSides
    if places is None:
        said = _GraphSides(prediction.graph, prediction.numbers(truth.items), number)
    else:
        said = _OrderSides(places, number)
    counts, of_silence = np.zeros((3, len(lower)), np.int64), np.zeros(len(lower))
    for first in range(0, number.max() + 1, BLOCK):
        sides = real.of_block(first) + said.of_block(first)
        count_block(lower, *sides, counts)
        if callable(prior):
            block = [truth.items[w] for w in np.flatnonzero(counted)[first : first + BLOCK]]
            for i, v in enumerate(lower):
                of_silence[i] += _expected(prior, _silent(v, sides, block), truth.items[v])
    return *counts, of_silence


def _count_in_orders(levels, places, counted, lower):
    """`_count` where both sides are whole orders, in which items may tie."""
    at_level = np.bincount(levels[counted > 0], minlength=levels.max() + 1)
    n_below = 1 + at_level.sum() - np.cumsum(at_level)[levels[lower]]
    both = np.flatnonzero((places >= 0) & (counted > 0))
    by_place = both[np.argsort(places[both])]
    agree, disagree = np.zeros((2, len(levels)), np.int64)
    count_in_orders(levels, places, by_place, agree)
    count_in_orders(levels, places, by_place[::-1].copy(), disagree)
    return n_below, agree[lower], disagree[lower]


def _silent(v, sides, block):
    """The items of a block that are not below v and on which the two sides say nothing together."""
    above, below, said_above, said_below = (
        table[rows[v]] if rows[v] >= 0 else np.zeros_like(table[0]) for table, rows in sides
    )
    bits = ~(below | above & (said_above | said_below))
    ones = np.unpackbits(bits.astype("<u8").view(np.uint8), count=len(block), bitorder="little")
    return [block[i] for i in np.flatnonzero(ones)]


def _expected(prior, chosen, v):
    """Σ of the prior that w is preferred to v, over the w chosen."""
    if not callable(prior):
        return prior * len(chosen)
    total = 0.0
    for w in chosen:
        probability = prior(w, v)
        if not _is_probability(probability):
            raise ValueError(
                f"prior must give probabilities in [0, 1]; prior({w!r}, {v!r}) is {probability!r}."
            )
        total += float(probability)
    return total


# The two sides -----------------------------------------------------------------------------------

class _Pairs:
    """Preferences given as pairs: a graph without cycles, closed on demand."""

    left_out: LeftOut | None = None

    def __init__(self, pairs, name, cycles):
        # items of pairs left out too
        self.items = list(dict.fromkeys(chain.from_iterable(pairs)))
        if cycles != "raise":
            pairs, self.left_out = without_cycles(pairs, cycles)
        distinct = dict.fromkeys(pairs)
        self.number = {item: i for i, item in enumerate(self.items)}
        ends = map(self.number.__getitem__, chain.from_iterable(distinct))
        pairs_of_numbers = np.fromiter(ends, np.int32, 2 * len(distinct)).reshape(-1, 2)
        self.graph = Graph(len(self.items), pairs_of_numbers)
        if self.graph.has_cycle:
            raise _Cycle(
                f"{name} has a cycle: {_chain(_a_cycle(self.items, distinct))}. Preferences must "
                "not contradict each other: leave out one of these pairs, or give cycles='unknown' "
                "or 'majority'."
            )

    def places(self, items):
        """Place of each item if the pairs make a whole order, -1 of those they do not mention."""
        levels = self.graph.levels()
        return None if levels is None else np.append(levels, np.int32(-1))[self.numbers(items)]

    def numbers(self, items):
        """The graph's number of each item, -1 of those that the pairs do not mention."""
        return np.fromiter((self.number.get(v, -1) for v in items), np.int32, len(items))


def _a_cycle(items, pairs):
    preferred: dict = {item: [] for item in items}
    for better, other in pairs:
        preferred[other].append(better)
    try:
        TopologicalSorter(preferred).prepare()
    except CycleError as error:
        return error.args[1]


class _Cycle(ValueError):
    """Preferences of one query contradict each other."""


class _Scores:
    """Preferences given as scores: the higher is preferred."""

    left_out: LeftOut | None = None

    def __init__(self, scores):
        self.scores = scores

    @property
    def items(self):
        return self.scores

    def places(self, items):
        """Place of each item by its score, the highest first; -1 of those that have none."""
        scores = [self.scores.get(v) for v in items]
        distinct = sorted({score for score in scores if score is not None}, reverse=True)
        place = {score: i for i, score in enumerate(distinct)} | {None: -1}
        return np.fromiter((place[score] for score in scores), np.int32, len(scores))


# The items of one block that are above each of the truth's items, and those below it, as tables of
# bits and each item's row in them. `number` is that of the truth's items; those of a block follow
# each other, and -1 is in none.

def _words(number):
    return -(-min(BLOCK, int(number.max()) + 1) // 64)


class _GraphSides:
    """Those of preferences closed transitively; an item itself is on both its sides."""

    def __init__(self, graph, own, number):
        self.graph, self.own = graph, own  # the graph's numbers of the truth's items
        self.number = np.full(graph.n + 1, -1, np.int32)  # the last for all that it lacks
        self.number[own] = number
        self.number[-1] = -1
        self.bits = np.empty((2, graph.n, _words(number)), np.uint64)
        self.reached = np.zeros((2, graph.n + 1), np.uint8)

    def of_block(self, first):
        rows = []
        for side, bits, reached in zip((ABOVE, BELOW), self.bits, self.reached, strict=True):
            self.graph.reach(side, self.number, first, BLOCK, bits, reached)
            rows.append(np.where(reached[self.own], self.own, -1).astype(np.int32))
        return list(zip(self.bits, rows, strict=True))


class _OrderSides:
    """Those of a whole order, in which items may tie, by their places in it, -1 for none."""

    def __init__(self, places, number):
        self.places, self.number, self.n_words = places, number, _words(number)

    def of_block(self, first):
        is_in = (self.number >= first) & (self.number < first + BLOCK) & (self.places >= 0)
        block = np.flatnonzero(is_in)
        block = block[np.argsort(self.places[block])]
        bit = (self.number[block] - first).astype(np.uint64)
        upto = np.zeros((len(block) + 1, self.n_words), np.uint64)  # of the i first
        upto[np.arange(len(block)) + 1, bit // 64] = np.uint64(1) << bit % 64
        np.bitwise_or.accumulate(upto, axis=0, out=upto)
        above, not_below = (
            np.searchsorted(self.places[block], self.places, side) for side in ("left", "right")
        )
        return [
            (table, np.where(self.places >= 0, rows, -1).astype(np.int32))
            for table, rows in ((upto, above), (upto[-1] ^ upto, not_below))
        ]


def _chain(cycle):
    shown = [repr(item) for item in cycle]
    if len(shown) > 12:
        shown[8:-2] = [f"… ({len(shown) - 10} more) …"]
    return " ≻ ".join(shown)


# Reading -----------------------------------------------------------------------------------------

def _is_probability(value):
    return isinstance(value, (numbers.Real, np.bool_)) and 0 <= float(value) <= 1


def _check_prior(prior):
    if callable(prior):
        return prior
    if isinstance(prior, (bool, np.bool_)) or not _is_probability(prior):
        raise ValueError(
            f"prior must be a number in [0, 1], or a callable of two items; got {prior!r}."
        )
    return float(prior)


def _by_query(given, pairs, qid, name):
    """The pairs of each query, in order of first appearance."""
    if isinstance(given, (set, frozenset)):
        raise TypeError(f"{name} is a set, which has no order that qid could go by.")
    codes, ids = query_codes(qid, len(pairs), expected=name)
    pairs_of: list = [[] for _ in ids]
    for code, pair in zip(codes.tolist(), pairs, strict=True):
        pairs_of[code].append(pair)
    return dict(zip(plain_list(ids), pairs_of, strict=True))


def _read_queries(pairs_of, predicted_pairs, items, cycles):
    """Truth, prediction and items of each query."""
    if not isinstance(predicted_pairs, Mapping):
        raise TypeError(
            "predicted_pairs must, with qid, be a mapping of each query to its pairs or scores; "
            f"got {_kind(predicted_pairs)}."
        )
    _refuse_lacking(pairs_of, predicted_pairs, "predicted_pairs")
    items_of = _items_of_queries(pairs_of, items)
    read = {}
    for query, own in pairs_of.items():
        name = f"predicted_pairs[{query!r}]"
        predicted = _read_prediction(predicted_pairs[query], name, cycles)
        try:
            truth = _Pairs(own, f"true_pairs, query {query!r},", cycles)
        except _Cycle as error:
            raise ValueError(f"{error} {_how_many_cyclic(pairs_of)}") from None
        read[query] = truth, predicted, items_of[query]
    return read


def _how_many_cyclic(pairs_of):
    n_cyclic = sum(without_cycles(own, "unknown")[1].n_unknown > 0 for own in pairs_of.values())
    return f"Queries with cycles: {n_cyclic} of {len(pairs_of)}."


def _tell_left_out(read, cycles):
    """Warn once of what was left out of either side."""
    found = []
    for side, name in enumerate(["true_pairs", "predicted_pairs"]):
        counts = [one[side].left_out for one in read if one[side].left_out is not None]
        n_queries = sum(one.n_unknown > 0 for one in counts)
        if n_queries:
            found.append(
                f"{sum(one.n_unknown for one in counts)} of {sum(one.n_pairs for one in counts)} "
                f"pairs in {name}, {sum(one.n_contradicted for one in counts)} of them stated both "
                f"ways, in {n_queries} of {len(counts)} queries"
            )
    if found:
        warnings.warn(
            f"Left out as unknown (cycles={cycles!r}): {'; '.join(found)}. "
            "skgraded.measures.preferences_left_out counts them by query.",
            stacklevel=4,
        )


def _items_of_queries(queries, items):
    if not isinstance(items, Mapping):
        return dict.fromkeys(queries, None if items is None else _read_items(items, "items"))
    _refuse_lacking(queries, items, "items")
    return {query: _read_items(items[query], f"items[{query!r}]", True) for query in queries}


def _refuse_lacking(queries, mapping, name):
    lacking = [query for query in queries if query not in mapping]
    if lacking:
        raise ValueError(
            f"{name} lacks {len(lacking)} of the {len(queries)} queries, {lacking[0]!r} among "
            "them: give each query its own, an empty list if there is nothing."
        )


def _refuse_empty(values, name):
    if not values:
        raise ValueError(f"{name} is empty: there is nothing to measure.")


def _read_prediction(prediction, name, cycles):
    if not isinstance(prediction, Mapping):
        return _Pairs(_read_pairs(prediction, name), name, cycles)
    scores: dict = {}
    for item, score in prediction.items():
        _check_item(item, f"{name} has", scores)
        if not isinstance(score, (numbers.Real, np.bool_)) or is_missing(score):
            raise (ValueError if is_missing(score) else TypeError)(
                f"{name} must give each item a number as score; item {item!r} has {score!r}. "
                "(A mapping of queries needs qid; pairs are a list of tuples.)"
            )
        scores[item] = score
    return _Scores(scores)


def _read_items(items, name, may_be_empty=False):
    """The items as the keys of a dict, in their order; or JUDGED."""
    if isinstance(items, str) and items == JUDGED:
        return JUDGED
    if isinstance(items, (str, bytes, Mapping)) or not hasattr(items, "__iter__"):
        raise TypeError(
            f'{name} must be a collection of items; got {_kind(items)}. ("judged" is a word for '
            "the items of true_pairs.)"
        )
    read: dict = {}
    for item in _elements(items):
        _check_item(item, f"{name} has", read)
        read[item] = None
    if not may_be_empty:
        _refuse_empty(read, name)
    return read


def _read_pairs(pairs, name):
    """A list of (preferred, other) tuples of hashable items."""
    read: list = []
    seen: dict = {}
    for row, pair in enumerate(_rows(pairs, name)):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(
                f"{name} must be pairs (preferred, other): row {row} is {pair!r}. Give tuples of "
                "two items, an array of shape (n, 2), or a frame of two columns; scores are a "
                "mapping of item to score."
            )
        for item in pair:
            _check_item(item, f"{name}, row {row}, has", seen)
        preferred, other = pair
        if preferred == other:
            raise ValueError(f"{name}: row {row} prefers {preferred!r} to itself.")
        read.append((preferred, other))
    return read


def _rows(pairs, name):
    """The rows as a list, of Python's own values where they came in a frame or an array."""
    columns = _columns(pairs)
    if columns is not None:
        if len(columns) != 2:
            raise ValueError(
                f"{name} must have two columns, preferred and other; it has {len(columns)}."
            )
        return list(zip(*columns, strict=True))
    if hasattr(pairs, "iloc") and pairs.dtype.kind in "iuf":
        raise TypeError(
            f"{name} is a Series of numbers. Scores by item are a mapping: give series.to_dict()."
        )
    if isinstance(pairs, (str, bytes, Mapping)) or not hasattr(pairs, "__iter__"):
        raise TypeError(f"{name} must be pairs (preferred, other); got {_kind(pairs)}.")
    if isinstance(pairs, np.ndarray) and pairs.ndim != 1 and pairs.shape[1:] != (2,):
        raise ValueError(f"{name} must have shape (n, 2); it has {pairs.shape}.")
    return [_elements(row) if isinstance(row, np.ndarray) else row for row in _elements(pairs)]


def _columns(frame):
    """Columns of a pandas or polars frame or an Arrow table as lists; None of anything else."""
    if len(getattr(frame, "shape", ())) != 2 or not hasattr(frame, "columns"):
        return None
    if hasattr(frame, "iloc"):
        return [frame.iloc[:, i].tolist() for i in range(frame.shape[1])]
    if hasattr(frame, "get_columns"):
        return [column.to_list() for column in frame.get_columns()]
    return [column.to_pylist() for column in frame.columns]


def _elements(values):
    """A list of the elements, Python's own where an array holds numbers or text."""
    values = unmasked(values)
    if hasattr(values, "to_pylist"):
        return values.to_pylist()
    is_array = hasattr(values, "tolist") and getattr(values, "dtype", None) is not None
    if is_array and getattr(values.dtype, "kind", "O") not in "mM":  # times would become ints
        return values.tolist()
    return list(values)


def _check_item(item, where, seen):
    try:
        if item in seen:
            return
    except TypeError:
        raise TypeError(
            f"{where} the item {item!r}, which is not hashable: use tuples for composed items."
        ) from None
    if is_missing(item):
        raise ValueError(f"{where} a missing item ({item!r}): leave it out.")
    seen[item] = None


def _kind(value):
    return "None" if value is None else type(value).__name__
