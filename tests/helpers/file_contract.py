"""The contract about files with different types, corrupt files, and queries of extreme sizes.

Only `evaluate_batches` opens the files itself, so the tests of other engines run nightly.
"""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from large_tables import in_memory, mixed, pieces, table, whole_pieces

import skgraded as sg


def arrow_parts(frame, n):
    """Arrow tables of whole queries."""
    return [pa.Table.from_pandas(part, preserve_index=False) for part in whole_pieces(frame, n)]


def written(folder, parts, **options):
    for i, part in enumerate(parts):
        pq.write_table(part, folder / f"part-{i}.parquet", **options)
    return folder


def with_type(name, kind):
    """Return a function that converts a column of a table."""
    return lambda rows: with_column(rows, name, rows[name].cast(kind))


def with_column(rows, name, values):
    return rows.set_column(rows.column_names.index(name), name, values)


SAME_VALUES = {
    False: [
        with_type("query", pa.int32()),
        with_type("grade", pa.float32()),
        with_type("score", pa.float32()),
        lambda rows: rows.append_column("more", pa.array(range(len(rows)))),
        lambda rows: rows.select(rows.column_names[::-1]),
        lambda rows: rows.drop_columns("other"),
    ],
    True: [
        with_type("query", pa.large_string()),
        lambda rows: with_column(rows, "query", rows["query"].dictionary_encode()),
        lambda rows: rows.select(rows.column_names[::-1]),
    ],
}


IN_FILE = "part-1.parquet"
SAME_TYPE = "qid must have the same type in all"
# For each change of a file: the error of each engine. Without an error, no value may change.
OTHER_TYPES = {
    "text ids": (
        with_type("query", pa.string()),
        {
            "batches": SAME_TYPE,
            "dask": SAME_TYPE,
            "spark": IN_FILE,
        },
    ),
    "float ids": (
        with_type("query", pa.float64()),
        {
            "batches": SAME_TYPE,
            "dask": SAME_TYPE,
            "spark": IN_FILE,
        },
    ),
    "integer grades": (
        lambda rows: with_column(rows, "grade", rows["grade"].cast(pa.int64(), safe=False)),
        {"spark": IN_FILE},
    ),
    "text scores": (
        with_type("score", pa.string()),
        {
            "batches": f"{IN_FILE} .* y_score must contain numbers",
            "dask": "partition 1, .* y_score must contain numbers",
            "spark": IN_FILE,
        },
    ),
    "null ids": (
        lambda rows: with_column(rows, "query", pa.nulls(len(rows))),
        dict.fromkeys(
            ["batches", "dask", "spark"],
            "'query' .qid. contains null in row .*: fill in",
        ),
    ),
    "no grades": (
        lambda rows: rows.drop_columns("grade"),
        {
            "batches": f"{IN_FILE}: There is no column 'grade'",
            "dask": "'grade'. not in index",
            "spark": "'grade' .y_true. contains null",
        },
    ),
}


CORRUPT = {
    "truncated": lambda data: data[:-300],
    "overwritten with zeros": lambda data: data[:200] + bytes(1000) + data[1200:],
}


class FileContract:
    """Each test reads a folder of Parquet files or measures an unusual table."""

    @pytest.mark.parametrize(("text", "partitioning"), [(False, "shuffle"), (True, "clustered")])
    def test_files_with_compatible_columns_give_the_summary_of_all_rows(
        self, engine, tmp_path, text, partitioning
    ):
        frame = table(100, text)
        frame["score"] = frame["score"].astype("float32").astype(float)
        changes = [lambda rows: rows, *SAME_VALUES[text]]
        parts = arrow_parts(frame, len(changes))
        folder = written(tmp_path, [f(part) for f, part in zip(changes, parts, strict=True)])
        assert engine.measured(folder, partitioning) == sg.Summary.of(in_memory(frame))

    @pytest.mark.parametrize("kind", OTHER_TYPES)
    def test_a_file_with_different_types_is_an_error_or_changes_nothing(
        self, engine, tmp_path, kind
    ):
        change, errors = OTHER_TYPES[kind]
        frame = table(40)
        frame["grade"] = (2 * frame["grade"]).astype(float)
        first, second, third = arrow_parts(frame, 3)
        folder = written(tmp_path, [first, change(second), third])
        if engine.name in errors:
            with pytest.raises(Exception, match=errors[engine.name]):
                engine.measured(folder, "clustered")
        else:
            assert engine.measured(folder, "clustered") == sg.Summary.of(in_memory(frame))

    @pytest.mark.parametrize("kind", CORRUPT)
    def test_a_corrupt_file_is_named(self, engine, tmp_path, kind):
        written(tmp_path, arrow_parts(table(), 3))
        path = tmp_path / IN_FILE
        path.write_bytes(CORRUPT[kind](path.read_bytes()))
        # Dask's errors do not name the file.
        is_unnamed = engine.name == "dask"
        message = "Parquet magic bytes not found|end of stream" if is_unnamed else IN_FILE
        with pytest.raises(Exception, match=message):
            engine.measured(tmp_path, "clustered")

    def test_one_query_with_half_of_the_rows(self, engine, small_steps):
        frame = table(200)
        first, second = whole_pieces(frame, 2)
        frame = pd.concat([first, frame.assign(query=-1, weight=1.0), second], ignore_index=True)
        expected = sg.Summary.of(in_memory(frame))
        assert engine.measured(pieces(mixed(frame), 5)[1:]) == expected
        assert engine.measured(pieces(frame, 12)[1:], "clustered") == expected
