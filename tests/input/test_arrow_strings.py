"""Columns of Arrow: texts in every layout, their keys and their numbers, and missing numbers."""

import numpy as np
import pytest
from large_tables import texts_with_equal_keys

import skgraded as sg

pa = pytest.importorskip("pyarrow")

from skgraded._kernels.strings import hash_texts  # noqa: E402

from skgraded._input import arrow  # noqa: E402
from skgraded._input.arrow_strings import encode_column, find_spans, hash_ids  # noqa: E402
from skgraded.judgments import get_layout  # noqa: E402

TEXTS = [  # a view contains up to 12 bytes itself
    "",
    "a",
    "query-1",
    "12345678",
    "0123456789ab",
    "0123456789abc",
    "0123456789abcdef",
    "Straße 12, Köln",
    "a",
]
# Keys must be the same in all processes, on all machines and in all versions.
KEYS = {
    "": 16294208416658607535,
    "a": 1387786489429541378,
    "query-1": 13034458377083704417,
    "12345678": 3015996426345890344,
    "0123456789abcdef": 12770247040595880294,
}
VIEWS = "string_view" in dir(pa)
LAYOUTS = {
    "string": pa.array(TEXTS, pa.string()),
    "large_string": pa.array(TEXTS, pa.large_string()),
    "dictionary": pa.array(TEXTS, pa.string()).dictionary_encode(),
    "sliced": pa.array(["text before", *TEXTS, None], pa.string()).slice(1, len(TEXTS)),
    "chunked": pa.chunked_array([TEXTS[:3], [], TEXTS[3:]], pa.large_string()),
    "no data": pa.array([""] * 3, pa.large_string()),
    "no rows": pa.chunked_array([], pa.string()),
}
DICTIONARY = pa.array(["b", "a", "b", "unused", "a" * 40], pa.string())  # contains "b" twice
LAYOUTS["dictionaries"] = pa.chunked_array(
    [
        pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), DICTIONARY)
        for codes in ([2, 1, 0], [4, 0, 1])
    ]
)
if VIEWS:
    view = pa.string_view()
    LAYOUTS["string_view"] = pa.array(TEXTS, view)
    LAYOUTS["sliced views"] = pa.array(["text before", *TEXTS, None], view).slice(1, len(TEXTS))


def chunked(column):
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def test_the_keys_of_texts_never_change():
    assert (
        dict(zip(KEYS, hash_texts(*find_spans(pa.array(list(KEYS)))).tolist(), strict=True)) == KEYS
    )
    assert len(set(hash_texts(*find_spans(pa.array(texts_with_equal_keys()))).tolist())) == 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_texts_have_the_same_keys_and_numbers_in_every_layout(layout):
    column = chunked(LAYOUTS[layout])
    expected = hash_ids(np.array(column.to_pylist(), dtype=object))
    assert arrow.mark_rows(arrow.convert_ids(column)).tolist() == expected.tolist()
    as_bytes = pa.array([text.encode() for text in column.to_pylist()], pa.binary())
    assert arrow.mark_rows(arrow.convert_ids(chunked(as_bytes))).tolist() == expected.tolist()
    texts = column.to_pylist()
    distinct = list(dict.fromkeys(texts))  # in order of first appearance
    codes, query_ids, counts, _ = encode_column(arrow.convert_ids(column))
    assert codes.tolist() == [distinct.index(text) for text in texts]
    assert query_ids.tolist() == distinct
    assert counts.tolist() == list(map(texts.count, distinct))
    if texts:
        judgments = sg.Judgments(np.zeros(len(texts)), qid=LAYOUTS[layout])
        assert judgments.query_ids.tolist() == distinct
        query_of_row = get_layout(judgments).query_of_row
        assert query_of_row.tolist() == [distinct.index(text) for text in texts]


DAMAGED = {
    "end after the buffer": (pa.string(), [0, 1, 10**9, 3]),
    "end before the start": (pa.large_string(), [0, 3, 1, 3]),
    "negative end": (pa.binary(), [0, -(10**9), 1, 3]),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_memory_outside_the_texts_is_not_read(damage):
    kind, ends = DAMAGED[damage]
    buffers = [None, np.array(ends, dtype="i8" if "large" in str(kind) else "i4"), b"abc"]
    column = pa.Array.from_buffers(kind, 3, [b if b is None else pa.py_buffer(b) for b in buffers])
    for ids in (column, pa.chunked_array([column])):
        with pytest.raises(ValueError, match="end|offset"):
            sg.Judgments([1, 0, 1], qid=ids)


def test_text_that_is_not_utf_8_is_an_error():
    ids = pa.array([b"a", b"\xff", b"b"], pa.binary()).view(pa.string())
    with pytest.raises(ValueError, match="can't decode byte 0xff"):
        sg.Judgments([1, 0, 1], qid=ids)


MISSING = {
    "binary": pa.array([b"a", None, b"a"], pa.binary()),
    "null in a dictionary": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 0]), pa.array(["a", None])
    ),
}
if VIEWS:
    MISSING["view"] = pa.array(["a", None, "a"], view)


@pytest.mark.parametrize("kind", MISSING)
def test_a_missing_text_is_named_with_its_row(kind):
    with pytest.raises(ValueError, match="qid is missing in row 1"):
        sg.Judgments([1, 0, 0], qid=MISSING[kind])


@pytest.mark.parametrize("values", [[1, None], [True, None]])
def test_missing_integers_and_booleans_become_nan(values):
    result = arrow.convert_numbers(pa.chunked_array([values]))
    np.testing.assert_array_equal(result, np.array([1.0, np.nan]), strict=True)
