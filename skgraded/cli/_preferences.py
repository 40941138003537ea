"""The ``preferences`` command, which evaluates runs against a file of preference judgments."""

from argparse import Namespace
from math import inf
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np

from skgraded._input.queries import query_codes
from skgraded.cli._files import source_of, system_names, warn_of_differing
from skgraded.datasets.preference_files import read_preference_columns
from skgraded.datasets.text_files import check_path
from skgraded.datasets.trec import read_run_table
from skgraded.reports.evaluating import evaluate_preferences
from skgraded.reports.evaluation import Evaluation

FILES = """\
files:
  TRUTH            preferences in one of three formats:
                     query preferred other                 (Clarke's tools)
                     query document document preferred     (as assessors saw them)
                     query group subgroup document level   (trec_eval's prefs)
  RUN [RUN ...]    TREC runs: query Q0 document rank score name

  Files may be compressed with gzip, bzip2 or xz; - means standard input. Judged documents
  that are missing from a run rank below all documents of the run. Queries that are
  missing from either file are left out, and a note reports how many.

examples:
  skgraded preferences truth.pref bm25.run lgbm.run --items judged
  skgraded preferences truth.pref bm25.run -m edrc -m pair_accuracy --cycles majority
"""
ITEMS = {"all": None, "judged": "judged", "predicted": "predicted"}


def evaluate_preference_files(args: Namespace) -> dict[str, Evaluation]:
    """Evaluate runs against preferences; return a dict of Evaluations keyed by run name.

    `args` contains the options of the command. Notes for the user are issued as warnings.
    """
    path, *runs = args.files
    if not runs:
        raise ValueError(f"Pass at least one run after the preferences file {path}.")
    truth = _read_truth(source_of(path), args.progress)
    return {
        name: _evaluate_run(truth, source_of(run), name, args)
        for run, name in system_names(runs).items()
    }


def _read_truth(source: str | BinaryIO, progress: bool) -> SimpleNamespace:
    """Return preference pairs, the query code of each pair, query ids, and documents per query."""
    queries, preferred, other = read_preference_columns(source, progress)
    codes, query_ids = query_codes(queries)
    pairs = list(zip(preferred.tolist(), other.tolist(), strict=True))
    documents: dict[Any, Any] = {query: {} for query in query_ids.tolist()}
    for query, pair in zip(queries.tolist(), pairs, strict=True):
        documents[query].update(dict.fromkeys(pair))
    return SimpleNamespace(
        source=check_path(source), codes=codes, query_ids=query_ids, pairs=pairs,
        documents=documents,
    )


def _evaluate_run(truth: SimpleNamespace, source: Any, name: str, args: Namespace) -> Evaluation:
    run = read_run_table(source, args.progress)
    scores: dict[Any, Any] = {query: {} for query in run.query_ids.tolist()}
    documents = np.asarray(run.document, dtype=object).tolist()
    query_of_row = run.query_ids[run.query_codes].tolist()
    for query, document, score in zip(query_of_row, documents, run.numbers.tolist(), strict=True):
        scores[query][document] = score
    has_run = np.array([query in scores for query in truth.documents])
    has_truth = np.array([query in truth.documents for query in scores])
    if not has_run.any():
        raise ValueError(f"Files {truth.source} and {run.source} have no query in common.")
    if not (has_run.all() and has_truth.all()):
        joined = SimpleNamespace(missing=~has_run, unjudged=~has_truth)
        warn_of_differing(truth, run, joined, name, args.complete)
    rows = np.flatnonzero(has_run[truth.codes] | args.complete)
    return evaluate_preferences(
        [truth.pairs[row] for row in rows],
        {  # -inf: not retrieved
            query: dict.fromkeys(judged, -inf) | scores.get(query, {})
            for query, judged in truth.documents.items()
        },
        qid=truth.query_ids[truth.codes[rows]], measures=args.measures or "edrc",
        items=ITEMS[args.items], discount=args.discount, prior=args.prior, cycles=args.cycles,
    )
