"""Names that many tools give to the columns of qrels, runs and tables of scores."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from skgraded._input.words import find_nearest, normalize_name, quote_names, suggest_name

# Accepted names, in order of priority. In PyTerrier data frames, `qid` contains query ids and
# `query` contains query texts.
NAMES: dict[str, tuple[str, ...]] = {
    "query": ("qid", "query_id", "q_id", "query-id", "query", "user_id"),
    "document": (
        *("doc_id", "docno", "docid", "doc-id", "corpus-id", "document", "document_id"),
        *("corpus_id", "item_id", "passage_id", "pid", "_id", "id"),
    ),
    "grade": ("grade", "relevance", "label", "rating", "rel"),
    "score": ("score", "_score"),
}
COLUMN_OF = {normalize_name(name): column for column, names in NAMES.items() for name in names}
COLUMNS = {"qrels": ("query", "document", "grade"), "run": ("query", "document", "score")}
GRADES = set(map(normalize_name, NAMES["grade"]))
BEIR = normalize_name("corpus-id")  # in qrels with this column, the grades may be called scores


def find_columns(names: Iterable[Any], side: str) -> dict[str, list[Any]]:
    """Return the names that may be those of each column of qrels or a run, the best one first.

    Case, "_", "-" and spaces are ignored, but an exact name replaces its other spellings.
    """
    spellings: dict[str, list[Any]] = {}
    for name in dict.fromkeys(names):
        spellings.setdefault(normalize_name(str(name)), []).append(name)
    found: dict[str, list[Any]] = {column: [] for column in COLUMNS[side]}
    if side == "qrels" and BEIR in spellings and not spellings.keys() & GRADES:
        spellings |= {"grade": spellings.get("score", [])}
    for column, matches in found.items():
        for key in dict.fromkeys(map(normalize_name, NAMES[column])):
            known = spellings.get(key, [])
            matches += [name for name in known if name in NAMES[column]] or known
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
                f"accepted names: {', '.join(NAMES[column])}, in any case."
            )
        keys = [column if column == "grade" else normalize_name(str(name)) for name in matches]
        if len(keys) > 1 and keys[0] == keys[1]:
            raise ValueError(
                f"{side} has several {column} columns, {matches[0]!r} and {matches[1]!r}: keep "
                "only one of them."
            )
    return [found[column][0] for column in columns or found]


def _show_renaming(column: str, found: Mapping[str, list[Any]], names: Iterable[Any]) -> str:
    """Return the line that renames the column that is most probably the missing one."""
    others = [name for name in names if not any(name in matches for matches in found.values())]
    nearest = (find_nearest(known, others) for known in NAMES[column])
    name = next(filter(None, nearest), others[0] if others else "…")
    return f'rename(columns={{"{name!s:.60}": "{column}"}})'


def suggest_column(name: Any, names: Collection[Any]) -> str:
    """Suggest a column that has another name for the same content, or else a similar name."""
    column = COLUMN_OF.get(normalize_name(str(name)))
    side = "run" if column == "score" else "qrels"
    matches = find_columns(names, side)[column] if column else ()
    return f" Did you mean {matches[0]!r}?" if matches else suggest_name(name, names)
