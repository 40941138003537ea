"""Evaluation of preferences between items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input import door, queries
from skgraded._input.queries import QueryIds
from skgraded._input.tables import check_row_labels
from skgraded.measures.parameters import Function
from skgraded.measures.parsing import Measures
from skgraded.measures.preferences import (
    ItemsLike,
    check_preference_measures,
    compute_preference_values,
)
from skgraded.reports.evaluation import Evaluation


def evaluate_preferences(
    true_pairs: Any,
    predicted_pairs: Mapping[Any, Any],
    *,
    qid: QueryIds,
    measures: Measures = ("edrc",),
    items: ItemsLike = None,
    discount: str | Function = "linear",
    prior: float | Callable[[Any, Any], float] = 0.5,
    cycles: str = "raise",
    sample_weight: ArrayLike | None = None,
) -> Evaluation:
    r"""Evaluate predictions against the preference pairs of each query or user.

    Parameters
    ----------
    true_pairs : list of tuples, array of shape (n, 2), or frame with two columns
        Pairs (preferred, other) of hashable items, in any order.
    predicted_pairs : mapping
        The prediction for each query: a mapping of items to scores, or pairs in any format that
        `true_pairs` accepts. Queries without true pairs are ignored.
    qid : array-like of shape (n,)
        The query (or user) of each true pair.
    measures : {"edrc", "pair_accuracy", "kendall_tau"}, Measure, or list, default=("edrc",)
        "edrc" is `edrc_score`. The other measures use the n pairs of items that the true pairs
        order, directly or transitively: a pairs are predicted in the same order, and d pairs in the
        reverse order. "pair_accuracy" is (a + (n - a - d) / 2) / n. "kendall_tau" is (a - d) / n:
        Kendall's τ over these pairs, without correction for ties.
    items : collection of items, mapping, "judged" or "predicted", optional
        The items to evaluate, as in `edrc_score`; a mapping contains a collection for each query.
    discount, prior
        As for `edrc_score`.
    cycles : {"raise", "unknown", "majority", "ignore"}, default="raise"
        As for `edrc_score`. "ignore": the other measures count each true pair as often as it is
        stated, in each direction, without transitive closure, as in trec_eval's preference
        measures. A pair that is predicted both ways counts as not predicted.
    sample_weight : array-like of shape (n,), optional
        Weights of the true pairs; the weight of a query is their mean.

    Returns
    -------
    Evaluation
        A query is undefined if its true pairs do not determine the order of any two items.

    Warns
    -----
    UserWarning
        If pairs were ignored because of `cycles`; also as in `evaluate`.

    Raises
    ------
    ValueError
        If pairs contradict each other, or a query has no prediction.

    Examples
    --------
    >>> import skgraded as sg
    >>> pairs, user = [("a", "b"), ("b", "c"), ("c", "a")], ["ann", "ann", "bob"]
    >>> scores = {"ann": {"a": 3, "b": 1, "c": 2}, "bob": {"a": 2, "c": 1}}
    >>> ev = sg.evaluate_preferences(
    ...     pairs, scores, qid=user, measures=["edrc", "pair_accuracy", "kendall_tau"])
    >>> ev.to_frame().round(4)
      query_id    EDRC  PairAccuracy  KendallTau
    0      ann  0.4286        0.6667      0.3333
    1      bob -1.0000        0.0000     -1.0000
    """
    rows = {"true_pairs": true_pairs, "qid": qid, "sample_weight": sample_weight}
    check_row_labels(rows)
    named, weights = check_preference_measures(measures, discount, prior), None
    codes, query_ids = queries.query_codes(qid, expected="true_pairs")
    if sample_weight is not None:
        weights = door.check_weights(sample_weight, len(codes), "qid", len(query_ids))
        weights = queries.average_weights(weights, codes, np.bincount(codes))
    values = compute_preference_values(
        true_pairs, predicted_pairs, list(named.values()), discount, prior, items, qid, cycles
    )
    undefined = np.array([row is None for row in values.values()])
    per_query = {
        name: np.array([measure.undefined if row is None else row[i] for row in values.values()])
        for i, (name, measure) in enumerate(named.items())
    }
    return Evaluation(query_ids, per_query, dict.fromkeys(named, undefined), weights=weights)
