"""Reader of CSV and Parquet tables whose columns are named by the user."""

import csv
import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.utils import Bunch

from skgraded._input.columns import check_grades, column
from skgraded._input.queries import query_codes
from skgraded.datasets._files import blocks, check_path, number_in, repeated, shown

PARQUET = b"PAR1"


@dataclass(frozen=True)
class Names:
    """Names of the columns of a table; `advice` on naming others ends the error about one."""

    query: str
    grade: str
    scores: Sequence[str]
    document: str | None = None  # if given, no query may have a document twice
    advice: str = ""

    @property
    def numbers(self):
        return [self.grade, *self.scores]

    @property
    def texts(self):
        return [self.query, self.document] if self.document else [self.query]

    @property
    def all(self):
        return [*self.texts, *self.numbers]


def read_columns(source, names: Names, progress=False) -> Bunch:
    """Read the named columns of a CSV or Parquet file, plain or compressed with gzip.

    They are `query`, `grade`, `document`, which may be None, and `scores`, a dict. A ValueError
    names the file, and the line of a CSV file, or the row of a Parquet file.
    """
    path = check_path(source)
    data = b"".join(text for _, text in blocks(source, path, progress))
    if not data.strip():
        raise ValueError(f"{path}: line 1: the file is empty; a row with names was expected.")
    for name in names.all:
        if names.all.count(name) > 1:
            raise ValueError(f"{path}: column {name!r} is asked for twice.")
    read = _read_parquet if data.startswith(PARQUET) else _read_csv
    return read(data, path, names)


def _refuse_missing(path, place, names, known):
    for name in names.all:
        if name not in known:
            raise ValueError(
                f"{path}: {place}there is no column {name!r}; there are "
                f"{', '.join(map(repr, known[:20]))}.{names.advice}"
            )


def _columns(frame, names):
    return Bunch(
        query=frame[names.query].to_numpy(),
        grade=check_grades(frame[names.grade], f"column {names.grade!r}"),
        scores={name: column(frame[name], f"column {name!r}") for name in names.scores},
        document=frame[names.document].to_numpy() if names.document else None,
    )


# Parquet -----------------------------------------------------------------------------------------

def _read_parquet(data, path, names):
    import pandas as pd
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        _refuse_missing(path, "", names, ParquetFile(io.BytesIO(data)).schema_arrow.names)
        frame = pd.read_parquet(io.BytesIO(data), columns=names.all)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path}: the Parquet file cannot be read: {error}") from None
    if frame.empty:
        raise ValueError(f"{path}: the table has no row.")
    try:
        found = _columns(frame, names)
        query_codes(found.query, name=f"column {names.query!r}")
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    for name, values in found.scores.items():
        if np.isnan(values).any():
            row = int(np.argmax(np.isnan(values)))
            raise ValueError(f"{path}: column {name!r} must not be missing or NaN: row {row} is.")
    twice = repeated(found.query, found.document)
    if twice:
        raise ValueError(f"{path}: row {twice[0]}: the query has the document twice.")
    return found


# CSV ---------------------------------------------------------------------------------------------

def _read_csv(data, path, names):
    separator, header = _header(data, path)
    _refuse_missing(path, "line 1: ", names, header)
    try:
        frame = _frame(data, separator, header, names)
        if frame.empty:
            raise ValueError("line 2: the table has no row.")
        found = _columns(frame, names)
        if (frame[names.texts] == "").any(axis=None) or frame[names.numbers].isna().any(axis=None):
            raise ValueError("a value is missing")
        if repeated(found.query, found.document):
            raise ValueError("a query has a document twice")
    except ValueError as error:
        raise _located(data, path, separator, names, error) from None
    return found


def _frame(data, separator, header, names):
    """Parse the columns by pandas; a ValueError if a row is not as it should be."""
    import pandas as pd

    quoted = b'"' in data
    if not quoted:
        _refuse_uneven(data, separator, len(header))
    try:
        with warnings.catch_warnings():
            # pandas only warns of rows that are too long
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                # With usecols pandas passes over what a row has too many of.
                io.BytesIO(data), sep=separator, usecols=None if quoted else names.all,
                dtype=dict.fromkeys(names.texts, object) | dict.fromkeys(names.numbers, float),
                index_col=False, na_filter=False, low_memory=False,
            )
    except pd.errors.ParserWarning as warning:
        raise ValueError(str(warning)) from None


def _refuse_uneven(data, separator, n_columns):
    """Raise if a line without quotes is neither blank nor of as many columns as the first."""
    letters = np.frombuffer(data, np.uint8)
    starts = np.append(0, np.flatnonzero(letters[:-1] == ord("\n")) + 1)
    found = np.add.reduceat(letters == ord(separator), starts, dtype=np.int32)
    if not np.isin(found, (0, n_columns - 1)).all():
        raise ValueError("a row has more or fewer columns than the first")


def _header(data, path):
    """The separator and the names of the first line."""
    try:
        line = io.BytesIO(data).readline().decode("utf-8-sig").strip("\r\n")
    except UnicodeDecodeError:
        line = "\0"
    if "\0" in line:
        raise ValueError(f"{path}: line 1: neither text in UTF-8 nor a Parquet file.")
    separator = "\t" if "\t" in line and "," not in line else ","
    return separator, next(csv.reader([line], delimiter=separator), [])


def _located(data, path, separator, names, error):
    """Make the error that names the first bad line."""
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    rows = csv.reader(lines, delimiter=separator)
    seen: dict = {}
    try:
        header = next(rows)
        for row in filter(None, rows):
            problem = _problem(row, header, names, seen, rows.line_num)
            if problem:
                return ValueError(f"{path}: line {rows.line_num}: {problem}")
    except UnicodeDecodeError:
        return ValueError(f"{path}: near line {rows.line_num + 1}: text must be UTF-8.")
    except csv.Error as problem:
        return ValueError(f"{path}: line {rows.line_num}: {problem}.")
    return ValueError(f"{path}: {error}")


def _problem(row, header, names, seen, line):
    """Say what is wrong with a row; None if nothing is. `seen` holds the lines of pairs so far."""
    if len(row) != len(header):
        return f"{len(row)} columns, but the first line names {len(header)}."
    cells = dict(zip(header, row, strict=True))
    if not cells[names.query]:
        return f"the query ({names.query}) is missing."
    for name in names.numbers:
        word = cells[name].encode()
        number = number_in(word)
        if number is None:
            return f"{name} must be a number; got {shown(word)}."
        if name == names.grade and not 0 <= number < math.inf:
            return (
                f"grades must be finite and ≥ 0; {name} is {cells[name]}. Subtract the irrelevant "
                "level from all grades."
            )
    pair = [cells[name] for name in names.texts]
    first = seen.setdefault(tuple(pair), line)
    if names.document and first < line:
        return f"query {pair[0]!r} has document {pair[1]!r} twice, first on line {first}."
    return None
