"""Functions that read text files with pyarrow; callers check that pyarrow is installed.

Arrow rejects some numbers that Python accepts, and Arrow's errors contain no line numbers. After
a ValueError, callers therefore parse the text again with Python.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

import pyarrow as pa
from pyarrow import csv

TEXTS, NUMBERS, INTEGERS = pa.large_string(), pa.float64(), pa.int64()
BLOCK = 2**20  # bytes that are parsed at once
CODES = pa.dictionary(pa.int32(), pa.string())  # for columns with few distinct values


def open_table(
    file: IO[bytes], n_blank: int, separator: str, types: Mapping[str, Any]
) -> csv.CSVStreamingReader:
    """Open a CSV file as a stream of batches; skip `n_blank` blank lines at the top."""
    return csv.open_csv(file, *_choose_options(n_blank, separator, types))


def read_table(data: bytes, n_blank: int, separator: str, types: Mapping[str, Any]) -> pa.Table:
    """Read the columns in `types` from CSV data; raise a ValueError if a row is invalid."""
    # Do not use open_csv: after an error, the thread that it started may abort Python at exit.
    with _open_bytes(data) as file:
        return csv.read_csv(file, *_choose_options(n_blank, separator, types))


def _choose_options(n_blank: int, separator: str, types: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return Arrow's options for reading the columns in `types`; empty cells become null."""
    return (
        csv.ReadOptions(use_threads=False, block_size=BLOCK, skip_rows=n_blank),
        csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        csv.ConvertOptions(
            include_columns=list(types),
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
        ),
    )


def read_uniform_lines(
    text: bytes, names: Sequence[str], types: Mapping[str, Any], separator: str
) -> dict[str, Any]:
    """Read the columns in `types` from lines without quotes; `names` lists all columns."""
    reading = csv.ReadOptions(use_threads=False, column_names=names, block_size=len(text))
    parsing = csv.ParseOptions(delimiter=separator, quote_char=False)
    converting = csv.ConvertOptions(include_columns=list(types), column_types=types, null_values=[])
    with _open_bytes(text) as file:
        table = csv.read_csv(file, reading, parsing, converting)
    return {name: table[name].combine_chunks() for name in types}


@contextmanager
def _open_bytes(data: bytes) -> Iterator[pa.BufferReader]:
    """Open bytes as a file; convert Arrow's errors to a ValueError."""
    whole = pa.py_buffer(data)  # keep a reference: Arrow 14 may hang if its thread frees the buffer
    try:
        yield pa.BufferReader(whole)
    except (pa.ArrowException, OverflowError) as error:
        raise ValueError(str(error)) from None


def join_texts(pieces: list[Any]) -> Any:
    """Concatenate the chunks of a column into an array that pandas can factorize and index."""
    import pandas as pd

    arrays = [piece if isinstance(piece, pa.Array) else pa.array(piece, TEXTS) for piece in pieces]
    return pd.arrays.ArrowExtensionArray(pa.chunked_array(arrays))
