"""Reading of text files with pyarrow; callers check that pyarrow is installed.

Arrow rejects some numbers that Python accepts, and Arrow's errors contain no line numbers. After
a ValueError, callers therefore parse the text again with Python.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv

TEXTS, NUMBERS = pa.large_string(), pa.float64()
CODES = pa.dictionary(pa.int32(), pa.string())  # for columns with few distinct values


def read_table(data: bytes, separator: str, types: Mapping[str, Any]) -> pa.Table:
    """Read some columns of a CSV file; `types` maps the names of these columns to their types."""
    parsing = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    return _read(data, parsing, types)


def read_lines(text: bytes, names: Sequence[str], types: Mapping[str, Any]) -> dict[str, Any]:
    """Read columns separated by single spaces; `names` contains the names of all columns."""
    parsing = csv.ParseOptions(delimiter=" ", quote_char=False)
    table = _read(text, parsing, types, column_names=names, block_size=len(text))
    return {name: table[name].combine_chunks() for name in types}


def _read(data: bytes, parsing: Any, types: Mapping[str, Any], **options: Any) -> pa.Table:
    whole = pa.py_buffer(data)  # keep a reference: Arrow 14 may hang if its thread frees the buffer
    converting = csv.ConvertOptions(include_columns=list(types), column_types=types, null_values=[])
    try:
        return csv.read_csv(
            pa.BufferReader(whole), csv.ReadOptions(use_threads=False, **options), parsing,
            converting,
        )
    except (pa.ArrowException, OverflowError) as error:
        raise ValueError(str(error)) from None


def joined(pieces: list[Any]) -> Any:
    """Concatenate the chunks of a column into an array that pandas can factorize and index."""
    import pandas as pd

    arrays = [piece if isinstance(piece, pa.Array) else pa.array(piece, TEXTS) for piece in pieces]
    return pd.arrays.ArrowExtensionArray(pa.chunked_array(arrays))


def positions(texts: Any, known: Any) -> np.ndarray:
    """Return the position of each string in the array `known`, or -1 for absent strings."""
    rows = compute.index_in(pa.array(texts), value_set=pa.array(known))
    return np.asarray(rows.fill_null(-1))
