"""Functions that return evaluations, of scores, runs and preferences."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input import columns, queries
from skgraded._input.table_kinds import named_columns, refuse_names, refuse_other_than_names
from skgraded._input.words import check_names, plain_list
from skgraded.datasets.data_structures import entries_of
from skgraded.datasets.entries import Entries
from skgraded.datasets.join import Joined, JudgmentIndex, check_options
from skgraded.datasets.trec import read_qrels_table, read_run_table, run_names
from skgraded.judgments import Judgments, check_judgments, layout_of, without_unjudged
from skgraded.measures import Judged, Measure, as_measures, score_queries
from skgraded.measures.base import Function, accepts_unjudged, undefined_of
from skgraded.measures.parsing import warn_of_other_meanings
from skgraded.measures.preferences import check_preference_measures, preference_values
from skgraded.reports.evaluation import Evaluation

Measures: TypeAlias = str | Measure | Iterable[str | Measure]


@overload
def evaluate(
    y_true: str,
    y_score: list[str] | tuple[str, ...],
    *,
    qid: str | None = None,
    group: ArrayLike | None = None,
    measures: Measures = ...,
    sample_weight: str | None = None,
    unjudged_documents: str | None = None,
    data: Any,
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
    measures: Measures = ("ndcng@10", "mu_map"),
    sample_weight: Any = None,
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
    y_score : array-like of shape (n,), str, or list of str
        Scores of the system; higher scores rank first, and -inf means not retrieved. With `data`,
        the name of the score column, or a list of column names, one per system.
    qid : array-like of shape (n,), or str, optional
        Query id of each row; rows may be in any order. With `data`, the name of the column.
        Required unless `y_true` is Judgments or `group` is passed.
    group : array-like of shape (n_queries,), optional
        Sizes of consecutive queries, instead of `qid`; ``group=[n]`` if all n rows form one query.
    measures : Measure, str, or list of these, default=("ndcng@10", "mu_map")
    sample_weight : array-like of shape (n,), or str, optional
        Row weights; the weight of a query is the mean weight of its rows. With `data`, the name of
        the weight column.
    unjudged_documents : {"irrelevant", "drop"}, optional
        How to handle unjudged documents, whose grades are NaN. Measures that accept NaN (`Judged`,
        `RBPResidual`, `Bpref`, `EDRC`) receive all rows. For the other measures, "irrelevant"
        replaces NaN with grade 0, "drop" removes the rows, and None raises an error.
    data : pandas or polars DataFrame, Arrow table, or dict of columns, optional
        Table that contains the columns named in the other arguments.
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
        A dict keyed by column name if `y_score` is a list; it can be passed to `compare`. If
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
    unjudged_documents = columns.check_unjudged_documents(unjudged_documents)
    truth = {"y_true": y_true, "qid": qid, "sample_weight": sample_weight}
    queries.check_duplicates(duplicates, document)
    is_dict = data is not None and isinstance(y_score, (list, tuple))
    if data is None:
        columns.refuse_unordered(y_true, "y_true")
        refuse_names(truth | {"y_score": y_score})
        systems = {"y_score": y_score}
    else:
        truth = truth if document is None else truth | {"document": document}
        truth, systems = _read_columns(data, truth, y_score if is_dict else [y_score])
    if qid is None and group is None and not isinstance(y_true, Judgments):
        columns.as_array(truth["y_true"], "y_true")  # qrels or a matrix
        raise ValueError("qid is required: pass qid=..., or group=[n] if all rows form one query.")
    if document is not None and (data is None or group is not None):
        raise ValueError("document= requires data=, and qid= instead of group=.")
    document = truth.pop("document", None)
    judgments = check_judgments(**truth, y_score=next(iter(systems.values())), group=group)
    n_rows = judgments.n_rows
    systems = {
        name: columns.check_scores(scores, n_rows, f"y_score {name!r}" if is_dict else "y_score")
        for name, scores in systems.items()
    }
    if document is not None:
        weights = truth["sample_weight"]
        weights = None if weights is None else columns.as_array(weights, "weight")
        judgments, systems = _without_duplicates(judgments, systems, document, weights, duplicates)
    queries.warn_of_row_ids(judgments.sizes)
    if not layout_of(judgments).n_unknown or unjudged_documents != "irrelevant":  # else some are 0
        warn_of_grades_from_1(judgments)
    evaluations = {
        name: evaluate_judgments(
            measures, judgments, scores, unjudged_documents, n_rows - judgments.n_rows
        )
        for name, scores in systems.items()
    }
    return evaluations if is_dict else next(iter(evaluations.values()))


def _read_columns(
    data: Any, truth: dict[str, Any], score_names: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the named columns; return the ground truth, and the scores keyed by column name."""
    named = [item for item in truth.items() if item[1] is not None]
    refuse_other_than_names([*named, *(("y_score", name) for name in score_names)])
    if not score_names:
        raise ValueError("y_score is an empty list: pass at least one column name.")
    for name in score_names:
        if list(score_names).count(name) > 1:
            raise ValueError(f"y_score contains the column {name!r} twice.")
    table = named_columns(data, [*(name for _, name in named), *score_names])
    return (
        truth | {argument: table[name] for argument, name in named},
        {name: table[name] for name in score_names},
    )


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


def _without_duplicates(
    judgments: Judgments,
    systems: dict[str, np.ndarray],
    document: Any,
    weights: np.ndarray | None,
    duplicates: str,
) -> tuple[Judgments, dict[str, np.ndarray]]:
    rows = distinct_documents(judgments, document, systems, weights, duplicates)
    if rows is None:
        return judgments, systems
    layout = layout_of(judgments)
    judgments = Judgments(
        layout.grades.astype(layout.grade_type)[rows],
        qid=judgments.query_ids[layout.query_of_row[rows]],
        sample_weight=None if weights is None else weights[rows],
    )
    return judgments, {name: scores[rows] for name, scores in systems.items()}


def warn_of_grades_from_1(judgments: Judgments) -> None:
    """Warn if all grades are integers ≥ 1, and at least two queries have several distinct grades.

    These are probably star ratings. In click data, all grades may be 1.
    """
    layout = layout_of(judgments)
    present = layout.counts > 0
    grades = layout.levels[present]
    if grades.min(initial=np.inf) < 1 or (grades != np.rint(grades)).any():
        return
    if np.count_nonzero(layout.sum_levels(present.astype(int)) > 1) >= 2:
        warnings.warn(
            f"All grades are from {grades.min():g} to {grades.max():g}, so every document counts "
            "as relevant. If 1 is the irrelevant grade, as in ratings from 1 to 5 stars, subtract "
            "it: y - 1.",
            stacklevel=3,
        )


def evaluate_judgments(
    measures: list[Measure],
    judgments: Judgments,
    y_score: ArrayLike,
    unjudged_documents: str | None = None,
    n_duplicates: int = 0,
) -> Evaluation:
    """Evaluate scores against Judgments without warning about the grades."""
    values = values_by_query(measures, judgments, y_score, unjudged_documents)
    return Evaluation(
        **values,
        judged=_judged_share(measures[0], judgments, y_score),
        unanswered=_unanswered(judgments, y_score),
        n_duplicates=n_duplicates,
    )


def _unanswered(judgments: Judgments, y_score: ArrayLike) -> np.ndarray | None:
    """Return the mask of queries whose scores are all -inf, or None if there are none."""
    layout = layout_of(judgments)
    scores = columns.score_column(y_score, layout.n_rows)
    if scores.min() > -np.inf:  # fast path
        return None
    mask = np.maximum.reduceat(layout.by_query(scores), layout.starts[:-1]) == -np.inf
    return mask if mask.any() else None


def _judged_share(
    measure: Measure, judgments: Judgments, y_score: ArrayLike
) -> dict[str, np.ndarray] | None:
    """Return the share of judged documents per query, or None if every document is judged."""
    if not layout_of(judgments).n_unknown:
        return None
    k = getattr(measure, "k", None)
    judged = Judged(k=k if isinstance(k, int) else 10)
    (shares,) = score_queries([judged], judgments, y_score)
    return {judged.name: shares}


def values_by_query(
    measures: list[Measure],
    judgments: Judgments,
    y_score: ArrayLike,
    unjudged_documents: str | None = None,
) -> dict[str, Any]:
    """Compute the fields of an Evaluation, including the per-query values."""
    values: dict[Measure, np.ndarray] = {}
    undefined: dict[Measure, np.ndarray] = {}
    for part, truth, scores in _by_truth(measures, judgments, y_score, unjudged_documents):
        values |= zip(part, score_queries(part, truth, scores), strict=True)
        undefined |= {measure: undefined_of(measure, truth) for measure in part}
    named = {measure.name: measure for measure in measures}
    return {
        "query_ids": judgments.query_ids,
        "per_query": {name: values[measure] for name, measure in named.items()},
        "undefined": {name: undefined[measure] for name, measure in named.items()},
        "weights": judgments.weights,
        "unjudged_documents": unjudged_documents,
    }


def _by_truth(
    measures: list[Measure],
    judgments: Judgments,
    y_score: ArrayLike,
    unjudged_documents: str | None,
) -> Iterator[tuple[list[Measure], Judgments, Any]]:
    """Yield (measures, judgments, scores) for measures that accept NaN grades, then for others."""
    if not layout_of(judgments).n_unknown or unjudged_documents is None:
        yield measures, judgments, y_score
        return
    accepting = [measure for measure in measures if accepts_unjudged(measure)]
    if accepting:
        yield accepting, judgments, y_score
    others = [measure for measure in measures if not accepts_unjudged(measure)]
    if others:
        filled, _ = without_unjudged(judgments, "irrelevant")
        for measure in others:
            undefined_of(measure, filled)  # errors raised here refer to rows of the input
        truth, rows = without_unjudged(judgments, unjudged_documents)
        scores = columns.score_column(y_score, judgments.n_rows)
        yield others, truth, scores if rows is None else np.append(scores, -np.inf)[rows]


# Runs --------------------------------------------------------------------------------------------


def evaluate_runs(
    qrels: Any,
    runs: Mapping[str, Any] | Sequence[str | os.PathLike[str]],
    measures: Measures = ("ndcng@10", "mu_map"),
    *,
    missing: Literal["count", "skip"] = "count",
    ties: Literal["trec"] | None = None,
    unjudged: Literal["skip", "raise"] = "skip",
    unjudged_documents: Literal["irrelevant", "drop"] = "irrelevant",
    identical_ids: Literal["keep", "drop"] = "keep",
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
    missing : {"count", "skip"}, default="count"
        Judged queries that are missing from a run count without retrieved documents, as with
        trec_eval's ``-c``, or are left out for all runs, with a warning if some runs contain them.
    ties, unjudged, identical_ids
        As in `join_run`.
    unjudged_documents : {"irrelevant", "drop"}, default="irrelevant"
        As in `evaluate`.

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
    >>> runs = {"bm25": {"q1": {"a": 2, "b": 1}, "q2": {"c": 3}}, "dense": {"q1": {"b": 2}}}
    >>> evaluations = sg.evaluate_runs(qrels, runs, "ap")
    >>> {name: evaluation.mean()["AP"] for name, evaluation in evaluations.items()}
    {'bm25': 1.0, 'dense': 0.0}
    """
    columns.choice_validator("unjudged_documents", ("irrelevant", "drop"))(unjudged_documents)
    check_options(missing, unjudged, ties, identical_ids)
    measures = as_measures(measures)
    sources = _runs_by_name(runs)
    index = JudgmentIndex(_entries(qrels, "qrels", "qrels"))
    warn_of_other_meanings(measures, index.judgments.numbers.max())
    evaluations = {}
    for name, source in sources.items():
        run = _entries(source, "run", f"runs[{name!r}]", allow_empty=missing == "count")
        evaluations[name], _ = evaluate_run(
            index,
            run,
            measures,
            missing == "count",
            unjudged == "raise",
            ties,
            unjudged_documents,
            identical_ids == "drop",
        )
    return evaluations if missing == "count" else _over_common_queries(evaluations)


def evaluate_run(
    index: JudgmentIndex,
    run: Entries,
    measures: list[Measure],
    count_missing: bool,
    refuse_unjudged: bool,
    ties: str | None,
    unjudged_documents: str,
    drop_identical_ids: bool,
) -> tuple[Evaluation, Joined]:
    """Evaluate a run; return its Evaluation, and the join with the judgments."""
    if drop_identical_ids:
        run = run.without_identical_ids()
    joined = index.join(run, count_missing, refuse_unjudged, ties, "keep")
    measured = joined.sizes > 0
    evaluation = evaluate(
        joined.grade,
        joined.score,
        group=joined.sizes[measured],
        measures=measures,
        unjudged_documents=unjudged_documents,
    )
    return replace(evaluation, query_ids=index.judgments.query_ids[measured]), joined


def _runs_by_name(runs: Any) -> Mapping[str, Any]:
    """Return the runs keyed by name; name the runs of a list of paths."""
    if isinstance(runs, Mapping):
        check_names(runs, "runs")
    else:
        is_list = isinstance(runs, Sequence) and not isinstance(runs, (str, bytes))
        if not is_list or not all(isinstance(path, (str, os.PathLike)) for path in runs):
            raise TypeError(
                "runs must be a mapping of names to runs, or a list of paths; got "
                f"{type(runs).__name__ if not is_list else list(map(type, runs))!r:.200}."
            )
        paths = list(map(os.fspath, runs))
        if len(set(paths)) < len(paths):
            twice = next(path for path in paths if paths.count(path) > 1)
            raise ValueError(f"runs contains {twice!r} twice.")
        runs = {name: path for path, name in run_names(paths).items()}
    if not runs:
        raise ValueError("runs is empty: pass at least one run.")
    return runs


def _entries(source: Any, side: str, name: str, allow_empty: bool = False) -> Entries:
    """Read a file, or convert another form of qrels or of a run."""
    if isinstance(source, (str, os.PathLike)):
        if side == "qrels":
            return read_qrels_table(source)
        return read_run_table(source, allow_empty=allow_empty)
    return entries_of(source, side, name, stacklevel=4)


def _over_common_queries(evaluations: dict[str, Evaluation]) -> dict[str, Evaluation]:
    """Take the queries that all Evaluations contain; warn if some Evaluations contain others."""
    ids = [plain_list(evaluation.query_ids) for evaluation in evaluations.values()]
    common = set(ids[0]).intersection(*ids[1:])
    shortest = min(evaluations, key=lambda name: len(evaluations[name].query_ids))
    if not common:
        raise ValueError("The runs have no judged query in common: pass missing='count'.")
    if len(common) < max(map(len, ids)):
        n_all = len(set().union(*ids))
        warnings.warn(
            f"The runs contain different queries: {n_all - len(common)} of {n_all} are missing "
            f"from at least one run and are left out for all runs ({shortest!r} contains only "
            f"{len(evaluations[shortest].query_ids)}). Pass missing='count' to count them.",
            stacklevel=3,
        )
    return {
        name: evaluation.take(np.flatnonzero([query in common for query in of_run]))
        for (name, evaluation), of_run in zip(evaluations.items(), ids, strict=True)
    }


# Preferences -------------------------------------------------------------------------------------


def evaluate_preferences(
    true_pairs: Any,
    predicted_pairs: Mapping[Any, Any],
    *,
    qid: Any,
    measures: str | Measure | Iterable[str | Measure] = ("edrc",),
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
        If pairs were ignored because of `cycles`.

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
    if qid is None:
        raise ValueError("qid is required: pass the query id of each pair in true_pairs.")
    named, weights = check_preference_measures(measures, discount, prior), None
    codes, query_ids = queries.query_codes(qid, expected="true_pairs")
    if sample_weight is not None:
        weights = columns.check_weights(sample_weight, len(codes), "qid", len(query_ids))
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
