"""Ray with two workers: blocks of any kind, shuffles, and errors."""

import doctest
import os
import signal
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from large_tables import COLUMNS, MEASURES, in_memory, mixed, pieces, table

import skgraded as sg

SETTINGS = {"measures": MEASURES, **COLUMNS}


def measured_by(ray, dataset, **settings):
    return ray.evaluate(dataset, **SETTINGS | settings)


def test_blocks_of_pandas_and_of_arrow_are_shuffled_together(ray):
    from ray import data

    frame = table(text=True)
    first, second = pieces(mixed(frame), 3)[1:]
    arrow = pa.Table.from_pandas(second, preserve_index=False)
    dataset = data.from_pandas(first).union(data.from_arrow([arrow[:500], arrow[500:]]))
    assert measured_by(ray, dataset) == sg.Summary.of(in_memory(frame))


def test_many_blocks_are_merged_step_by_step(ray):
    frame = table(40)
    expected = sg.Summary.of(in_memory(frame))
    for partitioning in ("clustered", "shuffle"):
        assert ray.measured(pieces(frame, 40), partitioning) == expected  # 16 are merged at once


def test_a_single_block_is_not_shuffled(ray):
    frame = mixed(table())
    assert ray.measured([frame]) == sg.Summary.of(in_memory(frame))


def test_clustered_blocks_may_come_in_any_order(ray):
    """Ray does not preserve the order of blocks by default."""
    frame = table()
    first, second, third, fourth = pieces(frame, 5)[1:]
    parts = [third, first, fourth, second]
    assert ray.measured(parts, "clustered") == sg.Summary.of(in_memory(frame))


@pytest.mark.parametrize("partitioning", ["shuffle", "clustered"])
def test_parquet_files_with_other_columns_and_a_predicted_score(ray, tmp_path, partitioning):
    from ray import data

    frame = table(text=True).assign(day=pd.Timestamp("2026-11-20"))
    for i, part in enumerate(pieces(frame.drop(columns="score"), 4)[1:]):
        part.to_parquet(tmp_path / f"part-{i}.parquet", index=False)

    def predict(rows):
        return rows.assign(score=rows["grade"] * 2)

    scored = data.read_parquet(str(tmp_path)).map_batches(predict, batch_format="pandas")
    expected = in_memory(frame.assign(score=frame["grade"] * 2))
    assert measured_by(ray, scored, partitioning=partitioning) == sg.Summary.of(expected)


def test_an_error_of_the_pipeline_stays_as_it_is(ray):
    def predict(rows):
        raise ValueError("the model is lost")

    scored = ray.frame_of(table(3)).map_batches(predict)
    with pytest.raises(Exception, match="the model is lost") as caught:
        measured_by(ray, scored)
    assert type(caught.value) is not ValueError  # but Ray's error, which names the operator


def test_errors_are_those_of_the_worker_without_its_traceback(ray):
    frame = table(20).assign(grade=-1.0)
    with pytest.raises(ValueError, match=r"^In partition \d, .*: y_true must contain") as caught:
        ray.measured(pieces(frame, 3))
    assert type(caught.value) is ValueError and "\n" not in str(caught.value)


@pytest.mark.parametrize("partitioning", ["shuffle", "clustered", "whole"])
def test_ids_of_two_types_are_refused(ray, partitioning):
    """The same time in seconds and in nanoseconds would be two queries."""
    first, second = pieces(table(12).astype({"query": "datetime64[s]"}), 3)[1:]
    parts = [first, second.astype({"query": "datetime64[ns]"})]
    for measure in (ray.measured, ray.per_query):
        with pytest.raises(TypeError, match=r"qid must .*; got timestamp\[ns\] and timestamp\[s\]"):
            measure(parts, partitioning)


def test_decimal_ids_of_different_lengths_are_equal_by_value(ray):
    ids = [Decimal("1.5")] * 3, [Decimal("1.50"), Decimal("10.125"), Decimal("10.125")]
    parts = [pd.DataFrame({"grade": [0, 1, 1], "score": [3, 2, 1], "query": part}) for part in ids]
    values = ray.values(parts, measures="rr", sample_weight=None)
    assert values["query_id"].tolist() == [Decimal("1.5"), Decimal("10.125")]
    assert values["RR"].tolist() == [1 / 3, 1 / 1]


def test_the_dataset_and_its_settings_stay_as_they_are(ray):
    dataset = ray.frame_of(pieces(table(20), 3))
    before = dataset.columns(), dataset.count(), dataset.context.execution_options
    measured_by(ray, dataset)
    assert (dataset.columns(), dataset.count(), dataset.context.execution_options) == before


def test_evaluate_names_the_function_for_datasets(ray):
    dataset = ray.frame_of(table(3))
    with pytest.raises(TypeError, match=r"got MaterializedDataset\. Use skgraded\.ray\.evaluate"):
        sg.evaluate("grade", "score", qid="query", data=dataset)


def test_the_examples_of_the_docstrings(ray):
    """Pytest does not collect them, because it could not import the module without Ray."""
    from skgraded.large import ray as module

    results = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.attempted > 5 and not results.failed


@pytest.mark.parametrize("partitioning", ["shuffle", "clustered"])
def test_a_killed_worker_changes_nothing(ray, tmp_path, partitioning):
    mark = tmp_path / "killed"

    def predict(rows):
        if not mark.exists() and np.isin(rows["query"], 7).any():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return rows

    frame = table()
    parts = pieces(mixed(frame) if partitioning == "shuffle" else frame, 4)
    scored = ray.frame_of(parts).map_batches(predict, batch_format="pandas", batch_size=None)
    assert measured_by(ray, scored, partitioning=partitioning) == sg.Summary.of(in_memory(frame))
    assert mark.exists()
