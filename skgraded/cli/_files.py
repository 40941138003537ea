"""Evaluate files: qrels and runs, LETOR files and scores, or tables."""

import glob
import os
import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from skgraded._input.door import refuse_repeated
from skgraded._input.queries import query_codes
from skgraded.cli._formats import rename_columns
from skgraded.datasets import read_letor
from skgraded.datasets.join import order_as_trec_eval
from skgraded.datasets.letor import read_scores
from skgraded.datasets.table_files import read_columns
from skgraded.datasets.text_files import BOM, DATA, File, check_path, open_unpacked
from skgraded.datasets.trec import HEAD, choose_run_names, read_qrels_table, read_run_table
from skgraded.large.batches import evaluate_batches
from skgraded.reports import Evaluation, evaluate
from skgraded.reports.run_evaluations import evaluate_each_run
from skgraded.writing.text import utf8

# File types, as they are called in messages.
RUNS, LETOR, TABLE = "qrels and runs", "a LETOR file", "a table"
FOLDER = "a folder or a pattern of Parquet files"
# Maps each option to the only file type for which it has an effect.
ONLY_FOR = {
    "split": RUNS,
    "drop_identical_ids": RUNS,
    "weight_column": FOLDER,
    "by": FOLDER,
    "duplicates": FOLDER,
    "summary_label": FOLDER,
}
# Wording of notes about judged queries that are missing from a run.
FATES = {
    "count": "count as empty rankings",
    "raise": "are refused (-c counts them)",
    "skip": "are left out (-c counts them)",
}
LETOR_LINE = re.compile(rb"\s*\S+\s+qid:")


def find_kind(paths: Sequence[str]) -> str:
    """Return the file type without opening a file; LETOR files therefore have the type RUNS."""
    if len(paths) > 1:
        return RUNS
    is_pattern = glob.has_magic(paths[0]) and not os.path.exists(paths[0])
    return FOLDER if is_pattern or os.path.isdir(paths[0]) else TABLE


def name_systems(args: Namespace, kind: str) -> dict[str, str]:
    """Map the name of each system to its run, score file or score column."""
    if len(set(args.files)) < len(args.files):
        raise ValueError(f"Each file can be passed only once; got {', '.join(args.files)}.")
    if kind == RUNS:
        sources = args.files[1:]
        names = list(map(utf8, choose_run_names(sources, _open_source).values()))
    else:
        names = sources = args.score_column or ["score"]
    if args.system_names is not None:
        chosen = [name.strip() for name in args.system_names.split(",")]
        if len(chosen) != len(names) or "" in chosen or len(set(chosen)) < len(chosen):
            raise ValueError(
                f"--system-names must contain one distinct name for each of the {len(names)} "
                f"systems, separated by commas; got {args.system_names!r}."
            )
        names = chosen
    refuse_repeated(names, "--score-column")  # names of runs are distinct
    return dict(zip(names, sources, strict=True))


def _refuse_unavailable(args: Namespace, kind: str) -> None:
    """Raise a ValueError if an option has no effect for this type of input file."""
    for option, needed in ONLY_FOR.items():
        if getattr(args, option) and kind != needed:
            raise ValueError(
                f"--{option.replace('_', '-')} requires {needed}, but {args.files[0]} is read as "
                f"{kind}."
            )
    if kind == FOLDER and (
        args.system_names
        or any(column.name != column.measure.name for column in args.columns)
        or args.ties == "trec"
        or args.per_query
    ):
        raise ValueError(
            "--system-names, --ties trec, --names trec_eval, --per-query and custom column names "
            f"are not available for {FOLDER}."
        )


# Evaluation --------------------------------------------------------------------------------------


def evaluate_files(args: Namespace) -> tuple[Any, dict[str, Any]]:
    """Evaluate the systems; return a report of all systems and a dict of reports by system.

    For a folder, the report of all systems is a Summary or Summaries; otherwise, it is the dict.
    """
    if args.kind != RUNS:
        _refuse_unavailable(args, args.kind)
    if args.kind == FOLDER:
        names = list(args.systems)
        report: Any = evaluate_batches(
            args.files[0],
            args.grade_column,
            names if len(names) > 1 else names[0],
            args.query_column,
            args.measures,
            partitioning=args.partitioning,
            by=args.by,
            sample_weight=args.weight_column,
            unjudged_documents=args.unjudged_documents,
            document=args.document_column,
            duplicates=args.duplicates or "raise",
            label=args.summary_label,
            progress=args.progress,
        )
        return report, report.systems if len(names) > 1 else {names[0]: report}
    if args.kind == TABLE:
        evaluations = _evaluate_table(_open_source(args.files[0]), args)
    else:
        with open_unpacked(_open_source(args.files[0]), look=HEAD) as file:
            line = DATA.search(file.peek(HEAD).removeprefix(BOM))
            is_letor = line is not None and LETOR_LINE.match(line[0])
            _refuse_unavailable(args, LETOR if is_letor else RUNS)
            if is_letor:
                data = read_letor(file)
                scores = {
                    name: read_scores(_open_source(path)) for name, path in args.systems.items()
                }
                evaluations = _evaluate_rows(file, data.y, scores, data.qid, data.doc_id, args)
            else:
                evaluations = _evaluate_run_files(file, args)
    evaluations = {name: rename_columns(ev, args.columns) for name, ev in evaluations.items()}
    return evaluations, evaluations


def _open_source(path: str) -> Any:
    return sys.stdin.buffer if path == "-" else path


def _evaluate_run_files(file: BinaryIO, args: Namespace) -> dict[str, Evaluation]:
    missing = "count" if args.complete else "raise" if args.strict else "skip"
    return evaluate_each_run(
        read_qrels_table(file),
        (
            (
                name,
                read_run_table(_open_source(path), args.split, allow_empty=args.complete),
            )
            for name, path in args.systems.items()
        ),
        args.measures,
        names=args.names,
        missing=missing,
        fate=FATES[missing],
        unjudged="raise" if args.strict else "skip",
        ties=args.ties,
        unjudged_documents=args.unjudged_documents or "irrelevant",
        identical_ids="drop" if args.drop_identical_ids else "keep",
    )


def _evaluate_table(source: File, args: Namespace) -> dict[str, Evaluation]:
    table = read_columns(
        source,
        args.query_column,
        args.grade_column,
        list(args.systems.values()),
        args.document_column,
        advice=" Name the columns with --query-column, --grade-column and --score-column, or pass "
        "runs after the qrels.",
        allow_unjudged=args.unjudged_documents is not None,
    )
    document = table[args.document_column].astype(str) if args.document_column else None
    scores = {name: table[column] for name, column in args.systems.items()}
    query, grade = table[args.query_column], table[args.grade_column]
    return _evaluate_rows(source, grade, scores, query, document, args)


def _evaluate_rows(
    source: File,
    grade: np.ndarray,
    scores: dict[str, np.ndarray],
    query: np.ndarray,
    document: np.ndarray | None,
    args: Namespace,
) -> dict[str, Evaluation]:
    """Evaluate the scores of systems; return a dict of Evaluations keyed by system name."""
    if args.ties == "trec":
        if document is None or any(name is None for name in document):
            raise ValueError(f"{check_path(source)}: --ties trec requires all document ids.")
        codes, _ = query_codes(query)
        scores = {
            name: order_as_trec_eval(codes, values.astype(np.float64, copy=False), document)
            for name, values in scores.items()
        }
    return evaluate(
        grade,
        scores,
        qid=query,
        measures=args.measures,
        unjudged_documents=args.unjudged_documents,
    )
