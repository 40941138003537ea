"""EDRC, pair accuracy and Kendall's τ for explicit, possibly incomplete preference pairs."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Collection, Hashable, Mapping, Sized
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from skgraded._input.door import is_missing, refuse_unordered, replace_masked, to_plain_list
from skgraded._input.messages import warn_user
from skgraded._input.queries import QueryIds, query_codes
from skgraded._input.tables import check_row_labels, frame_of
from skgraded.measures import correlation, preference_graphs as graphs
from skgraded.measures.base import (
    Function,
    Measure,
    check_undefined,
    format_name,
    mean_over_queries,
)
from skgraded.measures.correlation import EDRC
from skgraded.measures.parsing import Measures, as_measures
from skgraded.measures.preference_graphs import Pair, Pairs, Prior, Scores, StatedPairs

Items: TypeAlias = str | dict[Hashable, None] | None  # JUDGED, PREDICTED, items or all items
JUDGED, PREDICTED = "judged", "predicted"  # the items of one side, for each query
ItemsLike: TypeAlias = str | Collection[Hashable] | Mapping[Any, Any] | None


def edrc_score(
    true_pairs: Any,
    predicted_pairs: Any,
    discount: str | Function = "linear",
    prior: Prior = 0.5,
    items: ItemsLike = None,
    *,
    qid: QueryIds | None = None,
    undefined: float = 0.0,
    cycles: str = "raise",
) -> float:
    r"""Compute the expected discounted rank correlation of preferences, a value from -1 to 1.

    EDRC = 2/Z Σ_{v: R(v)>1} C(v)/D(R(v)) - 1 with Z = Σ_{v: R(v)>1} #W(v)/D(R(v)) and C(v) =
    Σ_{w∈W(v)} EP(v, w), for the transitive closures of the truth G and the prediction Ĝ (Ackerman
    and Chen 2011, section 4; as in the paper's example, start nodes have rank 1, and Z divides by
    D(R(v))).

    The rank R(v) is 1 if no item is preferred to v in G, and otherwise one more than the highest
    rank among the items preferred to v. W(v) contains all items except v and the items that v is
    preferred to. If w is preferred to v in G, EP(v, w) is 1 if Ĝ agrees and 0 if Ĝ states the
    opposite. If G or Ĝ states no preference, EP(v, w) is `prior`.

    Parameters
    ----------
    true_pairs : list of tuples, array of shape (n, 2), or frame of two columns
        Pairs (preferred, other) of hashable items, in any order.
    predicted_pairs : mapping of item to score, or pairs in any form of `true_pairs`
        Items with higher scores are preferred; equal scores state no preference. With `qid`, a
        mapping of each query to its scores or pairs; queries without true pairs are ignored.
    discount : {"linear", "log2", "exp2"} or callable, default="linear"
        As in `EDRC`.
    prior : float or callable, default=0.5
        Value, in [0, 1], of a pair for which one side states no preference. A callable ``prior(v,
        w)`` returns the probability that v is preferred to w; EP(v, w) is then the probability that
        both sides agree (see the guide on preferences).
    items : collection of items, mapping, "judged" or "predicted", optional
        The items to which the closures are restricted, by default the items of both sides.
        "judged" selects the items of `true_pairs`, and "predicted" the items of `predicted_pairs`
        except items with the score -inf. With `qid`, one collection, or a mapping of query to
        collection.
    qid : array-like of shape (n,), optional
        The query (the user) of each true pair. Without it, all pairs belong to one query.
    undefined : {0.0, 1.0, nan}, default=0.0
        Value of queries without a true preference among `items`; nan excludes them from the mean.
    cycles : {"raise", "unknown", "majority"}, default="raise"
        How to handle contradictory preferences, on both sides. "raise": raise an error that names a
        cycle. "unknown": pairs that lie in a cycle are unknown. "majority": if a pair is stated
        both ways, only the more frequent way counts; remaining cycles are handled as with
        "unknown".

    Returns
    -------
    float
        The mean over the queries; nan if ``undefined=nan`` and no query has a value.

    Warns
    -----
    UserWarning
        If `cycles` leaves out pairs, and in the same cases as in `evaluate`.

    Raises
    ------
    ValueError, TypeError
        If the input is invalid, pairs are contradictory, or a query has no prediction.

    See Also
    --------
    skgraded.evaluate_preferences : Several measures of preferences, as an Evaluation.

    References
    ----------
    B. Ackerman, Y. Chen: Evaluating Rank Accuracy based on Incomplete Pairwise Preferences.
    CEUR-WS Vol. 811, paper 11 (2011).

    Examples
    --------
    Table 1 of the paper; its value 5/29 includes B ≻ E, which is only in figure 1:

    >>> from skgraded.measures.preferences import edrc_score
    >>> true = [("A", "C"), ("A", "D"), ("A", "E"), ("C", "D"), ("B", "D")]
    >>> predicted = [("C", "A"), ("C", "B"), ("C", "D"), ("A", "E"), ("B", "E"), ("D", "E")]
    >>> round(edrc_score(true, predicted), 12) == round(2 / 29, 12)
    True
    """
    values = edrc_per_query(
        true_pairs,
        predicted_pairs,
        discount,
        prior,
        items,
        qid=qid,
        undefined=undefined,
        cycles=cycles,
    )
    return mean_over_queries(np.array(list(values.values())))


def edrc_per_query(
    true_pairs: Any,
    predicted_pairs: Any,
    discount: str | Function = "linear",
    prior: Prior = 0.5,
    items: ItemsLike = None,
    *,
    qid: QueryIds | None,
    undefined: float = 0.0,
    cycles: str = "raise",
) -> dict[Hashable, float]:
    """Compute the expected discounted rank correlation for each query or user.

    Parameters
    ----------
    true_pairs, predicted_pairs, discount, prior, items, qid, undefined, cycles
        The same as for `edrc_score`; `qid` is required.

    Returns
    -------
    dict
        The value of each query, in order of first appearance in `qid`.

    Examples
    --------
    >>> from skgraded.measures.preferences import edrc_per_query
    >>> edrc_per_query([("A", "B"), ("B", "A")], qid=["ann", "bob"],
    ...                predicted_pairs={"ann": {"A": 2, "B": 1}, "bob": [("A", "B")]})
    {'ann': 1.0, 'bob': -1.0}
    """
    undefined = check_undefined(undefined)
    check_row_labels({"true_pairs": true_pairs, "qid": qid})
    _, values = compute_preference_values(
        true_pairs, predicted_pairs, EDRC(), discount, prior, items, qid, cycles
    )
    return {query: undefined if value is None else value[0] for query, value in values.items()}


# Several measures of the same pairs ---------------------------------------------------------------


def _name_preference_measures(measures: Measures, **settings: Any) -> dict[str, Measure]:
    """Validate the measures, and return them keyed by the names used in reports."""
    named: dict[str, Measure] = {}
    for measure in as_measures(measures):
        if type(measure) not in FORMULAS:
            raise ValueError(
                f"A preference measure must be edrc, pair_accuracy or kendall_tau; got {measure}."
            )
        if isinstance(measure, EDRC):
            if measure != EDRC(undefined=measure.undefined):
                raise ValueError(
                    f"Pass 'discount' and 'prior' as arguments, not as parameters of {measure}."
                )
            named[format_name(EDRC, settings | {"undefined": measure.undefined})] = measure
        else:
            named[measure.name] = measure
    return named


def compute_preference_values(
    true_pairs: Any,
    predicted_pairs: Any,
    measures: Measures,
    discount: str | Function,
    prior: Prior,
    items: ItemsLike,
    qid: QueryIds | None,
    cycles: str,
) -> tuple[dict[str, Measure], dict[Hashable, list[float] | None]]:
    """Return the measures by name, and the values of each query (None if it has no known pairs).

    All arguments are validated before the first query is evaluated.
    """
    discount, cycles = correlation.check_discount(discount), graphs.check_cycles(cycles)
    prior = prior if callable(prior) else correlation.check_prior(prior)
    named = _name_preference_measures(measures, discount=discount, prior=prior)
    formulas = [FORMULAS[type(measure)] for measure in named.values()]
    if cycles == "ignore" and _compute_edrc in formulas:
        raise ValueError(
            "EDRC requires the transitive closure of the preferences, which is not computed with "
            "cycles='ignore': use only pair_accuracy and kendall_tau, or choose a different value "
            "of cycles."
        )
    pairs_of = read_pairs_by_query(true_pairs, qid, "true_pairs")
    if qid is None:
        predicted = _read_prediction(predicted_pairs, "predicted_pairs", cycles)
        refuse_empty(predicted.items, "predicted_pairs")
        known = None if items is None else read_items(items, "items")
        side = Sides(_make_side(pairs_of[None], "true_pairs", cycles), predicted, known)
        sides: dict[Hashable, Sides] = {None: side}
    else:
        sides = _read_sides(pairs_of, predicted_pairs, items, cycles)
    _warn_of_left_out(sides.values(), cycles)
    if _compute_edrc not in formulas:
        prior = 0.5  # only EDRC uses the prior
    return named, {
        query: _measure_query(side, formulas, discount, prior) for query, side in sides.items()
    }


def _read_sides(
    pairs_of: dict[Hashable, list[Pair]], predicted_pairs: Any, items: ItemsLike, cycles: str
) -> dict[Hashable, Sides]:
    """Read the truth, the prediction and the items for each query."""
    if not isinstance(predicted_pairs, Mapping):
        raise TypeError(
            "If qid is passed, predicted_pairs must map each query to its pairs or scores; got "
            f"{type(predicted_pairs).__name__}."
        )
    refuse_lacking(pairs_of, predicted_pairs, "predicted_pairs")
    items_of = read_items_by_query(items, pairs_of)
    sides = {}
    for query, pairs in pairs_of.items():
        name = f"predicted_pairs[{query!r}]"
        predicted = _read_prediction(predicted_pairs[query], name, cycles)
        truth = _make_side(pairs, f"true_pairs (query {query!r})", cycles)
        sides[query] = Sides(truth, predicted, items_of[query])
    return sides


def _make_side(pairs: list[Pair], name: str, cycles: str) -> Pairs | StatedPairs:
    return StatedPairs(pairs) if cycles == "ignore" else Pairs(pairs, name, cycles)


def _read_prediction(prediction: Any, name: str, cycles: str) -> Pairs | StatedPairs | Scores:
    if isinstance(prediction, Mapping):
        return Scores(read_item_scores(prediction, name))
    return _make_side(read_pairs(prediction, name), name, cycles)


def _warn_of_left_out(sides: Collection[Sides], cycles: str) -> None:
    """Issue a single warning for all pairs left out of the truth or the prediction."""
    parts = []
    for name, by_query in (
        ("true_pairs", [side.truth.left_out for side in sides]),
        ("predicted_pairs", [side.prediction.left_out for side in sides]),
    ):
        counts = [left_out for left_out in by_query if left_out is not None]
        n_queries = sum(n_left_out > 0 for _, n_left_out in counts)
        if n_queries:
            n_pairs, n_left_out = map(sum, zip(*counts, strict=True))
            parts.append(
                f"{n_left_out} of {n_pairs} pairs in {name}, in {n_queries} of {len(counts)} queries"
            )
    if parts:
        warn_user(f"Left out contradictory pairs (cycles={cycles!r}): {'; '.join(parts)}.")


def refuse_empty(values: Sized, name: str) -> None:
    """Raise a ValueError if the collection is empty."""
    if not values:
        raise ValueError(f"Argument {name} is empty: pass at least one element.")


def refuse_lacking(queries: Collection[Hashable], mapping: Mapping[Any, Any], name: str) -> None:
    """Raise a ValueError unless the mapping contains all queries."""
    lacking = [query for query in queries if query not in mapping]
    if lacking:
        raise ValueError(
            f"Argument {name} does not contain query {lacking[0]!r} ({len(lacking)} of "
            f"{len(queries)} queries are missing). Pass an empty list for a query without entries."
        )


# Pairs -------------------------------------------------------------------------------------------


def read_pairs_by_query(pairs: Any, qid: QueryIds | None, name: str) -> dict[Hashable, list[Pair]]:
    """Return a dict of each query's pairs; if `qid` is None, the only key is None."""
    read = read_pairs(pairs, name)
    refuse_empty(read, name)
    if qid is None:
        return {None: read}
    refuse_unordered(pairs, f"Argument {name}")
    codes, ids = query_codes(qid, len(read), expected=name)
    pairs_of: list[list[Any]] = [[] for _ in ids]
    for code, pair in zip(codes.tolist(), read, strict=True):
        pairs_of[code].append(pair)
    return dict(zip(to_plain_list(ids), pairs_of, strict=True))


def read_pairs(pairs: Any, name: str) -> list[Pair]:
    """Convert pairs to a list of tuples (preferred, other) of hashable items."""
    read: list[Pair] = []
    seen: dict[Hashable, None] = {}
    for row, pair in enumerate(_list_pairs(pairs, name)):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(
                f"Argument {name} must contain pairs (preferred, other), but row {row} is "
                f"{pair!r}. Pass tuples of two items, an array of shape (n, 2) or a frame with two "
                "columns. To pass scores, use a mapping of items to scores."
            )
        for item in pair:
            _check_item(item, f"{name}, row {row},", seen)
        preferred, other = pair
        if preferred == other:
            raise ValueError(
                f"Argument {name} must pair distinct items: row {row} contains {preferred!r} twice."
            )
        read.append((preferred, other))
    return read


def _list_pairs(pairs: Any, name: str) -> list[Any]:
    """Convert pairs to a list; values in frames and arrays become plain Python values."""
    frame = frame_of(pairs)
    if frame is not None:
        return getattr(frame, "collect", lambda: frame)().rows()
    is_list = hasattr(pairs, "__iter__") and getattr(pairs, "shape", None) != ()
    if isinstance(pairs, (str, bytes, Mapping)) or not is_list:
        raise TypeError(
            f"Argument {name} must contain pairs (preferred, other); got {type(pairs).__name__}."
        )
    return [
        _list_elements(row) if isinstance(row, np.ndarray) else row for row in _list_elements(pairs)
    ]


def _list_elements(values: Any) -> list[Any]:
    """Convert values to a list; numbers and strings in arrays become plain Python values."""
    values = replace_masked(values)
    if hasattr(values, "to_pylist"):
        return values.to_pylist()
    is_array = hasattr(values, "tolist") and getattr(values, "dtype", None) is not None
    if is_array and getattr(values.dtype, "kind", "O") not in "mM":  # times would become ints
        return values.tolist()
    return list(values)


# Items and scores --------------------------------------------------------------------------------


def read_item_scores(scores: Mapping[Hashable, Any], name: str) -> dict[Hashable, float]:
    """Check the scores and return them as a dict keyed by item."""
    read: dict[Any, Any] = {}
    for item, score in scores.items():
        _check_item(item, name, read)
        if not isinstance(score, (numbers.Real, np.bool_)) or is_missing(score):
            raise (ValueError if is_missing(score) else TypeError)(
                f"Argument {name} must map items to numbers, but it maps {item!r} to {score!r}. To "
                "pass scores or pairs for each query, also pass qid. To pass pairs, use a list of "
                "tuples."
            )
        read[item] = score
    return read


def read_items_by_query(items: Any, queries: Collection[Hashable]) -> dict[Hashable, Items]:
    """Return the items of each query, converted by `read_items`; None means all items."""
    if not isinstance(items, Mapping):
        return dict.fromkeys(queries, None if items is None else read_items(items, "items"))
    refuse_lacking(queries, items, "items")
    return {query: read_items(items[query], f"items[{query!r}]", True) for query in queries}


def read_items(items: Any, name: str, may_be_empty: bool = False) -> Items:
    """Convert `items` to the keys of a dict, unless it is the string "judged" or "predicted"."""
    if isinstance(items, str) and items in (JUDGED, PREDICTED):
        return items
    if isinstance(items, (str, bytes)) or not hasattr(items, "__iter__"):
        raise TypeError(
            f'Argument {name} must be "judged", "predicted" or a collection of items; '
            f"got {items!r}."
        )
    read: dict[Any, Any] = {}
    for item in items if isinstance(items, Mapping) else _list_elements(items):
        _check_item(item, name, read)
    if not may_be_empty:
        refuse_empty(read, name)
    return read


def _check_item(item: Hashable, where: str, seen: dict[Hashable, Any]) -> None:
    """Add an item to the dict `seen`; raise an error if the item is None, NaN or not hashable."""
    try:
        if item in seen:
            return
    except TypeError:
        raise TypeError(
            f"Argument {where} contains {item!r}, which is not hashable: pass a tuple instead."
        ) from None
    if is_missing(item):
        raise ValueError(f"Argument {where} contains a missing value ({item!r}): remove it.")
    seen[item] = None


# One query ---------------------------------------------------------------------------------------


class Sides(NamedTuple):
    """The true and the predicted preferences for one query, and the items to evaluate."""

    truth: Pairs | StatedPairs
    prediction: Pairs | StatedPairs | Scores
    items: Items


def _measure_query(
    sides: Sides, formulas: list[Callable[..., float]], discount: str | Function, prior: Prior
) -> list[float] | None:
    """Return the values for one query, or None if the truth states no preference between items."""
    truth, prediction, items = sides
    if not isinstance(items, dict):
        of_both = [*truth.items, *prediction.items]
        choices = {None: of_both, JUDGED: truth.items, PREDICTED: prediction.predicted_items}
        items = dict.fromkeys(choices[items])
    if isinstance(truth, StatedPairs):
        assert not isinstance(prediction, Pairs)
        counts = graphs.count_stated_pairs(truth, prediction, items)
        return [formula(counts) for formula in formulas] if len(counts.ranks) else None
    if callable(prior):
        truth = truth.add_items(items)
    counted = np.fromiter((v in items for v in truth.items), np.uint8, len(truth.items))
    if not counted.any():
        return None
    counts = graphs.count_pairs(truth, prediction, counted, prior)
    if counts.ranks.max() < 2:
        return None
    return [formula(counts, len(items), discount, prior) for formula in formulas]


def _compute_edrc(
    counts: graphs.PairCounts, n_items: int, discount: str | Function, prior: Prior
) -> float:
    """Compute EDRC for one query; the variables are named as in the paper."""
    lower = counts.ranks > 1
    W = (n_items - counts.n_below)[lower]  # n_below counts the item itself
    agree, disagree = counts.agree[lower], counts.disagree[lower]
    unknown = counts.of_prior[lower] if callable(prior) else prior * (W - agree - disagree)
    C = agree + unknown
    weights = correlation.weigh_ranks(discount, np.arange(2.0, counts.ranks.max() + 1))
    weights = weights[counts.ranks[lower] - 2]
    return float(2 * (weights @ C) / (weights @ W) - 1)


def _count_known(counts: graphs.PairCounts) -> tuple[int, int]:
    """Count the known pairs and, of these, how many more are predicted correctly than wrongly."""
    surplus = int(counts.agree.sum() - counts.disagree.sum())
    return int((counts.n_below - 1).sum()), surplus  # n_below counts the item itself


def _compute_tau(counts: graphs.PairCounts, *settings: Any) -> float:
    """Return (agree - disagree) / n_known; pairs without a predicted preference count as 0."""
    n_known, surplus = _count_known(counts)
    return surplus / n_known


def _compute_accuracy(counts: graphs.PairCounts, *settings: Any) -> float:
    """Return the fraction of known pairs predicted correctly; unpredicted pairs count as 1/2."""
    n_known, surplus = _count_known(counts)
    return (n_known + surplus) / (2 * n_known)


FORMULAS: dict[type[Measure], Callable[..., float]] = {
    EDRC: _compute_edrc,
    correlation.PairAccuracy: _compute_accuracy,
    correlation.KendallTau: _compute_tau,
}
