"""The ``judges`` command, which compares relevance judgments from several judges."""

import warnings
from argparse import Namespace

import numpy as np

from skgraded.cli._columns import with_ties
from skgraded.cli._files import file_names, in_order_of_trec, source_of, system_names
from skgraded.cli._printing import of_report, prose, written
from skgraded.datasets.join import join_judgments
from skgraded.datasets.trec import read_qrels, read_run
from skgraded.measures import as_measures
from skgraded.measures.parsing import warn_of_other_meanings
from skgraded.reports.comparing_judges import compare_judges
from skgraded.reports.judges import JudgeComparison
from skgraded.stats.intervals import check_settings
from skgraded.stats.paired_tests import FEWEST

FILES = """\
files:
  HUMAN            qrels of the trusted judge, as for evaluate
  JUDGE [JUDGE ...]  qrels of the other judges, such as language models
  --run RUN [RUN ...]  runs, as for evaluate

  Agreement is computed over documents that both judged. With two or more runs, the leaderboards
  under both judges are compared over queries that both judged.

examples:
  skgraded judges human.txt gpt.txt llama.txt
  skgraded judges human.txt gpt.txt --run bm25.run dense.run --format html --output x.html
"""
SHORT = ["judge", "n_shared", "exact", "kappa", "kappa_weighted", "alpha", "tau_b", "bias"]


def compare_judge_files(args: Namespace) -> JudgeComparison:
    """Compare judges whose judgments are in files; notes for the user are issued as warnings."""
    if len(args.files) < 2:
        raise ValueError(f"Pass at least one judge's qrels after {args.files[0]}.")
    if len(args.runs) == 1:
        raise ValueError("Leaderboards require at least two runs after --run.")
    measures = [with_ties(m, args) for m in as_measures(args.measures or ["ndcng@10", "mu_map"])]
    check_settings(args.level, "t", FEWEST, args.seed)
    qrels = {
        name: read_qrels(source_of(path), progress=args.progress)
        for path, name in file_names(args.files).items()
    }
    systems = {
        name: read_run(source_of(path), split=args.split, progress=args.progress)
        for path, name in system_names(args.runs, args).items()
    }
    rows = join_judgments(qrels, systems)
    if systems:
        warn_of_other_meanings(measures, max(judged.grade.max() for judged in qrels.values()))
        n = len(np.unique(np.concatenate([run.query for run in systems.values()])))
        n_joined = len(np.unique(rows.qid))
        if n > n_joined:
            warnings.warn(
                f"{n - n_joined} of {n} queries of the runs have no judgments and are left out.",
                stacklevel=2,
            )
    if args.ties == "trec":
        rows.y_scores = in_order_of_trec(rows.y_scores, rows.qid, rows.doc_id)
    return compare_judges(
        rows.y_judges,
        rows.y_scores or None,
        qid=rows.qid,
        weights=args.weights,
        measures=measures,
        level=args.level,
        unjudged_documents=args.unjudged_documents,
        rng=args.seed,
    )


def of_judges(report: JudgeComparison, args: Namespace) -> str:
    """Format a JudgeComparison in the format that the command specifies."""
    if args.format in ("html", "json", "csv"):
        return of_report(report, args)
    frames = [report.labels()] + [report.leaderboards()] * bool(report.systems)
    if args.format == "table":
        frames[0] = frames[0][SHORT]
    tables = [written(frame, args, is_main=frame is frames[-1]) for frame in frames]
    parts = [prose(report.verdict(), args.format, 0), *tables]
    if args.format == "table":
        parts.append("\n".join(report.sentences()))
    return "\n\n".join(parts)
