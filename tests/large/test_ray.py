"""Ray with two workers: blocks of any kind, shuffles, and errors."""

import os
import signal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from engine_contract import LazyEngineContract
from file_contract import FileContract
from large_tables import COLUMNS, MEASURES, in_memory, mixed, pieces, table

import skgraded as sg

SETTINGS = {"measures": MEASURES, **COLUMNS}


@pytest.fixture
def engine(ray):
    return ray


class TestContract(LazyEngineContract):
    """The tests of all engines."""


@pytest.mark.nightly
class TestFiles(FileContract):
    """The tests of files and of queries of extreme sizes."""


def measured_by(ray, dataset, **settings):
    return ray.evaluate(dataset, **SETTINGS | settings)


def test_blocks_of_pandas_and_of_arrow_are_shuffled_together(ray):
    from ray import data

    frame = table(text=True)
    first, second = pieces(mixed(frame), 3)[1:]
    arrow = pa.Table.from_pandas(second, preserve_index=False)
    dataset = data.from_pandas(first).union(data.from_arrow([arrow[:500], arrow[500:]]))
    assert measured_by(ray, dataset) == sg.Summary.of(in_memory(frame))


def test_clustered_blocks_may_come_in_any_order(ray):
    """Ray does not preserve the order of blocks by default."""
    frame = table()
    first, second, third, fourth = pieces(frame, 5)[1:]
    parts = [third, first, fourth, second]
    assert ray.measured(parts, "clustered") == sg.Summary.of(in_memory(frame))


def test_parquet_files_with_other_columns_and_a_predicted_score(ray, tmp_path):
    from ray import data

    frame = table(text=True).assign(day=pd.Timestamp("2026-11-20"))
    for i, part in enumerate(pieces(frame.drop(columns="score"), 4)[1:]):
        part.to_parquet(tmp_path / f"part-{i}.parquet", index=False)

    def predict(rows):
        return rows.assign(score=rows["grade"] * 2)

    scored = data.read_parquet(str(tmp_path)).map_batches(predict, batch_format="pandas")
    expected = in_memory(frame.assign(score=frame["grade"] * 2))
    assert measured_by(ray, scored) == sg.Summary.of(expected)


def test_an_error_of_the_pipeline_is_raised_unchanged(ray):
    def predict(rows):
        raise ValueError("the model is lost")

    scored = ray.frame_of(table(3)).map_batches(predict)
    with pytest.raises(Exception, match="the model is lost") as caught:
        measured_by(ray, scored)
    assert type(caught.value) is not ValueError  # Ray's error names the operator


def test_the_dataset_and_its_settings_do_not_change(ray):
    dataset = ray.frame_of(pieces(table(20), 3))
    before = dataset.columns(), dataset.count(), dataset.context.execution_options
    measured_by(ray, dataset)
    assert (dataset.columns(), dataset.count(), dataset.context.execution_options) == before


def test_evaluate_names_the_function_for_datasets(ray):
    dataset = ray.frame_of(table(3))
    with pytest.raises(TypeError, match=r"got MaterializedDataset\. Use skgraded\.ray\.evaluate"):
        sg.evaluate("grade", "score", qid="query", data=dataset)


@pytest.mark.nightly
def test_a_killed_worker_does_not_change_the_summary(ray, tmp_path):
    mark = tmp_path / "killed"

    def predict(rows):
        if not mark.exists() and np.isin(rows["query"], 7).any():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return rows

    frame = table()
    dataset = ray.frame_of(pieces(mixed(frame), 4))
    scored = dataset.map_batches(predict, batch_format="pandas", batch_size=None)
    assert measured_by(ray, scored) == sg.Summary.of(in_memory(frame))
    assert mark.exists()
