"""Conversion of qrels and runs in the data structures of several tools to `Entries`."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input import door
from skgraded._input.queries import query_codes, refuse_missing_ids
from skgraded._input.tables import list_column_names, refuse_unknown
from skgraded._input.words import (
    object_array,
    plain,
    plain_list,
    quote_names,
    suggest_name,
)
from skgraded.datasets.entries import Entries, make_empty_run, name_rows

# Accepted column names in frames, lists of dicts and files with a header, in order of priority.
# In PyTerrier data frames, `qid` contains query ids and `query` contains query texts.
NAMES: dict[str, tuple[str, ...]] = {
    "query": ("qid", "query_id", "q_id", "query-id", "query"),
    "document": ("doc_id", "docno", "docid", "doc-id", "corpus-id", "document"),
    "grade": ("grade", "relevance", "label", "rating", "rel"),
    "score": ("score",),
}
BEIR = "corpus-id"  # in qrels with this column, the grades may be called scores
RANK = "rank"  # a column of runs that is compared with the scores
COLUMNS = {"qrels": ("query", "document", "grade"), "run": ("query", "document", "score")}


def _check_judgments(grades: ArrayLike, **names: Any) -> np.ndarray:
    """Check that grades are finite; negative grades mean "not judged"."""
    checked, _ = door.read_grades(grades, **names)
    door.refuse_bad_grades(
        np.where(np.isfinite(checked), 0.0, checked),
        names["name"],
        row_name=names.get("row_name", door.ROW),
    )
    return checked


CHECK: dict[str, Any] = {"qrels": _check_judgments, "run": door.check_scores}


def read_entries(
    source: Any,
    side: str,
    name: str | None = None,
    allow_empty: bool = False,
) -> Entries:
    """Convert qrels or a run to Entries called `name`; errors contain `side` ("qrels" or "run").

    Negative grades are kept, with a warning.
    """
    from sklearn.utils import Bunch

    entries = convert(source, side).refuse_empty(allow_empty)
    entries = entries.drop_repeats() if side == "qrels" else entries.refuse_repeats()
    entries = replace(entries, source=name or side).warn_of_ranks()
    if side == "qrels" and not isinstance(source, Bunch):  # read_qrels has already warned
        entries.warn_of_negative()
    return entries


def convert(source: Any, side: str, lines: np.ndarray | None = None) -> Entries:
    """Convert qrels or a run to unchecked Entries; `lines` are those of the items of a list."""
    if type(source).__module__.partition(".")[0] == "ranx":
        kind = type(source).__name__
        if side == "qrels" and kind == "Run":
            raise TypeError(
                "qrels is a ranx Run, which contains scores instead of grades: call "
                "join_run(qrels, run)."
            )
        if kind in ("Qrels", "Run"):
            return convert_queries(source.to_dict().items(), side)
    if hasattr(source, "collect") or hasattr(source, "compute"):
        raise TypeError(
            f"{side} must be in memory: convert the {type(source).__name__} to a pandas or polars "
            "DataFrame first."
        )
    is_dict = isinstance(source, Mapping)
    if is_dict:
        n_named = len(list(filter(None, find_columns(source, side).values())))
        if n_named < 2 or n_named == 2 and isinstance(next(iter(source.values())), Mapping):
            return convert_queries(source.items(), side)
    names = source if is_dict else getattr(source, "column_names", getattr(source, "columns", None))
    if names is not None:  # Arrow has both attributes
        chosen = choose_columns(list(names), side)
        refuse_unknown(chosen, names, f"{side}: ")  # repeated names
        return convert_columns(source, chosen, side)
    if isinstance(source, Iterable) and not isinstance(source, (str, bytes, set, frozenset)):
        return _convert_items(list(source), source, side, lines)
    raise _type_error(source, side)


def _type_error(source: object, side: str) -> TypeError:
    lists = "" if side == "qrels" else "a dict of ranked lists, "
    return TypeError(
        f"{side} has no column 'query': pass the result of read_{side}, a table, a dict of dicts, "
        f"{lists}or a list of dicts or named tuples; got {type(source).__name__}."
    )


# Tables ------------------------------------------------------------------------------------------


def find_columns(names: Collection[Any], side: str) -> dict[str, list[str]]:
    """Return the known column names among `names`, keyed by what the columns contain."""
    named = {column: [name for name in NAMES[column] if name in names] for column in COLUMNS[side]}
    if side == "qrels" and BEIR in names and not named["grade"]:
        named["grade"] = [name for name in NAMES["score"] if name in names]
    return named


def choose_columns(names: Sequence[str], side: str) -> list[str]:
    """Return the names of the columns with the queries, the documents, and the grades or scores."""
    chosen = []
    for column, present in find_columns(names, side).items():
        if not present:
            others = [name for name in NAMES[column] if name != column]
            hints = (suggest_name(name, names) for name in (column, *others))
            shown, hint = quote_names(names), next(filter(None, hints), "")
            accepted = f" Other accepted names: {', '.join(others)}." if others else ""
            raise ValueError(
                f"{side} has no column {column!r}; its columns are {shown}.{hint}{accepted}"
            )
        if column == "grade" and len(present) > 1:
            shown = " and ".join(map(repr, present))
            raise ValueError(f"{side} has several grade columns, {shown}: keep only one of them.")
        chosen.append(present[0])
    return chosen


def convert_columns(
    table: Any, names: Sequence[str], side: str, lines: np.ndarray | None = None
) -> Entries:
    """Convert the columns with the queries, the documents, and the grades or scores to Entries."""
    if hasattr(table[names[0]], "__len__") and len(table[names[0]]) == 0:
        return make_empty_run(side)
    query_name, document_name, number_name = (f"{side}.{name}" for name in names)
    codes, ids = query_codes(table[names[0]], name=query_name)
    n = len(codes)
    documents = _read_documents(table[names[1]], n, query_name, document_name)
    numbers = CHECK[side](
        table[names[2]], name=number_name, n=n, expected=query_name, row_name=name_rows(lines)
    )
    ranks = None
    if side == "run" and RANK in (
        table if isinstance(table, Mapping) else list_column_names(table)
    ):
        with suppress(TypeError, ValueError, KeyError):  # ranks that are no numbers are ignored
            ranks = door.column(table[RANK], RANK, n)
    return Entries(side, ids, codes, documents, numbers, lines, ranks=ranks)


def _read_documents(
    documents: ArrayLike, n: int | None, expected: str | None, name: str
) -> np.ndarray:
    """Check the document ids of all rows and return them as an object array."""
    texts: Any = documents
    for method in ("to_list", "tolist", "to_pylist"):
        if hasattr(documents, method):
            texts = getattr(documents, method)()
            break
    if isinstance(texts, (list, tuple)) and set(map(type, texts)) == {str}:
        refuse_missing_ids(texts, name)
        return door.as_array(object_array(texts), name, n, str(expected))
    codes, ids = query_codes(documents, n, expected, name)
    refuse_missing_ids(texts, name)
    return object_array(plain_list(ids))[codes]


# Lists of rows ------------------------------------------------------------------------------------


def _convert_items(
    items: list[Any], source: object, side: str, lines: np.ndarray | None
) -> Entries:
    """Convert a list of rows, which are dicts or named tuples."""
    if not items:
        return make_empty_run(side)
    are_dicts = all(isinstance(item, Mapping) for item in items)
    fields = list(items[0]) if are_dicts else getattr(items[0], "_fields", None)
    if fields is None:
        raise _type_error(source, side)
    names = choose_columns(fields, side)
    read = [*names, RANK] if RANK in fields else names
    if are_dicts:
        table = {name: [item.get(name) for item in items] for name in read}
    else:
        table = {name: list(map(attrgetter(name), items)) for name in read}
    return convert_columns(table, names, side, lines)


# Dicts by query ----------------------------------------------------------------------------------


def convert_queries(queries: Iterable[tuple[Any, Any]], side: str) -> Entries:
    """Convert pairs of a query and its documents, a dict or a list, to Entries."""
    kept_queries, sizes = [], []
    values: Iterable[Any]
    documents: list[Any] = []
    numbers: list[Any] = []
    for query, value in queries:
        if isinstance(value, Mapping):
            names, values = list(value), value.values()
        elif side == "run" and isinstance(value, (list, tuple, np.ndarray)):
            names, values = list(value), range(-1, -1 - len(value), -1)  # the score is -rank
        else:
            raise _form_error(side, {query: value})
        if names or side == "run":  # runs keep queries for which nothing was retrieved
            kept_queries.append(query)
            sizes.append(len(names))
        documents.extend(names)
        numbers.extend(values)
    if not documents:
        return make_empty_run(side)
    codes, ids = query_codes(kept_queries, name=f"{side}.query")
    codes = np.repeat(codes, sizes)

    def row_name(row: int) -> str:
        return f"document {plain(documents[row])!r:.100} of query {plain(ids[codes[row]])!r:.100}"

    try:
        ids_of_documents = _read_documents(documents, None, None, f"{side}.document")
        checked = CHECK[side](numbers, name=side, n=len(documents), row_name=row_name)
    except (TypeError, ValueError):
        for part in chain(documents, numbers):  # such as parts of a search engine's response
            if isinstance(part, (Mapping, list)):
                raise _form_error(side, part) from None
        raise
    return Entries(side, ids, codes, ids_of_documents, checked)


def _form_error(side: str, part: object) -> TypeError:
    forms = {
        "qrels": "{query: {document: grade}}",
        "run": "{query: {document: score}}, or {query: [document, …]} in ranked order",
    }
    return TypeError(f"{side} must have the form {forms[side]}; got the part {part!r:.200}.")
