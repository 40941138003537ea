"""Texts in Arrow columns: their keys and their numbers, in every layout of Arrow."""

import numpy as np
import pytest

import skgraded as sg

pa = pytest.importorskip("pyarrow")

from skgraded._input import arrow  # noqa: E402
from skgraded._input.arrow_strings import keys, numbered  # noqa: E402

TEXTS = ["", "a", "query-1", "12345678", "0123456789ab", "0123456789abcdef", "Straße 12, Köln", "a"]
# Keys must be the same in all processes, on all machines and in all versions.
KEYS = {
    "": 16294208416658607535,
    "a": 1387786489429541378,
    "query-1": 13034458377083704417,
    "12345678": 3015996426345890344,
    "0123456789abcdef": 12770247040595880294,
}
VIEWS = "string_view" in dir(pa)
KINDS = {"string": pa.string(), "binary": pa.binary()}
LAYOUTS = {
    "string": pa.array(TEXTS, pa.string()),
    "large_string": pa.array(TEXTS, pa.large_string()),
    "dictionary": pa.array(TEXTS, pa.string()).dictionary_encode(),
    "sliced": pa.array(["text before", *TEXTS, None], pa.string()).slice(1, len(TEXTS)),
    "chunked": pa.chunked_array([TEXTS[:3], [], TEXTS[3:]], pa.large_string()),
    "no data": pa.array([""] * 3, pa.large_string()),
    "no rows": pa.chunked_array([], pa.string()),
}
if VIEWS:
    KINDS["string_view"] = view = pa.string_view()
    LAYOUTS["string_view"] = pa.array(TEXTS, view)
    LAYOUTS["sliced views"] = pa.array(["text before", *TEXTS, None], view).slice(1, len(TEXTS))


@pytest.mark.skipif(not VIEWS, reason="needs pyarrow ≥ 16, which has string views")
def test_string_views_are_among_the_layouts():
    assert {"string_view", "sliced views"} < set(LAYOUTS)


def chunked(column):
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def test_the_keys_of_texts_never_change():
    assert dict(zip(KEYS, keys(pa.array(list(KEYS))).tolist(), strict=True)) == KEYS


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_and_distinct_ids_have_the_same_keys_in_every_layout(layout):
    column = chunked(LAYOUTS[layout])
    expected = arrow.marks(np.array(column.to_pylist(), dtype=object))
    assert arrow.marks_of_rows(arrow.ids(column)).tolist() == expected.tolist()
    as_bytes = pa.array([text.encode() for text in column.to_pylist()], pa.binary())
    assert arrow.marks_of_rows(arrow.ids(chunked(as_bytes))).tolist() == expected.tolist()
    if layout != "dictionary":
        assert keys(column).tolist() == expected.tolist()


def test_a_million_distinct_texts_have_distinct_keys():
    texts = pa.array(np.arange(1_000_000).astype(str).astype(object))
    assert len(np.unique(keys(texts))) == 1_000_000


def test_texts_that_differ_in_a_single_bit_have_distinct_keys():
    texts = [b"\0" * n for n in range(40)]
    for n in (1, 7, 8, 9, 16, 31):
        texts += [(1 << bit).to_bytes(n, "little") for bit in range(8 * n)]
    assert len(np.unique(keys(pa.array(texts, pa.binary())))) == len(texts)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_texts_are_numbered_in_order_of_first_appearance(layout):
    texts = LAYOUTS[layout].to_pylist()
    distinct = list(dict.fromkeys(texts))
    if layout != "dictionary":
        codes, query_ids = numbered(LAYOUTS[layout])
        assert codes.tolist() == [distinct.index(text) for text in texts]
        assert query_ids == distinct
    if texts:
        judgments = sg.Judgments(np.zeros(len(texts)), qid=LAYOUTS[layout])
        assert judgments.query_ids.tolist() == distinct
        assert judgments.query_of_row.tolist() == [distinct.index(text) for text in texts]


def test_many_mixed_texts_of_all_lengths_are_numbered_as_in_a_dict():
    rng = np.random.default_rng(0)
    pool = [str(i) * (i % 9) for i in range(5000)]  # the texts "" and "8" * 8 are among them
    texts = [pool[i] for i in rng.integers(0, len(pool), 50_000)]
    number_of = {}
    expected = [number_of.setdefault(text, len(number_of)) for text in texts]
    for kind in (KINDS[name] for name in KINDS if name != "binary"):
        codes, distinct = numbered(pa.array(texts, kind))
        assert codes.tolist() == expected
        assert distinct == list(number_of)


@pytest.mark.parametrize("kind", ["string[pyarrow]", "string[python]"])
def test_pandas_texts_are_numbered_in_order_of_first_appearance(kind):
    pd = pytest.importorskip("pandas")
    for make in (pd.Series, pd.Index, pd.array):
        ids = make(["b", "a", "b"], dtype=kind)
        judgments = sg.Judgments([0, 1, 2], qid=ids)
        assert judgments.query_ids.tolist() == ["b", "a"]
        assert judgments.query_of_row.tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="qid is missing in row 1"):
        sg.Judgments([1, 0], qid=pd.Series(["a", None], dtype=kind))


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_text_is_named_with_its_row(kind):
    ids = pa.array([b"a", None], pa.binary()).cast(KINDS[kind])
    with pytest.raises(ValueError, match="qid is missing in row 1"):
        sg.Judgments([1, 0], qid=ids)
