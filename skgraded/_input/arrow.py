"""Parts of a large table, whatever they come as, as Arrow tables; imported by who has pyarrow."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
from pyarrow import compute

from skgraded._input.columns import column as number_column
from skgraded._input.columns import refuse_nan_scores
from skgraded._input.needs import needs
from skgraded._input.queries import refuse_missing
from skgraded._input.tables import is_pandas_frame, refuse_unknown
from skgraded._input.words import object_array

DECIMAL = pa.decimal256(76, 38)  # every decimal128 whose scale is not negative fits


def as_arrow(part, names):
    """The named columns of an Arrow table or batch, or of a frame of pandas or polars."""
    if isinstance(part, pa.RecordBatch):
        part = pa.Table.from_batches([part])
    if isinstance(part, pa.Table):
        refuse_unknown(names, part.column_names)
        return part.select(names)
    is_polars = hasattr(part, "to_arrow") and hasattr(part, "select")
    if not (is_pandas_frame(part) or is_polars):
        raise TypeError(
            "Expected an Arrow table or batch, or a frame of pandas or polars; got "
            f"{type(part).__name__}."
        )
    refuse_unknown(names, part.columns)
    columns = {}
    for name in names:
        try:
            columns[name] = (_of_polars if is_polars else _of_pandas)(part[name])
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            raise TypeError(
                f"The column {name!r}, of the dtype {part[name].dtype}, is of no one type that "
                f"Arrow has: {error}"
            ) from None
    return pa.table(columns)


def _of_polars(series):
    if str(series.dtype) == "Object":  # of which Arrow gets the addresses
        raise TypeError("give its values a type of polars.")
    return series.to_arrow()


def _of_pandas(series):
    """A column as Arrow's; NumPy's numbers as they are, a NaN is not looked for to be a null."""
    if not (isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf"):
        return pa.Array.from_pandas(series)
    values = series.to_numpy()
    is_long_double = values.dtype.itemsize > 8
    dtype = np.float64 if is_long_double else values.dtype.newbyteorder("=")
    return pa.array(values.astype(dtype, copy=False))


def missing(column):
    """Whether each value of a column is null or NaN."""
    return compute.is_null(column, nan_is_null=True).to_numpy()


def numbers(column):
    """A column of numbers as NumPy's, NaN where one is missing; of decimals and text as objects."""
    column = _plain(column)
    kind = column.type
    if pa.types.is_decimal(kind):
        return object_array(column.to_pylist())
    if column.null_count and (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        column = column.cast(pa.float64(), safe=False)
    return column.to_numpy()


def scores(column, name):
    """A column of scores without NaN, as floats unless it has 64-bit integers or decimals."""
    values = numbers(column)
    refuse_nan_scores(number_column(values, name), name)
    if values.dtype.kind == "O":
        return _plain(column)
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        return pa.array(values)
    return pa.array(values.astype(np.float64, copy=False))


def ids(column, name="qid"):
    """A column of ids in one of few types; a missing one is refused."""
    column = _plain(column)
    kind = column.type
    is_extension = isinstance(kind, pa.BaseExtensionType)
    if pa.types.is_nested(kind) or pa.types.is_interval(kind) or is_extension:
        raise TypeError(f"{name} must hold numbers, text or dates; it is of the type {kind}.")
    if pa.types.is_floating(kind):
        column = column.cast(pa.float64())
        missing = compute.is_null(column, nan_is_null=True)
    else:
        missing = compute.is_null(column)
    if pa.types.is_large_string(kind):
        _refuse_other_bytes(column, name)
    if compute.any(missing).as_py():
        refuse_missing(missing.to_numpy(), lambda row: column[row].as_py(), name)
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return column.cast(pa.int64())
    return _in_one_type(column) if pa.types.is_decimal(kind) else column


def _in_one_type(decimals):
    """Decimals in a type that does not depend on their digits; as they are if they do not fit.

    Arrow infers precision and scale from the values, so parts of a table may differ in both.
    """
    try:
        return decimals.cast(DECIMAL)
    except pa.ArrowInvalid:
        return decimals


def _refuse_other_bytes(column, name):
    """Raise a ValueError about the first text that is not UTF-8, as files may have it."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        for row, given in enumerate(column.cast(pa.large_binary()).to_pylist()):
            try:
                (given or b"").decode()
            except UnicodeDecodeError:
                raise ValueError(f"{name} must be text in UTF-8: row {row} is {given!r}.") from None
        raise


def as_given(column):
    """A column that `ids` gave, in the form in which Judgments read it fastest."""
    kind = column.type
    if pa.types.is_large_string(kind):
        return column
    if pa.types.is_decimal(kind):
        encoded = column.combine_chunks().dictionary_encode()
        distinct = object_array(list(map(_without_zeros, encoded.dictionary.to_pylist())))
        return distinct[encoded.indices.to_numpy()].tolist()
    if pa.types.is_primitive(kind) and not pa.types.is_time(kind):
        return column.to_numpy()
    return column.to_pylist()


def _without_zeros(decimal):
    """The same number without zeros at the end of its decimals, so that equal ids hash alike."""
    digits = f"{decimal:f}"
    return Decimal(digits.rstrip("0").rstrip(".") if "." in digits else digits)


def first_of_last(column):
    """Where the run of equal ids that begins a column ends, and where the one at its end starts."""
    return _run(column, 1), len(column) - _run(column, -1)


def _run(column, step):
    """How many rows at the start of a column (step 1) or at its end (-1) hold the same id."""
    n, length = len(column), 1024
    while True:
        part = column.slice(0 if step > 0 else max(n - length, 0), length)
        own = part[0 if step > 0 else len(part) - 1]
        differs = compute.not_equal(part, own).to_numpy()[::step]
        if differs.any():
            return int(differs.argmax())
        if length >= n:
            return n
        length *= 8


def marks(ids):
    """64 bits of each id, the same in any process; for text a hash, which two texts may share."""
    kind = ids.dtype.kind
    if kind in "mM":  # whatever their unit
        return ids.astype(f"{kind}8[us]", copy=False).view(np.uint64)
    if kind in "iub":
        return ids.astype(np.int64, copy=False).view(np.uint64)
    if kind == "f":
        whole = (ids == np.rint(ids)) & (np.abs(ids) < 2.0**62)
        bits = ids.astype(np.float64).view(np.uint64)
        return np.where(whole, np.where(whole, ids, 0).astype(np.int64).view(np.uint64), bits)
    with needs("A check of text ids", "pandas"):
        from pandas.util import hash_array

    return hash_array(ids, categorize=False)


def marks_of_rows(column):
    """Marks of a column that `ids` gave."""
    given = as_given(column)
    if isinstance(given, np.ndarray):
        return marks(given)
    if isinstance(given, list):
        return marks(object_array(given))
    encoded = column.combine_chunks().dictionary_encode()
    return marks(object_array(encoded.dictionary.to_pylist()))[encoded.indices.to_numpy()]


def to_bytes(batches):
    """An array that holds each batch, its schema with it, as bytes."""
    stream, ends = pa.BufferOutputStream(), [0]
    for batch in batches:
        with pa.ipc.new_stream(stream, batch.schema) as writer:
            writer.write_batch(batch)
        ends.append(stream.tell())
    buffers = [None, pa.py_buffer(np.array(ends, dtype=np.int64)), stream.getvalue()]
    return pa.Array.from_buffers(pa.large_binary(), len(ends) - 1, buffers)


def of_bytes(pieces):
    """The tables that `to_bytes` made bytes of, which come as buffers, whose memory they share."""
    for given in pieces:
        if given.address % 8:  # of bytes that came from elsewhere
            given = pa.py_buffer(given.to_pybytes())
        with pa.ipc.open_stream(given) as reader:
            yield reader.read_all()


def buffers(column):
    """What each row of a column of bytes holds."""
    return [row.as_buffer() for row in column]


def narrowed(column):
    """A column of numbers, as small whole numbers if all are."""
    given = column.to_numpy()
    with np.errstate(invalid="ignore"):
        small = given.astype(np.uint8)
    return pa.array(small) if (small == given).all() else column


def _plain(column):
    """A column without a dictionary, a UUID as its bytes, and text and bytes of one type each."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name == "arrow.uuid":
        return column.cast(kind.storage_type)
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if str(kind) in ("string", "string_view"):
        return column.cast(pa.large_string())
    if str(kind) in ("binary", "binary_view"):
        return column.cast(pa.large_binary())
    return column
