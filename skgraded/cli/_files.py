"""Evaluation of files: qrels and runs, LETOR files and scores, or tables."""

import glob
import os
import sys
import warnings
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from skgraded._input.queries import query_codes
from skgraded._input.table_kinds import refuse_unknown
from skgraded.datasets.join import JudgmentIndex, trec_scores
from skgraded.datasets.letor import read_rows, read_scores
from skgraded.datasets.table_files import Names, read_columns
from skgraded.datasets.text_files import BOM, check_path, is_comment, unpacked
from skgraded.datasets.trec import HEAD, is_qrels, read_qrels_table, read_run_table, run_names
from skgraded.large.batches import evaluate_batches
from skgraded.measures.parsing import warn_of_other_meanings
from skgraded.reports.evaluating import evaluate, evaluate_run
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.system_summaries import Summaries
from skgraded.writing.text import utf8

TABLES = (
    ".parquet",
    *(kind + packed for kind in (".csv", ".tsv") for packed in ("", ".gz", ".bz2", ".xz", ".zst")),
)


def evaluate_files(args: Namespace) -> dict[str, Evaluation]:
    """Evaluate systems in files; return a dict of Evaluations keyed by file or column name.

    The files are qrels and runs, a LETOR file and score files, or one table; "-" is standard input.
    `args` contains the options of the command. Notes for the user are issued as warnings.
    """
    path, *others = args.files
    if args.judge is not None:
        _check_judge(args)
    named_systems(args)
    if is_large(args.files):
        return _evaluate_folder(args)
    for option, value in (("--by", args.by), ("--weight-column", args.weight)):
        if value is not None:
            raise ValueError(f"{option} requires a folder or a pattern of Parquet files.")
    if _is_table(args):
        return _evaluate_table(source_of(path), args)
    systems = {name: source_of(path) for path, name in system_names(others, args).items()}
    with unpacked(source_of(path), look=HEAD) as (file, _):
        if _is_letor(file):
            _refuse_run_options(path, args)
            return _evaluate_letor(file, systems, args)
        judgments = JudgmentIndex(read_qrels_table(file, args.progress))
        if args.names is None:
            warn_of_other_meanings(args.measures, judgments.judgments.numbers.max())
        return _evaluate_runs(judgments, systems, args)


def named_systems(args: Namespace) -> list[str]:
    """Before any file is read, check which files are named; return the names of the systems."""
    path, *others = args.files
    if not (is_large(args.files) or _is_table(args)):
        if others:
            return list(system_names(others, args).values())
        raise ValueError(
            "Pass at least one run after the qrels, or a score file after a LETOR file; got only "
            f"{path}. For a table, name the columns with options such as --score-column."
        )
    _refuse_run_options(path, args)
    if others:
        raise ValueError(
            f"File {path} is read as a table because of its extension or a column option. To "
            f"add systems, use --score-column; do not pass other files, such as {others[0]}."
        )
    return _chosen_names(_score_columns(args), args)


def _is_table(args: Namespace) -> bool:
    """Return whether the options or the extension mean a table, and the file contains no qrels."""
    path = args.files[0]
    has_columns = bool(args.query or args.document or args.grade or args.scores)
    if has_columns or not path.lower().endswith(TABLES):
        return has_columns
    if not os.path.isfile(path):
        return True
    with unpacked(path, look=HEAD) as (file, _):
        return not is_qrels(file.peek(HEAD))


def evaluate_judge_files(args: Namespace) -> dict[str, Evaluation]:
    """Evaluate the runs again, with the qrels of --judge; see `evaluate_files`."""
    files = [args.judge, *args.files[1:]]
    return evaluate_files(Namespace(**vars(args) | {"files": files, "judge": None}))


def _check_judge(args: Namespace) -> None:
    """Before any file is read, raise an error if the files cannot be used with --judge."""
    if args.per_query:
        raise ValueError("--per-query is not available with --judge.")
    if "-" in args.files[1:] or [args.files[0], args.judge].count("-") > 1:
        raise ValueError(
            "With --judge, standard input (-) can be used for only one of the qrels, and for no "
            "run, because runs are read twice."
        )


def _refuse_run_options(path: str, args: Namespace) -> None:
    for option, is_used in (
        ("--judge", args.judge is not None),
        ("--drop-identical-ids", args.drop_identical_ids),
        ("--split", args.split is not None),
    ):
        if is_used:
            raise ValueError(f"{option} requires qrels and runs, but {path} is not a qrels file.")


def is_large(files: list[str]) -> bool:
    """Return whether `files` is a single folder or a single pattern for Parquet files."""
    path, *others = files
    is_pattern = glob.has_magic(path) and not os.path.exists(path)
    return not others and (os.path.isdir(path) or is_pattern)


def existing_files(paths: list[str]) -> Iterator[str | int]:
    """Yield the path of each existing input file, and the file descriptor of standard input."""
    for path in paths:
        if path == "-":
            with suppress(OSError, AttributeError):  # closed, or without a file descriptor
                yield sys.stdin.fileno()
        elif is_large([path]):
            within = os.path.join(glob.escape(path), "**") if os.path.isdir(path) else path
            yield from filter(os.path.isfile, glob.iglob(within, recursive=True))
        elif os.path.exists(path):
            yield path


def _refuse_for_folders(args: Namespace) -> None:
    for option, is_used in (
        ("--names trec_eval", args.names is not None),
        ('-m "MEASURE as NAME"', any(c.name != c.measure.name for c in args.columns)),
        ("--ties trec", args.ties == "trec"),
        ("--drop-identical-ids", args.drop_identical_ids),
        ("--split", args.split is not None),
        ("--system-names", args.system_names is not None),
        ("--by with --per-query", args.by is not None and args.per_query),
    ):
        if is_used:
            raise ValueError(f"{option} is not available for folders and file patterns.")


def summarize_files(args: Namespace) -> tuple[Any, dict[str, Any]]:
    """Evaluate Parquet files; return the whole report and a dict of the reports per system."""
    _refuse_for_folders(args)
    scores = _score_columns(args)
    report = evaluate_batches(
        args.files[0],
        args.grade or "grade",
        scores if len(scores) > 1 else scores[0],
        args.query or "query",
        args.measures,
        partitioning=args.partitioning,
        by=args.by,
        sample_weight=args.weight,
        unjudged_documents=args.unjudged_documents,
        document=args.document,
        progress=args.progress,
    )
    if isinstance(report, Summaries):
        return report, report.systems
    return report, {scores[0]: report}


def _evaluate_folder(args: Namespace) -> dict[str, Evaluation]:
    """Evaluate Parquet files in memory, for per-query values."""
    from pyarrow.dataset import dataset

    from skgraded.large.sources import table_files

    _refuse_for_folders(args)
    scores, grade, query = _score_columns(args), args.grade or "grade", args.query or "query"
    names = [*filter(None, {grade, query, *scores, args.weight, args.document})]
    rows = dataset(table_files(args.files[0]), partitioning="hive")
    refuse_unknown(names, rows.schema.names)
    return evaluate(
        grade,
        scores,
        qid=query,
        data=rows.to_table(names),
        measures=args.measures,
        sample_weight=args.weight,
        unjudged_documents=args.unjudged_documents,
        document=args.document,
    )


def _score_columns(args: Namespace) -> list[str]:
    """Return the names of the score columns of a table."""
    names = args.scores or ["score"]
    _refuse_twice(names, "--score-column ")
    return names


def system_names(paths: list[str], args: Namespace) -> dict[str, str]:
    """Map the path of each run to the name of its system; see `run_names`."""
    _refuse_twice(paths)
    names = list(map(utf8, run_names(paths).values()))
    return dict(zip(paths, _chosen_names(names, args), strict=True))


def _chosen_names(names: list[str], args: Namespace) -> list[str]:
    """Return the names in --system-names, or the given names without this option."""
    if args.system_names is None:
        return names
    chosen = [name.strip() for name in args.system_names.split(",")]
    if len(chosen) != len(names) or "" in chosen or len(set(chosen)) < len(chosen):
        raise ValueError(
            f"--system-names must contain one distinct name for each of the {len(names)} systems, "
            f"separated by commas; got {args.system_names!r}."
        )
    return chosen


def system_called(name: str | None, args: Namespace) -> str | None:
    """Return the system that a name, a path or a file name denotes, or `name` if there is none."""
    names = system_names(args.files[1:], args)
    for path, system in names.items() if name not in names.values() else ():
        if name in (path, os.path.basename(path)):
            return system
    return name


def file_names(paths: list[str]) -> dict[str, str]:
    """Map each path to its file name, or to the full path if file names are not unique."""
    _refuse_twice(paths)
    short = {path: os.path.basename(path) or path for path in paths}
    times = Counter(short.values())
    return {path: utf8(path if times[name] > 1 else name) for path, name in short.items()}


def page_title(paths: list[str], systems: Mapping[str, Any]) -> str | None:
    """Return the page title, such as "table: column", or None if there are several systems."""
    if len(systems) != 1:
        return None
    (name,) = systems
    named = [os.path.basename(path.rstrip("/")) or path for path in paths[:1] if len(paths) == 1]
    return ": ".join("standard input" if part == "-" else part for part in [*named, name])


def _refuse_twice(names: list[str], option: str = "") -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(f"Each system can be passed only once; got {option}{name} twice.")


def source_of(path: str) -> str | BinaryIO:
    """Return the path or, if the path is "-", standard input as an open file."""
    if path != "-":
        return path
    if sys.stdin is None:
        raise ValueError("standard input is closed: pass the name of a file instead of -.")
    return sys.stdin.buffer


def _is_letor(file: Any) -> bool:
    """Return whether the second word of the first line with data starts with "qid:"."""
    lines = file.peek(HEAD).removeprefix(BOM).splitlines()
    line = next((line for line in lines if line.strip() and not is_comment(line)), b"")
    words = line.split(None, 2)
    return len(words) > 1 and words[1].startswith(b"qid:")


# Qrels and runs ----------------------------------------------------------------------------------


class _Differing(NamedTuple):
    """Judged queries that a run lacks, and queries of the run that have no judgments."""

    judged: np.ndarray
    queries: np.ndarray
    is_missing: np.ndarray
    is_unjudged: np.ndarray

    def text(self, complete: bool) -> str:
        """Return the numbers and first ids of these queries in words, or "" if there are none."""
        fate = "count as empty rankings" if complete else "are left out (use -c to count them)"
        return "; ".join(
            f"{mask.sum()} of {len(mask)} {noun} (the first is {ids[np.argmax(mask)]!r}) {what}"
            for ids, mask, noun, what in (
                (
                    self.judged,
                    self.is_missing,
                    "judged queries",
                    f"are missing from the run and {fate}",
                ),
                (
                    self.queries,
                    self.is_unjudged,
                    "queries of the run",
                    "have no judgments and are left out",
                ),
            )
            if mask.any()
        )


def _evaluate_runs(
    judgments: JudgmentIndex, systems: Mapping[str, Any], args: Namespace
) -> dict[str, Evaluation]:
    qrels, is_sample = judgments.judgments, args.judge is not None
    evaluations, differing = {}, {}
    for name, source in systems.items():
        run = read_run_table(source, args.progress, args.split, allow_empty=args.complete)
        # With --judge, people judged few of the run's queries.
        evaluations[name], joined = evaluate_run(
            judgments,
            run,
            args.measures,
            args.complete,
            args.strict and not is_sample,
            args.ties,
            args.unjudged_documents or "irrelevant",
            args.drop_identical_ids,
        )
        if joined.missing.any() and args.strict and not args.complete:
            raise ValueError(
                f"Run {run.source} does not contain {joined.missing.sum()} of the "
                f"{len(joined.missing)} queries of {qrels.source} (the first is "
                f"{qrels.query_ids[np.argmax(joined.missing)]!r}): omit --strict, or use -c to "
                "count them as empty rankings."
            )
        is_unjudged = np.zeros_like(joined.unjudged) if is_sample else joined.unjudged
        differing[name] = _Differing(qrels.query_ids, run.query_ids, joined.missing, is_unjudged)
        del run, joined  # free the memory of large runs
    _note_differing(differing, args.complete)
    return evaluations


def _note_differing(differing: Mapping[str, _Differing], complete: bool) -> None:
    """Issue one note about the queries of all runs that either side lacks."""
    texts = {name: difference.text(complete) for name, difference in differing.items()}
    texts = {name: text for name, text in texts.items() if text}
    if not texts:
        return
    first, *others = texts
    note = f"{first}: {texts[first]}"
    if others and len(set(texts.values())) == 1:
        note = f"{len(texts)} runs, such as {note}"
    elif others:
        note = (
            f"{len(texts)} of {len(differing)} runs contain other queries than the judgments. "
            f"The first, {note}"
        )
    warnings.warn(f"{note}.", stacklevel=3)


# A LETOR file and scores -------------------------------------------------------------------------


def _evaluate_letor(
    file: BinaryIO, systems: Mapping[str, Any], args: Namespace
) -> dict[str, Evaluation]:
    data = read_rows(file, negative=False)
    scores, n = {}, len(data.y)
    for name, source in systems.items():
        scores[name] = read_scores(source, args.progress)
        n_scores = len(scores[name])
        if n_scores != n:
            raise ValueError(
                f"{check_path(source)}: line {min(n_scores, n) + 1}: expected one score per row; "
                f"got {n_scores} scores for the {n} rows of {check_path(file)}."
            )
    return _evaluate_rows(file, data.y, scores, data.qid, data.doc_id, args)


def _evaluate_rows(
    source: Any,
    grade: np.ndarray,
    scores: Mapping[str, np.ndarray],
    query: np.ndarray,
    document: np.ndarray | None,
    args: Namespace,
) -> dict[str, Evaluation]:
    """Evaluate the scores of systems; return a dict of Evaluations keyed by system name."""
    if args.ties == "trec":
        if document is None or any(name is None for name in document):
            raise ValueError(f"{check_path(source)}: --ties trec requires all document ids.")
        scores = in_order_of_trec(scores, query, document)
    return {
        name: evaluate(
            grade,
            values,
            qid=query,
            measures=args.measures,
            unjudged_documents=args.unjudged_documents,
        )
        for name, values in scores.items()
    }


def in_order_of_trec(
    scores: Mapping[str, np.ndarray], query: np.ndarray, document: np.ndarray
) -> dict[str, np.ndarray]:
    """Return scores that order tied documents by id, in descending order, as trec_eval does."""
    codes, _ = query_codes(query)
    return {
        name: trec_scores(codes, values.astype(np.float64, copy=False), document)
        for name, values in scores.items()
    }


# A table -----------------------------------------------------------------------------------------


def _evaluate_table(source: Any, args: Namespace) -> dict[str, Evaluation]:
    names = Names(
        args.query or "query",
        args.grade or "grade",
        _score_columns(args),
        args.document,
        advice=" Name the columns with --query-column, --grade-column and --score-column.",
        allow_unjudged=args.unjudged_documents is not None,
    )
    systems = _chosen_names(list(names.scores), args)
    table = read_columns(source, names, args.progress)
    document = None if table.document is None else table.document.astype(str)
    scores = dict(zip(systems, table.scores.values(), strict=True))
    return _evaluate_rows(source, table.grade, scores, table.query, document, args)
