"""Columns of text read by pyarrow, which is imported here; callers check that it is installed.

Arrow refuses some numbers that Python accepts, and its errors name no line. Callers therefore let
Python read the text again after a ValueError.
"""

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv

TEXTS, NUMBERS = pa.large_string(), pa.float64()
CODES = pa.dictionary(pa.int32(), pa.string())  # for columns with few distinct texts


def read_table(data, separator, types):
    """Read the columns of a CSV file that `types` names, each with its type."""
    parsing = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    return _read(data, parsing, types)


def read_lines(text, names, types):
    """Read columns of lines with single blanks between words; `names` lists all columns."""
    parsing = csv.ParseOptions(delimiter=" ", quote_char=False)
    table = _read(text, parsing, types, column_names=names, block_size=len(text))
    return {name: table[name].combine_chunks() for name in types}


def _read(data, parsing, types, **options):
    whole = pa.py_buffer(data)  # kept until the end: Arrow 14 may hang if its own thread drops it
    converting = csv.ConvertOptions(
        include_columns=list(types), column_types=types, null_values=[]
    )
    try:
        return csv.read_csv(
            pa.BufferReader(whole), csv.ReadOptions(use_threads=False, **options), parsing,
            converting,
        )
    except (pa.ArrowException, OverflowError) as error:
        raise ValueError(str(error)) from None


def joined(pieces):
    """Join pieces of a column to one array, which pandas can factorize and index."""
    import pandas as pd

    arrays = [piece if isinstance(piece, pa.Array) else pa.array(piece, TEXTS) for piece in pieces]
    return pd.arrays.ArrowExtensionArray(pa.chunked_array(arrays))


def positions(texts, known):
    """Return where each text is in the array `known`, -1 where it is not."""
    rows = compute.index_in(pa.array(texts), value_set=pa.array(known))
    return np.asarray(rows.fill_null(-1))
