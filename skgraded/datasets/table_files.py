"""Functions that read columns of CSV, TSV and Parquet files, and qrels or runs in CSV or TSV."""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any, BinaryIO

import numpy as np

from skgraded._input.door import (
    check_given_scores,
    make_argument_error,
    make_object_array,
    place_errors,
    read_grades,
    refuse_bad_grades,
)
from skgraded._input.libraries import is_installed, needs
from skgraded._input.queries import query_codes, refuse_missing_ids
from skgraded._input.tables import choose_columns, convert_library_errors, refuse_unknown
from skgraded.datasets.data_structures import RANK, convert_columns
from skgraded.datasets.entries import Entries, name_rows
from skgraded.datasets.text_files import (
    File,
    check_path,
    find_data,
    open_unpacked,
    parse_cell,
    parse_rows,
    read_blocks,
    try_parse,
)

PARQUET = b"PAR1"


def read_columns(
    source: File,
    query: str,
    grade: str,
    scores: Sequence[str],
    document: str | None,
    *,
    advice: str = "",
    allow_unjudged: bool = False,
) -> dict[str, np.ndarray]:
    """Read and check columns of a CSV or Parquet file; ids are returned unchanged.

    Error messages contain the line or row number; messages about missing columns end with `advice`.
    """
    path = check_path(source)
    texts, numbers = [query, *filter(None, [document])], [grade, *scores]
    cells, lines = _read_file(source, path, texts, numbers, advice)
    with place_errors(path):
        table = {name: np.asarray(cells[name]) for name in texts}
        row_name = name_rows(lines)
        name = f"column {grade!r}"
        grades, dtype = read_grades(cells[grade], name, row_name=row_name)
        refuse_bad_grades(grades, name, allow_nan=True, row_name=row_name)
        table[grade] = grades.astype(dtype, copy=False)
        lacks_grade = np.isnan(grades)
        if lacks_grade.any() and not allow_unjudged:
            raise make_argument_error(
                f"column {grade!r} must be finite; got nan for {row_name(int(lacks_grade.argmax()))}: "
                "set unjudged_documents to 'irrelevant' (grade 0) or 'drop' (exclude the rows).",
                "unjudged_documents",
            )
        for name in scores:
            table[name] = check_given_scores(cells[name], f"column {name!r}", row_name)
        codes, ids = query_codes(table[query], name=f"column {query!r}")
        if document is not None:
            refuse_missing_ids(table[document].tolist(), f"column {document!r}")
    if document is not None:
        entries = Entries(path, np.asarray(ids), codes, table[document], table[grade], lines)
        entries.refuse_repeats()
    return table


def read_delimited(
    data: bytes, path: str, side: str, n_before: int, header: tuple[str, list[str]]
) -> Entries:
    """Convert a CSV or TSV file of qrels or a run to Entries; skip the first `n_before` lines.

    In qrels, grades may be missing: Quepid exports an empty cell for an unjudged document, and a
    row with a single cell for a query without judgments.
    """
    separator, known = header
    with place_errors(path):
        names = choose_columns(known, side)
    refuse_unknown(names, known, f"{path}: line {n_before + 1}: ")  # or repeated names
    is_qrels = side == "qrels"
    cells, lines = _read_csv(data, path, n_before, separator, names[:2], names[2:], is_qrels)
    if RANK in known and not is_qrels:
        with suppress(ValueError):  # raised if two columns contain ranks or a rank is not a number
            cells |= _read_csv(data, path, n_before, separator, [], [RANK])[0]
    cells[names[2]] = cells[names[2]].astype(float)  # large integers are rounded, as in TREC files
    with place_errors(path):
        return replace(convert_columns(cells, names, side, lines, "column {!r}"), source=path)


def _read_file(
    source: File,
    path: str,
    texts: Sequence[str],
    numbers: Sequence[str],
    advice: str,
) -> tuple[dict[str, Any], np.ndarray | None]:
    """Read text columns and numeric columns; also return the line number of each row, if known."""
    names = [*texts, *numbers]
    with open_unpacked(source) as file:
        if file.peek(len(PARQUET)).startswith(PARQUET):
            # A seekable file is not read entirely.
            parquet = file if file.seekable() else io.BytesIO(file.read())
            return _read_parquet(parquet, path, names, advice), None
        data = b"".join(text for _, text in read_blocks(file, path))
    n_before, separator, known = read_header(iter([(1, data)]), path)
    refuse_unknown(names, known, f"{path}: line {n_before + 1}: ", advice)
    return _read_csv(data, path, n_before, separator, texts, numbers)


def _read_parquet(source: BinaryIO, path: str, names: Sequence[str], advice: str) -> Any:
    import pandas  # noqa: F401  # imported here, because Arrow's import of it would ignore Ctrl+C

    with needs("Reading a Parquet file", "pyarrow"):
        from pyarrow.parquet import ParquetFile

        from skgraded._input.arrow import PARQUET_OPTIONS
    with convert_library_errors(f"{path}: the Parquet file"):
        file = ParquetFile(source, **PARQUET_OPTIONS)
        refuse_unknown(names, file.schema_arrow.names, f"{path}: ", advice)
        table = file.read(names, use_threads=False)
        return table.to_pandas(use_threads=False, ignore_metadata=True)  # keep an index as column


# CSV ---------------------------------------------------------------------------------------------


def read_header(parts: Iterator[tuple[int, bytes]], path: str) -> tuple[int, str, list[str]]:
    """Count the lines before the header; return this number, the separator and the column names."""
    n_before, line, _, _ = find_data(parts)
    if not line or b"\0" in line or try_parse(bytes.decode, line) is None:
        raise ValueError(
            f"{path}: line {n_before + 1}: expected a row of column names, but the file is empty "
            "or neither UTF-8 text nor Parquet."
        )
    return n_before, *split_header(line)


def split_header(line: bytes) -> tuple[str, list[str]]:
    """Return the separator and the names in a line."""
    text = line.decode(errors="surrogateescape")
    separator = "\t" if "\t" in text and "," not in text else ","
    return separator, next(csv.reader([text], delimiter=separator), [])


def _read_csv(
    data: bytes,
    path: str,
    n_before: int,
    separator: str,
    texts: Sequence[str],
    numbers: Sequence[str],
    may_end_early: bool = False,
) -> tuple[dict[str, Any], np.ndarray | None]:
    """Skip `n_before` lines, and read text and numeric columns; empty numeric cells become NaN.

    If `may_end_early`, a row may contain only its first cell.
    """
    if is_installed("pyarrow") and b"\0" not in data:
        with suppress(ValueError):  # if Arrow cannot parse the file, fall back to Python
            return _read_with_arrow(data, n_before, separator, texts, numbers)
    # Unused columns may contain invalid UTF-8.
    text = io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", errors="surrogateescape", newline="")
    reader = csv.reader(islice(text, n_before, None), delimiter=separator)
    header = next(reader)

    def select_cells(row: list[str]) -> list[Any] | None:
        if not "".join(row).strip():
            return None
        is_short = may_end_early and len(row) == 1
        if is_short:
            row = row + [""] * (len(header) - 1)
        if len(row) != len(header):
            raise ValueError(f"the row has {len(row)} columns, but the header has {len(header)}.")
        cells: list[Any] = [row[header.index(name)] for name in texts]
        if "" in cells[: 1 if is_short else None]:
            raise ValueError(f"the cell of column {texts[cells.index('')]!r} is empty.")
        "".join(cells).encode()  # raises a ValueError if the texts are not valid UTF-8
        for name in numbers:
            word = row[header.index(name)]
            number = parse_cell(word)
            if number is None:
                raise ValueError(f"{name} must be a number; got {word!r:.100}.")
            cells.append("nan" if np.isnan(number) else word)
        return cells

    try:
        pairs = ((n_before + reader.line_num, row) for row in reader)
        rows = list(parse_rows(pairs, path, select_cells))
    except csv.Error as error:
        raise ValueError(f"{path}: line {n_before + reader.line_num}: {error}.") from None
    if not rows:
        raise ValueError(f"{path}: line {n_before + 2}: the table contains no rows.")
    lines, cells = zip(*rows, strict=True)
    columns: dict[str, Any] = dict(zip([*texts, *numbers], zip(*cells, strict=True), strict=True))
    for name in texts:
        columns[name] = make_object_array(columns[name])
    for name in numbers:
        words = columns[name]
        columns[name] = np.array(list(map(float, words)))
        if may_be_rounded(columns[name]):
            with suppress(ValueError, OverflowError):  # raised if not all numbers are integers
                columns[name] = np.array(list(map(int, words)), dtype=np.int64)
    return columns, np.array(lines)


def _read_with_arrow(
    data: bytes, n_before: int, separator: str, texts: Sequence[str], numbers: Sequence[str]
) -> tuple[dict[str, Any], np.ndarray | None]:
    """Read the columns with Arrow; raise a ValueError if Arrow cannot read the file."""
    from skgraded.datasets.arrow_csv import INTEGERS, NUMBERS, TEXTS, join_texts, read_table

    types = dict.fromkeys(texts, TEXTS) | dict.fromkeys(numbers, NUMBERS)
    table = read_table(data, n_before, separator, types)
    if not table.num_rows or any(table[name].null_count for name in texts):
        raise ValueError("a value is missing")
    cells: dict[str, Any] = {name: join_texts(table[name].chunks) for name in texts}
    for name in numbers:
        cells[name] = table[name].to_numpy()
        if may_be_rounded(cells[name]):
            with suppress(ValueError):  # raised if not all numbers are integers
                integers = read_table(data, n_before, separator, {name: INTEGERS})
                cells[name] = integers[name].to_numpy()
    lines = np.arange(n_before + 2, n_before + 2 + table.num_rows)
    has_a_line_per_row = data.count(b"\n", 0, len(data.rstrip())) == lines[-1] - 1
    return cells, lines if has_a_line_per_row else None


def may_be_rounded(numbers: np.ndarray) -> bool:
    """Return whether any float64 number is so large that it may be a rounded integer."""
    return bool((np.isfinite(numbers) & (np.abs(numbers) >= 2.0**53)).any())
