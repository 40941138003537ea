"""Reader for CSV, TSV and Parquet tables with user-defined column names."""

import csv
import io
import math
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, BinaryIO

import numpy as np

from skgraded._input.columns import (
    NEGATIVE_GRADES,
    grades_as_given,
    refuse_inexact,
    scores_as_given,
)
from skgraded._input.needs import is_installed, needs
from skgraded._input.queries import query_codes, refuse_missing, refuse_missing_ids
from skgraded._input.table_kinds import refuse_unknown
from skgraded._input.words import object_array
from skgraded.datasets.entries import repeats
from skgraded.datasets.text_files import PARQUET, blocks, check_path, number_in, parsed, shown


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


def _checked(table: Any, names: Names) -> Columns:
    """Check the named columns of a table; errors state the column and the row, counted from 0."""
    columns = Columns(
        query=np.asarray(table[names.query]),
        grade=grades_as_given(table[names.grade], f"column {names.grade!r}", names.allow_unjudged),
        scores={name: scores_as_given(table[name], f"column {name!r}") for name in names.scores},
        document=np.asarray(table[names.document]) if names.document else None,
    )
    codes, _ = query_codes(columns.query, name=f"column {names.query!r}")
    if columns.document is not None:
        if columns.document.dtype.kind == "f":
            refuse_inexact(columns.document, f"column {names.document!r}")
        refuse_missing_ids(columns.document.tolist(), f"column {names.document!r}")
        for row in repeats(codes, columns.document)[0]:
            raise ValueError(f"row {row}: the query contains this document twice.")
    return columns


# Parquet -----------------------------------------------------------------------------------------


def _read_parquet(source: BinaryIO, path: str, names: Names) -> Columns:
    with needs("Reading a Parquet file", "pyarrow", "pandas"):
        import pandas  # noqa: F401
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
    try:
        for name in names.texts:  # pandas would convert integers to floats if one is missing
            is_null = table[name].is_null(nan_is_null=True).to_numpy()
            refuse_missing(is_null, table[name].__getitem__, f"column {name!r}")
        return _checked(frame, names)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None


# CSV ---------------------------------------------------------------------------------------------


def _read_csv(data: bytes, path: str, names: Names) -> Columns:
    if (position := data.find(b"\0")) >= 0:
        raise _not_text(path, data.count(b"\n", 0, position) + 1)
    n_blank, separator, header = read_header(io.BytesIO(data), path)
    refuse_unknown(names.all, header, f"{path}: line {n_blank + 1}: ", names.advice)
    if is_installed("pyarrow"):
        with suppress(ValueError):  # if Arrow cannot parse the file, fall back to Python
            return _all_at_once(data, n_blank, separator, names)
    return _row_by_row(data, path, n_blank, separator, names)


def read_header(file: BinaryIO, path: str) -> tuple[int, str, list[str]]:
    """Return the number of blank lines before the header, the separator and the column names."""
    lines = _lines(file)
    n_blank = 0
    try:
        n_blank, line = next(((i, line) for i, line in enumerate(lines) if line.strip()), (0, ""))
        if not line:
            raise ValueError(
                f"{path}: line 1: the file is empty; expected a row with column names."
            )
        if "\0" in line or parsed(str.encode, line) is None:
            raise _not_text(path, n_blank + 1)
        separator = "\t" if "\t" in line and "," not in line else ","
        return n_blank, separator, next(csv.reader(chain([line], lines), delimiter=separator))
    except csv.Error as problem:
        raise ValueError(f"{path}: line {n_blank + 1}: {problem}.") from None
    finally:
        lines.detach()  # otherwise, the file would be closed


def _lines(file: BinaryIO) -> io.TextIOWrapper:
    """Return the lines of a file as text; invalid UTF-8 is allowed in unused columns."""
    return io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")


def _not_text(path: str, number: int) -> ValueError:
    return ValueError(f"{path}: line {number}: the file is neither UTF-8 text nor Parquet.")


def _all_at_once(data: bytes, n_blank: int, separator: str, names: Names) -> Columns:
    """Read the columns with Arrow; raise a ValueError if a row is invalid."""
    from skgraded.datasets.arrow_csv import NUMBERS, TEXTS, read_table

    types = dict.fromkeys(names.texts, TEXTS) | dict.fromkeys(names.numbers, NUMBERS)
    table = read_table(data, n_blank, separator, types)
    cells = {name: table[name].to_numpy() for name in names.all}
    large = [name for name in names.scores if may_be_rounded(cells[name])]
    if large:
        texts = read_table(data, n_blank, separator, dict.fromkeys(large, TEXTS))
        cells |= {name: _exact_numbers(texts[name].to_pylist()) for name in large}
    if not table.num_rows or any((cells[name] == "").any() for name in names.texts):
        raise ValueError("a value is missing")
    return _checked(cells, names)


def _row_by_row(data: bytes, path: str, n_blank: int, separator: str, names: Names) -> Columns:
    """Read the columns with Python's csv module; errors name the first invalid line."""
    rows = csv.reader(_lines(io.BytesIO(data)), delimiter=separator)
    columns: dict[str, Any] = {name: [] for name in names.all}
    seen: dict[tuple[str, ...], int] = {}
    try:
        header = next(islice(rows, n_blank, None))
        for row in rows:
            if len(row) < 2 and not "".join(row).strip():
                continue
            _check_row(row, header, names, seen, rows.line_num)
            for name in names.all:
                columns[name].append(row[header.index(name)])
    except (csv.Error, ValueError) as error:
        problem = str(error).removesuffix(".")
        raise ValueError(f"{path}: line {rows.line_num}: {problem}.") from None
    if not columns[names.query]:
        raise ValueError(f"{path}: line 2: the table contains no rows.")
    for name, cells in columns.items():
        if name in names.texts:
            columns[name] = object_array(cells)
        else:
            columns[name] = np.array([float(cell or "nan") for cell in cells])
        if name in names.scores and may_be_rounded(columns[name]):
            columns[name] = _exact_numbers(cells)
    return _checked(columns, names)


def may_be_rounded(numbers: np.ndarray) -> bool:
    """Return whether float64 numbers from text are so large that whole numbers are rounded."""
    return bool((np.isfinite(numbers) & (np.abs(numbers) >= 2.0**53)).any())


def _exact_numbers(words: Sequence[str]) -> np.ndarray:
    """Return an array of objects: an int for each whole number without exponent, else a float."""
    numbers = [(float(word), parsed(int, word)) for word in words]
    return object_array(
        [real if whole is None or np.isinf(real) else whole for real, whole in numbers]
    )


def _check_row(
    row: list[str], header: list[str], names: Names, seen: dict[tuple[str, ...], int], line: int
) -> None:
    """Raise a ValueError for the first error in a row; `seen` maps ids to line numbers."""
    if len(row) != len(header):
        raise ValueError(f"the row has {len(row)} columns, but the first line has {len(header)}.")
    cells = dict(zip(header, row, strict=True))
    for name in names.all:
        if parsed(str.encode, cells[name]) is None:
            raise ValueError(f"{name} must be UTF-8 text.")
    for kind, name in zip(("query", "document"), names.texts, strict=False):
        if not cells[name]:
            raise ValueError(f"the {kind} ({name}) is missing.")
    for name in names.numbers:
        word = cells[name].encode()
        if name == names.grade and names.allow_unjudged and word.lower() in (b"", b"nan"):
            continue
        number = number_in(word)
        if number is None:
            raise ValueError(f"{name} must be a number; got {shown(word)}.")
        if name == names.grade and not 0 <= number < math.inf:
            raise ValueError(
                f"grades must be finite and ≥ 0; {name} is {cells[name]}. {NEGATIVE_GRADES}"
            )
    pair = [cells[name] for name in names.texts]
    first = seen.setdefault(tuple(pair), line)
    if names.document and first < line:
        raise ValueError(
            f"query {pair[0]!r} already contains document {pair[1]!r} at line {first}."
        )
