"""Reader of TREC's files of preferences."""

import gzip
import io
import itertools

import numpy as np
import pytest

import skgraded as sg
from skgraded.datasets import read_preferences, text_files

TRIPLES = b"31_1 d1 d2\n31_1 d2 d3\n32_1 d1 d9\n"
SHOWN = b"31_1 d1 d2 d1\n31_1 d3 d2 d2\n32_1 d9 d1 d1\n"
# sub 1 of ann states d1 > d2 > d3, sub 2 again d1 > d2; bob the opposite of one pair
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


def test_preferences_to_columns_and_levels_to_pairs_once_a_group():
    for text in (TRIPLES, SHOWN):
        assert rows(text) == [("31_1", "d1", "d2"), ("31_1", "d2", "d3"), ("32_1", "d1", "d9")]
    assert rows(LEVELS) == [
        ("31_1", "d1", "d2"), ("31_1", "d1", "d3"), ("31_1", "d1", "d4"),
        ("31_1", "d2", "d3"), ("31_1", "d2", "d4"), ("31_1", "d2", "d1"),
    ]


def test_the_examples_of_trec_eval_have_its_numbers_of_preferences():
    # 13, 5 and 5, says its comment on the format; here user, subgroup, document and level
    found = {
        n: [row[1:] for row in rows("".join(f"q {line} \n" for line in lines).encode())]
        for n, lines in {
            1: ["u s 1 3", "u s 2 2", "u s 3 0", "u s 4 6", "u s 5 0", "u s 6 2"],
            2: ["u s1 1 3", "u s1 2 2", "u s1 3 1", "u s2 1 2", "u s2 2 1", "u s2 4 3"],
            3: ["u1 s1 1 3", "u1 s1 2 2", "u2 s1 1 0", "u2 s1 3 6", "u2 s1 4 2", "u2 s2 1 0",
                "u2 s2 2 8"],
        }.items()
    }
    assert len(found[1]) == 13
    assert sorted(found[2]) == [("1", "2"), ("1", "3"), ("2", "3"), ("4", "1"), ("4", "2")]
    assert found[3] == [("1", "2"), ("3", "4"), ("3", "1"), ("4", "1"), ("2", "1")]


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_white_space_packing_and_blocks_do_not_matter(text, monkeypatch):
    expected = rows(text)
    for changed in (
        text.replace(b" ", b"\t"),
        b"  " + text.replace(b" ", b" \t "),
        text.replace(b"\n", b" \r\n"),
        b"\n \n" + text.replace(b"\n", b"\n\n\t\n"),
        b"\xef\xbb\xbf" + text,
        b"\xef\xbb\xbf\n" + text,
        text.rstrip(b"\n"),
        gzip.compress(text),
    ):
        assert rows(changed) == expected, changed
    for block in (1, 20, 1000):
        monkeypatch.setattr(text_files, "BLOCK", block)
        assert rows(text) == expected, block


def test_paths_and_bars(tmp_path, capsys):
    (tmp_path / "prefs").write_bytes(gzip.compress(SHOWN))
    bunch = read_preferences(str(tmp_path / "prefs"), progress=True)
    assert bunch.preferred.tolist() == ["d1", "d2", "d1"]
    assert capsys.readouterr() == ("", "")


def test_ids_stay_the_text_of_the_file():
    assert rows("007 7 +7\nNA 1.0 nan\né 日本 '#\n".encode()) == [
        ("007", "7", "+7"), ("NA", "1.0", "nan"), ("é", "日本", "'#")
    ]


def test_what_is_read_goes_into_edrc_with_votes():
    truth = read_preferences(io.BytesIO(LEVELS + b"31_1 eve 1 d1 1\n31_1 eve 1 d2 0\n"))
    pairs = np.stack([truth.preferred, truth.other], axis=1)
    scores = {"31_1": {"d1": 4, "d2": 3, "d3": 2, "d4": 1}}
    values = sg.edrc_per_query(
        pairs, scores, qid=truth.query, cycles="majority", items="judged", prior=1
    )
    assert values == {"31_1": 1.0}


BAD = {
    "few columns": (TRIPLES, b"32_1 d1\n", 4, "previous lines have 3 columns .query preferred"),
    "many columns": (SHOWN, b"32_1 a 0 d1 1\n", 4, "4 columns .query document document pref"),
    "itself": (TRIPLES, b"\n32_1 d1 d1\n", 5, "document 'd1' is preferred to itself"),
    "a third one": (SHOWN, b"32_1 d1 d2 d3\n", 4,
                    "must name the preferred document, 'd1' or 'd2'; got 'd3'"),
    "no number": (LEVELS, b"32_1 ann 1 d1 high\n", 10, "must be a finite number; got 'high'"),
    "infinite": (LEVELS, b"32_1 ann 1 d1 inf\n", 10, "must be a finite number; got 'inf'"),
    "underscore": (LEVELS, b"32_1 ann 1 d1 1_0\n", 10, "must be a finite number; got '1_0'"),
    "two levels": (LEVELS, b"\n31_1 ann 2 d1 9\n", 11,
                   "has level 9, but it has a different level on line 6"),
    "binary": (TRIPLES, b"\0\1\2\n", 4, "a NUL byte"),
    "not UTF-8": (TRIPLES, b"32_1 d\xff d1\n", 4, "text must be UTF-8"),
    "lone return": (TRIPLES, b"32_1 d1 d2\r32_1 d1 d3\n", 4, "the line contains a carriage return"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_lines_are_named(kind, monkeypatch):
    good, more, line, problem = BAD[kind]
    for block in (1, 1 << 24):
        monkeypatch.setattr(text_files, "BLOCK", block)
        with pytest.raises(ValueError, match=f"<file>: line {line}: .*{problem}"):
            read_preferences(io.BytesIO(good + more))


@pytest.mark.parametrize("text, problem", [
    (b"\n1 2\n", "line 2: a file of preferences must have 3 columns .query pref.* or 4 .*got 2"),
    (b"1 Q0 d 1 0.5 bm25\n", "line 1: a file of preferences must .*got 6: '1 Q0 d 1 0.5 bm25'"),
    (b"301 0 d1 2\n", "line 1: the last column must name the preferred document, '0' or 'd1'"),
    (b"1 a 0 d1 2\n1 a 0 d2 2\n1 a 1 d3 5\n", "contains no preferences"),
    (b"", "the file is empty or contains only blank lines"),
    (b"\n \t\n", "the file is empty or contains only blank lines"),
])
def test_files_of_other_kinds_are_refused(text, problem):
    with pytest.raises(ValueError, match=f"<file>: .*{problem}"):
        read_preferences(io.BytesIO(text))


def test_every_pair_of_a_large_subgroup():
    text = "".join(f"q u s d{i} {i % 7}\n" for i in range(60))
    expected = {
        ("q", f"d{i}", f"d{j}") for i, j in itertools.permutations(range(60), 2) if i % 7 > j % 7
    }
    found = rows(text.encode())
    assert set(found) == expected and len(found) == len(expected)
