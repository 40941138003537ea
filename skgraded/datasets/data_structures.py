"""Convert the qrels and runs of several tools to `Rows`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from skgraded._input import columns
from skgraded._input.queries import query_codes
from skgraded._input.words import did_you_mean, object_array, plain, plain_list
from skgraded.datasets.rows import Rows
from skgraded.datasets.text_files import parsed

# Accepted column names, in order of priority.
# In PyTerrier data frames, `qid` contains query ids and `query` contains the topic texts.
NAMES = {
    "query": ("qid", "query_id", "q_id", "query"),
    "document": ("doc_id", "docno", "document"),
    "grade": ("grade", "relevance", "label"),
    "score": ("score",),
}
COLUMNS = {"qrels": ("query", "document", "grade"), "run": ("query", "document", "score")}
# Keys for grades and scores in OpenSearch and Elasticsearch JSON.
KEY = {"qrels": "rating", "run": "_score"}


class Lists(NamedTuple):
    """Documents of all queries; the documents of each query are consecutive."""

    queries: list[Any]
    sizes: list[int] | np.ndarray  # number of documents of each query
    documents: list[Any]
    numbers: list[Any] | np.ndarray  # grades or scores


def rows_of(source: Any, side: str) -> Rows:
    """Convert qrels or a run to Rows; `side` ("qrels" or "run") is the name used in errors."""
    rows = _convert(source, side)
    if side == "qrels":
        return rows.without_repeats()
    rows.refuse_repeats()
    return rows


def _convert(source, side):
    if type(source).__module__.partition(".")[0] == "ranx":
        return _rows_of_lists(_lists_of_ranx(source, side), side)
    if hasattr(source, "collect") or hasattr(source, "compute"):
        raise TypeError(
            f"{side} is a {type(source).__name__}, whose rows are not in memory: collect it into "
            "a frame first."
        )
    if isinstance(source, Mapping) and not _has_columns(source, side):
        queries = _queries_of(source)
        if queries is not None:
            return _rows_of_lists(_lists_of(queries, side), side)
    known = _column_names(source, side)
    if known:
        names = _chosen(known, side)
        is_table = isinstance(source, Mapping) or hasattr(source, "__getitem__")
        values = [source[name] if is_table else getattr(source, name) for name in names]
        return _rows_of_columns(values, names, side)
    if isinstance(source, Iterable) and not isinstance(source, (str, bytes, set, frozenset)):
        return _rows_of_items(list(source), source, side)
    raise _wrong_type(source, side)


def _wrong_type(source, side):
    ranx, item = {"qrels": ("Qrels", "Qrel"), "run": ("Run", "ScoredDoc")}[side]
    shown = repr(source) if isinstance(source, (str, bytes)) else type(source).__name__
    return TypeError(
        f"{side} has no column 'query': pass the result of read_{side}, a table, a dict of dicts, "
        f"a {ranx} of ranx, or named tuples such as {item} of ir_measures; got {shown}."
    )


# Tables ------------------------------------------------------------------------------------------

def _has_columns(source, side):
    return all(any(name in source for name in NAMES[column]) for column in COLUMNS[side])


def _column_names(source, side):
    """Return the column names of a table, or the attributes of an object that are columns."""
    if isinstance(source, Mapping):
        return list(source)
    names = getattr(source, "column_names", getattr(source, "columns", None))  # Arrow's first
    if names is not None:
        return list(names)
    known = chain(*(NAMES[column] for column in COLUMNS[side]))
    return [name for name in known if hasattr(source, name)]


def _chosen(known, side):
    """Select the columns that contain queries, documents, and grades or scores."""
    chosen = []
    for column in COLUMNS[side]:
        present = [name for name in NAMES[column] if name in known]
        if not present:
            others = [name for name in NAMES[column] if name != column]
            hints = (did_you_mean(name, known) for name in (column, *others))
            raise ValueError(
                f"{side} has no column {column!r}; it has {', '.join(map(repr, known[:20]))}."
                f"{next(filter(None, hints), '')}"
                + (f" Other accepted names: {', '.join(others)}." if others else "")
            )
        if column == "grade" and len(present) > 1:
            raise ValueError(
                f"{side} has the columns {' and '.join(map(repr, present))}: keep only the column "
                "with the grades."
            )
        chosen.append(present[0])
    return chosen


def _rows_of_columns(values, names, side):
    query, document, number = values
    query_name, document_name, number_name = (f"{side}.{name}" for name in names)
    codes, ids = query_codes(query, name=query_name)
    n = len(codes)
    documents = _document_ids(document, n, query_name, document_name)
    check = columns.check_grades if side == "qrels" else columns.check_scores
    numbers = check(number, name=number_name, n=n, expected=query_name)
    return Rows(side, ids, codes, documents, numbers)


def _document_ids(documents, n, expected, name):
    """Check the document ids of all rows and return them as an object array."""
    texts = documents
    for method in ("to_list", "tolist", "to_pylist"):
        if hasattr(documents, method):
            texts = getattr(documents, method)()
            break
    if isinstance(texts, (list, tuple)) and set(map(type, texts)) == {str}:  # speed only
        columns.refuse_other_length(texts, name, n, expected)
        return object_array(texts)
    codes, ids = query_codes(documents, n, expected, name)
    return object_array(plain_list(ids))[codes]


# Lists of tuples and of rated queries ------------------------------------------------------------

def _rows_of_items(items, source, side):
    """Convert named tuples, one per document, or dicts of ratings, one per query."""
    if not items:
        raise ValueError(f"{side} is empty: it has no document.")
    if isinstance(items[0], Mapping):
        return _rows_of_lists(_lists_of(_rated_queries(items, side), side), side)
    fields = getattr(items[0], "_fields", None)
    if fields is None:
        raise _wrong_type(source, side)
    names, values = _chosen(fields, side), []
    for name in names:
        try:
            values.append(list(map(attrgetter(name), items)))
        except AttributeError:
            row = next(i for i, item in enumerate(items) if not hasattr(item, name))
            raise TypeError(f"{side}: row {row} has no {name!r}; it is {items[row]!r}.") from None
    return _rows_of_columns(values, names, side)


def _rated_queries(requests, side):
    """Yield the id and the rated documents for each request of a ranking evaluation."""
    for position, request in enumerate(requests):
        is_request = isinstance(request, Mapping) and {"id", "query"} & request.keys()
        if not is_request or "ratings" not in request:
            raise TypeError(
                f"{side}[{position}] must be a dict with 'id' and 'ratings', as in requests of "
                f"_rank_eval; got {request!r:.200}."
            )
        yield request["id"] if "id" in request else request["query"], request["ratings"]


# Dicts by query ----------------------------------------------------------------------------------

def _queries_of(source):
    """Return pairs (query, documents), or None if the dict contains columns."""
    for key in ("requests", "judgmentRatings"):  # keys of _rank_eval and OpenSearch's judgments
        if isinstance(source.get(key), list):
            return _rated_queries(source[key], key)
    if "metric_score" in source and isinstance(source.get("details"), Mapping):
        source = source["details"]  # a response of _rank_eval
    if not any(map(_are_documents, source.values())):
        return None
    return source.items()


def _are_documents(value):
    is_list = isinstance(value, list) and len(value) > 0
    return isinstance(value[0] if is_list else value, Mapping)


def _lists_of(queries, side):
    """Collect the documents of each query from a dict of numbers or a list of ratings or hits."""
    ids, sizes = [], []
    documents: list[Any] = []
    numbers: list[Any] = []
    for query, value in queries:
        if isinstance(value, Mapping) and isinstance(value.get("hits"), (Mapping, list)):
            value = value["hits"]  # a response of a search
            value = value.get("hits", []) if isinstance(value, Mapping) else value
        if isinstance(value, Mapping):
            names, values = value.keys(), value.values()
        elif isinstance(value, list):
            names, values = _documents_of(query, value, side)
        else:
            raise TypeError(
                f"{side}[{query!r}] must be a dict that maps documents to numbers; "
                f"got {value!r:.200}."
            )
        ids.append(query)
        sizes.append(len(names))
        documents.extend(names)
        numbers.extend(values)
    return Lists(ids, sizes, documents, numbers)


def _documents_of(query, items, side):
    """Return the ids and numbers in a list of rated documents or hits."""
    names, numbers = [], []
    for position, item in enumerate(items):
        item = item.get("hit", item) if isinstance(item, Mapping) else {}
        name, number = item.get("_id", item.get("docId")), item.get(KEY[side])
        if name is None or number is None:
            raise ValueError(
                f"{side}: item {position} of query {query!r} must have '_id' and {KEY[side]!r}; "
                f"got {items[position]!r:.200}."
            )
        names.append(name)
        as_float = parsed(float, number) if isinstance(number, str) else None  # "3.000"
        numbers.append(number if as_float is None else as_float)
    return names, numbers


def _rows_of_lists(lists, side):
    """Convert Lists to Rows; runs keep queries for which no documents were retrieved."""
    queries, sizes, documents, numbers = lists
    if not documents:
        raise ValueError(f"{side} is empty: it has no document.")
    if side == "qrels":
        queries = [query for query, size in zip(queries, sizes, strict=True) if size]
        sizes = [size for size in sizes if size]
    codes, ids = query_codes(queries, name=f"{side}.query")
    codes = np.repeat(codes, sizes)
    ids_of_documents = _document_ids(documents, None, None, f"{side}.document")
    check = columns.check_grades if side == "qrels" else columns.check_scores
    try:
        numbers = check(numbers, name=side, n=len(documents))
    except (ValueError, TypeError) as error:
        def place(row):
            row = int(row[1])
            return f"document {plain(documents[row])!r} of query {plain(ids[codes[row]])!r}"

        raise type(error)(re.sub(r"\brow (\d+)", place, str(error), count=1)) from None
    return Rows(side, ids, codes, ids_of_documents, numbers)


# ranx --------------------------------------------------------------------------------------------

def _lists_of_ranx(source, side):
    """Read a ranx Qrels or Run with compiled loops, because Python reads Numba's dicts slowly."""
    by_query = getattr(source, type(source).__name__.lower(), None)
    if type(source).__name__ not in ("Qrels", "Run") or by_query is None:
        raise _wrong_type(source, side)
    if side == "qrels" and type(source).__name__ == "Run":
        raise TypeError(
            "qrels is a Run of ranx, which contains scores instead of grades: call "
            "join_run(qrels, run)."
        )
    if not len(by_query):
        raise ValueError(f"{side} is empty: it has no document.")
    count, copy = _readers()
    sizes, n_characters = count(by_query)
    characters = np.empty(n_characters, dtype="<u4")
    ends, numbers = np.empty(sizes.sum(), dtype=np.intp), np.empty(sizes.sum())
    copy(by_query, characters, ends, numbers)
    text, ends = characters.tobytes().decode("utf-32-le", "surrogatepass"), ends.tolist()
    documents = [text[i:j] for i, j in zip([0, *ends], ends, strict=False)]
    return Lists(list(by_query.keys()), sizes, documents, numbers)


@cache
def _readers():
    """Compile loops over Numba's dicts; Numba has already been imported by ranx."""
    from numba import njit

    @njit
    def count(by_query):
        """Count the documents of each query and the characters of all ids."""
        sizes, n_characters = np.empty(len(by_query), dtype=np.int64), 0
        for query, documents in enumerate(by_query.values()):
            sizes[query] = len(documents)
            for document in documents:
                n_characters += len(document)
        return sizes, n_characters

    @njit
    def copy(by_query, characters, ends, numbers):
        """Copy the ids of all documents, the end of each id, and the numbers."""
        row = end = 0
        for documents in by_query.values():
            for document, number in documents.items():
                for i in range(len(document)):
                    characters[end + i] = ord(document[i])
                end += len(document)
                ends[row], numbers[row] = end, number
                row += 1

    return count, copy
