"""From files to Evaluations: qrels and runs, LETOR files and scores, tables of named columns."""

import dataclasses
import io
import os
import sys
from collections import Counter

import numpy as np

from skgraded.datasets._files import DAMAGED, unpacked
from skgraded.datasets._letor import read_letor, read_scores
from skgraded.datasets._tables import read_columns
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
    import pandas as pd

    qrels = read_judgments(qrels_source, settings.progress)
    judged = _Judged(qrels, _index(pd.unique(qrels.document)), _index(qrels.query_ids))
    return {
        name: _evaluate_run(judged, read_table(source, RUN, settings.progress), name, settings,
                            note)
        for name, source in systems.items()
    }


def _index(texts):
    """An index, or what to look up in one, of texts that stay Python's own."""
    import pandas as pd

    return pd.Index(texts, dtype=object)


@dataclasses.dataclass(frozen=True)
class _Judged:
    """Judgments, and the indexes of their documents and queries, for the runs to be looked up."""

    qrels: object
    documents: object
    queries: object


def _evaluate_run(judged, run, name, settings, note):
    """Evaluate a run by the judgments.

    Documents without a judgment have grade 0; judged ones that the run lacks have score -inf.
    """
    qrels = judged.qrels
    query = _queries_of_run(judged, run)
    document = judged.documents.get_indexer(_index(run.document))
    score = run.numbers
    row = _rows_of_judgments(judged, query, document)
    grade = np.zeros(len(query))
    grade[row[row >= 0]] = qrels.numbers[row >= 0]
    lacking = _lacking(qrels, query, name, settings.complete, note)
    missed = (row < 0) & ~lacking[qrels.query_codes]
    if settings.ties == "trec":
        score = trec_scores(query, score, run.document)
    query = np.concatenate([query, qrels.query_codes[missed]])
    grade = np.concatenate([grade, qrels.numbers[missed]])
    score = np.concatenate([score, np.full(missed.sum(), -np.inf)])
    order = np.argsort(query, kind="stable")
    sizes = np.bincount(query, minlength=len(lacking))
    evaluation = evaluate(
        grade[order], score[order], group=sizes[sizes > 0], measures=settings.measures
    )
    return dataclasses.replace(evaluation, query_ids=qrels.query_ids[sizes > 0])


def _queries_of_run(judged, run):
    """The query of each row, numbered as in the judgments."""
    query = judged.queries.get_indexer(_index(run.query_ids))[run.query_codes]
    if (query < 0).any():
        row = int(np.argmax(query < 0))
        raise ValueError(
            f"{run.path}: line {run.line(row)}: query {run.query_ids[run.query_codes[row]]!r} has "
            f"no judgments in {judged.qrels.path}; judged are such as "
            f"{judged.qrels.query_ids[0]!r}. Leave its lines out, or give its judgments."
        )
    return query


def _rows_of_judgments(judged, query, document):
    """The row of the run that each judgment is about, -1 if the run lacks the document."""
    import pandas as pd

    n = len(judged.documents)
    known = np.flatnonzero(document >= 0)
    found = pd.Index(query[known].astype(np.int64) * n + document[known])
    qrels = judged.qrels
    documents = judged.documents.get_indexer(_index(qrels.document))
    keys = qrels.query_codes.astype(np.int64) * n + documents
    position = found.get_indexer(keys)
    return np.where(position >= 0, known[position] if len(known) else -1, -1)


def _lacking(qrels, query, name, complete, note):
    """Which judged queries the run lacks, and that are left out for it."""
    lacking = np.bincount(query, minlength=len(qrels.query_ids)) == 0
    if not lacking.any():
        return lacking
    first = qrels.query_ids[np.argmax(lacking)]
    what = f"{_of(lacking.sum(), len(lacking), 'judged queries')}, {first!r} the first"
    if complete:
        note(f"{name} lacks {what}: counted with nothing retrieved.")
        return np.zeros_like(lacking)
    note(f"{name} lacks {what}: left out; -c counts them with nothing retrieved.")
    return lacking


def _of(number, total, what):
    return f"{number} of {total} {what}"


def trec_scores(query, score, document):
    """Scores that rank as trec_eval does: by score, tied documents by id, descending.

    Ids are compared as strings, scores as numbers of double precision, as trec_eval does since
    version 10; before, it rounded them to single precision. -inf stays: not retrieved.
    """
    order = np.lexsort((score, query))
    same = (np.diff(score[order]) == 0) | np.isinf(score[order][1:])
    same &= np.diff(query[order]) == 0
    tied = np.zeros(len(order), dtype=bool)
    tied[order[1:][same]] = tied[order[:-1][same]] = True
    by_id = np.zeros(len(order), dtype=np.intp)
    by_id[tied] = np.unique(document[tied], return_inverse=True)[1]
    ranked = np.empty(len(order))
    ranked[np.lexsort((by_id, score, query))] = np.arange(len(order))
    ranked[score == -np.inf] = -np.inf
    return ranked


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
        import pandas as pd

        score = trec_scores(pd.factorize(query)[0], score, np.asarray(document, dtype=object))
    return evaluate(grade, score, qid=query, measures=settings.measures)


# A table -----------------------------------------------------------------------------------------

def _evaluate_table(source, settings):
    path = _name(source)
    score_columns = settings.scores or ["score"]
    for column, times in Counter(score_columns).items():
        if times > 1:
            raise ValueError(f"--score-column {column} is given twice.")
    table = read_columns(
        source, path, settings.query or "query", settings.grade or "grade", score_columns,
        settings.document, settings.progress,
    )
    document = None
    if settings.document:
        document = table.document.astype(str)
    return {
        column: _evaluate_rows(
            path, table.grade, table.scores[column], table.query, document, settings
        )
        for column in score_columns
    }
