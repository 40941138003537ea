"""Sources of batches: single tables, streams, Datasets, LazyFrames, DuckDB and CSV files."""

from datetime import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from large_tables import (
    in_memory,
    measured,
    mixed,
    table,
)

import skgraded as sg
from skgraded.cli import main
from skgraded.datasets import arrow_csv

HAS_STREAMS = hasattr(pa.RecordBatchReader, "from_stream")
HAS_LAZY_BATCHES = hasattr(pl.LazyFrame, "collect_batches")
UNWEIGHTED = {"y_true": "grade", "y_score": "score", "qid": "query"}


class Stream:
    """A table that supports nothing but Arrow's C stream, from which it yields small batches."""

    def __init__(self, frame):
        self.rows = pa.Table.from_pandas(frame, preserve_index=False)

    def __arrow_c_stream__(self, requested_schema=None):
        batches = self.rows.to_batches(max_chunksize=300)
        reader = pa.RecordBatchReader.from_batches(self.rows.schema, batches)
        return reader.__arrow_c_stream__(requested_schema)


def duckdb_relation(frame):
    duckdb = pytest.importorskip("duckdb")
    return duckdb.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))


def streamed(frame):
    if not HAS_STREAMS:
        pytest.skip("pyarrow 14 has no RecordBatchReader.from_stream")
    return Stream(frame)


def lazy(frame):
    if not HAS_LAZY_BATCHES:
        pytest.skip("polars before 1.34 has no LazyFrame.collect_batches")
    return pl.from_pandas(frame).lazy()


SOURCES = {
    "pandas": lambda frame: frame,
    "pandas, float index": lambda frame: frame.set_index(np.linspace(0, 1, len(frame))),
    "polars": pl.from_pandas,
    "Arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "Arrow batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
    "scanner": lambda frame: ds.dataset(pa.Table.from_pandas(frame, preserve_index=False)).scanner(
        batch_size=300
    ),
    "reader": lambda frame: pa.Table.from_pandas(frame, preserve_index=False).to_reader(300),
    "stream": streamed,
    "Dataset": lambda frame: ds.dataset(pa.Table.from_pandas(frame, preserve_index=False)),
    "LazyFrame": lazy,
    "DuckDB": duckdb_relation,
}


@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
@pytest.mark.parametrize("kind", SOURCES)
def test_a_single_table_of_any_kind_gives_the_summary_of_its_rows(kind, text, small_steps):
    frame = table(text=text)
    expected = sg.Summary.of(in_memory(frame))
    assert measured(SOURCES[kind](frame), "clustered") == expected
    assert measured(SOURCES[kind](mixed(frame))) == expected


@pytest.mark.parametrize("kind", ["pandas", "polars", "Arrow", "Arrow batch"])
def test_a_single_table_is_a_whole_part(kind, small_steps):
    frame = table()
    shuffled = SOURCES[kind](mixed(frame))
    assert measured(shuffled, "whole") == sg.Summary.of(in_memory(frame))


@pytest.mark.parametrize("kind", SOURCES)
def test_a_missing_column_is_named(kind):
    source = SOURCES[kind](table(3).rename(columns={"score": "scores"}))
    with pytest.raises(ValueError, match="There is no column 'score'.* Did you mean 'scores'"):
        measured(source)


def test_an_error_names_the_table_and_the_row(small_steps):
    frame = table()
    frame.loc[frame.index[250], "score"] = np.nan
    message = "In the DataFrame from row 200, where .* contains NaN in row 50, query"
    with pytest.raises(ValueError, match=message):
        measured(frame)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda frame: frame.with_columns(score=pl.col("other").cast(int)),
            "conversion from `str`",
        ),
        (lambda frame: frame.with_columns(pl.col("unknown")), ".*unknown"),
    ],
)
def test_errors_of_polars_name_the_argument(change, message):
    with pytest.raises(ValueError, match=f"^batches: the LazyFrame cannot be read: {message}"):
        measured(change(lazy(table(3))))


# Hive layout -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_keys_of_folders_are_text_columns(form, tmp_path, small_steps):
    frame = table(text=True)
    query = pd.factorize(frame["query"])[0]
    frame["day"] = np.where(query % 2, "2026-11-01", "02")
    frame["country"] = np.array(["de", "a/b", "é=1", "x y"])[query // 2 % 4]
    ds.write_dataset(
        pa.Table.from_pandas(frame, preserve_index=False),
        tmp_path / "logs",
        format=form,
        partitioning=["day", "country"],
        partitioning_flavor="hive",
    )
    for partitioning in ("shuffle", "clustered", "whole"):
        for by in ("day", "country"):
            expected = measured(frame, by=by)
            assert measured(tmp_path / "logs", partitioning, by=by).segments == expected.segments
    is_part = (frame["day"] == "02") & (frame["country"] == "a/b")
    expected = measured(frame[is_part], by="day")
    for pattern in ("day=02/country=a%2Fb", "day=0*/*=a%2Fb/*", f"day=02/*a%2Fb/part-*.{form}"):
        assert measured(f"{tmp_path}/logs/{pattern}", by="day") == expected
    assert measured(tmp_path / "logs", qid="country") == measured(frame, qid="country")


MIDNIGHT = datetime(2026, 11, 1)
EQUAL = [  # name of a folder, equal values in the files, segment
    ("01", pa.array([1, 1], pa.int8()), 1),
    ("0.5", pa.array([0.5, 0.5], pa.float32()), 0.5),
    ("true", pa.array([True, True]), True),
    ("d%2Fe", pa.array(["d/e", "d/e"]).dictionary_encode(), "d/e"),
    ("de", pa.array([b"de", b"de"]), b"de"),
    ("1.50", pa.array([Decimal("1.5")] * 2), Decimal("1.5")),
    ("2026-11-01", pa.array([MIDNIGHT.date()] * 2), "2026-11-01"),
    ("2026-11-01", pa.array([MIDNIGHT] * 2), "2026-11-01"),
    ("2026-11-01", pa.array([MIDNIGHT] * 2, pa.timestamp("ns", "UTC")), "2026-11-01"),
    ("2026-11-01 05%3A00%3A00", pa.array([MIDNIGHT.replace(hour=5)] * 2), "2026-11-01T05:00:00"),
]


@pytest.mark.parametrize(("folder", "day", "segment"), EQUAL, ids=lambda part: str(part)[-20:])
def test_a_column_in_the_file_may_repeat_the_folder_name(folder, day, segment, tmp_path):
    rows = pa.table({"grade": [1, 0], "score": [2, 1], "query": ["a", "a"], "day": day})
    (tmp_path / f"day={folder}").mkdir()
    pq.write_table(rows, tmp_path / f"day={folder}" / "rows.parquet")
    for partitioning in ("shuffle", "whole"):
        summary = sg.evaluate_batches(
            tmp_path, **UNWEIGHTED, measures="rr", by="day", partitioning=partitioning
        )
        assert list(summary.segments) == [segment]


# Parquet -----------------------------------------------------------------------------------------


@pytest.mark.skipif(int(pa.__version__.split(".")[0]) < 15, reason="pyarrow 14 reads no checksums")
def test_a_damaged_page_of_a_parquet_file_is_an_error(tmp_path, capsys):
    path = tmp_path / "rows.parquet"
    rows = pa.table({"query": ["a", "a"], "grade": [1, 0], "score": [2.0, 1.0]})
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    pq.write_table(rows, path, **options)
    assert sg.evaluate_batches(path, **UNWEIGHTED, measures="rr").mean() == {"RR": 1}
    pages = pq.read_metadata(path).row_group(0).column(2)
    data = bytearray(path.read_bytes())
    # The score 1 becomes inf.
    data[pages.data_page_offset + pages.total_compressed_size - 1] ^= 0x40
    path.write_bytes(data)
    for source, name in [(path, str(path)), (tmp_path, str(path)), (ds.dataset(path), "batches")]:
        with pytest.raises(ValueError, match=f"^{name}: the .* cannot be read: .*checksum"):
            sg.evaluate_batches(source, **UNWEIGHTED, measures="rr")
    assert main(["evaluate", str(path), "-m", "rr"]) == 2
    assert f"{path}: the Parquet file cannot be read: " in capsys.readouterr().err


# CSV ---------------------------------------------------------------------------------------------


def evaluated(path, text, partitioning="shuffle", measures="rr", **others):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return sg.evaluate_batches(
        path, **UNWEIGHTED, measures=measures, partitioning=partitioning, **others
    )


def test_queries_and_segments_of_csv_are_text(tmp_path):
    rows = 'grade,score,query,country\n1,1,007,NA\n0,2,007,NA\n1,2,7,"a\nb"\n0,1,7,"a\nb"\n'
    summary = evaluated(tmp_path / "rows.csv", rows, by="country")
    assert summary.mean()["RR"] == (1 / 2 + 1) / 2
    assert summary.worst(2)["query_id"].tolist() == ["007", "7"]
    assert set(summary.segments) == {"NA", "a\nb"}


@pytest.mark.parametrize("partitioning", ["clustered", "whole", "shuffle"])
def test_large_whole_numbers_of_csv_are_exact(tmp_path, partitioning, monkeypatch):
    monkeypatch.setattr(arrow_csv, "BLOCK", 1000)  # the first blocks contain only small numbers
    scores = [*range(600), *(2**60 + i for i in range(60))]  # three rows per query
    rows = "".join(f"{int(i % 3 == 1)},{score},{i // 3}\n" for i, score in enumerate(scores))
    path = tmp_path / "rows.csv"
    summary = evaluated(path, f"grade,score,query\n{rows}", partitioning)
    assert summary.summary()["n_queries"].item() == 220 and summary.mean()["RR"] == 1 / 2
    text = f"grade,score,query\n0,{2**60},a\n1,.5,a\n0,-inf,a\n"  # read as float64
    assert evaluated(path, text, partitioning).mean()["RR"] == 1 / 2


@pytest.mark.parametrize("blank", ["\n", "\r\n\r\n", "\ufeff\n \t\n"])
def test_blank_lines_before_the_header_of_csv_are_skipped(tmp_path, blank):
    rows = f"{blank}grade,score,query\n1,.5,a\n0,.4,a\n"
    for name in ("rows.csv", "rows.csv.gz"):  # without compression, despite the extension
        assert evaluated(tmp_path / name, rows).mean()["RR"] == 1


def test_empty_grades_of_csv_are_unjudged_documents(tmp_path):
    rows = "grade,score,query\n,3,a\n1,2,a\n0,1,a\n"
    with pytest.raises(ValueError, match=r"rows\.csv from row 0, .*'grade' .* null in row 0"):
        evaluated(tmp_path / "rows.csv", rows)
    summary = evaluated(tmp_path / "rows.csv", rows, unjudged_documents="irrelevant")
    assert summary.mean()["RR"] == 1 / 2


# Sizes of batches --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pandas", "Arrow", "Dataset", "LazyFrame", "CSV"])
def test_batches_have_at_most_the_rows_of_a_batch(kind, tmp_path, monkeypatch):
    from skgraded.large import batches, parts

    sizes = []
    check_rows = parts.check_rows
    monkeypatch.setattr(batches, "ROWS", 500)
    monkeypatch.setattr(
        parts,
        "check_rows",
        lambda part, *others: sizes.append(len(part)) or check_rows(part, *others),
    )
    frame = table(1000)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    source = tmp_path / "rows.csv" if kind == "CSV" else SOURCES[kind](frame)
    measured(source)
    assert max(sizes) == 500 and sum(sizes) == len(frame)
