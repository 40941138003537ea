"""Reader of TREC files with preference judgments."""

import gzip
import io

import pytest

from skgraded.datasets import read_preferences, text_files

TRIPLES = b"31_1 d1 d2\n31_1 d2 d3\n32_1 d1 d9\n"
SHOWN = b"31_1 d1 d2 d1\n31_1 d3 d2 d2\n32_1 d9 d1 d1\n"
# Subgroup 1 of ann states d1 > d2 > d3, subgroup 2 again d1 > d2; bob states d2 > d1.
LEVELS = (
    b"31_1 ann 1 d2 2.0\n31_1 ann 1 d1 3.0\n31_1 ann 1 d3 1e0\n31_1 ann 1 d4 1\n"
    b"31_1 ann 2 d2 1\n31_1 ann 2 d1 2\n31_1 bob 1 d1 0\n31_1 bob 1 d2 7\n32_1 ann 1 d9 1\n"
)
FORMS = {"3": TRIPLES, "4": SHOWN, "5": LEVELS}


def rows(text):
    bunch = read_preferences(io.BytesIO(text))
    assert list(bunch) == ["query", "preferred", "other"]
    assert all(values.dtype == object and values.ndim == 1 for values in bunch.values())
    return list(zip(*(values.tolist() for values in bunch.values()), strict=True))


def test_pairs_of_each_format_count_once_per_group():
    for text in (TRIPLES, SHOWN):
        assert rows(text) == [("31_1", "d1", "d2"), ("31_1", "d2", "d3"), ("32_1", "d1", "d9")]
    assert rows(LEVELS) == [
        ("31_1", "d1", "d2"), ("31_1", "d1", "d3"), ("31_1", "d1", "d4"),
        ("31_1", "d2", "d3"), ("31_1", "d2", "d4"), ("31_1", "d2", "d1"),
    ]


def test_examples_of_trec_eval_have_as_many_pairs_as_it_counts():
    # Source comments of trec_eval count 13, 5 and 5 pairs (user, subgroup, document, level).
    result = {
        n: [row[1:] for row in rows("".join(f"q {line} \n" for line in lines).encode())]
        for n, lines in {
            1: ["u s 1 3", "u s 2 2", "u s 3 0", "u s 4 6", "u s 5 0", "u s 6 2"],
            2: ["u s1 1 3", "u s1 2 2", "u s1 3 1", "u s2 1 2", "u s2 2 1", "u s2 4 3"],
            3: ["u1 s1 1 3", "u1 s1 2 2", "u2 s1 1 0", "u2 s1 3 6", "u2 s1 4 2", "u2 s2 1 0",
                "u2 s2 2 8"],
        }.items()
    }
    assert len(result[1]) == 13
    assert sorted(result[2]) == [("1", "2"), ("1", "3"), ("2", "3"), ("4", "1"), ("4", "2")]
    assert result[3] == [("1", "2"), ("3", "4"), ("3", "1"), ("4", "1"), ("2", "1")]


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_white_space_compression_and_blocks_do_not_matter(text, monkeypatch):
    expected = rows(text)
    for changed in (
        text.replace(b" ", b"\t"),
        b"  " + text.replace(b" ", b" \t "),
        text.replace(b"\n", b" \r\n"),
        b"\n \n" + text.replace(b"\n", b"\n\n\t\n"),
        b"\xef\xbb\xbf" + text,
        b"\xef\xbb\xbf# caf\xe9 x\n" + text + b" \t#a b c",
        b"\xef\xbb\xbf\n" + text,
        text.rstrip(b"\n"),
        gzip.compress(text),
    ):
        assert rows(changed) == expected, changed
    for block in (1, 20, 1000):
        monkeypatch.setattr(text_files, "BLOCK", block)
        assert rows(text) == expected, block
