"""Readers for TREC files: relevance judgments (qrels) and runs."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from skgraded._input.needs import is_installed
from skgraded._input.words import object_array
from skgraded.datasets import text_files
from skgraded.datasets.entries import Entries, numbered

if TYPE_CHECKING:
    from sklearn.utils import Bunch


class Form(NamedTuple):
    """Columns of a file type; columns in `few` have few distinct strings and are read as codes."""

    kind: str
    columns: tuple[str, ...]
    number: str
    few: tuple[str, ...]


QRELS = Form("qrels", ("query", "iteration", "document", "grade"), "grade", ("query",))
RUN = Form(
    "a run", ("query", "Q0", "document", "rank", "score", "name"), "score", ("query", "name")
)


def read_qrels(path: str | os.PathLike[str] | BinaryIO, *, progress: bool = False) -> Bunch:
    r"""Read relevance judgments in TREC's qrels format, ``query iteration document grade``.

    Columns are separated by spaces or tabs. Blank lines, and lines that begin with ``#``, are
    skipped.

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
            Grades ≥ 0. Negative grades, which mark spam or documents that were pooled but not
            judged, are replaced by 0, with a warning that states their number.

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


def read_run(path: str | os.PathLike[str] | BinaryIO, *, progress: bool = False) -> Bunch:
    r"""Read a run in TREC's format, ``query Q0 document rank score name``.

    Documents are ranked by score, as in trec_eval; the rank column is ignored.

    Parameters
    ----------
    path, progress
        As for `read_qrels`.

    Returns
    -------
    Bunch
        ``query``, ``document``, ``name`` : ndarray of shape (n,), object
            Strings as in the file; ``name``, the last column, is the name of the system.
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
    rows = read_run_table(path, progress)
    return _bunch(rows, score=rows.numbers, name=np.asarray(rows.names)[rows.name_codes])


def _bunch(rows: Entries, **columns: np.ndarray) -> Bunch:
    from sklearn.utils import Bunch

    query, document = rows.query_ids[rows.query_codes], np.asarray(rows.document, dtype=object)
    return Bunch(query=query, document=document, **columns)


def read_qrels_table(path: Any, progress: bool = False) -> Entries:
    """Read qrels; negative grades become 0, and repeated judgments are dropped."""
    rows = _read(path, QRELS, progress).without_repeats()
    negative = rows.numbers < 0
    if negative.any():
        warnings.warn(
            f"{rows.source}: {negative.sum()} of {len(negative)} grades are negative and "
            "were replaced by 0.",
            stacklevel=3,
        )
        rows.numbers[negative] = 0
    return rows


def read_run_table(path: Any, progress: bool = False) -> Entries:
    """Read a run; raise an error if a query contains the same document twice."""
    return _read(path, RUN, progress).refuse_repeats()


# Blocks of lines ---------------------------------------------------------------------------------

def _read(path: Any, form: Form, progress: bool) -> Entries:
    if is_installed("pandas"):  # if Arrow imports pandas, Ctrl+C is ignored during the import
        import pandas  # noqa: F401
    name = text_files.check_path(path)
    blocks = list(filter(None, text_files.parsed_blocks(
        path, name, form.kind, lambda text, first: _parsed(text, first, form),
        lambda line: _check_line(line, form), progress,
    )))
    if not blocks:
        raise ValueError(f"{name}: the file is empty or contains only blank lines and comments.")
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
    text, lines = _tidied(text, first)
    if not text:
        return None
    columns = None
    # Text with a byte order mark is parsed in Python, because Arrow would drop the mark.
    if is_installed("pyarrow", "pandas") and not text.startswith(text_files.BOM):
        with suppress(ValueError):  # if Arrow cannot parse the text, fall back to Python
            columns = _by_arrow(text, form)
    columns = columns or _by_python(text, form)
    numbers = columns[form.number]
    if np.isnan(numbers).any() or form is QRELS and np.isinf(numbers).any():
        raise ValueError("a number is NaN, or a grade is infinite")
    return {**columns, "line": lines}


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
    lines = [
        (number, line) for number, line in enumerate(text.split(b"\n"), first)
        if line and not line.startswith(b"#")
    ]
    return b"".join([line + b"\n" for _, line in lines]), np.array([number for number, _ in lines])


def _by_arrow(text: bytes, form: Form) -> dict[str, Any]:
    from skgraded.datasets.arrow_csv import CODES, NUMBERS, TEXTS, read_lines

    types = {"document": TEXTS, form.number: NUMBERS, **dict.fromkeys(form.few, CODES)}
    columns = read_lines(text, form.columns, types)
    for name in form.few:
        column = columns[name]
        columns[name] = column.indices.to_numpy(), column.dictionary.to_pylist()
    columns[form.number] = columns[form.number].to_numpy()
    return columns


def _by_python(text: bytes, form: Form) -> dict[str, Any]:
    words = text.replace(b"\n", b" \n ").split(b" ")[:-1]
    step = len(form.columns) + 1  # including the line end
    if words[step - 1 :: step] != [b"\n"] * text.count(b"\n"):
        raise ValueError("a line has more or fewer columns")
    columns: dict[str, Any] = {name: words[i::step] for i, name in enumerate(form.columns)}
    for name in form.few:
        codes, few = numbered(object_array(columns[name]))
        columns[name] = codes, [word.decode() for word in few]
    columns["document"] = object_array(b" ".join(columns["document"]).decode().split(" "))
    columns[form.number] = text_files.floats(columns[form.number])
    return {name: columns[name] for name in (*form.few, "document", form.number)}


def _check_line(line: bytes, form: Form) -> None:
    """Raise a ValueError that describes the first error in a line."""
    words = text_files.words_of(line)
    if not words:
        return
    if len(words) != len(form.columns):
        raise ValueError(
            f"a line of {form.kind} must have {len(form.columns)} columns "
            f"({' '.join(form.columns)}); got {len(words)}: {text_files.shown(line.strip())}."
        )
    word = words[form.columns.index(form.number)]
    number = text_files.number_in(word)
    if number is None:
        raise ValueError(f"the {form.number} must be a number; got {text_files.shown(word)}.")
    if form is QRELS and math.isinf(number):
        raise ValueError(f"the grade must be finite; got {text_files.shown(word)}.")
