"""Reader of CSV and Parquet tables whose columns are named by the user."""

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.utils import Bunch

from skgraded._input.columns import check_grades, column
from skgraded._input.queries import query_codes
from skgraded._input.words import object_array
from skgraded.datasets._files import blocks, check_path, number_in, repeats, shown
from skgraded.datasets._words import exact_floats

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
        if known.count(name) > 1:
            raise ValueError(f"{path}: {place}there are {known.count(name)} columns {name!r}.")


def _columns(table, names):
    return Bunch(
        query=np.asarray(table[names.query]),
        grade=check_grades(table[names.grade], f"column {names.grade!r}"),
        scores={name: column(table[name], f"column {name!r}") for name in names.scores},
        document=np.asarray(table[names.document]) if names.document else None,
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
    twice, _ = repeats(found.query, found.document)
    if len(twice):
        raise ValueError(f"{path}: row {twice[0]}: the query has the document twice.")
    return found


# CSV ---------------------------------------------------------------------------------------------

def _read_csv(data, path, names):
    separator, header = _header(data, path)
    _refuse_missing(path, "line 1: ", names, header)
    try:
        return _all_at_once(data, separator, header, names)
    except ValueError:  # an error, or quotes in odd places
        return _row_by_row(data, path, separator, names)


def _header(data, path):
    """The separator and the names of the first row."""
    line = io.BytesIO(data).readline().split(b"\r")[0].rstrip(b"\n")
    try:
        if b"\0" in data:
            line = data[: data.index(b"\0")]
            raise ValueError("not text")
        text = line.decode()
    except ValueError:
        number = line.count(b"\n") + 1
        raise ValueError(
            f"{path}: line {number}: neither text in UTF-8 nor a Parquet file."
        ) from None
    separator = "\t" if "\t" in text and "," not in text else ","
    try:
        return separator, next(_rows(data, separator), [])
    except csv.Error as problem:
        raise ValueError(f"{path}: line 1: {problem}.") from None


def _rows(data, separator):
    """Rows by Python's csv module; other columns than those that are read may be no UTF-8."""
    lines = io.TextIOWrapper(
        io.BytesIO(data), encoding="utf-8", errors="surrogateescape", newline=""
    )
    return csv.reader(lines, delimiter=separator)


def _all_at_once(data, separator, header, names):
    """Read the columns by pandas; a ValueError if a row is not as it should be."""
    import pandas as pd

    _refuse_uneven(data, separator, len(header))
    frame = pd.read_csv(
        io.BytesIO(data), sep=separator, usecols=names.all,
        dtype=dict.fromkeys(names.texts, object) | dict.fromkeys(names.numbers, float),
        index_col=False, na_filter=False, low_memory=False, **exact_floats(),
    )
    table = _columns(frame, names)
    if (frame[names.texts] == "").any(axis=None) or frame[names.numbers].isna().any(axis=None):
        raise ValueError("a value is missing")
    for name in names.numbers:  # pandas makes 1 and 0 of a column of True and False
        values = frame[name].to_numpy()
        if ((values == 0) | (values == 1)).all() and re.search(rb"true|false", data, re.IGNORECASE):
            raise ValueError("a column may be of True and False")
    if len(repeats(table.query, table.document)[0]):
        raise ValueError("a query has a document twice")
    return table


def _refuse_uneven(data, separator, n_columns):
    """Raise if a line is neither blank nor of as many columns as the first."""
    letters = np.frombuffer(data, np.uint8)
    if b'"' in data:
        letters = _outside_quotes(letters, separator)
    starts = np.append(0, np.flatnonzero(letters[:-1] == ord("\n")) + 1)
    found = np.add.reduceat(letters == ord(separator), starts, dtype=np.int32)
    if not np.isin(found, (0, n_columns - 1)).all():
        raise ValueError("a row has more or fewer columns than the first")


def _outside_quotes(letters, separator):
    """The letters, those in quotes 0; an error unless quotes stand around cells, or doubled."""
    quotes = np.flatnonzero(letters == ord('"'))
    opening, closing = quotes[::2], quotes[1::2]
    around = np.zeros(256, dtype=bool)
    around[[ord(letter) for letter in f'{separator}\n\r"']] = True
    opening, closing = opening[opening > 0], closing[closing < len(letters) - 1]
    if len(quotes) % 2 or not (
        around[letters[opening - 1]].all() and around[letters[closing + 1]].all()
    ):
        raise ValueError("quotes in odd places")
    inside = np.cumsum(letters == ord('"'), dtype=np.uint8)  # wraps around, and stays odd
    inside &= 1
    return letters * (1 - inside)


def _row_by_row(data, path, separator, names):
    """Read the columns by Python's csv module, or raise the error that names the first bad line."""
    rows = _rows(data, separator)
    found: dict = {name: [] for name in names.all}
    seen: dict = {}
    try:
        header = next(rows)
        for row in rows:
            if len(row) < 2 and not "".join(row).strip():
                continue
            problem = _problem(row, header, names, seen, rows.line_num)
            if problem:
                raise ValueError(f"{path}: line {rows.line_num}: {problem}")
            for name in names.all:
                found[name].append(row[header.index(name)])
    except csv.Error as error:
        raise ValueError(f"{path}: line {rows.line_num}: {error}.") from None
    if not found[names.query]:
        raise ValueError(f"{path}: line 2: the table has no row.")
    for name, cells in found.items():
        found[name] = object_array(cells) if name in names.texts else list(map(float, cells))
    return _columns(found, names)


def _problem(row, header, names, seen, line):
    """Say what is wrong with a row; None if nothing is. `seen` holds the lines of pairs so far."""
    if len(row) != len(header):
        return f"{len(row)} columns, but the first line names {len(header)}."
    cells = dict(zip(header, row, strict=True))
    for name in names.all:
        if any("\udc80" <= letter <= "\udcff" for letter in cells[name]):
            return f"text must be UTF-8; {name} is not."
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
