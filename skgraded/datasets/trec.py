"""Readers for relevance judgments (qrels) and runs in the formats of TREC, BEIR and MS MARCO."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from skgraded._input.needs import is_installed
from skgraded._input.words import object_array
from skgraded.datasets import text_files
from skgraded.datasets.entries import Entries, numbered
from skgraded.datasets.json_files import entries_of_json

if TYPE_CHECKING:
    from sklearn.utils import Bunch


class Form(NamedTuple):
    """Columns of a file type; columns in `few` have few distinct strings and are read as codes."""

    kind: str
    columns: tuple[str, ...]
    number: str
    few: tuple[str, ...] = ("query",)
    advice: str = ""  # end of the message about a wrong number of columns or a wrong rank
    separator: str = " "


QRELS = Form(
    "qrels", ("query", "iteration", "document", "grade"), "grade",
    advice=" Other accepted forms: three columns separated by tabs below BEIR's header (query-id "
    "corpus-id score), or JSON ({query: {document: grade}}).",
)
BEIR = Form("qrels with BEIR's header", ("query", "document", "grade"), "grade", separator="\t")
RUN = Form(
    "a run", ("query", "Q0", "document", "rank", "score", "name"), "score", ("query", "name"),
    " Other accepted forms: three columns (query document rank), or JSON ({query: {document: "
    "score}}).",
)
RANKS = Form(
    "a run with ranks", ("query", "document", "rank"), "rank",
    advice=" A run with scores must have 6 columns (query Q0 document rank score name).",
)
HEADER = [b"query-id", b"corpus-id", b"score"]  # of BEIR's qrels
HEAD = 1 << 16  # number of bytes to read from a file to find the tag of a run
# Endings that a name does not keep: compression, and one that names the format.
STEM = re.compile(r"(?i)(\.(run|res|txt|trec|json|tsv|csv|letor|scores))?(\.(gz|bz2|xz|zst))?$")
DATA = re.compile(rb"^[ \t]*([^\s#][^\r\n]*)", re.MULTILINE)  # a line that is no comment


def read_qrels(path: str | os.PathLike[str] | BinaryIO, *, progress: bool = False) -> Bunch:
    r"""Read relevance judgments (qrels) of TREC, BEIR or MS MARCO.

    The content determines the format:

    - TREC and MS MARCO: ``query iteration document grade``, separated by spaces or tabs. Blank
      lines, and lines that begin with ``#``, are skipped.
    - BEIR: the header ``query-id corpus-id score``, then three columns. The separator is a tab.
    - JSON: ``{query: {document: grade}}``, as saved by ranx.

    Parameters
    ----------
    path : str, path-like or binary file
        The file, plain or compressed with gzip, bzip2 or xz; its extension does not matter.
    progress : bool, default=False
        Whether to show a progress bar in a terminal or a notebook; requires tqdm.

    Returns
    -------
    Bunch
        ``query``, ``document`` : ndarray of shape (n,), object
            Strings as in the file: ``"007"`` is not ``"7"``.
        ``grade`` : ndarray of shape (n,), float64
            Grades as in the file. Negative grades mean "not judged", as in trec_eval; a warning
            states their number. `join_run` treats these documents as unjudged.

        Lines with the same query, document and grade as an earlier line are left out.

    Raises
    ------
    ValueError
        If a line cannot be read, a document has different grades for a query, or the file contains
        no row or is truncated. The error names the file and the line.

    Examples
    --------
    >>> import io
    >>> from skgraded.datasets import read_qrels
    >>> qrels = read_qrels(io.BytesIO(b"301 0 FT911-3 2\n301 0 FT911-4 0\n"))
    >>> qrels.query.tolist(), qrels.document.tolist(), qrels.grade.tolist()
    (['301', '301'], ['FT911-3', 'FT911-4'], [2.0, 0.0])
    """
    rows = read_qrels_table(path, progress)
    return _bunch(rows, grade=rows.numbers)


def read_run(
    path: str | os.PathLike[str] | BinaryIO, *, split: str | None = None, progress: bool = False
) -> Bunch:
    r"""Read a run of TREC, MS MARCO, BEIR or MTEB.

    The content determines the format:

    - TREC: ``query Q0 document rank score name``, separated by spaces or tabs. Documents are ranked
      by score, as in trec_eval; the rank column is ignored. The name may contain spaces. Blank
      lines, and lines that begin with ``#``, are skipped.
    - MS MARCO: ``query document rank``. The score is -rank.
    - JSON: ``{query: {document: score}}``, as saved by BEIR and ranx, or MTEB's predictions.

    Parameters
    ----------
    path, progress
        As for `read_qrels`.
    split : str, optional
        The subset and split of MTEB's predictions, such as ``"default/test"``; required if the file
        contains several.

    Returns
    -------
    Bunch
        ``query``, ``document``, ``name`` : ndarray of shape (n,), object
            Strings as in the file; ``name``, the last column of a TREC file, is the name of the
            system. It is empty for other formats.
        ``score`` : ndarray of shape (n,), float64
            Scores; higher scores rank first, and -inf means not retrieved.

    Raises
    ------
    ValueError
        As for `read_qrels`; also if a query contains a document twice, or a score is NaN.

    Examples
    --------
    >>> import io
    >>> from skgraded.datasets import read_run
    >>> run = read_run(io.BytesIO(b"301 Q0 FT911-3 1 12.5 bm25\n301 Q0 FT911-4 2 7 bm25\n"))
    >>> run.document.tolist(), run.score.tolist(), run.name.tolist()
    (['FT911-3', 'FT911-4'], [12.5, 7.0], ['bm25', 'bm25'])
    """
    rows = read_run_table(path, progress, split)
    codes = np.zeros(len(rows.numbers), int) if rows.name_codes is None else rows.name_codes
    names = np.array([""], dtype=object) if rows.names is None else rows.names
    return _bunch(rows, score=rows.numbers, name=names[codes])


def _bunch(rows: Entries, **columns: np.ndarray) -> Bunch:
    from sklearn.utils import Bunch

    query, document = rows.query_ids[rows.query_codes], np.asarray(rows.document, dtype=object)
    return Bunch(query=query, document=document, **columns)


def read_qrels_table(path: Any, progress: bool = False) -> Entries:
    """Read qrels; drop repeated judgments, and warn about negative grades."""
    rows = _read(path, QRELS, progress, None, allow_empty=False).without_repeats()
    rows.warn_of_negative()
    return rows


def read_run_table(
    path: Any, progress: bool = False, split: str | None = None, *, allow_empty: bool = False
) -> Entries:
    """Read a run; raise an error if a query contains the same document twice."""
    if not isinstance(split, str | None):
        raise TypeError(f"split must be a string such as 'default/test'; got {split!r}.")
    return _read(path, RUN, progress, split, allow_empty).refuse_repeats()


def is_qrels(head: bytes) -> bool:
    """Return whether the first bytes of a file, which may be a table, are those of qrels.

    The answer is also true for three columns that end with a number: the reader explains the error.
    """
    head = head.removeprefix(text_files.BOM)
    line = DATA.search(head)
    if line is None or text_files.JSON.match(head):
        return line is not None
    words = line[1].split()
    is_number = text_files.number_in(words[-1]) is not None
    return _is_header(line[1]) or len(words) in (3, 4) and is_number


def run_tag(path: Any) -> str | None:
    """Return the tag in the first lines of a TREC run; None without a file or a single tag."""
    if not os.path.isfile(path):
        return None
    with text_files.unpacked(path, look=HEAD) as (file, _):
        head = file.peek(HEAD).removeprefix(text_files.BOM)
    lines = [] if text_files.JSON.match(head) else DATA.findall(head)
    if len(lines) > 1 and not head.endswith(b"\n"):
        del lines[-1]  # probably incomplete
    words = [line.split(None, 5) for line in lines]
    tags = {columns[5].strip() for columns in words if len(columns) == 6}
    if len(tags) != 1 or any(len(columns) != 6 for columns in words):
        return None
    return text_files.parsed(bytes.decode, tags.pop())


def run_names(paths: Sequence[str]) -> dict[str, str]:
    """Map the path of each run to a name: its tag if no other run has it, or else its file's stem.

    If these names are not unique, the names are the file names or, if necessary, the paths.
    """
    tags = [run_tag(path) for path in paths]
    stems = [STEM.sub("", os.path.basename(path).removeprefix("input.")) for path in paths]
    names = [
        stem or path if tag is None or tags.count(tag) > 1 else tag
        for path, tag, stem in zip(paths, tags, stems, strict=True)
    ]
    for longer in ([os.path.basename(path) or path for path in paths], paths):
        if len(set(names)) == len(names):
            break
        names = list(longer)
    return dict(zip(paths, names, strict=True))


# Blocks of lines ---------------------------------------------------------------------------------

def _read(path: Any, form: Form, progress: bool, split: str | None, allow_empty: bool) -> Entries:
    if is_installed("pandas"):  # if Arrow imports pandas, Ctrl+C is ignored during the import
        import pandas  # noqa: F401
    name = text_files.check_path(path)
    with closing(text_files.blocks(path, name, progress)) as parts:
        first, text = next(parts, (1, b""))
        if text_files.JSON.match(text):
            return entries_of_json(text, name, "qrels" if form is QRELS else "run", split)
        if split is not None:
            raise ValueError(f"{name}: split={split!r} requires MTEB's predictions, a JSON file.")
        return _read_lines(chain([(first, text)], parts), name, form, allow_empty)


def _read_lines(parts: Iterator[Any], name: str, form: Form, allow_empty: bool) -> Entries:
    """Convert the lines of a file to Entries."""
    form, parts = _recognized(parts, form)
    blocks = list(filter(None, text_files.parse_each(
        parts, name, form.kind, lambda text, first: _parsed(text, first, form),
        lambda line: _check_line(line, form),
    )))
    if not blocks and allow_empty:
        no_ids, no_rows = object_array([]), np.array([], dtype=np.intp)
        return Entries(name, no_ids, no_rows, no_ids, no_rows.astype(float), no_rows)
    if not blocks:
        raise ValueError(f"{name}: the file is empty or contains no line with data.")
    columns = {column: [block[column] for block in blocks] for column in blocks[0]}
    query_ids, query_codes = _numbered(columns["query"])
    names, name_codes = _numbered(columns["name"]) if form is RUN else (None, None)
    joined_texts: Any = np.concatenate
    if is_installed("pyarrow", "pandas"):
        from skgraded.datasets.arrow_csv import joined as joined_texts
    return Entries(
        name, query_ids, query_codes, joined_texts(columns["document"]),
        np.concatenate(columns[form.number]), np.concatenate(columns["line"]), names, name_codes,
    )


def _recognized(
    blocks: Iterator[tuple[int, bytes]], form: Form
) -> tuple[Form, Iterator[tuple[int, bytes]]]:
    """Return the form that the first line with data has, and the blocks without BEIR's header."""
    parts: list[tuple[int, bytes]] = []
    for first, text in blocks:
        line = DATA.search(text)
        if line and form is QRELS and _is_header(line[1]):
            form, first = BEIR, first + text.count(b"\n", 0, line.end())
            text, parts = text[line.end() :], []
        elif line and form is RUN and len(line[1].split()) == 3:
            form = RANKS
        parts.append((first, text))
        if line:
            break
    return form, chain(parts, blocks)


def _is_header(line: bytes) -> bool:
    return line.replace(b'"', b"").rstrip().split(b"\t") == HEADER


def _numbered(blocks: Iterable[tuple[np.ndarray, Sequence[Any]]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct strings of a column, in order of appearance, and the code of each row."""
    known: dict[Any, int] = {}
    codes = []
    for rows, texts in blocks:
        numbers = [known.setdefault(text, len(known)) for text in texts]
        codes.append(np.array(numbers, np.min_scalar_type(len(known)))[rows])
    return object_array(list(known)), np.concatenate(codes)


def _parsed(text: bytes, first: int, form: Form) -> dict[str, Any] | None:
    """Parse lines into a dict of columns; return None if no line contains data."""
    text, lines = (_without_blanks if form is BEIR else _tidied)(text, first)
    if not text:
        return None
    columns = None
    # Text with a byte order mark is parsed in Python, because Arrow would drop the mark.
    if is_installed("pyarrow", "pandas") and not text.startswith(text_files.BOM):
        with suppress(ValueError):  # if Arrow cannot parse the text, fall back to Python
            columns = _by_arrow(text, form)
    columns = columns or _by_python(text, form)
    numbers = columns[form.number]
    if np.isnan(numbers).any() or form is not RUN and np.isinf(numbers).any():
        raise ValueError("a number is NaN, or a grade is infinite")
    if form is RANKS:
        if (numbers < 0).any() or (numbers % 1).any():
            raise ValueError("a rank is negative or no integer")
        columns[form.number] = -numbers
    return {**columns, "line": lines}


def _without_blanks(text: bytes, first: int) -> tuple[bytes, np.ndarray]:
    """Remove blank lines; return the text and its line numbers."""
    if not text.endswith(b"\n"):
        text += b"\n"  # after a carriage return at the end of the file
    text = text.replace(b"\r\n", b"\n")
    if b"\r" in text:
        raise ValueError("a carriage return within a line")
    return _lines_where(text, first, lambda line: line.strip(b" \t"))


def _tidied(text: bytes, first: int) -> tuple[bytes, np.ndarray]:
    """Remove blank lines, comments and repeated spaces; return the text and its line numbers."""
    if not text.endswith(b"\n"):
        text += b"\n"
    white = np.frombuffer(text, np.uint8) <= ord(" ")
    is_tidy = not (white[0] or (white[1:] & white[:-1]).any())  # true for most files
    if not is_tidy:
        text = text.replace(b"\r\n", b"\n").replace(b"\t", b" ")
        while b"  " in text:
            text = text.replace(b"  ", b" ")
        text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    if b"\r" in text:
        raise ValueError("a carriage return within a line")
    has_blanks = not is_tidy and (text.startswith(b"\n") or b"\n\n" in text)
    has_comments = b"#" in text and (text.startswith(b"#") or b"\n#" in text)
    text = text.replace(b"\t", b" ")
    if not (has_blanks or has_comments):
        return text, np.arange(first, first + text.count(b"\n"))
    return _lines_where(text, first, lambda line: line and not line.startswith(b"#"))


def _lines_where(
    text: bytes, first: int, is_kept: Callable[[bytes], Any]
) -> tuple[bytes, np.ndarray]:
    """Return the lines that are kept, and their line numbers; `first` is the first number."""
    lines = [pair for pair in enumerate(text.split(b"\n"), first) if is_kept(pair[1])]
    return b"".join([line + b"\n" for _, line in lines]), np.array([number for number, _ in lines])


def _by_arrow(text: bytes, form: Form) -> dict[str, Any]:
    from skgraded.datasets.arrow_csv import CODES, NUMBERS, TEXTS, read_lines

    types = {"document": TEXTS, form.number: NUMBERS, **dict.fromkeys(form.few, CODES)}
    if form is BEIR and (b'"' in text or b"\t\t" in text or b"\n\t" in b"\n" + text):
        raise ValueError("a quoted or empty id")
    columns = read_lines(text, form.columns, types, form.separator)
    for name in form.few:
        column = columns[name]
        columns[name] = column.indices.to_numpy(), column.dictionary.to_pylist()
    columns[form.number] = columns[form.number].to_numpy()
    return columns


def _by_python(text: bytes, form: Form) -> dict[str, Any]:
    most = len(form.columns) - 1 if form is RUN else -1
    lines = [
        _words_of(line, form) if form is BEIR else line.split(b" ", most)
        for line in text.split(b"\n")[:-1]
    ]
    if not all(_has_columns(line, form) for line in lines):
        raise ValueError("a line has more or fewer columns")
    columns: dict[str, Any] = dict(zip(form.columns, zip(*lines, strict=True), strict=True))
    for name in form.few:
        codes, few = numbered(object_array(columns[name]))
        columns[name] = codes, [word.decode() for word in few]
    columns["document"] = object_array(list(map(bytes.decode, columns["document"])))
    columns[form.number] = text_files.floats(columns[form.number])
    return {name: columns[name] for name in (*form.few, "document", form.number)}


def _words_of(line: bytes, form: Form) -> list[bytes]:
    """Split a line into the words of its columns; return an empty list if there are none."""
    if form is not BEIR or not line.strip(b" \t\r"):
        return text_files.words_of(line)
    text_files.refuse_returns(line)
    text = text_files.parsed(bytes.decode, line.removesuffix(b"\r"))
    if text is None:
        raise ValueError(f"text must be UTF-8; got {text_files.shown(line)}.")
    try:
        words = [cell.encode() for cell in next(csv.reader([text], delimiter="\t", strict=True))]
    except csv.Error as error:
        raise ValueError(
            f"quotes must enclose the entire id and be doubled within it, as in CSV ({error})."
        ) from None
    if b"" in words[:2]:
        raise ValueError(f"the query or the document is missing: {text_files.shown(line)}.")
    return words


def _has_columns(words: list[bytes], form: Form) -> bool:
    """Return whether a line has all columns; only the last one of a run may contain spaces."""
    n_columns = len(form.columns)
    if form is RUN and (len(words) > n_columns or b" " in words[-1]):
        return text_files.number_in(words[3]) is not None  # otherwise an id contains a space
    return len(words) == n_columns


def _check_line(line: bytes, form: Form) -> None:
    """Raise a ValueError that describes the first error in a line."""
    words = _words_of(line, form)
    if not words:
        return
    if not _has_columns(words, form):
        raise ValueError(
            f"a line of {form.kind} must have {len(form.columns)} columns "
            f"({' '.join(form.columns)}); got {len(words)}: {text_files.shown(line.strip())}."
            f"{form.advice}"
        )
    word = words[form.columns.index(form.number)]
    number = text_files.number_in(word)
    if form is RANKS and (number is None or number < 0 or number % 1 != 0):
        raise ValueError(
            f"the rank must be an integer ≥ 0; got {text_files.shown(word)}.{form.advice}"
        )
    if number is None:
        raise ValueError(f"the {form.number} must be a number; got {text_files.shown(word)}.")
    if form is not RUN and math.isinf(number):
        raise ValueError(f"the {form.number} must be finite; got {text_files.shown(word)}.")
