"""What every engine for large tables promises, however the rows are split into parts."""

import datetime
import decimal
from dataclasses import replace
from itertools import cycle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from large_tables import COLUMNS, in_memory, mixed, pieces, table, torn_off, whole_pieces

import skgraded as sg

# pyspark leaves sockets open.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

PARTITIONINGS = ["shuffle", "clustered", "whole"]
WITH_IDS = [("shuffle", True), ("clustered", False), ("whole", True)]


def parts_of(frame, partitioning, n=3):
    """The frame cut as the partitioning allows."""
    if partitioning == "whole":
        return whole_pieces(frame, n)
    return pieces(mixed(frame) if partitioning == "shuffle" else frame, n + 1)[1:]


# Values ------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("partitioning", "text"), WITH_IDS)
def test_the_summary_is_that_of_all_rows_in_memory(engine, partitioning, text, small_steps):
    frame = table(text=text)
    summary = engine.measured(parts_of(frame, partitioning), partitioning)
    expected = sg.Summary.of(in_memory(frame))
    assert summary == expected
    assert summary.to_json() == expected.to_json()


def test_several_systems_and_no_weights(engine):
    frame = table().assign(other=lambda rows: np.roll(rows["score"], 1))
    summaries = engine.measured(
        pieces(frame, 3), "clustered", y_score=["score", "other"], sample_weight=None
    )
    assert summaries == sg.Summaries.of({
        "score": in_memory(frame, weighted=False),
        "other": in_memory(frame.assign(score=frame["other"]), weighted=False),
    })


DAY = datetime.date(2020, 1, 2)
IDS = {
    "float": [1.5, 1.5, 2.0],
    "date": [DAY, DAY, datetime.date(2020, 1, 3)],
    "datetime": [datetime.datetime(2020, 1, 2)] * 2 + [datetime.datetime(2020, 1, 3)],
    "decimal": [decimal.Decimal("1.50")] * 2 + [decimal.Decimal("2.25")],
    "bytes": [b"a", b"a", b"b"],
}


@pytest.mark.parametrize(
    ("kind", "partitioning"), list(zip(IDS, cycle(PARTITIONINGS), strict=False))
)
def test_ids_of_any_type(engine, kind, partitioning):
    ids = pa.array(IDS[kind])
    rows = pd.DataFrame({"grade": [1, 0, 1], "score": [1, 2, 1]})
    rows["query"] = pd.arrays.ArrowExtensionArray(ids)
    parts = [rows[:2], rows[2:]] if partitioning == "whole" else [rows[:1], rows[1:]]
    summary = engine.measured(parts, partitioning, "rr", sample_weight=None)
    assert summary.mean()["RR"] == (1 / 2 + 1) / 2
    first, worst = ids[0].as_py(), summary.worst(1)["query_id"].item()
    assert worst == first or pd.Timestamp(worst) == pd.Timestamp(first)


def test_parts_without_rows_or_weight_change_nothing(engine):
    frame = table()
    frame.loc[:99, "weight"] = 0.0
    parts = [frame[:0], frame[:50], frame[50:100], frame[:0], frame[100:], frame[:0]]
    assert engine.measured(parts, "clustered") == sg.Summary.of(in_memory(frame))


@pytest.mark.parametrize(("partitioning", "text"), WITH_IDS)
def test_values_per_query_are_those_of_the_evaluation(lazy_engine, partitioning, text):
    frame = table(text=text)
    values = lazy_engine.values(parts_of(frame, partitioning), partitioning)
    expected = in_memory(frame).to_frame().sort_values("query_id", ignore_index=True)
    assert list(values) == list(expected)
    assert values["query_id"].tolist() == expected["query_id"].tolist()
    assert np.array_equal(values.iloc[:, 1:], expected.iloc[:, 1:], equal_nan=True)


# Segments and labels -----------------------------------------------------------------------------

def by_country(frame):
    """The frame with a country for each query, and the rows of each country."""
    countries = np.array(["de", "fr", "us", "ß"])
    codes = pd.factorize(frame["query"])[0] % 4
    frame = frame.assign(country=countries[codes])
    return frame, {name: rows for name, rows in frame.groupby("country")}


@pytest.mark.parametrize(("partitioning", "text"), WITH_IDS)
def test_each_segment_equals_an_evaluation_of_its_rows(engine, partitioning, text, small_steps):
    frame, rows_of = by_country(table(text=text))
    parts = parts_of(frame, partitioning)
    summary = engine.measured(parts, partitioning, by="country", label="Monday")
    assert list(summary.segments) == sorted(rows_of) and summary.by == "country"
    for name, rows in rows_of.items():
        assert summary.segments[name] == sg.Summary.of(in_memory(rows))
        assert summary.segments[name].labels == summary.labels == ["Monday"]
    whole = engine.measured(parts, partitioning, label="Monday")
    assert whole.to_json() == replace(summary, by=None, segments=None).to_json()


def test_any_partitioning_gives_the_same_segments(engine, small_steps):
    frame, _ = by_country(table())
    written = {
        engine.measured(parts_of(frame, partitioning, n), partitioning, by="country").to_json()
        for partitioning, n in [("shuffle", 3), ("clustered", 2), ("clustered", 5), ("whole", 4)]
    }
    assert len(written) == 1


def test_several_systems_in_segments(engine):
    frame, rows_of = by_country(table())
    frame["other"] = np.roll(frame["score"], 1)
    settings = {"y_score": ["score", "other"], "sample_weight": None}
    summaries = engine.measured(pieces(frame, 4)[1:], "clustered", by="country", **settings)
    for name in rows_of:
        rows = frame[frame["country"] == name]
        evaluations = {
            "score": in_memory(rows, weighted=False),
            "other": in_memory(rows.assign(score=rows["other"]), weighted=False),
        }
        assert summaries.segments[name] == sg.Summaries.of(evaluations)
        assert summaries.systems["other"].segments[name] == sg.Summary.of(evaluations["other"])


@pytest.mark.parametrize("partitioning", PARTITIONINGS)
def test_a_query_in_two_segments_is_named_with_both(engine, partitioning):
    frame, _ = by_country(table(60))
    query, rows = torn_off(frame)
    segment = frame.loc[rows, "country"].item()
    frame.loc[rows, "country"] = "xx"
    message = rf"Column 'country' \(by\) contains .*'xx'.* for query {query}: "
    with pytest.raises(ValueError, match=message) as info:
        engine.measured(parts_of(frame, partitioning), partitioning, by="country")
    assert repr(segment) in str(info.value)


def test_a_segment_that_is_null_is_named(engine):
    frame, _ = by_country(table(20))
    frame.loc[3, "country"] = None
    message = rf"column 'country' \(by\) contains null in row 3, query {frame['query'][3]}"
    with pytest.raises(ValueError, match=message):
        engine.measured([frame], "clustered", by="country")


def test_segments_of_different_types_are_refused(batches):
    frame, _ = by_country(table(20))
    first, second = whole_pieces(frame, 2)
    with pytest.raises(TypeError, match="by must have the same type in all batches"):
        batches.measured([first, second.assign(country=1)], "whole", by="country")


# Split queries -----------------------------------------------------------------------------------

@pytest.mark.parametrize(("partitioning", "text"), [("clustered", True), ("whole", False)])
def test_a_split_query_is_named_with_its_parts(engine, partitioning, text):
    frame = table(60, text)
    query, lost = torn_off(frame)
    first, second, third = whole_pieces(frame.drop(index=lost), 3)
    parts = [first, pd.concat([second, third]), frame.loc[lost]]
    if partitioning == "clustered" and engine.part == "partition":
        parts = [first, pd.concat([second, frame.loc[lost], third])]
        where = "partition [01] and partition [01]"
    elif partitioning == "clustered":
        where = "batch 0 to batch 2"
    else:
        where = f"{engine.part} . and {engine.part} ."
    with pytest.raises(ValueError, match=f"rows of query {query!r} are not contiguous in {where}"):
        engine.measured(parts, partitioning)
    if engine.part == "partition" and partitioning == "clustered":
        with pytest.raises(Exception, match=f"(query {query!r}|a query) are not .* {where}"):
            engine.values(parts, partitioning)


# Bad input ---------------------------------------------------------------------------------------

@pytest.mark.parametrize(("column", "argument", "partitioning"), [
    ("score", "y_score", "shuffle"), ("grade", "y_true", "whole"),
    ("weight", "sample_weight", "shuffle"), ("query", "qid", "clustered"),
])
def test_an_error_names_the_part_and_of_a_missing_value_the_column_and_the_query(
    engine, column, argument, partitioning
):
    frame = table(text=True)
    query = frame.loc[117, "query"]
    frame.loc[117, column] = None
    parts = [frame[:100], frame[100:200]]
    place = f"In {engine.part} [01], where rows are numbered from 0: "  # Spark orders files by size
    missing = rf"column '{column}' \({argument}\) contains (null|NaN) in row 17"
    with pytest.raises(ValueError, match=place + missing + (
        ": fill in the missing ids" if column == "query" else f", query '{query}': "
    )):
        engine.measured(parts, partitioning)


def test_a_missing_grade_is_no_error_for_measures_that_take_it(engine):
    frame = table(20)
    frame.loc[7, "grade"] = None
    expected = sg.Summary.of(in_memory(frame, "edrc"))
    assert engine.measured([frame], measures="edrc") == expected
    frame.loc[9, "grade"] = -1.0
    with pytest.raises(ValueError, match="y_true must contain only grades ≥ 0; got -1 for row 9"):
        engine.measured([frame], measures="edrc")


ROWS = table(3)
BAD_SETTINGS = {
    "y_true is empty": {"parts": [ROWS[:0]]},
    "sample_weight is 0 in all rows": {"parts": [ROWS.assign(weight=0.0)]},
    "partitioning must be one of": {"partitioning": "sorted"},
    "y_true must be the name of a column; got ndarray": {"y_true": np.ones(3)},
    "sample_weight must be the name of a column; got float": {"sample_weight": 1.0},
    "y_score must be a column name or a list of several distinct names": {"y_score": ["score"]},
    "by must be the name of a column; got list": {"by": ["score"]},
    "There is no column 'country'": {"by": "country"},
    "label must be a str; got date": {"label": DAY},
    "There is no column 'grades'.*Did you mean 'grade'": {"y_true": "grades"},
    "no measure|Unknown measure|unknown": {"measures": "nonsense"},
}
IN_OTHER_PROCESSES = {
    "ranks tied documents in row order": {"measures": "p(ties='ordinal')"},
    "its gain is a lambda": {"measures": sg.NDCG(gain=lambda grade: grade)},
}


@pytest.mark.parametrize("message", BAD_SETTINGS)
def test_bad_settings(engine, message):
    with pytest.raises((ValueError, TypeError), match=message):
        engine.measured(**{"parts": [ROWS]} | BAD_SETTINGS[message])


@pytest.mark.parametrize("message", IN_OTHER_PROCESSES)
def test_bad_settings_in_other_processes(lazy_engine, message):
    for function in (lazy_engine.measured, lazy_engine.per_query):
        with pytest.raises(Exception, match=message):
            function([ROWS], **IN_OTHER_PROCESSES[message])


def test_only_a_table_of_the_engine_has_values_per_query_of_one_system(lazy_engine):
    of_engine = "(Dask DataFrame|Spark DataFrame|Ray Dataset)"
    with pytest.raises(TypeError, match=f"must be a {of_engine}; got DataFrame"):
        lazy_engine.evaluate(ROWS, **COLUMNS)
    with pytest.raises(TypeError, match="y_score must be the name of one column"):
        lazy_engine.per_query([ROWS], y_score=["score", "other"])
