"""EDRC on explicit, possibly incomplete preference pairs."""

from __future__ import annotations

import numbers
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.columns import is_missing, unmasked
from skgraded._input.queries import query_codes
from skgraded._input.words import plain_list
from skgraded.measures.base import check_undefined, mean_over_queries
from skgraded.measures.correlation import CHECK_DISCOUNT, rank_weights
from skgraded.measures.cycles import CHECK_CYCLES, LeftOut, without_cycles

# Closures are held for a block of items at a time, so many bits a side: 128 MB each.
BITS = 2**30
SMALLEST_BLOCK = 1024
JUDGED = "judged"


def edrc_score(
    true_pairs: Any,
    predicted_pairs: Any,
    discount: str | Callable = "linear",
    prior: float | Callable = 0.5,
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
    Time grows with items × pairs, however long the chains, and memory stays below a gigabyte up
    to some hundred thousand items: 2,000 items with 10,000 pairs a side take a tenth of a second,
    100,000 items with 500,000 pairs a side about a minute. Items that the truth does not
    mention cost next to nothing. A callable prior costs a call for each pair.

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
    discount: str | Callable = "linear",
    prior: float | Callable = 0.5,
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
    ranks = truth.ranks(items)
    lower = [v for v, rank in ranks.items() if rank > 1]
    if not lower:
        return undefined
    # Of the items that the truth does not mention, every pair earns the prior.
    others = [w for w in items if w not in ranks]
    C = np.array([_expected(prior, others, v) for v in lower])
    W = np.full(len(lower), float(len(others)))
    mentioned = list(ranks)
    size = max(SMALLEST_BLOCK, BITS // max(len(truth.items), len(prediction.items), 1))
    for start in range(0, len(mentioned), size):
        in_block = _count_block(truth, prediction, mentioned[start : start + size], lower, prior)
        C += in_block[0]
        W += in_block[1]
    distinct, inverse = np.unique([ranks[v] for v in lower], return_inverse=True)
    weights = rank_weights(discount, distinct.astype(float))[inverse]
    return float(2 * (weights @ C) / (weights @ W) - 1)


def _count_block(truth, prediction, block, lower, prior):
    """C(v) and |W(v)| of each v, as far as the w of one block go. Bit i stands for block[i]."""
    bit = {w: 1 << i for i, w in enumerate(block)}
    everything = (1 << len(block)) - 1
    above, below = truth.sides(bit)
    said_above, said_below = prediction.sides(bit)
    C, W = np.empty(len(lower)), np.empty(len(lower))
    for i, v in enumerate(lower):
        wanted = everything ^ below[v]  # W(v); an item itself is on both its sides
        known = wanted & above[v]
        agree = known & said_above.get(v, 0)
        silent = wanted & ~(agree | known & said_below.get(v, 0))
        C[i] = agree.bit_count() + _expected_of_bits(prior, silent, block, v)
        W[i] = wanted.bit_count()
    return C, W


def _expected_of_bits(prior, bits, block, v):
    if not callable(prior):
        return prior * bits.bit_count()
    lowest_first = bin(bits)[:1:-1]
    chosen = [w for w, one in zip(block, lowest_first, strict=False) if one == "1"]
    return _expected(prior, chosen, v)


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
        items = list(chain.from_iterable(pairs))  # those of pairs left out too
        if cycles != "raise":
            pairs, self.left_out = without_cycles(pairs, cycles)
        self.preferred: dict = {item: [] for item in items}  # those named as preferred to it
        self.worse: dict = {item: [] for item in items}
        for preferred, other in dict.fromkeys(pairs):
            self.preferred[other].append(preferred)
            self.worse[preferred].append(other)
        try:
            # each item after all that are preferred to it
            self.items = list(TopologicalSorter(self.preferred).static_order())
        except CycleError as error:
            raise _Cycle(
                f"{name} has a cycle: {_chain(error.args[1])}. Preferences must not contradict "
                "each other: leave out one of these pairs, or give cycles='unknown' or 'majority'."
            ) from None

    def ranks(self, items):
        """Rank of each of `items` that the pairs mention, in their order restricted to `items`.

        It is the number of `items` on the longest way down to it, and so needs no closure.
        """
        depth: dict = {}
        for v in self.items:
            above = max((depth[u] for u in self.preferred[v]), default=0)
            depth[v] = above + (v in items)
        return {v: depth[v] for v in self.items if v in items}

    def sides(self, bit):
        """Bits of the block's items preferred to each item, and of those it is preferred to.

        The item itself is among both.
        """
        return (
            _reached(self.items, self.preferred, bit),
            _reached(reversed(self.items), self.worse, bit),
        )


def _reached(order, neighbours, bit):
    # Python's whole numbers as sets of bits: fast where wide, small where empty.
    reached: dict = {}
    for v in order:
        bits = bit.get(v, 0)
        for u in neighbours[v]:
            bits |= reached[u]
        reached[v] = bits
    return reached


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

    def sides(self, bit):
        """Bits of the block's items that score higher than each item, and of those lower."""
        in_block = sorted((w for w in bit if w in self.scores), key=self.scores.__getitem__)
        values = [self.scores[w] for w in in_block]
        lowest = [0]  # bits of the i lowest
        for w in in_block:
            lowest.append(lowest[-1] | bit[w])
        highest = [lowest[-1] ^ bits for bits in lowest]  # bits of all but the i lowest
        above = {v: highest[bisect_right(values, score)] for v, score in self.scores.items()}
        below = {v: lowest[bisect_left(values, score)] for v, score in self.scores.items()}
        return above, below


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
