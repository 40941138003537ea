"""Reader of CSV and Parquet tables whose columns are named by the user."""

import csv
import io
import math
import warnings
from dataclasses import dataclass

import numpy as np

from skgraded._input.columns import check_grades, column
from skgraded._input.queries import query_codes
from skgraded.datasets._files import blocks, shown

PARQUET = b"PAR1"


@dataclass(frozen=True)
class Columns:
    """Columns of a table, checked."""

    query: np.ndarray
    grade: np.ndarray
    scores: dict[str, np.ndarray]
    document: np.ndarray | None


def read_columns(source, path, query, grade, scores, document, progress) -> Columns:
    """Read columns of a CSV or Parquet file, plain or compressed with gzip.

    Parameters
    ----------
    source : path or binary file
    path : str
        Its name, for errors.
    query, grade : str
        Names of columns.
    scores : list of str
        Names of the columns of scores.
    document : str or None
        Name of the column of document ids; no query may have one twice.
    progress : bool

    Returns
    -------
    Columns

    Raises
    ------
    ValueError
        Names the file, and the line of a CSV file, or the row of a Parquet file.
    """
    data = b"".join(text for _, text in blocks(source, path, progress))
    if not data.strip():
        raise ValueError(f"{path}: line 1: the file is empty; a row with names was expected.")
    names = [query, grade, *scores] + ([document] if document else [])
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{path}: column {name!r} is asked for twice.")
    read = _read_parquet if data.startswith(PARQUET) else _read_csv
    return read(data, path, query, grade, scores, document, names)


# Parquet -----------------------------------------------------------------------------------------

def _read_parquet(data, path, query, grade, scores, document, names):
    import pandas as pd
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        _refuse_missing(path, "", names, ParquetFile(io.BytesIO(data)).schema_arrow.names)
        frame = pd.read_parquet(io.BytesIO(data), columns=names)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path}: the Parquet file cannot be read: {error}") from None
    if frame.empty:
        raise ValueError(f"{path}: the table has no row.")
    try:
        found = Columns(
            frame[query].to_numpy(),
            check_grades(frame[grade], f"column {grade!r}"),
            {name: column(frame[name], f"column {name!r}") for name in scores},
            frame[document].to_numpy() if document else None,
        )
        query_codes(found.query, len(frame))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    for name, values in found.scores.items():
        if np.isnan(values).any():
            row = int(np.argmax(np.isnan(values)))
            raise ValueError(f"{path}: column {name!r} must not be missing or NaN: row {row} is.")
    twice = _twice(frame, query, document)
    if twice is not None:
        raise ValueError(f"{path}: row {twice}: the query has the document twice.")
    return found


def _refuse_missing(path, place, names, known):
    for name in names:
        if name not in known:
            raise ValueError(
                f"{path}: {place}there is no column {name!r}; there are "
                f"{', '.join(map(repr, known[:20]))}. Name the columns by --query-column, "
                "--grade-column and --score-column."
            )


def _twice(frame, query, document):
    if not document:
        return None
    repeated = frame.duplicated([query, document]).to_numpy()
    return int(np.argmax(repeated)) if repeated.any() else None


# CSV ---------------------------------------------------------------------------------------------

def _read_csv(data, path, query, grade, scores, document, names):
    import pandas as pd

    separator, header = _header(data, path)
    _refuse_missing(path, "line 1: ", names, header)
    texts = [name for name in (query, document) if name]
    numbers = [grade, *scores]
    quoted = b'"' in data
    try:
        if not quoted:
            _refuse_uneven(data, separator, len(header))
        with warnings.catch_warnings():
            # pandas only warns of rows that are too long
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                # With usecols pandas passes over what a row has too many of.
                io.BytesIO(data), sep=separator, usecols=None if quoted else names, index_col=False,
                dtype=dict.fromkeys(texts, object) | dict.fromkeys(numbers, float),
                na_filter=False, low_memory=False,
            )
        good = (frame[texts] != "").all(axis=None) and not frame[numbers].isna().any(axis=None)
        if not good or not (np.isfinite(frame[grade]) & (frame[grade] >= 0)).all():
            raise ValueError("a value is missing or not what it should be")
        if _twice(frame, query, document) is not None:
            raise ValueError("a query has a document twice")
    except (ValueError, pd.errors.ParserWarning) as error:
        raise _located(data, path, separator, query, grade, scores, document, error) from None
    if frame.empty:
        raise ValueError(f"{path}: line 2: the table has no row.")
    return Columns(
        frame[query].to_numpy(), frame[grade].to_numpy(),
        {name: frame[name].to_numpy() for name in scores},
        frame[document].to_numpy() if document else None,
    )


def _refuse_uneven(data, separator, n_columns):
    """Raise if a line without quotes is neither blank nor of as many columns as the first."""
    letters = np.frombuffer(data, np.uint8)
    starts = np.append(0, np.flatnonzero(letters[:-1] == ord("\n")) + 1)
    found = np.add.reduceat(letters == ord(separator), starts, dtype=np.int32)
    if not np.isin(found, (0, n_columns - 1)).all():
        raise ValueError("a row has more or fewer columns than the first")


def _header(data, path):
    """The separator and the names of the first line."""
    end = data.find(b"\n")
    first = data[: end if end >= 0 else len(data)]
    try:
        line = first.decode("utf-8-sig").strip("\r")
    except UnicodeDecodeError:
        line = "\0"
    if "\0" in line:
        raise ValueError(f"{path}: line 1: neither text in UTF-8 nor a Parquet file.")
    separator = "\t" if "\t" in line and "," not in line else ","
    return separator, next(csv.reader([line], delimiter=separator), [])


def _located(data, path, separator, query, grade, scores, document, error):
    """Make the error that names the first bad line."""
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    rows = csv.reader(lines, delimiter=separator)
    seen: dict = {}
    try:
        header = next(rows)
        for row in rows:
            problem = row and _problem(row, header, query, grade, scores)
            if document and row and not problem:
                pair = tuple(row[header.index(name)] for name in (query, document))
                if pair in seen:
                    problem = (
                        f"query {pair[0]!r} has document {pair[1]!r} twice, first on line "
                        f"{seen[pair]}."
                    )
                seen[pair] = rows.line_num
            if problem:
                return ValueError(f"{path}: line {rows.line_num}: {problem}")
    except UnicodeDecodeError:
        line = rows.line_num + 1
        return ValueError(f"{path}: near line {line}: text must be UTF-8.")
    except csv.Error as problem:
        return ValueError(f"{path}: line {rows.line_num}: {problem}.")
    return ValueError(f"{path}: {error}")


def _problem(row, header, query, grade, scores):
    """Say what is wrong with a row; None if nothing is."""
    if len(row) != len(header):
        return f"{len(row)} columns, but the first line names {len(header)}."
    cells = dict(zip(header, row, strict=True))
    if not cells[query]:
        return f"the query ({query}) is missing."
    for name in (grade, *scores):
        try:
            number = float(cells[name])
        except ValueError:
            number = math.nan
        if math.isnan(number) or "_" in cells[name]:
            return f"{name} must be a number; got {shown(cells[name].encode())}."
        if name == grade and not 0 <= number < math.inf:
            return (
                f"grades must be finite and ≥ 0; {name} is {cells[name]}. Subtract the irrelevant "
                "level from all grades."
            )
    return None
