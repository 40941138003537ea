"""Batches on one machine: tables of any kind, Parquet files, and temporary files."""

import decimal
import doctest
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_contract import PARTITIONINGS, EngineContract, by_country, parts_of
from file_contract import FileContract
from large_tables import (
    first_rows,
    in_memory,
    measured,
    mixed,
    pieces,
    table,
    whole_pieces,
)
from pyarrow.compute import run_end_encode

import skgraded as sg
from skgraded.datasets import arrow_csv


def as_views(texts):
    return texts.cast(pa.string_view() if "string_view" in dir(pa) else pa.large_string())


def in_layout(frame, convert):
    """Convert text query ids and segments to a layout of Arrow."""
    arrow_table = pa.Table.from_pandas(frame, preserve_index=False)
    for name, kind in zip(arrow_table.column_names, arrow_table.schema.types, strict=True):
        if "string" in str(kind):
            texts = convert(arrow_table[name].combine_chunks())
            arrow_table = arrow_table.set_column(arrow_table.column_names.index(name), name, texts)
    return arrow_table


KINDS = {
    "pandas": lambda frame: frame,
    "nullable": lambda frame: frame.convert_dtypes(),
    "categories": lambda frame: frame.astype({"query": "category"}),
    "objects": lambda frame: frame.astype(object),
    "polars": pl.from_pandas,
    "Arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "dictionaries": lambda frame: in_layout(frame, pa.Array.dictionary_encode),
    "views": lambda frame: in_layout(frame, as_views),
    "runs": lambda frame: in_layout(frame, run_end_encode),
    "layouts in turn": lambda frame: in_layout(
        frame, (as_views, pa.Array.dictionary_encode, pa.array)[len(frame) % 3]
    ),
    "batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
}


@pytest.fixture
def engine(batches):
    return batches


class TestContract(EngineContract, FileContract):
    """The tests of all engines and of files."""


@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_any_kind_give_the_summary_of_all_rows(kind, text, small_steps):
    frame = table(150, text)
    frame["country"] = frame["query"].map(lambda query: f"segment {str(query)[-1]}")
    expected = measured([frame], by="country")
    assert sg.Summary.merge(expected.segments.values()) == sg.Summary.of(in_memory(frame))

    def by_country(parts, *partitioning):
        return measured(map(KINDS[kind], parts), *partitioning, by="country")

    assert by_country(pieces(frame, 30), "clustered") == expected
    assert by_country(whole_pieces(frame, 7), "whole") == expected
    assert by_country(pieces(mixed(frame), 30)) == expected


def test_intervals_of_pandas_are_segments_named_by_their_text():
    frame = table()
    texts = np.where(frame["query"] > 99, "(99, 299]", "(-1, 99]")
    expected = measured([frame.assign(country=texts)], by="country")
    cut = pd.cut(frame["query"], [-1, 99, 299])
    for country in (cut, pd.Series(pd.IntervalIndex(cut))):
        assert measured(pieces(frame.assign(country=country), 4), by="country") == expected
    cut[117] = None
    with pytest.raises(ValueError, match="'country' .by. contains null in row 117, query"):
        measured([frame.assign(country=cut)], by="country")


def test_ordinal_ties_are_ranked_in_the_order_of_rows(small_steps):
    frame = mixed(table())
    measures = ["ndcg(ties='ordinal')@5", "ndcng@10"]
    expected = sg.Summary.of(in_memory(frame, measures))
    assert measured(pieces(frame, 30), measures=measures) == expected


def test_the_type_of_scores_does_not_depend_on_their_values(small_steps):
    """Integers above 2^53 occur only in later batches."""
    frame = table(120).drop(columns="other")
    whole = frame.assign(score=(10 * frame["score"]).astype("int64"))
    whole.loc[whole.index[-200:], "score"] += 2**53
    expected = sg.Summary.of(in_memory(whole))
    assert measured(pieces(whole, 9)) == expected
    assert measured(pieces(whole, 9), "clustered") == expected
    first, *others = pieces(whole, 9)
    for partitioning in ("shuffle", "clustered"):
        assert measured([first.astype({"score": float}), *others], partitioning) == expected


def test_numbers_of_any_type():
    exact = table()
    expected = sg.Summary.of(in_memory(exact))
    as_float32 = exact.astype({"grade": "float32"})
    assert measured([as_float32[:50], exact[50:]]) == expected
    assert measured([exact.astype({"score": "longdouble", "weight": ">f8"})]) == expected
    decimals = exact.assign(
        score=[decimal.Decimal(f"{score:.1f}") for score in exact["score"]],
        grade=[decimal.Decimal(f"{grade:.1f}") for grade in exact["grade"]],
    )
    assert measured(pieces(decimals, 4), "clustered") == expected
    tenths = exact.assign(score=(10 * exact["score"]).round().astype("int16"))
    assert measured(pieces(tenths, 4)) == expected


@pytest.mark.parametrize("bits", ["float16", "float32"])
def test_thresholds_are_compared_with_grades_of_few_bits_exactly(bits, small_steps):
    frame = table()
    frame["grade"] = (frame["grade"] / 0.9).astype(bits)
    measures = [sg.RR(threshold=5 / 9), sg.ERR(max_grade=15 / 9)]
    expected = sg.Summary.of(in_memory(frame, measures))
    for partitioning in ("shuffle", "clustered"):
        assert measured(pieces(frame, 9), partitioning, measures) == expected


def test_weights_that_are_positive_only_for_undefined_queries():
    frame = pd.DataFrame({"grade": [0, 0, 1], "score": 1, "query": [1, 1, 2], "weight": [1, 1, 0]})
    measures = "rr(undefined=nan)"
    expected = sg.Summary.of(in_memory(frame, measures))
    assert measured([frame], measures=measures) == expected
    with pytest.raises(ValueError, match="sample_weight is 0 in all rows"):
        measured([frame.assign(weight=0)], measures=["rr", measures])


def test_a_grade_of_600_has_an_interval():
    """The DCG of the first query is 2^600 - 1, which is 2^600 as a float; its square overflows."""
    frame = pd.DataFrame({"grade": [600, 0], "score": 1, "query": ["a", "b"], "weight": 1})
    summary = measured([frame], measures="dcg", label="Monday")
    mean = error = 2.0**599
    assert summary.summary()["mean"].tolist() == [mean]
    reach = 12.706204736174698 * error  # the 97.5 % quantile of Student's t with one degree
    assert summary.confidence_interval()["DCG"] == pytest.approx((mean - reach, mean + reach))
    after = replace(summary, labels=["Tuesday"])
    assert sg.compare_periods(summary, after)["p_value"].tolist() == [1]


# Files -------------------------------------------------------------------------------------------


def write(frame, path):
    if path.suffix.lower() in (".parquet", ".pq"):
        frame.to_parquet(path, row_group_size=100)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.name.lower() else ",")


@pytest.mark.parametrize(
    "ending", [".parquet", ".pq", ".PARQUET", ".csv", ".csv.gz", ".tsv", ".TSV.bz2"]
)
def test_files_folders_and_patterns(tmp_path, ending, small_steps, monkeypatch, capsys):
    monkeypatch.setattr(arrow_csv, "BLOCK", 2000)
    frame = table(100)
    ids = frame["query"].astype(str if "sv" in ending.lower() else int)  # ids in CSV files are text
    expected = sg.Summary.of(in_memory(frame.assign(query=ids)))
    folder, whole, file = tmp_path / "parts", tmp_path / "whole", tmp_path / f"all{ending}"
    for path in (folder, whole):
        path.mkdir()
    (folder / ".hidden").touch()
    for i, part in enumerate(pieces(frame, 12)):  # part.10 comes after part.9
        write(part, folder / f"part.{i}{ending}")
    for name in ("_SUCCESS", f"_metadata{ending}"):
        (folder / name).touch()
    for path in (folder, str(folder / f"part.*{ending}")):
        assert measured(path, "clustered") == measured(path) == expected
    for i, part in enumerate(whole_pieces(frame, 3)):
        write(mixed(part), whole / f"{i}{ending}")
    assert measured(whole, "whole", progress=True) == measured(whole) == expected
    assert capsys.readouterr().err == ""  # progress bars are shown only in a terminal
    write(frame, file)
    for partitioning in ("shuffle", "clustered", "whole"):
        assert measured(file, partitioning) == expected


def test_a_list_of_paths_is_read_like_a_folder(tmp_path):
    frame = table(30)
    for i, part in enumerate(pieces(frame, 3)):
        write(part, tmp_path / f"{i}.parquet")
    paths = [str(tmp_path / "[12].parquet"), tmp_path / "0.parquet"]
    assert measured(paths) == measured(tmp_path)
    (tmp_path / "link.parquet").symlink_to(tmp_path / "0.parquet")
    for twice in ([paths[1]] * 2, [paths[1], f"{tmp_path}/./0.parquet"], tmp_path):
        with pytest.raises(ValueError, match="same file twice, as .*0.parquet and as .*"):
            measured(twice)
    with pytest.raises(FileNotFoundError, match="no Parquet or CSV file found: .*other"):
        measured([*paths, tmp_path / "other"])


# The recipe for Ray ------------------------------------------------------------------------------

RECIPE = Path(__file__).parents[2] / "docs" / "recipes" / "other_engines.md"


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")  # warnings of Ray about itself
def test_the_recipe_for_ray_gives_the_summary_of_all_rows(tmp_path):
    ray = pytest.importorskip("ray", reason='needs Ray: pip install "ray[data]"')
    frame = table(60, text=True)
    for i, part in enumerate(pieces(mixed(frame), 4)[1:]):
        write(part, tmp_path / f"{i}.parquet")
    page = RECIPE.read_text(encoding="utf-8")
    functions = doctest.DocTestParser().get_examples(page)[:3]
    names = {"folder": str(tmp_path)}
    for source in [*(example.source for example in functions), page.split("```python")[-1]]:
        exec(source.split("```")[0], names)
    ray.shutdown()
    expected = sg.Summary.of(in_memory(frame, "ndcng@10", weighted=False))
    assert names["summary"] == expected


# Split queries -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n, text", [(2, False), (5, True), (50, False)])
def test_a_split_query_is_named_in_small_steps(small_steps, n, text):
    frame = table(40, text)
    query, lost = first_rows(frame)
    frame = pd.concat([frame.drop(index=lost), frame.loc[lost]])
    with pytest.raises(ValueError, match=f"query {query!r} are not contig.*='shuffle'"):
        measured(pieces(frame, n), "clustered")
    assert measured(pieces(frame, n)) == sg.Summary.of(in_memory(frame))


# Disks -------------------------------------------------------------------------------------------


def test_few_rows_are_not_written_to_disk_and_no_file_is_left(tmp_path, monkeypatch, request):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    frame = table()
    for partitioning in ("shuffle", "clustered"):
        assert measured([frame], partitioning) == sg.Summary.of(in_memory(frame))
    request.getfixturevalue("small_steps")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    measured(pieces(mixed(frame), 30))
    with pytest.raises(ValueError, match="contains NaN in row 0, query"):
        measured([*pieces(mixed(frame), 30), frame[:5].assign(score=np.nan)])
    assert list(tmp_path.iterdir()) == []


# Per-query values --------------------------------------------------------------------------------


@pytest.mark.parametrize("partitioning", PARTITIONINGS)
def test_per_query_values_are_written_while_the_batches_are_read(
    tmp_path, partitioning, small_steps, monkeypatch
):
    from skgraded.large import batches

    monkeypatch.setattr(batches, "MIN_QUERIES", 50)
    frame, path = table(text=True), tmp_path / "values.parquet"
    parts = parts_of(frame, partitioning)
    assert measured(parts, partitioning, per_query=path) == measured([frame])
    assert pq.ParquetFile(path).num_row_groups > 1
    values = pd.read_parquet(path).sort_values("query_id", ignore_index=True)
    expected = in_memory(frame).to_frame().sort_values("query_id", ignore_index=True)
    pd.testing.assert_frame_equal(values, expected, check_dtype=False)


def test_per_query_values_of_several_systems_contain_the_columns_of_segments(tmp_path):
    frame, path = by_country(table(40))[0], tmp_path / "values.parquet"
    frame["other"] = -frame["score"]
    settings = {"by": ["country"], "per_query": path, "sample_weight": None, "measures": "rr"}
    summaries = measured([frame], y_score=["score", "other"], **settings)
    values = pd.read_parquet(path)
    assert values.columns.tolist() == ["query_id", "country", "system", "RR"]
    assert values.groupby("system")["RR"].mean().to_dict() == pytest.approx(
        {name: summaries[name].mean()["RR"] for name in summaries}
    )
    assert dict(zip(values["query_id"], values["country"], strict=True)) == dict(
        zip(frame["query"], frame["country"], strict=True)
    )
    with pytest.raises(ValueError, match="names .* are reserved; got 'system'"):
        measured([frame.rename(columns={"country": "system"})], **settings | {"by": "system"})


def test_after_an_error_the_previous_values_remain(tmp_path):
    frame, path = table(40), tmp_path / "values.parquet"
    measured([frame], per_query=path)
    before = path.read_bytes()
    for parts in ([frame, frame.assign(grade=-1)], [frame[:0]]):
        with pytest.raises(ValueError, match="y_true"):
            measured(parts, "whole", per_query=path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == [path.name]
    with pytest.raises(IsADirectoryError):
        measured(iter([]), per_query=tmp_path)
