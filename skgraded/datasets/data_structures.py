"""Convert qrels and runs in JSON, tables and other data structures to `Entries`."""

import json
import re
from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from numbers import Number
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input import door
from skgraded._input.door import (
    add_place,
    is_empty,
    make_argument_error,
    make_object_array,
    plain,
    to_plain_list,
)
from skgraded._input.messages import normalize_name, quote_names, suggest_name
from skgraded._input.queries import query_codes, refuse_missing_ids
from skgraded._input.tables import (
    COLUMNS,
    choose_columns,
    find_columns,
    list_column_names,
    refuse_unknown,
)
from skgraded.datasets.entries import Entries, make_empty_run, name_rows
from skgraded.datasets.text_files import parse_cell

DOCUMENT_TYPES = (Mapping, list, tuple, np.ndarray, set, frozenset)  # for the documents of a query
RANK = "rank"  # name of the rank column in a run; ranks are checked against the scores
FEW = 30  # a dict of dicts with more keys than this is not a table
EXACT = 2**53  # float64 represents all integers up to this value exactly
RATINGS = ("ratings", "judgmentratings")  # keys under which a query may list its judged documents
REQUESTS = ("requests", "judgmentratings")  # keys of a list of judged queries
META = "mteb_model_meta"  # key of the metadata in MTEB files, {META: …, subset: {split: …}}


class Container(NamedTuple):
    """A data structure for qrels or runs: `accepts` recognizes it, and `convert` reads it."""

    name: str
    accepts: Callable[[Any, str], bool]
    convert: Callable[..., Any]
    sides: tuple[str, ...] = ("qrels", "run")


def read_entries(
    source: Any, side: str, name: str | None = None, allow_empty: bool = False
) -> Entries:
    """Convert qrels (if `side` is "qrels") or a run (if it is "run") to Entries, and check them.

    Error messages contain `name`. Negative grades are kept, with a warning.
    """
    with door.place_errors(name):
        entries = convert(source, side)
    return replace(entries, source=name or side).check(side, allow_empty)


def convert(source: Any, side: str, lines: np.ndarray | None = None) -> Entries:
    """Convert qrels or a run to unchecked Entries; `lines` may contain each row's line number."""
    if isinstance(source, Iterator):
        source = list(source)
    if hasattr(source, "collect") or hasattr(source, "compute"):
        raise TypeError(
            f"{side} must be in memory: convert the {type(source).__name__} to a pandas or polars "
            "DataFrame first."
        )
    containers = [container for container in CONTAINERS if side in container.sides]
    for container in containers:
        if container.accepts(source, side):
            return container.convert(source, side, lines)
    raise TypeError(
        f"{side} has no column 'query': pass the result of read_{side}, "
        f"{', '.join(container.name for container in containers)}; got {type(source).__name__}."
    )


# Numbers and documents ---------------------------------------------------------------------------


def _convert_grades_or_scores(values: Any, side: str, **names: Any) -> np.ndarray:
    """Return grades or scores as float64; strings are parsed, and missing numbers become NaN."""
    is_plain = isinstance(values, list) and len(values) == names["n"]
    if is_plain and type(values[0]) in (int, float):
        with suppress(TypeError, OverflowError):
            numbers = np.frombuffer(array("d", values))
            if -EXACT < numbers.min() and numbers.max() < EXACT:
                return numbers
    column = door.as_array(values, names["name"], names["n"], names["expected"])
    if column.dtype.kind in "OUT":
        column = make_object_array(list(map(_parse_if_text, column.tolist())))
    if side == "run":
        scores = door.column(column, **names)
        return scores if np.isnan(scores).any() else door.check_scores(column, **names)
    grades, _ = door.read_grades(column, **names)
    infinite = np.where(np.isfinite(grades), 0.0, grades)  # negative grades are valid
    door.refuse_bad_grades(infinite, names["name"], allow_nan=True, row_name=names["row_name"])
    return grades


def _parse_if_text(value: Any) -> Any:
    """Convert a numeric string to a number, and "" to NaN; return any other value unchanged."""
    number = parse_cell(value) if isinstance(value, str) else value
    return value if number is None else number


def _as_list(column: Any) -> Any:
    names = [name for name in ("to_list", "tolist", "to_pylist") if hasattr(column, name)]
    return getattr(column, names[0])() if names else column


def _read_documents(documents: ArrayLike, name: str, n: int | None, expected: str) -> np.ndarray:
    """Check the document ids of all rows and return them as an object array."""
    texts = _as_list(documents)
    if isinstance(texts, (list, tuple)) and set(map(type, texts)) == {str}:
        if all(texts) and n in (None, len(texts)):  # fast path
            return make_object_array(texts)
    codes, ids = query_codes(documents, n, expected, name)
    refuse_missing_ids(texts, name)
    return make_object_array(to_plain_list(ids))[codes]


# Tables ------------------------------------------------------------------------------------------


def _has_columns(source: Any, side: str) -> bool:
    """Return whether an object is a table rather than a dict that maps queries to documents."""
    if not isinstance(source, Mapping):
        return hasattr(source, "column_names") or hasattr(source, "columns")
    has_items = hasattr(next(iter(source.values()), None), "items")
    if has_items and len(source) > FEW:
        return False
    n_named = sum(map(bool, find_columns(source, side).values()))
    return n_named == 3 or n_named == 2 and not has_items


def _convert_table(source: Any, side: str, lines: np.ndarray | None = None) -> Entries:
    names = list(source) if isinstance(source, Mapping) else list_column_names(source)
    chosen = choose_columns(names, side)
    refuse_unknown(chosen, names, f"{side}: ")  # repeated names
    return convert_columns(source, chosen, side, lines)


def convert_columns(
    table: Any,
    names: Sequence[str],
    side: str,
    lines: np.ndarray | None = None,
    form: str | None = None,
) -> Entries:
    """Convert three columns (queries, documents, and grades or scores) to Entries.

    `form` is the form of their names in messages.
    """
    if hasattr(table[names[0]], "__len__") and len(table[names[0]]) == 0:
        return make_empty_run(side)
    query, document, number = ((form or side + ".{}").format(name) for name in names)
    codes, ids = query_codes(table[names[0]], name=query)
    n = len(codes)
    numbers = _convert_grades_or_scores(
        table[names[2]], side, name=number, n=n, expected=query, row_name=name_rows(lines)
    )
    documents = table[names[1]]
    if np.isnan(numbers).any():  # rows without a grade are dropped, so they do not need a document
        pairs = zip(_as_list(documents), np.isnan(numbers).tolist(), strict=True)
        documents = ["?" if is_dropped and is_empty(text) else text for text, is_dropped in pairs]
    documents = _read_documents(documents, document, n, query)
    ranks = None
    if side == "run" and RANK in (
        table if isinstance(table, Mapping) else list_column_names(table)
    ):
        with suppress(TypeError, ValueError, KeyError):  # ranks that are not numbers are ignored
            ranks = door.column(table[RANK], RANK, n)
    return Entries(side, ids, codes, documents, numbers, lines, ranks=ranks)


def _convert_matrix(source: Any, side: str, _: object) -> Entries:
    """Convert a tuple (sparse matrix of grades, query ids, document ids) to Entries."""
    matrix, *ids_of_axes = source
    cells = matrix.tocsr().tocoo()
    table: dict[str, Any] = {"grade": cells.data}
    for name, ids, positions, n in zip(
        ("query", "document"), ids_of_axes, (cells.row, cells.col), cells.shape, strict=True
    ):
        if len(ids) != n:
            raise ValueError(f"{side} has {len(ids)} {name} ids, but its matrix has {n}.")
        table[name] = make_object_array(list(ids))[positions]
    return convert_columns(table, ("query", "document", "grade"), side)


# Lists of dicts or named tuples ------------------------------------------------------------------


def _are_dicts(items: Any) -> bool:
    return isinstance(items, (list, tuple)) and all(isinstance(item, Mapping) for item in items)


def are_rows(items: Any) -> bool:
    """Return whether an object is a list of dicts or of named tuples."""
    is_list = isinstance(items, (list, tuple)) and not hasattr(items, "_fields")
    return is_list and (_are_dicts(items) or all(hasattr(item, "_fields") for item in items))


def list_fields(rows: Sequence[Any]) -> list[Any]:
    """Return the field names of a list of dicts or of named tuples."""
    if not _are_dicts(rows):
        return list(rows[0]._fields)
    return list(dict.fromkeys(chain.from_iterable(rows)))


def _convert_rows(rows: Sequence[Any], side: str, lines: np.ndarray | None) -> Entries:
    if not rows:
        return make_empty_run(side)
    fields = list_fields(rows)
    names = choose_columns(fields, side)
    read = [*names, RANK] if RANK in fields else names
    if _are_dicts(rows):
        table = {name: [row.get(name) for row in rows] for name in read}
    else:
        table = {name: list(map(attrgetter(name), rows)) for name in read}
    return convert_columns(table, names, side, lines)


# Documents by query ------------------------------------------------------------------------------


def _convert_queries(source: Any, side: str, _: object = None) -> Entries:
    """Convert a mapping of queries to documents, or (query, documents) pairs, to Entries."""
    kept_queries, sizes = [], []
    documents: list[Any] = []
    numbers: list[Any] = []
    are_distinct = isinstance(source, Mapping)
    containers = [container for container in DOCUMENTS if side in container.sides]
    for query, value in source.items() if hasattr(source, "items") else source:
        for container in containers:
            if container.accepts(value, side):
                names, values = container.convert(value, side)
                break
        else:
            raise _make_form_error(side, {query: value})
        are_distinct &= container is DOCUMENTS[0]
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

    n = len(documents)
    try:
        read_documents = _read_documents(documents, f"{side}.document", None, "")
        read_numbers = _convert_grades_or_scores(
            numbers, side, name=side, n=n, expected="document", row_name=row_name
        )
    except (TypeError, ValueError):
        # In place of ids or numbers, there may be containers, as in the output of search engines.
        for part in chain(documents, numbers):
            if isinstance(part, (Mapping, list, set)):
                raise _make_form_error(side, part) from None
        raise
    return Entries(side, ids, codes, read_documents, read_numbers, are_distinct=are_distinct)


def _make_form_error(side: str, part: object) -> TypeError:
    forms = {
        "qrels": "{query: {document: grade}}",
        "run": "{query: {document: score}}, or {query: [document, …]} in ranked order",
    }
    others = ", ".join(container.name for container in DOCUMENTS)
    return TypeError(
        f"{side} must have the form {forms[side]}; got the part {part!r:.200}. The documents of a "
        f"query may be {others}."
    )


def _is_pair(item: Any) -> bool:
    is_pair = isinstance(item, (list, tuple)) and len(item) == 2
    return is_pair and (isinstance(item[1], (Number, np.bool_)) or is_empty(item[1]))


def _split_pairs(pairs: Iterable[Any], side: str) -> tuple[list[Any], list[Any]]:
    pairs = list(pairs)
    for pair in pairs:
        if not _is_pair(pair):
            raise _make_form_error(side, pair)
    return [name for name, _ in pairs], [number for _, number in pairs]


def _split_ids(ids: Any, side: str) -> tuple[list[Any], list[int]]:
    """Return the ids, with grades of 1 for qrels and the scores -1, -2, … for a run."""
    ids = list(ids)
    return ids, [1] * len(ids) if side == "qrels" else list(range(-1, -1 - len(ids), -1))


def _split_dicts(items: Sequence[Mapping[Any, Any]], side: str) -> tuple[list[Any], list[Any]]:
    fields = list_fields(items)
    if isinstance(items[0].get(fields[0]), (Mapping, list)):
        raise _make_form_error(side, items[0])
    name, number = choose_columns(fields, side, COLUMNS[side][1:])
    return [item.get(name) for item in items], [item.get(number) for item in items]


# Data structures for the documents of one query; `convert` returns ids and grades or scores.
DOCUMENTS = [
    Container(
        "a dict",
        lambda value, side: isinstance(value, Mapping),
        lambda value, side: (value, value.values()),
    ),
    Container(
        "an object with items()",
        lambda value, side: hasattr(value, "items"),
        lambda value, side: _split_pairs(value.items(), side),
    ),
    Container(
        "a set of ids (only in qrels, because it has no order)",
        lambda value, side: isinstance(value, (set, frozenset)),
        _split_ids,
        ("qrels",),
    ),
    Container(
        "a list of dicts", lambda value, side: _are_dicts(value) and len(value) > 0, _split_dicts
    ),
    Container(
        "a list of pairs (id, number)",
        lambda value, side: isinstance(value, (list, tuple)) and any(map(_is_pair, value[:1])),
        _split_pairs,
    ),
    Container(
        "a list of ids",
        lambda value, side: isinstance(value, (list, tuple, np.ndarray)),
        _split_ids,
    ),
]


def is_run(value: Any) -> bool:
    """Return whether a value in a dict is an entire run rather than the documents of one query."""
    if hasattr(value, "items") and not hasattr(value, "columns"):
        parts = dict(value.items())
        has_documents = all(
            isinstance(part, DOCUMENT_TYPES) or hasattr(part, "items") for part in parts.values()
        )
        return has_documents or _has_columns(parts, "run")
    if are_rows(value):
        names = find_columns(list_fields(value), "run")["query"] if value else []
        ids = [row.get(names[0]) if isinstance(row, Mapping) else row for row in value[:1] if names]
        return not value or any(isinstance(query, Hashable) for query in ids)  # not a column
    return not isinstance(value, (*DOCUMENT_TYPES, Number))


# Other containers --------------------------------------------------------------------------------


def _is_of_ranx(source: object, side: str) -> bool:
    is_of_ranx = type(source).__module__.partition(".")[0] == "ranx"
    if is_of_ranx and side == "qrels" and type(source).__name__ == "Run":
        raise TypeError(
            "qrels is a ranx Run, which contains scores instead of grades: call "
            "join_run(qrels, run)."
        )
    return is_of_ranx and hasattr(source, "to_dict")


def _find_key(names: Iterable[Any], known: Sequence[str]) -> Any:
    """Return the first name that equals a known key after normalization, or None."""
    return next((name for name in names if normalize_name(str(name)) in known), None)


def _list_requests(source: Any) -> Any:
    """Return the list of judged queries in `source`, or [] if there is none."""
    if isinstance(source, Mapping) and len(source) < 10:
        source = source.get(_find_key(source, REQUESTS))
    is_list = _are_dicts(source) and len(source) > 0
    return source if is_list and _find_key(source[0], RATINGS) else []


def _convert_requests(source: Any, side: str, _: object) -> Entries:
    """Convert judged queries from Elasticsearch or OpenSearch: dicts with an id and ratings."""
    queries = []
    for request in _list_requests(source):
        name = "id" if "id" in request else choose_columns(list(request), side, ["query"])[0]
        queries.append((request[name], request.get(_find_key(request, RATINGS))))
    return _convert_queries(queries, side)


# Data structures for entire qrels or runs; `convert` returns Entries.
CONTAINERS = [
    Container(
        "judged queries such as [{'id': q, 'ratings': […]}]",
        lambda source, side: bool(_list_requests(source)),
        _convert_requests,
        ("qrels",),
    ),
    Container("a table", _has_columns, _convert_table),
    Container(
        "a Qrels or Run of ranx",
        _is_of_ranx,
        lambda source, side, lines: _convert_queries(source.to_dict(), side),
    ),
    Container("a dict of queries", lambda source, side: hasattr(source, "items"), _convert_queries),
    Container(
        "a list of dicts or named tuples", lambda source, side: are_rows(source), _convert_rows
    ),
    Container(
        "a tuple (sparse matrix, query ids, document ids)",
        lambda source, side: isinstance(source, tuple) and hasattr(source[0], "tocsr"),
        _convert_matrix,
        ("qrels",),
    ),
]


# JSON ---------------------------------------------------------------------------------------------


def read_json(data: bytes, path: str, side: str, split: str | None) -> Entries:
    """Convert the content of a JSON or JSON Lines file to Entries."""
    try:
        content, lines = _parse_content(data.decode())
        if META in content and side == "run":
            content = _select_split(content, split)
        return replace(convert(content, side, lines), source=path)
    except TypeError as error:
        raise ValueError(f"{path}: {error}") from None
    except ValueError as error:  # JSON and UTF-8 errors already state the position
        raise add_place(error, path) from None


def _parse_content(text: str) -> tuple[Any, np.ndarray | None]:
    """Return the value in a JSON file or, for JSON Lines, the values and their line numbers."""
    decoder = json.JSONDecoder(object_pairs_hook=_refuse_repeated_keys)
    values, lines, line, end = [], [], 1, 0
    while found := re.compile(r"\S").search(text, end):
        line += text.count("\n", end, found.start())
        value, end = decoder.raw_decode(text, found.start())
        line += text.count("\n", found.start(), end)
        values.append(value)
        lines.append(line)
    first = values[0]
    cells = first.values() if isinstance(first, dict) else [first]
    is_row = cells and not any(isinstance(cell, (dict, list)) for cell in cells)
    return (values, np.array(lines)) if len(values) > 1 or is_row else (first, None)


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict; raise a ValueError if a key is repeated."""
    content = dict(pairs)
    if len(content) < len(pairs):
        ((key, times),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(
            f"an object contains the key {key!r:.100} {times} times: keep only one of them."
        )
    return content


def _select_split(content: Mapping[str, Any], split: str | None) -> Any:
    """Return the predictions in an MTEB file's content for one subset and one split."""
    parts = {
        f"{subset}/{name}": predictions
        for subset, splits in content.items()
        if subset != META and isinstance(splits, Mapping)
        for name, predictions in splits.items()
        if isinstance(predictions, Mapping)
    }
    if split is None and len(parts) == 1:
        return next(iter(parts.values()))
    if split not in parts:
        first = next(iter(parts), "default/test")
        raise make_argument_error(
            f"the file contains {len(parts)} combinations of subset and split: "
            f"{quote_names(list(parts))}. Select one, for example with split={first!r:.60}; got "
            f"{split!r}.{suggest_name(str(split), parts)}",
            "split",
        )
    return parts[split]
