"""Parts of large tables: what is left of one, and runs of ids."""

import datetime
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from skgraded._input import arrow
from skgraded.large.parts import check_job, clean, measure_part
from skgraded.large.shuffle import packed, unpacked

JOB = check_job("grade", "score", "query", "ndcng")


def part_of(n_queries, size):
    n = n_queries * size
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "grade": rng.integers(0, 3, n), "score": rng.random(n),
        "query": np.repeat(np.arange(n_queries), size),
    })


@pytest.mark.parametrize("in_order", [True, False])
def test_what_goes_on_is_no_more_than_the_first_and_the_last_query(in_order):
    part = part_of(100, 1000)
    edges = measure_part(part, JOB, "part 0", "clustered", in_order).edges
    assert edges["query"].to_pylist() == [0] * 1000 + [99] * 1000
    assert edges["score 0"].to_pylist() == [*part["score"][:1000], *part["score"][-1000:]]
    assert len(pickle.dumps(edges)) < 2 * edges.nbytes  # and does not hold the rows between


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("n_queries", [1, 2])
def test_a_part_of_one_or_two_queries_is_all_edges_and_no_more(n_queries, text):
    part = pa.Table.from_pandas(part_of(1000, 100))
    if text:
        part = part.set_column(2, "query", part["query"].cast(pa.string()))
    part = part.slice(500, 100 * n_queries - 50)
    measured = measure_part(part, JOB, "part 0", "clustered")
    assert len(measured.evaluations["score"].query_ids) == 0
    assert measured.edges["query"].to_pylist() == part["query"].to_pylist()
    assert len(pickle.dumps(measured.edges)) < 2 * measured.edges.nbytes


IDS = {
    "whole": [7, 7, -3, 7],
    "unsigned": np.array([2**64 - 1, 2**64 - 1, 0, 2**64 - 1], dtype=np.uint64),
    "floats, of which 0.0 and -0.0 are one": [0.0, -0.0, 0.5, 0.0],
    "text": ["b", "b", "a", "b"],
    "categories": pd.Categorical(["b", "b", "a", "b"]),
    "bools": [True, True, False, True],
    "dates": [datetime.date(2026, 1, day) for day in (2, 2, 1, 2)],
    "times": [datetime.time(hour) for hour in (2, 2, 1, 2)],
}


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("n_chunks", [1, 2])
def test_runs_of_ids_of_any_type(name, n_chunks):
    given = pa.chunked_array([pa.array(IDS[name])] * n_chunks)
    column = arrow.ids(pa.table({"query": given})["query"])
    ids, sizes = arrow.runs(column)
    # the last run of a chunk goes on in the next, which begins with the same id
    assert sizes.tolist() == ([2, 1, 1] if n_chunks == 1 else [2, 1, 3, 1, 1])
    assert ids[0] == ids[2] == IDS[name][0]
    assert ids[1] == IDS[name][2]


def test_ids_that_are_all_different_are_runs_of_one_row():
    ids, sizes = arrow.runs(arrow.ids(pa.chunked_array([np.arange(5000)])))
    assert ids.tolist() == list(range(5000))
    assert (sizes == 1).all()


@pytest.mark.parametrize("n, largest, text", [
    (1, np.inf, True), (7, np.inf, False), (1000, np.inf, True), (1, 20_000, False),
    (7, 20_000, True), (1000, 1, False), (1, 1, True),
])
def test_pieces_hold_all_rows_and_whole_queries(n, largest, text):
    part = part_of(40, 25).sample(frac=1, random_state=0)
    if text:
        part["query"] = "query " + part["query"].astype(str)
    table = clean(part, JOB, "part 0")
    numbers, rows = packed(table, n, largest)
    found = unpacked(arrow.buffers(rows)).cast(table.schema)  # whole grades take a byte on the way
    assert found.sort_by("score 0").equals(table.sort_by("score 0"))
    places = {}
    for number, one in zip(numbers, rows, strict=True):
        own = unpacked(arrow.buffers(pa.array([one.as_py()], pa.large_binary())))
        assert own.nbytes <= largest + 100 or own.num_rows == 1
        for query in own["query"].to_pylist():
            assert places.setdefault(query, number) == number
    assert len(places) == 40
    assert len(set(places.values())) == (1 if n == 1 else len(set(numbers)))


def test_pieces_whose_bytes_lie_anywhere_are_read():
    table = clean(part_of(3, 4), JOB, "part 0")
    _, rows = packed(table, 1)
    shifted = pa.array([b"x", rows[0].as_py()], pa.binary())[1:]  # one byte further
    expected = unpacked(arrow.buffers(rows))
    assert unpacked(arrow.buffers(shifted)).equals(expected)
    assert unpacked(arrow.buffers(pa.chunked_array([rows[:0], rows]))).equals(expected)
    assert unpacked(arrow.buffers(rows[:0])) is None
