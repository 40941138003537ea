"""Join runs with judgments into rows that measures accept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from skgraded._input.columns import one_of
from skgraded._input.queries import rows_by_query
from skgraded._input.words import plain
from skgraded.datasets.data_structures import rows_of
from skgraded.datasets.rows import Positions, numbered

if TYPE_CHECKING:
    from sklearn.utils import Bunch


def join_run(
    qrels: Any,
    run: Any,
    *,
    missing: Literal["skip", "count"] = "skip",
    unjudged: Literal["skip", "raise"] = "skip",
    unjudged_documents: Literal["irrelevant", "drop", "keep"] = "irrelevant",
    ties: Literal["trec"] | None = None,
) -> Bunch:
    """Join a run with its judgments into rows that every measure accepts.

    Judged documents that are missing from the run receive the score -inf (not retrieved).

    Parameters
    ----------
    qrels : Bunch, mapping, frame, sequence of named tuples, or ranx.Qrels
        The judgments, in any of these forms:

        - the result of `read_qrels`;
        - a table: a pandas or polars frame, an Arrow table, a dict of columns, or an object with
          such attributes. The column of queries is ``qid``, ``query_id``, ``q_id`` or ``query``.
          The column of documents is ``doc_id``, ``docno`` or ``document``. The first name that
          exists is used. The column of grades is ``grade``, ``relevance`` or ``label``;
        - a dict of dicts, ``{query: {document: grade}}``, as in pytrec_eval and BEIR;
        - a ``Qrels`` object of ranx;
        - an iterable of named tuples with these field names, such as ``Qrel`` of ir_measures or
          of ir_datasets;
        - the requests of ``_rank_eval`` in Elasticsearch and OpenSearch: a list of dicts with
          ``id`` and ``ratings``, whose items have ``_id`` and ``rating``; also OpenSearch's
          judgments with ``query`` and ``docId``.

        A judgment may be repeated with the same grade.
    run : Bunch, mapping, frame, sequence of named tuples, or ranx.Run
        The scores, in the same forms, with ``score`` instead of the grade: the result of
        `read_run`, a table, ``{query: {document: score}}``, a ranx ``Run``, or named tuples such as
        ``ScoredDoc``. For Elasticsearch and OpenSearch: a dict that maps each query to its response
        or its list of hits, or the response of ``_rank_eval``. Higher scores rank first; -inf means
        not retrieved. A query with an empty dict or list is counted with nothing retrieved.
    missing : {"skip", "count"}, default="skip"
        How to handle judged queries that are missing from the run. "skip" leaves them out, as
        trec_eval does; "count" includes them without retrieved documents (trec_eval's ``-c``).
    unjudged : {"skip", "raise"}, default="skip"
        How to handle queries of the run that have no judgments. "skip" leaves them out, as
        trec_eval does; "raise" raises a ValueError.
    unjudged_documents : {"irrelevant", "drop", "keep"}, default="irrelevant"
        How to handle retrieved documents without a judgment. "irrelevant" assigns grade 0, as
        trec_eval does; "drop" leaves them out (condensed lists); "keep" assigns grade NaN.
    ties : {"trec"}, optional
        "trec" replaces the scores with distinct numbers that order tied documents as trec_eval
        does: by document id, compared as strings, in descending order. None keeps the scores, so
        the parameter `ties` of the measure applies.

    Returns
    -------
    Bunch
        ``y_true``, ``y_score`` : ndarray of shape (n,), float64
            Grades and scores.
        ``qid`` : ndarray of shape (n,)
            Query of each row, as in the qrels. The dtype is object, unless the ids are numbers or
            dates.
        ``doc_id`` : ndarray of shape (n,), object
            Document of each row.
        ``missing`` : ndarray
            Ids of the judged queries that are missing from the run, whether skipped or counted.
        ``unjudged`` : ndarray
            Ids of the queries of the run without judgments, which were left out.

        Queries are ordered by first appearance in the qrels. Each query contains its rows of the
        run, in the order of the run, followed by the judged documents that are missing from the
        run, in the order of the qrels.

    Raises
    ------
    ValueError
        If a column is missing or columns differ in length, a query of the run contains a document
        twice, a judgment is repeated with another grade, an id is missing, a grade is negative or
        not finite, a score is NaN, `qrels` and `run` have no query in common, their ids differ
        only in type (1 and "1"), the run has a query without judgments and ``unjudged="raise"``,
        or an option is unknown. The error names the argument, the value, and the row, counted
        from 0, or the query and the document.
    TypeError
        If `qrels` or `run` has none of these forms, or a column has values of a wrong type.

    See Also
    --------
    skgraded.evaluate : Evaluates the rows.

    Examples
    --------
    >>> import skgraded as sg
    >>> qrels = {"query": ["q1", "q1", "q2"], "document": ["a", "b", "a"], "grade": [2, 1, 1]}
    >>> run = {"query": ["q1", "q1"], "document": ["c", "a"], "score": [9.5, 7.0]}
    >>> rows = sg.datasets.join_run(qrels, run)
    >>> rows.doc_id.tolist(), rows.y_true.tolist(), rows.y_score.tolist()
    (['c', 'a', 'b'], [0.0, 2.0, 1.0], [9.5, 7.0, -inf])
    >>> rows.missing.tolist()
    ['q2']
    >>> sg.AP()(rows.y_true, rows.y_score, qid=rows.qid)
    0.25

    Dicts of dicts give the same rows:

    >>> rows = sg.datasets.join_run(
    ...     {"q1": {"a": 2, "b": 1}, "q2": {"a": 1}}, {"q1": {"c": 9.5, "a": 7.0}})
    >>> sg.AP()(rows.y_true, rows.y_score, qid=rows.qid)
    0.25
    """
    from sklearn.utils import Bunch

    one_of("missing", ("skip", "count"))(missing)
    one_of("unjudged", ("skip", "raise"))(unjudged)
    one_of("unjudged_documents", ("irrelevant", "drop", "keep"))(unjudged_documents)
    if ties is not None:
        one_of("ties", ("trec",))(ties)
    judgments, ranked = rows_of(qrels, "qrels"), rows_of(run, "run")
    joined = Judged(judgments).join(
        ranked, missing == "count", unjudged == "raise", ties, unjudged_documents
    )
    document = np.concatenate([ranked.document, judgments.document])
    return Bunch(
        y_true=joined.grade,
        y_score=joined.score,
        qid=np.repeat(judgments.query_ids, joined.sizes),
        doc_id=document[joined.rows],
        missing=judgments.query_ids[joined.missing],
        unjudged=ranked.query_ids[joined.unjudged],
    )


# The join on query codes -------------------------------------------------------------------------

@dataclass(frozen=True)
class Joined:
    """Rows of a run and its judgments, in the order documented in `join_run`."""

    rows: np.ndarray  # row positions in the concatenation of the run and the judgments
    grade: np.ndarray
    score: np.ndarray
    sizes: np.ndarray  # number of rows per judged query; 0 for queries that are left out
    missing: np.ndarray  # boolean mask: judged queries that are missing from the run
    unjudged: np.ndarray  # boolean mask: queries in the run that have no judgments


class Judged:
    """Judgments that are indexed once and can be joined with any number of runs."""

    def __init__(self, judgments):
        self.judgments = judgments
        self._grade, self._query = judgments.numbers, judgments.query_codes.astype(np.int32)
        self._queries = Positions(judgments.query_ids)
        codes, self._documents = numbered(judgments.document)
        self._pairs = Positions(self._pair(self._query, codes), np.intp)

    def _pair(self, query, document):
        """Return an integer that identifies each pair of a query code and a document code."""
        return query * np.intp(len(self._documents)) + document

    def join(
        self, run, count_missing, refuse_unjudged, ties, unjudged_documents="irrelevant"
    ):
        """Join a run's rows with the judgments."""
        numbers = self._queries.find(run.query_ids).astype(np.int32)  # or -1
        unjudged = numbers < 0
        if refuse_unjudged and unjudged.any():
            self._refuse(run, int(np.argmax(unjudged)))
        if unjudged.all():
            raise ValueError(
                f"{self.judgments.source} and {run.source} have no query in common: "
                f"{self.judgments.source} contains {plain(self.judgments.query_ids[0])!r}, for "
                f"example, and {run.source} contains {plain(run.query_ids[0])!r}."
                f"{_type_advice(self.judgments.query_ids, run.query_ids)}"
            )
        query, score = numbers[run.query_codes], run.numbers
        judgment = self._find(query, run.document)
        if judgment.max(initial=-1) < 0:
            self._refuse_other_type(run)
        if ties == "trec":
            score = trec_scores(query, score, run.document)
        missing = np.ones(len(self.judgments.query_ids), dtype=bool)
        missing[numbers[~unjudged]] = False
        unretrieved = np.ones(len(self._grade), dtype=bool)
        unretrieved[judgment[judgment >= 0]] = False
        if not count_missing:
            unretrieved &= ~missing[self._query]
        is_kept = (judgment >= 0) if unjudged_documents == "drop" else (query >= 0)
        rows = np.flatnonzero(np.concatenate([is_kept, unretrieved]))
        query = np.concatenate([query, self._query])[rows].astype(np.intp)
        order, starts = rows_by_query(query, len(missing))
        if order is not None:
            rows = rows[order]
        del query, order  # free the memory of large runs
        judgment = np.concatenate([judgment, np.arange(len(self._grade), dtype=np.int32)])[rows]
        scores = score.take(rows, mode="clip")
        scores[rows >= len(score)] = -np.inf
        of_unjudged = np.nan if unjudged_documents == "keep" else 0.0
        return Joined(
            rows=rows, grade=np.append(self._grade, of_unjudged)[judgment], score=scores,
            sizes=np.diff(starts), missing=missing, unjudged=unjudged,
        )

    def _refuse(self, run, code):
        """Raise an error for a query of the run that has no judgments, given by its code."""
        rows = np.flatnonzero(run.query_codes == code)
        place = f"{run.place(rows[0])}: " if len(rows) else ""  # no row: nothing was retrieved
        raise ValueError(
            f"{run.source}: {place}query {plain(run.query_ids[code])!r} has no "
            f"judgments in {self.judgments.source}; a judged query is, for example, "
            f"{plain(self.judgments.query_ids[0])!r}. Remove the query, or add its judgments."
        )

    def _refuse_other_type(self, run):
        """Raise an error if no document is judged because document ids differ in type."""
        advice = _type_advice(self._documents, run.document)
        if advice:
            raise ValueError(
                f"{self.judgments.source} and {run.source} have no document in common in any query:"
                f" {self.judgments.source} contains {plain(self._documents[0])!r}, for example, "
                f"and {run.source} contains {plain(run.document[0])!r}.{advice}"
            )

    def _find(self, query, document):
        """Return the position of the judgment for each row of a run, or -1 if there is none."""
        if isinstance(document, np.ndarray):
            codes = Positions(self._documents).find(document)
        else:
            from skgraded.datasets.arrow_csv import positions

            codes = positions(document, self._documents)
        rows = np.flatnonzero((query >= 0) & (codes >= 0))
        judgment = np.full(len(query), -1, dtype=np.int32)
        judgment[rows] = self._pairs.find(self._pair(query[rows], codes[rows]))
        return judgment


def _type_advice(ids, others):
    """Return advice if two ids differ only in type, such as 1 and "1"; "" otherwise."""
    by_text = {str(plain(value)): type(plain(value)).__name__ for value in others}
    for value in ids:
        kind, other = type(plain(value)).__name__, by_text.get(str(plain(value)))
        if other not in (None, kind):
            return (
                f" The ids have the types {kind} and {other}: convert one side, for example with "
                "str."
            )
    return ""


def trec_scores(query, score, document):
    """Return scores that rank as trec_eval does: by score, then by document id, both descending.

    Ids are compared as strings. Scores are compared in double precision, as in trec_eval since
    version 10; earlier versions rounded them to single precision. Scores of -inf are kept.
    """
    order = np.lexsort((score, query))
    same = (score[order][1:] == score[order][:-1]) & (query[order][1:] == query[order][:-1])
    begins = ~np.append(False, same)
    places = np.flatnonzero(np.append(same, False) | ~begins)
    tied = order[places]
    texts = np.array([str(name) for name in np.asarray(document[tied], dtype=object)], dtype=object)
    by_id = np.unique(texts, return_inverse=True)[1]
    order[places] = tied[np.lexsort((by_id, np.cumsum(begins[places])))]
    ranked = np.empty(len(order))
    ranked[order] = np.arange(len(order))
    ranked[score == -np.inf] = -np.inf
    return ranked
