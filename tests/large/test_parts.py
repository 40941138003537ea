"""Parts of large tables: their edges, contiguous queries, and pieces."""

import datetime
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from skgraded._input import arrow
from skgraded.large.jobs import check_job
from skgraded.large.parts import clean, measure_part, measure_together
from skgraded.large.shuffle import packed, unpacked

JOB = check_job("grade", "score", "query", "ndcng", partitioning="clustered")


def part_of(n_queries, size):
    n = n_queries * size
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "grade": rng.integers(0, 3, n),
            "score": rng.random(n),
            "query": np.repeat(np.arange(n_queries), size),
        }
    )


@pytest.mark.parametrize("in_order", [True, False])
def test_the_edges_of_a_part_are_its_first_and_last_query(in_order):
    part = part_of(100, 1000)
    edges = measure_part(part, replace(JOB, in_order=in_order), "part 0").edges
    assert edges["query"].to_pylist() == [0] * 1000 + [99] * 1000
    assert edges["score 0"].to_pylist() == [*part["score"][:1000], *part["score"][-1000:]]
    assert len(pickle.dumps(edges)) < 2 * edges.nbytes  # the rows in between are not serialized


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("n_queries", [1, 2])
def test_a_part_of_one_or_two_queries_consists_of_edges(n_queries, text):
    part = pa.Table.from_pandas(part_of(1000, 100))
    if text:
        part = part.set_column(2, "query", part["query"].cast(pa.string()))
    part = part.slice(500, 100 * n_queries - 50)
    measured = measure_part(part, JOB, "part 0")
    assert len(measured.evaluations["score"].query_ids) == 0
    assert measured.edges["query"].to_pylist() == part["query"].to_pylist()
    assert len(pickle.dumps(measured.edges)) < 2 * measured.edges.nbytes


IDS = {
    "whole": [7, 7, -3, 7],
    "unsigned": np.array([2**64 - 1, 2**64 - 1, 0, 2**64 - 1], dtype=np.uint64),
    "floats, where 0.0 equals -0.0": [0.0, -0.0, 0.5, 0.0],
    "text": ["b", "b", "a", "b"],
    "categories": pd.Categorical(["b", "b", "a", "b"]),
    "bools": [True, True, False, True],
    "dates": [datetime.date(2026, 1, day) for day in (2, 2, 1, 2)],
    "times": [datetime.time(hour) for hour in (2, 2, 1, 2)],
}


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("n_chunks", [1, 2])
def test_rows_of_a_query_must_be_contiguous_in_clustered_parts(name, n_chunks):
    ids = pa.chunked_array([pa.array(IDS[name])] * n_chunks)
    columns = {"grade": [1] * len(ids), "score": [1] * len(ids), "query": ids}
    part = clean(pa.table(columns), JOB, "part 0")
    # the last run of a chunk continues in the next chunk
    measured = measure_together(part[1:3], JOB, "part 0")
    assert measured.evaluations["score"].query_ids[0] == IDS[name][0]
    with pytest.raises(ValueError, match="are not contiguous in part 0"):
        measure_together(part, JOB, "part 0")


def test_pieces_are_read_from_unaligned_bytes():
    table = clean(part_of(3, 4), JOB, "part 0")
    _, rows = packed(table, 1)
    shifted = pa.array([b"x", rows[0].as_py()], pa.binary())[1:]  # shifted by one byte
    expected = unpacked(arrow.buffers(rows))
    assert unpacked(arrow.buffers(shifted)).equals(expected)
    assert unpacked(arrow.buffers(pa.chunked_array([rows[:0], rows]))).equals(expected)
    assert unpacked(arrow.buffers(rows[:0])) is None
