"""Readers for files of relevance judgments (qrels) and runs, such as those of TREC and MS MARCO."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from skgraded._input.door import choice_validator, make_object_array
from skgraded._input.libraries import is_installed
from skgraded._input.tables import find_columns
from skgraded.datasets import text_files
from skgraded.datasets.data_structures import read_json
from skgraded.datasets.entries import Entries, make_empty_run, number_values
from skgraded.datasets.table_files import read_delimited, split_header
from skgraded.datasets.text_files import File

if TYPE_CHECKING:
    from sklearn.utils import Bunch


class Form(NamedTuple):
    """Columns of a file format; those in `few` have few distinct values and are stored as codes."""

    kind: str
    columns: tuple[str, ...]
    numbers: tuple[str, ...]  # columns with numbers; the last one contains grades or scores
    few: tuple[str, ...] = ("query",)
    advice: str = ""  # end of the messages about wrong lines


QRELS = Form(
    "qrels",
    ("query", "iteration", "document", "grade"),
    ("grade",),
    advice=" Other accepted forms: a table with tabs or commas below a header such as query-id "
    "corpus-id score or query,docid,rating, JSON ({query: {document: grade}}), or JSON Lines.",
)
RUN = Form(
    "a run",
    ("query", "Q0", "document", "rank", "score", "name"),
    ("score",),
    ("query", "name"),
    " Other accepted forms: three columns (query document rank or score), four columns (query "
    "document rank score), a table with tabs or commas below a header such as query,docid,score, "
    "JSON ({query: {document: score}}), or JSON Lines.",
)
# The rank column is not read if the first lines show that it agrees with the scores.
RANKED = RUN._replace(few=(*RUN.few, "rank"))  # a rank that is not a number is ignored
FOUR = Form(
    "a run with four columns",
    ("query", "document", "rank", "score"),
    ("rank", "score"),
    advice=" The columns must be query document rank score; qrels (query iteration document grade) "
    "are not a run.",
)
THREE = {  # keyed by the content of the third column, or by None if the content is unknown
    "rank": Form(
        "a run with three columns",
        ("query", "document", "rank"),
        ("rank",),
        advice=" If the column contains scores, pass third='score'.",
    ),
    "score": Form("a run with three columns", ("query", "document", "score"), ("score",)),
    None: Form(
        "a run with three columns",
        ("query", "document", "rank or score"),
        ("rank or score",),
        ("query", "rank or score"),
    ),
}
# Rules for the numbers in a column; in columns without a rule, numbers must not be NaN.
RULES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "grade": ("a finite number", np.isfinite),
    "rank": (
        "an integer ≥ 0",
        lambda ranks: (ranks >= 0) & (ranks < np.inf) & (np.floor(ranks) == ranks),
    ),
}
HEAD = 1 << 16  # number of bytes to read from a file to find the tag of a run
# File extensions that are removed when a run is named after its file
STEM = re.compile(r"(?i)(\.(run|res|txt|trec|jsonl?|tsv|csv|letor|scores))?(\.(gz|bz2|xz|zst))?$")
WHOLE = re.compile(rb"[+-]?\d+")


def read_qrels(path: str | os.PathLike[str] | BinaryIO) -> Bunch:
    r"""Read relevance judgments (qrels) in the formats of TREC, BEIR, MS MARCO or Quepid.

    The content determines the format:

    - TREC and MS MARCO: ``query iteration document grade``, separated by spaces or tabs. If
      a line contains exactly three tabs, its ids may contain spaces. Blank lines, and lines that
      begin with ``#``, are skipped.
    - Tab- or comma-separated tables with a header, such as ``query-id corpus-id score`` (BEIR) or
      ``query,docid,rating`` (Quepid). Column names are as in `join_run`. Rows without a grade
      are skipped.
    - JSON: ``{query: {document: grade}}``, as saved by ranx, or another container that `join_run`
      accepts; or JSON Lines with such names.

    Parameters
    ----------
    path : str, path-like or binary file
        The file, plain or compressed with gzip, bzip2 or xz; its extension does not matter.

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
        If the file is invalid or a document has different grades for a query. The error names the
        file and the line.

    Examples
    --------
    >>> import io
    >>> from skgraded.datasets import read_qrels
    >>> qrels = read_qrels(io.BytesIO(b"301 0 FT911-3 2\n301 0 FT911-4 0\n"))
    >>> qrels.query.tolist(), qrels.document.tolist(), qrels.grade.tolist()
    (['301', '301'], ['FT911-3', 'FT911-4'], [2.0, 0.0])
    """
    rows = read_qrels_table(path)
    return _make_bunch(rows, grade=rows.numbers)


def read_run(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    split: str | None = None,
    third: str | None = None,
) -> Bunch:
    r"""Read a run of TREC, MS MARCO, BEIR or MTEB.

    The content determines the format:

    - TREC: ``query Q0 document rank score name``, separated by spaces or tabs. Documents are ranked
      by score, as in trec_eval; the rank column is ignored. The name may contain spaces. Blank
      lines, and lines that begin with ``#``, are skipped.
    - Four columns: ``query document rank score``. The ranks, integers ≥ 0, are ignored.
    - Three columns: ``query document rank``, as in MS MARCO, or ``query document score``; see
      `third`. If the column contains ranks, the score is -rank.
    - Tables with a header such as ``query,docid,score``, as for `read_qrels`.
    - JSON: ``{query: {document: score}}``, as saved by BEIR and ranx, or another container that
      `join_run` accepts; MTEB's predictions; or JSON Lines.

    If single tabs separate the columns of a line (five tabs for TREC), ids may contain spaces.

    Parameters
    ----------
    path
        As for `read_qrels`.
    split : str, optional
        The subset and split of MTEB's predictions, such as ``"default/test"``; required if the file
        contains several splits.
    third : {"rank", "score"}, optional
        The content of the third of three columns. By default, the column contains scores if some
        number has a decimal point or an exponent, or is infinite. It contains ranks if the numbers
        of each query are the integers 1 to n, or 0 to n - 1. Other integers are an error. With
        ``"rank"``, ranks may have gaps, and documents with equal ranks are tied.

    Returns
    -------
    Bunch
        ``query``, ``document``, ``name`` : ndarray of shape (n,), object
            Strings as in the file; ``name``, the last column of a TREC file, is the name of the
            system. It is empty for other formats.
        ``score`` : ndarray of shape (n,), float64
            Scores as in the file; higher scores rank first.

    Raises
    ------
    ValueError
        As for `read_qrels`; also if a query contains a document twice.

    Warns
    -----
    UserWarning
        If ranks increase from line to line in every query, but no score is below the previous score
        of its query.

    Examples
    --------
    >>> import io
    >>> from skgraded.datasets import read_run
    >>> run = read_run(io.BytesIO(b"301 Q0 FT911-3 1 12.5 bm25\n301 Q0 FT911-4 2 7 bm25\n"))
    >>> run.document.tolist(), run.score.tolist(), run.name.tolist()
    (['FT911-3', 'FT911-4'], [12.5, 7.0], ['bm25', 'bm25'])
    """
    rows = read_run_table(path, split, third)
    codes = np.zeros(len(rows.numbers), int) if rows.name_codes is None else rows.name_codes
    names = np.array([""], dtype=object) if rows.names is None else rows.names
    return _make_bunch(rows, score=rows.numbers, name=names[codes])


def _make_bunch(rows: Entries, **columns: np.ndarray) -> Bunch:
    from sklearn.utils import Bunch

    return Bunch(
        query=rows.query_ids[rows.query_codes],
        document=np.asarray(rows.document, dtype=object),
        **columns,
    )


def read_qrels_table(path: File) -> Entries:
    """Read qrels; drop repeated judgments, and warn about negative grades."""
    return _read_form(path, QRELS).check("qrels")


def read_run_table(
    path: File,
    split: str | None = None,
    third: str | None = None,
    *,
    allow_empty: bool = False,
) -> Entries:
    """Read a run; raise an error if a query contains the same document twice."""
    choice_validator("third", ["rank", "score"], optional=True)(third)
    return _read_form(path, RUN, split, third, allow_empty).check("run", allow_empty)


def find_tag(source: Any) -> str | None:
    """Return the tag in the first lines of a TREC run, or None if there is no single tag.

    If `source` is an open file, such as standard input, its position is left unchanged.
    """
    if hasattr(source, "peek"):
        source = io.BytesIO(source.peek())
    elif not os.path.isfile(source):
        return None
    with text_files.open_unpacked(source, look=HEAD) as file:
        head = (
            text_files.try_parse(file.peek, HEAD) or b""
        )  # if damaged, the reader raises an error
        head = head.removeprefix(text_files.BOM)
    lines = [] if text_files.JSON.match(head) else text_files.DATA.findall(head)
    if len(lines) > 1 and not head.endswith(b"\n"):
        del lines[-1]  # probably incomplete
    words = [text_files.split_line(line, 5) for line in lines]
    tags = {b" ".join(columns[5:]) for columns in words}
    if len(tags) != 1 or b"" in tags:
        return None
    return text_files.try_parse(bytes.decode, tags.pop())


def choose_run_names(
    paths: Sequence[str], open_source: Callable[[str], Any] = str
) -> dict[str, str]:
    """Map each path to its run's tag or, if there is no unique tag, to the stem of the file name.

    If the resulting names are not unique, file names or, if necessary, paths are used instead.
    `open_source` returns a path or an open file.
    """
    tags = [find_tag(open_source(path)) for path in paths]
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


def _read_form(
    path: File,
    form: Form,
    split: str | None = None,
    third: str | None = None,
    allow_empty: bool = False,
) -> Entries:
    import pandas  # noqa: F401  # imported here, because Arrow's import of it would ignore Ctrl+C

    name, side = text_files.check_path(path), "qrels" if form is QRELS else "run"
    with closing(text_files.read_blocks(path, name)) as parts:
        n_before, line, is_json, blocks = text_files.find_data(parts)
        header = split_header(line) if not is_json else ("", [])
        is_table = sum(map(bool, find_columns(header[1], side).values())) > 1
        if form is RUN and not is_json and not is_table:
            form = _choose_form(line, third)
        if third is not None and form is not THREE[third]:
            raise ValueError(
                f"{name}: third={third!r} requires a run with three columns and no header."
            )
        if is_json or is_table:
            data = b"".join(text for _, text in blocks)
            if is_json:
                return read_json(data, name, side, split)
            return read_delimited(data, name, side, n_before, header)
        return _convert_lines(blocks, name, form, allow_empty)


def _convert_lines(parts: Iterator[Any], name: str, form: Form, allow_empty: bool) -> Entries:
    """Convert the lines of a file to Entries."""
    if form is RUN:
        start = next(parts, (1, b""))
        form, parts = (RUN if _has_falling_scores(start[1]) else RANKED), chain([start], parts)
    parsed_blocks = text_files.parse_blocks(parts, name, partial(_parse_block, form=form))
    blocks = list(filter(None, parsed_blocks))
    if not blocks and allow_empty:
        return make_empty_run(name)
    if not blocks:
        raise ValueError(f"{name}: the file is empty or contains only comments and blank lines.")
    columns = {column: [block[column] for block in blocks] for column in blocks[0]}
    del blocks  # so that each column can be freed as soon as it is concatenated
    query_ids, query_codes = _join_codes(columns.pop("query"))
    names, name_codes = _join_codes(columns.pop("name")) if "name" in columns else (None, None)
    join_texts: Any = np.concatenate
    if is_installed("pyarrow"):
        from skgraded.datasets.arrow_csv import join_texts
    entries = Entries(
        name,
        query_ids,
        query_codes,
        join_texts(columns.pop("document")),
        np.concatenate(columns.pop("number")),
        np.concatenate(columns.pop("line")),
        names,
        name_codes,
        np.concatenate(columns["rank"]) if "rank" in columns else None,
    )
    is_undecided = form is THREE[None] and not any(columns["is_score"])
    return _convert_ranks(entries) if is_undecided else entries


def _has_falling_scores(text: bytes) -> bool:
    """Return whether, anywhere in the first 100 lines, the score falls as the rank number grows."""
    rows = [text_files.split_line(line, 5) for line in text.split(b"\n", 100)[:100]]
    for row, following in pairwise(row for row in rows if len(row) == 6):
        numbers = text_files.try_parse(text_files.parse_floats, [*row[3:5], *following[3:5]])
        if row[0] == following[0] and numbers is not None:
            rank, score, next_rank, next_score = numbers
            if rank < next_rank and score > next_score:
                return True
    return False


def _choose_form(line: bytes, third: str | None) -> Form:
    """Return the form of a run that begins with a line."""
    words, cells = line.split(), [cell.strip() for cell in line.split(b"\t")]
    has_tabs = len(cells) == 6
    if len(cells) in (3, 4) and all(cells):
        # TREC lines may contain a few tabs. If tabs separate all columns, ids may contain spaces.
        is_trec = len(words) > 5 and text_files.parse_number(words[4]) is not None
        has_score = text_files.parse_number(cells[-1]) is not None
        has_tabs = not is_trec or has_score and (len(cells) == 3 or bool(WHOLE.fullmatch(cells[2])))
    n_columns = len(cells if has_tabs else words)
    if n_columns != 3:
        return FOUR if n_columns == 4 else RUN
    is_whole = WHOLE.fullmatch(words[-1]) or text_files.parse_number(words[-1]) is None
    return THREE[third if third or is_whole else "score"]


def _convert_ranks(entries: Entries) -> Entries:
    """Convert each query's ranks to scores; raise a ValueError if the numbers are not ranks."""
    ranks, codes = entries.numbers, entries.query_codes
    sizes = np.bincount(codes)
    places = ranks - (np.bincount(codes, ranks == 0) == 0)[codes]  # from 0
    is_wrong = (places < 0) | (places >= sizes[codes])
    if not is_wrong.any():
        places += (np.cumsum(sizes) - sizes)[codes]
        places = places.astype(np.intp)
        is_wrong = (np.bincount(places) > 1)[places]
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        # If the cause is a repeated document, raise the error about that document.
        entries.refuse_repeats()
        raise ValueError(
            f"{entries.source}: {entries.place(row)}: the third column contains integers that are "
            f"not the ranks 1 to {sizes[codes[row]]} of query {entries.query(row)!r:.100}, such as "
            f"{ranks[row]:.0f}. If they are ranks with gaps or ties, use read_run(path, "
            'third="rank"). If they are scores, use read_run(path, third="score"), or write four '
            "columns (query document rank score)."
        )
    return replace(entries, numbers=-ranks)


def _join_codes(
    blocks: Iterable[tuple[np.ndarray, Sequence[Any]]],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct strings of a column in order of appearance, and the code of each row."""
    known: dict[Any, int] = {}
    codes = []
    for rows, texts in blocks:
        numbers = [known.setdefault(text, len(known)) for text in texts]
        codes.append(np.array(numbers, np.min_scalar_type(len(known)))[rows])
    return make_object_array(list(known)), np.concatenate(codes)


def _parse_block(text: bytes, first: int, form: Form) -> dict[str, Any] | None:
    """Convert lines to columns, or to None if they contain no data; reject invalid data."""
    text = text.replace(b"\r\n", b"\n") if b"\r" in text else text
    text += b"" if text.endswith(b"\n") else b"\n"
    is_tidy = _is_tidy(text)
    if not is_tidy and b"\t" not in text:
        while b"  " in text:
            text = text.replace(b"  ", b" ")
        text = text.replace(b"\n ", b"\n").replace(b" \n", b"\n").lstrip(b" ")
        is_tidy = _is_tidy(text)
    lines = np.arange(first, first + text.count(b"\n"))
    has_comment = b"#" in text and b"\n#" in b"\n" + text
    if (has_comment or not is_tidy) and b"\r" not in text:  # remove comments and blank lines
        pairs = enumerate(text.split(b"\n"), first)
        kept = {number: line for number, line in pairs if line[:1] not in (b"", b"#")}
        lines, text = np.array(list(kept)), b"".join([line + b"\n" for line in kept.values()])
        is_tidy = _is_tidy(text)
    n, separator = len(form.columns), b"\t" if b"\t" in text else b" "
    if is_tidy and is_installed("pyarrow"):
        with suppress(ValueError):  # Arrow rejects some numbers that Python accepts
            return _add_line_numbers(_parse_with_arrow(text, form, separator), lines, form)
    ends = separator * (n - 1) + b"\n"
    if is_tidy and text.translate(None, bytes(set(range(256)) - set(ends))) == ends * len(lines):
        words = text.replace(b"\n", separator).split(separator)[:-1]
        cells = [words[i::n] for i in range(n)]
    else:
        split = enumerate((_split_words(line, form) for line in text.split(b"\n")), first)
        rows = {number: words for number, words in split if words}
        if not rows:
            return None
        lines = np.array(list(rows))
        cells = [list(words) for words in zip(*rows.values(), strict=True)]
    columns: dict[str, Any] = {}
    for name, words in zip(form.columns, cells, strict=True):
        if name in form.few:
            columns[name] = number_values(_decode_words(words, name))
        elif name in form.numbers:
            columns[name] = _parse_numbers(words, name, form)
        elif name == "document":
            columns[name] = _decode_words(words, name)
    return _add_line_numbers(columns, lines, form)


def _is_tidy(text: bytes) -> bool:
    """Return whether every line contains data, with single spaces or tabs between its words."""
    white = np.frombuffer(b"\n" + text, np.uint8) <= ord(" ")
    has_mark = text.startswith(text_files.BOM)  # Arrow would drop the mark
    return not (has_mark or b"\r" in text or not text or (white[1:] & white[:-1]).any())


def _parse_with_arrow(text: bytes, form: Form, separator: bytes) -> dict[str, Any]:
    from skgraded.datasets.arrow_csv import CODES, NUMBERS, TEXTS, read_uniform_lines

    types = {
        "document": TEXTS,
        **dict.fromkeys(form.numbers, NUMBERS),
        **dict.fromkeys(form.few, CODES),
    }
    columns = read_uniform_lines(text, form.columns, types, separator.decode())
    for name, column in columns.items():
        if name in form.few:
            columns[name] = column.indices.to_numpy(), column.dictionary.to_pylist()
        elif name in form.numbers:
            columns[name] = _check_numbers(column.to_numpy(), name, form)
    return columns


def _add_line_numbers(columns: dict[str, Any], lines: np.ndarray, form: Form) -> dict[str, Any]:
    """Add line numbers to a block; store its grades, scores or negated ranks as `number`."""
    if form is THREE[None]:
        codes, texts = columns["rank or score"]
        words = list(map(str.encode, texts))
        columns["is_score"] = not all(map(WHOLE.fullmatch, words))
        columns["rank or score"] = _parse_numbers(words, "rank or score", form)[codes]
    if "rank" in form.few:
        codes, texts = columns["rank"]
        ranks = [text_files.parse_number(text.encode()) for text in texts]
        columns["rank"] = np.array(ranks, dtype=float)[codes]  # None becomes NaN
    numbers = columns.pop(form.numbers[-1])
    return {**columns, "number": -numbers if form is THREE["rank"] else numbers, "line": lines}


def _parse_numbers(words: Sequence[bytes], name: str, form: Form) -> np.ndarray:
    return _check_numbers(text_files.try_parse(text_files.parse_floats, words), name, form)


def _check_numbers(numbers: np.ndarray | None, name: str, form: Form) -> np.ndarray:
    """Raise a ValueError unless all numbers of a column are valid."""
    rule, is_valid = RULES.get(name, ("a number", lambda numbers: ~np.isnan(numbers)))
    if numbers is None or not is_valid(numbers).all():
        raise ValueError(f"the {name} must be {rule}.{form.advice if name == 'rank' else ''}")
    return numbers


def _split_words(line: bytes, form: Form) -> list[bytes]:
    """Return the words of a line, or no words if it contains no data; check the number of words."""
    words = text_files.split_line(line, len(form.columns) - 1)
    if len(words) > 6 and "name" in form.columns and text_files.parse_number(words[3]) is not None:
        # If the fourth word is a rank, the extra spaces are in the run's name, not in an id.
        words[5:] = [b" ".join(words[5:])]
    if b"\r" in line[:-1]:
        raise ValueError("lines must end with a line feed.")
    if words and (len(words) != len(form.columns) or b"" in words):
        raise ValueError(
            f"a line of {form.kind} must have {len(form.columns)} columns "
            f"({' '.join(form.columns)}); got {len(list(filter(None, words)))}.{form.advice}"
        )
    return words


def _decode_words(words: Iterable[bytes], name: str) -> np.ndarray:
    """Decode the words of a column; raise a ValueError unless they are UTF-8."""
    errors = "replace" if name == "rank" else "strict"  # ranks that are not numbers are ignored
    return make_object_array([word.decode(errors=errors) for word in words])
