"""Errors about the input of `evaluate_batches`; most are raised by code that all engines share."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from large_tables import COLUMNS, MEASURES, table

import skgraded as sg

ONE = table(3)
LONG = table()
INVALID_TEXT = pa.table(
    {
        "grade": [1, 0],
        "score": [1, 2],
        "weight": [1, 1],
        "query": pa.array([b"a", b"\xff"], pa.binary()).view(pa.string()),
    }
)
OBJECTS = pl.from_pandas(ONE).with_columns(pl.Series("query", [{1}] * len(ONE), pl.Object))
PERIODS = pd.period_range("2026-01", freq="M", periods=len(ONE))
NESTED = pl.from_pandas(ONE).with_columns(nested=pl.Series([{"a": 1}] * len(ONE)))
UNSIGNED = ONE.assign(score=np.full(len(ONE), 2**64 - 1, dtype=np.uint64))
UNJUDGED = ONE.assign(grade=[np.nan] + [1.5] * (len(ONE) - 1))


def with_value(column, value):
    """Return two batches; row 17 of the second batch has the value."""
    frame = LONG.astype({"query": object}) if column == "query" else LONG.copy()
    frame.loc[117, column] = value
    return [frame[:100], frame[100:]]


V, T = ValueError, TypeError
# (error, message, batches, settings)
BATCHES = [
    (V, "partitioning must be one of", [ONE], {"partitioning": "sorted"}),
    (T, "y_true must be the name of a column; got ndarray", [ONE], {"y_true": np.ones(3)}),
    (V, "y_score must be a column name or a list of at least two", [ONE], {"y_score": ["score"]}),
    (V, "unjudged_documents must be", [ONE], {"unjudged_documents": "keep"}),
    (V, "nonsense", [ONE], {"measures": "nonsense"}),
    (T, "document must be the name of a column; got int", [ONE], {"document": 1}),
    (V, "duplicates must be one of", [ONE], {"duplicates": "keep"}),
    (
        V,
        "'doc' .document. contains NaN in row 0, query .*: fill in the missing document ids",
        [ONE.assign(doc=np.nan)],
        {"document": "doc"},
    ),
    (
        T,
        "document must have the same type in all batches",
        [ONE.assign(doc="a"), ONE.assign(doc=1)],
        {"document": "doc"},
    ),
    (T, "batches must be a table, an iterable of tables, or the path", 7, {}),
    (T, "Expected a pandas or polars DataFrame, an .*; got dict", [{"grade": [1]}], {}),
    (
        V,
        "Several columns are named .*: rename all but one",
        [ONE.rename(columns={"other": "grade"})],
        {},
    ),
    (
        T,
        "In batch 0, .*'query' with dtype object cannot be converted to .*, as required for qid",
        [ONE.assign(query=[1, "1"] + [2] * (len(ONE) - 2))],
        {},
    ),
    (T, "Column 'query' with dtype Object cannot be converted to a single", [OBJECTS], {}),
    (T, "Column 'score' with dtype complex128", [ONE.assign(score=1j)], {}),
    (T, "y_score must contain numbers", [ONE.assign(score="high")], {}),
    (V, "can't decode byte", [INVALID_TEXT], {}),
    (
        V,
        "qid must contain .* or dates; its type is list",
        [ONE.assign(query=[["a"]] * len(ONE))],
        {},
    ),
    *(
        (V, f"{argument} must contain .*; its type is struct", [NESTED], {argument: "nested"})
        for argument in ("qid", "by", "document")
    ),
    (T, "y_score must contain numbers; row 0 is {'a': 1}", [NESTED], {"y_score": "nested"}),
    (V, "qid must contain .* or dates; its type is extension", [ONE.assign(query=PERIODS)], {}),
    (
        (V, T),
        "(its type is extension|with dtype category cannot be converted)",  # pandas 3 or 2
        [ONE.assign(query=pd.Categorical(PERIODS))],
        {},
    ),
    (
        T,
        "In batch 1, .*Column 'query' .* cannot be converted",
        with_value("query", "\ud800"),
        {},
    ),
    (
        T,
        "by 'country' must have the same type in all batches",
        [ONE.assign(country="de"), ONE.assign(country=1)],
        {"by": "country"},
    ),
    (
        T,
        "qid must .*; got int64 and large_string",
        [ONE, ONE.astype({"query": str})],
        {},
    ),
    *(
        (V, "y_score must have the same type in all .* no common type", [UNSIGNED, other], {})
        for other in (ONE, ONE.assign(score=-ONE.index))
    ),
    (T, "Expected a pandas or polars DataFrame, an .*; got Series", [ONE["score"]], {}),
    (
        V,
        "In batch 1, where rows are numbered from 0: y_true must be finite; got inf for row 17",
        with_value("grade", np.inf),
        {},
    ),
    (V, "y_true must contain only grades ≥ 0; got -1 for row 17", with_value("grade", -1.0), {}),
    (
        V,
        "'grade' .y_true. contains NaN in row 17, query .*: set unjudged_documents to "
        "'irrelevant' .* or 'drop'",
        with_value("grade", np.nan),
        {},
    ),
    (
        V,
        "max_grade is 1, but y_true contains grade 1.5",
        [UNJUDGED],
        {"measures": "ndcng(max_grade=1)", "unjudged_documents": "drop"},
    ),
    (
        V,
        "'score' .y_score. contains NaN in row 17, query .*: use the score -inf",
        with_value("score", np.nan),
        {},
    ),
    (V, "sample_weight must be finite and ≥ 0; got -2 for row 17", with_value("weight", -2.0), {}),
    *(
        (
            V,
            f"batch 0, .*: {name} contains 16777216.0 in row 1, but float32 represents",
            [
                ONE.assign(other=np.float32(2**24) * (np.arange(len(ONE)) > 0)).astype(
                    {"other": "f4"}
                )
            ],
            {name: "other"},
        )
        for name in ("qid", "by")
    ),
    (V, "'query' .qid. contains (NaN|null) in row 17: fill in", with_value("query", None), {}),
]


@pytest.mark.parametrize(("error", "message", "batches", "settings"), BATCHES)
def test_batches_or_settings_are_refused(error, message, batches, settings):
    with pytest.raises(error, match=message):
        sg.evaluate_batches(batches, **{"measures": MEASURES} | COLUMNS | settings)


ROWS = {"grade": [1, 0], "score": [2, 1], "query": ["a", "a"]}
LAYOUTS = [  # paths of files, a column in the files, message
    (["day=1/0", "country=de/0"], {}, "de/0.parquet: There is no column 'day'"),
    (["day=__HIVE_DEFAULT_PARTITION__/0"], {}, "'day' .by. contains null in row 0, query"),
    (["days=1/0"], {}, "no column 'day'. .* 'query', 'days'. Did you mean 'days'"),
    *(
        ([f"day={folder}/0"], {"day": day}, f"day' contains {value}, but the folder .* {expected}")
        for folder, day, value, expected in [
            ("de", ["fr", "fr"], "'fr'", "'de'"),
            ("de", pa.array(["de", "fr"]).dictionary_encode(), "'fr'", "'de'"),
            ("1", [1, 2], "2", "'1'"),
            ("01", ["1", "1"], "'1'", "'01'"),
            ("1", ["1", None], "None", "'1'"),
            ("x", [1, 1], "1", "'x'"),
            ("2026-11-01", pa.array([0, 0], pa.date32()), "datetime.date.*", "'2026-11-01'"),
            ("__HIVE_DEFAULT_PARTITION__", ["", ""], "''", "None"),
        ]
    ),
]


@pytest.mark.parametrize(("paths", "columns", "message"), LAYOUTS)
def test_folders_that_disagree_are_refused(tmp_path, paths, columns, message):
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(ROWS | columns), tmp_path / f"{path}.parquet")
    with pytest.raises(ValueError, match=message):
        sg.evaluate_batches(tmp_path, "grade", "score", "query", by="day")


# (name of a file, content, message)
FILES = [
    ("a.parquet", b"text", r"a\.parquet: the Parquet file cannot be read"),
    ("a.parquet", pa.table({"grade": [1]}), r"a\.parquet: There is no column 'score'"),
    (
        "a.parquet",
        pa.table({"grade": [1, 1], "score": [1, np.nan], "query": ["a", "b"]}),
        r"a\.parquet from row 0, where .* contains NaN in row 1, query 'b'",
    ),
    ("a.csv", b"", "a.csv: line 1: expected a row of column names, but the file is empty"),
    (
        "a.csv.gz",
        gzip.compress(b"grade,score,query\n1,2,a\n")[:-9],
        r"a\.csv\.gz: the compressed data are damaged",
    ),
    ("a.csv", b"\0\1\2", "a.csv: line 1: .*or neither UTF-8 text nor Parquet"),
    ("a.csv", b"grade,score,query\n", "y_true is empty"),
    (
        "a.csv",
        b"grade,scores,query\n1,2,a\n",
        "a.csv: There is no column 'score'. Available "
        "columns: 'grade', 'scores', 'query'. Did you mean 'scores'",
    ),
    ("a.csv", b"grade,score,score,query\n1,2,3,a\n", "a.csv: Several columns are named 'score'"),
    (
        "a.csv",
        b"grade,score,query\n1,2,a\n1,high,a\n",
        "a.csv: the CSV file cannot be read: .*Row #3: .* invalid value 'high'",
    ),
    (
        "a.tsv",
        b"grade\tscore\tquery\n1\t2\n",
        "a.tsv: the CSV file cannot be read: .*Expected 3 columns, got 2: 1 2",
    ),
    (
        "a.csv",
        b"grade,score,query\n1,2,\xff\n",
        "a.csv: the CSV file cannot be read: .*invalid UTF8",
    ),
    (
        "a.csv",
        b"grade,score,query\n1,2,a\n1,2,\n",
        "column 'query' .qid. contains null in row 1: fill in the missing ids",
    ),
    (
        "a.csv",
        b"grade,score,query\n1,,a\n",
        "column 'score' .y_score. contains null in row 0, query 'a'",
    ),
]


@pytest.mark.parametrize(("name", "content", "message"), FILES, ids=[row[2] for row in FILES])
def test_files_are_refused_with_one_clear_error(tmp_path, name, content, message):
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    else:
        pq.write_table(content, tmp_path / name)
    with pytest.raises(ValueError, match=message) as info:
        sg.evaluate_batches(tmp_path, "grade", "score", "query")
    assert "\n" not in str(info.value)


def test_a_folder_without_tables_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no Parquet or CSV file found"):
        sg.evaluate_batches(tmp_path, "grade", "score", "query")


@pytest.mark.parametrize("name", ["rows.csv", "rows.orc", "part-1", "day=1/rows.parquet.tmp"])
def test_a_file_of_another_kind_in_a_folder_is_named(tmp_path, name):
    pq.write_table(pa.table(ROWS), tmp_path / "0.parquet")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=f"must contain only Parquet .*contains .*{name}: move"):
        sg.evaluate_batches(tmp_path, "grade", "score", "query")
    with pytest.raises(ValueError, match=f"contains .*{name}: move this file, or pass a glob"):
        sg.evaluate_batches(f"{tmp_path}*", "grade", "score", "query")
    assert sg.evaluate_batches(f"{tmp_path}/*.parquet", "grade", "score", "query", "rr").n_queries
