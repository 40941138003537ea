"""Evaluation of runs with qrels."""

import os
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from skgraded._input import door
from skgraded._input.door import (
    check_names,
    plain,
    refuse_repeated,
    suggest_arguments,
    to_plain_list,
)
from skgraded._input.messages import warn_user
from skgraded.datasets.data_structures import is_run, read_entries
from skgraded.datasets.entries import Entries
from skgraded.datasets.join import Joined, JudgmentIndex, check_join_options
from skgraded.datasets.trec import choose_run_names, read_qrels_table, read_run_table
from skgraded.judgments import (
    Judgments,
    Truth,
)
from skgraded.measures import Measure, as_measures
from skgraded.measures.parsing import (
    DEFAULT_MEASURES,
    Measures,
    choose_names,
    warn_of_other_meanings,
)
from skgraded.reports.evaluating import evaluate_judgments, warn_of_grades_from_1
from skgraded.reports.evaluation import Evaluation
from skgraded.writing.text import shorten_text


@suggest_arguments
def evaluate_runs(
    qrels: Any,
    runs: Any,
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
    """Evaluate runs on the same queries, with the same judgments.

    Parameters
    ----------
    qrels : path, or qrels in any form that `join_run` accepts
        The judgments.
    runs : mapping of str to run, list of runs, or run
        The runs, each a path or any form that `join_run` accepts, keyed by name. In a list, the
        name of a path is the tag of the run, the last column of a TREC run, if no other run has
        this tag. Otherwise, it is the name of the file without ``input.`` and the extension. Runs
        in memory are called "run1", "run2", …, and a single run without a name is called "run". A
        mapping is one run unless all its values are runs.
    measures : Measure, str, or a list of them, default=("ndcng@10", "mu_map")
        "official" stands for the official measures of trec_eval that are means or totals over the
        queries, with ``names="trec_eval"``.
    missing : {"count", "skip"}, default="count"
        Judged queries that are missing from a run count without retrieved documents, as with
        trec_eval's ``-c``, with a warning. "skip" leaves them out for all runs, with a warning if
        some runs contain them.
    ties : {"trec"}, optional
    unjudged : {"skip", "raise"}, default="skip"
    unjudged_documents : {"irrelevant", "drop"}, default="irrelevant"
    identical_ids : {"keep", "drop"}, default="keep"
        As in `join_run`.
    names : {"trec_eval"}, optional
        With "trec_eval", strings have the meaning of trec_eval 10, as in `measure`; names such as
        "P" stand for all its cut-offs; and ties are ordered as with ``ties="trec"``.
    threshold : float, optional
        The lowest relevant grade, like trec_eval's ``-l``, for each measure that has the parameter
        `threshold`, unless the measure sets it.

    Returns
    -------
    dict of str to Evaluation
        In the order of `runs`; it can be passed to `compare`.

    Raises
    ------
    OSError, ValueError, TypeError
        If a file or an argument cannot be read.

    Warns
    -----
    UserWarning
        As in `join_run`; also if NDCG or AP has another meaning in trec_eval for these grades.

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
    check_join_options(missing=missing, unjudged=unjudged, ties=ties, identical_ids=identical_ids)
    texts = measures if isinstance(measures, (list, tuple)) else [measures]
    rule = choose_names(texts, names)
    measures = as_measures(measures, rule, threshold)
    sources, allow_empty = _name_runs(runs), missing == "count"
    is_path = isinstance(qrels, (str, os.PathLike))
    evaluations = evaluate_each_run(
        read_qrels_table(qrels) if is_path else read_entries(qrels, "qrels"),
        (
            (
                name,
                read_run_table(run, allow_empty=allow_empty)
                if isinstance(run, (str, os.PathLike))
                else read_entries(run, "run", f"runs[{name!r}]", allow_empty=allow_empty),
            )
            for name, run in sources.items()
        ),
        measures,
        names=rule,
        missing=missing,
        fate=None if missing == "skip" else "count as empty rankings",
        unjudged=unjudged,
        ties=ties if rule is None else "trec",
        unjudged_documents=unjudged_documents,
        identical_ids=identical_ids,
    )
    if missing == "count":
        return evaluations
    ids = {name: to_plain_list(evaluation.query_ids) for name, evaluation in evaluations.items()}
    common = set.intersection(*map(set, ids.values()))
    if not common:
        raise ValueError("The runs have no judged queries in common: pass missing='count'.")
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


def evaluate_each_run(
    judgments: Entries,
    runs: Iterable[tuple[str, Entries]],
    measures: list[Measure],
    *,
    names: str | None,
    missing: str,
    fate: str | None,
    unjudged: str,
    ties: str | None,
    unjudged_documents: str,
    identical_ids: str,
) -> dict[str, Evaluation]:
    """Evaluate runs one at a time, with a warning about missing and unjudged queries.

    If `missing` is "skip", each run is evaluated only on queries that it contains; if it is
    "raise", a judged query that is missing from a run is an error. `fate` is the part of the
    warning that says what happens to missing queries; if it is None, there is no warning.
    """
    if names is None:
        warn_of_other_meanings(measures, judgments.numbers.max())
    index = JudgmentIndex(judgments)
    evaluations, notes, is_warned = {}, [], False
    for name, run in runs:
        if identical_ids == "drop":
            run = run.drop_identical_ids()
        joined = index.join(
            run,
            count_missing=missing == "count",
            refuse_unjudged=unjudged == "raise",
            ties=ties,
            unjudged_documents="keep",
        )
        truth = make_truth(joined, judgments)
        is_warned = is_warned or warn_of_grades_from_1(truth, unjudged_documents)
        evaluations[name] = evaluate_judgments(measures, truth, joined.score, unjudged_documents)
        sides = (
            (
                joined.missing,
                judgments.query_ids,
                "judged queries are missing from the run",
                fate,
            ),
            (
                joined.unjudged,
                run.query_ids,
                "queries of the run have no judgments",
                "are left out",
            ),
        )
        texts = [
            f"{mask.sum()} of {len(mask)} {place} (the first is {plain(ids[mask][0])!r}) and {what}"
            for mask, ids, place, what in sides
            if mask.any()
        ]
        if texts:
            notes.append((joined.missing.sum(), f"{name}: {'; '.join(texts)}."))
        if missing == "raise" and joined.missing.any():
            raise ValueError(notes[-1][1])
        del run, joined, truth  # free the memory of large runs
    notes.sort(key=itemgetter(0), reverse=True)  # runs with the most missing queries come first
    if notes and fate is not None:
        warn_user(shorten_text(" ".join(text for _, text in notes)))
    return evaluations


def make_truth(joined: Joined, judgments: Entries) -> Judgments:
    """Create Judgments with the grades of a run that was joined with qrels."""
    is_measured = joined.sizes > 0
    starts = np.append(0, np.cumsum(joined.sizes[is_measured]))
    return Judgments(
        Truth(joined.grade, joined.grade.dtype, judgments.query_ids[is_measured], None, starts)
    )


def _name_runs(runs: Any) -> Mapping[str, Any]:
    """Convert a mapping, a list of runs, or a single run to a mapping keyed by run name."""
    if isinstance(runs, (Mapping, list, tuple)) and not runs:
        raise TypeError(f"runs must not be empty; got an empty {type(runs).__name__}.")
    if isinstance(runs, Mapping) and all(map(is_run, runs.values())):
        check_names(runs, "runs")
        return runs
    if isinstance(runs, (str, os.PathLike)):
        runs = [runs]
    if not isinstance(runs, (list, tuple)) or is_run(runs):
        return {"run": runs}
    paths = [os.fspath(run) for run in runs if isinstance(run, (str, os.PathLike))]
    refuse_repeated(paths, "runs")
    names = choose_run_names(paths)
    return {
        names[os.fspath(run)] if isinstance(run, (str, os.PathLike)) else f"run{i}": run
        for i, run in enumerate(runs, 1)
    }
