"""The ``preferences`` command, which evaluates runs against a file of preference judgments."""

from argparse import Namespace
from math import inf

import numpy as np

from skgraded._input.words import object_array
from skgraded.cli._files import Differing, note_differing, source_of, system_names
from skgraded.datasets.preference_files import read_preference_columns
from skgraded.datasets.text_files import check_path
from skgraded.datasets.trec import read_run_table
from skgraded.measures.preferences import check_preference_measures
from skgraded.reports.evaluating import evaluate_preferences
from skgraded.reports.evaluation import Evaluation

FILES = """\
files:
  TRUTH            preferences in one of three formats:
                     query preferred other                 (Clarke's tools)
                     query document document preferred     (as assessors saw them)
                     query group subgroup document level   (trec_eval's prefs)
  RUN [RUN ...]    runs, as for evaluate

  Files may be compressed with gzip, bzip2 or xz; - means standard input. Judged documents
  that are missing from a run rank below all documents of the run. Queries that are
  missing from either file are left out, and a note reports how many.

examples:
  skgraded preferences truth.pref bm25.run lgbm.run --items judged
  skgraded preferences truth.pref bm25.run -m edrc -m pair_accuracy --cycles majority
"""
ITEMS = {"all": None, "judged": "judged", "predicted": "predicted"}


def evaluate_preference_files(args: Namespace) -> dict[str, Evaluation]:
    """Evaluate runs against preferences; return a dict of Evaluations keyed by run name."""
    path, *runs = args.files
    if not runs:
        raise ValueError(f"Pass at least one run after the preferences file {path}.")
    is_closed = args.cycles != "ignore"
    args.measures = args.measures or ("edrc" if is_closed else ["pair_accuracy", "kendall_tau"])
    check_preference_measures(args.measures, args.discount, args.prior)
    source = source_of(path)
    queries, preferred, other = map(np.ndarray.tolist, read_preference_columns(
        source, args.progress
    ))
    pairs = list(zip(preferred, other, strict=True))
    judged: dict[str, dict[str, float]] = {query: {} for query in queries}
    for query, pair in zip(queries, pairs, strict=True):
        judged[query].update(dict.fromkeys(pair, -inf))  # not retrieved
    evaluations, differing = {}, {}
    for run, name in system_names(runs, args).items():
        evaluations[name], differing[name] = _evaluate_run(
            check_path(source), queries, pairs, judged, run, args
        )
    note_differing(differing, args.complete)
    return evaluations


def _evaluate_run(
    truth: str, queries: list[str], pairs: list[tuple[str, str]],
    judged: dict[str, dict[str, float]], path: str, args: Namespace
) -> tuple[Evaluation, Differing]:
    """Evaluate a run; `judged` contains a score of -inf for each judged document of each query."""
    run = read_run_table(source_of(path), args.progress, args.split)
    scores: dict[str, dict[str, float]] = {query: {} for query in run.query_ids.tolist()}
    documents = np.asarray(run.document, dtype=object).tolist()
    query_of_row = run.query_ids[run.query_codes].tolist()
    for query, document, score in zip(query_of_row, documents, run.numbers.tolist(), strict=True):
        scores[query][document] = score
    is_missing = np.array([query not in scores for query in judged])
    is_unjudged = np.array([query not in judged for query in scores])
    if is_missing.all():
        raise ValueError(f"Files {truth} and {run.source} have no query in common.")
    ids = object_array(list(judged))
    rows = [i for i, query in enumerate(queries) if args.complete or query in scores]
    evaluation = evaluate_preferences(
        [pairs[row] for row in rows],
        {query: documents | scores.get(query, {}) for query, documents in judged.items()},
        qid=[queries[row] for row in rows], measures=args.measures,
        items=ITEMS[args.items], discount=args.discount, prior=args.prior, cycles=args.cycles,
    )
    return evaluation, Differing(ids, run.query_ids, is_missing, is_unjudged)
