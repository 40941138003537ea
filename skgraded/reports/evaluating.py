"""Functions that return evaluations, of scores, runs and preferences."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from textwrap import shorten
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input import door, queries
from skgraded._input.tables import check_row_labels, read_named
from skgraded._input.user_warnings import warn_user
from skgraded._input.words import check_names, plain, plain_list, refuse_repeated
from skgraded.datasets.data_structures import entries_of
from skgraded.datasets.entries import Entries
from skgraded.datasets.join import Joined, JudgmentIndex, check_options
from skgraded.datasets.trec import read_qrels_table, read_run_table, run_names
from skgraded.judgments import (
    Judgments,
    Truth,
    as_judgments,
    layout_of,
    scores_of_systems,
    without_unjudged,
)
from skgraded.measures import Judged, Measure, as_measures
from skgraded.measures.base import (
    accepts_unjudged,
    find_undefined,
    prepare,
    score_queries,
)
from skgraded.measures.parameters import Function
from skgraded.measures.parsing import DEFAULT_MEASURES, Measures, warn_of_other_meanings
from skgraded.measures.preferences import check_preference_measures, preference_values
from skgraded.reports.evaluation import Evaluation


@overload
def evaluate(
    y_true: Any,
    y_score: list[str] | tuple[str, ...] | Mapping[str, Any],
    *,
    qid: Any = None,
    group: ArrayLike | None = None,
    measures: Measures = ...,
    sample_weight: Any = None,
    clusters: Any = None,
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
    qid: Any = None,
    group: ArrayLike | None = None,
    measures: Measures = ...,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    unjudged_documents: str | None = None,
    data: Any = None,
    document: str | None = ...,
    duplicates: str = ...,
) -> Evaluation: ...


def evaluate(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    group: ArrayLike | None = None,
    measures: Measures = DEFAULT_MEASURES,
    sample_weight: Any = None,
    clusters: Any = None,
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
        systems, a dict that maps their names to scores. With `data`, the name of the score column,
        or a list of column names, one per system, or a dict of column names.
    qid : array-like of shape (n,), or str, optional
        Query id of each row; rows may be in any order. With `data`, the name of the column.
        Required unless `y_true` is Judgments or `group` is passed.
    group : array-like of shape (n_queries,), optional
        Sizes of consecutive queries, instead of `qid`; ``group=[n]`` if all n rows form one query.
    measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
    sample_weight : array-like of shape (n,), or str, optional
        Row weights; the weight of a query is the mean weight of its rows. With `data`, the name of
        the weight column.
    clusters : array-like of shape (n,), or str, optional
        Cluster of each row, the same for all rows of a query, if queries are not independent:
        paraphrases of a topic, or queries of a user. Intervals and tests of `compare` then treat
        the clusters as independent. With `data`, the name of the column.
    unjudged_documents : {"irrelevant", "drop"}, optional
        How to handle unjudged documents, whose grades are NaN. Measures that accept NaN (`Judged`,
        `RBPResidual`, `Bpref`, `EDRC`) receive all rows. For the other measures, "irrelevant"
        replaces NaN with grade 0, "drop" removes the rows, and None raises an error.
    data : DataFrame, Arrow table, DuckDB relation, or dict of columns, optional
        Table that contains the columns named in the other arguments: a frame of any library that
        narwhals supports. A lazy frame computes only these columns.
    document : str, optional
        Name of the column of `data` with document ids. A query that contains a document twice is
        then an error; otherwise, repeated rows are counted.
    duplicates : {"raise", "drop"}, default="raise"
        "drop" counts rows with the same query and document once if their grades, scores and weights
        are equal; if they differ, an error is raised. `Evaluation.n_duplicates` is the number of
        rows dropped.

    Returns
    -------
    Evaluation or dict of str to Evaluation
        A dict keyed by system if `y_score` is a list or a dict; it can be passed to `compare`. If
        documents are unjudged, `Evaluation.judged` contains the share of judged documents.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names the argument, the row and the value.

    Warns
    -----
    UserWarning
        If all grades are integers ≥ 1, as in star ratings, and at least two queries have several
        distinct grades. Measures treat grade 0 as irrelevant: pass ``y_true - 1`` if 1 means
        irrelevant. Also if two arguments are pandas Series with the same row labels in a
        different order, or if all of at least ten queries have only one row.

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
    >>> ev
    Evaluation(2 queries: AP=0.7500, RR=0.7500)
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
    if document is not None and (data is None or group is not None):
        raise ValueError("document= requires data=, and qid= instead of group=.")
    weights = columns["sample_weight"]
    judgments = as_judgments(columns["y_true"], columns["qid"], group, weights)
    clusters = columns["clusters"]
    if clusters is not None:
        clusters = read_clusters(judgments, clusters)
    of_systems = {argument: columns[argument] for argument in by_argument}
    systems = dict(zip(names, scores_of_systems(judgments, of_systems), strict=True))
    n_rows = judgments.n_rows
    if document is not None:
        weights = None if weights is None else door.column(weights, "sample_weight")
        documents = columns["document"]
        rows = distinct_documents(judgments, documents, systems, weights, duplicates)
        if rows is not None:
            layout = layout_of(judgments)
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
    """Return the names of the systems (None for a single system), and their scores or columns.

    The scores are keyed by the name of the argument in messages.
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


def read_clusters(judgments: Judgments, clusters: Any) -> np.ndarray:
    """Return the cluster of each query, given the cluster of each row.

    Raise a ValueError if the rows of a query have different clusters.
    """
    codes, distinct = queries.query_codes(clusters, judgments.n_rows, name="clusters")
    layout = layout_of(judgments)
    codes = layout.by_query(codes)
    first = codes[layout.starts[:-1]]
    differs = codes != np.repeat(first, layout.sizes)
    if differs.any():
        i = int(np.argmax(differs))
        query = int(np.searchsorted(layout.starts, i, side="right")) - 1
        raise ValueError(
            "clusters must have one value per query, but the rows of query "
            f"{plain_list(judgments.query_ids)[query]!r} have the clusters "
            f"{distinct[first[query]]!r} and {distinct[codes[i]]!r}."
        )
    return distinct[first]


def distinct_documents(
    judgments: Judgments,
    document: Any,
    systems: Mapping[str, np.ndarray],
    weights: np.ndarray | None,
    duplicates: str,
) -> np.ndarray | None:
    """Return the rows without repeated documents of a query, or None; see `distinct_rows`."""
    layout = layout_of(judgments)
    values = {"y_true": layout.grades} | {
        "y_score" if len(systems) == 1 else f"y_score {name!r}": scores
        for name, scores in systems.items()
    }
    if weights is not None:
        values["sample_weight"] = weights
    codes = layout.query_of_row
    return queries.distinct_rows(codes, judgments.query_ids, document, values, duplicates)


def warn_of_grades_from_1(judgments: Judgments, unjudged_documents: str | None = None) -> None:
    """Warn if all grades are integers ≥ 1, and at least two queries have several distinct grades.

    These are probably star ratings. In click data, all grades may be 1. Unjudged documents that
    count as irrelevant have grade 0.
    """
    layout = layout_of(judgments)
    present = layout.counts > 0
    grades = layout.levels[present]
    has_zeros = layout.n_unknown > 0 and unjudged_documents == "irrelevant"
    if has_zeros or grades.min(initial=np.inf) < 1 or (grades != np.rint(grades)).any():
        return
    if np.count_nonzero(layout.sum_levels(present.astype(int)) > 1) >= 2:
        warn_user(
            f"All grades are from {grades.min():g} to {grades.max():g}, so every document counts "
            "as relevant. If 1 is the irrelevant grade, as in ratings from 1 to 5 stars, subtract "
            "it: y - 1."
        )


def evaluate_judgments(
    measures: list[Measure],
    judgments: Judgments,
    scores: np.ndarray,
    unjudged_documents: str | None = None,
    n_duplicates: int = 0,
    clusters: np.ndarray | None = None,
) -> Evaluation:
    """Evaluate checked scores against Judgments without warning about the grades."""
    layout = layout_of(judgments)
    unanswered = judged = None
    if scores.min() == -np.inf:
        unanswered = np.maximum.reduceat(layout.by_query(scores), layout.starts[:-1]) == -np.inf
        unanswered = unanswered if unanswered.any() else None
    if layout.n_unknown:
        k = getattr(measures[0], "k", None)
        share = Judged(k=k if isinstance(k, int) else 10)
        judged = {share.name: score_queries([share], judgments, scores)[0]}
    per_query: dict[str, Any] = dict.fromkeys(measure.name for measure in measures)
    undefined = per_query.copy()
    for part, truth, of_part in _by_truth(measures, judgments, scores, unjudged_documents):
        values = score_queries(part, truth, of_part)
        for measure, of_measure in zip(part, values, strict=True):
            per_query[measure.name] = of_measure
            undefined[measure.name] = prepare(measure, layout_of(truth)).undefined
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


def _by_truth(
    measures: list[Measure],
    judgments: Judgments,
    scores: np.ndarray,
    unjudged_documents: str | None,
) -> list[tuple[list[Measure], Judgments, np.ndarray]]:
    """Return (measures, judgments, scores) for measures that accept NaN grades and for others."""
    if not layout_of(judgments).n_unknown or unjudged_documents is None:
        return [(measures, judgments, scores)]
    accepting = [measure for measure in measures if accepts_unjudged(measure)]
    others = [measure for measure in measures if not accepts_unjudged(measure)]
    filled, _ = without_unjudged(judgments, "irrelevant")
    for measure in others:
        find_undefined(measure, filled)  # errors raised here refer to rows of the input
    truth, rows = without_unjudged(judgments, unjudged_documents)
    kept = scores if rows is None else np.append(scores, -np.inf)[rows]
    parts = [(accepting, judgments, scores), (others, truth, kept)]
    return [part for part in parts if part[0]]


# Runs --------------------------------------------------------------------------------------------


def evaluate_runs(
    qrels: Any,
    runs: Mapping[str, Any] | Sequence[str | os.PathLike[str]],
    measures: Measures = DEFAULT_MEASURES,
    *,
    missing: Literal["count", "skip"] = "count",
    ties: Literal["trec"] | None = None,
    unjudged: Literal["skip", "raise"] = "skip",
    unjudged_documents: Literal["irrelevant", "drop"] = "irrelevant",
    identical_ids: Literal["keep", "drop"] = "keep",
    names: Literal["trec_eval"] | None = None,
    threshold: float | None = None,
) -> dict[str, Evaluation]:
    """Evaluate runs with the same judgments, over the same queries.

    Parameters
    ----------
    qrels : path, or qrels in any form that `join_run` accepts
        The judgments.
    runs : mapping of str to run, or list of paths
        The runs, each a path or any form that `join_run` accepts, keyed by name. In a list, a
        run's name is its tag, the last column of a TREC run, if no other run has the same, and
        otherwise the name of the file without ``input.`` and its extension.
    measures : Measure, str, or a list of them, default=("ndcng@10", "mu_map")
        "official" stands for the official measures of trec_eval that are means or totals over the
        queries, with ``names="trec_eval"``.
    missing : {"count", "skip"}, default="count"
        Judged queries that are missing from a run count without retrieved documents, as with
        trec_eval's ``-c``, with a warning; a run may then be empty. "skip" leaves them out for all
        runs, with a warning if some runs contain them.
    ties : {"trec"}, optional
        As in `join_run`.
    unjudged : {"skip", "raise"}, default="skip"
        As in `join_run`.
    unjudged_documents : {"irrelevant", "drop"}, default="irrelevant"
        As in `evaluate`.
    identical_ids : {"keep", "drop"}, default="keep"
        As in `join_run`.
    names : {"trec_eval"}, optional
        With "trec_eval", strings have the meaning of trec_eval 10, as in `measure`; names such as
        "P" stand for all its cut-offs; and ties are ordered as with ``ties="trec"``.
    threshold : float, optional
        The lowest relevant grade, as trec_eval's ``-l``, of each measure that has the parameter
        `threshold` and does not state it.

    Returns
    -------
    dict of str to Evaluation
        The evaluations by name, in the order of `runs`, for `compare`.

    Raises
    ------
    OSError, ValueError, TypeError
        If a file or an argument cannot be read; see `join_run`. Errors name the file or the run.

    Warns
    -----
    UserWarning
        As in `join_run`; also if an NDCG or an AP has another meaning in trec_eval and there are
        grades above 1.

    Examples
    --------
    >>> import skgraded as sg
    >>> qrels = {"q1": {"a": 2, "b": 0}, "q2": {"c": 1}}
    >>> runs = {"bm25": {"q1": {"a": 2, "b": 1}, "q2": {"c": 3}},
    ...         "dense": {"q1": {"b": 2}, "q2": {"c": 1}}}
    >>> evaluations = sg.evaluate_runs(qrels, runs, "ap")
    >>> {name: evaluation.mean()["AP"] for name, evaluation in evaluations.items()}
    {'bm25': 1.0, 'dense': 0.5}
    """
    door.check_unjudged_documents(unjudged_documents)
    check_options(missing, unjudged, ties, identical_ids)
    texts = measures if isinstance(measures, (list, tuple)) else [measures]
    if "official" in map(str, texts):
        names = "trec_eval"
    measures = as_measures(measures, names, threshold)
    sources = _runs_by_name(runs)
    is_path = isinstance(qrels, (str, os.PathLike))
    judgments = read_qrels_table(qrels) if is_path else entries_of(qrels, "qrels")
    if names is None:
        warn_of_other_meanings(measures, judgments.numbers.max())
    evaluations, note = evaluate_each_run(
        judgments,
        ((name, _read_run(name, run, missing == "count")) for name, run in sources.items()),
        measures,
        missing=missing,
        unjudged=unjudged,
        ties=ties if names is None else "trec",
        unjudged_documents=unjudged_documents,
        identical_ids=identical_ids,
    )
    if missing == "skip":
        return _take_common_queries(evaluations)
    if note:
        warn_user(note)
    return evaluations


MAX_NOTE = 1000  # characters of the note on the queries of all runs
# What happens to the judged queries that are missing from a run.
FATES = {
    "count": "count as empty rankings",
    "skip": "are left out (missing='count' counts them)",
    "raise": "are refused (missing='count' counts them)",
}


def evaluate_each_run(
    judgments: Entries,
    runs: Iterable[tuple[str, Entries]],
    measures: list[Measure],
    *,
    missing: str,
    unjudged: str,
    ties: str | None,
    unjudged_documents: str,
    identical_ids: str,
) -> tuple[dict[str, Evaluation], str]:
    """Evaluate runs one by one; return Evaluations, and a note on the queries of only one side.

    With missing="skip", each run is evaluated on its own queries. With "raise", a judged query that
    is missing from a run is an error.
    """
    index = JudgmentIndex(judgments)
    evaluations, notes = {}, []
    for name, run in runs:
        if identical_ids == "drop":
            run = run.without_identical_ids()
        joined = index.join(run, missing == "count", unjudged == "raise", ties, "keep")
        evaluations[name] = evaluate_joined(joined, judgments, measures, unjudged_documents)
        sides = (
            (
                joined.missing,
                judgments.query_ids,
                "judged queries are missing from the run",
                FATES[missing],
            ),
            (
                joined.unjudged,
                run.query_ids,
                "queries of the run have no judgments",
                "are left out",
            ),
        )
        texts = [
            f"{mask.sum()} of {len(mask)} {place} (the first is {plain(ids[mask][0])!r}) and {fate}"
            for mask, ids, place, fate in sides
            if mask.any()
        ]
        if texts:
            notes.append((joined.missing.sum(), f"{name}: {'; '.join(texts)}."))
        if missing == "raise" and joined.missing.any():
            raise ValueError(notes[-1][1])
        del run, joined  # free the memory of large runs
    notes.sort(key=itemgetter(0), reverse=True)  # the run with most missing queries first
    return evaluations, shorten(" ".join(text for _, text in notes), MAX_NOTE, placeholder=" …")


def evaluate_joined(
    joined: Joined, judgments: Entries, measures: list[Measure], unjudged_documents: str
) -> Evaluation:
    """Evaluate the rows of a run, joined with judgments."""
    is_measured = joined.sizes > 0
    starts = np.append(0, np.cumsum(joined.sizes[is_measured]))
    query_ids = judgments.query_ids[is_measured]
    truth = Judgments(Truth(joined.grade, joined.grade.dtype, query_ids, None, starts))
    warn_of_grades_from_1(truth, unjudged_documents)
    return evaluate_judgments(measures, truth, joined.score, unjudged_documents)


def _runs_by_name(runs: Any) -> Mapping[str, Any]:
    """Return the runs keyed by name; name the runs of a list of paths."""
    if not isinstance(runs, (Mapping, list, tuple)) or not runs:
        raise TypeError(
            "runs must be a mapping of names to runs, or a list of paths, and not empty; got "
            f"{type(runs).__name__}."
        )
    if isinstance(runs, Mapping):
        check_names(runs, "runs")
        return runs
    paths = list(map(os.fspath, runs))
    refuse_repeated(paths, "runs")
    return {name: path for path, name in run_names(paths).items()}


def _read_run(name: str, source: Any, allow_empty: bool) -> Entries:
    """Read a run from a file, or convert another form; errors name the file or the run."""
    if isinstance(source, (str, os.PathLike)):
        return read_run_table(source, allow_empty=allow_empty)
    try:
        return entries_of(source, "run", f"runs[{name!r}]", allow_empty=allow_empty)
    except (TypeError, ValueError) as error:
        raise type(error)(f"runs[{name!r}]: {error}") from None


def _take_common_queries(evaluations: dict[str, Evaluation]) -> dict[str, Evaluation]:
    """Take the queries that all Evaluations contain; warn if some Evaluations contain others."""
    ids = {name: plain_list(evaluation.query_ids) for name, evaluation in evaluations.items()}
    common = set.intersection(*map(set, ids.values()))
    if not common:
        raise ValueError("The runs have no judged query in common: pass missing='count'.")
    n_all = len(set().union(*ids.values()))
    if len(common) < n_all:
        warn_user(
            f"The runs contain different queries: {n_all - len(common)} of {n_all} are missing "
            "from at least one run and are left out for all runs. Pass missing='count' to count "
            "them."
        )
    return {
        name: evaluation.take(np.flatnonzero([query in common for query in ids[name]]))
        for name, evaluation in evaluations.items()
    }


# Preferences -------------------------------------------------------------------------------------


def evaluate_preferences(
    true_pairs: Any,
    predicted_pairs: Mapping[Any, Any],
    *,
    qid: Any,
    measures: Measures = ("edrc",),
    items: Any = None,
    discount: str | Function = "linear",
    prior: float | Callable[[Any, Any], float] = 0.5,
    cycles: str = "raise",
    sample_weight: ArrayLike | None = None,
) -> Evaluation:
    r"""Evaluate predictions against the preference pairs of each query or user.

    Parameters
    ----------
    true_pairs : list of tuples, array of shape (n, 2), or frame with two columns
        Pairs (preferred, other) of items, in any order. Items may be any hashable objects.
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
        Weights of the true pairs. A query's weight is the mean weight of its pairs.

    Returns
    -------
    Evaluation
        Values for each query, in order of first appearance in `qid`. A query is undefined if its
        true pairs do not determine the order of any two items; its value is the measure's
        `undefined`.

    Warns
    -----
    UserWarning
        If pairs were ignored because of `cycles`; also if two arguments are pandas objects with
        the same row labels in a different order.

    Raises
    ------
    ValueError, TypeError
        If the input is invalid, such as contradictory pairs or a query without a prediction.

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
        weights = queries.mean_weights(weights, codes, np.bincount(codes))
    values = preference_values(
        true_pairs, predicted_pairs, list(named.values()), discount, prior, items, qid, cycles
    )
    undefined = np.array([row is None for row in values.values()])
    per_query = {
        name: np.array([measure.undefined if row is None else row[i] for row in values.values()])
        for i, (name, measure) in enumerate(named.items())
    }
    return Evaluation(query_ids, per_query, dict.fromkeys(named, undefined), weights=weights)
