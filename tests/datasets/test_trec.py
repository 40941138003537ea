"""Readers of TREC files."""

import gzip
import io

import numpy as np
import pytest
from doubles import doubles

from skgraded.datasets import entries, read_qrels, read_run, text_files

BOM = b"\xef\xbb\xbf"
QRELS = b"301 0 d1 2\n301 0 d2 0\n302 0 d1 1\n"
RUN = b"301 Q0 d2 1 9.5 bm25\n301 Q0 d1 2 7 bm25\n302 Q0 d9 1 1e-3 bm25\n"


def columns(bunch):
    return {name: values.tolist() for name, values in bunch.items()}


def test_columns_of_qrels_and_runs():
    assert columns(read_qrels(io.BytesIO(QRELS))) == {
        "query": ["301", "301", "302"],
        "document": ["d1", "d2", "d1"],
        "grade": [2.0, 0.0, 1.0],
    }
    assert columns(read_run(io.BytesIO(RUN))) == {
        "query": ["301", "301", "302"],
        "document": ["d2", "d1", "d9"],
        "score": [9.5, 7.0, 0.001],
        "name": ["bm25"] * 3,
    }


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("read, text", [(read_qrels, QRELS), (read_run, RUN)])
def test_white_space_and_compression_do_not_matter(read, text):
    for changed in (
        text.replace(b" ", b"\t"),
        text.replace(b" ", b" \t  "),
        b"  " + text.replace(b"\n", b" \n\t"),
        text.replace(b"\n", b"\r\n"),
        b"\n \n" + text.replace(b"\n", b"\n\n\t\n"),
        b"# 301 0 d9 1\n#\n" + text.replace(b"\n", b"\n\t # caf\xe9 0 d9 1 1 s\r\n"),
        BOM + b"#d9\n" + text + b"#d9",
        *(BOM + white + text for white in (b"", b" ", b"\t ", b"\n", b" \n\n", b"\r\n")),
        text.rstrip(b"\n"),
        gzip.compress(text),
        gzip.compress(text[:9]) + gzip.compress(text[9:]),
    ):
        assert columns(read(io.BytesIO(changed))) == columns(read(io.BytesIO(text))), changed


def test_paths_and_open_files_are_read_in_the_same_way(tmp_path):
    (tmp_path / "run").write_bytes(RUN)
    (tmp_path / "packed").write_bytes(gzip.compress(RUN))
    file = io.BytesIO(RUN)
    for source in (tmp_path / "run", str(tmp_path / "packed"), file):
        assert columns(read_run(source)) == columns(read_run(io.BytesIO(RUN)))
    assert not file.closed


@pytest.mark.usefixtures("arrow")
def test_ids_are_the_strings_of_the_file():
    for ids in (
        ["007", "7", "+7"],
        ["1.0", "1", "1e0"],
        ["NA", "nan", "null"],
        ["True", "False", "true"],
        ['"a', "'b", "c#"],
        ["é", "日本", "d,e"],
    ):
        for sign in ("", "#"):  # only at the beginning of a line, "#" begins a comment
            lines = [f"{name} # {sign}{name} 1\n" for name in ids]
            qrels = read_qrels(io.BytesIO("".join(lines).encode()))
            assert qrels.query.tolist() == ids
            assert qrels.document.tolist() == [sign + name for name in ids]


@pytest.mark.usefixtures("arrow")
def test_blocks_are_joined(monkeypatch):
    text = b"".join(
        b"%d Q0 %s%d 1 %d.25 s%d\n" % (i // 7, b"d" * (i > 50), i, i, i % 3) for i in range(100)
    )
    expected = columns(read_run(io.BytesIO(text)))
    for block in (1, 20, 57, 1000):
        monkeypatch.setattr(text_files, "BLOCK", block)
        assert columns(read_run(io.BytesIO(text))) == expected, block
    assert expected == {
        "query": [str(i // 7) for i in range(100)],
        "document": ["d" * (i > 50) + str(i) for i in range(100)],
        "score": [i + 0.25 for i in range(100)],
        "name": [f"s{i % 3}" for i in range(100)],
    }


def test_negative_grades_are_kept_and_counted():
    text = b"1 0 c 3\n1 0 a -1\n1 0 b -2\n"
    message = "2 of 3 grades are negative, .* the first is -1 for document 'a' of query '1'"
    with pytest.warns(UserWarning, match=message):
        qrels = read_qrels(io.BytesIO(text))
    assert qrels.grade.tolist() == [3, -1, -2]


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize(
    "form, more",
    [
        (repr, []),
        ("{:.25e}".format, ["inf", "-inf", "-Infinity", "1e400", "1e-400", "-1e400"]),
    ],
    ids=["repr", "long and infinite"],
)
def test_scores_are_read_exactly(form, more):
    words = [*map(form, doubles(3000)), *more]
    text = "".join(f"1 Q0 {i} 1 {word} s\n" for i, word in enumerate(words))
    scores = read_run(io.BytesIO(text.encode())).score.tolist()
    assert [str(score) for score in scores] == [str(float(word)) for word in words]  # also -0.0


def test_repeated_judgments_count_once():
    text = b"1 0 a 2\n1 0 a 2\n\n1 0 b 1\n1 7 a 2.0\n2 0 a 0\n1 0 b 1\n"
    assert columns(read_qrels(io.BytesIO(text))) == {
        "query": ["1", "1", "2"],
        "document": ["a", "b", "a"],
        "grade": [2, 1, 0],
    }


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("piece", [1, 7, 1 << 14])
def test_duplicates_are_found_in_any_order_of_the_queries(piece, monkeypatch):
    monkeypatch.setattr(entries, "PIECE", piece)
    rng = np.random.default_rng(piece)
    pairs = [(query, document) for query in range(9) for document in range(query + 2)]
    for order in (range(len(pairs)), rng.permutation(len(pairs))):
        lines = [f"{pairs[i][0]} 0 d{pairs[i][1]} {i % 3}\n" for i in order]
        twice = [*lines[:20], lines[3], *lines[20:], lines[30], lines[3]]
        qrels = read_qrels(io.BytesIO("".join(twice).encode()))
        rows = zip(qrels.query, qrels.document, qrels.grade, strict=True)
        assert [f"{q} 0 {d} {grade:g}\n" for q, d, grade in rows] == lines
        run = "".join(f"{q} Q0 {d} 1 0 s\n" for q, _, d, _ in map(str.split, twice))
        with pytest.raises(ValueError, match="line 21: query .* already contains .* at line 4"):
            read_run(io.BytesIO(run.encode()))
