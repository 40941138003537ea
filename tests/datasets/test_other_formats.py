"""Qrels and runs of BEIR, MS MARCO, ranx, MTEB and Quepid."""

import bz2
import gzip
import io
import json
import lzma
import math
from itertools import product

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
    return list(
        zip(
            bunch.query,
            bunch.document,
            bunch["grade" if read is read_qrels else "score"].tolist(),
            strict=True,
        )
    )


FORMATS = [
    (read_qrels, tabs(QRELS), QRELS),
    (read_qrels, tabs(QRELS, b'# test\n \n"query-id"\t"corpus-id"\t"score"\n'), QRELS),
    (read_qrels, HEADER + b'q"1\t"a ""b"" c"\t1\n', [('q"1', 'a "b" c', 1.0)]),
    (read_qrels, HEADER + b"#1\td1\t1\n", [("#1", "d1", 1.0)]),  # an id below the header
    (read_qrels, b"1\t0\td1\t1\n", [("1", "d1", 1.0)]),  # MS MARCO
    (read_run, MS_MARCO, RANKS),
    (read_run, b"1 Q0 d 1 2.5 my run\n1 Q0 e 2 0 my  run v2\n", [("1", "d", 2.5), ("1", "e", 0.0)]),
    (read_run, b"q Q0 d 1 1 s\nq Q0 e \xff 1 s\n", [("q", "d", 1.0), ("q", "e", 1.0)]),
    (read_run, b"# test\n" + MS_MARCO.replace(b"\t", b"  "), RANKS),
    (
        read_run,
        b"q\tmy d 2\t1\t2.5\nq\tmy d 3\t2\t1\n",
        [("q", "my d 2", 2.5), ("q", "my d 3", 1.0)],
    ),
    (read_run, b"q\tmy d 2 3\t2.5\n", [("q", "my d 2 3", 2.5)]),
    (
        read_run,
        b"q a 2 0.5\nq b 1 7e-1\np a 0 -inf\n",
        [("q", "a", 0.5), ("q", "b", 0.7), ("p", "a", -math.inf)],
    ),
    # A line with one tab fewer than columns is split at the tabs only.
    (read_run, b"q1\tQ0\tApollo 13\t1\t9.5\tsys\n", [("q1", "Apollo 13", 9.5)]),
    (read_run, b"q 1 \t Q0\t New  York \t-\t 9.5\tmy run\n#\n", [("q 1", "New  York", 9.5)]),
    (
        read_run,
        b"1 Q0 a 1 9 s t\nq 1\tQ0\tb c\t1\t8\ts\n1\tQ0  b\t2 7 s\n",
        [("1", "a", 9.0), ("q 1", "b c", 8.0), ("1", "b", 7.0)],
    ),
    (
        read_run,
        b"q1\tApollo 13\t1\nq1\tA B C D 8 E\t2\n",
        [("q1", "Apollo 13", -1.0), ("q1", "A B C D 8 E", -2.0)],
    ),
    (read_run, b"q1\tApollo 13\t1\t2.5\n", [("q1", "Apollo 13", 2.5)]),
    (read_run, b"q1\t\td\t1\n", [("q1", "d", -1.0)]),
    (
        read_qrels,
        b"q1\t0\tApollo 13\t1\n# a\tb\tc\t\xe9\n\t\t\t\nq1 0 b 2\nq1  0\tc  0\n",
        [("q1", "Apollo 13", 1.0), ("q1", "b", 2.0), ("q1", "c", 0.0)],
    ),
    # Tables with a header, whose columns may have any order
    (
        read_qrels,
        b'note,rating,query,docid\n,2,"q1","d 1"\n"a, ""b""\n",0,q1,d2\n,1e0,007,#d\n',
        QRELS,
    ),
    (read_qrels, b"query,docid,rating\nq1,d 1,2\nq1,d2,0\n007,#d,1\n", QRELS),
    (read_qrels, tabs(QRELS, b"query_id\tdoc_id\trelevance\n"), QRELS),
    (read_run, b"# test\nqid,docno,score\nq1,d 1,2.5\nq1,d2,-1e-3\n007,#d,7\n", RUN),
    (read_run, tabs(RUN), RUN),
    (
        read_run,
        b"query,doc-id,score\nq,a,9007199254740993\nq,b,2\n",
        [("q", "a", 2**53 + 1.0), ("q", "b", 2.0)],
    ),
    # JSON and JSON Lines
    (
        read_qrels,
        b"".join(
            json.dumps({"query-id": q, "corpus-id": d, "score": grade}).encode() + b"\n"
            for q, d, grade in QRELS
        ),
        QRELS,
    ),
    (read_qrels, b'{"query": "q1", "docid": "d1", "rating": 3}', [("q1", "d1", 3.0)]),
    (read_run, b'[{"qid": "q1", "docno": "d1", "score": 3}]', [("q1", "d1", 3.0)]),
    (read_run, b'{"q1": ["d1", "#2"], "007": ["d1"]}', RANKS),
    (read_qrels, json.dumps(GRADES).encode(), QRELS),
    (read_run, json.dumps(SCORES, indent=1).encode(), RUN),
    (read_run, json.dumps(META | {"en": {"test": SCORES}}).encode(), RUN),
    (read_qrels, b"{q1} 0 d1 1\n", [("{q1}", "d1", 1.0)]),
]


@pytest.mark.usefixtures("arrow")
def test_rows_of_qrels_without_grades_are_left_out_with_a_warning():
    # Quepid writes queries without ratings without documents, and documents without a rating.
    data = b"query,docid,rating\nq1,d 1,2\nq 2\nq1,d3,\nq1,d2,0\n007,#d,1\n"
    with pytest.warns(UserWarning, match="2 of 5 rows contain no grade .* is line 3"):
        assert rows_of(read_qrels, data) == QRELS
    with pytest.warns(UserWarning, match="1 of 4 rows contain no grade .* is line 3"):
        assert rows_of(read_qrels, data.replace(b"q 2\n", b"")) == QRELS
    with pytest.raises(ValueError, match="no row contains a grade; the first is line 2"):
        rows_of(read_qrels, b"query-id\tcorpus-id\tscore\nq1 d1 2\n")
    with pytest.raises(ValueError, match="line 3: .* the row has 1 columns"):
        rows_of(read_run, b"query,docid,score\nq1,d1,2\nq2;d1;1\n")


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("read, data, expected", FORMATS)
def test_the_content_determines_the_format(read, data, expected, monkeypatch):
    for changed in (
        data,
        b"\xef\xbb\xbf" + data,
        data.rstrip(),
        data.rstrip().replace(b"\n", b"\r\n") + b"\r",
        b" \n" + data.replace(b"\n", b"\r\n\n"),
        *(packed.compress(data) for packed in (gzip, bz2, lzma)),
    ):
        assert rows_of(read, changed) == expected, changed
    wide = data.replace(b"{", b"{" + b" " * 999, 1)  # JSON may be one long line
    if text_files.JSON.match(data):
        assert rows_of(read, wide) == expected
    else:
        for block in (1, 20):
            monkeypatch.setattr(text_files, "BLOCK", block)
            assert rows_of(read, data) == expected, block


# Values of queries a and b in a run with three columns, and their signs as scores; 0 is an error.
THIRD = [
    ("1 2", "1", -1),
    ("2 1", "2 3 1", -1),
    ("0 1", "1 0 2", -1),
    ("1 0", "1 2", -1),
    ("1", "1", -1),
    ("0", "1", -1),
    ("+1 02", "1", -1),
    ("1 2.0", "1", 1),
    ("1 2", "1e0", 1),
    ("0.5 2", "1", 1),
    ("1 2", "-inf", 1),
    ("7 7", "0.5", 1),
    ("27 13", "1", 0),
    ("1 2", "27", 0),
    ("1 1", "1", 0),
    ("1 3", "1", 0),
    ("0 0 2", "1", 0),
    ("0 2", "1", 0),
    ("0 -1", "1", 0),
    ("2", "1", 0),
    ("1 2", "9" * 400, 0),
]


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("a, b, sign", THIRD)
def test_the_third_column_contains_ranks_or_scores(a, b, sign, monkeypatch):
    values = [("a", word) for word in a.split()] + [("b", word) for word in b.split()]
    rows = [(query, f"d{i}", word) for i, (query, word) in enumerate(values)]
    for order, block in product((rows, rows[::-1], rows[1:] + rows[:1]), (1, 1 << 22)):
        monkeypatch.setattr(text_files, "BLOCK", block)
        text = "".join(f"{query}\t{document}\t{word}\n" for query, document, word in order).encode()
        scores = [(query, document, float(word)) for query, document, word in order]
        if sign:
            assert rows_of(read_run, text) == [(q, d, sign * x) for q, d, x in scores]
        else:
            message = r"line \d: the third column contains integers that are not the ranks 1 to \d"
            with pytest.raises(ValueError, match=message):
                read_run(io.BytesIO(text))
        assert rows_of(read_run, text, third="score") == scores
        if all(x % 1 == 0 and x >= 0 for *_, x in scores):
            assert rows_of(read_run, text, third="rank") == [(q, d, -x) for q, d, x in scores]


def test_a_subset_and_split_of_predictions_is_selected():
    single = {"default": {"test": SCORES}}
    several = single | {"en": {"test": {"q": {"a": 1}}, "dev": {"q": {"b": 2}, "p": {}}}}
    for parts, split, expected in (
        (single, None, RUN),
        (single, "default/test", RUN),
        (several, "default/test", RUN),
        (several, "en/dev", [("q", "b", 2.0)]),
    ):
        assert rows_of(read_run, json.dumps(META | parts).encode(), split=split) == expected
    assert read_run(io.BytesIO(json.dumps(SCORES).encode())).name.tolist() == [""] * 3
