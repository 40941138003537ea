"""Functions that join runs with judgments into rows that measures accept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from skgraded._input.door import check_names, choice_validator, plain
from skgraded._input.messages import warn_user
from skgraded._input.queries import sort_by_query
from skgraded.datasets.data_structures import read_entries
from skgraded.datasets.entries import Entries, make_finder, number_values

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_CHECKS = {
    "missing": choice_validator("missing", ("skip", "count")),
    "unjudged": choice_validator("unjudged", ("skip", "raise")),
    "identical_ids": choice_validator("identical_ids", ("keep", "drop")),
    "ties": choice_validator("ties", ("trec",), optional=True),
}


def join_run(
    qrels: Any,
    run: Any,
    *,
    missing: Literal["skip", "count"] | None = None,
    unjudged: Literal["skip", "raise"] = "skip",
    unjudged_documents: Literal["irrelevant", "drop", "keep"] = "irrelevant",
    ties: Literal["trec"] | None = None,
    identical_ids: Literal["keep", "drop"] = "keep",
) -> Bunch:
    """Join a run with its judgments into rows that every measure accepts.

    Judged documents that are missing from the run receive the score -inf ("not retrieved").

    Parameters
    ----------
    qrels : Bunch, mapping, frame, sequence, tuple or ranx.Qrels
        The judgments; a judgment may be repeated with the same grade. Documents with negative
        grades are not judged, as in trec_eval. Judgments without a grade (None, NaN or an empty
        text) are left out, with a warning. Accepted forms:

        - the result of `read_qrels`, or a ranx ``Qrels`` object;
        - a table: a DataFrame, an Arrow table, a dict of columns, or a list of dicts or named
          tuples. Its columns are called (ignoring case, "_", "-" and spaces) ``query``,
          ``query_id``, ``qid`` or ``user_id``; ``document``, ``doc_id``, ``docno``,
          ``corpus_id``, ``item_id``, ``passage_id``, ``pid`` or ``id``; and ``grade``,
          ``relevance``, ``label``, ``rating`` or ``rel`` or, with ``corpus_id``, ``score``. Other
          columns are ignored;
        - a mapping of each query to its documents: a dict, ``{document: grade}``; a list or a set
          of relevant ids, with grade 1; a list of pairs, ``[(document, grade), …]``; or a list of
          dicts, ``[{"id": document, "grade": grade}, …]``;
        - judged queries of Elasticsearch or OpenSearch, such as
          ``[{"id": query, "ratings": [{"_id": document, "rating": grade}]}]``;
        - a tuple of a sparse matrix, the query ids of its rows, and the document ids of its columns.
    run : Bunch, mapping, frame, sequence or ranx.Run
        The scores, in the same forms except sets, judged queries and matrices, with ``score`` or
        ``_score`` instead of the grade. A list of ids is a ranked list, in which the score is
        -rank. A document with the score -inf was retrieved and ranks last, as in trec_eval. A query
        with an empty dict or list is kept, with no documents retrieved.
    missing : {"skip", "count"}, optional
        "skip": judged queries that are missing from the run are left out, as in trec_eval. "count":
        they count without retrieved documents (trec_eval's ``-c``). By default, they are left out
        with a warning.
    unjudged : {"skip", "raise"}, default="skip"
        "skip": queries of the run without judgments are left out, as in trec_eval. "raise": they
        raise a ValueError.
    unjudged_documents : {"irrelevant", "drop", "keep"}, default="irrelevant"
        "irrelevant": unjudged documents receive grade 0, as in trec_eval. "drop": they are left out
        (condensed lists). "keep": they receive grade NaN for `evaluate`.
    ties : {"trec"}, optional
        "trec" replaces the scores with distinct numbers in the order of trec_eval, which sorts tied
        documents by id, compared as strings, in descending order.
    identical_ids : {"keep", "drop"}, default="keep"
        "drop" leaves out retrieved documents whose id equals the id of the query, as in BEIR and
        MTEB. If such a document is judged, it counts as not retrieved.

    Returns
    -------
    Bunch
        ``y_true``, ``y_score`` : ndarray of shape (n,), float64
            Grades and scores. A document with the score -inf in the run receives a finite score
            below all other scores of its query.
        ``qid``, ``doc_id`` : ndarray of shape (n,), object
            Query and document of each row.
        ``missing``, ``unjudged`` : ndarray
            Judged queries that are missing from the run, and queries of the run without judgments.

        Queries are in the order of the qrels. Within a query, the rows of the run come first, in
        the order of the run, followed by the judged documents that are missing from the run.

    Raises
    ------
    ValueError, TypeError
        If the input is invalid, a query contains a document twice (in `qrels`: with different
        grades), or `qrels` and `run` have no query in common or ids that differ only in type.

    Warns
    -----
    UserWarning
        If judged queries are missing from the run and `missing` is None, if the run retrieves no
        judged document for any query, if grades are missing or negative, or if the scores of a table
        contradict its column ``rank`` as described in `read_run`.

    Examples
    --------
    >>> import skgraded as sg
    >>> qrels = {"query": ["q1", "q1", "q2"], "document": ["a", "b", "a"], "grade": [2, 1, 1]}
    >>> run = {"query": ["q1", "q1"], "document": ["c", "a"], "score": [9.5, 7.0]}
    >>> rows = sg.datasets.join_run(qrels, run, missing="skip")
    >>> rows.doc_id.tolist(), rows.y_true.tolist(), rows.y_score.tolist()
    (['c', 'a', 'b'], [0.0, 2.0, 1.0], [9.5, 7.0, -inf])
    >>> sg.AP()(rows.y_true, rows.y_score, qid=rows.qid)
    0.25
    """
    from sklearn.utils import Bunch

    choice_validator("unjudged_documents", ("irrelevant", "drop", "keep"))(unjudged_documents)
    check_join_options(
        missing="skip" if missing is None else missing,
        unjudged=unjudged,
        ties=ties,
        identical_ids=identical_ids,
    )
    judgments, ranked = read_entries(qrels, "qrels"), read_entries(run, "run")
    if identical_ids == "drop":
        ranked = ranked.drop_identical_ids()
    joined = JudgmentIndex(judgments).join(
        ranked,
        count_missing=missing == "count",
        refuse_unjudged=unjudged == "raise",
        ties=ties,
        unjudged_documents=unjudged_documents,
    )
    if missing is None and joined.missing.any():
        first = plain(judgments.query_ids[np.argmax(joined.missing)])
        warn_user(
            f"{joined.missing.sum()} of {len(joined.missing)} judged queries are missing from the "
            f"run (the first is {first!r}) and are left out, so means describe only the other "
            "queries. Pass missing='count' to count them as empty rankings, or missing='skip' to "
            "leave them out without this warning."
        )
    return Bunch(
        y_true=joined.grade,
        y_score=joined.score,
        qid=np.repeat(judgments.query_ids, joined.sizes),
        doc_id=np.concatenate([ranked.document, judgments.document])[joined.rows],
        missing=judgments.query_ids[joined.missing],
        unjudged=ranked.query_ids[joined.unjudged],
    )


def join_judgments(qrels: Mapping[str, Any], runs: Mapping[str, Any] | None = None) -> Bunch:
    """Join the judgments from several judges, and optionally runs, into aligned columns.

    Parameters
    ----------
    qrels : mapping of str to qrels
        The judgments of each judge, in any form that `join_run` accepts.
    runs : mapping of str to run, optional
        The run of each system, in any form that `join_run` accepts.

    Returns
    -------
    Bunch
        ``y_judges`` : dict of str to ndarray of shape (n,), float64
            Grades of each judge; NaN if the judge did not grade the document.
        ``y_scores`` : dict of str to ndarray of shape (n,), float64
            Scores of each system; -inf if the system did not retrieve the document. Scores of -inf
            in a run are replaced as in `join_run`. A query that is missing from a run counts
            without retrieved documents.
        ``qid``, ``doc_id`` : ndarray of shape (n,)
            Query and document of each row.

        There is one row per query and document that a judge graded or a system retrieved. Queries
        are in order of first appearance; queries without any grade are left out.

    Raises
    ------
    ValueError, TypeError
        As for `join_run`; also if a judge or run has no query in common with the first judge.

    Examples
    --------
    >>> import skgraded as sg
    >>> qrels = {"human": {"q1": {"a": 2, "b": 0}}, "model": {"q1": {"a": 1, "c": 3}}}
    >>> rows = sg.datasets.join_judgments(qrels, {"bm25": {"q1": {"b": 7}}})
    >>> rows.doc_id.tolist(), rows.y_judges["model"].tolist(), rows.y_scores["bm25"].tolist()
    (['a', 'b', 'c'], [1.0, nan, 3.0], [-inf, 7.0, -inf])
    """
    from sklearn.utils import Bunch

    judges = _read_sources(qrels, "qrels")
    if not judges:
        raise ValueError("qrels is empty: pass the judgments of at least one judge.")
    systems = {} if runs is None else _read_sources(runs, "runs")
    first, *others = sources = [*judges.values(), *systems.values()]
    for rows in others:
        _refuse_disjoint(rows, first)
    query, query_ids = _number_ids([rows.query_ids[rows.query_codes] for rows in sources])
    document, doc_ids = _number_ids([rows.document for rows in sources])
    sizes = [len(rows.numbers) for rows in sources]
    pair, pairs = number_values(query * np.intp(len(doc_ids)) + document)
    query, document = np.divmod(np.asarray(pairs), len(doc_ids))
    parts, n_judged = np.split(pair, np.cumsum(sizes)[:-1]), sum(sizes[: len(judges)])
    for i, rows in enumerate(sources[1:], 1):
        known = pair[: n_judged if i >= len(judges) else sizes[0]]
        if not np.isin(parts[i], known).any():
            _warn_of_disjoint(rows, first)
    order = np.argsort(query, kind="stable")
    order = order[np.isin(query[order], query[pair[:n_judged]])]
    columns = []
    for i, (rows, pairs_of_source) in enumerate(zip(sources, parts, strict=True)):
        is_judge = i < len(judges)
        values = np.full(len(query), np.nan if is_judge else -np.inf)
        values[pairs_of_source] = rows.numbers if is_judge else rows.lift_infinite_scores()
        columns.append(values[order])
    return Bunch(
        y_judges=dict(zip(judges, columns, strict=False)),
        y_scores=dict(zip(systems, columns[len(judges) :], strict=True)),
        qid=query_ids[query[order]],
        doc_id=doc_ids[document[order]],
    )


def check_join_options(**options: str | None) -> None:
    """Check the options shared by `join_run` and `evaluate_runs`."""
    for name, value in options.items():
        _CHECKS[name](value)


def _read_sources(sources: object, argument: str) -> dict[str, Entries]:
    """Convert each judge's qrels, or each run, to Entries; errors name the judge or run."""
    if not isinstance(sources, Mapping):
        raise TypeError(
            f"Argument {argument} must be a mapping with names as keys, such as {{'human': "
            f"qrels}}; got {type(sources).__name__}."
        )
    check_names(sources, argument)
    side = "qrels" if argument == "qrels" else "run"
    rows = {
        name: read_entries(source, side, f"{argument}[{name!r}]")
        for name, source in sources.items()
    }
    if side == "run":
        return rows
    return {name: each.without(np.flatnonzero(each.numbers < 0)) for name, each in rows.items()}


def _refuse_disjoint(rows: Entries, first: Entries, is_joined: bool = False) -> None:
    """Raise an error if two sources share no query.

    Also raise an error if the sources share no document and their document ids differ in type.
    """
    # If a join matched no row, a retrieved document may still be judged for a different query.
    document = "document of the same query" if is_joined else "document"
    for noun, ids, known in (
        ("query", rows.query_ids, first.query_ids),
        (document, rows.document, first.document),
    ):
        is_searched = noun == "query" or not is_joined
        if is_searched and (make_finder(number_values(known)[1])(ids) >= 0).any():
            continue
        kind, other = type(plain(known[0])).__name__, type(plain(ids[0])).__name__
        advice = (
            f" The ids have the types {kind} and {other}: convert them to one type, for example "
            "with str."
            if kind != other
            else ""
        )
        if noun == "query" or advice:
            raise ValueError(
                f"{first.source} and {rows.source} have no {noun} in common: for example, "
                f"{first.source} contains {plain(known[0])!r}, and {rows.source} contains "
                f"{plain(ids[0])!r}.{advice}"
            )


def _warn_of_disjoint(rows: Entries, judgments: Entries) -> None:
    """Warn that no retrieved document is judged, unless the run is empty."""
    codes = make_finder(judgments.query_ids)(rows.query_ids)[rows.query_codes]
    if codes.max(initial=-1) < 0 or not len(judgments.numbers):
        return
    row = int(np.argmax(codes >= 0))
    judged = int(np.argmax(judgments.query_codes == codes[row]))
    warn_user(
        f"{rows.source} contains no judged document of any query: for query {rows.query(row)!r}, "
        f"it contains {plain(rows.document[row])!r}, and {judgments.source} contains "
        f"{plain(judgments.document[judged])!r}. Do the ids belong to the same collection?"
    )


def _number_ids(columns: Iterable[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of all ids, and the distinct ids in order of first appearance."""
    return number_values(np.concatenate([np.asarray(ids, dtype=object) for ids in columns]))


# The join on query codes -------------------------------------------------------------------------


@dataclass(frozen=True)
class Joined:
    """A run joined with judgments; the order of the rows is documented in `join_run`."""

    rows: np.ndarray  # row positions in the concatenation of the run and the judgments
    grade: np.ndarray
    score: np.ndarray
    sizes: np.ndarray  # number of rows per judged query; 0 for queries that are left out
    missing: np.ndarray  # boolean mask of judged queries that are missing from the run
    unjudged: np.ndarray  # boolean mask of queries in the run that have no judgments


class JudgmentIndex:
    """Judgments that are indexed once and can be joined with any number of runs."""

    def __init__(self, judgments: Entries) -> None:
        self.judgments = judgments
        self._grade = np.where(judgments.numbers < 0, np.nan, judgments.numbers)
        self._query = judgments.query_codes.astype(np.int32)
        self._order, self._starts = sort_by_query(
            judgments.query_codes.astype(np.intp), len(judgments.query_ids)
        )
        self._find_queries = make_finder(judgments.query_ids)

    def join(
        self,
        run: Entries,
        *,
        count_missing: bool = False,
        refuse_unjudged: bool = False,
        ties: str | None = None,
        unjudged_documents: str = "irrelevant",
    ) -> Joined:
        """Join a run's rows with the judgments."""
        numbers = self._find_queries(run.query_ids).astype(np.int32)  # -1: no judgments
        unjudged = numbers < 0
        if refuse_unjudged and unjudged.any():
            code = int(np.argmax(unjudged))
            rows = np.flatnonzero(run.query_codes == code)
            place = (
                f"{run.place(rows[0])}: " if len(rows) else ""
            )  # no row if nothing was retrieved
            raise ValueError(
                f"{run.source}: {place}query {plain(run.query_ids[code])!r} has no "
                f"judgments in {self.judgments.source}, which contains, for example, query "
                f"{plain(self.judgments.query_ids[0])!r}. Remove the query, or add judgments for it."
            )
        query, score = numbers[run.query_codes], run.lift_infinite_scores()
        judgment = self._find(query, run.document)
        if judgment.max(initial=-1) < 0 and len(run.query_ids):
            _refuse_disjoint(run, self.judgments, is_joined=True)
            _warn_of_disjoint(run, self.judgments)
        if ties == "trec":
            score = order_as_trec_eval(query, score, run.document)
        missing = np.ones(len(self.judgments.query_ids), dtype=bool)
        missing[numbers[~unjudged]] = False
        is_kept, unretrieved = self._select_rows(query, judgment, unjudged_documents == "drop")
        if not count_missing:
            unretrieved &= ~missing[self._query]
        rows = np.flatnonzero(np.concatenate([is_kept, unretrieved]))
        query = np.concatenate([query, self._query])[rows].astype(np.intp)
        order, starts = sort_by_query(query, len(missing))
        if order is not None:
            rows = rows[order]
        del query, order  # free the memory of large runs
        judgment = np.concatenate([judgment, np.arange(len(self._grade), dtype=np.int32)])[rows]
        scores = np.append(score, -np.inf).take(rows, mode="clip")
        grade = np.append(self._grade, np.nan)
        if unjudged_documents != "keep":
            grade = np.nan_to_num(grade)
        return Joined(
            rows=rows,
            grade=grade[judgment],
            score=scores,
            sizes=np.diff(starts),
            missing=missing,
            unjudged=unjudged,
        )

    def _select_rows(
        self, query: np.ndarray, judgment: np.ndarray, is_condensed: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a mask of the run's rows to keep and a mask of the judgments to add to them.

        In condensed lists, unjudged documents are left out; queries without a grade ≥ 0 are kept.
        """
        added = np.ones(len(self._grade), dtype=bool)
        is_kept = query >= 0
        if is_condensed:
            is_judged = ~np.isnan(self._grade)
            is_kept = np.append(is_judged, False)[judgment]
            graded = np.bincount(self._query[is_judged], minlength=len(self.judgments.query_ids))
            added = is_judged | (graded[self._query] == 0)
        added[judgment[is_kept & (judgment >= 0)]] = False
        return is_kept, added

    def _find(self, query: np.ndarray, document: Any) -> np.ndarray:
        """Return the position of the judgment for each row of a run, or -1 if there is none."""
        if not isinstance(document, np.ndarray):
            return self._find_texts(query, document)
        order, starts = sort_by_query(query.astype(np.intp) + 1, len(self.judgments.query_ids) + 1)
        ids = _list_ids(document, order)
        places = [-1] * int(starts[1])  # rows of queries without judgments
        for place_of, (first, last) in zip(
            self._places, pairwise(starts[1:].tolist()), strict=True
        ):
            places.extend(map(place_of.get, ids[first:last], repeat(-1)))
        found = np.array(places, dtype=np.int32)
        rows = np.flatnonzero(found >= 0)
        found[rows] += self._starts[query[rows if order is None else order[rows]]]
        if self._order is not None:
            found[rows] = self._order[found[rows]]
        if order is None:
            return found
        judgment = np.empty_like(found)
        judgment[order] = found
        return judgment

    def _find_texts(self, query: np.ndarray, document: Any) -> np.ndarray:
        """Return the result of `_find` for Arrow strings without converting them to objects."""
        import pyarrow as pa
        from pyarrow import compute

        documents, find_pairs = self._index
        known = compute.index_in(pa.array(document), value_set=pa.array(documents))
        codes = np.asarray(known.fill_null(-1))
        rows = np.flatnonzero((query >= 0) & (codes >= 0))
        judgment = np.full(len(query), -1, dtype=np.int32)
        judgment[rows] = find_pairs(query[rows].astype(np.intp) * len(documents) + codes[rows])
        return judgment

    @cached_property
    def _index(self) -> tuple[Any, Callable[[Any], np.ndarray]]:
        """Distinct documents, and a function that finds judgments by query and document code."""
        codes, documents = number_values(self.judgments.document)
        return documents, make_finder(self._query.astype(np.intp) * len(documents) + codes, np.intp)

    @cached_property
    def _places(self) -> list[dict[Any, int]]:
        """The position of each document among the judgments of its query, one dict per query."""
        ids = _list_ids(self.judgments.document, self._order)
        bounds = pairwise(self._starts.tolist())
        return [
            dict(zip(ids[first:last], range(last - first), strict=True)) for first, last in bounds
        ]


def _list_ids(document: Any, order: np.ndarray | None) -> list[Any]:
    """Return the document ids as a list, in the given order of rows."""
    ids = np.asarray(document, dtype=object)
    return (ids if order is None else ids[order]).tolist()


def order_as_trec_eval(query: np.ndarray, score: np.ndarray, document: np.ndarray) -> np.ndarray:
    """Return scores that yield trec_eval's ranking: by score, then document id, both descending.

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
