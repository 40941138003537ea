"""A byte-order mark is no part of a file."""

import io

import pytest

from skgraded.datasets import read_qrels, read_run
from skgraded.datasets._tables import Names, read_columns

BOM = b"\xef\xbb\xbf"
NAMES = Names("query", "grade", ["score"], "document")
TABLE = b"query,document,grade,score\nq1,a,1,0.5\nq2,b,0,0.25\n"


@pytest.mark.parametrize("between", [b"", b" ", b"\t ", b"\n", b" \n\n", b"\r\n"])
def test_a_byte_order_mark_may_stand_before_white_space(between):
    run = read_run(io.BytesIO(BOM + between + b"q1 Q0 a 1 0.5 s\nq2 Q0 b 1 0.25 s\n"))
    assert run.query.tolist() == ["q1", "q2"] and run.score.tolist() == [0.5, 0.25]
    qrels = read_qrels(io.BytesIO(BOM + between + b"q1 0 a 1\n"))
    assert qrels.query.tolist() == ["q1"] and qrels.document.tolist() == ["a"]


def test_a_byte_order_mark_is_not_what_is_wrong_with_a_file():
    with pytest.raises(ValueError, match="line 3: the score must be a number; got 'high'"):
        read_run(io.BytesIO(BOM + b"\nq1 Q0 a 1 0.5 s\nq1 Q0 b 1 high s\n"))
    with pytest.raises(ValueError, match="line 1: a run has 6 columns, .*got 2: .*q1 Q0"):
        read_run(io.BytesIO(BOM + b"q1 Q0\n"))


def test_a_table_may_begin_with_a_byte_order_mark():
    table = read_columns(io.BytesIO(BOM + TABLE), NAMES)
    assert table.query.tolist() == ["q1", "q2"] and table.scores["score"].tolist() == [0.5, 0.25]
    quoted = read_columns(io.BytesIO(BOM + b'"query",' + TABLE.removeprefix(b"query,")), NAMES)
    assert quoted.query.tolist() == ["q1", "q2"]
    with pytest.raises(ValueError, match="line 4: score must be a number; got 'high'"):
        read_columns(io.BytesIO(BOM + TABLE + b"q2,c,0,high\n"), NAMES)
