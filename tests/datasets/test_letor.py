"""The reader of LETOR files."""

import gzip
import io

import numpy as np
import pytest
from doubles import doubles
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from skgraded.datasets import read_letor, text_files


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "data.txt"
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return write


def test_a_file_becomes_arrays(write):
    path = write(
        "2 qid:GX-7 1:0.5 3:-1e-2 #docid = D-1\n"
        "0.5 qid:GX-7 2:+3 4:1E3 #docid=D-2 inc = 1 prob = 0.02\n"
        "0 qid:007 1:.25\n"
    )
    data = read_letor(path)
    assert sparse.issparse(data.X) and data.X.format == "csr" and data.X.dtype == np.float64
    expected = [[0.5, 0, -0.01, 0], [0, 3, 0, 1000], [0.25, 0, 0, 0]]
    np.testing.assert_array_equal(data.X.toarray(), expected)
    assert data.y.dtype == np.float64 and data.y.tolist() == [2, 0.5, 0]
    assert data.qid.dtype == object and data.qid.tolist() == ["GX-7", "GX-7", "007"]
    assert data.doc_id.dtype == object and data.doc_id.tolist() == ["D-1", "D-2", None]
    assert sorted(data) == ["X", "doc_id", "qid", "y"]


def test_comments_may_contain_the_document():
    for comment, expected in {
        "#docid = GX000-00": "GX000-00",
        "#docid = GX000-00 inc = 1 prob = 0.02": "GX000-00",
        "# docid=GX000-00": "GX000-00",
        "#docid =GX000-00\t": "GX000-00",
        "#docid = a#b": "a#b",
        "#docid = é": "é",
        "#docid = ": None,
        "#docid": None,
        "#": None,
        "": None,
        "# 40626": None,
        "#inc = 1 docid = 3": None,
        "#docids = 3": None,
        "# caf\udce9": None,
    }.items():
        text = f"1 qid:1 1:2{comment}\n0 qid:1 1:3 {comment}"
        data = read_letor(io.BytesIO(text.encode(errors="surrogateescape")))
        assert data.doc_id.tolist() == [expected, expected], comment
        assert data.X.toarray().ravel().tolist() == [2, 3]


def test_blank_lines_comments_and_line_ends_are_skipped(write):
    path = write("\ufeff# a comment\n\n1 qid:a 1:1\n  \t\n #docid = 3\n\r\n2 qid:b 1:2\n\n")
    data = read_letor(path)
    assert data.y.tolist() == [1, 2] and data.qid.tolist() == ["a", "b"]
    assert data.X.shape == (2, 1)
    for end in ("\n", "\r\n", " \n", "\t\r\n"):
        data = read_letor(write(f"1  qid:a\t1:1{end}2 qid:b 1:2 #docid = x{end}"))
        assert data.y.tolist() == [1, 2] and data.doc_id.tolist() == [None, "x"], repr(end)
        assert data.qid.tolist() == ["a", "b"] and data.X.toarray().ravel().tolist() == [1, 2]


def test_rows_without_features_and_queries_that_alternate(write):
    data = read_letor(write("1 qid:b 1:1\n2 qid:a 1:2\n3 qid:b 1:3\n"))
    assert data.qid.tolist() == ["b", "a", "b"] and data.y.tolist() == [1, 2, 3]
    assert read_letor(write("1 qid:1\n0 qid:1 3:1\n")).X.toarray().tolist() == [[0] * 3, [0, 0, 1]]
    assert read_letor(write("1 qid:1\n0 qid:1\n")).X.shape == (2, 0)
    assert read_letor(write("1 qid:1\n0 qid:1\n"), n_features=2).X.shape == (2, 2)
    assert read_letor(write("1 qid:1 2147483647:5\n")).X.shape == (1, 2**31 - 1)


def test_missing_and_infinite_features_and_negative_grades_are_kept(write):
    data = read_letor(write("-1 qid:1 1:nan 2:-inf 3:0\n"))
    np.testing.assert_array_equal(data.X.toarray(), [[np.nan, -np.inf, 0]])
    assert data.y.tolist() == [-1]


def _random_lines(n, rng):
    """Return lines with 0 to 6 of 30 features, with comments and blank lines in between."""
    lines = []
    for row in range(n):
        index = np.sort(rng.choice(np.arange(1, 31), rng.integers(0, 7), replace=False))
        features = " ".join(f"{i}:{float(rng.normal())!r}" for i in index)
        lines.append(f"{rng.integers(5)} qid:{row // 9} {features} #docid = d{row}\n")
        if rng.random() < 0.02:
            lines.append("# between\n\n")
    return lines


SMALL, LARGE = 1 << 14, 1 << 22  # bytes per block


def test_long_files_read_as_scikit_learn_does(write, monkeypatch):
    n = 3000
    path = write("".join(_random_lines(n, np.random.default_rng(0))))
    X, y = load_svmlight_file(str(path), zero_based=False)
    for block in (SMALL, LARGE):
        monkeypatch.setattr(text_files, "BLOCK", block)
        data = read_letor(path)
        assert data.X.shape == X.shape and (data.X != X).nnz == 0 and type(data.X) is type(X)
        np.testing.assert_array_equal(data.y, y)
        assert data.qid.tolist() == [str(row // 9) for row in range(n)]
        assert data.doc_id.tolist() == [f"d{row}" for row in range(n)]


@pytest.mark.parametrize("rows_with_first_column", [(), (0,), (499,)])
@pytest.mark.parametrize("is_dumped_from_0", [True, False])
def test_indices_may_begin_at_0(is_dumped_from_0, rows_with_first_column, tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK", SMALL)
    X = np.random.default_rng(0).integers(0, 3, (500, 12)) / 4
    X[:, 0] = np.isin(np.arange(500), rows_with_first_column)
    path, y, qid = str(tmp_path / "data"), np.arange(500) % 3, np.arange(500) // 9
    dump_svmlight_file(X, y, path, zero_based=is_dumped_from_0, query_id=qid, comment="0:1")
    for kwargs in ({}, {"zero_based": "auto"}, {"zero_based": True}, {"zero_based": False}):
        for n_features in (None, 12, 13):
            try:
                expected = load_svmlight_file(path, n_features=n_features, query_id=True, **kwargs)
            except ValueError:
                with pytest.raises(ValueError, match=f"^{path}: .*a feature index must be from"):
                    read_letor(path, n_features, **kwargs)
                continue
            data = read_letor(path, n_features, **kwargs)
            np.testing.assert_array_equal(data.X.toarray(), expected[0].toarray())
            assert data.y.tolist() == y.tolist() and data.qid.tolist() == [*map(str, qid)]
    exact = read_letor(path, 12, zero_based=is_dumped_from_0)
    np.testing.assert_array_equal(exact.X.toarray(), X)


def test_numbers_are_read_exactly(write):
    values = [value for value in doubles(2000) if value]
    lines = [f"{value!r} qid:1_0 1:{value!r} #docid = 1_0\n" for value in values]
    data = read_letor(write("".join(lines)))
    assert data.y.tolist() == values and data.X.toarray().ravel().tolist() == values


# Files of query sizes ----------------------------------------------------------------------------


def test_files_of_lightgbm(data_dir):
    path = data_dir / "lightgbm-lambdarank" / "rank.train"
    data = read_letor(path, group=f"{path}.query")
    X, y = load_svmlight_file(path, zero_based=False)
    sizes = np.loadtxt(f"{path}.query", dtype=int)
    assert (data.X != X).nnz == 0 and data.doc_id.tolist() == [None] * len(y)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.qid, np.repeat(np.arange(len(sizes)), sizes))


def test_query_sizes_become_query_numbers(write):
    path = write("2 1:1\n# between\n1 #docid = b\n\n0 2:3\n")
    data = read_letor(path, group=io.BytesIO(gzip.compress(b"\xef\xbb\xbf1\r\n 2 \r\n")))
    assert data.qid.dtype.kind == "i" and data.qid.tolist() == [0, 1, 1]
    assert data.doc_id.tolist() == [None, "b", None] and data.y.tolist() == [2, 1, 0]
