"""Judgments: rows are grouped by query for query ids of any kind."""

import datetime
import pickle
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from queries import random_queries

import skgraded as sg
from skgraded.judgments import get_layout

# The query of each row; queries are numbered in order of first appearance.
PARTITION = [0, 1, 0, 2, 1, 0, 3, 2, 0]
GRADES = [1, 0, 2, 3, 1, 0, 4, 0, 2]
SCORES = [1, 2, 3, 4, 5, 6, 7, 8, 9]


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def polars_series(values, dtype=None):
    polars = pytest.importorskip("polars")
    return polars.Series("qid", list(values), dtype=getattr(polars, dtype) if dtype else None)


def arrow_array(values):
    return pa.array(values, type=pa.string())


DAYS = ["2026-11-20", "2025-01-01", "2026-11-21", "1969-12-31"]
TEXTS = ["b", "a", "", "ä long one"]

# Four different ids, and the function that converts them to a column.
QUERY_IDS = {
    "list of ints": ([7, 3, 0, 9], list),
    "tuple of ints": ([7, 3, 0, 9], tuple),
    "negative ints": ([-(2**63), -(2**63) + 2, -1, 5], np.array),
    "int8": ([-128, 127, 0, 1], lambda ids: np.array(ids, dtype=np.int8)),
    "uint64 beyond int64": (
        [2**64 - 1, 2**64 - 900, 2**63, 5],
        lambda ids: np.array(ids, dtype=np.uint64),
    ),
    "ints beyond the doubles": ([2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3], np.array),
    "list of ints beyond the doubles": ([2**53 + 1, 2**53, 2**53 + 3, 2**53 + 2], list),
    "list of ints beyond int64": ([2**63, 2**63 + 1, -1, 2**100], list),
    "list of ints and floats": ([2**53 + 1, 2**53, 0.5, 1], list),
    "floats": ([0.5, -1.5, 0.0, 2**53 - 1], np.array),
    "infinities": ([np.inf, -np.inf, 0.0, 1.0], np.array),
    "float32": ([0.5, -1.5, 0.0, 2**24 - 1], lambda ids: np.array(ids, dtype=np.float32)),
    "float16": ([0.5, -1.5, 0.0, 2**11 - 1], lambda ids: np.array(ids, dtype=np.float16)),
    "big-endian ints": ([1, 2, 3, 256], lambda ids: np.array(ids, dtype=">i4")),
    "strided": ([4, 3, 2, 1], lambda ids: np.repeat(np.array(ids), 2)[::2]),
    "list of texts": (TEXTS, list),
    "text array": (TEXTS, np.array),
    "text objects": (TEXTS, objects),
    "bytes": ([b"b", b"a", b"", b"long"], np.array),
    "texts and bytes": (["a", b"a", "b", b"b"], list),
    "texts that end in a zero character": (["a", "a\0", "b", "b\0"], list),
    "texts and numbers": ([1, "1", "1.0", 2.5], list),
    "texts and numbers, objects": ([1, "1", "1.0", 2.5], objects),
    "tuples": ([(1, "a"), (1, "b"), (2, "a"), (2,)], list),
    "tuples of one length": ([(1, 2), (1, 3), (2, 1), (2, 2)], list),
    "tuples of 1 and of '1'": ([(1, 2), ("1", 2), ("1", "2"), (1, "2")], list),
    "tuple objects": ([(1, 2), (1, 3), (2, 1), ()], objects),
    "nested tuples": ([((1,), 2), ((1, 2),), (1, (2,)), (1, 2)], list),
    "mixed objects": ([1, "a", (1, "a"), frozenset([1])], list),
    "fractions and decimals": ([Fraction(1, 3), Decimal("0.1"), 0.1, 3], list),
    "uuids": ([uuid.UUID(int=i) for i in (3, 1, 0, 2)], list),
    "dates": ([datetime.date.fromisoformat(day) for day in DAYS], list),
    "datetime64": (DAYS, lambda ids: np.array(ids, dtype="datetime64[s]")),
    "timedelta64": ([5, 0, -5, 7], lambda ids: np.array(ids, dtype="timedelta64[D]")),
    "pandas ints": ([7, 3, 0, 9], pd.Series),
    "pandas Int64": ([2**53, 2**53 + 1, 0, 9], lambda ids: pd.Series(ids, dtype="Int64")),
    "pandas UInt64": ([2**63, 2**64 - 1, 0, 9], lambda ids: pd.Series(ids, dtype="UInt64")),
    "pandas Float64": ([0.5, 0.25, 0.0, 9.0], lambda ids: pd.Series(ids, dtype="Float64")),
    "pandas texts": (TEXTS, pd.Series),
    "pandas object": ([1, "1", (1,), 2.5], lambda ids: pd.Series(ids, dtype=object)),
    "pandas category of ints": ([7, 3, 0, 9], lambda ids: pd.Series(ids, dtype="category")),
    "pandas dates": (DAYS, lambda ids: pd.Series(pd.to_datetime(ids))),
    "pandas dates with a zone": (DAYS, lambda ids: pd.Series(pd.to_datetime(ids, utc=True))),
    "pandas odd index": (
        [7, 3, 0, 9],
        lambda ids: pd.Series(ids, index=[i // 2 for i in range(len(ids), 0, -1)]),
    ),
    "pandas index": (TEXTS, pd.Index),
    "polars ints": ([7, 3, 0, 9], polars_series),
    "polars UInt64": ([2**63, 2**64 - 1, 0, 9], lambda ids: polars_series(ids, "UInt64")),
    "polars dates": ([datetime.date.fromisoformat(day) for day in DAYS], polars_series),
}


@pytest.mark.parametrize("name", QUERY_IDS)
def test_rows_are_grouped_by_any_kind_of_query_id(name):
    ids, make = QUERY_IDS[name]
    qid = make([ids[number] for number in PARTITION])
    expected = sg.Judgments(GRADES, qid=np.array(PARTITION))
    judgments = sg.Judgments(GRADES, qid=qid)
    assert judgments.n_queries == 4 and judgments.n_rows == len(GRADES)
    assert judgments.sizes.tolist() == [4, 2, 2, 1]
    for measure in (sg.NDCG(), sg.MuAP(k=2), sg.RR()):
        values = measure.per_query(GRADES, SCORES, qid=qid)
        np.testing.assert_array_equal(values, measure.per_query(expected, SCORES))
        np.testing.assert_array_equal(values, measure.per_query(judgments, SCORES))
    if not name.startswith(("pandas", "polars", "date", "time", "float16", "float32", "bytes")):
        assert judgments.query_ids.tolist() == ids
    if name in ("list of texts", "text array", "tuples", "negative ints", "floats"):
        assert (judgments.query_ids.dtype == object) == (name not in ("negative ints", "floats"))


def test_equal_numbers_of_different_kinds_are_one_query():
    # As in a dict: 1 == 1.0 == True, but not "1".
    judgments = sg.Judgments([1, 1, 1, 1], qid=[1, 1.0, True, "1"])
    assert judgments.sizes.tolist() == [3, 1]
    for qid in ([0.0, -0.0], np.array([0.0, -0.0])):
        assert sg.Judgments([1, 0], qid=qid).sizes.tolist() == [2]


def test_the_weight_of_a_query_is_the_mean_of_its_row_weights():
    judgments = sg.Judgments([0, 1, 2, 3], qid=list("abab"), sample_weight=[1, 2, 4, 0])
    np.testing.assert_array_equal(judgments.weights, [(1 + 4) / 2, (2 + 0) / 2])
    assert sg.Judgments([0, 1]).weights is None


def test_queries_are_passed_only_once():
    with pytest.raises(ValueError, match="(?s)group.*qid|qid.*group"):
        sg.Judgments([0, 1], qid=[1, 1], group=[2])
    for name, value in (("qid", [1, 1]), ("group", [2]), ("sample_weight", [1, 1])):
        with pytest.raises((ValueError, TypeError), match=name):
            sg.NDCG()(sg.Judgments([0, 1]), [1, 2], **{name: value})


def test_judgments_copy_their_input():
    queries = random_queries(seed=1, n_queries=20, sizes=(1, 9), grades=(0, 1, 2, 4))
    y_true, qid, weights = queries.y_true, queries.qid, np.arange(len(queries.qid)) + 1.0
    judgments = sg.Judgments(y_true, qid=qid, sample_weight=weights)
    measures = [sg.NDCG(), sg.MuAP(), sg.NDCG(k="mean")]
    expected = [m(y_true, queries.y_score, qid=qid, sample_weight=weights) for m in measures]
    y_true[:], qid[:], weights[:] = 7, 0, 3
    assert [measure(judgments, queries.y_score) for measure in measures] == expected


def test_scores_are_not_cached():
    judgments, scores = sg.Judgments([2, 0]), np.array([1.0, 2.0])
    assert sg.RR()(judgments, scores) == 1 / 2
    scores[:] = [2, 1]
    assert sg.RR()(judgments, scores) == 1


def test_pickled_judgments_give_the_same_values():
    queries = random_queries(seed=1, n_queries=20, sizes=(1, 9), grades=(0, 1, 2, 4))
    judgments = sg.Judgments(queries.y_true, qid=queries.qid)
    before = sg.MuAP()(judgments, queries.y_score)
    twin = pickle.loads(pickle.dumps(judgments))
    assert sg.MuAP()(twin, queries.y_score) == before
    assert sg.NDCG()(twin, queries.y_score) == sg.NDCG()(judgments, queries.y_score)


@pytest.mark.parametrize("library", ["numpy", "pandas", "polars"])
def test_integer_query_ids_keep_their_type(library):
    for name in ("Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64"):
        ids = np.array([3, 3, 1, 7], dtype=name.lower())
        if library == "pandas":
            ids = pd.Series(ids, dtype=name)
        elif library == "polars":
            ids = polars_series(ids)
        query_ids = sg.Judgments([1, 2, 3, 4], qid=ids).query_ids
        assert query_ids.dtype == name.lower() and query_ids.tolist() == [3, 1, 7]


# Columns that come with codes, and runs of equal ids ----------------------------------------------

CODED = {
    "pandas string": lambda ids: pd.Series(ids, dtype="string[python]"),
    "pandas string of pyarrow": lambda ids: pd.Series(ids, dtype="string[pyarrow]"),
    "pandas index of strings": lambda ids: pd.Index(ids, dtype="string"),
    "pandas category": lambda ids: pd.Series(ids, dtype="category"),
    "arrow array": arrow_array,
    "arrow dictionary": lambda ids: arrow_array(ids).dictionary_encode(),
    "arrow chunks": lambda ids: pa.chunked_array([arrow_array(ids)[:2], arrow_array(ids)[2:]]),
    "arrow chunks of dictionaries": lambda ids: pa.chunked_array(
        [arrow_array(ids)[:2].dictionary_encode(), arrow_array(ids)[2:].dictionary_encode()]
    ),
    "polars String": lambda ids: polars_series(ids, "String"),
    "polars Categorical": lambda ids: polars_series(ids, "Categorical"),
}


@pytest.mark.parametrize("kind", CODED)
def test_text_columns_are_grouped_like_lists(kind):
    for ids in (list("zzzaaabbb"), list("bazbazzab"), ["é", "", "é", "a" * 40, "", "é"]):
        y_true = np.arange(len(ids))
        result, expected = (sg.Judgments(y_true, qid=qid) for qid in (CODED[kind](ids), ids))
        assert result.query_ids.dtype == object and set(map(type, result.query_ids)) == {str}
        assert result.query_ids.tolist() == expected.query_ids.tolist() == list(dict.fromkeys(ids))
        queries = [get_layout(each).query_of_row.tolist() for each in (result, expected)]
        assert queries[0] == queries[1]
        np.testing.assert_array_equal(get_layout(result).grades, y_true)
    with pytest.raises(ValueError, match="qid is missing in row 2"):
        sg.Judgments([1, 0, 1], qid=CODED[kind](["a", "a", None]))


def test_unused_categories_are_not_queries():
    dtype = pd.CategoricalDtype(["x", "a", "b", "y"])
    qid = pd.Series(["b", "a", "b"], dtype=dtype)
    judgments = sg.Judgments([1, 2, 3], qid=qid)
    assert judgments.query_ids.tolist() == ["b", "a"] and judgments.sizes.tolist() == [2, 1]


@pytest.mark.parametrize("dtype", [int, np.uint64, float, "datetime64[D]", object])
def test_rows_of_a_query_need_not_be_contiguous(dtype):
    for last, sizes in ((9, [10] * 4), (7, [20, 10, 10])):
        ids = np.array([7, 3, 5, last]).astype(dtype)
        qid = np.repeat(ids, 10)
        judgments = sg.Judgments(np.arange(40), qid=qid)
        assert judgments.query_ids.tolist() == list(dict.fromkeys(ids.tolist()))
        assert (get_layout(judgments).order is None) == (last == 9)
        assert judgments.sizes.tolist() == sizes
        np.testing.assert_array_equal(judgments.query_ids[get_layout(judgments).query_of_row], qid)


def test_a_missing_id_among_repeated_ids_is_named_by_its_row():
    for qid in (np.repeat([1.0, np.nan], 10), np.repeat(np.array(["a", None]), 10)):
        with pytest.raises(ValueError, match="qid is missing in row 10"):
            sg.Judgments(np.zeros(20), qid=qid)


def test_invalid_grades_are_errors_with_any_number_of_threads(monkeypatch):
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        for row in (0, 123_456, 399_999):
            for bad in (-1.0, np.inf, -np.inf):
                grades = np.zeros(400_000)
                grades[row] = bad
                with pytest.raises(ValueError, match=f"y_true must .*; got {bad:g} for row {row}"):
                    sg.RR().n_undefined(grades, group=[100] * 4000)


def test_the_layout_does_not_depend_on_the_threads(monkeypatch):
    rng = np.random.default_rng(0)
    grades = rng.choice([0, 0, 1, 2, 63, 64, 0.5, np.nan, -0.0, 1e300], 400_000)
    qid = np.minimum(rng.integers(0, 4000, 400_000), rng.integers(0, 8000, 400_000))
    result = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        layout = get_layout(sg.Judgments(grades, qid=qid))
        state = layout.__getstate__()
        result.append(
            b"".join(value.tobytes() for value in state.values() if isinstance(value, np.ndarray))
        )
        assert layout.n_unknown == np.isnan(grades).sum()
        np.testing.assert_array_equal(layout.grades, grades)
    assert result[0] == result[1] == result[2]
