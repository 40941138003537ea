"""From files to Evaluations: qrels and runs, LETOR files and scores, tables of named columns."""

import dataclasses
import glob
import io
import os
import sys
from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np

from skgraded._input.queries import query_codes
from skgraded.datasets.join import Judged, trec_scores
from skgraded.datasets.letor import read_rows, read_scores
from skgraded.datasets.tables import Names, read_columns
from skgraded.datasets.text_files import first_line
from skgraded.datasets.trec import read_qrels_table, read_run_table
from skgraded.large.batches import evaluate_batches
from skgraded.measures import as_measures
from skgraded.reports.evaluation import Evaluation, evaluate
from skgraded.reports.summary import Summary
from skgraded.reports.system_summaries import Summaries

HEAD = 1 << 20  # bytes that a look into a pipe takes; bzip2 unpacks nothing of fewer
TABLES = (".parquet", *(
    kind + packed for kind in (".csv", ".tsv") for packed in ("", ".gz", ".bz2", ".xz", ".zst")
))


@dataclasses.dataclass(frozen=True)
class Settings:
    """What to measure, and how to read; see the command's options."""

    measures: list | None
    ties: str | None
    complete: bool
    strict: bool
    query: str | None
    document: str | None
    grade: str | None
    scores: list[str] | None
    progress: bool
    partitioning: str = "shuffle"

    @property
    def score_columns(self):
        """Names of a table's columns of scores."""
        names = self.scores or ["score"]
        _refuse_twice(names, "--score-column ")
        return names


def evaluate_files(files: list[str], settings: Settings, note) -> dict[str, Evaluation]:
    """Evaluate the systems of some files, by the name of the file or column of each.

    Files are qrels and runs, a LETOR file and files of scores, or one table; "-" is standard
    input. `note` is called with what the user should know.
    """
    if files.count("-") > 1:
        raise ValueError("Standard input (-) can be only one of the files.")
    settings = dataclasses.replace(settings, measures=_with_ties(settings))
    first, others = _source(files[0]), [_source(name) for name in files[1:]]
    names_columns = settings.query or settings.document or settings.grade or settings.scores
    if names_columns or files[0].lower().endswith(TABLES):
        if others:
            raise ValueError(
                f"{files[0]} is read as a table, by its name or because columns are named: give "
                f"further systems by --score-column, not as files such as {files[1]}."
            )
        return _evaluate_table(first, settings)
    if not others:
        raise ValueError(
            f"{files[0]}: give one or more runs after the qrels, or files of scores after a LETOR "
            "file; of a table, name the columns by --score-column and others."
        )
    systems = dict(zip(system_names(files[1:]), others, strict=True))
    if _is_letor(first):
        return _evaluate_letor(first, systems, settings)
    return _evaluate_trec(first, systems, settings, note)


def is_large(files):
    """Whether the one file is a folder or a pattern of Parquet files, which may be of any size."""
    path, *others = files
    is_pattern = glob.has_magic(path) and not os.path.exists(path)
    return not others and (os.path.isdir(path) or is_pattern)


def read_files(given):
    """The files that are read, as far as they are there: paths, or the number of an open one."""
    for path in given:
        if path == "-":
            with suppress(OSError, AttributeError):  # closed, or none of the system's
                yield sys.stdin.fileno()
        elif is_large([path]):
            within = os.path.join(glob.escape(path), "**") if os.path.isdir(path) else path
            yield from filter(os.path.isfile, glob.iglob(within, recursive=True))
        elif os.path.exists(path):
            yield path


def summarize_files(path: str, settings: Settings) -> Summary | Summaries:
    """Measure the systems of a folder or a pattern of Parquet files."""
    if settings.ties == "trec" or settings.document:
        option = "--ties trec" if settings.ties == "trec" else "--document-column"
        raise ValueError(f"{option} is for files that are read as a whole, not for {path}.")
    scores = settings.score_columns
    return evaluate_batches(
        path, settings.grade or "grade", scores if len(scores) > 1 else scores[0],
        settings.query or "query", _with_ties(settings), partitioning=settings.partitioning,
        progress=settings.progress,
    )


def system_names(paths):
    """Names of files without their folders, or with them where two would be the same."""
    _refuse_twice(paths)
    short = [os.path.basename(path) or path for path in paths]
    return [
        path if short.count(name) > 1 else name for path, name in zip(paths, short, strict=True)
    ]


def _refuse_twice(names, option=""):
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(f"{option}{name} is given twice.")


def _with_ties(settings):
    """The measures with the ties that were asked for; "trec" orders the scores instead."""
    measures: list[Any] = as_measures(settings.measures or ["ndcng@10", "mu_map"])
    if settings.ties in (None, "trec"):
        return measures
    return as_measures([
        dataclasses.replace(measure, ties=settings.ties) if hasattr(measure, "ties") else measure
        for measure in measures
    ])


class _Piped(io.RawIOBase):
    """Standard input or a pipe, which can be read but once, and its first bytes, for a look."""

    def __init__(self, name, file):
        self.name = name
        self.head = file.read(HEAD)
        self._first, self._file = io.BytesIO(self.head), file

    def readable(self):
        return True

    def readinto(self, room):
        return self._first.readinto(room) or self._file.readinto(room)

    def close(self):
        if self._file is not getattr(sys.stdin, "buffer", None):
            self._file.close()
        super().close()


def _source(path):
    """A path, or standard input or a pipe as an open file."""
    if path == "-":
        if sys.stdin is None:
            raise ValueError("standard input is closed: give the name of a file in place of -.")
        return io.BufferedReader(_Piped("<stdin>", sys.stdin.buffer))
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        return io.BufferedReader(_Piped(path, open(path, "rb")))
    return path


def _name(source):
    return getattr(source, "name", source)


def _is_letor(source):
    """Whether the second word of the first line is a LETOR query."""
    head = first_line(io.BytesIO(source.raw.head) if hasattr(source, "raw") else source)
    words = head.split(None, 2)
    return len(words) > 1 and words[1].startswith(b"qid:") or head.startswith(b"#")


# Qrels and runs ----------------------------------------------------------------------------------

def _evaluate_trec(qrels_source, systems, settings, note):
    judged = Judged(read_qrels_table(qrels_source, settings.progress))
    return {
        name: _evaluate_run(judged, source, name, settings, note)
        for name, source in systems.items()
    }


def _evaluate_run(judged, source, name, settings, note):
    qrels = judged.judgments
    run = read_run_table(source, settings.progress)
    joined = judged.join(run, settings.complete, settings.strict, settings.ties)
    if joined.missing.any() and settings.strict and not settings.complete:
        raise ValueError(
            f"{run.source} lacks {joined.missing.sum()} of the {len(joined.missing)} queries of "
            f"{qrels.source}, {qrels.query_ids[np.argmax(joined.missing)]!r} the first: leave out "
            "--strict, or give -c to count them with nothing retrieved."
        )
    if joined.missing.any() or joined.unjudged.any():
        note(_differing(qrels, run, joined, name, settings.complete))
    grade, score, sizes = joined.grade, joined.score, joined.sizes
    del run, joined  # of a large run they are large
    measured = sizes > 0
    evaluation = evaluate(grade, score, group=sizes[measured], measures=settings.measures)
    return dataclasses.replace(evaluation, query_ids=qrels.query_ids[measured])


def _differing(qrels, run, joined, name, complete):
    """What is said of the queries that a run or its judgments lack."""
    fate = "count with nothing retrieved" if complete else "are left out; -c counts them"
    return (
        f"{name}: of the judged queries, {_part(joined.missing, qrels.query_ids)} are not in the "
        f"run and {fate}; of its queries, {_part(joined.unjudged, run.query_ids)} have no "
        "judgments and are left out."
    )


def _part(chosen, query_ids):
    first = f" ({query_ids[np.argmax(chosen)]!r} the first)" if chosen.any() else ""
    return f"{chosen.sum()} of {len(chosen)}{first}"


# A LETOR file and scores -------------------------------------------------------------------------

def _evaluate_letor(source, systems, settings):
    path = _name(source)
    data = read_rows(source, negative=False)
    scores = {}
    for name, scores_source in systems.items():
        own = scores[name] = read_scores(scores_source, settings.progress)
        if len(own) != len(data.y):
            raise ValueError(
                f"{_name(scores_source)}: line {min(len(own), len(data.y)) + 1}: there are "
                f"{len(own)} scores for the {len(data.y)} rows of {path}; give one a row."
            )
    return _evaluate_rows(path, data.y, scores, data.qid, data.doc_id, settings)


def _evaluate_rows(path, grade, scores, query, document, settings):
    """Evaluate systems, by name, that give every row a score."""
    if settings.ties == "trec":
        if document is None or any(name is None for name in document):
            raise ValueError(f"{path}: --ties trec needs the id of every document.")
        codes, _ = query_codes(query)
        scores = {name: trec_scores(codes, own, document) for name, own in scores.items()}
    return {
        name: evaluate(grade, own, qid=query, measures=settings.measures)
        for name, own in scores.items()
    }


# A table -----------------------------------------------------------------------------------------

def _evaluate_table(source, settings):
    names = Names(
        settings.query or "query", settings.grade or "grade", settings.score_columns,
        settings.document,
        advice=" Name the columns by --query-column, --grade-column and --score-column.",
    )
    table = read_columns(source, names, settings.progress)
    document = None if table.document is None else table.document.astype(str)
    return _evaluate_rows(
        _name(source), table.grade, table.scores, table.query, document, settings
    )
