"""Read batches of rows from files, tables and streams."""

import glob
import os
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from pyarrow import compute, dataset, parquet

from skgraded._input.arrow import PARQUET_OPTIONS, convert_numbers, decode_column, is_table
from skgraded._input.tables import convert_library_errors, frame_of, refuse_unknown, take_rows
from skgraded.datasets.table_files import may_be_rounded, read_header
from skgraded.datasets.text_files import open_unpacked, read_blocks
from skgraded.large.jobs import Job

CSV = re.compile(r"\.[ct]sv(\.(gz|bz2|xz))?$", re.IGNORECASE)
PARQUET = re.compile(r"\.(parquet|pq)$", re.IGNORECASE)  # only used to find files in folders

Batches = Generator[tuple[str, Any], None, None]  # (name for error messages, batch) pairs
FolderColumns = dict[str, str | None]  # columns and values in folder names such as country=de
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"  # Hive's name for a missing value


def name_batches(source: Any, job: Job, n_rows: int) -> tuple[Batches, int | None]:
    """Return (name, batch) pairs and the total number of rows (None if unknown).

    Unless `partitioning` is "whole", batches from files and tables have at most `n_rows` rows.
    """
    listed = source if isinstance(source, (list, tuple)) else [source]
    if listed and all(isinstance(path, (str, os.PathLike)) for path in listed):
        paths = find_files(*listed)
        n_total = None if any(map(CSV.search, paths)) else sum(map(_count_rows, paths))
        return _read_files(paths, job, n_rows), n_total
    name = f"the {type(source).__name__}"
    if is_table(source):
        return _cut(name, [source], job, n_rows), len(source)
    with convert_library_errors(f"batches: {name}"):
        stream = _open_stream(source, job, n_rows)
    if stream is not None:
        return _cut(name, stream, job, n_rows), None
    if not isinstance(source, Iterable) or hasattr(source, "columns"):
        raise TypeError(
            "batches must be a table, an iterable of tables, or the path to Parquet or CSV files; "
            f"got {type(source).__name__}. For Dask and Spark, use skgraded.dask.evaluate "
            "and skgraded.spark.evaluate."
        )
    return ((f"batch {i}", batch) for i, batch in enumerate(source)), None


def _cut(name: str, batches: Iterable[Any], job: Job, n_rows: int) -> Batches:
    """Yield named slices of up to `n_rows` rows or, with "whole" partitioning, entire batches."""
    first = 0
    with convert_library_errors(f"batches: {name}"):
        for batch in batches:
            step = max(len(batch), 1) if job.partitioning == "whole" else n_rows
            for start in range(0, len(batch), step):
                rows = slice(start, start + step)
                yield f"{name} from row {first + start}", take_rows(batch, rows)
            first += len(batch)


# Streams -----------------------------------------------------------------------------------------


def _open_stream(source: Any, job: Job, n_rows: int) -> Iterable[Any] | None:
    """Return the batches of a source that can be read in batches, or None for other objects."""
    frame = frame_of(source)
    if hasattr(frame, "collect"):
        refuse_unknown(job.columns, frame.collect_schema().names())
        lazy = frame.select(list(job.columns)).to_native()
        if frame.implementation.is_polars():
            return lazy.collect_batches(chunk_size=n_rows, engine="streaming")
        if frame.implementation.is_duckdb():
            # Use a reader, because DuckDB 1 would hold a whole C stream in memory. DuckDB 2
            # deprecates fetch_arrow_reader.
            is_new = hasattr(lazy, "to_arrow_reader")
            source = (lazy.to_arrow_reader if is_new else lazy.fetch_arrow_reader)(n_rows)
    if hasattr(source, "scanner"):  # only a pyarrow Dataset has this method
        refuse_unknown(job.columns, source.schema.names)
        is_parquet = isinstance(getattr(source, "format", None), dataset.ParquetFileFormat)
        options = dataset.ParquetFragmentScanOptions(**PARQUET_OPTIONS) if is_parquet else None
        # By default, Arrow would read dozens of batches in advance.
        source = source.scanner(
            columns=list(job.columns),
            batch_size=n_rows,
            batch_readahead=1,
            fragment_readahead=1,
            use_threads=False,
            fragment_scan_options=options,
        )
    is_stream = hasattr(source, "__arrow_c_stream__") or hasattr(source, "to_reader")
    return _read_stream(source) if is_stream else None


def _read_stream(source: Any) -> Iterator[Any]:
    """Yield the batches of a pyarrow Scanner or of an object that supports Arrow's C stream."""
    if hasattr(source, "to_reader"):
        source = source.to_reader()
    if not isinstance(source, pa.RecordBatchReader):
        source = pa.RecordBatchReader.from_stream(source)
    with source:
        yield from source


# Files -------------------------------------------------------------------------------------------


def find_files(*paths: str | os.PathLike[str]) -> list[str]:
    """Return the files for paths, folders and patterns; raise a ValueError if a file occurs twice.

    The files of each path are sorted by name in natural order.
    """
    files: dict[str, str] = {}  # names of the files, keyed by real path
    for given in paths:
        path = os.fspath(given)
        matched = [path] if os.path.exists(path) else glob.glob(path, recursive=True)
        names = {file for name in matched for file in _list_tables(name)}
        if not names:
            raise FileNotFoundError(2, "no Parquet or CSV file found", path)
        # With leading zeros, numbers sort in natural order.
        for name in sorted(names, key=lambda name: re.sub(r"\d+", lambda n: n[0].zfill(20), name)):
            real = os.path.realpath(name)
            if real in files:
                raise ValueError(
                    f"batches contains the same file twice, as {files[real]} and as {name}: pass "
                    "each file only once."
                )
            files[real] = name
    return list(files.values())


def _list_tables(path: str) -> list[str]:
    """List the Parquet files in a folder or, if there are none, its CSV files.

    Raise a ValueError if the folder contains files of other types, unless they are hidden.
    """
    if not os.path.isdir(path):
        return [path]
    files = []
    for folder, folders, names in os.walk(path, followlinks=True):
        folders[:] = [name for name in folders if name[0] not in "._"]  # hidden folders are skipped
        files += [os.path.join(folder, name) for name in names if name[0] not in "._"]
    tables = [*filter(PARQUET.search, files)] or [*filter(CSV.search, files)]
    if len(tables) < len(files):
        raise ValueError(
            f"The folder {path} must contain only Parquet files (.parquet, .pq) or only CSV files "
            f"(.csv, .tsv), but it contains {min(set(files) - set(tables))}: move this file, or "
            "pass a glob pattern that matches the files to read."
        )
    return tables


def _read_files(paths: list[str], job: Job, n_rows: int) -> Batches:
    """Yield the batches of each file or, with "whole" partitioning, one table per file."""
    for path in paths:
        read = _stream_csv if CSV.search(path) else _stream_parquet
        # In a Hive layout, folders have names such as day=2026-11-01.
        pairs = (folder.partition("=") for folder in PurePath(path).parent.parts)
        folders: FolderColumns = {
            unquote(key): None if value == HIVE_NULL else unquote(value)
            for key, equals, value in pairs
            if key and equals
        }
        batches = read(path, folders, job, n_rows)
        if folders:
            batches = (_add_folder_columns(batch, folders, job, path) for batch in batches)
        yield from _cut(path, batches, job, n_rows)


def _require_columns(path: str, names: list[str], folders: FolderColumns, job: Job) -> list[str]:
    """Return the required columns in a file; raise an error if folder names lack the others."""
    only_folders = [name for name in folders if name not in names]
    refuse_unknown(job.columns, [*names, *only_folders], f"{path}: ")
    return [name for name in job.columns if name not in only_folders]


def _count_rows(path: str) -> int:
    with _open_parquet(path) as file:
        return file.metadata.num_rows


@contextmanager
def _open_parquet(path: str) -> Iterator[Any]:
    with (
        convert_library_errors(f"{path}: the Parquet file"),
        parquet.ParquetFile(path, **PARQUET_OPTIONS) as file,
    ):
        yield file


def _stream_parquet(path: str, folders: FolderColumns, job: Job, n_rows: int) -> Iterator[Any]:
    with _open_parquet(path) as file:
        columns = _require_columns(path, file.schema_arrow.names, folders, job)
        if job.partitioning == "whole":
            yield file.read(columns, use_threads=False)
        else:
            yield from file.iter_batches(n_rows, columns=columns, use_threads=False)


def _stream_csv(path: str, folders: FolderColumns, job: Job, n_rows: int) -> Iterator[Any]:
    """Read query ids, segments and document ids as text, and all other columns as float64.

    Starting with the first block in which float64 may round a score, `_parse_integers` parses the
    scores.
    """
    with closing(read_blocks(path, path)) as parts:
        header = read_header(parts, path)
    columns = _require_columns(path, header[-1], folders, job)
    scores = [name for name in job.y_score if name in columns and name not in job.ids]
    n_blocks = 0
    for table in _parse_csv(path, columns, job, header, []):
        if any(may_be_rounded(convert_numbers(table[name])) for name in scores):
            break
        n_blocks += 1
        yield table
    else:
        return
    for table in islice(_parse_csv(path, columns, job, header, scores), n_blocks, None):
        values = {name: table[name] for name in columns}
        yield pa.table(values | {name: _parse_integers(table[name]) for name in scores})


def _parse_csv(
    path: str, columns: list[str], job: Job, header: tuple[int, str, list[str]], texts: list[str]
) -> Iterator[pa.Table]:
    """Yield the blocks of a CSV file as tables; `texts` lists additional text columns."""
    from skgraded.datasets.arrow_csv import NUMBERS, TEXTS, open_table

    n_blank, separator, _ = header
    texts = [*job.ids, *texts]
    types = {name: TEXTS if name in texts else NUMBERS for name in columns}
    with (
        convert_library_errors(f"{path}: the CSV file"),
        open_unpacked(path) as file,
        open_table(file, n_blank, separator, types) as reader,
    ):
        is_whole = job.partitioning == "whole"
        for batch in [reader.read_all()] if is_whole else reader:
            yield batch if is_whole else pa.Table.from_batches([batch])


def _parse_integers(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Parse numbers as int64 if all of them are integers in the int64 range, else as float64."""
    try:
        return texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return texts.cast(pa.float64())


# Hive layout: folders such as day=2026-11-01/country=de -------------------------------------------


def _add_folder_columns(
    batch: pa.Table | pa.RecordBatch, folders: FolderColumns, job: Job, path: str
) -> pa.Table:
    """Add required columns from folder names; if the file has such a column, compare the values."""
    table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
    for name in job.columns:
        if name not in table.column_names:
            value = pa.scalar(folders[name], pa.large_string())
            table = table.append_column(name, pa.repeat(value, table.num_rows))
        elif name in folders:
            _refuse_other_values(decode_column(table[name]), folders[name], name, path)
    return table


def _refuse_other_values(
    column: pa.ChunkedArray, expected: str | None, name: str, path: str
) -> None:
    """Raise a ValueError unless all values of a column equal the value in the folder name."""
    kind = column.type
    is_time = pa.types.is_timestamp(kind)
    try:
        values = pa.array([expected], pa.large_string())
        # Times in folder names are in UTC.
        values = values.cast(pa.timestamp(kind.unit) if is_time else kind).cast(kind)
        is_equal = compute.is_in(column, values).to_numpy()
    except pa.ArrowException:  # raised if the text is not a value of this type
        is_equal = np.zeros(len(column), dtype=bool)
    if not is_equal.all():
        value = column[int(is_equal.argmin())].as_py()
        raise ValueError(
            f"{path}: column {name!r} contains {value!r}, but the folder name states "
            f"{expected!r}. Rename the column or the folder."
        )
