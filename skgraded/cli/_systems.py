"""From files to Evaluations: qrels and runs, LETOR files and scores, tables of named columns."""

import dataclasses
import io
import os
import sys
from collections import Counter

import numpy as np

from skgraded._input.queries import query_codes
from skgraded.datasets._files import DAMAGED, unpacked
from skgraded.datasets._join import Judged, trec_scores
from skgraded.datasets._letor import read_letor, read_scores
from skgraded.datasets._tables import Names, read_columns
from skgraded.datasets._trec import RUN, read_judgments, read_table
from skgraded.measures import as_measures
from skgraded.reports.evaluation import Evaluation, evaluate

TABLES = (".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz")


@dataclasses.dataclass(frozen=True)
class Settings:
    """What to measure, and how to read; see the command's options."""

    measures: list
    ties: str | None
    complete: bool
    query: str | None
    document: str | None
    grade: str | None
    scores: list[str] | None
    progress: bool

    @property
    def names_columns(self):
        return any((self.query, self.document, self.grade, self.scores))


def evaluate_files(files: list[str], settings: Settings, note) -> dict[str, Evaluation]:
    """Evaluate the systems of some files.

    Parameters
    ----------
    files : list of str
        Qrels and runs, a LETOR file and files of scores, or one table; "-" is standard input.
    settings : Settings
    note : callable
        Called with a text that the user should know.

    Returns
    -------
    dict of str to Evaluation
        By system: the name of its file, or of its column.
    """
    if files.count("-") > 1:
        raise ValueError("Standard input (-) can be only one of the files.")
    settings = dataclasses.replace(settings, measures=_with_ties(settings))
    first, others = _source(files[0]), [_source(name) for name in files[1:]]
    if settings.names_columns or files[0].lower().endswith(TABLES):
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


def system_names(paths):
    """Names of files without their folders, or with them where two would be the same."""
    for path, times in Counter(paths).items():
        if times > 1:
            raise ValueError(f"{path} is given twice.")
    short = [os.path.basename(path) or path for path in paths]
    return [
        path if short.count(name) > 1 else name for path, name in zip(paths, short, strict=True)
    ]


def _with_ties(settings):
    """The measures with the ties that were asked for; "trec" orders the scores instead."""
    measures = as_measures(settings.measures)
    if settings.ties in (None, "trec"):
        return measures
    return as_measures([
        dataclasses.replace(measure, ties=settings.ties) if hasattr(measure, "ties") else measure
        for measure in measures
    ])


class _Kept(io.BytesIO):
    """The whole of a pipe, which can be read but once."""

    def __init__(self, name, file):
        super().__init__(file.read())
        self.name = name


def _source(path):
    """A path, or what is read of standard input or a pipe."""
    if path == "-":
        return _Kept("<stdin>", sys.stdin.buffer)
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        with open(path, "rb") as file:
            return _Kept(path, file)
    return path


def _name(source):
    return getattr(source, "name", source)


def _is_letor(source):
    """Whether the second word of the first line is a LETOR query."""
    try:
        with unpacked(source) as (file, _):
            head = next((line for line in file.peek(1 << 16).splitlines() if line.strip()), b"")
    except DAMAGED:
        return False
    finally:
        if isinstance(source, _Kept):
            source.seek(0)
    words = head.split(None, 2)
    return len(words) > 1 and words[1].startswith(b"qid:") or head.startswith(b"#")


# Qrels and runs ----------------------------------------------------------------------------------

def _evaluate_trec(qrels_source, systems, settings, note):
    qrels = read_judgments(qrels_source, settings.progress)
    judged = Judged(qrels)
    return {
        name: _evaluate_run(
            qrels, judged, read_table(source, RUN, settings.progress), name, settings, note
        )
        for name, source in systems.items()
    }


def _evaluate_run(qrels, judged, run, name, settings, note):
    """Evaluate a run by the judgments."""
    query = judged.number(run.query_ids)[run.query_codes]
    _refuse_unjudged(qrels, run, query)
    joined = judged.join(query, run.document, run.numbers, settings.complete, settings.ties)
    if joined.missing.any():
        note(_lacking(qrels.query_ids, joined.missing, name, settings.complete))
    measured = joined.sizes > 0
    evaluation = evaluate(
        joined.grade, joined.score, group=joined.sizes[measured], measures=settings.measures
    )
    return dataclasses.replace(evaluation, query_ids=qrels.query_ids[measured])


def _refuse_unjudged(qrels, run, query):
    if (query < 0).any():
        row = int(np.argmax(query < 0))
        raise ValueError(
            f"{run.path}: line {run.line(row)}: query {run.query_ids[run.query_codes[row]]!r} has "
            f"no judgments in {qrels.path}; judged are such as {qrels.query_ids[0]!r}. Leave its "
            "lines out, or give its judgments."
        )


def _lacking(query_ids, missing, name, complete):
    """What is said of the judged queries that a run lacks."""
    what = (
        f"{name} lacks {missing.sum()} of {len(missing)} judged queries, "
        f"{query_ids[np.argmax(missing)]!r} the first"
    )
    if complete:
        return f"{what}: counted with nothing retrieved."
    return f"{what}: left out; -c counts them with nothing retrieved."


# A LETOR file and scores -------------------------------------------------------------------------

def _evaluate_letor(source, systems, settings):
    path = _name(source)
    data = read_letor(source)
    if data.y.min() < 0:
        row = int(np.argmax(data.y < 0))
        raise ValueError(
            f"{path}: {_place(source, row)}: the grade {data.y[row]:g} is negative: subtract the "
            "irrelevant level from all grades."
        )
    evaluations = {}
    for name, scores_source in systems.items():
        scores = read_scores(scores_source, settings.progress)
        if len(scores) != len(data.y):
            raise ValueError(
                f"{_name(scores_source)}: line {min(len(scores), len(data.y)) + 1}: there are "
                f"{len(scores)} scores for the {len(data.y)} rows of {path}; give one a row."
            )
        evaluations[name] = _evaluate_rows(
            path, data.y, scores, data.qid, data.doc_id, settings
        )
    return evaluations


def _place(source, row):
    """Where in a LETOR file a row is."""
    if isinstance(source, _Kept):
        source.seek(0)
    with unpacked(source) as (file, _):
        before = -1
        for number, line in enumerate(file, 1):
            before += bool(line.partition(b"#")[0].split())
            if before == row:
                return f"line {number}"
    return f"row {row}"


def _evaluate_rows(path, grade, score, query, document, settings):
    """Evaluate rows that all have a score."""
    if settings.ties == "trec":
        if document is None or any(name is None for name in document):
            raise ValueError(f"{path}: --ties trec needs the id of every document.")
        score = trec_scores(query_codes(query, len(query))[0], score, document)
    return evaluate(grade, score, qid=query, measures=settings.measures)


# A table -----------------------------------------------------------------------------------------

def _evaluate_table(source, settings):
    score_columns = settings.scores or ["score"]
    for column, times in Counter(score_columns).items():
        if times > 1:
            raise ValueError(f"--score-column {column} is given twice.")
    names = Names(
        settings.query or "query", settings.grade or "grade", score_columns, settings.document,
        " Name the columns by --query-column, --grade-column and --score-column.",
    )
    table = read_columns(source, names, settings.progress)
    document = None if table.document is None else table.document.astype(str)
    return {
        column: _evaluate_rows(
            _name(source), table.grade, scores, table.query, document, settings
        )
        for column, scores in table.scores.items()
    }
