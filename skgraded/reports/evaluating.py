"""Evaluation of scores against grades, and of predicted against true preferences."""

from collections.abc import Callable, Mapping
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input import door, queries
from skgraded._input.door import check_names, plain, refuse_repeated, suggest_arguments
from skgraded._input.messages import warn_user
from skgraded._input.queries import QueryIds
from skgraded._input.tables import check_row_labels, read_named
from skgraded.judgments import (
    Judgments,
    as_judgments,
    check_labels,
    get_layout,
    replace_unjudged,
)
from skgraded.measures import Judged, Measure, as_measures
from skgraded.measures.base import (
    Function,
    accepts_negative,
    accepts_unjudged,
    find_undefined,
    prepare,
    score_prepared,
    score_queries,
)
from skgraded.measures.parsing import DEFAULT_MEASURES, Measures
from skgraded.measures.preferences import (
    ItemsLike,
    compute_preference_values,
)
from skgraded.reports.evaluation import Evaluation


@overload
def evaluate(
    y_true: Any,
    y_score: list[str] | tuple[str, ...] | Mapping[str, Any],
    *,
    qid: QueryIds | None = None,
    group: ArrayLike | None = None,
    measures: Measures = ...,
    sample_weight: ArrayLike | None = None,
    clusters: QueryIds | None = None,
    unjudged_documents: str | None = None,
    data: Any = None,
    document: str | None = ...,
    duplicates: str = ...,
) -> dict[str, Evaluation]: ...


@overload
def evaluate(
    y_true: ArrayLike | Judgments,
    y_score: ArrayLike,
    *,
    qid: QueryIds | None = None,
    group: ArrayLike | None = None,
    measures: Measures = ...,
    sample_weight: ArrayLike | None = None,
    clusters: QueryIds | None = None,
    unjudged_documents: str | None = None,
    data: Any = None,
    document: str | None = ...,
    duplicates: str = ...,
) -> Evaluation: ...


@suggest_arguments
def evaluate(
    y_true: ArrayLike | Judgments,
    y_score: Any,
    *,
    qid: QueryIds | None = None,
    group: ArrayLike | None = None,
    measures: Measures = DEFAULT_MEASURES,
    sample_weight: ArrayLike | None = None,
    clusters: QueryIds | None = None,
    unjudged_documents: str | None = None,
    data: Any = None,
    document: str | None = None,
    duplicates: str = "raise",
) -> Evaluation | dict[str, Evaluation]:
    """Evaluate the scores of one or more systems on each query.

    Parameters
    ----------
    y_true : array-like of shape (n,), Judgments, or str
        Grades ≥ 0, where 0 means irrelevant. With `data`, the name of the grade column.
    y_score : array-like of shape (n,), str, list of str, or dict
        Scores of the system; higher scores rank first, and -inf means not retrieved. For several
        systems, a dict of scores. With `data`, the name of the score column or, for several
        systems, a list or a dict of names.
    qid : array-like of shape (n,), or str, optional
        Query id of each row, in any order, or the name of the column. Required unless `y_true` is
        Judgments or `group` is passed.
    group : array-like of shape (n_queries,), optional
        Sizes of consecutive queries, instead of `qid`; ``group=[n]`` if all n rows form one query.
    measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
    sample_weight : array-like of shape (n,), or str, optional
        Row weights, or the name of the column; the weight of a query is the mean weight of its rows.
    clusters : array-like of shape (n,), or str, optional
        Cluster of each row, or the name of the column, if queries are not independent, such as
        paraphrases of a topic; the same for all rows of a query. Intervals and tests then treat
        the clusters as independent.
    unjudged_documents : {"irrelevant", "drop"}, optional
        How to handle unjudged documents, whose grades are NaN. Measures that accept NaN (`Judged`,
        `RBPResidual`, `Bpref`, `EDRC`) receive all rows. For the other measures, "irrelevant"
        replaces NaN with grade 0, "drop" removes the rows, and None raises an error.
    data : DataFrame, Arrow table, DuckDB relation, or dict of columns, optional
        Table that contains the named columns: a frame of any library that narwhals supports.
    document : str, optional
        Name of the column of document ids, which may occur once per query.
    duplicates : {"raise", "drop"}, default="raise"
        "drop" counts equal rows with the same query and document once; if they differ, an error is
        raised.

    Returns
    -------
    Evaluation or dict of str to Evaluation
        A dict keyed by system if `y_score` is a list or a dict; it can be passed to `compare`. If
        documents are unjudged, `Evaluation.judged` contains the share of judged documents.

    Warns
    -----
    UserWarning
        If all grades are integers ≥ 1, as in star ratings: pass ``y_true - 1`` if 1 means
        irrelevant. Also if two arguments are pandas Series with the same row labels in a different
        order, or if all of at least ten queries have only one row.

    See Also
    --------
    evaluate_batches : Evaluate tables that do not fit into memory.
    skgraded.datasets.join_run : Join a run with its judgments.

    Examples
    --------
    >>> import skgraded as sg
    >>> ev = sg.evaluate([2, 0, 1, 0, 1], [3, 1, 2, 5, 4], qid=list("aaabb"), measures=["ap", "rr"])
    >>> ev.per_query["AP"], ev.mean()["RR"]
    (array([1. , 0.5]), 0.75)
    >>> data = {"query": list("aabb"), "grade": [2, 0, 0, 1], "bm25": [2, 1, 2, 1],
    ...         "lgbm": [4, 3, 1, 2]}
    >>> sg.evaluate("grade", ["bm25", "lgbm"], qid="query", measures="rr", data=data)
    {'bm25': Evaluation(2 queries: RR=0.7500), 'lgbm': Evaluation(2 queries: RR=1.0000)}
    """
    measures = as_measures(measures)
    unjudged_documents = door.check_unjudged_documents(unjudged_documents)
    if document is not None or duplicates != "raise":
        queries.check_duplicates(duplicates, document)
    truth = {"y_true": y_true, "qid": qid, "sample_weight": sample_weight, "clusters": clusters}
    truth |= {"document": document}
    names, by_argument = _systems(y_score, data)
    columns = read_named(data, truth | by_argument)
    if qid is None and group is None and not isinstance(y_true, Judgments):
        door.refuse_unordered(columns["y_true"], "y_true")  # qrels
        door.as_array(columns["y_true"], "y_true")  # a matrix
        raise ValueError("qid is required: pass qid=..., or group=[n] if all rows form one query.")
    weights = columns["sample_weight"]
    judgments = as_judgments(columns["y_true"], columns["qid"], group, weights)
    clusters = columns["clusters"]
    if clusters is not None:
        clusters = read_clusters(judgments, clusters)
    of_systems = {argument: columns[argument] for argument in by_argument}
    check_labels(judgments, of_systems)
    n_rows = judgments.n_rows
    systems = {
        name: door.check_scores(scores, n_rows, argument)
        for name, (argument, scores) in zip(names, of_systems.items(), strict=True)
    }
    if document is not None:
        weights = None if weights is None else door.column(weights, "sample_weight")
        rows = keep_distinct_documents(judgments, columns["document"], systems, weights, duplicates)
        if rows is not None:
            layout = get_layout(judgments)
            judgments = Judgments(
                layout.grades.astype(layout.grade_type)[rows],
                qid=judgments.query_ids[layout.query_of_row[rows]],
                sample_weight=None if weights is None else weights[rows],
            )
            systems = {name: scores[rows] for name, scores in systems.items()}
    queries.warn_of_row_ids(judgments.sizes)
    warn_of_grades_from_1(judgments, unjudged_documents)
    evaluations = {
        name: evaluate_judgments(
            measures, judgments, scores, unjudged_documents, n_rows - judgments.n_rows, clusters
        )
        for name, scores in systems.items()
    }
    return evaluations[None] if None in evaluations else evaluations


def _systems(y_score: Any, data: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return a list of system names, and a dict of the systems' scores or column names.

    If `y_score` does not name the systems, the only name is None. The keys of the dict are argument
    names for error messages.
    """
    if data is not None and isinstance(y_score, (list, tuple)):
        refuse_repeated(y_score, "y_score")
        y_score = dict(zip(y_score, y_score, strict=True))
    if not isinstance(y_score, Mapping):
        return [None], {"y_score": y_score}
    if not y_score:
        raise ValueError("y_score is empty: pass at least one system.")
    check_names(y_score, "y_score")
    return list(y_score), {f"y_score {name!r}": values for name, values in y_score.items()}


def read_clusters(judgments: Judgments, clusters: QueryIds, expected: str = "y_true") -> np.ndarray:
    """Return the cluster of each query, given the cluster of each row."""
    check_labels(judgments, {"clusters": clusters})
    codes, distinct = queries.query_codes(clusters, judgments.n_rows, expected, "clusters")
    return distinct[find_constants(judgments, codes, distinct, "clusters")]


def find_constants(
    judgments: Judgments, codes: np.ndarray, distinct: np.ndarray, name: str
) -> np.ndarray:
    """Given the code of each row, return the code of each query: its index in `distinct`.

    Raise a ValueError if the rows of a query have different codes.
    """
    query_of_row = get_layout(judgments).query_of_row
    of_queries = np.empty(judgments.n_queries, dtype=np.intp)
    # Assign in reverse order, so that the first row of each query wins.
    of_queries[query_of_row[::-1]] = codes[::-1]
    differs = of_queries[query_of_row] != codes
    if differs.any():
        row = int(np.argmax(differs))
        query = query_of_row[row]
        first, other = (plain(distinct[code]) for code in (of_queries[query], codes[row]))
        raise ValueError(
            f"{name} must have one value per query, but the rows of query "
            f"{plain(judgments.query_ids[query])!r} have the values {first!r} and {other!r}."
        )
    return of_queries


def keep_distinct_documents(
    judgments: Judgments,
    document: ArrayLike,
    systems: Mapping[str, np.ndarray],
    weights: np.ndarray | None,
    duplicates: str,
) -> np.ndarray | None:
    """Return the positions of the distinct documents, or None if no document is repeated."""
    layout = get_layout(judgments)
    values = {"y_true": layout.grades} | {
        "y_score" if len(systems) == 1 else f"y_score {name!r}": scores
        for name, scores in systems.items()
    }
    if weights is not None:
        values["sample_weight"] = weights
    return queries.find_distinct_rows(
        layout.query_of_row, judgments.query_ids, document, values, duplicates
    )


def warn_of_grades_from_1(judgments: Judgments, unjudged_documents: str | None = None) -> bool:
    """Warn if all grades are integers ≥ 1 and at least two queries have several distinct grades.

    Return whether a warning was issued.

    Such grades are probably star ratings. There is no warning if some documents are unjudged and
    count as irrelevant, because their grade is then 0.
    """
    layout = get_layout(judgments)
    present = layout.counts > 0
    grades = layout.levels[present]
    has_zeros = layout.n_unknown > 0 and unjudged_documents == "irrelevant"
    if has_zeros or grades.min(initial=np.inf) < 1 or (grades != np.rint(grades)).any():
        return False
    is_graded = np.count_nonzero(layout.sum_levels(present.astype(int)) > 1) >= 2
    if is_graded:
        warn_user(
            f"All grades are from {grades.min():g} to {grades.max():g}, so every document counts "
            "as relevant. If 1 is the irrelevant grade, as in ratings from 1 to 5 stars, subtract "
            "it: y - 1."
        )
    return bool(is_graded)


def evaluate_judgments(
    measures: list[Measure],
    judgments: Judgments,
    scores: np.ndarray,
    unjudged_documents: str | None = None,
    n_duplicates: int = 0,
    clusters: np.ndarray | None = None,
) -> Evaluation:
    """Evaluate validated scores against Judgments, without warnings about the grades."""
    layout = get_layout(judgments)
    unanswered = judged = None
    if scores.min() == -np.inf:
        unanswered = (
            np.maximum.reduceat(layout.sort_by_query(scores), layout.starts[:-1]) == -np.inf
        )
        unanswered = unanswered if unanswered.any() else None
    if layout.n_unknown:
        share, known = choose_judged(measures), judgments
        if layout.has_negative:  # any grade counts as judged
            ids = judgments.query_ids[layout.query_of_row]
            known = Judgments(np.zeros(layout.n_rows) * layout.grades, qid=ids)
        judged = {share.name: score_queries([share], known, scores)[0]}
    parts = [(measures, judgments, scores)]
    if layout.n_unknown and unjudged_documents is not None:
        accepting = [measure for measure in measures if accepts_unjudged(measure)]
        others = [measure for measure in measures if not accepts_unjudged(measure)]
        has_negative = layout.has_negative
        filled = judgments if has_negative else replace_unjudged(judgments, "irrelevant")[0]
        for measure in others:
            if not (has_negative and accepts_negative(measure)):
                find_undefined(measure, filled)  # raises errors that refer to the input rows
        truth, rows = replace_unjudged(judgments, unjudged_documents)
        kept = scores if rows is None else np.append(scores, -np.inf)[rows]
        both = (accepting, judgments, scores), (others, truth, kept)
        parts = [part for part in both if part[0]]
    per_query: dict[str, Any] = dict.fromkeys(measure.name for measure in measures)
    undefined = per_query.copy()
    for part, truth, of_part in parts:
        prepared = [prepare(measure, get_layout(truth)) for measure in part]
        values = score_prepared(prepared, get_layout(truth), of_part)
        for (measure, _, is_undefined), of_measure in zip(prepared, values, strict=True):
            per_query[measure.name] = of_measure
            undefined[measure.name] = is_undefined
    return Evaluation(
        judgments.query_ids,
        per_query,
        undefined,
        weights=judgments.weights,
        clusters=clusters,
        judged=judged,
        unanswered=unanswered,
        unjudged_documents=unjudged_documents,
        n_duplicates=n_duplicates,
    )


def choose_judged(measures: list[Measure]) -> Judged:
    """Return the `Judged` measure with the cut-off k of the first measure, or 10 if it has none."""
    k = getattr(measures[0], "k", None)
    return Judged(k=k if isinstance(k, int) else 10)


# Preferences -------------------------------------------------------------------------------------


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
    check_row_labels({"true_pairs": true_pairs, "qid": qid, "sample_weight": sample_weight})
    codes, query_ids = queries.query_codes(qid, expected="true_pairs")
    weights = None
    if sample_weight is not None:
        weights = door.check_weights(sample_weight, len(codes), "qid", len(query_ids))
        weights = queries.average_weights(weights, codes, np.bincount(codes))
    named, values = compute_preference_values(
        true_pairs, predicted_pairs, measures, discount, prior, items, qid, cycles
    )
    undefined = np.array([row is None for row in values.values()])
    per_query = {
        name: np.array([measure.undefined if row is None else row[i] for row in values.values()])
        for i, (name, measure) in enumerate(named.items())
    }
    return Evaluation(query_ids, per_query, dict.fromkeys(named, undefined), weights=weights)
