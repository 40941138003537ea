"""The reader of LETOR files."""

import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from doubles import doubles
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from skgraded.datasets import read_letor, text_files


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
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


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("#docid = GX000-00", "GX000-00"),
        ("#docid = GX000-00 inc = 1 prob = 0.02", "GX000-00"),
        ("# docid=GX000-00", "GX000-00"),
        ("#docid =GX000-00\t", "GX000-00"),
        ("#docid = a#b", "a#b"),
        ("#docid = é", "é"),
        ("#docid = ", None),
        ("#docid", None),
        ("#", None),
        ("", None),
        ("# 40626", None),
        ("#inc = 1 docid = 3", None),
        ("#docids = 3", None),
    ],
)
def test_the_comment_may_hold_the_document(write, comment, expected):
    data = read_letor(write(f"1 qid:1 1:2{comment}\n0 qid:1 1:3 {comment}"))
    assert data.doc_id.tolist() == [expected, expected]
    assert data.X.toarray().ravel().tolist() == [2, 3]


def test_blank_lines_comments_and_line_ends_are_skipped(write):
    path = write("# a comment\n\n1 qid:a 1:1\n  \t\n #docid = 3\n\r\n2 qid:b 1:2\n\n")
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


def test_missing_and_infinite_features_and_negative_grades_are_kept(write):
    data = read_letor(write("-1 qid:1 1:nan 2:-inf 3:0\n"))
    np.testing.assert_array_equal(data.X.toarray(), [[np.nan, -np.inf, 0]])
    assert data.y.tolist() == [-1]


def test_n_features_widens(write):
    path = write("1 qid:1 2:5\n")
    assert read_letor(path).X.shape == read_letor(path, n_features=2).X.shape == (1, 2)
    assert read_letor(path, n_features=4).X.toarray().tolist() == [[0, 5, 0, 0]]
    for value in (0, -1, 2.5, "3", True):
        with pytest.raises(ValueError, match=f"n_features must be .*; got {value!r}"):
            read_letor(path, n_features=value)
    path = write(GOOD + "1 qid:1 1:1 4:2\n")
    with pytest.raises(ValueError, match="line 2: .* from 1 to n_features=3; got '4:2'"):
        read_letor(path, n_features=3)
    assert read_letor(write("1 qid:1 2147483647:5\n")).X.shape == (1, 2**31 - 1)


def test_gzip_whatever_the_name(write):
    for name, kind in (("data.txt.gz", str), ("data.GZ", Path), ("data.txt", Path)):
        path = write(gzip.compress(b"1 qid:a 1:1\n2 qid:b 2:2 #docid = x"), name)
        data = read_letor(kind(path))
        assert data.qid.tolist() == ["a", "b"] and data.X.toarray().tolist() == [[1, 0], [0, 2]]
    assert read_letor(write("1 qid:a 1:1\n", "data.gz")).y.tolist() == [1]
    path = write(gzip.compress(b"1 qid:a 1:1\n2 q") + gzip.compress(b"id:b 1:2\n"), "members.gz")
    assert read_letor(path).qid.tolist() == ["a", "b"]


def _random_lines(n, rng):
    """Lines with 0 to 6 of 30 features, comments and blank lines between them."""
    lines = []
    for row in range(n):
        index = np.sort(rng.choice(np.arange(1, 31), rng.integers(0, 7), replace=False))
        features = " ".join(f"{i}:{float(rng.normal())!r}" for i in index)
        lines.append(f"{rng.integers(5)} qid:{row // 9} {features} #docid = d{row}\n")
        if rng.random() < 0.02:
            lines.append("# between\n\n")
    return lines


SMALL, LARGE = 1 << 14, 1 << 22  # bytes of a block


def test_long_files_read_as_scikit_learn_does(write, monkeypatch):
    n = 12_000
    path = write("".join(_random_lines(n, np.random.default_rng(0))))
    X, y = load_svmlight_file(str(path), zero_based=False)
    for block in (SMALL, LARGE):
        monkeypatch.setattr(text_files, "BLOCK", block)
        data = read_letor(path)
        assert data.X.shape == X.shape and (data.X != X).nnz == 0 and type(data.X) is type(X)
        np.testing.assert_array_equal(data.y, y)
        assert data.qid.tolist() == [str(row // 9) for row in range(n)]
        assert data.doc_id.tolist() == [f"d{row}" for row in range(n)]


def test_a_long_stretch_of_comments(write, monkeypatch):
    for block in (SMALL, LARGE):
        monkeypatch.setattr(text_files, "BLOCK", block)
        data = read_letor(write("# c\n" * 25_000 + "1 qid:1 2:1\n" + "\n" * 25_000))
        assert data.y.tolist() == [1] and data.X.shape == (1, 2)


GOOD = "1 qid:1 1:1 2:2 #docid = a\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x qid:1 1:1", "the grade must be a finite number; got 'x'"),
        ("1,2 qid:1 1:1", "the grade must be a finite number; got '1,2'"),
        ("nan qid:1 1:1", "the grade must be a finite number; got 'nan'"),
        ("-inf qid:1 1:1", "the grade must be a finite number; got '-inf'"),
        ("1e999 qid:1 1:1", "the grade must be a finite number; got '1e999'"),
        ("qid:1 1:1", "the grade must be a finite number; got 'qid:1'"),
        ("1", "'qid:' and the query must follow the grade; got ''"),
        ("1 1:1 2:2", "'qid:' and the query must follow the grade; got '1:1'"),
        ("1 1:1 qid:1", "'qid:' and the query must follow the grade; got '1:1'"),
        ("1 qid: 1:1", "'qid:' and the query must follow the grade; got 'qid:'"),
        ("1 qid1 1:1", "'qid:' and the query must follow the grade; got 'qid1'"),
        ("1 #qid:1 1:1", "'qid:' and the query must follow the grade; got ''"),
        ("1 qid:1 1:x", "a feature must have the form index:number; got '1:x'"),
        ("1 qid:1 1:NULL", "a feature must have the form index:number; got '1:NULL'"),
        ("1 qid:1 1:", "a feature must have the form index:number; got '1:'"),
        ("1 qid:1 1", "a feature must have the form index:number; got '1'"),
        ("1 qid:1 0.5", "a feature must have the form index:number; got '0.5'"),
        ("1 qid:1 :3", "a feature must have the form index:number; got ':3'"),
        ("1 qid:1 1.5:3", "a feature must have the form index:number; got '1.5:3'"),
        ("1 qid:1 1:2:3", "a feature must have the form index:number; got '1:2:3'"),
        ("1_0 qid:1 1:1", "the grade must be a finite number; got '1_0'"),
        ("1 qid:1_0 1:1_0", "a feature must have the form index:number; got '1:1_0'"),
        ("1 qid:1 1_0:1 #docid = a_b", "a feature must have the form index:number; got '1_0:1'"),
        ("1 qid:1 1:0x10", "a feature must have the form index:number; got '1:0x10'"),
        ("1 qid:1 qid:2 1:3", "a feature must have the form index:number; got 'qid:2'"),
        ("1 qid:1 1: 3", "a feature must have the form index:number; got '1:'"),
        ("1 qid:1 0:3 1:1", "a feature index must be from 1 to 2147483647; got '0:3'"),
        ("1 qid:1 -1:3 1:1", "a feature index must be from 1 to 2147483647; got '-1:3'"),
        ("1 qid:1 2147483648:3", "a feature index must be from 1 to .*; got '2147483648:3'"),
        ("1 qid:1 99999999999999999999:3", "a feature index must be from 1 to 2147483647"),
        ("1 qid:1 2:3 2:4", "feature indices must be ascending; got '2:4' after index 2"),
        ("1 qid:1 3:3 1:4", "feature indices must be ascending; got '1:4' after index 3"),
        ("1 qid:1 1:" + "x" * 99, r"a feature must have the form index:number; got '1:x{38}…'"),
        (b"1 qid:\xe9 1:1", r"query and document ids must be UTF-8; got 'qid:\\\\xe9'"),
        (b"1 qid:1 1:1 #docid = \xe9", r"query and document ids must be UTF-8; got '\\\\xe9'"),
        (b"1 qid:1 1:1 #\0", "a LETOR file must be .*a NUL byte"),
        (b"\xff\xfe1\0 \0", "a LETOR file must be .*a NUL byte"),
        (b"\x89PNG\r", r"the grade must be a finite number; got '\\\\x89PNG'"),
    ],
)
def test_errors_name_file_and_line(write, monkeypatch, line, message):
    line = line if isinstance(line, bytes) else line.encode()
    cases = [(0, LARGE), (3, SMALL), (607, SMALL)]  # 607 good lines fill a small block
    if line.startswith((b"x", b"1 1:1 2:2", b"1 qid:1 2:3 2:4", b"1 qid:\xe9", b"\xff")):
        cases += [(12_345, SMALL), (12_345, LARGE)]
    for before, block in cases:
        monkeypatch.setattr(text_files, "BLOCK", block)
        # A later line that is bad in another way must not be the one that is named.
        path = write(GOOD.encode() * before + line + b"\n" + GOOD.encode() + b"worse\n", "bad.txt")
        with pytest.raises(ValueError, match=rf"bad\.txt: line {before + 1}: {message}") as caught:
            read_letor(path)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_lines_are_counted_with_blanks_and_comments(write):
    with pytest.raises(ValueError, match="line 5: the grade"):
        read_letor(write("# one\n\n1 qid:1 1:1\n\nbad qid:1\n"))
    # A comment in another encoding is no error.
    assert read_letor(write(b"1 qid:1 1:1 # caf\xe9\n")).doc_id.tolist() == [None]
    with pytest.raises(ValueError, match="line 2: the grade"):
        read_letor(write(b"1 qid:1 1:1 # caf\xe9\nx qid:1\n"))


def test_a_file_without_rows(write):
    for content in (b"", b"\n\n", b"# only a comment\n", gzip.compress(b"", mtime=0)):
        with pytest.raises(ValueError, match="data.txt: the file is empty or contains"):
            read_letor(write(content))


def test_damaged_gzip(write):
    packed = gzip.compress("".join(_random_lines(1000, np.random.default_rng(1))).encode())
    with pytest.raises(ValueError, match=r"cut\.gz: line \d+: the gzip data are damaged or trunc"):
        read_letor(write(packed[: len(packed) // 2], "cut.gz"))
    packed = gzip.compress((GOOD * 12_000).encode())
    with pytest.raises(ValueError) as caught:
        read_letor(write(packed[:-4], "cut.gz"))
    assert 10_000 < int(str(caught.value).split("line ")[1].split(":")[0]) <= 12_001
    for at in (2, 20):
        damaged = packed[:at] + bytes([packed[at] ^ 0xFF]) + packed[at + 1 :]
        with pytest.raises(ValueError, match=r"bad\.gz: line \d+: "):
            read_letor(write(damaged, "bad.gz"))


def test_what_is_not_a_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_letor(tmp_path / "nothing.txt")
    with pytest.raises(TypeError, match="path must be a str or a Path; got 0"):
        read_letor(0)


def test_ohsumed(data_dir):
    path = data_dir / "ohsumed" / "OHSUMED.txt.gz"
    data = read_letor(path)
    assert data.X.shape == (16_140, 25) and len(data.y) == 16_140
    assert len(set(data.qid)) == 106 and set(data.y) == {0, 1, 2}
    assert (data.qid[0], data.doc_id[0], data.y[0]) == ("1", "40626", 2)
    assert data.X[0, 0] == 3 and data.X[0, 24] == -3.87512
    assert None not in set(data.doc_id)
    X, y, qid = load_svmlight_file(path, zero_based=False, query_id=True)
    assert (data.X != X).nnz == 0
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.qid.astype(int), qid)


@pytest.mark.parametrize(("part", "n_queries", "n_rows"), [("train", 45, 782), ("test", 5, 41)])
def test_trec_news(data_dir, part, n_queries, n_rows):
    path = data_dir / "trec-news-2018" / f"trec_news_2018.{part}"
    data = read_letor(path, n_features=5)
    assert data.X.shape == (n_rows, 5) and len(set(data.qid)) == n_queries
    assert data.X.min() < 0 and set(data.y) <= {0, 1, 2, 3, 4}
    assert read_letor(str(path)).X.shape == (n_rows, 5)


def test_numbers_are_those_that_were_written(write):
    values = [value for value in doubles(2000) if value]
    lines = [f"{value!r} qid:1_0 1:{value!r} #docid = 1_0\n" for value in values]
    data = read_letor(write("".join(lines)))
    assert data.y.tolist() == values and data.X.toarray().ravel().tolist() == values


def test_a_bom_is_passed_over(write):
    data = read_letor(write(b"\xef\xbb\xbf2 qid:7 1:1\n"))
    assert data.y.tolist() == [2] and data.qid.tolist() == ["7"]
    with pytest.raises(ValueError, match="line 2: the grade must be a finite number"):
        read_letor(write(b"2 qid:7 1:1\n\xef\xbb\xbf2 qid:7 1:1\n"))


# -------------------------------------------------------------------- sizes of queries beside


def test_lightgbm_s_own_files(data_dir):
    path = data_dir / "lightgbm-lambdarank" / "rank.train"
    data = read_letor(path, group=f"{path}.query")
    X, y = load_svmlight_file(path, zero_based=False)
    sizes = np.loadtxt(f"{path}.query", dtype=int)
    assert (data.X != X).nnz == 0 and data.doc_id.tolist() == [None] * len(y)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.qid, np.repeat(np.arange(len(sizes)), sizes))


def test_sizes_become_numbers_of_queries(write):
    path = write("2 1:1\n# between\n1 #docid = b\n\n0 2:3\n")
    data = read_letor(path, group=io.BytesIO(gzip.compress(b"\xef\xbb\xbf1\r\n 2 \r\n")))
    assert data.qid.dtype.kind == "i" and data.qid.tolist() == [0, 1, 1]
    assert data.doc_id.tolist() == [None, "b", None] and data.y.tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    "text, sizes, problem",
    [
        ("2 1:1\n1 1:2\n", "1\n2\n", r"sizes: the 2 query sizes add up to 3 rows, but .*"
         r"data.txt has 2"),
        ("2 1:1\n1 1:2\n", "2\n0\n", "sizes: line 2: the size of a query must be an integer"),
        ("2 1:1\n1 1:2\n", "1.5\n", "sizes: line 1: the size .*; got '1.5'"),
        ("2 1:1\n1 1:2\n", "1\ninf\n", "sizes: line 2: the size .*; got 'inf'"),
        ("2 1:1\n1 1:2\n", "1\n\n1\n", "sizes: line 2: the size .*; got ''"),
        ("2 1:1\n1 1:2\n", "1 1\n", "sizes: line 1: the size .*; got '1 1'"),
        ("2 1:1\n1 1:2\n", "", "sizes: the file contains no sizes"),
        ("2 1:1\n1 qid:3 1:2\n", "2\n", "line 2: the file contains queries such as 'qid:3'"),
        ("2 1:1\n1 qidx:3 1:2\n", "2\n", "data.txt: line 2: a feature must .* 'qidx:3'"),
        ("2 1:1\n1_0 1:2\n", "2\n", "data.txt: line 2: the grade must be .* '1_0'"),
        ("2 1:1\n1 1:1_0\n", "2\n", "data.txt: line 2: a feature must .* '1:1_0'"),
    ],
)
def test_sizes_that_do_not_fit(write, text, sizes, problem):
    with pytest.raises(ValueError, match=problem):
        read_letor(write(text), group=write(sizes, "sizes"))
    with pytest.raises(TypeError, match=r"group must be the path .*np\.repeat"):
        read_letor(write("1 1:1\n"), group=[1])


def test_files_without_queries_say_so(data_dir):
    problem = r"rank.test: line 1: 'qid:' and the query must follow .*as group; .*np\.repeat"
    with pytest.raises(ValueError, match=problem):
        read_letor(data_dir / "lightgbm-lambdarank" / "rank.test")
