"""Convert chunks of a large table to Arrow tables. This module requires pyarrow."""

from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from skgraded._input import arrow_strings
from skgraded._input.door import make_object_array
from skgraded._input.queries import make_missing_id_error, refuse_inexact
from skgraded._input.tables import frame_of, list_column_names, refuse_unknown
from skgraded._kernels.strings import copy_texts, hash_texts

if TYPE_CHECKING:
    import pandas as pd

# pre_buffer=True would keep all compressed columns of a Parquet file in memory.
# pre_buffer=True also uses I/O threads, which can abort the process at exit (apache/arrow#34314).
# pyarrow 14 cannot verify the checksums of Parquet pages.
PARQUET_OPTIONS = {"pre_buffer": False} | (
    {"page_checksum_verification": True} if int(pa.__version__.partition(".")[0]) > 14 else {}
)
DECIMAL = pa.decimal256(76, 38)  # wide enough for all decimal128 values with a scale ≥ 0


def is_table(part: object) -> bool:
    """Return whether `part` is an Arrow table or record batch, or an eager (not lazy) DataFrame."""
    return isinstance(part, (pa.Table, pa.RecordBatch)) or hasattr(frame_of(part), "to_pandas")


def as_arrow(part: Any, names: Mapping[str, str]) -> pa.Table:
    """Return the columns in `names` as an Arrow table.

    For error messages, `names` maps each column name to the argument that contains it.
    """
    if isinstance(part, pa.RecordBatch):
        part = pa.Table.from_batches([part])
    elif hasattr(part, "__arrow_c_stream__") and not is_table(part):
        with suppress(pa.ArrowInvalid):  # raised for a single column
            part = pa.table(part)
    if isinstance(part, pa.Table):
        refuse_unknown(names, part.column_names)
        return part.select(list(names))
    if not is_table(part):
        raise TypeError(
            "Expected a pandas or polars DataFrame, an Arrow table or another object with "
            f"__arrow_c_stream__; got {type(part).__name__}."
        )
    refuse_unknown(names, list_column_names(part))
    frame = frame_of(part)
    is_polars = frame.implementation.is_polars()
    if not (is_polars or frame.implementation.is_pandas()):
        part = frame.to_pandas()
    columns = {}
    for name, argument in names.items():
        try:
            if is_polars and str(part[name].dtype) == "Object":
                # Arrow would store the memory addresses of Python objects.
                raise TypeError("cast it to another polars type.")
            columns[name] = part[name].to_arrow() if is_polars else _convert_pandas(part[name])
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            raise TypeError(
                f"Column {name!r} with dtype {part[name].dtype} cannot be converted to a single "
                f"Arrow type, as required for {argument}: {error}"
            ) from None
    return pa.table(columns)


def _convert_pandas(series: "pd.Series") -> pa.Array:
    """Convert a pandas Series to an Arrow array; intervals become strings.

    NaN in a numeric NumPy column remains NaN and does not become null.
    """
    if str(getattr(series.dtype, "categories", series).dtype).startswith("interval"):
        series = series.astype("category").cat.rename_categories(str)  # as from pandas.cut
    if not (isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf"):
        return pa.Array.from_pandas(series)
    values = series.to_numpy()
    dtype = (
        values.dtype if values.dtype.itemsize <= 8 else np.dtype(float)
    )  # no long double in Arrow
    return pa.array(values.astype(dtype.newbyteorder("="), copy=False))


def mark_missing(column: pa.ChunkedArray) -> np.ndarray:
    """Return a boolean mask that is True where the column is null or NaN."""
    return compute.is_null(column, nan_is_null=True).to_numpy()


def convert_numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Convert a column to a NumPy array with NaN for missing numbers; decimals remain objects."""
    kind = _standardize_type(column.type)
    if pa.types.is_decimal(kind) or pa.types.is_nested(kind):
        return make_object_array(column.to_pylist())
    column = decode_column(column)
    if column.null_count and pa.types.is_boolean(kind):
        column = column.cast(pa.float64())
    return column.to_numpy()  # integers with nulls become float64


def convert_ids(column: pa.ChunkedArray, name: str = "qid") -> pa.ChunkedArray:
    """Convert ids to a standard type; raise a ValueError for missing ids and nested types."""
    kind = _standardize_type(column.type)
    is_extension = isinstance(kind, pa.BaseExtensionType)
    if pa.types.is_nested(kind) or pa.types.is_interval(kind) or is_extension:
        raise ValueError(f"{name} must contain numbers, text or dates; its type is {kind}.")
    column = decode_column(column)
    if pa.types.is_floating(kind):
        refuse_inexact(column.to_numpy(), name)
        column = column.cast(pa.float64())
    if column.null_count or pa.types.is_floating(kind):
        is_missing = mark_missing(column)
        if is_missing.any():
            row = int(is_missing.argmax())
            raise make_missing_id_error(name, row, column[row].as_py())
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return column.cast(pa.int64())
    if pa.types.is_decimal(kind):
        # Arrow infers the precision and scale of decimals per chunk, so types can differ by chunk.
        with suppress(pa.ArrowInvalid):  # raised if a value does not fit
            return column.cast(DECIMAL)
    return column


def as_given(column: pa.ChunkedArray) -> Any:
    """Convert the ids returned by `convert_ids` to the type that Judgments processes fastest."""
    kind = column.type
    if pa.types.is_decimal(kind):
        encoded = column.combine_chunks().dictionary_encode()
        distinct = make_object_array(list(map(_strip_zeros, encoded.dictionary.to_pylist())))
        return distinct[encoded.indices.to_numpy()].tolist()
    if pa.types.is_primitive(kind) and not pa.types.is_time(kind):
        return column.to_numpy()
    return column if arrow_strings.is_text(kind) else column.to_pylist()


def _strip_zeros(decimal: Decimal) -> Decimal:
    """Convert a decimal id to an equal Decimal, without the trailing zeros that Arrow appends."""
    digits = f"{decimal:f}"
    return Decimal(digits.rstrip("0").rstrip(".") if "." in digits else digits)


def count_equal(column: pa.ChunkedArray, step: int) -> int:
    """Count the leading (step=1) or trailing (step=-1) rows that have the same id."""
    n = len(column)
    for length in (1024, 65_536, n):  # most queries are short
        part = column.slice(0 if step > 0 else max(n - length, 0), length)
        outermost = part[0 if step > 0 else len(part) - 1]
        differs = compute.not_equal(part, outermost).to_numpy()[::step]
        if differs.any():
            return int(differs.argmax())
    return n


def copy_rows(table: pa.Table, rows: np.ndarray) -> pa.Table:
    """Copy rows of a validated table; this is faster than `Table.take` for string columns."""
    return pa.table({name: _copy_values(table[name], rows) for name in table.column_names})


def _copy_values(column: pa.ChunkedArray, rows: np.ndarray) -> Any:
    if not arrow_strings.is_text(column.type):
        is_single = column.num_chunks == 1
        values = column.chunk(0) if is_single else pa.concat_arrays(column.chunks)
        return compute.take(values, rows, boundscheck=False)
    ends, data = map(pa.py_buffer, copy_texts(*arrow_strings.find_spans(column), rows))
    return pa.Array.from_buffers(column.type, len(rows), [None, ends, data])


def mark_rows(column: pa.ChunkedArray) -> np.ndarray:
    """Return a 64-bit key for each id in a column returned by `convert_ids`."""
    if arrow_strings.is_text(column.type):
        return hash_texts(*arrow_strings.find_spans(column))
    values = as_given(column)
    return arrow_strings.hash_ids(make_object_array(values) if isinstance(values, list) else values)


def narrow(column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Convert a numeric column to uint8 if the conversion is lossless."""
    values = column.to_numpy()
    with np.errstate(invalid="ignore"):
        small = values.astype(np.uint8)
    return pa.array(small) if (small == values).all() else column


def _standardize_type(kind: pa.DataType) -> pa.DataType:
    """Return the type to which `decode_column` converts a column of this type."""
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name == "arrow.uuid":
        return kind.storage_type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    layouts = {"string": pa.large_string(), "binary": pa.large_binary()}
    return layouts.get(str(kind).removesuffix("_view"), kind)


def decode_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decode dictionary and run-end encodings; convert UUIDs and strings to standard types."""
    if pa.types.is_run_end_encoded(column.type):
        column = compute.run_end_decode(column)
    kind = _standardize_type(column.type)
    return column if column.type == kind else column.cast(kind)
