"""The contract that every engine for large tables fulfills, however the rows are partitioned.

The test file of each engine contains a fixture `engine` and inherits these classes, so that the
engine starts in a single process.
"""

import datetime
import decimal
import doctest
import sys
from dataclasses import replace
from importlib import import_module
from itertools import cycle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from large_tables import (
    COLUMNS,
    MEASURES,
    first_rows,
    in_memory,
    mixed,
    pieces,
    table,
    texts_with_equal_keys,
    whole_pieces,
)
from tool_examples import EXAMPLES

import skgraded as sg

PARTITIONINGS = ["shuffle", "clustered", "whole"]
WITH_IDS = [("shuffle", True), ("clustered", False), ("whole", True)]


def parts_of(frame, partitioning, n=3):
    """Cut the frame into parts that are valid for the partitioning."""
    if partitioning == "whole":
        return whole_pieces(frame, n)
    return pieces(mixed(frame) if partitioning == "shuffle" else frame, n + 1)[1:]


def by_country(frame):
    """Add a country to each query; return the frame and the rows of each country."""
    countries = np.array(["de", "fr", "us", "ß"])
    codes = pd.factorize(frame["query"])[0] % 4
    frame = frame.assign(country=countries[codes])
    return frame, {name: rows for name, rows in frame.groupby("country")}


DAY, NEXT_DAY = datetime.date(2020, 1, 2), datetime.date(2020, 1, 3)
IDS = {
    "float": [1.5, 1.5, 2.0],
    "date": [DAY, DAY, NEXT_DAY],
    "datetime": [datetime.datetime(2020, 1, 2)] * 2 + [datetime.datetime(2020, 1, 3)],
    "decimal": [decimal.Decimal("1.50")] * 2 + [decimal.Decimal("2.25")],
    "bytes": [b"a", b"a", b"b"],
}

ROWS = table(3)
BAD_INPUT = {
    "y_true is empty": {"parts": [ROWS[:0].drop(columns="other")]},  # Spark 4.0 writes no nulls
    "sample_weight is 0 in all rows": {"parts": [ROWS.assign(weight=0.0)]},
    "There is no column 'grades'.*Did you mean 'grade'": {"y_true": "grades"},
    "label must be a str; got date": {"label": DAY},
    "duplicates='drop' requires document=": {"duplicates": "drop"},
    "by must be .* list of distinct column names; .* are reserved; got .'measure'.": {
        "by": ["measure"]
    },
}


class EngineContract:
    """Values and errors of `evaluate` or `evaluate_batches`."""

    @pytest.mark.parametrize(("partitioning", "text"), WITH_IDS)
    def test_the_summary_and_its_segments_equal_evaluations_in_memory(
        self, engine, partitioning, text, small_steps
    ):
        frame = table(text=text)
        frame.loc[:99, "weight"] = 0.0
        frame, rows_of = by_country(frame)
        parts = parts_of(frame, partitioning, 17)  # Dask merges more than 16 parts in several steps
        parts = [parts[0][:0], *parts, parts[0][:0]]
        summary = engine.measured(parts, partitioning, by="country", label="Monday")
        assert list(summary.segments) == sorted(rows_of) and summary.by == "country"
        for name, rows in rows_of.items():
            expected = sg.Summary.of(in_memory(rows), label="Monday")
            assert summary.segments[name].to_json() == expected.to_json()
        expected = sg.Summary.of(in_memory(frame), label="Monday")
        assert replace(summary, by=None, segments=None).to_json() == expected.to_json()

    def test_several_systems_in_segments(self, engine):
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

    def test_segments_of_several_columns_are_tuples(self, engine):
        frame, _ = by_country(table(80))
        frame["at.day"] = np.where(frame["query"] % 3, DAY, NEXT_DAY)
        frame = frame.rename(columns={"score": "m.lgbm"})  # Spark reads dots as fields
        settings = {"y_score": "m.lgbm", "by": ["country", "at.day"]}
        summary = engine.measured(pieces(frame, 3)[1:], "clustered", **settings)
        groups = frame.rename(columns={"m.lgbm": "score"}).groupby(
            ["country", frame["at.day"].astype(str)]
        )
        assert summary == sg.Summary.from_json(summary.to_json())
        assert summary.by == ["country", "at.day"]
        assert list(summary.segments) == sorted(groups.groups)
        for name, rows in groups:
            assert summary.segments[name] == sg.Summary.of(in_memory(rows))
        assert summary.segments["de", DAY] == summary.segments["de", "2020-01-02"]
        assert list(summary.summary())[:3] == ["country", "at.day", "measure"]
        names = summary.to_frame().iloc[:, :2]
        assert names[: len(MEASURES)].isna().all(axis=None)
        assert names.iloc[len(MEASURES)].tolist() == ["de", "2020-01-02"]
        (alone,) = engine.measured([ROWS], by=["other"]).segments
        assert alone == ("not read",)

    @pytest.mark.parametrize(
        ("kind", "partitioning"), list(zip(IDS, cycle(PARTITIONINGS), strict=False))
    )
    def test_ids_of_any_type(self, engine, kind, partitioning):
        ids = pa.array(IDS[kind])
        rows = pd.DataFrame({"grade": [1, 0, 1], "score": [1, 2, 1]})
        rows["query"] = pd.arrays.ArrowExtensionArray(ids)
        parts = [rows[:2], rows[2:]] if partitioning == "whole" else [rows[:1], rows[1:]]
        summary = engine.measured(parts, partitioning, "rr", sample_weight=None)
        assert summary.mean()["RR"] == (1 / 2 + 1) / 2
        first, worst = ids[0].as_py(), summary.worst(1)["query_id"].item()
        assert worst == first or pd.Timestamp(worst) == pd.Timestamp(first)

    def test_segments_that_are_dates_are_found_as_dates_and_as_text(self, engine):
        frame = table(40).assign(day=lambda rows: np.where(rows["query"] % 2, DAY, NEXT_DAY))
        summary = engine.measured([frame[:200], frame[200:]], by="day")
        assert list(summary.segments) == ["2020-01-02", "2020-01-03"]
        assert summary.segments["2020-01-03"] == sg.Summary.of(
            in_memory(frame[frame["query"] % 2 == 0])
        )
        read = sg.Summary.from_json(summary.to_json()).segments
        assert read == summary.segments and read.get("2020-01-04") is None
        for day in (NEXT_DAY, np.datetime64(NEXT_DAY), pd.Timestamp(NEXT_DAY)):
            assert read[day] == read.get(day) == summary.segments["2020-01-03"] and day in read
        with pytest.raises(KeyError, match="2020-01-04"):
            read[datetime.date(2020, 1, 4)]

    def test_segments_and_ids_do_not_depend_on_the_sign_of_zero(self, engine):
        rows = pd.DataFrame({"grade": [1, 0, 1], "score": [1, 2, 1], "weight": 1.0})
        rows["query"], rows["country"] = [-0.0, 0.0, 1.0], [-0.0, 0.0, -0.0]
        parts = rows, rows[::-1]
        (text,) = {engine.measured([part], by="country").to_json() for part in parts}
        assert "-0.0" not in text

    @pytest.mark.parametrize("partitioning", ["clustered", "whole"])
    def test_texts_with_the_same_key_are_two_queries(self, engine, partitioning):
        first, second = texts_with_equal_keys()
        parts = [
            ROWS[:5].assign(query=["a", "a", first, first, "b"]),
            ROWS[:5].assign(query=[second, second, "c", "c", "d"]),
        ]
        expected = in_memory(pd.concat(parts))
        assert engine.measured(parts, partitioning) == sg.Summary.of(expected)
        if hasattr(engine.module, "evaluate_per_query"):
            values = engine.values(parts, partitioning)
            assert values["query_id"].tolist() == sorted(expected.query_ids)

    @pytest.mark.parametrize(
        "settings",
        [
            {"measures": "edrc"},
            *(
                {
                    "measures": ["ndcng@10", "judged@5", "bpref", "ap(undefined=nan)"],
                    "unjudged_documents": rule,
                }
                for rule in ("irrelevant", "drop")
            ),
        ],
        ids=str,
    )
    def test_unjudged_documents(self, engine, settings):
        frame = table(80).assign(grade=lambda rows: rows["grade"].mask(rows.index % 3 == 0))
        evaluation = sg.evaluate(
            "grade", "score", qid="query", data=frame, sample_weight="weight", **settings
        )
        parts = parts_of(frame, "shuffle")
        for tables in (parts, [frame]):
            assert engine.measured(tables, **settings) == sg.Summary.of(evaluation)

    @pytest.mark.parametrize("text", [False, True])
    def test_rows_delivered_twice_are_found_and_counted_once(self, engine, text):
        frame, _ = by_country(table(80, text))
        frame["document"] = frame["score"].rank(method="first").astype(int if not text else str)
        once = engine.measured([frame], by="country")
        parts = [*parts_of(frame, "whole"), frame[100:300]]
        settings = {"by": "country", "document": "document"}
        summary = engine.measured(parts, **settings, duplicates="drop")
        assert summary == once and summary.n_duplicates == 200
        assert sum(part.n_duplicates for part in summary.segments.values()) == 200
        with pytest.raises(ValueError, match="^Query .* contains document .* more than once"):
            engine.measured(parts, **settings)
        parts[-1] = parts[-1].assign(grade=3.0)
        with pytest.raises(ValueError, match="different values of y_true: .* and 3.0"):
            engine.measured(parts, **settings, duplicates="drop")
        with pytest.raises(ValueError, match="not contiguous in .*delivered twice, .*document"):
            engine.measured([frame, frame], "clustered")

    @pytest.mark.parametrize("partitioning", ["shuffle", "clustered"])
    def test_a_query_in_two_segments_is_named_with_both(self, engine, partitioning):
        frame, _ = by_country(table(60))
        query, rows = first_rows(frame)
        segment = frame.loc[rows, "country"].item()
        frame.loc[rows, "country"] = "xx"
        message = rf"Column 'country' \(by\) must have .* query {query} have .*'xx'"
        with pytest.raises(ValueError, match=message) as info:
            engine.measured(parts_of(frame, partitioning), partitioning, by="country")
        assert repr(segment) in str(info.value)

    @pytest.mark.parametrize(("partitioning", "text"), [("clustered", True), ("whole", False)])
    def test_a_split_query_is_named_with_its_parts(self, engine, partitioning, text):
        frame = table(60, text)
        query, lost = first_rows(frame)
        first, second, third = whole_pieces(frame.drop(index=lost), 3)
        parts = [first, pd.concat([second, frame.loc[lost], third])]
        where = f"{engine.part} . (and|to) {engine.part} ."
        with pytest.raises(ValueError, match=f"query {query!r} are not contiguous in {where}"):
            engine.measured(parts, partitioning)
        if hasattr(engine.module, "evaluate_per_query"):
            with pytest.raises(Exception, match=f"query {query!r} are not .* {where}"):
                engine.values(parts, partitioning)

    @pytest.mark.parametrize(
        ("column", "argument", "partitioning"),
        [
            ("score", "y_score", "shuffle"),
            ("grade", "y_true", "whole"),
            ("weight", "sample_weight", "shuffle"),
            ("query", "qid", "clustered"),
            ("country", "by", "clustered"),
        ],
    )
    def test_a_missing_value_is_named_with_its_part_column_row_and_query(
        self, engine, column, argument, partitioning
    ):
        frame, _ = by_country(table(text=True))
        query = frame.loc[117, "query"]
        frame.loc[117, column] = None
        place = f"In {engine.part} [01], where rows are numbered from 0: "
        # Spark reads large files first.
        missing = rf"column '{column}' \({argument}\) contains (null|NaN) in row 17"
        with pytest.raises(
            ValueError,
            match="^"
            + place
            + missing
            + (": fill in the missing ids" if column == "query" else f", query '{query}': "),
        ) as info:
            engine.measured([frame[:100], frame[100:200]], partitioning, by="country")
        assert type(info.value) is ValueError and "\n" not in str(info.value)

    @pytest.mark.parametrize("message", BAD_INPUT)
    def test_bad_input(self, engine, message):
        with pytest.raises((ValueError, TypeError), match=message):
            engine.measured(**{"parts": [ROWS]} | BAD_INPUT[message])


class LazyEngineContract(EngineContract):
    """Per-query values and examples of the engines with several workers."""

    @pytest.mark.parametrize(("partitioning", "text"), WITH_IDS)
    def test_per_query_values_equal_an_evaluation_in_memory(self, engine, partitioning, text):
        frame = table(text=text)
        values = engine.values(parts_of(frame, partitioning), partitioning)
        expected = in_memory(frame).to_frame().sort_values("query_id", ignore_index=True)
        assert list(values) == list(expected)
        assert values["query_id"].tolist() == expected["query_id"].tolist()
        assert np.array_equal(values.iloc[:, 1:], expected.iloc[:, 1:], equal_nan=True)

    def test_engines_refuse_lambdas_ordinal_ties_and_tables_in_memory(self, engine):
        for function in (engine.measured, engine.per_query):
            with pytest.raises(ValueError, match="ranks tied documents in row order"):
                function([ROWS], measures="p(ties='ordinal')")
            with pytest.raises(Exception, match="its gain is a lambda"):
                function([ROWS], measures=sg.NDCG(gain=lambda grade: grade))
        of_engine = "(Dask|Spark) DataFrame"
        with pytest.raises(TypeError, match=f"must be a {of_engine}; got DataFrame"):
            engine.evaluate(ROWS, **COLUMNS)
        with pytest.raises(TypeError, match="y_score must be the name of one column"):
            engine.per_query([ROWS], y_score=["score", "other"])
        with pytest.raises(TypeError, match="unexpected keyword argument 'by'"):
            engine.per_query([ROWS], by="other")

    def test_the_example_in_the_recipes_gives_the_summary_of_the_rows(self, engine):
        frame = table(30)
        import_module(f"skgraded.{engine.name}")
        data = engine.frame_of([frame.rename(columns={"query": "qid"})])
        names = {"ddf": data, "sdf": data, "dataset": data, "skgraded": sg}
        expected = sg.Summary.of(in_memory(frame, "mu_map", weighted=False))
        assert eval(EXAMPLES[engine.name.title()], names) == expected

    def test_docstring_examples(self, engine):
        """Pytest does not collect these examples, because the library may not be installed."""
        module = sys.modules[f"skgraded.large.{engine.name}"]
        results = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
        assert results.attempted > 2 and not results.failed
