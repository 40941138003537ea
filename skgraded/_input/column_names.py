"""Names that many tools give to the columns of qrels, runs and tables of scores."""

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Any

from skgraded._input.words import find_nearest, normalize_name, quote_names, suggest_name

# Groups of accepted names. A group is used only if a table has no name from an earlier group.
# In PyTerrier data frames, `qid` contains query ids, and `query` contains texts.
NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "query": (("qid", "query_id", "q_id", "query-id", "query", "user_id"),),
    "document": (
        (
            *("doc_id", "docno", "docid", "doc-id", "corpus-id", "document", "document_id"),
            *("corpus_id", "item_id", "passage_id", "pid"),
        ),
        ("_id", "id"),
    ),
    "grade": (("grade", "relevance", "label", "rating", "rel"),),
    "score": (("score", "_score"),),
}
KEYS = {
    column: tuple(tuple(dict.fromkeys(map(normalize_name, group))) for group in groups)
    for column, groups in NAMES.items()
}
COLUMN_OF = {key: column for column, keys in KEYS.items() for group in keys for key in group}
COLUMNS = {"qrels": ("query", "document", "grade"), "run": ("query", "document", "score")}
BEIR = normalize_name("corpus-id")  # in qrels with this column, the grades may be called scores


def find_columns(names: Iterable[Any], side: str) -> dict[str, list[Any]]:
    """Return the candidate names for each column of qrels or a run, in order of priority.

    Case, "_", "-" and spaces are ignored, but exact names have priority over other spellings.
    """
    known = list(dict.fromkeys(names))
    spellings: dict[str, list[Any]] = {}
    for name in known:
        spellings.setdefault(normalize_name(str(name)), []).append(name)
    if side == "qrels" and BEIR in spellings and not spellings.keys() & set(KEYS["grade"][0]):
        spellings["grade"] = spellings.get("score", [])
    found: dict[str, list[Any]] = {column: [] for column in COLUMNS[side]}
    for column in found:
        for group, keys in zip(NAMES[column], KEYS[column], strict=True):
            exact = [name for name in group if name in known]
            spelled = [name for key in keys for name in spellings.get(key, ())]
            found[column] = found[column] or exact or spelled
    return found


def choose_columns(names: Collection[Any], side: str, columns: Iterable[str] = ()) -> list[Any]:
    """Return the names of the columns of qrels or a run, by default all three."""
    found = find_columns(names, side)
    for column in columns or found:
        matches = found[column]
        if not matches:
            raise ValueError(
                f"{side} has no column {column!r}; its columns are {quote_names(list(names))}. "
                f"Rename one, as with pandas: {_show_renaming(column, found, names)}. Other "
                f"accepted names: {', '.join(chain(*NAMES[column]))}, in any case."
            )
        keys = [column if column == "grade" else normalize_name(str(name)) for name in matches]
        if len(keys) > 1 and keys[0] == keys[1]:
            raise ValueError(
                f"{side} has several {column} columns, {matches[0]!r} and {matches[1]!r}: keep "
                "only one of them."
            )
    return [found[column][0] for column in columns or found]


def _show_renaming(column: str, found: Mapping[str, list[Any]], names: Iterable[Any]) -> str:
    """Return the code that renames the most probable candidate for the missing column."""
    others = [name for name in names if not any(name in matches for matches in found.values())]
    nearest = (find_nearest(known, others) for known in chain(*NAMES[column]))
    name = next(filter(None, nearest), others[0] if others else "…")
    return f'rename(columns={{"{name!s:.60}": "{column}"}})'


def suggest_column(name: Any, names: Collection[Any]) -> str:
    """Suggest a column with another name for the same content or, without one, a similar name."""
    column = COLUMN_OF.get(normalize_name(str(name)))
    side = "run" if column == "score" else "qrels"
    matches = find_columns(names, side)[column] if column else ()
    return f" Did you mean {matches[0]!r}?" if matches else suggest_name(name, names)
