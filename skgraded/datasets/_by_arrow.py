"""Text in columns by Arrow's reader of CSV, the fastest there is; imported by who has pyarrow.

It refuses some numbers that Python reads, and does not say which line is wrong: what raises a
ValueError here is read once more by Python.
"""

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv

TEXTS, NUMBERS = pa.string(), pa.float64()
CODES = pa.dictionary(pa.int32(), TEXTS)  # of texts of which there are few


def read_table(data, separator, types):
    """The columns of a CSV file that are named in `types`, each of its type."""
    return _read(
        data, csv.ReadOptions(use_threads=False),
        csv.ParseOptions(delimiter=separator, newlines_in_values=True), types,
    )


def read_lines(text, names, types):
    """Columns of lines whose words are separated by single blanks; `names` are those of all."""
    table = _read(
        text, csv.ReadOptions(use_threads=False, column_names=names, block_size=len(text)),
        csv.ParseOptions(delimiter=" ", quote_char=False), types,
    )
    return {name: table[name].combine_chunks() for name in types}


def _read(data, reading, parsing, types):
    whole = pa.py_buffer(data)  # kept until the end: Arrow 14 may hang if its own thread drops it
    converting = csv.ConvertOptions(
        include_columns=list(types), column_types=types, null_values=[]
    )
    try:
        return csv.read_csv(pa.BufferReader(whole), reading, parsing, converting)
    except (pa.ArrowException, OverflowError) as error:
        raise ValueError(str(error)) from None


def letters_of(texts):
    """The letters of texts with a zero byte after each, and where these bytes are."""
    ended = compute.binary_join_element_wise(texts, pa.scalar(""), pa.scalar("\0"))
    _, offsets, letters = ended.buffers()
    bounds = np.frombuffer(offsets, np.int32, len(ended) + 1, 4 * ended.offset)
    return letters[bounds[0] : bounds[-1]].to_pybytes(), bounds[1:] - bounds[0] - 1
