"""Qrels and runs of BEIR, MS MARCO, ranx and MTEB."""

import bz2
import gzip
import io
import json
import lzma

import pytest

from skgraded.datasets import read_qrels, read_run, text_files

HEADER = b"query-id\tcorpus-id\tscore\n"
META = {"mteb_model_meta": {"model_name": "m", "revision": "1"}}
GRADES = {"q1": {"d 1": 2, "d2": 0}, "007": {"#d": 1}}
SCORES = {"q1": {"d 1": 2.5, "d2": -1e-3}, "007": {"#d": 7.0}}
QRELS = [("q1", "d 1", 2.0), ("q1", "d2", 0.0), ("007", "#d", 1.0)]
RUN = [("q1", "d 1", 2.5), ("q1", "d2", -1e-3), ("007", "#d", 7.0)]
RANKS = [("q1", "d1", -1.0), ("q1", "#2", -2.0), ("007", "d1", -1.0)]


def tabs(rows, header=HEADER):
    return header + b"".join(f"{q}\t{d}\t{number:g}\n".encode() for q, d, number in rows)


MS_MARCO = tabs([(query, document, -rank) for query, document, rank in RANKS], b"")


def rows_of(read, data, **options):
    bunch = read(io.BytesIO(data), **options)
    return list(zip(bunch.query, bunch.document, bunch[
        "grade" if read is read_qrels else "score"
    ].tolist(), strict=True))


FORMATS = [
    (read_qrels, tabs(QRELS), QRELS),
    (read_qrels, tabs(QRELS, b'# test\n \n"query-id"\t"corpus-id"\t"score"\n'), QRELS),
    (read_qrels, HEADER + b'q"1\t"a ""b"" c"\t1\n', [('q"1', 'a "b" c', 1.0)]),
    (read_qrels, HEADER + b"#1\td1\t1\n", [("#1", "d1", 1.0)]),  # an id below the header
    (read_qrels, b"1\t0\td1\t1\n", [("1", "d1", 1.0)]),  # of MS MARCO
    (read_run, MS_MARCO, RANKS),
    (read_run, b"1 Q0 d 1 2.5 my run\n1 Q0 e 2 0 my  run v2\n", [("1", "d", 2.5), ("1", "e", 0.0)]),
    (read_run, b"# test\n" + MS_MARCO.replace(b"\t", b"  "), RANKS),
    (read_qrels, json.dumps(GRADES).encode(), QRELS),
    (read_run, json.dumps(SCORES, indent=1).encode(), RUN),
    (read_run, json.dumps(META | {"en": {"test": SCORES}}).encode(), RUN),
    (read_qrels, b"{q1} 0 d1 1\n", [("{q1}", "d1", 1.0)]),
]


@pytest.mark.parametrize("data", [tabs(QRELS), b"1 0 d1 1\n"])
def test_a_file_may_end_with_a_carriage_return(data):
    text = data.replace(b"\n", b"\r\n").removesuffix(b"\n")
    assert rows_of(read_qrels, text) == rows_of(read_qrels, data)


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("read, data, expected", FORMATS)
def test_the_content_determines_the_format(read, data, expected, monkeypatch):
    for changed in (
        data, b"\xef\xbb\xbf" + data, data.rstrip(), b" \n" + data.replace(b"\n", b"\r\n\n"),
        *(packed.compress(data) for packed in (gzip, bz2, lzma)),
    ):
        assert rows_of(read, changed) == expected, changed
    monkeypatch.setattr(text_files, "MOST_LINE", 1 << 9)
    wide = data.replace(b"{", b"{" + b" " * 999, 1)  # JSON may be one long line
    if text_files.JSON.match(data):
        assert rows_of(read, wide) == expected
    else:
        for block in (1, 20):
            monkeypatch.setattr(text_files, "BLOCK", block)
            assert rows_of(read, data) == expected, block


def test_a_subset_and_split_of_predictions_is_selected():
    single = {"default": {"test": SCORES}}
    several = single | {"en": {"test": {"q": {"a": 1}}, "dev": {"q": {"b": 2}, "p": {}}}}
    for parts, split, expected in (
        (single, None, RUN), (single, "default/test", RUN), (several, "default/test", RUN),
        (several, "en/dev", [("q", "b", 2.0)]),
    ):
        assert rows_of(read_run, json.dumps(META | parts).encode(), split=split) == expected
    assert read_run(io.BytesIO(json.dumps(SCORES).encode())).name.tolist() == [""] * 3
