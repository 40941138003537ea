"""Reader for CSV, TSV and Parquet tables with user-defined column names."""

import csv
import io
import math
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, BinaryIO

import numpy as np

from skgraded._input.door import (
    NEGATIVE_GRADES,
    grades_as_given,
    scores_as_given,
)
from skgraded._input.needs import is_installed, needs
from skgraded._input.queries import missing_id, query_codes, refuse_inexact, refuse_missing_ids
from skgraded._input.tables import refuse_unknown
from skgraded._input.words import object_array
from skgraded.datasets.entries import Entries
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
    return _read_csv(data, path, names)


def _checked(table: Any, names: Names, path: str, lines: np.ndarray | None = None) -> Columns:
    """Check the named columns of a table; errors state the column and the row, counted from 0."""
    try:
        columns = Columns(
            query=np.asarray(table[names.query]),
            grade=grades_as_given(
                table[names.grade], f"column {names.grade!r}", names.allow_unjudged
            ),
            scores={
                name: scores_as_given(table[name], f"column {name!r}") for name in names.scores
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


def _read_csv(data: bytes, path: str, names: Names) -> Columns:
    n_blank, separator, header = read_header(io.BytesIO(data), path)
    refuse_unknown(names.all, header, f"{path}: line {n_blank + 1}: ", names.advice)
    if is_installed("pyarrow") and b"\0" not in data:
        with suppress(ValueError):  # if Arrow cannot parse the file, fall back to Python
            return _all_at_once(data, path, n_blank, separator, names)
    return _row_by_row(data, path, n_blank, separator, names)


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
    separator = "\t" if "\t" in line and "," not in line else ","
    header = next(csv.reader(chain([line], lines), delimiter=separator))
    lines.detach()  # otherwise, the file would be closed
    return len(blank), separator, header


def _lines(file: BinaryIO) -> io.TextIOWrapper:
    """Return the lines of a file as text; invalid UTF-8 is allowed in unused columns."""
    return io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")


def _all_at_once(data: bytes, path: str, n_blank: int, separator: str, names: Names) -> Columns:
    """Read the columns with Arrow; raise a ValueError if a row is invalid."""
    from skgraded.datasets.arrow_csv import INTEGERS, NUMBERS, TEXTS, read_table

    types = dict.fromkeys(names.texts, TEXTS) | dict.fromkeys(names.numbers, NUMBERS)
    table = read_table(data, n_blank, separator, types)
    cells = {name: table[name].to_numpy() for name in names.all}
    for name in names.scores:
        if may_be_rounded(cells[name]):
            with suppress(ValueError):  # raised if not all scores are integers
                integers = read_table(data, n_blank, separator, {name: INTEGERS})
                cells[name] = integers[name].to_numpy()
    if not table.num_rows or any((cells[name] == "").any() for name in names.texts):
        raise ValueError("a value is missing")
    return _checked(cells, names, path)


def _row_by_row(data: bytes, path: str, n_blank: int, separator: str, names: Names) -> Columns:
    """Read the columns with Python's csv module; errors name the first invalid line."""
    reader = csv.reader(_lines(io.BytesIO(data)), delimiter=separator)
    try:
        header = next(islice(reader, n_blank, None))
        numbered_rows = ((reader.line_num, row) for row in reader)
        rows = list(parse_rows(numbered_rows, path, partial(_cells_of, header=header, names=names)))
    except csv.Error as error:
        raise ValueError(f"{path}: line {reader.line_num}: {error}.") from None
    if not rows:
        raise ValueError(f"{path}: line 2: the table contains no rows.")
    lines, cells = zip(*rows, strict=True)
    columns: dict[str, Any] = {}
    for name, words in zip(names.all, zip(*cells, strict=True), strict=True):
        if name in names.texts:
            columns[name] = object_array(words)
            continue
        columns[name] = np.array([float(word or "nan") for word in words])
        if name in names.scores and may_be_rounded(columns[name]):
            with suppress(ValueError, OverflowError):  # raised if not all scores are integers
                columns[name] = np.array(list(map(int, words)), dtype=np.int64)
    return _checked(columns, names, path, np.array(lines))


def may_be_rounded(numbers: np.ndarray) -> bool:
    """Return whether float64 numbers from text are so large that whole numbers are rounded."""
    return bool((np.isfinite(numbers) & (np.abs(numbers) >= 2.0**53)).any())


def _cells_of(row: list[str], header: list[str], names: Names) -> list[str] | None:
    """Return the cells of the named columns, or None if the row is blank."""
    if len(row) < 2 and not "".join(row).strip():
        return None
    refuse_nul("".join(row).encode(errors="surrogateescape"), "a table")
    if len(row) != len(header):
        raise ValueError(f"the row has {len(row)} columns, but the first line has {len(header)}.")
    cells = [row[header.index(name)] for name in names.all]
    for name, cell in zip(names.all, cells, strict=True):
        if parsed(str.encode, cell) is None:
            raise ValueError(f"{name} must be UTF-8 text.")
        if name in names.texts:
            if not cell:
                kind = "query" if name == names.query else "document"
                raise ValueError(f"the {kind} ({name}) is missing.")
            continue
        is_grade, number = name == names.grade, number_in(cell.encode())
        if is_grade and names.allow_unjudged and cell.lower() in ("", "nan"):
            continue
        if number is None:
            raise ValueError(f"{name} must be a number; got {shown(cell.encode())}.")
        if is_grade and not 0 <= number < math.inf:
            raise ValueError(f"grades must be finite and ≥ 0; {name} is {cell}. {NEGATIVE_GRADES}")
    return cells
