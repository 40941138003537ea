"""Reader for CSV, TSV and Parquet tables with user-defined column names."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from skgraded._input.door import grades_as_given, scores_as_given
from skgraded._input.needs import is_installed, needs
from skgraded._input.queries import missing_id, query_codes, refuse_inexact, refuse_missing_ids
from skgraded._input.tables import refuse_unknown
from skgraded._input.words import object_array
from skgraded.datasets.data_structures import choose_columns, from_columns, named_columns
from skgraded.datasets.entries import Entries, name_rows
from skgraded.datasets.text_files import (
    blocks,
    check_path,
    number_in,
    parse_rows,
    parsed,
    refuse_nul,
    shown,
)

PARQUET = b"PAR1"
Header: TypeAlias = tuple[str, list[str]]  # the separator and the column names


@dataclass(frozen=True)
class Names:
    """The column names of a table; errors about missing columns end with `advice`."""

    query: str
    grade: str
    scores: Sequence[str]
    document: str | None = None  # column of document ids (unique within each query), if any
    advice: str = ""
    allow_unjudged: bool = False  # whether grades may be NaN or, in CSV, empty

    @property
    def numbers(self) -> list[str]:
        """Names of the numeric columns."""
        return [self.grade, *self.scores]

    @property
    def texts(self) -> list[str]:
        """Names of the id columns."""
        return [self.query, self.document] if self.document else [self.query]

    @property
    def all(self) -> list[str]:
        """All column names, id columns first."""
        return [*self.texts, *self.numbers]


@dataclass(frozen=True)
class Columns:
    """Values of the named columns."""

    query: np.ndarray
    grade: np.ndarray
    scores: dict[str, np.ndarray]  # 64-bit integers, float64, or objects if float64 is inexact
    document: np.ndarray | None


def read_columns(source: Any, names: Names, progress: bool = False) -> Columns:
    """Read the named columns of a CSV or Parquet file; errors name the line or the row."""
    path = check_path(source)
    for name in names.all:
        if names.all.count(name) > 1:
            raise ValueError(f"{path}: column {name!r} is selected twice.")
    if not hasattr(source, "read") and os.path.isfile(source):
        with open(source, "rb") as file:
            if file.peek(len(PARQUET)).startswith(PARQUET):
                return _read_parquet(file, path, names)  # does not read the entire file
    data = b"".join(text for _, text in blocks(source, path, progress))
    if data.startswith(PARQUET):
        return _read_parquet(io.BytesIO(data), path, names)
    n_before, separator, header = read_header(io.BytesIO(data), path)
    refuse_unknown(names.all, header, f"{path}: line {n_before + 1}: ", names.advice)
    may_be_empty = [names.grade] if names.allow_unjudged else []
    cells, lines = _read_cells(
        data, path, n_before, separator, names.texts, names.numbers, may_be_empty
    )
    return _checked(cells, names, path, lines)


def entries_of_table(data: bytes, path: str, side: str, n_before: int, header: Header) -> Entries:
    """Convert a table of qrels or of a run, whose header follows `n_before` lines, to Entries.

    In qrels, rows without a grade, and rows that contain only a query, are left out: Quepid exports
    such rows for documents and queries that nobody judged.
    """
    separator, names = header
    columns = choose_columns(names, side)
    refuse_unknown(columns, names, f"{path}: line {n_before + 1}: ")  # or repeated names
    number = columns[-1]
    may_be_empty = [number] if side == "qrels" else []
    cells, lines = _read_cells(data, path, n_before, separator, columns[:2], [number], may_be_empty)
    if side == "qrels":
        is_judged = ~np.isnan(cells[number])
        cells = {name: values[is_judged] for name, values in cells.items()}
        lines = None if lines is None else lines[is_judged]
    cells[number] = cells[number].astype(np.float64)  # as in files of TREC
    try:
        return replace(from_columns(cells, columns, side, lines), source=path)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _checked(table: Any, names: Names, path: str, lines: np.ndarray | None = None) -> Columns:
    """Check the named columns of a table; errors state the column and the line or the row."""
    row_name = name_rows(lines)
    try:
        columns = Columns(
            query=np.asarray(table[names.query]),
            grade=grades_as_given(
                table[names.grade], f"column {names.grade!r}", names.allow_unjudged, row_name
            ),
            scores={
                name: scores_as_given(table[name], f"column {name!r}", row_name)
                for name in names.scores
            },
            document=np.asarray(table[names.document]) if names.document else None,
        )
        codes, ids = query_codes(columns.query, name=f"column {names.query!r}")
        if columns.document is None:
            return columns
        if columns.document.dtype.kind == "f":
            refuse_inexact(columns.document, f"column {names.document!r}")
        refuse_missing_ids(columns.document.tolist(), f"column {names.document!r}")
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    Entries(path, np.asarray(ids), codes, columns.document, columns.grade, lines).refuse_repeats()
    return columns


# Parquet -----------------------------------------------------------------------------------------


def _read_parquet(source: BinaryIO, path: str, names: Names) -> Columns:
    import pandas  # noqa: F401  # if Arrow imports pandas, Ctrl+C is ignored during the import

    with needs("Reading a Parquet file", "pyarrow"):
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

    try:
        # With pre_buffer=True, Arrow's threads may abort the process at exit (apache/arrow#34314).
        file = ParquetFile(source, pre_buffer=False)
        refuse_unknown(names.all, file.schema_arrow.names, f"{path}: ", names.advice)
        table = file.read(names.all, use_threads=False)
        frame = table.to_pandas(use_threads=False, ignore_metadata=True)  # an index stays a column
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path}: the Parquet file cannot be read: {error}") from None
    if frame.empty:
        raise ValueError(f"{path}: the table contains no rows.")
    for name in names.texts:  # pandas would convert integers to floats if one is missing
        is_null = table[name].is_null(nan_is_null=True).to_numpy()
        if is_null.any():
            raise missing_id(f"{path}: column {name!r}", int(is_null.argmax()), None)
    return _checked(frame, names, path)


# CSV ---------------------------------------------------------------------------------------------


def read_header(file: BinaryIO, path: str) -> tuple[int, str, list[str]]:
    """Return the number of blank lines before the header, the separator and the column names."""
    lines = _lines(file)
    blank: list[str] = []
    line = ""
    for line in lines:
        if line.strip():
            break
        blank.append(line)
    if not line.strip() or "\0" in line or parsed(str.encode, line) is None:
        raise ValueError(
            f"{path}: line {len(blank) + 1}: expected a row with column names; the file is empty, "
            "or neither UTF-8 text nor Parquet."
        )
    separator = _separator_of(line)
    header = next(csv.reader(chain([line], lines), delimiter=separator))
    lines.detach()  # otherwise, the file would be closed
    return len(blank), separator, header


def header_in(line: bytes, side: str) -> Header | None:
    """Return the header if a line contains the column names of qrels or of a run, else None."""
    text = line.decode(errors="surrogateescape")
    separator = _separator_of(text)
    names = next(csv.reader([text], delimiter=separator), [])
    return (separator, names) if all(named_columns(names, side).values()) else None


def _separator_of(header: str) -> str:
    return "\t" if "\t" in header and "," not in header else ","


def _lines(file: BinaryIO) -> io.TextIOWrapper:
    """Return the lines of a file as text; invalid UTF-8 is allowed in unused columns."""
    return io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")


def _read_cells(
    data: bytes,
    path: str,
    n_before: int,
    separator: str,
    texts: Sequence[str],
    numbers: Sequence[str],
    may_be_empty: Sequence[str],
) -> tuple[dict[str, Any], np.ndarray | None]:
    """Read columns of text and of numbers; also return the line of each row, or None.

    Empty cells become NaN in the columns in `may_be_empty`. If there are any, rows with a single
    cell are left out.
    """
    if is_installed("pyarrow") and b"\0" not in data:
        with suppress(ValueError):  # if Arrow cannot parse the file, fall back to Python
            return _all_at_once(data, n_before, separator, texts, numbers)
    lines = islice(_lines(io.BytesIO(data)), n_before, None)
    reader = csv.reader(lines, delimiter=separator)
    try:
        header = next(reader)
        positions = {name: header.index(name) for name in (*texts, *numbers)}
        numbered_rows = ((n_before + reader.line_num, row) for row in reader)
        parse = partial(
            _cells_of,
            n_columns=len(header),
            positions=positions,
            texts=texts,
            may_be_empty=may_be_empty,
        )
        rows = list(parse_rows(numbered_rows, path, parse))
    except csv.Error as error:
        raise ValueError(f"{path}: line {n_before + reader.line_num}: {error}.") from None
    if not rows:
        raise ValueError(f"{path}: line {n_before + 2}: the table contains no rows.")
    numbers_of_lines, cells = zip(*rows, strict=True)
    columns: dict[str, Any] = {}
    for name, words in zip(positions, zip(*cells, strict=True), strict=True):
        if name in texts:
            columns[name] = object_array(words)
            continue
        columns[name] = np.array([float(word or "nan") for word in words])
        if may_be_rounded(columns[name]):
            with suppress(ValueError, OverflowError):  # raised if not all numbers are integers
                columns[name] = np.array(list(map(int, words)), dtype=np.int64)
    return columns, np.array(numbers_of_lines)


def _all_at_once(
    data: bytes, n_before: int, separator: str, texts: Sequence[str], numbers: Sequence[str]
) -> tuple[dict[str, Any], np.ndarray | None]:
    """Read the columns with Arrow; raise a ValueError if Python must read or refuse the file."""
    from skgraded.datasets.arrow_csv import INTEGERS, NUMBERS, TEXTS, read_table

    types = dict.fromkeys(texts, TEXTS) | dict.fromkeys(numbers, NUMBERS)
    table = read_table(data, n_before, separator, types)
    cells = {name: table[name].to_numpy() for name in types}
    for name in numbers:
        if may_be_rounded(cells[name]):
            with suppress(ValueError):  # raised if not all numbers are integers
                integers = read_table(data, n_before, separator, {name: INTEGERS})
                cells[name] = integers[name].to_numpy()
    is_missing = [cells[name] == "" for name in texts] + [np.isnan(cells[name]) for name in numbers]
    if not table.num_rows or np.any(is_missing):
        raise ValueError("a value is missing")
    lines = np.arange(n_before + 2, n_before + 2 + table.num_rows)
    has_a_line_per_row = data.count(b"\n", 0, len(data.rstrip())) == lines[-1] - 1
    return cells, lines if has_a_line_per_row else None


def may_be_rounded(numbers: np.ndarray) -> bool:
    """Return whether float64 numbers from text are so large that whole numbers are rounded."""
    return bool((np.isfinite(numbers) & (np.abs(numbers) >= 2.0**53)).any())


def _cells_of(
    row: list[str],
    n_columns: int,
    positions: Mapping[str, int],
    texts: Sequence[str],
    may_be_empty: Sequence[str],
) -> list[str] | None:
    """Return the cells of the named columns, or None if the row is left out."""
    if len(row) < 2 and (may_be_empty or not "".join(row).strip()):
        return None
    refuse_nul("".join(row).encode(errors="surrogateescape"), "a table")
    if len(row) != n_columns:
        raise ValueError(f"the row has {len(row)} columns, but the first line has {n_columns}.")
    cells = [row[position] for position in positions.values()]
    for name, cell in zip(positions, cells, strict=True):
        if parsed(str.encode, cell) is None:
            raise ValueError(f"{name} must be UTF-8 text.")
        if name in texts and not cell:
            raise ValueError(f"the cell of column {name!r} is empty.")
        is_number = name in texts or number_in(cell.encode()) is not None
        if not is_number and (name not in may_be_empty or cell.lower() not in ("", "nan")):
            raise ValueError(f"{name} must be a number; got {shown(cell.encode())}.")
    return cells
